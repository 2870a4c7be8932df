"""Hypervolume improvement, scalarisation and feasibility: against BoTorch, sampling and finite differences."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from conftest import make_gp

from ccgbo.acquisition import EHVI, Context, LogEI, Scalarized, Weighted
from ccgbo.acquisition.base import Front
from ccgbo.acquisition.feasibility import Bounded, FeasibilityFactor, log_within
from ccgbo.arrays import Array
from ccgbo.credit.fronts import front_log_likelihood
from ccgbo.credit.scores import log_likelihood
from ccgbo.pareto import hypervolume, improvement_boxes, non_dominated, reference_point


def slow_front(Y: Array) -> list[bool]:
    return [not any((o >= y).all() and (o > y).any() for o in Y) for y in Y]


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_dominated_points_are_those_that_another_is_better_than(m: int, rng: np.random.Generator) -> None:
    for _ in range(60):
        Y = rng.integers(0, 4, size=(int(rng.integers(0, 12)), m)).astype(float)
        assert non_dominated(Y).tolist() == slow_front(Y)
    for size in (40, 200):
        Y = rng.normal(size=(size, m)).round(1)
        assert non_dominated(Y).tolist() == slow_front(Y)


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("q", [0, 1, 6, 15, 60])
def test_boxes_fill_what_no_point_dominates_and_do_not_overlap(m: int, q: int, rng: np.random.Generator) -> None:
    Y = rng.normal(size=(q, m))
    if q == 60:
        Y = np.abs(Y) / np.linalg.norm(Y, axis=1, keepdims=True)  # none dominates another
    Y, r = Y.round(1), np.full(m, -1.5)  # with ties
    lower, upper = improvement_boxes(Y, r)
    z = r + rng.exponential(size=(500, m)) + 1e-3 * rng.random((500, m))
    inside = ((z[:, None] > lower) & (z[:, None] <= upper)).all(axis=2).sum(axis=1)
    dominated = (Y[None] >= z[:, None]).all(axis=2).any(axis=1) if q else np.zeros(500, dtype=bool)
    assert inside.tolist() == (~dominated).astype(int).tolist()


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5])
def test_a_point_adds_the_volume_of_what_it_dominates_of_the_boxes(m: int, rng: np.random.Generator) -> None:
    Y, r = rng.normal(size=(8, m)), np.full(m, -2.0)
    lower, upper = improvement_boxes(Y, r)
    for z in rng.normal(size=(20, m)):
        gained = np.clip(np.minimum(z, upper) - lower, 0.0, None).prod(axis=1).sum()
        assert gained == pytest.approx(hypervolume(np.vstack([Y, z]), r) - hypervolume(Y, r), abs=1e-10)


def fronted(m: int, rng: np.random.Generator, draws: int = 1) -> Front:
    gps = tuple(make_gp(seed=i) for i in range(m))
    Y = np.stack([gp.at_observations()[0] for gp in gps], axis=1)
    fronts = [Y + 0.1 * rng.normal(size=Y.shape) if draws > 1 else Y for _ in range(draws)]
    return Front(gps, tuple(F[non_dominated(F)] for F in fronts), reference_point(Y, Y[non_dominated(Y)]))


def bound(acquisition: Any, front: Front, rng: np.random.Generator) -> Any:
    return acquisition.bind(Context(front.posteriors[0], 0.0, None, rng, front=front))


@pytest.mark.parametrize("m", [2, 3, 4])
def test_expected_hypervolume_improvement_is_the_mean_of_sampled_ones(m: int, rng: np.random.Generator) -> None:
    front = fronted(m, rng)
    score, x = bound(EHVI(), front, rng), rng.random((200, front.posteriors[0].X.shape[1]))
    x = x[np.argsort(-score(x))[:3]]  # where the improvement is no rare event
    found = np.exp(score(x))
    lower, upper = improvement_boxes(front.draws[0], front.reference)
    for i in range(3):
        mean, std = zip(*(gp.predict(x[i : i + 1]) for gp in front.posteriors), strict=True)
        z = np.concatenate(mean) + np.concatenate(std) * rng.standard_normal((40_000, m))
        gains = np.clip(np.minimum(z[:, None], upper) - lower, 0.0, None).prod(axis=2).sum(axis=1)
        assert found[i] == pytest.approx(gains.mean(), abs=5.0 * gains.std() / 200.0 + 1e-12)


@pytest.mark.parametrize(("acquisition", "m", "draws"), [(EHVI(), 2, 1), (EHVI(), 3, 4), (Scalarized(), 2, 1)])
def test_gradients_of_several_objectives_match_finite_differences(
    acquisition: Any, m: int, draws: int, rng: np.random.Generator
) -> None:
    front = fronted(m, rng, draws)
    score = bound(acquisition, front, rng)
    x = 0.1 + 0.8 * rng.random((5, front.posteriors[0].X.shape[1]))
    value, gradient = score.gradient(x)
    np.testing.assert_allclose(value, score(x), rtol=1e-9)
    h = 1e-6
    for j in range(x.shape[1]):
        step = np.zeros_like(x)
        step[:, j] = h
        slope = (score(x + step) - score(x - step)) / (2 * h)
        np.testing.assert_allclose(gradient[:, j], slope, rtol=2e-4, atol=2e-4 * np.abs(gradient).max())


def test_with_one_objective_it_is_expected_improvement(rng: np.random.Generator) -> None:
    gp = make_gp()
    best = float(gp.at_observations()[0].max())
    front = Front((gp,), (np.array([[best]]),), np.array([best - 5.0]))
    x = rng.random((20, gp.X.shape[1]))
    np.testing.assert_allclose(bound(EHVI(), front, rng)(x), LogEI().bind(Context(gp, best, None, rng))(x), rtol=1e-9)


@pytest.mark.heavy
@pytest.mark.parametrize("m", [2, 3, 4, 5])
def test_hypervolumes_and_improvements_are_those_of_botorch(m: int, rng: np.random.Generator) -> None:
    warnings.filterwarnings("ignore", message="`torch.jit.script", category=DeprecationWarning)
    import torch
    from botorch.acquisition.multi_objective.analytic import ExpectedHypervolumeImprovement
    from botorch.utils.multi_objective.box_decompositions.non_dominated import FastNondominatedPartitioning
    from botorch.utils.multi_objective.hypervolume import Hypervolume
    from botorch.utils.testing import MockModel, MockPosterior

    front = fronted(m, rng)
    F = torch.tensor(front.draws[0])
    theirs = Hypervolume(torch.tensor(front.reference)).compute(F[(torch.tensor(front.reference) < F).all(dim=1)])
    assert hypervolume(front.draws[0], front.reference) == pytest.approx(theirs)
    x = rng.random((4, front.posteriors[0].X.shape[1]))
    ours = np.exp(bound(EHVI(), front, rng)(x))
    partition = FastNondominatedPartitioning(ref_point=torch.tensor(front.reference), Y=F)
    for i in range(4):
        mean, std = zip(*(gp.predict(x[i : i + 1]) for gp in front.posteriors), strict=True)
        at = [torch.tensor(np.array(part)).T[None] for part in (mean, std)]
        posterior = MockPosterior(mean=at[0], variance=at[1] ** 2)
        acquisition = ExpectedHypervolumeImprovement(MockModel(posterior), front.reference.tolist(), partition)
        theirs = float(acquisition(torch.zeros(1, 1, 1, dtype=torch.double)))
        assert ours[i] == pytest.approx(theirs, rel=1e-6, abs=1e-12)


# -- feasibility


@pytest.mark.parametrize("bounds", [(-math.inf, 0.3), (-0.2, math.inf), (-0.2, 0.3), (5.0, 5.001), (-60.0, -59.0)])
def test_the_probability_of_keeping_bounds_and_its_slopes(bounds: tuple[float, float]) -> None:
    from scipy.stats import norm

    mean, std = np.array([-1.0, 0.0, 2.0, 40.0]), np.array([0.5, 1.0, 2.0, 1.0])
    value, by_mean, by_std = log_within(mean, std, *bounds)
    assert np.isfinite(value).all() and np.isfinite(by_mean).all() and np.isfinite(by_std).all()
    direct = norm.cdf(bounds[1], mean, std) - norm.cdf(bounds[0], mean, std)
    likely = direct > 1e-8
    np.testing.assert_allclose(np.exp(value[likely]), direct[likely], rtol=1e-7)
    h = 1e-5
    slope = (log_within(mean + h, std, *bounds)[0] - log_within(mean - h, std, *bounds)[0]) / (2 * h)
    np.testing.assert_allclose(by_mean, slope, rtol=1e-4, atol=1e-4)
    slope = (log_within(mean, std + h, *bounds)[0] - log_within(mean, std - h, *bounds)[0]) / (2 * h)
    np.testing.assert_allclose(by_std, slope, rtol=1e-4, atol=1e-4)


def test_a_factor_too_small_for_a_float_still_orders_points_and_has_a_slope(rng: np.random.Generator) -> None:
    gp = make_gp()
    factor = FeasibilityFactor([Bounded(gp, 1e4, math.inf)])
    x = rng.random((6, gp.X.shape[1]))
    assert (factor(x) == 0.0).all()
    weighted = Weighted(LogEI().bind(Context(gp, 0.0, None, rng)), "log", [factor])
    value, gradient = weighted.gradient(x)
    assert np.isfinite(value).all() and len(set(value)) == 6 and np.abs(gradient).max() > 0.0
    np.testing.assert_allclose(value, weighted(x))


# -- credit of a front


def test_with_one_objective_a_front_credits_by_each_maximum_instead_of_their_mean(rng: np.random.Generator) -> None:
    mean, std, Z = rng.normal(size=12), 0.1 + rng.random(12), 2.0 + 0.3 * rng.normal(size=25)
    found = front_log_likelihood(mean[:, None], std[:, None], [np.array([[z]]) for z in Z])
    each = np.stack([log_likelihood(mean, std, z) for z in Z])
    np.testing.assert_allclose(found, np.log(np.exp(each).mean(axis=0)))
    same = front_log_likelihood(mean[:, None], std[:, None], [np.array([[2.0]])] * 3)
    np.testing.assert_allclose(same, log_likelihood(mean, std, 2.0))


def test_an_observation_on_the_front_has_more_credit_than_one_behind_it() -> None:
    mean = np.array([[1.0, 0.0], [0.0, 1.0], [0.2, 0.2]])
    front = np.array([[1.0, 0.0], [0.8, 0.8], [0.0, 1.0]])
    lik = front_log_likelihood(mean, np.full((3, 2), 0.1), [front])
    assert lik[0] > lik[2] and lik[1] > lik[2]
