"""The scripts in benchmarks/ that measure what no experiment does, with tiny budgets."""

from __future__ import annotations

import importlib.util
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


def test_many_observations_measures_times_memory_and_what_follows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    many = script("many_observations", monkeypatch)
    found = many.measure(60, 0, suggestions=2)
    assert found["peak"] >= found["before"] > 0.0 and min(found["first"], found["next"]) > 0.0
    monkeypatch.setattr(many, "SUBSET", 30)
    monkeypatch.setattr(many, "SUGGESTIONS", 2)
    (area, final), (_, other) = many.pair(get_problem("Hartmann6"), 60, 0)
    assert 0.0 <= final <= area and other >= 0.0
    many.quality(["Hartmann6"], [20, 60], range(2))
    shown = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("| Hartmann6 | 60 |") for line in shown) == 1  # 20 rows are no more than the subset


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


@pytest.mark.heavy
def test_suggestions_with_several_metrics_are_timed_side_by_side(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    speed = script("suggest_speed", monkeypatch)
    speed.several_metrics(n=8, repeats=2, peers=("optuna-tpe",))
    shown = capsys.readouterr().out
    assert shown.count("| optuna-tpe |") == 2 and "DTLZ2_6x2" in shown and "two constraints" in shown
    values = speed.two_constraints()(dict.fromkeys(speed.two_constraints().space, 0.5))
    assert values["c0"] == pytest.approx(np.sqrt(1.5) - 1.0) and values["c1"] == pytest.approx(0.5)
