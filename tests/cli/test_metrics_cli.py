"""Metrics on the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import ccgbo
from ccgbo import AtLeast, AtMost, Between
from ccgbo.cli import main
from ccgbo.cli.metrics import bounds_of

SPACE = '[parameters.x]\ntype = "float"\nlow = 0.0\nhigh = 1.0\n'
GOALS = ["--objective", "yield:maximize", "--objective", "cost:minimize", "--constraint", "impurity<=0.02"]
Call = Callable[..., str]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    monkeypatch.chdir(tmp_path)
    Path("space.toml").write_text(SPACE, encoding="utf-8")

    def call(*arguments: str, code: int = 0) -> str:
        with pytest.raises(SystemExit) as end:
            main(list(arguments))
        said = capsys.readouterr()
        assert end.value.code == code, said
        return said.err if code else said.out

    return call


@pytest.fixture
def lab(call: Call) -> Call:
    init = ["init", "lab.db", "--space", "space.toml", *GOALS, "--constraint", "6.5<=ph<=7.5", "--seed", "1"]
    assert "yield: maximize, cost: minimize, impurity <= 0.02, ph in [6.5, 7.5] over x" in call(*init)
    return call


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("ph<=7,5", AtMost(7.5)),
        (" ph >= -1e-3 ", AtLeast(-0.001)),
        ("7.5>=ph", AtMost(7.5)),
        ("6.5 <= ph <= 7.5", Between(6.5, 7.5)),
        ("7.5>=ph>=6.5", Between(6.5, 7.5)),
    ],
)
def test_bounds_are_read_either_way_round(text: str, bound: Between) -> None:
    assert bounds_of([text]) == {"ph": bound}


def test_two_bounds_of_one_metric_are_taken_together() -> None:
    assert bounds_of(["ph>=6.5", "ph<=7.5"]) == {"ph": Between(6.5, 7.5)}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--constraint", "ph<7"], "must be such as impurity<=0.02"),
        (["--constraint", "6<=ph>=5"], "must be such as"),
        (["--constraint", "1<=2"], "must be such as"),
        (["--constraint", "ph<=much"], "must be such as"),
        (["--constraint", "ph<=inf"], "must be such as"),
        (["--objective", "yield:max"], "must be NAME:maximize or NAME:minimize"),
        (["--objective", "a:minimize", "--objective", "a:maximize"], "'a' must be given once"),
        (["--objective", "a:minimize", "--minimize"], "either --objective NAME:minimize or --minimize"),
    ],
)
def test_goals_that_cannot_be_meant_are_one_line_and_leave_no_file(call: Call, arguments: list[str], said: str) -> None:
    assert said in call("init", "new.db", "--space", "space.toml", *arguments, code=2)
    assert not Path("new.db").exists()


def test_bounds_that_contradict_each_other_are_one_line_and_leave_no_file(call: Call) -> None:
    bounds = ["--constraint", "ph>=8", "--constraint", "ph<=7"]
    said = call("init", "new.db", "--space", "space.toml", *bounds, code=1)
    assert said == "error: Between.lower must be less than upper, got 8.0 and 7.0.\n"
    assert not Path("new.db").exists()


def test_metrics_are_told_corrected_and_shown(lab: Call) -> None:
    lab("ask", "lab.db", "-n", "3")
    told = lab("tell", "lab.db", "0", "yield=71.5", "cost=3,2", "impurity=0.01", "ph=7", "--error", "yield=0.5")
    assert told == "trial 0: yield 71.5, cost 3.2, impurity 0.01, ph 7  (front so far: 1 trial)\n"
    told = lab("tell", "lab.db", "1", "yield=60", "yield=61", "cost=2", "impurity=0.05", "ph=")
    assert told.startswith(
        "trial 1: yield 60.5 (the mean of 2 readings), cost 2, impurity 0.05, not feasible: impurity"
    )
    assert "feasible if ph is" in lab("amend", "lab.db", "1", "impurity=0.015")
    assert "front so far: 2 trials" in lab("amend", "lab.db", "1", "ph=6.75")
    shown = lab("show", "lab.db", "--no-model")
    assert [line.split()[:7] for line in shown.splitlines()[2:4]] == [
        ["0", "complete", "71.5", "3.2", "0.01", "7", "yes"],
        ["1", "complete", "60.5", "2", "0.015", "6.75", "yes"],
    ]
    assert "front        trial 1: yield 60.5, cost 2, impurity 0.015, ph 6.75" in shown
    assert "hypervolume" in shown
    data = json.loads(lab("show", "lab.db", "--json", "--no-model"))
    assert data["front"] == [0, 1] and data["trials"][0]["feasible"] is True
    assert data["trials"][1]["metrics"]["yield"]["readings"] == [60.0, 61.0]
    listed = lab("list", "lab.db")
    assert "front of 2" in listed and "impurity <= 0.02" in listed
    assert json.loads(lab("list", "lab.db", "--json"))[0]["n_front"] == 2
    study = ccgbo.Study("lab.db")
    assert study.trials[0].metrics["yield"].noise_variance == 0.25
    study.close()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["yeild=3"], 1, "no metric 'yeild': did you mean 'yield'"),
        (["3"], 2, "VALUE must be NAME=NUMBER, of the metrics yield, cost, impurity, ph, got '3'"),
        (["yield=3", "4"], 2, "VALUE must be NAME=NUMBER like the others, got '4'"),
        (["yield=much"], 2, "yield a number, got 'yield=much'"),
        (["=3"], 2, "must be a NUMBER or NAME=NUMBER"),
        (["yield=3", "--error", "0.5"], 2, "--error must be NAME=NUMBER, of yield, got '0.5'"),
        (["yield=1", "yield=2", "--error", "yield=0.5"], 2, "--error belongs to one VALUE, and 'yield' has 2 readings"),
        (["yield=3", "--error", "yield=-1"], 2, "must be a finite number >= 0"),
        (["yield=3", "--noise-variance", "cost=1"], 2, "--noise-variance must be NAME=NUMBER, of yield, got 'cost=1'"),
        ([], 2, "give either a VALUE or --failed"),
        (["--nosuch"], 2, "No such option"),
    ],
)
def test_what_cannot_be_told_is_one_line(lab: Call, arguments: list[str], code: int, said: str) -> None:
    lab("ask", "lab.db")
    assert said in lab("tell", "lab.db", "0", *arguments, code=code)
    with ccgbo.Study("lab.db") as study:
        assert study.trials[0].state == "pending"


def test_a_program_prints_its_metrics_as_json(lab: Call) -> None:
    Path("p.py").write_text(
        "import json, sys\nx = float(sys.argv[1])\n"
        "print('hello 3')\n"
        "print(json.dumps({'yield': x, 'sum': {'cost': 2 * x}, 'impurity': x / 60, 'ph': None if x > 0.9 else 7}))\n",
        encoding="utf-8",
    )
    keys = [f"--json-key={key}" for key in ("yield", "cost=sum.cost", "impurity", "ph")]
    said = lab("run", "lab.db", "-n", "3", "--quiet", *keys, "--", sys.executable, "p.py", "{x}")
    assert "Result: 3 trials" in said and "front" in said
    with ccgbo.Study("lab.db") as study:
        assert all(t.values["cost"] == 2 * t.values["yield"] for t in study.trials)
        assert all(("ph" in t.values) == (t.params["x"] <= 0.9) for t in study.trials)
    lab("run", "lab.db", "-n", "4", "--quiet", "--", sys.executable, "p.py", "{x}")
    with ccgbo.Study("lab.db") as study:
        assert "cost" not in study.trials[3].values and "yield" in study.trials[3].values
    for arguments, said in (
        (["--json-key", "price"], "no metric 'price'"),
        (["--value-regex", "3"], "several objectives: use --json-key"),
    ):
        assert said in lab("run", "lab.db", "-n", "9", *arguments, "--", sys.executable, code=2)
    lab("run", "lab.db", "-n", "5", "--quiet", "--json-key", "cost=no", "--", sys.executable, "p.py", "{x}")
    with ccgbo.Study("lab.db") as study:
        assert "no JSON object with 'no' was printed" in str(study.trials[4].error)


def test_metrics_are_changed_and_the_log_says_how(lab: Call) -> None:
    lab("ask", "lab.db")
    lab("tell", "lab.db", "0", "yield=1", "cost=2", "impurity=0.01", "ph=7")
    wanted = ["change", "lab.db", "--constraint", "impurity<=0.005", "--no-constraint", "ph"]
    dry = lab(*wanted, "--dry-run")
    assert dry.splitlines() == [
        "impurity: must be <= 0.005, before <= 0.02.",
        "ph: not bounded any more; what was measured stays on record.",
        "nothing was changed: this was a dry run.",
    ]
    assert lab(*wanted).splitlines() == dry.splitlines()[:2]
    lab("change", "lab.db", "--rename-metric", "cost=price")
    with ccgbo.Study("lab.db") as study:
        assert study.metrics.describe() == ["yield: maximize", "price: minimize", "impurity <= 0.005"]
        assert study.trials[0].values == {"yield": 1.0, "price": 2.0, "impurity": 0.01, "ph": 7.0}
    assert "change metrics (cost: called price from now on.)" in lab("log", "lab.db")
    assert "the metrics are those of the study already" in lab("change", "lab.db", "--constraint", "impurity<=0.005")
    assert "'ph' is not bounded" in lab("change", "lab.db", "--no-constraint", "ph", code=2)
    assert "either --space" in lab("change", "lab.db", "--space", "space.toml", "--constraint", "ph<=3", code=2)


def test_a_plain_study_is_told_as_before(call: Call) -> None:
    call("init", "tune.db", "--space", "space.toml")
    call("ask", "tune.db", "-n", "2")
    assert call("tell", "tune.db", "0", "-0.3", "--error", "0.5").startswith("trial 0: -0.3")
    assert "mean of 2 readings" in call("tell", "tune.db", "1", "1", "2")
    assert "one number" in call("amend", "tune.db", "1", "yield=3", code=1)


def test_a_tell_says_which_objective_was_not_measured_and_nothing_of_metrics_that_are_gone(lab: Call) -> None:
    lab("ask", "lab.db")
    told = lab("tell", "lab.db", "0", "yield=71.5", "cost=inf", "impurity=0.01", "ph=7")
    assert told == "trial 0: yield 71.5, impurity 0.01, ph 7, cost not measured\n"
    shown = lab("show", "lab.db")
    assert "warning      no observation of 'cost' yet, only of other metrics." in shown
    lab("amend", "lab.db", "0", "cost=3")
    lab("change", "lab.db", "--no-constraint", "ph")
    assert "front        trial 0: yield 71.5, cost 3, impurity 0.01\n" in lab("show", "lab.db")


def test_an_import_names_the_columns_that_it_passes_over(lab: Call) -> None:
    lab("ask", "lab.db", "-n", "2")
    Path("back.csv").write_text("id,yeild,cost,Impurity [%],operator,empty\n0,71.5,3,0.01,kim,\n", encoding="utf-8")
    said = lab("import", "lab.db", "back.csv", "--dry-run")
    wanted = "'yeild' (is 'yield' meant?), 'Impurity [%]' (is 'impurity' meant?), 'operator'"
    assert f"  passed over, since nothing here is called so: {wanted}\n" in said
