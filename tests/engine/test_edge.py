"""Where the search for an optimum on the edge of the bounds begins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ccgbo import AtMost, Optimizer
from ccgbo.acquisition.feasibility import Bounded
from ccgbo.arrays import Array
from ccgbo.engine.edge import best_of_means
from ccgbo.engine.proposal import aim_of
from ccgbo.surrogate.base import Posterior
from ccgbo.surrogate.gp.cross import Hyper
from ccgbo.surrogate.gp.kernels import get_kernel
from ccgbo.surrogate.gp.posterior import GP

BOX = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
FREE, UNIT = np.ones(2, dtype=bool), np.full(2, 0.5)


def gp(X: Array, y: Array, noise: float = 1e-8) -> GP:
    hyper = Hyper(lengthscales=np.full(X.shape[1], 0.7), signal=4.0, noise=noise)
    return GP.from_data(get_kernel("matern52", ()), hyper, X, y)


@pytest.fixture
def sums() -> tuple[Posterior, Posterior]:
    """The sum, to be maximised, and the squared norm."""
    X = np.random.default_rng(0).random((60, 2))
    return gp(X, X.sum(axis=1)), gp(X, (X**2).sum(axis=1))


def test_the_first_point_is_the_optimum_of_the_means_on_the_edge(sums: tuple[Posterior, Posterior]) -> None:
    """Of all points of norm at most 1/2^0.5 the sum is largest at (1/2, 1/2)."""
    edge, inner = best_of_means(sums[0], [Bounded(sums[1], -np.inf, 0.5)], np.array([0.2, 0.1]), FREE, UNIT)
    assert edge == pytest.approx([0.5, 0.5], abs=0.01)
    assert sums[1].predict(edge[None, :])[0][0] == pytest.approx(0.5, abs=1e-4)
    assert inner.sum() < edge.sum()


def test_the_second_keeps_a_standard_deviation_from_the_edge(sums: tuple[Posterior, Posterior]) -> None:
    X = np.random.default_rng(1).random((25, 2))
    doubtful = gp(X, (X**2).sum(axis=1), noise=0.01)
    points = best_of_means(sums[0], [Bounded(doubtful, -np.inf, 0.5)], np.array([0.2, 0.1]), FREE, UNIT)
    mean, std = doubtful.predict(points)
    assert 0.5 - mean == pytest.approx([0.0, std[0]], abs=1e-3) and std[0] > 0.01


def test_both_sides_of_a_bound_are_kept(sums: tuple[Posterior, Posterior]) -> None:
    falling = gp(sums[0].X, -sums[0].y)  # type: ignore[attr-defined]
    edge, _ = best_of_means(falling, [Bounded(sums[1], 0.3, 0.5)], np.array([0.5, 0.4]), FREE, UNIT)
    assert sums[1].predict(edge[None, :])[0][0] == pytest.approx(0.3, abs=1e-4)


def test_what_is_not_free_stays(sums: tuple[Posterior, Posterior]) -> None:
    free = np.array([True, False])
    points = best_of_means(sums[0], [Bounded(sums[1], -np.inf, 0.5)], np.array([0.2, 0.1]), free, UNIT)
    assert (points[:, 1] == 0.1).all() and points[0, 0] == pytest.approx(0.7, abs=0.01)
    held = best_of_means(sums[0], [Bounded(sums[1], -np.inf, 0.5)], np.array([0.2, 0.1]), ~FREE, UNIT)
    assert held.tolist() == [[0.2, 0.1], [0.2, 0.1]]


def test_without_gradients_the_start_is_all_there_is(sums: tuple[Posterior, Posterior]) -> None:
    pytest.importorskip("sklearn")
    from ccgbo.surrogate.forest import Forest

    X = np.random.default_rng(0).random((30, 2))
    forest = Forest.from_data(X, X.sum(axis=1), ())
    start = np.array([0.2, 0.1])
    assert (best_of_means(forest, [Bounded(sums[1], -np.inf, 0.5)], start, FREE, UNIT) == start).all()


# -- in a step


def told(space: Any, f: Any, n: int = 12, **options: Any) -> Optimizer:
    opt = Optimizer(space, seed=0, outcome_constraints={"c": AtMost(0.5)}, n_initial=n, **options)
    for _ in range(n):
        trial = opt.ask()
        opt.tell(trial, f(trial.params))
    return opt


def starts(opt: Optimizer) -> Array:  # (a, d)
    return aim_of(opt.snapshot()).ahead()


def bounded(p: dict[str, Any]) -> dict[str, float]:
    return {"value": p["x"] + p["y"], "c": p["x"] ** 2 + p["y"] ** 2}


def test_a_step_starts_at_the_best_feasible_trial_and_at_the_optimum_of_the_means() -> None:
    opt = told(BOX, bounded)
    best, edge, inner = starts(opt)
    feasible = [trial for trial in opt.observations if trial.values["c"] <= 0.5]
    assert opt.space.decode(best) == pytest.approx(max(feasible, key=lambda trial: trial.values["value"]).params)
    assert sum(edge) > sum(best) and (edge**2).sum() == pytest.approx(0.5, abs=0.05)
    assert (inner**2).sum() <= (edge**2).sum() + 1e-6


def test_while_nothing_is_feasible_there_is_nothing_ahead() -> None:
    assert not len(starts(told(BOX, lambda p: {"value": p["x"], "c": 1.0 + p["y"]})))


def test_a_front_a_plain_objective_and_a_small_grid_are_searched_as_ever() -> None:
    front = told(BOX, lambda p: {**bounded(p), "cost": p["x"]}, objectives={"value": "maximize", "cost": "minimize"})
    plain = Optimizer(BOX, seed=0)
    for x in (0.1, 0.5, 0.9):
        plain.tell({"x": x, "y": x}, x)
    grid = told({"x": [0.0, 0.2, 0.4, 0.6], "y": [0.1, 0.3, 0.5, 0.7]}, bounded, n=5)
    assert not any(len(starts(opt)) for opt in (front, plain, grid))


def test_in_a_mixed_space_the_choice_of_the_best_trial_is_held() -> None:
    def mixed(p: dict[str, Any]) -> dict[str, float]:
        return {"value": p["x"] + (p["kind"] == "a"), "c": p["x"] ** 2 + p["y"] ** 2}

    opt = told({**BOX, "kind": ["a", "b", "c"]}, mixed, n=20)
    assert {opt.space.decode(u)["kind"] for u in starts(opt)} == {"a"}


def test_under_a_rule_on_the_inputs_and_with_many_of_them_the_search_starts_at_the_best_trial_alone() -> None:
    assert len(starts(told(BOX, bounded, constraint=lambda p: p["x"] <= 0.9))) == 1
    many = {f"x{i}": (0.0, 1.0) for i in range(50)}
    assert len(starts(told(many, lambda p: {"value": sum(p.values()), "c": p["x0"]}))) == 1


def test_without_a_local_search_there_is_nothing_to_start() -> None:
    assert not len(starts(told(BOX, bounded, preset="paper")))


def test_an_optimum_on_the_edge_of_two_bounds_is_found_to_many_digits() -> None:
    """The largest x + y with x^2 + y^2 <= 1/2 and y <= 0.3 is at y = 0.3, on both edges."""
    opt = Optimizer(BOX, seed=1, outcome_constraints={"c": AtMost(0.5), "y": AtMost(0.3)})
    for _ in range(35):
        trial = opt.ask()
        opt.tell(trial, {**bounded(trial.params), "y": trial.params["y"]})
    kept = [
        trial.values["value"] for trial in opt.observations if trial.values["c"] <= 0.5 and trial.values["y"] <= 0.3
    ]
    assert max(kept) == pytest.approx(0.3 + 0.41**0.5, abs=1e-5)
