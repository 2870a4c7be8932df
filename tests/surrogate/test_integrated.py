"""A posterior averaged over draws of its hyperparameters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from ccgbo.surrogate.gp.fit import FitSettings, NegLogPosterior, fit, hyper_of
from ccgbo.surrogate.gp.kernels import get_kernel
from ccgbo.surrogate.gp.posterior import GP
from ccgbo.surrogate.integrated import credit_weighted_fit, integrated
from ccgbo.surrogate.mixture import Mixture
from ccgbo.tuning import EngineTuning

KERNEL, TUNING = get_kernel("matern52"), EngineTuning()
RNG = np.random.default_rng(0)
X = RNG.random((12, 1))
Y = np.sin(9.0 * X[:, 0]) + 0.3 * RNG.standard_normal(12)
Y = (Y - Y.mean()) / Y.std()
FIT = FitSettings(trend_prior=None, hyper_samples=6)
POINTS = np.linspace(0.0, 1.0, 7)[:, None]


def most_likely(settings: FitSettings = FIT, given: np.ndarray | None = None) -> GP:
    theta = fit(X, Y, settings, TUNING, given_noise=given).theta
    return GP.from_data(KERNEL, hyper_of(theta, 1, settings.relevance), X, Y, given)


def drawn(settings: FitSettings = FIT, *, credited: bool = True, given: np.ndarray | None = None) -> Mixture:
    mixed = integrated(most_likely(settings, given), settings, TUNING, credited=credited)
    assert isinstance(mixed, Mixture)
    return mixed


def test_the_most_likely_hyperparameters_are_among_the_members_and_the_same_data_draw_the_same() -> None:
    one, again = drawn(), drawn()
    assert len(one.members) <= FIT.hyper_samples + 1
    assert one.members[0].hyper.noise == most_likely().hyper.noise
    assert np.array_equal(one.predict(POINTS), again.predict(POINTS))
    assert one.weights.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("settings", "tuning"),
    [(FitSettings(trend_prior=None), TUNING), (FIT, EngineTuning(integrate_points=11))],
    ids=["no draws", "too many observations"],
)
def test_it_is_the_posterior_itself_without_draws_and_beyond_so_many_observations(
    settings: FitSettings, tuning: EngineTuning
) -> None:
    gp = most_likely()
    assert integrated(gp, settings, tuning, credited=True) is gp


@pytest.mark.parametrize("n", [1, 2])
def test_of_one_or_two_observations_there_are_no_draws(n: int) -> None:
    gp = GP.from_data(KERNEL, most_likely().hyper, X[:n], Y[:n])
    assert integrated(gp, FIT, TUNING, credited=True) is gp


def test_observations_that_are_all_equal_count_the_same() -> None:
    flat = GP.from_data(KERNEL, most_likely().hyper, X, np.zeros(12))
    assert np.isfinite(credit_weighted_fit(flat))


def test_without_credit_many_draws_integrate_over_the_posterior_of_the_hyperparameters() -> None:
    """Against an importance-weighted sum over draws of another, wider distribution."""
    rng, settings = np.random.default_rng(0), FitSettings(trend_prior=None, hyper_samples=600)
    X = rng.random((25, 1))
    y = np.sin(9.0 * X[:, 0]) + 0.3 * rng.standard_normal(25)
    y = (y - y.mean()) / y.std()
    energy, best = NegLogPosterior(X, y, settings), fit(X, y, settings, TUNING).theta
    alone = GP.from_data(KERNEL, hyper_of(best, 1), X, y)
    z = rng.standard_normal((3000, 3))
    thetas = best + z * [0.6, 1.0, 1.5]
    inside = ((thetas > energy.bounds[:, 0]) & (thetas < energy.bounds[:, 1])).all(axis=1)
    log_w = np.array([-len(y) * energy(theta)[0] for theta in thetas[inside]]) + 0.5 * (z[inside] ** 2).sum(axis=1)
    weights = np.exp(log_w - log_w.max())
    heavy = weights > 1e-4
    members = tuple(GP.from_data(KERNEL, hyper_of(theta, 1), X, y) for theta in thetas[inside][heavy])
    mean, std = Mixture(members, weights[heavy] / weights[heavy].sum()).predict(POINTS)
    found = integrated(alone, settings, TUNING, credited=False).predict(POINTS)
    assert np.abs(found[0] - mean).max() < min(0.04, 0.5 * np.abs(alone.predict(POINTS)[0] - mean).max())
    assert np.abs(np.log(found[1] / std)).max() < min(0.12, 0.5 * np.abs(np.log(alone.predict(POINTS)[1] / std)).max())


def test_the_credited_weight_is_that_of_refits_without_each_observation() -> None:
    gp = most_likely()
    log_density = []
    for i in range(len(Y)):
        rest = np.delete(np.arange(len(Y)), i)
        mean, std = GP.from_data(KERNEL, gp.hyper, X[rest], Y[rest]).predict(X[i : i + 1])
        spread = np.sqrt(std[0] ** 2 + gp.hyper.noise)
        log_density.append(norm.logpdf(Y[i], mean[0], spread) + 0.5 * np.log(2.0 * np.pi))
    weight = (np.argsort(np.argsort(Y)) / (len(Y) - 1.0)) ** 4
    n_eff = weight.sum() ** 2 / (weight**2).sum()
    assert credit_weighted_fit(gp) == pytest.approx(0.3 * n_eff * np.average(log_density, weights=weight))


def test_members_count_by_how_well_they_forecast_the_best_observations_where_credit_is_on() -> None:
    mixed = drawn()
    fits = np.array([credit_weighted_fit(member) for member in mixed.members])
    assert np.log(mixed.weights / mixed.weights[0]) == pytest.approx(fits - fits[0])
    assert not np.allclose(mixed.weights[:2], drawn(credited=False).weights[:2])


def test_noise_that_observations_came_with_is_theirs_in_every_member() -> None:
    given = np.where(np.arange(12) < 4, 0.25, np.nan)
    for member in drawn(given=given).members:
        assert np.all(member.noise[:4] == 0.25)
        assert np.all(member.noise[4:] == member.hyper.noise)


def test_noise_that_is_known_is_not_drawn() -> None:
    gp = most_likely()
    mixed = integrated(gp, FIT, TUNING, credited=True, known_noise=True)
    assert isinstance(mixed, Mixture)
    assert [member.hyper.noise for member in mixed.members] == pytest.approx([gp.hyper.noise] * len(mixed.members))


def test_relevance_and_a_trend_go_with_every_member() -> None:
    settings = FitSettings(hyper_samples=4, relevance=0.3)
    mixed = integrated(most_likely(settings), settings, TUNING, credited=True)
    assert isinstance(mixed, Mixture)
    for member in mixed.members:
        assert member.hyper.trend > 0.0
        assert member.noise[int(Y.argmin())] > member.noise[int(Y.argmax())] == pytest.approx(member.hyper.noise)
