"""Commands that change trials by hand, and the space under them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ccgbo
from ccgbo.cli import main

SPACE = """
[parameters]
x = { type = "float", low = -5.0, high = 5.0 }
n = { type = "int", low = 1, high = 8 }
kind = { type = "categorical", choices = ["a", "b", "1", 1] }
"""


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """What a command prints, in a folder with a study of three trials, the last of them pending."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CCGBO_USER", "kim@bench-3")
    Path("space.toml").write_text(SPACE)
    with ccgbo.Study("tune.db", ccgbo.load_space("space.toml"), seed=0) as study:
        study.tell(study.ask(), 1.0)
        study.tell(study.ask(), 9.3)
        study.ask()

    def call(*arguments: Any, code: int = 0) -> str:
        with pytest.raises(SystemExit) as exit_:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert exit_.value.code == code, (out, err)
        if not code:
            assert not err
            return out
        assert not out
        assert err.startswith("error: ")
        assert len(err.splitlines()) == 1
        return err

    return call


def trial(i: int) -> ccgbo.Trial:
    with ccgbo.Study("tune.db") as study:
        return study.trials[i]


# -- outcomes


def test_several_values_are_readings_of_one_trial(call: Any) -> None:
    out = call("tell", "tune.db", 2, "-0,5", "1.5", "--note", "cold", "--tag", "oven 3", "--tag", "repeat")
    assert out == "trial 2: 0.5, the mean of 2 readings  (best so far: trial 1, 9.3)\n"
    assert trial(2).readings == (-0.5, 1.5)
    assert trial(2).attributes == {"note": "cold", "tags": ["oven 3", "repeat"]}


def test_a_value_has_an_error_and_settings_that_were_really_used(call: Any) -> None:
    out = call("tell", "tune.db", 2, "0.93", "--error", "0.02", "--set", "x=7,5", "--set", "kind=1", "--set", "n=4")
    assert out.splitlines()[0] == "trial 2: 0.93  (best so far: trial 1, 9.3)"
    assert out.splitlines()[1].startswith("it lies outside the space: x must be in [-5.0, 5.0]")
    assert trial(2).params == {"x": 7.5, "n": 4, "kind": 1}
    assert trial(2).noise_variance == pytest.approx(0.0004)
    assert "tell trial 2: x " in call("log", "tune.db")


def test_a_value_is_amended_and_a_failure_becomes_a_value_and_back(call: Any) -> None:
    assert call("amend", "tune.db", 1, "0.93") == "trial 1: 0.93  (best so far: trial 0, 1)\n"
    assert call("amend", "tune.db", 1, "--failed", "--reason", "spilled").startswith("trial 1 failed")
    assert trial(1).error == "spilled"
    assert call("amend", "tune.db", 1, "2", "--set", "n=3").startswith("trial 1: 2  (best so far: trial 1, 2)")
    assert call("amend", "tune.db", 1, "--set", "n=5").startswith("trial 1: 2  ")  # only the settings
    assert trial(1).params["n"] == 5


def test_trials_are_dropped_restored_and_abandoned(call: Any) -> None:
    assert call("drop", "tune.db", 0, 1, "--note", "wrong flask") == "dropped trial 0\ndropped trial 1\n"
    assert call("restore", "tune.db", 0) == "restored trial 0\n"
    assert call("abandon", "tune.db", 2) == "abandoned trial 2\n"
    assert call("amend", "tune.db", 2, "0.5") == "trial 2: 0.5  (best so far: trial 0, 1)\n"
    assert [line.split("  ", 2)[1:] for line in call("log", "tune.db").splitlines()] == [
        ["kim@bench-3", "drop trial 0: dropped yes (wrong flask)"],
        ["kim@bench-3", "drop trial 1: dropped yes (wrong flask)"],
        ["kim@bench-3", "restore trial 0: dropped yes -> no"],
        ["kim@bench-3", "abandon trial 2: state pending -> abandoned"],
        ["kim@bench-3", "amend trial 2: state abandoned -> complete, value 0.5"],
    ]
    assert call("log", "tune.db", 0, "--last", 1).endswith("restore trial 0: dropped yes -> no\n")
    assert json.loads(call("log", "tune.db", 1, "--json"))[0]["after"] == {"dropped": True}


def test_the_log_of_an_untouched_study_says_so(call: Any) -> None:
    assert call("log", "tune.db") == "nothing was changed by hand\n"


def test_anything_is_kept_with_a_trial(call: Any) -> None:
    out = call("annotate", "tune.db", 0, "--note", "a\x1b[31mb", "--tag", "t", "--attribute", "operator=kim=1")
    assert out == 'trial 0: operator=kim=1, note=a\\x1b[31mb, tags=["t"]\n'
    assert call("annotate", "tune.db", 0, "--remove", "note", "--remove", "tags") == "trial 0: operator=kim=1\n"
    assert call("annotate", "tune.db", 0, "--remove", "operator") == "trial 0: nothing is kept with it\n"


# -- points


def test_an_enqueued_point_is_given_out_first_and_not_released(call: Any) -> None:
    assert call("enqueue", "tune.db", "x=-1,5", "n=3", 'kind="1"', "--note", "known") == (
        "enqueued trial 3: x=-1.5, n=3, kind=1\n"
    )
    assert trial(3).params == {"x": -1.5, "n": 3, "kind": "1"}
    assert call("release", "tune.db") == "released 0 trials\n"
    assert call("release", "tune.db", "--all") == "released 1 trial: 2\n"
    assert [json.loads(line)["id"] for line in call("ask", "tune.db", "-n", 3, "--json").splitlines()] == [3, 2, 4]


def test_a_parameter_is_held_fixed_for_one_ask(call: Any) -> None:
    call("enqueue", "tune.db", "x=1", "n=3", "kind=a")
    fixed = json.loads(call("ask", "tune.db", "--fix", "n=7", "--fix", "kind=b", "--json"))
    assert (fixed["id"], fixed["params"]["n"], fixed["params"]["kind"]) == (4, 7, "b")
    assert json.loads(call("ask", "tune.db", "--json"))["id"] == 3


def test_ask_says_why_each_point_is_suggested_as_the_library_does(call: Any) -> None:
    for value in ("1", "2"):
        call("tell", "tune.db", json.loads(call("ask", "tune.db", "--json"))["id"], value)
    points = json.loads(call("ask", "tune.db", "--why", "--json"))
    told = call("ask", "tune.db", "-n", 2, "--why").splitlines()
    with ccgbo.Study("tune.db") as study:
        assert points["why"] == study.explain(points["id"]).sentences()
        expected = [f"trial {i}: {study.explain(i)}" for i in (points["id"] + 1, points["id"] + 2)]
    assert "\n".join(told[3:]) == "\n".join(expected)
    assert "why" not in json.loads(call("ask", "tune.db", "--json"))


# -- show


def test_show_marks_what_is_dropped_abandoned_and_outside_and_has_the_notes(call: Any) -> None:
    call("drop", "tune.db", 1)
    call("amend", "tune.db", 0, "1", "--set", "x=7", "--note", "hot", "--tag", "oven3")
    call("abandon", "tune.db", 2)
    lines = call("show", "tune.db", "--no-model").splitlines()
    assert lines[1].split()[-2:] == ["why", "note"]
    assert lines[2].split()[1:3] == ["complete,", "outside"]
    assert "x must be in [-5.0, 5.0], got 7" in lines[2]
    assert lines[2].endswith("hot #oven3")
    assert lines[3].split()[1:3] == ["complete,", "dropped"]
    assert lines[4].split()[1] == "abandoned"
    assert lines[5].startswith("best         trial 0: 1 at x=7")
    shown = json.loads(call("show", "tune.db", "--no-model", "--json"))
    assert [t["dropped"] for t in shown["trials"]] == [False, True, False]
    assert shown["trials"][0]["attributes"] == {"note": "hot", "tags": ["oven3"]}
    assert "x must be in" in shown["trials"][0]["outside"]


# -- the space


def new_space(*lines: str) -> None:
    Path("new.toml").write_text("\n".join(["[parameters]", *lines]))


def test_a_change_of_the_space_is_said_before_it_is_done(call: Any) -> None:
    new_space(
        'x = { type = "float", low = -5.0, high = 9.0 }',
        'count = { type = "int", low = 1, high = 8 }',
        'kind = { type = "categorical", choices = ["a", "b", "1", 1] }',
        'stir = { type = "int", low = 100, high = 900 }',
    )
    arguments = ["change", "tune.db", "--space", "new.toml", "--default", "stir=300", "--rename", "n=count"]
    sentences = [
        "n: renamed to count.",
        "x: widened from [-5.0, 5.0] to [-5.0, 9.0].",
        "stir: added; trials so far get 300.",
    ]
    said = call(*arguments, "--dry-run").splitlines()
    assert said == [*sentences, "nothing was changed: this was a dry run."]
    assert "n" in trial(0).params
    assert call(*arguments).splitlines() == sentences
    assert list(trial(0).params) == ["x", "count", "kind", "stir"]
    assert call("change", "tune.db", "--space", "new.toml") == "the space is that of the study already.\n"
    assert "change space (n: renamed to count." in call("log", "tune.db")


def test_a_change_says_which_trials_it_leaves_outside(call: Any) -> None:
    with ccgbo.Study("tune.db") as study:
        study.tell_many([{"x": 4.0, "n": 1, "kind": "a"}, {"x": 0.0, "n": 1, "kind": "b"}], [1.0, 2.0])
    new_space(
        'x = { type = "float", low = -5.0, high = 3.5 }',
        'kind = { type = "categorical", choices = ["a", "1", 1] }',
    )
    lines = call("change", "tune.db", "--space", "new.toml", "--marginal", "n").splitlines()
    assert any(line.startswith("x: narrowed from [-5.0, 5.0] to [-5.0, 3.5]") for line in lines)
    assert any(line.startswith("n: removed; ") for line in lines)
    assert any(
        line.startswith("trial 4 has no place in it and leaves the model: kind must be one of") for line in lines
    )
    assert lines[-1].endswith(": 3.") or ", 3" in lines[-1]


def test_a_parameter_is_fixed_for_good(call: Any) -> None:
    new_space('x = { type = "float", low = -5.0, high = 5.0 }', 'kind = { type = "categorical", choices = ["a", "b"] }')
    assert "n: fixed at 3 from now on" in call("change", "tune.db", "--space", "new.toml", "--fix", "n=3")
    assert json.loads(call("ask", "tune.db", "--json"))["params"]["n"] == 3


# -- wrong usage


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["tell", "tune.db", 2], 2, "give either a VALUE or --failed"),
        (["tell", "tune.db", 2, "--set", "x=1"], 2, "give either a VALUE or --failed"),
        (["tell", "tune.db", 2, 1, "--failed"], 2, "give either a VALUE or --failed"),
        (["tell", "tune.db", 2, 1, 2, "--error", 0.1], 2, "--error belongs to one VALUE, got 2"),
        (["tell", "tune.db", 2, 1, "--error", 0.1, "--noise-variance", 1], 2, "either --error or --noise-variance"),
        (["tell", "tune.db", 2, 1, "--reason", "x"], 2, "--reason says why a trial --failed"),
        (["tell", "tune.db", 2, 1, "--set", "x"], 2, "--set must be NAME=VALUE, got 'x'"),
        (["tell", "tune.db", 2, 1, "--set", "x=1", "--set", "x=2"], 2, "--set: 'x' must be given once"),
        (["tell", "tune.db", 2, 1, "--set", "y=1"], 2, "--set: there is no parameter 'y'; the space has ['x', 'n',"),
        (["tell", "tune.db", 2, 1, "--set", "x=hot"], 2, "--set x must be a number, got 'hot'"),
        (["tell", "tune.db", 2, 1, "--set", "kind=z"], 1, "kind must be one of"),
        (["tell", "tune.db", 2, 1, "--eror", 0.1], 2, "No such option"),
        (["tell", "tune.db", 2, 1, "nan"], 1, "value[1], a reading, must be a finite number"),
        (["tell", "tune.db", 0, 1], 1, "trial 0 is already complete (value 1.0): amend corrects it"),
        (["amend", "tune.db", 0], 2, "give either a VALUE or --failed"),
        (["amend", "tune.db", 2, 1], 1, "trial 2 is pending and has no outcome to amend: tell it"),
        (["amend", "tune.db", 99, 1], 1, "there is no trial 99 in 'tune.db'; `ccgbo show tune.db` lists them"),
        (["drop", "tune.db"], 2, "Missing argument 'TRIAL...'"),
        (["drop", "tune.db", 99], 1, "there is no trial 99 in 'tune.db'"),
        (["drop", "tune.db", 2], 1, "trial must be complete or failed to be dropped, but trial 2 is pending"),
        (["restore", "tune.db", 0], 1, "trial must be dropped to be restored"),
        (["abandon", "tune.db", 0], 1, "trial must be pending to be abandoned"),
        (["annotate", "tune.db", 0], 2, "give a --note, a --tag, an --attribute or what to --remove"),
        (["annotate", "tune.db", 0, "--attribute", "x"], 2, "--attribute must be NAME=TEXT, got 'x'"),
        (["enqueue", "tune.db"], 2, "Missing argument 'NAME=VALUE...'"),
        (["enqueue", "tune.db", "x=1"], 1, "params must be a point of the space"),
        (["enqueue", "tune.db", "x=9", "n=1", "kind=a"], 1, "x must be in [-5.0, 5.0], got 9.0"),
        (["ask", "tune.db", "--fix", "x=9"], 1, "x"),
        (["ask", "tune.db", "--fix", "q=9"], 2, "--fix: there is no parameter 'q'"),
        (["change", "tune.db"], 2, "give either --space"),
        (["change", "tune.db", "--space", "nowhere.toml"], 1, "cannot read the space file 'nowhere.toml'"),
        (["change", "tune.db", "--space", "space.toml", "--default", "q=1"], 2, "--default: there is no parameter 'q'"),
        (["change", "tune.db", "--space", "space.toml", "--rename", "x"], 2, "--rename must be OLD=NEW, got 'x'"),
        (["log", "nowhere.db"], 1, "there is no study file 'nowhere.db'"),
    ],
)
def test_bad_arguments_are_one_line_and_leave_the_study_as_it_was(
    call: Any, arguments: list[Any], code: int, message: str
) -> None:
    before = ccgbo.Study("tune.db").trials
    assert message in call(*arguments, code=code)
    with ccgbo.Study("tune.db") as study:
        assert study.trials == before
        assert study.log() == []
