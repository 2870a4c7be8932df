"""Define-by-run branches: the tree that the Optuna sampler learns from the trials, and what it does with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

import ccgbo
from ccgbo.integrations._optuna_tree import Tree, learn, ranges
from ccgbo.integrations.optuna import CCGBOSampler

pytestmark = pytest.mark.heavy

UNIT = FloatDistribution(0.0, 1.0)
MODEL = CategoricalDistribution(["svm", "forest", "linear"])


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    yield
    optuna.logging.set_verbosity(optuna.logging.INFO)


def trial(number: int = 0, state: TrialState = TrialState.COMPLETE, **given: tuple[Any, Any]) -> Any:
    """A trial from name=(value, distribution), in the order of asking."""
    params = {name: value for name, (value, _) in given.items()}
    made = create_trial(
        state=state,
        params=params,
        distributions={name: d for name, (_, d) in given.items()},
        value=0.0 if state == TrialState.COMPLETE else None,
    )
    made.number = number
    return made


def tree_of(trials: list[Any]) -> Tree:
    return learn(trials, ranges(trials))


def branches(trial: optuna.Trial) -> float:
    """Two branches; the better one has the worse mean."""
    if trial.suggest_categorical("branch", ["flat", "steep"]) == "flat":
        return 0.2 + (trial.suggest_float("a", 0.0, 1.0) - 0.3) ** 2
    u, v = trial.suggest_float("u", 0.0, 1.0), trial.suggest_float("v", 0.0, 1.0)
    return 4.0 * ((u - 0.7) ** 2 + (v - 0.2) ** 2)


def run(sampler: CCGBOSampler, n: int, f: Callable[[optuna.Trial], float] = branches) -> optuna.Study:
    study = optuna.create_study(sampler=sampler)
    study.optimize(f, n_trials=n)
    return study


# -- what is learned


def test_a_parameter_of_one_branch_is_active_under_the_choice_at_which_it_was_seen() -> None:
    tree = tree_of(
        [
            trial(model=("svm", MODEL), C=(0.1, UNIT)),
            trial(model=("forest", MODEL), depth=(3, IntDistribution(1, 9))),
            trial(model=("linear", MODEL)),
        ]
    )
    assert dict(tree.conditions) == {"C": {"model": ("svm",)}, "depth": {"model": ("forest",)}}
    space = tree.space()
    assert space["C"].active_if == {"model": (0,)}
    assert tree.belongs({"model": "svm", "C": 0.5})
    assert not tree.belongs({"model": "svm"})
    assert not tree.belongs({"model": "linear", "C": 0.5})
    assert tree.lacks({"model": "svm"}) and tree.lacks({}) and not tree.lacks({"model": "linear"})


def test_branches_within_branches_are_learned() -> None:
    kernel = CategoricalDistribution(["rbf", "poly"])
    tree = tree_of(
        [
            trial(model=("svm", MODEL), kernel=("rbf", kernel), gamma=(0.1, UNIT)),
            trial(model=("svm", MODEL), kernel=("poly", kernel), degree=(3, IntDistribution(2, 5))),
            trial(model=("linear", MODEL)),
        ]
    )
    assert tree.conditions["kernel"] == {"model": ("svm",)}
    assert tree.conditions["gamma"] == {"kernel": ("rbf",)}
    assert tree.conditions["degree"] == {"kernel": ("poly",)}
    assert sorted(tree.space().names) == ["degree", "gamma", "kernel", "model"]


def test_a_threshold_on_a_number_is_taken_beyond_what_was_seen() -> None:
    layers = IntDistribution(1, 5)
    tree = tree_of(
        [
            trial(layers=(1, layers), units_0=(0.1, UNIT)),
            trial(layers=(2, layers), units_0=(0.1, UNIT)),
            trial(layers=(4, layers), units_0=(0.1, UNIT), units_2=(0.4, UNIT)),
        ]
    )
    assert dict(tree.conditions) == {"units_2": {"layers": (3, 4, 5)}}


def test_two_parents_together_explain_what_one_cannot() -> None:
    on = CategoricalDistribution([True, False])
    rows = [(a, b) for a in (True, False) for b in (True, False)]
    tree = tree_of(
        [trial(a=(a, on), b=(b, on), **({"both": (0.5, UNIT)} if a and b else {})) for a, b in rows]  # type: ignore[arg-type]
    )
    assert tree.conditions["both"] == {"b": (True,), "a": (True,)}


def test_what_nothing_explains_is_left_out_and_so_is_what_hangs_on_it() -> None:
    on = CategoricalDistribution([True, False])
    tree = tree_of(
        [
            trial(0, x=(0.1, UNIT)),
            trial(1, x=(0.2, UNIT), odd=(True, on), child=(0.3, UNIT)),
            trial(2, x=(0.3, UNIT), odd=(False, on)),
        ]
    )
    assert list(tree.distributions) == ["x"]
    assert not tree.conditions


def test_a_pruned_trial_that_ended_early_does_not_make_a_parameter_conditional() -> None:
    tree = tree_of([trial(x=(0.1, UNIT), y=(0.1, UNIT)), trial(1, TrialState.PRUNED, x=(0.2, UNIT))])
    assert list(tree.distributions) == ["x", "y"]
    assert not tree.conditions


@pytest.mark.parametrize(
    ("highs", "expected"),
    [([10.0, 10.0], 10.0), ([10.0, 1.0, 1.0], 1.0), ([4.0, 2.0, 3.0], 4.0)],
    ids=["constant", "shrunk", "different in every trial"],
)
def test_the_range_is_that_of_the_last_trials_or_spans_the_recent_ones(highs: list[float], expected: float) -> None:
    trials = [trial(i, x=(0.5, FloatDistribution(0.0, high))) for i, high in enumerate(highs)]
    assert ranges(trials)["x"] == FloatDistribution(0.0, expected)


def test_one_name_with_two_kinds_of_range_is_left_to_independent_sampling() -> None:
    trials = [trial(0, x=(0.5, UNIT)), trial(1, x=(0.5, FloatDistribution(0.1, 1.0, log=True)))]
    assert ranges(trials) == {}


def test_true_and_one_are_different_choices_of_a_parent() -> None:
    mixed = CategoricalDistribution([True, 1, None])
    tree = tree_of([trial(m=(True, mixed), x=(0.5, UNIT)), trial(1, m=(1, mixed)), trial(2, m=(None, mixed))])
    assert [type(v) for v in tree.conditions["x"]["m"]] == [bool]
    assert not tree.lacks({"m": 1}) and tree.lacks({"m": True})


# -- what it is good for


def test_the_better_branch_is_found_although_its_mean_is_worse() -> None:
    bests = [run(CCGBOSampler(seed=seed), 35).best_value for seed in range(3)]
    assert max(bests) < 0.01


def test_no_parameter_of_a_branch_is_drawn_without_the_model_once_the_branch_is_known(
    caplog: pytest.LogCaptureFixture,
) -> None:
    optuna.logging.enable_propagation()
    try:
        run(CCGBOSampler(seed=0, n_startup_trials=6), 20)
    finally:
        optuna.logging.disable_propagation()
    assert not [r for r in caplog.records if "without the model" in r.getMessage()]


def test_a_resumed_conditional_study_equals_an_uninterrupted_one() -> None:
    whole = run(CCGBOSampler(seed=3), 16)
    parts = run(CCGBOSampler(seed=3), 9)
    again = optuna.create_study(sampler=CCGBOSampler(seed=3))
    for t in parts.trials:
        again.add_trial(t)
    for key, value in parts.user_attrs.items():
        again.set_user_attr(key, value)
    again.optimize(branches, n_trials=7)
    assert [t.params for t in again.trials] == [t.params for t in whole.trials]


def test_a_range_that_shrinks_keeps_the_search_within_it() -> None:
    def objective(trial: optuna.Trial) -> float:
        return (trial.suggest_float("x", 0.0, 1.0 if trial.number < 8 else 0.4) - 0.3) ** 2

    study = run(CCGBOSampler(seed=0, n_startup_trials=4), 16, objective)
    assert all(t.params["x"] <= 0.4 for t in study.trials[8:])
    assert study.best_value < 1e-4


# -- a space that the user gives


def given() -> ccgbo.Space:
    return ccgbo.Space(
        {
            "branch": ccgbo.Categorical(["flat", "steep"]),
            "a": ccgbo.Float(0.0, 1.0, active_if={"branch": "flat"}),
            "u": ccgbo.Float(0.0, 1.0, active_if={"branch": "steep"}),
            "v": ccgbo.Float(0.0, 1.0, active_if={"branch": "steep"}),
        }
    )


def test_a_given_space_is_searched_from_the_first_trial_on() -> None:
    study = run(CCGBOSampler(seed=0, space=given()), 30)
    assert study.best_value < 0.01
    first = [t.params["branch"] for t in study.trials[:10]]
    assert set(first) == {"flat", "steep"}
    again = run(CCGBOSampler(seed=0, space=given()), 1)
    assert again.trials[0].params == study.trials[0].params  # no random stream beside the design


def test_a_given_space_brings_its_constraints_along() -> None:
    space = ccgbo.Space(
        {"x": ccgbo.Float(0.0, 1.0), "y": ccgbo.Float(0.0, 1.0)},
        constraints=[ccgbo.LinearConstraint({"x": 1.0, "y": 1.0}, upper=0.8)],
    )
    study = run(
        CCGBOSampler(seed=0, space=space),
        16,
        lambda t: -t.suggest_float("x", 0.0, 1.0) - 2 * t.suggest_float("y", 0.0, 1.0),
    )
    assert all(sum(t.params.values()) <= 0.8 + 1e-9 for t in study.trials)
    assert study.best_value == pytest.approx(-1.6, abs=0.02)


def test_suggestions_of_one_branch_do_not_depend_on_the_order_in_which_names_were_first_seen() -> None:
    """The tree is learned again for every trial: it must be the same for the same trials."""
    trials = run(CCGBOSampler(seed=1), 8).trials
    first, second = tree_of(trials), tree_of(list(trials))
    assert first == second
    assert np.array_equal(first.space().features(np.eye(4)), second.space().features(np.eye(4)))
