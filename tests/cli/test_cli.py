"""Every command, driven as a user does: a process with arguments, pipes and signals."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import ccgbo
from ccgbo.cli import main
from ccgbo.cli.command import Command, CommandFailed, by_json_key, by_regex, fill, last_number, places
from ccgbo.cli.table import table
from ccgbo.running import CannotEvaluate

SPACE = """
[parameters.x]
type = "float"
low = -5.0
high = 5.0
[parameters.n]
type = "int"
low = 1
high = 8
[parameters.kind]
type = "categorical"
choices = ["a", "b; touch broken", "$(touch broken)"]
"""
PROGRAM = """
import sys, time
x, n = float(sys.argv[1]), int(sys.argv[2])
print("epoch 1 of 10")
if x > 4.0:
    sys.exit("diverged")
print("value:", (x - 1) ** 2 + n)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "space.toml").write_text(SPACE)
    (tmp_path / "train.py").write_text(PROGRAM)
    return tmp_path


def start(folder: Path, *arguments: Any, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "ccgbo", *map(str, arguments)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def ccgbo_(folder: Path, *arguments: Any, code: int = 0) -> tuple[str, str]:
    """Output and errors of a command that must exit with ``code``."""
    process = start(folder, *arguments)
    out, err = process.communicate(timeout=120)
    assert process.returncode == code, (out, err)
    assert "Traceback" not in err
    assert "\x1b" not in out + err, "colour in a pipe"
    if code:
        assert err.splitlines()[-1].startswith("error: ")
    return out, err


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """The same without a process of its own, for the many cases of one command."""
    monkeypatch.chdir(folder)

    def call(*arguments: Any, code: int = 0) -> tuple[str, str]:
        with pytest.raises(SystemExit) as exit_:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert exit_.value.code == code, (out, err)
        return out, err

    return call


def study_in(folder: Path, n: int = 0, **options: Any) -> ccgbo.Study:
    """A study made without the command line, where that is not what is tested."""
    study = ccgbo.Study(folder / "tune.db", ccgbo.load_space(folder / "space.toml"), seed=0, **options)
    for _ in range(n):
        trial = study.ask()
        study.tell(trial, trial.params["x"])
    return study


# -- the lab scientist's loop


def test_init_ask_tell_and_show(folder: Path, here: Any) -> None:
    out, _ = ccgbo_(
        folder,
        "init",
        "tune.db",
        "--space",
        "space.toml",
        "--minimize",
        "--preset",
        "paper",
        "--seed",
        1,
        "--name",
        "lab",
    )
    assert out == "created study 'lab' in tune.db: minimize over x, n, kind\n"
    out, _ = ccgbo_(folder, "ask", "tune.db", "-n", 3)
    assert [line.split()[0] for line in out.splitlines()] == ["trial", "0", "1", "2"]
    out, _ = here("ask", "tune.db", "--json")
    point = json.loads(out)
    assert point["id"] == 3
    assert set(point["params"]) == {"x", "n", "kind"}
    assert ccgbo_(folder, "tell", "tune.db", 3, "-0.25")[0] == "trial 3: -0.25  (best so far: trial 3, -0.25)\n"
    assert here("tell", "tune.db", 0, 7, "--noise-variance", 0.1)[0].startswith("trial 0: 7")
    assert here("tell", "tune.db", 1, "--failed")[0].startswith("trial 1 failed")
    shown = json.loads(ccgbo_(folder, "show", "tune.db", "--json")[0])
    assert [set(trial) >= {"id", "params", "value", "state", "credit"} for trial in shown["trials"]] == [True] * 4
    assert [trial["state"] for trial in shown["trials"]] == ["complete", "failed", "pending", "complete"]
    assert shown["trials"][3]["credit"] == 1.0
    assert shown["trials"][2]["credit"] is None
    assert (shown["best"]["id"], shown["recommendation"]["trial_id"]) == (3, 3)
    assert shown["trials"][3]["params"] == point["params"]
    rows = here("show", "tune.db", "--last", 2)[0].splitlines()
    assert rows[0] == "study 'lab' in tune.db: minimize, 4 trials"
    assert [row.split()[0] for row in rows[1:]] == ["id", "2", "3", "best", "recommended", "warning", "more"]
    assert "only 2 observations of 3 parameters" in rows[-2] and "another 10 evaluations" in rows[-1]
    assert shown["diagnosis"]["concerns"][0]["kind"] == "few observations"
    with ccgbo.Study(folder / "tune.db") as study:
        assert study.trials[0].noise_variance == 0.1
        assert study.settings.design == "random"


def test_show_can_do_without_the_model(folder: Path, here: Any) -> None:
    study_in(folder, 3).close()
    shown = json.loads(here("show", "tune.db", "--json", "--no-model")[0])
    assert [trial["credit"] for trial in shown["trials"]] == [None] * 3
    assert shown["recommendation"] is None
    assert shown["best"]["value"] == max(trial["value"] for trial in shown["trials"])


def test_show_and_list_work_before_the_first_trial(folder: Path, here: Any) -> None:
    study_in(folder).close()
    assert here("show", "tune.db")[0] == "study 'default' in tune.db: maximize, 0 trials\n"
    assert json.loads(here("list", "tune.db", "--json")[0])[0]["n_trials"] == 0


def test_list_release_and_delete(folder: Path, here: Any) -> None:
    with study_in(folder, 2, name="one") as study:
        study.ask(2)
    study_in(folder, 1, name="two").close()
    out, _ = ccgbo_(folder, "list", "tune.db")
    assert [line.split()[:5] for line in out.splitlines()[1:]] == [
        ["one", "maximize", "2", "0", "2"],
        ["two", "maximize", "1", "0", "0"],
    ]
    assert ccgbo_(folder, "release", "tune.db", "--name", "one")[0] == "released 0 trials\n"
    assert here("release", "tune.db", "--name", "one", 3)[0] == "released 1 trial: 3\n"
    assert here("release", "tune.db", "--name", "one", "--all")[0] == "released 1 trial: 2\n"
    _, err = ccgbo_(folder, "delete", "tune.db", "--name", "two", code=1)  # nobody answers
    assert "Delete the study 'two' with 1 trial?" in err
    assert here("delete", "tune.db", "--name", "two", "--yes")[0] == "deleted study 'two' from tune.db\n"
    assert [info.name for info in ccgbo.list_studies(folder / "tune.db")] == ["one"]


# -- run


def run_line(*options: Any, kind: str = "{kind}") -> list[Any]:
    return ["run", "tune.db", *options, "--", sys.executable, "train.py", "{x}", "{n}", kind]


def test_run_evaluates_a_program_and_the_same_line_does_the_rest(folder: Path, here: Any) -> None:
    study_in(folder, direction="minimize").close()
    out, err = ccgbo_(folder, *run_line("-n", 6, "-j", 2))
    assert out.startswith("Result: ")
    assert "minimize: 6/6 trials" in err
    here(*run_line("-n", 10, "-j", 2, "--quiet"))
    with ccgbo.Study(folder / "tune.db") as study:
        trials = study.trials
    assert len(trials) == 10
    for trial in trials:
        x, n = trial.params["x"], trial.params["n"]
        if x > 4.0:
            assert (trial.state, trial.error) == ("failed", "exit status 1\ndiverged")
        else:
            assert trial.value == (x - 1) ** 2 + n
    assert {trial.state for trial in trials} == {"complete", "failed"}
    assert not (folder / "broken").exists(), "a value was read as a command"


def test_run_stops_at_a_failure_on_demand_and_at_a_target(folder: Path, here: Any) -> None:
    study_in(folder, direction="minimize").close()
    assert "target reached" in here(*run_line("-n", 50, "--target", 100, "--quiet"))[0]
    line = [
        "run",
        "tune.db",
        "-n",
        9,
        "--stop-on-error",
        "--quiet",
        "--",
        sys.executable,
        "-c",
        "import sys; sys.exit(3)",
    ]
    assert "exit status 3" in here(*line, code=1)[1]


def test_ctrl_c_on_run_ends_the_program_and_gives_the_trial_back(folder: Path) -> None:
    study_in(folder).close()
    sleeper = "import pathlib, os, time; pathlib.Path('pid').write_text(str(os.getpid())); time.sleep(60)"
    process = start(folder, "run", "tune.db", "-n", 5, "--", sys.executable, "-c", sleeper)
    pid = wait_for(folder / "pid")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "(interrupted)" in out
    assert err.splitlines()[-1] == "error: interrupted"
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with ccgbo.Study(folder / "tune.db") as study:
        assert [t.id for t in study.ask(2)] == [0, 1]


def test_a_terminated_run_leaves_no_program_behind(folder: Path) -> None:
    study_in(folder).close()
    sleeper = "import pathlib, os, time; pathlib.Path('pid').write_text(str(os.getpid())); time.sleep(60)"
    process = start(folder, "run", "tune.db", "-n", 5, "-j", 2, "--", sys.executable, "-c", sleeper)
    pid = wait_for(folder / "pid")
    process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == 1
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


SLEEPER = "import pathlib, os, subprocess; pathlib.Path(f'pid{os.getpid()}').touch(); subprocess.run(['sleep', '600'])"


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["SIGHUP", "SIGQUIT", "SIGTERM", "SIGKILL"])
def test_however_a_run_is_ended_its_programs_end_with_their_children(folder: Path, name: str) -> None:
    study_in(folder).close()
    process = start(folder, "run", "tune.db", "-n", 5, "-j", 2, "--quiet", "--", sys.executable, "-c", SLEEPER)
    deadline = time.monotonic() + 60
    while len(programs(folder)) < 4:  # two programs with a child each
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(getattr(signal, name))
    _, err = process.communicate(timeout=30)
    assert name == "SIGKILL" or (process.returncode, err.splitlines()[-1]) == (1, "error: interrupted")
    while programs(folder):
        assert time.monotonic() < deadline, "a program was left behind"
        time.sleep(0.05)
    if name != "SIGKILL":
        with ccgbo.Study(folder / "tune.db") as study:
            assert [t.state for t in study.trials] == ["pending"] * 2
            assert [t.id for t in study.ask(2)] == [0, 1], "they were released"


def programs(folder: Path) -> list[int]:
    """Of the sleepers of this folder and their children, those that run."""
    groups = [int(path.name.removeprefix("pid")) for path in folder.glob("pid*")]
    listed = subprocess.run(["ps", "-eo", "pid=,pgid=,stat="], capture_output=True, text=True).stdout.splitlines()
    rows = [line.split() for line in listed]
    return [int(pid) for pid, group, state in rows if int(group) in groups and not state.startswith("Z")]


def test_a_program_that_is_not_there_stops_the_run_before_anything_is_recorded(folder: Path, here: Any) -> None:
    study_in(folder).close()
    (folder / "plain.sh").write_text("echo 1\n")
    (folder / "broken.sh").write_text("#!/no/such/interpreter\n")
    (folder / "broken.sh").chmod(0o755)
    for program, why in (
        ("nothere", "cannot start 'nothere': there is no such program"),
        ("./nothere", "cannot start './nothere': there is no such program"),
        ("./plain.sh", "cannot start './plain.sh': it is not an executable file"),
        ("./broken.sh", "cannot start './broken.sh': No such file or directory"),
    ):
        _, err = here("run", "tune.db", "-n", 5, "--quiet", "--", program, "{x}", code=1)
        assert err == f"error: {why}.\n"
    with ccgbo.Study(folder / "tune.db") as study:
        assert [t.state for t in study.trials] in ([], ["pending"])
        assert study.ask().id == 0


def test_a_program_that_always_fails_stops_the_run_and_show_says_why(folder: Path, here: Any) -> None:
    study_in(folder).close()
    line = ["--", sys.executable, "-c", "import sys; sys.exit('no\x1b[31m data')"]
    out, err = here("run", "tune.db", "-n", 20, "--quiet", *line, code=1)
    reason = "the first 5 trials all failed the same way: exit status 1: no\\x1b[31m data; --keep-going goes on anyway"
    assert out.splitlines()[0] == f"Result: 0 trials, 5 failed ({reason})"
    assert out.splitlines()[-1] == "  last error   trial 4: exit status 1: no\\x1b[31m data"
    assert err == f"error: stopped: {reason}.\n"
    here("run", "tune.db", "-n", 12, "--quiet", "--keep-going", *line)
    shown = here("show", "tune.db", "--last", 2)[0].splitlines()
    assert shown[0].endswith("12 trials")
    assert shown[1].split()[-1] == "why"
    assert shown[-1].endswith("exit status 1: no\\x1b[31m data")
    study_in(folder, 2, name="fine").close()
    assert "why" not in here("show", "tune.db", "--name", "fine")[0]


def test_places_of_any_name_are_filled(tmp_path: Path) -> None:
    space = {"learning-rate": (0.5, 1.0), "a b": (1, 8), "x.y": ["u", "v"], "self": (0.0, 1.0)}
    code = (
        "import sys; assert sys.argv[4] == '{' 'learning-rate}', sys.argv; print(float(sys.argv[1]) + int(sys.argv[2]))"
    )
    arguments = [sys.executable, "-c", code, "{learning-rate}", "{a b}", "{x.y}{self}", "{{learning-rate}}"]
    with (
        ccgbo.Study(tmp_path / "s.db", space, seed=0) as study,
        Command(arguments, list(study.space), parse=last_number) as program,
    ):
        result = study.run(program, 4, progress=False)
    assert [t.value for t in result.trials] == [t.params["learning-rate"] + t.params["a b"] for t in result.trials]
    with pytest.raises(ccgbo.SettingError, match=r"\{learning-rat\} in '\{learning-rat\}' must be a parameter"):
        Command(["echo", "{learning-rat}"], list(space), parse=last_number)


def test_nothing_in_a_study_reaches_the_terminal_as_a_command(folder: Path, here: Any) -> None:
    evil = "x\x1b]0;title\x07\u202e"
    with ccgbo.Study(folder / "evil.db", {evil: ["a\x1b[2J", "b"], "y": (0.0, 1.0)}, seed=0) as study:
        study.tell(study.ask(), 1.0)
        study.tell(study.ask(), failed=True, error="boom\x1b[31m\rfine")
    with closing(sqlite3.connect(folder / "evil.db")) as file:  # no study is made with such a name here
        file.execute("UPDATE studies SET name = ?", (evil,))
        file.commit()
    for line in (
        ["list", "evil.db"],
        ["show", "evil.db"],
        ["ask", "evil.db", "-n", 3],
        ["release", "evil.db"],
        ["run", "evil.db", "-n", 7, "--", "echo", "1"],
        ["import", "evil.db", "nowhere\x1b[31m.csv"],
        ["ask", "evil.db", "--name", "other\x1b[31m"],
    ):
        out, err = here(*line, code=1 if "nowhere" in str(line) or "other" in str(line) else 0)
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e]", out + err), line


def test_a_failure_has_its_reason_and_an_option_that_nobody_knows_is_no_value(folder: Path, here: Any) -> None:
    with study_in(folder) as study:
        study.ask(2)
    assert "--reason says why a trial --failed" in here("tell", "tune.db", 0, 1.5, "--reason", "spilt", code=2)[1]
    here("tell", "tune.db", 0, "--failed", "--reason", "spilt")
    assert "spilt" in here("show", "tune.db")[0]
    err = here("tell", "tune.db", 1, "--faild", code=2)[1]
    assert re.search("No such option:? '?--faild", err)  # click spells it by its version


def test_a_value_may_have_a_decimal_comma_and_one_trial_is_one(folder: Path, here: Any) -> None:
    with study_in(folder) as study:
        study.ask(3)
    assert here("tell", "tune.db", 2, "71,5")[0].startswith("trial 2: 71.5")
    assert here("tell", "tune.db", 1, "-0,5")[0].startswith("trial 1: -0.5")
    assert "VALUE must be a number, got '1,234.5'" in here("tell", "tune.db", 0, "1,234.5", code=2)[1]
    assert here("export", "tune.db", "out.csv")[0] == "wrote 3 trials to out.csv\n"


def test_a_run_says_which_trials_wait_for_a_value_by_hand(folder: Path, here: Any) -> None:
    with study_in(folder) as study:
        study.ask(2)
    out, _ = here("run", "tune.db", "-n", 5, "--quiet", "--timeout", "1h", "--", "echo", "1")
    assert out.startswith("Result: 3 trials (2 trials of 5 without a value, asked by hand)")
    assert out.splitlines()[-1] == "tell their values: ccgbo tell tune.db 0 VALUE"
    assert (
        "'soon' is neither a number of seconds" in here("run", "tune.db", "-n", 6, "--timeout", "soon", "x", code=2)[1]
    )


def test_an_output_of_another_encoding_is_no_reason_to_fail(folder: Path) -> None:
    study_in(folder, 12).close()
    environment = os.environ | {"PYTHONIOENCODING": "ascii:strict", "PYTHONUTF8": "0"}
    out, err = start(folder, "show", "tune.db", env=environment).communicate(timeout=60)
    assert err == ""
    assert "recommended" in out


def wait_for(path: Path) -> int:
    deadline = time.monotonic() + 60
    while not path.exists() or not path.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return int(path.read_text())


# -- export, import


@pytest.mark.parametrize("kind", ["csv", "xlsx", "json", "parquet"])
def test_an_exported_study_can_be_imported(folder: Path, here: Any, kind: str) -> None:
    with study_in(folder, 5) as study:
        study.tell(study.ask(), failed=True, error="boom")
        study.tell({"x": 0.5, "n": 3, "kind": "$(touch broken)"}, 1.25, noise_variance=0.5)
        study.ask()
        trials = [t for t in study.trials if t.state != "pending"]
    assert here("export", "tune.db", f"out.{kind}")[0] == f"wrote 8 trials to out.{kind}\n"
    study_in(folder, name="copy").close()
    out, _ = here("import", "tune.db", f"out.{kind}", "--name", "copy")
    assert out == "study 'copy': told 0 pending trials, skipped 0 unchanged, added 7 new, left 1 without a value\n"
    with ccgbo.Study(folder / "tune.db", name="copy") as study:
        copies = study.trials
    for trial, copy in zip(trials, copies, strict=True):
        for field in ("params", "state", "value", "noise_variance", "error"):
            assert getattr(copy, field) == getattr(trial, field)


def test_export_pipes_and_a_reader_that_goes_away_is_no_disaster(folder: Path, here: Any) -> None:
    with study_in(folder) as study:
        study.tell_many([{"x": 0.001 * i, "n": 1, "kind": "a"} for i in range(4000)], range(4000))
    out, _ = ccgbo_(folder, "export", "tune.db", "-")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [float(row["value"]) for row in rows] == [float(i) for i in range(4000)]
    assert len(json.loads(here("export", "tune.db", "-", "--format", "json")[0])["trials"]) == 4000
    process = start(folder, "export", "tune.db", "-")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()  # as `head -1` does
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(30) in (0, 1)
    assert err == ""


def test_a_foreign_table_is_imported_by_its_column_names(folder: Path, here: Any) -> None:
    study_in(folder).close()
    (folder / "lab.csv").write_text("date,x,n,kind,score\nmonday,0.5,3.0,a,7.5\ntuesday,1,2,a,\n")
    out, _ = ccgbo_(folder, "import", "tune.db", "lab.csv", "--value", "score")
    assert out.splitlines() == [
        "study 'default': told 0 pending trials, skipped 0 unchanged, added 1 new, left 1 without a value",
        "  passed over, since nothing here is called so: 'date'",
    ]
    with ccgbo.Study(folder / "tune.db") as study:
        assert study.trials[0].params == {"x": 0.5, "n": 3, "kind": "a"}
        assert study.trials[0].value == 7.5
    (folder / "bad.csv").write_text("x,n,kind,value\n0.5,3,a,1\n0.5,99,a,1\n")
    assert "row 2: n must be" in here("import", "tune.db", "bad.csv", code=1)[1]
    assert len(ccgbo.Study(folder / "tune.db").trials) == 1


def test_a_table_that_comes_back_is_shown_then_told_then_amended(folder: Path, here: Any) -> None:
    with study_in(folder, 2) as study:
        trial = study.ask()
        first = study.trials[0].value
    (folder / "back.csv").write_text(f"id;value;x\n0;9,5;\n1;;\n{trial.id};0,25;0,125\n")
    asked = trial.params["x"]
    lines = [
        f"  row 3, trial 2: x {asked} -> 0.125, state pending -> complete, value 0.25",
        f"  row 1, trial 0: value {first} -> 9.5",
        "what changed is left as it was told: --amend takes it over",
    ]
    out, _ = here("import", "tune.db", "back.csv", "--dry-run")
    assert out.splitlines() == [
        "study 'default': would tell 1 pending trial (1 with other settings than asked), skip 1 unchanged, add 0 new, "
        "leave 1 changed",
        *lines,
    ]
    out, _ = here("import", "tune.db", "back.csv")
    assert out.splitlines()[0].startswith("study 'default': told 1 pending trial (1 with other settings than asked), ")
    assert out.splitlines()[1:] == lines
    out, _ = here("import", "tune.db", "back.csv", "--amend")
    assert out.splitlines() == [
        "study 'default': told 0 pending trials, skipped 2 unchanged, added 0 new, amended 1 changed",
        lines[1],
    ]
    out, _ = here("import", "tune.db", "back.csv", "--amend")
    assert out == "study 'default': told 0 pending trials, skipped 3 unchanged, added 0 new\n"
    with ccgbo.Study(folder / "tune.db") as study:
        assert [study.trials[0].value, study.trials[2].value, study.trials[2].params["x"]] == [9.5, 0.25, 0.125]
        assert [(e.action, e.trial_id) for e in study.log()] == [("tell", 2), ("amend", 0)]


def test_a_dry_run_of_a_table_with_mistakes_lists_them_and_fails(folder: Path, here: Any) -> None:
    study_in(folder, 1).close()
    (folder / "bad.csv").write_text("id,value\n0,hot\n7,1\n")
    out, _ = here("import", "tune.db", "bad.csv", "--dry-run", code=1)
    assert out.splitlines() == [
        "study 'default': would tell 0 pending trials, skip 0 unchanged, add 0 new, refuse 2",
        "  row 1: value must be a number, got 'hot'.",
        "  row 2: there must be the params, or the id of a trial, got id 7.",
    ]
    _, err = here("import", "tune.db", "bad.csv", code=1)
    assert err.startswith("error: row 1: value must be a number, got 'hot'. row 2: ")
    assert err.endswith(" Nothing was imported.\n")


def test_rows_without_ids_and_other_dialects_on_the_command_line(folder: Path, here: Any) -> None:
    study_in(folder, 2).close()
    here("export", "tune.db", "eu.csv", "--dialect", "semicolon")
    assert (folder / "eu.csv").read_text("utf-8-sig").startswith("id;state;value;")
    assert "skipped 2 unchanged" in here("import", "tune.db", "eu.csv")[0]
    assert "skipped 2 unchanged" in here("import", "tune.db", "eu.csv", "--no-ids")[0]
    assert "added 2 new" in here("import", "tune.db", "eu.csv", "--no-ids", "--allow-duplicates")[0]
    assert here("export", "tune.db", "-", "--dialect", "tab")[0].startswith("id\tstate\tvalue")
    assert "xlsx is not text" in here("export", "tune.db", "-", "--format", "xlsx", code=2)[1]


# -- wrong usage


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nonsense"], 2, "No such command 'nonsense'"),
        (["ask"], 2, "Missing argument 'FILE'"),
        (["ask", "nowhere.db"], 1, "there is no study file 'nowhere.db'"),
        (["ask", "train.py"], 1, "'train.py' is not a study file"),
        (["ask", "tune.db", "-n", "0"], 2, "0 is not in the range"),
        (["ask", "tune.db", "--name", "x"], 1, "has no study 'x'; it has ['default']"),
        (["init", "new.db"], 2, "Missing option '--space'"),
        (["init", "new.db", "--space", "nowhere.toml"], 1, "cannot read the space file 'nowhere.toml'"),
        (["init", "tune.db", "--space", "space.toml"], 1, "already has a study 'default'"),
        (["tell", "tune.db", "0"], 2, "give either a VALUE or --failed"),
        (["tell", "tune.db", "0", "high"], 2, "VALUE must be a number, got 'high'"),
        (["tell", "tune.db", "99", "1.0"], 1, "there is no trial 99 in 'tune.db'"),
        (["run", "tune.db", "-n", "5"], 2, "Missing argument 'COMMAND...'"),
        (["run", "tune.db", "-n", "5", "--", "echo", "{lr}"], 1, "{lr} in '{lr}' must be a parameter of the space"),
        (["run", "tune.db", "-n", "5", "--value-regex", "(", "--", "echo"], 1, "must be a regular expression"),
        (["export", "tune.db", "out.xls"], 1, "format must be one of ['csv', 'xlsx', 'json', 'parquet'], got 'xls'"),
        (["import", "tune.db"], 2, "give either a TABLE or --optuna"),
        (["import", "tune.db", "nowhere.csv"], 1, "cannot read 'nowhere.csv'"),
    ],
)
def test_bad_arguments_are_one_line_and_the_right_code(
    folder: Path, here: Any, arguments: list[str], code: int, message: str
) -> None:
    study_in(folder, 1).close()
    _, err = here(*arguments, code=code)
    assert message in err
    assert len(err.splitlines()) == 1
    assert err.startswith("error: ")
    assert not (folder / "new.db").exists()


def test_a_process_exits_with_these_codes_too(folder: Path) -> None:
    study_in(folder).close()
    crowd = [start(folder, *arguments) for arguments in (["nonsense"], ["tell", "tune.db", "0"], ["ask", "nowhere.db"])]
    errors = [process.communicate(timeout=60)[1] for process in crowd]
    assert [process.returncode for process in crowd] == [2, 2, 1]
    assert all(error.startswith("error: ") and len(error.splitlines()) == 1 for error in errors)


def test_no_command_shows_the_help(here: Any) -> None:
    _, err = here(code=2)
    assert err.startswith("Usage: ccgbo ")
    assert "\n  init " in err, "one command to a line"
    assert "error:" not in err


def test_debug_shows_the_traceback(folder: Path) -> None:
    process = start(folder, "--debug", "ask", "nowhere.db")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "Traceback (most recent call last)" in err
    assert "StudyNotFoundError" in err


# -- help, version, completion


def test_every_command_has_help(folder: Path, here: Any) -> None:
    out, _ = ccgbo_(folder, "--help")
    for name in ("init", "ask", "tell", "run", "show", "list", "export", "import", "release", "delete", "demo"):
        assert f"\n  {name} " in out
    assert "{lr}" in here("run", "--help")[0]
    assert "support-vector regression" in here("demo", "--help")[0]
    assert here("--version")[0] == f"ccgbo {ccgbo.__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_names_the_program(here: Any, shell: str) -> None:
    assert "_CCGBO_COMPLETE" in here("completion", shell)[0]


def test_the_shell_completes_commands_and_options(folder: Path) -> None:
    def complete(words: str) -> list[str]:
        environment = os.environ | {
            "_CCGBO_COMPLETE": "bash_complete",
            "COMP_WORDS": f"ccgbo {words}",
            "COMP_CWORD": str(len(words.split(" "))),
        }
        out, err = start(folder, env=environment).communicate(timeout=60)
        assert err == ""
        return [line.partition(",")[2] for line in out.splitlines()]

    assert complete("re") == ["restore", "release", "report"]
    assert complete("init tune.db --pre") == ["--preset"]
    assert complete("init tune.db --preset p") == ["paper"]


# -- an external program as an objective, piece by piece


def test_places_are_filled_and_doubled_braces_stay() -> None:
    params = {"lr": 1e-5, "n": 3, "on": True, "kind": "a b; c"}
    where = places([*params, "inactive"])
    assert fill("--lr={lr}", params, where) == "--lr=1e-05"
    assert fill("{n}-{kind}-{on}", params, where) == "3-a b; c-true"
    assert fill("{{n}} {'json': 1} {} {inactive}| {print $1}", params, where) == "{n} {'json': 1} {} | {print $1}"


@pytest.mark.parametrize(
    ("out", "value"),
    [
        ("epoch 10\nacc: 0.93\n", 0.93),
        ("saved v2 to run-3.pt, loss=-1.5e-3.", -1.5e-3),
        ("took 12s 7", 7.0),
        ("0.5%", 0.5),
        ("a 1 then inf", float("inf")),
        ("+.5", 0.5),
    ],
)
def test_the_last_number_that_stands_alone_is_the_value(out: str, value: float) -> None:
    assert last_number(out) == value


def test_values_by_regex_and_by_json_key() -> None:
    out = 'acc=0.1 loss=5\nacc=0.2 loss=4\n{"test": {"acc": 0.75}, "list": [1]}\n12\n'
    assert by_regex(r"acc=(\S+)")(out) == 0.2
    assert by_regex(r"\d+$")(out) == 12.0
    assert by_json_key("test.acc")(out) == 0.75
    assert by_json_key("acc")('{\n  "acc": 3\n}') == 3.0
    for parse, text, message in (
        (last_number, "no digits", "printed no number: 'no digits'"),
        (last_number, "", "printed no number: nothing was printed"),
        (by_regex("acc=(.*)"), "loss", "nothing printed matches"),
        (by_regex("acc=(.*)"), "acc=high", "'high', which is not a number"),
        (by_json_key("test.f1"), out, "no JSON object with 'test.f1'"),
    ):
        with pytest.raises(CommandFailed, match=message):
            parse(text)


def once(*arguments: str, timeout: float | None = None, **params: Any) -> float:
    with Command(arguments, list(params), parse=last_number, timeout=timeout) as program:
        return program(**params)


def test_a_program_that_hangs_or_is_missing_fails_in_words(tmp_path: Path) -> None:
    hang = (
        "import subprocess, sys, pathlib; child = subprocess.Popen(['sleep', '60']);"
        " pathlib.Path(sys.argv[1]).write_text(str(child.pid)); child.wait()"
    )
    with pytest.raises(CommandFailed, match="stopped after 3 s"):
        once(sys.executable, "-c", hang, str(tmp_path / "pid"), timeout=3.0)
    assert not is_running(int((tmp_path / "pid").read_text())), "the program's child was left behind"
    with pytest.raises(CannotEvaluate, match="cannot start 'no-such-program'"):
        once("no-such-program")
    with pytest.raises(CommandFailed, match="cannot start 'no-such-program'"):  # a parameter chose it
        once("{x}", x="no-such-program")
    with pytest.raises(CommandFailed, match="killed by SIGKILL"):
        once("sh", "-c", "kill -9 $$")
    with pytest.raises(CommandFailed, match="killed by signal 40"):  # which has no name
        once("sh", "-c", "kill -40 $$")
    with pytest.raises(CommandFailed, match="cannot pass the parameters"):
        once("echo", "{x}", x="a\0b")


def test_a_program_that_left_a_child_behind_has_its_value_and_the_child_ends(tmp_path: Path) -> None:
    line = f"sleep 4321 & echo $! > {tmp_path / 'pid'}; echo 0.5"
    assert once("sh", "-c", line, timeout=60.0) == 0.5
    assert not is_running(int((tmp_path / "pid").read_text()))


def is_running(pid: int) -> bool:
    deadline = time.monotonic() + 5.0
    while time.monotonic() < deadline:
        state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout.strip()
        if state in ("", "Z"):
            return False
        time.sleep(0.05)
    return True


def test_the_parameters_are_in_the_environment_too() -> None:
    code = "import json, os; print(json.loads(os.environ['CCGBO_PARAMS'])['x'])"
    assert once(sys.executable, "-c", code, x=0.1 + 0.2) == 0.1 + 0.2


def test_a_table_aligns_numbers_to_the_right() -> None:
    assert table(["id", "kind"], [[1, "a"], [10, None]]) == "id  kind\n 1  a\n10  -"
