"""The scripts in benchmarks/ that measure what no experiment does, with tiny budgets."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from ccgbo.bench.problems import get_problem
from ccgbo.bench.problems.lasso import cross_validated

SCRIPTS = Path(__file__).parents[2] / "benchmarks"


def script(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(variable, "1")  # a script sets what is not set; undone afterwards
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


def test_many_observations_measures_times_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    many = script("many_observations", monkeypatch)
    found = many.measure(60, "default", 0, suggestions=2)
    assert found["peak"] >= found["before"] > 0.0 and min(found["first"], found["next"]) > 0.0


def test_many_observations_compares_rules_on_the_same_rows_and_runs_nothing_twice(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    many = script("many_observations", monkeypatch)
    monkeypatch.setattr(many, "SUBSET", 30)
    monkeypatch.setattr(many, "SUGGESTIONS", 2)
    monkeypatch.setitem(many.METHODS, "default", {"tuning": {"max_points": 40}})
    monkeypatch.setitem(many.METHODS["best-and-latest"], "tuning", {"max_points": 40})
    cases, path = (("Hartmann3", "noisy runs"), ("Hartmann3", "uniform")), tmp_path / "kept.json"
    many.quality(cases, [60], range(2), list(many.METHODS), path)
    cells = json.loads(path.read_text())["quality"]
    assert len(cells) == 2 * 2 * 3
    assert len({cell["start"] for key, cell in cells.items() if "runs | 60 | 1" in key}) == 1
    monkeypatch.setattr(many, "follow", None)
    many.quality(cases, [60], range(2), list(many.METHODS), path)
    many.quality_table(cells, cases)
    shown = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("| Hartmann3 | ") for line in shown) == 4
    assert sum(line.startswith("| all | ") for line in shown) == 2


def test_best_and_latest_are_the_better_half_by_value_and_the_later_by_time(monkeypatch: pytest.MonkeyPatch) -> None:
    many = script("many_observations", monkeypatch)
    values = np.random.default_rng(0).standard_normal(60)
    U = np.zeros((60, 1))
    rows = many.BestAndLatest().to_fit(many.Data(U, U, values, U[:, 0]), many.EngineTuning(max_points=20))
    assert len(rows) == 20 and set(np.argsort(-values)[:10]) <= set(rows)
    rest = np.setdiff1d(np.arange(60), np.argsort(-values)[:10])
    assert set(rest[-10:]) <= set(rows)


def test_the_slope_of_the_lasso_is_that_of_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    best = script("best_known", monkeypatch)
    x = np.random.default_rng(0).uniform(-1.5, -0.2, 100)
    error, slope = best.lasso_slope(x, "LassoMade100")
    assert error == pytest.approx(-cross_validated(x, name="LassoMade100"), rel=1e-9)
    for j in np.argsort(-np.abs(slope))[:5]:
        step = 1e-3 * np.eye(100)[j]
        ahead, behind = (-cross_validated(x + s, name="LassoMade100") for s in (step, -step))
        assert slope[j] == pytest.approx((ahead - behind) / 2e-3, rel=0.05)


def test_an_evolution_climbs_and_returns_what_it_found(monkeypatch: pytest.MonkeyPatch) -> None:
    best = script("best_known", monkeypatch)
    problem = get_problem("Branin2")
    value, u = best.evolve(problem, np.full(2, 0.5), 0.2, 200, 0)
    assert value == problem(problem.space.decode(u)) and problem.optimum - value < 0.05


def test_suggestions_in_100_dimensions_are_timed_side_by_side(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    speed = script("suggest_speed", monkeypatch)
    monkeypatch.setattr(speed, "HIGHDIM", ("default", "cmaes", "vizier"))
    monkeypatch.setenv("CCGBO_PEERS", "/nowhere")
    speed.high_dimension(n=12, repeats=2, thousand=False)
    shown = capsys.readouterr().out
    assert "| cmaes |" in shown and "vizier is left out" in shown and "times ours" in shown
