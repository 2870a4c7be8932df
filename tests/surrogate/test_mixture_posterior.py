"""A mixture of Gaussian processes: its moments, derivatives and paths, and acquisitions averaged over it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ccgbo.acquisition import JES, MES, UCB, Context, LogEI, ThompsonSampling
from ccgbo.acquisition.averaged import Averaged
from ccgbo.surrogate.base import CheckedPosterior
from ccgbo.surrogate.gp.cross import Hyper
from ccgbo.surrogate.gp.fit import FitSettings, NegLogPosterior
from ccgbo.surrogate.gp.kernels import get_kernel
from ccgbo.surrogate.gp.posterior import GP
from ccgbo.surrogate.mixture import LEAST_WEIGHT, Mixture, log_evidence, mixed_by_evidence
from ccgbo.surrogate.optima import maximise_paths

KERNEL = get_kernel("matern52")
RNG = np.random.default_rng(0)
X = RNG.random((12, 2))
Y = np.sin(4.0 * X[:, 0]) + X[:, 1] ** 2
Y = (Y - Y.mean()) / Y.std()


def gp(length: float, **hyper: float) -> GP:
    noise = hyper.pop("noise", 1e-3)
    return GP.from_data(KERNEL, Hyper(lengthscales=np.full(2, length), signal=1.0, noise=noise, **hyper), X, Y)


def mixture() -> Mixture:
    return Mixture((gp(0.2), gp(0.8, trend=0.5), gp(0.5, relevance=0.3)), np.array([0.5, 0.3, 0.2]))


POINTS = np.random.default_rng(1).random((6, 2))


def numerical(f: Any, x: np.ndarray[Any, Any], h: float = 1e-6) -> np.ndarray[Any, Any]:
    """(m, p) central differences of a function of rows."""
    steps = h * np.eye(x.shape[1])
    return np.column_stack([(f(x + step) - f(x - step)) / (2.0 * h) for step in steps])


def test_mean_and_variance_are_those_of_draws_from_members_drawn_by_weight() -> None:
    mixed, rng = mixture(), np.random.default_rng(2)
    each = [member.predict(POINTS) for member in mixed.members]
    which = rng.choice(3, size=200_000, p=mixed.weights)
    means, stds = (np.array(part)[which, 0] for part in zip(*each, strict=True))
    draws = means + stds * rng.standard_normal(len(which))
    mean, std = mixed.predict(POINTS)
    assert mean[0] == pytest.approx(draws.mean(), abs=5 * std[0] / np.sqrt(len(draws)))
    assert std[0] == pytest.approx(draws.std(), rel=0.02)
    assert mixed.predict_mean(POINTS) == pytest.approx(mean)


def test_the_derivatives_are_those_of_the_prediction() -> None:
    mixed = mixture()
    at = mixed.linearize(POINTS)
    ones, none = np.ones(len(POINTS)), np.zeros(len(POINTS))
    assert at.gradient(ones, none) == pytest.approx(numerical(lambda x: mixed.predict(x)[0], POINTS), abs=1e-5)
    half_variance = numerical(lambda x: 0.5 * mixed.predict(x)[1] ** 2, POINTS)
    assert at.gradient(none, ones) == pytest.approx(half_variance, abs=1e-5)


def test_one_member_alone_is_that_member() -> None:
    member = gp(0.4)
    alone = Mixture((member,), np.ones(1))
    for ours, its in zip(alone.predict(POINTS), member.predict(POINTS), strict=True):
        assert ours == pytest.approx(its, rel=1e-12)
    assert alone.at_observations()[0] == pytest.approx(member.at_observations()[0], rel=1e-12)


def test_paths_follow_members_by_weight_and_select_and_gradients_fit_them() -> None:
    mixed = mixture()
    paths = mixed.paths(4000, np.random.default_rng(3))
    values = paths(POINTS)
    assert values.mean(axis=1) == pytest.approx(mixed.predict(POINTS)[0], abs=0.06)
    assert values.std(axis=1) == pytest.approx(mixed.predict(POINTS)[1], rel=0.1, abs=0.01)
    few = paths.select(np.array([0, 3999, 2500, 0, 1700, 3000]))
    assert few(POINTS) == pytest.approx(values[:, [0, 3999, 2500, 0, 1700, 3000]])
    value, gradient = few.value_and_gradient_each(POINTS)
    assert value == pytest.approx(np.diag(few(POINTS)), abs=1e-6)
    slope = numerical(lambda x: np.diag(few(x)), POINTS, h=1e-3)
    assert gradient == pytest.approx(slope, abs=0.05 * np.abs(slope).max())
    assert few.at_data.shape == (len(X), 6)


def test_conditioning_a_mixture_conditions_every_member() -> None:
    new, value = np.array([[0.5, 0.5]]), np.array([2.0])
    mixed = mixture().condition(new, value)
    assert all(len(member.y) == len(Y) + 1 for member in mixed.members)
    assert mixed.predict(new)[1][0] < mixture().predict(new)[1][0]


def test_a_mixture_can_be_checked_against_its_observations() -> None:
    mixed = mixture()
    assert isinstance(mixed, CheckedPosterior)
    assert mixed.leave_one_out()[0].shape == mixed.noise.shape == (len(X),)


def test_members_count_by_their_evidence_and_the_hopeless_are_left_out() -> None:
    good, close, bad = gp(0.4), gp(0.42), gp(1.5)
    mixed = mixed_by_evidence([good, close, bad])
    assert isinstance(mixed, Mixture)
    assert mixed.members == (good, close)
    ratio = np.exp(log_evidence(good) - log_evidence(close))
    assert mixed.weights[0] / mixed.weights[1] == pytest.approx(ratio)
    assert mixed.weights.sum() == pytest.approx(1.0)
    assert mixed_by_evidence([good, bad]) is good
    assert np.exp(log_evidence(bad) - log_evidence(good)) < LEAST_WEIGHT


def test_the_evidence_is_what_a_fit_without_priors_maximises() -> None:
    flat = FitSettings(lengthscale_prior=None, noise_prior=None, signal_prior=None, trend_prior=None, relevance=0.3)
    energy = NegLogPosterior(X, Y, flat)
    constant = 0.5 * len(Y) * np.log(2.0 * np.pi)
    theta = np.log([0.5, 0.5, 1.0, 1e-3])
    assert -len(Y) * energy(theta)[0] == pytest.approx(log_evidence(gp(0.5, relevance=0.3)) - constant, rel=1e-9)


# -- relevance


def test_relevance_adds_noise_that_grows_with_the_gap_to_the_best() -> None:
    plain, relevant = gp(0.5), gp(0.5, relevance=0.3)
    assert relevant.noise - plain.noise == pytest.approx((0.3 * (Y.max() - Y)) ** 2)
    later = relevant.condition(np.array([[0.1, 0.1], [0.9, 0.9]]), np.array([Y.max() + 1.0, Y.max() - 2.0]))
    assert later.noise[-2:] == pytest.approx([1e-3, 1e-3 + 0.36])


# -- acquisitions


def context(posterior: Any) -> Context:
    paths = posterior.paths(8, np.random.default_rng(4))
    free = np.ones((20 + len(X), 2), dtype=bool)
    optima = maximise_paths(paths, np.random.default_rng(5).random((20, 2)), free)
    return Context(posterior, float(Y.max()), optima, np.random.default_rng(6))


def test_log_ei_of_a_mixture_is_the_log_of_the_improvement_expected_of_it() -> None:
    mixed = mixture()
    each = [LogEI().bind(context(member))(POINTS) for member in mixed.members]
    expected = np.log(mixed.weights @ np.exp(each))
    assert LogEI().bind(context(mixed))(POINTS) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("acquisition", [LogEI(), UCB(beta=1.0), MES(), JES()])
def test_the_gradient_of_an_averaged_acquisition_is_that_of_its_value(acquisition: Any) -> None:
    score = acquisition.bind(context(mixture()))
    assert isinstance(score, Averaged)
    value, gradient = score.gradient(POINTS)
    assert value == pytest.approx(score(POINTS), rel=1e-9)
    assert gradient == pytest.approx(numerical(score, POINTS), rel=1e-3, abs=1e-4)


def test_far_from_any_hope_log_ei_stays_finite() -> None:
    mixed = mixture()
    far = Context(mixed, 1e3, None, np.random.default_rng(0))
    value, gradient = LogEI().bind(far).gradient(POINTS)
    assert np.isfinite(value).all()
    assert np.isfinite(gradient).all()


def test_a_posterior_sample_is_one_function_and_a_single_model_is_left_alone() -> None:
    assert not isinstance(ThompsonSampling().bind(context(mixture())), Averaged)
    assert not isinstance(LogEI().bind(context(gp(0.5))), Averaged)
