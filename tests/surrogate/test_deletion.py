"""What paths would be without observations equals deleting these and building everything anew."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import make_gp

from ccgbo.surrogate.gp.cross import Hyper
from ccgbo.surrogate.gp.deletion import Deletions
from ccgbo.surrogate.gp.kernels import KERNELS, get_kernel
from ccgbo.surrogate.gp.posterior import GP

CLOSE = {"rtol": 0.0, "atol": 1e-8}


def mixed_gp() -> GP:
    """Two numbers and a choice, of which one is inactive, with noise variances of which some are given."""
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.random((15, 2)), rng.integers(-1, 3, size=15)])
    hyper = Hyper(lengthscales=np.array([0.4, 0.6, 0.9]), signal=1.1, noise=0.02, trend=0.3)
    given = np.where(np.arange(15) % 3 == 0, 0.05, np.nan)
    return GP.from_data(get_kernel("matern52", ((2, 3),)), hyper, X, rng.standard_normal(15), given)


def appended_gp() -> GP:
    rng = np.random.default_rng(5)
    return make_gp(n=14, trend=0.5).condition(rng.random((4, 3)), rng.standard_normal(4))


POSTERIORS = {
    **{kernel: make_gp(kernel=kernel, trend=0.8) for kernel in KERNELS},
    "no trend": make_gp(n=30, noise=1e-4),
    "mixed": mixed_gp(),
    "appended": appended_gp(),
    "one observation": make_gp(n=1),
}
WORLDS = [np.array([0]), np.array([7]), np.array([13]), np.array([2, 11, 5]), np.arange(8), np.arange(0)]


def worlds_of(gp: GP) -> list[np.ndarray]:
    return [rows[rows < len(gp.y)] for rows in WORLDS]


def points_like(gp: GP, m: int = 9) -> np.ndarray:
    rng = np.random.default_rng(1)
    return gp.X[rng.integers(len(gp.X), size=m)] * 0.5 + 0.5 * gp.X[rng.integers(len(gp.X), size=m)].round()


def rebuilt(gp: GP, deletions: Deletions, rows: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The paths at x from their definition on the rows that are left, with their own prior and noise draws."""
    paths, K = deletions.paths, gp.prior(gp.X, gp.X) + np.diag(gp.noise)
    prior = paths(x) - gp.cross(x) @ paths.update
    target = K @ paths.update  # y - h(X) - e
    left = np.delete(np.arange(len(gp.y)), rows)
    return prior + gp.cross(x)[:, left] @ np.linalg.solve(K[np.ix_(left, left)], target[left])


@pytest.mark.parametrize("name", POSTERIORS)
def test_deleting_from_the_paths_is_deleting_and_rebuilding(name: str) -> None:
    gp = POSTERIORS[name]
    x, worlds = points_like(gp), worlds_of(gp)
    deletions = gp.deletions(6, np.random.default_rng(2))
    for rows, values in zip(worlds, deletions.sweep(x, worlds), strict=True):
        np.testing.assert_allclose(values[:, : len(x)].T, rebuilt(gp, deletions, rows, x), **CLOSE)
        np.testing.assert_allclose(values[:, len(x) :].T, rebuilt(gp, deletions, rows, gp.X), **CLOSE)


@pytest.mark.parametrize("name", [name for name in POSTERIORS if name != "one observation"])
def test_the_posterior_without_observations_draws_the_same_paths_without_them(name: str) -> None:
    gp = POSTERIORS[name]
    x, rows = points_like(gp), np.array([1, 6])
    (values,) = gp.deletions(6, np.random.default_rng(2)).sweep(x, [rows])
    left = gp.without(rows)
    fresh = left.paths(6, np.random.default_rng(2)).with_mean()
    np.testing.assert_allclose(values[:, : len(x)].T, fresh(x), **CLOSE)
    np.testing.assert_allclose(np.delete(values[:, len(x) :].T, rows, axis=0), fresh.at_data, **CLOSE)
    np.testing.assert_allclose(values[-1, : len(x)], left.predict_mean(x), **CLOSE)


def test_taking_out_and_appending_may_change_places() -> None:
    gp, x = make_gp(trend=0.4), np.random.default_rng(3).random((5, 3))
    X, y, rows = np.random.default_rng(4).random((2, 3)), np.array([0.5, -1.0]), np.array([0, 9])
    first, then = gp.without(rows).condition(X, y), gp.condition(X, y).without(rows)
    a, b = (posterior.paths(4, np.random.default_rng(5)) for posterior in (first, then))
    np.testing.assert_allclose(a(x), b(x), **CLOSE)
    twice = gp.without(np.array([9])).without(np.array([0]))
    np.testing.assert_allclose(
        twice.paths(4, np.random.default_rng(5))(x), gp.without(rows).paths(4, np.random.default_rng(5))(x), **CLOSE
    )


def test_the_last_path_is_the_mean() -> None:
    gp, x = make_gp(trend=0.8), np.random.default_rng(3).random((5, 3))
    paths = gp.deletions(4, np.random.default_rng(2)).paths
    np.testing.assert_allclose(paths(x)[:, -1], gp.predict_mean(x), **CLOSE)
    np.testing.assert_allclose(paths.at_data[:, -1], gp.at_observations()[0], **CLOSE)


@pytest.mark.parametrize("name", ["no trend", "mixed", "matern52"])
def test_a_single_path_of_a_world_is_that_of_the_sweep(name: str) -> None:
    gp = POSTERIORS[name]
    worlds, x = worlds_of(gp), points_like(gp, 4)
    deletions = gp.deletions(3, np.random.default_rng(2))
    world, path = np.repeat(np.arange(len(worlds)), 4), np.tile(np.arange(4), len(worlds))
    single = deletions.select(worlds, world, path)
    every = np.array([values.copy() for values in deletions.sweep(x, worlds)])  # (W, k + 1, m + n)
    np.testing.assert_allclose(single(x).T, every[world, path][:, : len(x)], **CLOSE)
    np.testing.assert_allclose(single.at_data.T, every[world, path][:, len(x) :], **CLOSE)
    where = x[np.arange(len(x))]
    for j, mine, values in deletions.sweep_own(where, np.array([1, 3, 1, 0]), worlds):
        np.testing.assert_allclose(values, every[:, j, mine], atol=1e-6)  # single precision of the features


def test_the_gradient_of_a_change_is_that_of_the_path_there_minus_that_of_the_path() -> None:
    gp = make_gp(trend=0.8)
    worlds, deletions = worlds_of(gp), gp.deletions(3, np.random.default_rng(2))
    x = np.random.default_rng(3).random((4, 3))
    own = deletions.paths.value_and_gradient_each(x)[1]
    for g, change in enumerate(deletions.gradient_of_change(x, worlds)):
        there = deletions.select(worlds, np.full(4, g), np.arange(4)).value_and_gradient_each(x)[1]
        np.testing.assert_allclose(change, there - own, **CLOSE)


def test_paths_that_learn_one_observation_after_the_other_end_as_they_are() -> None:
    gp = make_gp(n=8, trend=0.5)
    x, order = np.random.default_rng(3).random((5, 3)), np.random.default_rng(4).permutation(8)
    deletions = gp.deletions(3, np.random.default_rng(2))
    (steps,) = deletions.growth(x, [order])
    grown = [values.copy() for values in steps]
    assert len(grown) == 9
    for known, values in enumerate(grown):
        np.testing.assert_allclose(values.T, rebuilt(gp, deletions, order[known:], x), **CLOSE)


def test_predictions_without_each_observation_are_those_of_the_posteriors_without_them() -> None:
    gp, x = make_gp(trend=0.8, noise=1e-3), np.random.default_rng(3).random((5, 3))
    mean, std = gp.deletions(1, np.random.default_rng(2)).leave_one_out(x)
    for i in range(len(gp.y)):
        expected = gp.without(np.array([i])).predict(x)
        np.testing.assert_allclose(mean[i], expected[0], **CLOSE)
        np.testing.assert_allclose(std[i], expected[1], **CLOSE)
