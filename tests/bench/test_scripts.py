"""The scripts in benchmarks/ that measure what no experiment does, with tiny budgets."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from ccgbo import Optimizer
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
    for method in ("best-and-latest", "not-pooled"):
        monkeypatch.setitem(many.METHODS[method], "tuning", {"max_points": 40})
    cases, path = (("Hartmann3", "noisy runs"), ("Hartmann3", "uniform")), tmp_path / "kept.json"
    many.quality(cases, [60], range(2), list(many.METHODS), path)
    cells = json.loads(path.read_text())["quality"]
    assert len(cells) == 2 * 2 * 4
    assert len({cell["start"] for key, cell in cells.items() if "runs | 60 | 1" in key}) == 1
    monkeypatch.setattr(many, "follow", None)
    many.quality(cases, [60], range(2), list(many.METHODS), path)
    many.quality_table(cells, cases)
    shown = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("| Hartmann3 | ") for line in shown) == 6
    assert sum(line.startswith("| all | ") for line in shown) == 3


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


def run_main(module: ModuleType, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", [module.__name__, *arguments])
    module.main()


def test_a_simulated_cluster_evaluates_all_it_wants_and_says_what_was_needed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cluster, out = script("simulate_cluster", monkeypatch), tmp_path / "cluster.json"
    run_main(cluster, monkeypatch, "--quick", "--out", str(out))
    shown, runs = capsys.readouterr().out, json.loads(out.read_text())["runs"]
    assert "seed 0" in shown and "'numpy'" in shown and "| 70:64 | 140 |" in shown
    assert [(r["workers"], r["group"], r["evaluations"]) for r in runs] == [
        (8, 1, 16), (8, 4, 16), (70, 1, 140), (70, 64, 140),
    ]  # fmt: skip
    for r in runs:
        hours, n, regret = zip(*r["trace"], strict=True)
        assert list(hours) == sorted(hours) and n[-1] == r["evaluations"]
        assert list(regret) == sorted(regret, reverse=True) and regret[-1] == r["regret"] >= 0.0
        assert r["store"] == "sqlite" and r["ask_seconds"] > 0.0 and 0.0 < r["server_load"] < 1.0
    assert runs[3]["mean_wait_seconds"] > runs[2]["mean_wait_seconds"]  # who waits for 63 others waits longer
    run_main(cluster, monkeypatch, "--out", str(out), "--figure", str(tmp_path / "scale.png"))
    assert (tmp_path / "scale.png").stat().st_size > 10_000


def test_a_slow_suggester_makes_the_workers_of_a_cluster_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = script("simulate_cluster", monkeypatch)
    problem = get_problem("Branin2")

    def waiting(minutes: float) -> tuple[float, float]:
        source = Optimizer(problem.space, seed=0)
        found = cluster.simulate(problem, source, 6, 1, 24, minutes=minutes, cpu=60.0, seed=0)
        return found["mean_wait_seconds"], found["server_load"]

    (short, busy), (_, idle) = waiting(1e-5), waiting(10.0)
    assert busy > 0.5 > 0.01 > idle  # evaluations of a millisecond wait for suggestions, those of minutes do not
    assert short >= 0.0


def test_batches_are_compared_with_those_of_others_over_the_same_seeds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    quality, out = script("batch_quality", monkeypatch), tmp_path / "batch.json"
    run_main(quality, monkeypatch, "--quick", "--out", str(out))
    shown, rows = capsys.readouterr().out, json.loads(out.read_text())["rows"]
    assert "| one by one | 1.00 [1.00, 1.00] |" in shown and "q = 16, qLogEI: Branin2" in shown
    assert {r["method"] for r in rows} == set(quality.METHODS)
    starts = {(r["seed"], r["regret"][0]) for r in rows}
    assert len(starts) == 2  # of two seeds, each the same for every method
    quality.speed(40, 20, 1)
    assert "ask(20) at n = 40: one by one" in capsys.readouterr().out
