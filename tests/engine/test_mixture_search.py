"""The optimizer on mixtures: every suggestion adds up, and the best one is found as if there were nothing to it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from space_strategies import mixtures

from ccgbo import Bool, Float, LinearConstraint, Mixture, Optimizer, Space, SpaceExhaustedError
from ccgbo.engine.candidates import global_candidates, local_candidates
from ccgbo.engine.design import design_points
from ccgbo.engine.proposal import propose
from ccgbo.engine.search import Excluded
from ccgbo.engine.step import OneObjective

FAST = {"n_initial": 4, "tuning": {"n_candidates": 64, "n_local": 32, "n_starts": 2, "search_steps": 8}}
PARTS = ("a", "b", "c", "d")


def solvents(**more: Any) -> Space:
    return Space(dict.fromkeys(PARTS, (0.0, 1.0)) | more, constraints=Mixture(PARTS))


def yields(p: Mapping[str, Any]) -> float:
    """Best at a mixture without d, on a face of the simplex: 0 at (0.5, 0.3, 0.2, 0)."""
    best = {"a": 0.5, "b": 0.3, "c": 0.2, "d": 0.0}
    ripple = 0.02 * (1.0 - math.cos(12.0 * (p["a"] - 0.5)))
    return -sum((p[name] - v) ** 2 for name, v in best.items()) - 0.5 * p["d"] - ripple


def sums_to_one(p: Mapping[str, Any]) -> bool:
    return abs(sum(p[name] for name in PARTS) - 1.0) <= 4 * 2.0**-52 and all(0.0 <= p[name] <= 1.0 for name in PARTS)


def by_sticks(p: Mapping[str, float]) -> dict[str, float]:
    """A uniform point of the cube as a uniform point of the simplex: break a stick, and the rest again."""
    rest, out = 1.0, {}
    for i, name in enumerate(PARTS[:-1]):
        out[name] = rest * (1.0 - (1.0 - p[name]) ** (1.0 / (3 - i)))
        rest -= out[name]
    return out | {"d": rest}


def test_an_optimum_on_a_face_is_found_as_well_as_without_the_mixture() -> None:
    """Against the same problem written with three free shares, which has no equation to keep."""
    regret, sticks = [], []
    for seed in range(3):
        opt, other = Optimizer(solvents(), seed=seed), Optimizer(dict.fromkeys(PARTS[:-1], (0.0, 1.0)), seed=seed)
        for _ in range(25):
            trial = opt.ask()
            opt.tell(trial, yields(trial.params))
            trial = other.ask()
            other.tell(trial, yields(by_sticks(trial.params)))
        regret.append(-float(opt.best_value))
        sticks.append(-float(other.best_value))
    assert max(regret) < 0.01
    assert np.mean(regret) <= np.mean(sticks)


def test_sixty_suggestions_alone_and_in_batches_add_up() -> None:
    opt = Optimizer(solvents(t=(20.0, 100.0), oven=Bool(), heat=Float(0.0, 1.0, active_if={"oven": True})), seed=1)
    asked: list[Mapping[str, Any]] = []
    while len(asked) < 60:
        trials = opt.ask(4) if len(asked) % 3 else [opt.ask()]
        for trial in trials:
            opt.tell(trial, yields(trial.params) + 0.1 * trial.params.get("heat", 0.0))
        asked += [trial.params for trial in trials]
    assert all(sums_to_one(params) for params in asked)
    assert len({tuple(params.values()) for params in asked}) == len(asked)


@pytest.mark.parametrize("fixed", [{"a": 0.3}, {"a": 0.3, "oven": True}, {"a": 0.3, "b": 0.2, "c": 0.1}, {"d": 0.0}])
def test_a_step_with_fixed_parts_keeps_them_and_the_sum(fixed: dict[str, Any]) -> None:
    space = solvents(oven=Bool(), heat=Float(0.0, 1.0, active_if={"oven": True}))
    opt = Optimizer(space, seed=0, n_initial=6)
    for _ in range(8):
        trial = opt.ask()
        opt.tell(trial, yields(trial.params))
    held = space.restricted(fixed)
    for seed in range(4):
        state = replace(opt.snapshot(), space=held)
        chosen = propose(state, np.random.default_rng(seed)).chosen
        assert chosen is not None
        params = held.decode(chosen)
        assert sums_to_one(params)
        assert {name: params[name] for name in fixed} == fixed


@settings(max_examples=25)
@given(mixtures(), st.integers(0, 2**31))
def test_every_suggestion_of_any_mixture_adds_up(space: Space, seed: int) -> None:
    opt = Optimizer(space, seed=seed, allow_repeats=True, **FAST)
    for i in range(7):
        trial = opt.ask()
        for c in space.constraints:
            assert isinstance(c, LinearConstraint)
            terms = [a * trial.params[name] for name, a in c.coefficients.items()]
            rounding = 8 * 2.0**-52 * sum(map(abs, terms))
            assert c.lower - rounding <= sum(terms) <= c.upper + rounding
        opt.tell(trial, math.sin(i))


def test_an_optimum_within_inequalities_and_a_mixture_is_found() -> None:
    """The best of a + 2b + 3c where c <= 0.4 and b + c <= 0.7 is 0.3 + 0.6 + 1.2."""
    limits = [LinearConstraint({"c": 1}, upper=0.4), LinearConstraint({"b": 1, "c": 1}, upper=0.7)]
    parts = ["a", "b", "c"]
    opt = Optimizer(Space(dict.fromkeys(parts, (0.0, 1.0)), constraints=[Mixture(parts), *limits]), seed=0)
    for _ in range(20):
        trial = opt.ask()
        opt.tell(trial, trial.params["a"] + 2 * trial.params["b"] + 3 * trial.params["c"])
    assert opt.best_value == pytest.approx(2.1, abs=0.02)


def test_a_mixture_of_one_point_is_asked_once() -> None:
    opt = Optimizer(Space(dict.fromkeys("ab", (0.0, 0.5)), constraints=Mixture(["a", "b"])), seed=0)
    assert opt.ask().params == {"a": 0.5, "b": 0.5}
    with pytest.raises(SpaceExhaustedError):
        opt.ask()


# -- what a step is made of


@pytest.mark.parametrize("kind", ["sobol", "lhs", "random"])
def test_a_design_adds_up_and_is_the_same_however_it_is_cut(kind: str) -> None:
    space = solvents(t=(20.0, 100.0))
    whole = design_points(space, kind, 0, 40, 8, 3)
    parts = [design_points(space, kind, start, n, 8, 3) for start, n in ((0, 1), (1, 30), (31, 9))]
    assert np.array_equal(whole, np.concatenate(parts))
    assert all(sums_to_one(params) for params in space.decode_rows(whole))


def test_a_design_over_a_mixture_keeps_its_points_apart() -> None:
    def nearest(U: Any) -> float:
        distance = np.linalg.norm(U[:, None, :] - U[None, :, :], axis=2) + 9.0 * np.eye(len(U))
        return float(distance.min(axis=1).mean())

    spread = [nearest(design_points(solvents(), "sobol", 0, 12, 12, seed)) for seed in range(5)]
    random = [nearest(design_points(solvents(), "random", 0, 12, 12, seed)) for seed in range(5)]
    assert np.mean(spread) > 1.2 * np.mean(random)


def test_what_stands_beside_a_mixture_is_designed_as_without_it() -> None:
    with_mixture = design_points(solvents(t=(0.0, 1.0)), "sobol", 0, 8, 8, 0)
    without = design_points(Space(dict.fromkeys([*PARTS, "t"], (0.0, 1.0))), "sobol", 0, 8, 8, 0)
    assert np.array_equal(with_mixture[:, 4], without[:, 4])


def test_local_candidates_stay_on_the_simplex_and_near() -> None:
    space, rng = solvents(), np.random.default_rng(0)
    centre = np.array([[0.4, 0.3, 0.3, 0.0]])
    U = local_candidates(space, centre, 200, rng)
    assert len(U) == 200
    assert all(sums_to_one(params) for params in space.decode_rows(U))
    assert np.median(np.abs(U - centre).max(axis=1)) < 0.2
    assert (U[:, 3] == 0.0).mean() > 0.2  # the face that it lies on is looked at, too


def test_the_maxima_of_posterior_paths_lie_on_the_simplex() -> None:
    opt = Optimizer(solvents(), seed=0, n_initial=5)
    for _ in range(8):
        trial = opt.ask()
        opt.tell(trial, yields(trial.params))
    state, rng = opt.snapshot(), np.random.default_rng(0)
    optima = OneObjective(state).sample_optima(global_candidates(state.space, state.settings.tuning, rng), rng)
    assert optima.argmax.sum(axis=1) == pytest.approx(np.ones(len(optima.argmax)), abs=1e-9)
    assert optima.argmax.min() >= 0.0


def test_a_batch_keeps_its_distance_in_the_dimensions_that_there_are() -> None:
    """Three parts have two dimensions: four pending points keep half the distance that one does."""
    space = Space(dict.fromkeys("abc", (0.0, 1.0)), constraints=Mixture(["a", "b", "c"]))
    F = np.array([[0.2, 0.3, 0.5], [0.9, 0.05, 0.05], [0.05, 0.9, 0.05], [0.05, 0.05, 0.9]])
    one, four = (Excluded(F[:k], space, F[:k], min_distance=0.1) for k in (1, 4))
    near = F[0] + np.array([0.06, -0.06, 0.0])
    assert not one.keeps_distance(near)
    assert four.keeps_distance(near)
