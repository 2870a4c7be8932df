"""What more evaluations are expected to gain under outcome constraints, and of a front."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ccgbo
from ccgbo import AtLeast, AtMost, Optimizer
from ccgbo.acquisition import EHVI, Context
from ccgbo.acquisition.base import Front
from ccgbo.pareto import hypervolume, reference_point

BOX = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
TWO: Any = {"objectives": {"a": "maximize", "b": "minimize"}}
BOUND: Any = {"objective": "f", "direction": "minimize", "outcome_constraints": {"c": AtLeast(0.75)}}


def two(p: Any) -> dict[str, float]:
    return {"a": p["x"] - p["y"] ** 2, "b": (p["x"] - 0.2) ** 2 + (p["y"] - 0.4) ** 2}


def bounded(p: Any) -> dict[str, float]:
    return {"f": (p["x"] - 0.1) ** 2 + (p["y"] - 0.3) ** 2, "c": p["x"] + p["y"]}


def hill(p: Any) -> float:
    return float(-((p["x"] - 0.3) ** 2) - 2.0 * (p["y"] - 0.6) ** 2)


def told(n: int, f: Any, **options: Any) -> Optimizer:
    """With n random observations."""
    opt, rng = Optimizer(BOX, seed=0, **options), np.random.default_rng(0)
    for _ in range(n):
        params = {"x": float(rng.random()), "y": float(rng.random())}
        opt.tell(params, f(params))
    return opt


def played(n: int, f: Any, **options: Any) -> Optimizer:
    opt = Optimizer(BOX, seed=0, **options)
    for _ in range(n):
        trial = opt.ask()
        opt.tell(trial, f(trial.params))
    return opt


def gain_of(opt: Optimizer, n: int = 10) -> ccgbo.Gain:
    gain = opt.expected_gain(n)
    assert gain is not None
    return gain


def test_a_bound_that_nothing_comes_near_changes_no_gain() -> None:
    plain = gain_of(told(8, hill))
    free = {"objective": "f", "outcome_constraints": {"c": AtMost(100.0)}}
    same = gain_of(told(8, lambda p: {"f": hill(p), "c": p["x"]}, **free))
    assert same.mean == pytest.approx(plain.mean, abs=4.0 * (plain.error + same.error) + 0.02 * plain.mean)
    assert same.unit == "value"


def test_a_bound_that_leaves_little_leaves_little_to_gain() -> None:
    def gain(bound: float) -> float:
        goal: Any = {"objective": "f", "outcome_constraints": {"c": AtMost(bound)}}
        return gain_of(told(10, lambda p: {"f": hill(p), "c": abs(p["x"] - 0.7)}, **goal)).mean

    assert gain(0.1) < 0.5 * gain(1.0)


@pytest.mark.parametrize(("f", "goal"), [(two, TWO), (bounded, BOUND)], ids=["front", "feasible"])
def test_a_search_that_has_found_it_expects_less_and_more_evaluations_gain_no_less(f: Any, goal: Any) -> None:
    early, late = played(9, f, **goal), played(26, f, **goal)
    assert gain_of(late).mean < 0.5 * gain_of(early).mean
    gains = [gain_of(early, n).mean for n in (1, 4, 12)]
    assert 0.0 <= gains[0] <= gains[1] <= gains[2]


def test_the_gain_of_one_evaluation_is_the_expected_hypervolume_improvement_at_its_best() -> None:
    opt = told(9, two, **TWO, outcome_transform="standardize")
    goals = opt.snapshot().goals
    assert goals is not None
    level, posteriors = goals.levels(), tuple(goals.models[name].posterior for name in goals.metrics.objectives)
    front = level[[opt.trials.index(t) for t in opt.pareto_front()]]
    r = reference_point(level, front)
    F = opt.space.features(np.random.default_rng(1).random((4000, 2)))
    context = Context(posteriors[0], 0.0, None, np.random.default_rng(0), 0, F, Front(posteriors, (front,), r))
    best = float(np.exp(EHVI().bind(context)(F)).max()) / hypervolume(front, r)
    gain = gain_of(opt, 1)
    assert gain.unit == "hypervolume"
    assert gain.mean == pytest.approx(best, abs=4.0 * gain.error + 0.15 * best)


def test_a_gain_of_a_front_says_that_it_is_a_share_of_the_hypervolume() -> None:
    opt = told(8, two, **TWO)
    assert "% of the hypervolume, and more than" in str(gain_of(opt))
    assert "% of the hypervolume" in str(opt.diagnose())
    assert [gain.n for gain in opt.diagnose("b").gains] == [10, 25]


def test_where_it_cannot_be_told_there_is_none() -> None:
    goal: Any = {"objective": "f", "outcome_constraints": {"c": AtMost(-1.0)}}
    assert told(8, lambda p: {"f": hill(p), "c": p["x"]}, **goal).expected_gain() is None
    names = "abcd"
    many: Any = {"objectives": dict.fromkeys(names, "maximize")}
    assert told(8, lambda p: {n: p["x"] * i - p["y"] ** 2 for i, n in enumerate(names)}, **many).expected_gain() is None
    assert told(8, two, **TWO, surrogate="forest").expected_gain() is None


def test_looking_at_a_gain_changes_no_suggestion() -> None:
    one, other = told(9, two, **TWO), told(9, two, **TWO)
    gain_of(one)
    assert one.ask().params == other.ask().params


@pytest.mark.parametrize(
    "space",
    [
        {"x": (0.0, 1.0), "kind": ["a", "b"], "k": (1, 3)},
        ccgbo.Space({"x": (0.0, 1.0), "z": (0.0, 1.0)}, constraints=ccgbo.Mixture(["x", "z"])),
        {"x": [0.0, 0.5, 1.0]},
    ],
    ids=["mixed", "mixture", "three points"],
)
def test_every_kind_of_space_has_a_gain(space: Any) -> None:
    opt = Optimizer(space, seed=0, n_initial=3, outcome_constraints={"c": AtMost(2.0)}, **TWO)
    for _ in range(3):
        trial = opt.ask()
        x = trial.params["x"]
        opt.tell(trial, {"a": x, "b": x * x, "c": x})
    assert np.isfinite(gain_of(opt, 4).mean)
