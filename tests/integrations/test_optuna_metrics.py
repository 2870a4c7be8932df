"""Several objectives and constraints in Optuna at their edges: infinite, pruned, oddly named, too many."""

from __future__ import annotations

import math
from typing import Any

import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState, create_trial

from ccgbo.errors import SettingError
from ccgbo.infinite import ends_of, finite
from ccgbo.integrations._optuna_metrics import infinite_ends, study_metrics
from ccgbo.integrations._optuna_trials import complete_trials, frozen_outcome
from ccgbo.integrations.optuna import CCGBOSampler
from ccgbo.metrics import AtLeast, AtMost, Between, metrics_of

pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("quiet_optuna")]


def searched(objective: Any, n: int, **study: Any) -> optuna.Study:
    created = optuna.create_study(sampler=CCGBOSampler(seed=0), **study)
    created.optimize(objective, n_trials=n)
    return created


def trial_of(state: TrialState, value: float, **constraints: float) -> optuna.trial.FrozenTrial:
    where: Any = {"params": {"x": 0.5}, "distributions": {"x": FloatDistribution(0.0, 1.0)}}
    return create_trial(state=state, value=value, constraints=constraints, **where)


# -- infinite


def test_infinite_values_stand_for_the_extremes_and_infinite_constraints_for_broken_ones() -> None:
    metrics = metrics_of(
        objectives={"a": "minimize", "b": "maximize", "c": "minimize"},
        outcome_constraints={"most": AtMost(2.0), "least": AtLeast(1.0), "both": Between(0.0, 1.0), "new": AtMost(5.0)},
    )
    rows = [
        {"a": 1.0, "b": math.inf, "most": -1.0, "least": 1.5, "both": 0.5},
        {"a": 4.0, "b": math.nan, "most": math.inf, "least": -math.inf, "both": 3.0},
    ]
    ends = ends_of(rows, metrics)
    assert ends == {"a": (1.0, 4.0), "most": (-1.0, 5.0), "least": (0.5, 1.5), "both": (-3.0, 4.0), "new": (4.0, 6.0)}
    assert [finite("a", v, ends) for v in (math.inf, -math.inf, 9.0)] == [4.0, 1.0, 9.0]
    assert math.isnan(finite("a", math.nan, ends))
    assert finite("b", math.inf, ends) == math.inf  # nothing finite to stand for it


def test_the_search_learns_from_a_constraint_that_is_infinitely_broken() -> None:
    def objective(trial: optuna.Trial) -> float:
        x, y = trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0)
        trial.set_constraint("runs", math.inf if x < 0.5 else -1.0)
        return x + (y - 0.5) ** 2

    assert searched(objective, 30).best_value < 0.52  # 0.66 where the infinite ones counted as not measured


def test_the_search_of_a_front_does_not_come_back_to_where_an_objective_is_infinite() -> None:
    def objective(trial: optuna.Trial) -> tuple[float, float]:
        x, y = trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0)
        off = (y - 0.5) ** 2
        return x + off, math.inf if x < 0.5 else 1.0 - x + off

    study = searched(objective, 30, directions=["minimize", "minimize"])
    assert sum(t.params["x"] < 0.5 for t in study.trials[10:]) <= 15  # 20 of 20 where they counted as not measured


def test_an_infinite_constraint_is_no_smaller_than_any_other_and_its_value_counts() -> None:
    study = optuna.create_study()
    trials = [trial_of(TrialState.COMPLETE, 1.0, c=-3.0), trial_of(TrialState.COMPLETE, 0.5, c=math.inf)]
    metrics = study_metrics(study, trials)
    complete = complete_trials(trials, study.direction)
    outcome = frozen_outcome(trials[1], complete, "bound", metrics, infinite_ends(trials, metrics))
    assert outcome is not None
    assert {name: m.value for name, m in outcome["metrics"].items()} == {"objective 0": 0.5, "constraint c": 3.0}


# -- pruned


@pytest.mark.parametrize(
    ("pruned", "whole", "expected"),
    [
        ("bound", [2.0, 4.0], {"objective 0": 3.0, "constraint c": -1.0}),
        ("bound", [], {"constraint c": -1.0}),  # nothing to read it by yet; the constraint was measured
        ("fail", [2.0, 4.0], None),
    ],
)
def test_the_value_of_a_pruned_trial_with_constraints_is_what_the_reading_says(
    pruned: Any, whole: list[float], expected: dict[str, float] | None
) -> None:
    study = optuna.create_study()
    trials = [trial_of(TrialState.COMPLETE, value, c=-1.0) for value in whole]
    early = trial_of(TrialState.PRUNED, -9.0, c=-1.0)
    metrics = study_metrics(study, [*trials, early])
    outcome = frozen_outcome(early, complete_trials(trials, study.direction), pruned, metrics)
    assert outcome is not None
    if expected is None:
        assert outcome == {"state": "failed"}
    else:
        assert {name: measured.value for name, measured in outcome["metrics"].items()} == expected


# -- names and numbers


def test_constraints_of_any_key_that_optuna_takes_are_told_apart() -> None:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        for key, value in {"a=b": x - 0.5, "a_b": 0.2 - x, "line\nbreak": -1.0, "": -1.0}.items():
            trial.set_constraint(key, value)
        return x

    study = searched(objective, 16)
    assert len(study_metrics(study, study.trials).constraints) == 4
    assert study.best_value == pytest.approx(0.2, abs=0.01)


def test_more_than_five_directions_are_refused_before_anything_is_evaluated() -> None:
    study = optuna.create_study(directions=["minimize"] * 6, sampler=CCGBOSampler(seed=0))
    evaluated: list[int] = []
    with pytest.raises(SettingError, match="directions must be at most 5, got 6"):
        study.optimize(lambda trial: evaluated.append(trial.number), n_trials=1)  # type: ignore[arg-type,return-value]
    assert evaluated == []
