"""Runs that measure several things."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ccgbo
from ccgbo import AtMost, SettingError

SPACE: dict[str, Any] = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
FRONT: dict[str, Any] = {"objectives": {"a": "maximize", "b": "minimize"}}
FAST: dict[str, Any] = {
    "n_initial": 4,
    "tuning": {"n_candidates": 16, "n_local": 4, "n_starts": 1, "search_steps": 2, "max_iterations": 8},
}


def measure(x: float, y: float) -> dict[str, float]:
    return {"a": x * (2.0 - y), "b": x + y, "c": y}


def trade_off(x: float, y: float) -> dict[str, float]:
    return {"a": x * (2.0 - y), "b": x + y}


def one_and_bound(x: float, y: float) -> dict[str, float]:
    return {"value": x, "c": x + y}


def test_optimize_gives_the_same_in_memory_and_in_a_file_and_goes_on_there(tmp_path: Path) -> None:
    given: dict[str, Any] = {**FRONT, **FAST, "outcome_constraints": {"c": AtMost(0.8)}, "seed": 2, "progress": False}
    here = ccgbo.optimize(measure, SPACE, 8, **given)
    first = ccgbo.optimize(measure, SPACE, 5, study=tmp_path / "s.db", **given)
    there = ccgbo.optimize(measure, SPACE, 8, study=tmp_path / "s.db", **given)
    assert len(first.trials) == 5
    assert here.trials == there.trials
    assert here.pareto_front() and all(t.values["c"] <= 0.8 for t in here.pareto_front())
    assert here.hypervolume().value == there.hypervolume().value
    assert list(here.to_dataframe()["metrics_a"]) == [t.values["a"] for t in here.trials]
    assert "front" in repr(here)


def test_a_bound_keeps_what_breaks_it_from_being_the_best_and_from_reaching_the_target() -> None:
    found = ccgbo.maximize(
        one_and_bound,
        SPACE,
        12,
        x0=[{"x": 1.0, "y": 1.0}, {"x": 0.6, "y": 0.1}, {"x": 0.1, "y": 0.1}],
        outcome_constraints={"c": AtMost(0.75)},
        target=0.5,
        seed=0,
        progress=False,
        **FAST,
    )
    assert found.stopped == "target reached"
    assert [t.state for t in found.trials] == ["complete", "complete", "pending"]
    assert found.best_value == 0.6


def test_one_objective_may_be_a_number_although_it_has_a_name() -> None:
    goals: Any = {"a": "minimize"}
    found = ccgbo.optimize(lambda x, y: x + y, SPACE, 3, objectives=goals, seed=0, progress=False)
    assert found.best_trial.values == {"a": found.best_value}


def test_a_wrong_name_is_a_failed_trial_that_says_so() -> None:
    found = ccgbo.optimize(lambda x, y: {"a": x, "d": y}, SPACE, 2, seed=0, progress=False, **FRONT)
    assert [t.state for t in found.trials] == ["failed", "failed"]
    assert "there is no metric 'd'" in str(found.trials[0].error)


def test_limits_that_mean_nothing_for_the_metrics_are_refused_by_name(tmp_path: Path) -> None:
    with ccgbo.Study(tmp_path / "s.db", SPACE, **FRONT) as study:
        with pytest.raises(SettingError, match=r"target must be None where there are several objectives, \['a', 'b'\]"):
            study.run(measure, 3, target=1.0)
        assert study.trials == ()
    many: Any = dict.fromkeys("abcd", "minimize")
    with pytest.raises(SettingError, match="stop_when_gain_below must be None where there are more than 3 objectives"):
        ccgbo.optimize(trade_off, SPACE, 3, objectives=many, stop_when_gain_below=0.1)


def test_a_run_stops_when_its_front_is_expected_to_grow_little() -> None:
    found = ccgbo.optimize(trade_off, SPACE, 40, seed=0, progress=False, stop_when_gain_below=0.2, **FRONT, **FAST)
    assert len(found.trials) < 40
    assert found.stopped.startswith("another 10 trials are expected to gain ")
    assert found.stopped.endswith("% of the hypervolume")


def test_patience_counts_trials_that_leave_the_front_as_it_is() -> None:
    best = {"a": 2.0, "b": 0.0}
    found = ccgbo.optimize(
        lambda x, y: best if x == 1.0 else {"a": -x, "b": 1.0 + y},
        SPACE,
        20,
        x0={"x": 1.0, "y": 0.0},
        patience=3,
        seed=0,
        progress=False,
        **FRONT,
    )
    assert found.stopped == "no progress in 3 trials"
    assert len(found.trials) == 4


def test_progress_says_how_long_the_front_is_or_that_nothing_is_feasible(capsys: pytest.CaptureFixture[str]) -> None:
    ccgbo.optimize(trade_off, SPACE, 3, seed=0, **FRONT)
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("optimize: 3/3 trials, front ") and "volume" in said
    ccgbo.maximize(one_and_bound, SPACE, 2, outcome_constraints={"c": AtMost(-1.0)}, seed=0)
    assert "none feasible yet" in capsys.readouterr().err.splitlines()[-1]


def test_workers_share_a_study_with_metrics(tmp_path: Path) -> None:
    found = ccgbo.optimize(
        trade_off, SPACE, 9, study=tmp_path / "s.db", n_workers=3, seed=1, progress=False, **FRONT, **FAST
    )
    assert [t.values for t in found.trials] == [trade_off(**t.params) for t in found.trials]


@pytest.mark.parametrize("odd", [{"b": 1.0}, np.ones((2, 2))])
def test_a_metric_that_is_no_number_fails_its_trial_and_is_named(odd: Any) -> None:
    def f(x: float, y: float) -> dict[str, Any]:
        return {"a": odd if x > 0.5 else x, "b": y}

    result = ccgbo.optimize(f, SPACE, 8, **FRONT, **FAST, seed=0, progress=False)
    failed = [trial for trial in result.trials if trial.state == "failed"]
    assert 0 < len(failed) < 8
    assert all("a must be a number, a list of readings" in str(trial.reason) for trial in failed)
