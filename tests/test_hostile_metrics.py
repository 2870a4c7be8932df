"""Metrics that nobody hopes for, through every entrance: the optimizer, a study with its pages, the shell, Optuna.

Each is played from the initial design into the model; nothing may be raised or warned of, nothing told may be lost, and
the report, the tables and the state must carry it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest
from hostile_metrics import BOX, FAST, KINDS, Function, N, play

import ccgbo
from ccgbo import AtLeast, AtMost, Between, Optimizer, Recommendation, Study
from ccgbo.cli import main
from ccgbo.integrations.optuna import CCGBOSampler
from ccgbo.study.transfer import export_study, import_file
from ccgbo.viz import write_report
from ccgbo.viz.payload import analysis_payload, study_payload, to_json

kinds = pytest.mark.parametrize(("goal", "f"), KINDS.values(), ids=KINDS.keys())


def look(target: Any) -> None:
    """At all that there is to see."""
    repr(target.result()), target._repr_html_(), target.credits(), str(target.diagnose())
    found = target.recommend()
    for one in found if isinstance(found, tuple) else (found,):
        assert isinstance(one, Recommendation)
        assert all(math.isfinite(part) for pair in one.metrics.values() for part in pair)
    if target.pareto_front():
        assert all(map(math.isfinite, target.hypervolume().reference.values()))


# -- the optimizer


@kinds
def test_an_optimizer_takes_them_and_resumes_exactly(goal: dict[str, Any], f: Function) -> None:
    opt = Optimizer(BOX, seed=0, **goal, **FAST)
    known = play(opt, f)
    assert {t.id: t.values for t in opt.trials} == known
    look(opt)
    other = Optimizer(BOX, seed=1, **goal, **FAST)
    other.load_state_dict(json.loads(json.dumps(opt.state_dict(), allow_nan=False)))
    assert opt.ask(2) == other.ask(2)


# -- a study


@kinds
def test_a_study_takes_them_and_its_pages_and_tables_show_them(
    goal: dict[str, Any], f: Function, tmp_path: Path
) -> None:
    with Study(tmp_path / "one.db", BOX, seed=0, **goal, **FAST) as study:
        known = play(study, f)
        export_study(study, tmp_path / "table.csv")
        export_study(study, tmp_path / "table.json")
        write_report(study, tmp_path / "report.html")
        opt = study.optimizer()
        look(opt)
        for page in (study_payload("lab", opt.space, opt.metrics, opt.trials), analysis_payload(opt)):
            json.loads(to_json(page), parse_constant=pytest.fail)  # browsers read no NaN and no Infinity
    with Study(tmp_path / "one.db") as study:
        assert {t.id: t.values for t in study.trials} == known
        assert study.ask() == opt.ask()
    for kind in ("csv", "json"):
        with Study(tmp_path / f"{kind}.db", BOX, **goal) as study:
            import_file(study, tmp_path / f"table.{kind}", by_id=False)
            assert [t.values for t in study.trials] == list(known.values())


# -- the shell


def options(goal: dict[str, Any]) -> list[str]:
    goals = goal.get("objectives") or {goal["objective"]: goal.get("direction", "maximize")}
    said = [part for name, word in goals.items() for part in ("--objective", f"{name}:{word}")]
    for name, bound in goal.get("outcome_constraints", {}).items():
        for end, sign in ((bound.lower, ">="), (bound.upper, "<=")):
            said += [] if math.isinf(end) else ["--constraint", f"{name}{sign}{end!r}"]
    return said


@kinds
def test_the_shell_takes_them(
    goal: dict[str, Any], f: Function, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def call(*arguments: str) -> str:
        with pytest.raises(SystemExit) as end:
            main([arguments[0], str(tmp_path / "lab.db"), *arguments[1:]])
        said = capsys.readouterr()
        assert end.value.code == 0, said
        assert said.err == ""
        return said.out

    space = tmp_path / "space.toml"
    space.write_text("".join(f'[parameters.{p}]\ntype = "float"\nlow = 0.0\nhigh = 1.0\n' for p in BOX), "utf-8")
    call("init", "--space", str(space), "--seed", "0", *options(goal))
    with Study(tmp_path / "lab.db") as study:
        reference = Optimizer(BOX, **goal)
        assert study.metrics == reference.metrics
        known = play(study, f)
    asked = json.loads(call("ask", "--json"))
    params = asked["params"]
    told = f(params["x"], params["y"], N)
    said = [f"{name}={'' if value is None else repr(value)}" for name, value in told.items()]
    call("tell", str(asked["id"]), *said)
    known[asked["id"]] = {k: v for k, v in told.items() if v is not None and math.isfinite(v)}
    call("show")
    data = json.loads(call("show", "--json"))
    shown = {t["id"]: {k: m["value"] for k, m in (t["metrics"] or {}).items()} for t in data["trials"]}
    assert shown == known


# -- Optuna


@kinds
def test_the_sampler_of_optuna_takes_them(goal: dict[str, Any], f: Function) -> None:
    """Objectives as they are; a bound as Optuna has it, a value that must not exceed zero."""
    goals = goal.get("objectives") or {goal["objective"]: goal.get("direction", "maximize")}

    def objective(trial: optuna.Trial) -> tuple[float, ...]:
        x, y = trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0)
        values = f(x, y, trial.number)
        for name, bound in goal.get("outcome_constraints", {}).items():
            value = values.get(name)
            if value is not None and not math.isnan(value):
                trial.set_constraint(name, max(bound.lower - value, value - bound.upper))
        return tuple(math.inf if values.get(name) is None else values[name] for name in goals)

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = CCGBOSampler(seed=0, n_startup_trials=4)
    study = optuna.create_study(directions=list(goals.values()), sampler=sampler)
    study.optimize(objective, n_trials=N)
    assert len(study.trials) == N
    done = [t for t in study.trials if t.state.name == "COMPLETE"]
    assert all(math.isfinite(credit) for credit in sampler.credits(study).values())
    assert len({(t.params["x"], t.params["y"]) for t in done}) == len(done)


# -- what is refused


def test_a_metric_that_appears_after_fifty_trials_is_modelled_from_then_on() -> None:
    opt = Optimizer(BOX, seed=0, objective="a", outcome_constraints={"c": AtMost(0.5)}, **FAST)
    grid = [(i % 8 / 8, i // 8 / 8) for i in range(60)]
    for i, (x, y) in enumerate(grid):
        opt.tell({"x": x, "y": y}, {"a": x + y} | ({"c": x} if i >= 50 else {}))
    why = opt.ask().explanation
    assert why is not None and set(why.metrics) == {"a", "c"} and why.feasibility is not None


@pytest.mark.parametrize("make", [Optimizer, "study"])
@pytest.mark.parametrize(
    ("goal", "said"),
    [
        ({"outcome_constraints": {"c": (0.0, 1.0)}}, r"outcome_constraints\['c'\] must be AtMost, AtLeast or Between"),
        ({"objectives": ["a", "a"]}, "objectives must be a mapping of 1 to 5 names"),
        ({"objectives": dict.fromkeys("abcdef", "maximize")}, "objectives must be a mapping of 1 to 5 names"),
        ({"objectives": {"a": "maximize", " ": "minimize"}}, "a name in objectives must be a text"),
        ({"objectives": {"a": "maximize", "a\n": "minimize"}}, "a name in objectives must be a text"),
        ({"objective": 3}, "a name in objective must be a text"),
    ],
)
def test_goals_that_cannot_be_meant_are_refused_by_name(
    make: Any, goal: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(ccgbo.SettingError, match=said):
        Optimizer(BOX, **goal) if make is Optimizer else Study(tmp_path / "s.db", BOX, **goal)
    assert not (tmp_path / "s.db").exists()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Between(-math.inf, math.inf),
        lambda: Between(1.0, 1.0),
        lambda: Between(math.inf, math.inf),
        lambda: Between(math.nan, 1.0),
        lambda: AtMost("1"),  # type: ignore[arg-type]
        lambda: AtLeast(10**400),
        lambda: AtMost(True),
    ],
)
def test_bounds_that_are_none_are_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(ccgbo.SettingError):
        make()
