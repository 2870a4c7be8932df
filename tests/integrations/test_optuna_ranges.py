"""What users of Optuna do to their ranges and queues: enqueue, fix, shrink, grow, let one depend on another."""

from __future__ import annotations

import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import create_trial

import ccgbo
from ccgbo.errors import UnsupportedError
from ccgbo.integrations._optuna_tree import ranges
from ccgbo.integrations.optuna import CCGBOSampler

pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("quiet_optuna")]


def bowl(trial: optuna.Trial) -> float:
    return (trial.suggest_float("x", 0.0, 1.0) - 0.3) ** 2 + (trial.suggest_float("y", 0.0, 1.0) - 0.7) ** 2


def test_a_point_enqueued_in_part_gets_the_rest_from_the_model() -> None:
    study = optuna.create_study(sampler=CCGBOSampler(seed=0))
    study.optimize(bowl, n_trials=14)
    study.enqueue_trial({"x": 0.3})
    study.optimize(bowl, n_trials=1)
    assert study.trials[14].params["x"] == 0.3
    assert abs(study.trials[14].params["y"] - 0.7) < 0.05


def test_a_range_that_grows_with_every_trial_is_followed() -> None:
    def objective(trial: optuna.Trial) -> float:
        return (trial.suggest_float("x", 0.0, 1.0 + 0.1 * trial.number) - 2.5) ** 2

    study = optuna.create_study(sampler=CCGBOSampler(seed=0))
    study.optimize(objective, n_trials=30)
    assert study.best_value < 1e-3
    assert all(t.params["x"] <= t.distributions["x"].high for t in study.trials)  # type: ignore[attr-defined]


def test_a_range_that_depends_on_another_parameter_is_searched_within_it() -> None:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        y = trial.suggest_float("y", 0.0, x + 0.01)
        assert y <= x + 0.01
        return (x - 0.6) ** 2 + (y - 0.4) ** 2

    study = optuna.create_study(sampler=CCGBOSampler(seed=0, warn_independent_sampling=False))
    study.optimize(objective, n_trials=30)
    assert study.best_value < 0.005


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_a_sampler_with_a_fixed_parameter_searches_the_others() -> None:
    study = optuna.create_study(sampler=optuna.samplers.PartialFixedSampler({"x": 0.1}, CCGBOSampler(seed=0)))
    study.optimize(bowl, n_trials=18)
    assert {t.params["x"] for t in study.trials} == {0.1}
    assert abs(study.best_params["y"] - 0.7) < 0.01


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_a_given_space_of_which_a_parameter_is_fixed_is_searched_in_the_others() -> None:
    def sampler(**options: object) -> optuna.samplers.BaseSampler:
        space = ccgbo.Space({"x": (0.0, 1.0), "y": (0.0, 1.0)}, **options)  # type: ignore[arg-type]
        return optuna.samplers.PartialFixedSampler({"x": 0.1}, CCGBOSampler(seed=0, space=space))

    study = optuna.create_study(sampler=sampler())
    study.optimize(bowl, n_trials=18)
    assert {t.params["x"] for t in study.trials} == {0.1}
    assert abs(study.best_params["y"] - 0.7) < 0.01
    bound = optuna.create_study(sampler=sampler(constraints=[ccgbo.LinearConstraint({"x": 1.0, "y": 1.0}, upper=0.8)]))
    with pytest.raises(UnsupportedError, match=r"space must have no constraints .* fixed elsewhere, got \['x'\]"):
        bound.optimize(bowl, n_trials=1)


def test_a_grid_whose_lower_end_moves_by_whole_steps_stays_a_grid() -> None:
    x = [FloatDistribution(low, 0.9, step=0.1) for low in (0.1, 0.3, 0.1, 0.3)]
    trials = [create_trial(params={"x": 0.5}, distributions={"x": d}, value=1.0) for d in x]
    assert ranges(trials) == {"x": FloatDistribution(0.1, 0.9, step=0.1)}
    trials[-1] = create_trial(
        params={"x": 0.45}, distributions={"x": FloatDistribution(0.25, 0.85, step=0.1)}, value=1.0
    )
    assert ranges(trials) == {}


def test_threads_reach_what_one_thread_reaches() -> None:
    study = optuna.create_study(sampler=CCGBOSampler(seed=0))
    study.optimize(bowl, n_trials=24, n_jobs=3)
    assert study.best_value < 1e-3


@pytest.mark.parametrize("values", [("a", "b"), (1, 2, 3), (True, False, None)])
def test_a_mixed_space_beside_a_branch_is_searched_whole(values: tuple[object, ...]) -> None:
    def objective(trial: optuna.Trial) -> float:
        chosen = trial.suggest_categorical("c", values)
        n = trial.suggest_int("n", 1, 9)
        extra = trial.suggest_float("extra", 1e-3, 1.0, log=True) if chosen == values[0] else 1.0
        return n / 10.0 + extra

    study = optuna.create_study(sampler=CCGBOSampler(seed=0))
    study.optimize(objective, n_trials=25)
    assert study.best_params["c"] == values[0]
    assert study.best_value < 0.15
