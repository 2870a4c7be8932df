"""The likelihood, its gradient, the priors and where a fit ends."""

from __future__ import annotations

import math

import numpy as np
import pytest
from conftest import log_likelihood
from scipy.optimize import approx_fprime
from scipy.stats import lognorm, multivariate_normal, norm

from ccgbo import EngineTuning
from ccgbo.errors import SettingError
from ccgbo.surrogate.distance import Choices
from ccgbo.surrogate.gp.fit import FitSettings, NegLogPosterior, fit, hyper_of
from ccgbo.surrogate.gp.kernels import get_kernel
from ccgbo.surrogate.gp.posterior import GP
from ccgbo.surrogate.gp.priors import (
    HVARFNER,
    HVARFNER_NOISE,
    LogNormal,
    LogNormalLengthscales,
    NormalOnLog,
    NormalOnLogLengthscales,
)

MLE = FitSettings(lengthscale_prior=None, noise_prior=None, signal_prior=None, trend_prior=None)


def draw(n: int = 40, p: int = 3, noise: float = 0.1, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.random((n, p))
    y = np.sin(6 * X[:, 0]) + 0.5 * X[:, 1] + noise * rng.standard_normal(n)
    return X, (y - y.mean()) / y.std()


@pytest.mark.parametrize(
    "settings",
    [
        MLE,
        FitSettings(),
        FitSettings(kernel="matern32"),
        FitSettings(kernel="rbf", lengthscale_prior=HVARFNER, noise_prior=HVARFNER_NOISE),
        FitSettings(signal_prior=None),  # unit signal
        FitSettings(trend_prior=None),
    ],
)
@pytest.mark.parametrize("choices", [(), ((1, 3),), ((1, 3), (2, 500))])
def test_the_gradient_matches_finite_differences(settings: FitSettings, choices: Choices) -> None:
    X, y = draw()
    for column, _ in choices:
        X[:, column] = np.floor(4.0 * X[:, column]) - 1.0  # -1 is inactive
    given_noise = np.where(np.arange(40) % 3 == 0, 0.02, np.nan)
    energy = NegLogPosterior(X, y, settings, choices, given_noise, learn_signal=settings.signal_prior is not None)
    theta = np.array([*[0.1, -0.4, 0.3][: energy.p], 0.2, -2.0, -0.7])[: len(energy.bounds)]
    numeric = approx_fprime(theta, lambda t: energy(t)[0], 1e-6)
    np.testing.assert_allclose(energy(theta)[1], numeric, atol=1e-5)


def test_the_energy_without_priors_is_minus_the_log_likelihood_per_observation() -> None:
    X, y = draw()
    theta = np.array([0.0, -0.3, 0.2, 0.1, -3.0])
    gp = GP.from_data(get_kernel("matern52"), hyper_of(theta, 3), X, y)
    energy = NegLogPosterior(X, y, MLE)
    assert energy(theta)[0] == pytest.approx(-log_likelihood(gp) / 40, rel=1e-10)


@pytest.mark.parametrize(("trend", "number_sd"), [(False, 0.3), (True, 0.6)])
@pytest.mark.parametrize("choice", [[False] * 4, [True, False, False, True]])
def test_the_exchangeable_prior_is_the_gaussian_it_says_it_is(
    choice: list[bool], trend: bool, number_sd: float
) -> None:
    prior = NormalOnLogLengthscales(offset=-0.7, scale=0.5, shared_sd=1.0, each_sd=0.3, trend_sd=0.6, choice_sd=0.8)
    x, marks = np.array([0.2, -0.5, 0.9, 0.1]), np.array(choice)
    cov = np.diag(np.where(marks, 0.8, number_sd) ** 2) + 1.0 * np.ones((4, 4))
    normal = multivariate_normal(np.full(4, -0.7 + 0.5 * math.log(4)), cov)
    reference = normal.logpdf(normal.mean) - normal.logpdf(x)
    energy, gradient = prior.neg_log_density(x, marks, trend=trend)
    assert energy == pytest.approx(reference, rel=1e-10)
    expected = approx_fprime(x, lambda t: prior.neg_log_density(t, marks, trend=trend)[0], 1e-7)
    np.testing.assert_allclose(gradient, expected, atol=1e-5)


def test_over_a_trend_parameters_are_told_apart_sooner(rng: np.random.Generator) -> None:
    X = rng.random((16, 4))
    y = np.sin(6.0 * X[:, 0]) + 0.05 * X[:, 1]
    y = (y - y.mean()) / y.std()
    trend = NormalOnLog(mean=-1.0, sd=1.5)

    def split(trend_sd: float) -> float:
        settings = FitSettings(lengthscale_prior=NormalOnLogLengthscales(trend_sd=trend_sd), trend_prior=trend)
        log_l = fit(X, y, settings).theta[:4]
        return float(log_l[1:].min() - log_l[0])

    assert split(NormalOnLogLengthscales().trend_sd) > 1.5 * split(0.3) > 0.0


def test_the_exchangeable_prior_costs_a_common_shift_less_than_a_split() -> None:
    prior, numbers = NormalOnLogLengthscales(), np.zeros(4, dtype=bool)
    mode = prior.log_mode(4)
    together = prior.neg_log_density(np.full(4, mode + 0.5), numbers, trend=False)[0]
    apart = prior.neg_log_density(mode + np.array([0.5, -0.5, 0.5, -0.5]), numbers, trend=False)[0]
    assert together < 0.2 * apart


def test_a_categorical_leaves_the_common_lengthscale_more_easily_than_a_number() -> None:
    prior = NormalOnLogLengthscales()
    x = np.full(4, prior.log_mode(4)) + np.array([0.0, 0.0, 0.0, 1.5])
    choice = prior.neg_log_density(x, np.array([False, False, False, True]), trend=False)[0]
    assert choice < 0.3 * prior.neg_log_density(x, np.zeros(4, dtype=bool), trend=False)[0]


def test_the_prior_of_hvarfner_has_its_mode_at_a_fifth_of_the_root_of_the_dimension() -> None:
    for d in (1, 25, 1000):
        assert math.exp(HVARFNER.log_mode(d)) == pytest.approx(math.exp(math.sqrt(2.0) - 3.0) * math.sqrt(d))


@pytest.mark.parametrize(("mean", "sd"), [(-4.0, 1.0), (0.5, 0.3)])
def test_a_log_normal_is_the_density_of_the_variance_and_a_normal_on_the_log_that_of_its_logarithm(
    mean: float, sd: float
) -> None:
    of_value, of_log = LogNormal(mean=mean, sd=sd), NormalOnLog(mean=mean, sd=sd)
    v = np.exp(mean + sd * np.linspace(-3.0, 2.0, 7))
    expected = -lognorm(s=sd, scale=math.exp(mean)).logpdf(v), -norm(mean, sd).logpdf(np.log(v))
    for prior, reference in zip((of_value, of_log), expected, strict=True):
        found = np.array([prior.neg_log_density(t)[0] for t in np.log(v)])
        np.testing.assert_allclose(np.diff(found), np.diff(reference), rtol=1e-10)
        assert prior.neg_log_density(prior.log_mode)[1] == pytest.approx(0.0, abs=1e-12)


def test_the_log_normal_prior_of_lengthscales_is_the_density_of_each() -> None:
    prior, numbers = LogNormalLengthscales(offset=0.3, scale=0.5, sd=0.8), np.zeros(3, dtype=bool)
    points = np.array([[0.2, -0.5, 0.9], [1.0, 0.1, -2.0]])
    reference = lognorm(s=0.8, scale=math.exp(0.3) * math.sqrt(3.0)).logpdf(np.exp(points)).sum(axis=1)
    found = [prior.neg_log_density(x, numbers, trend=False)[0] for x in points]
    assert found[0] - found[1] == pytest.approx(reference[1] - reference[0], rel=1e-10)
    gradient = prior.neg_log_density(np.full(3, prior.log_mode(3)), numbers, trend=False)[1]
    np.testing.assert_allclose(gradient, 0.0, atol=1e-12)


def test_a_prior_keeps_a_fit_above_the_least_that_it_allows(rng: np.random.Generator) -> None:
    X = rng.random((40, 2))
    y = np.sin(9.0 * X[:, 0])  # without noise
    y = (y - y.mean()) / y.std()
    least = 0.01
    settings = FitSettings(noise_prior=LogNormal(mean=-4.0, sd=1.0, least=least), lengthscale_prior=HVARFNER)
    hyper = hyper_of(fit(X, y, settings).theta, 2)
    assert hyper.noise == pytest.approx(least) and hyper.lengthscales.min() >= HVARFNER.least


def test_maximum_likelihood_recovers_the_noise_and_finds_the_idle_dimension() -> None:
    X, y = draw(n=150, noise=0.2)
    hyper = hyper_of(fit(X, y, MLE).theta, 3)
    scale = np.std(np.sin(6 * X[:, 0]) + 0.5 * X[:, 1])
    assert math.sqrt(hyper.noise) == pytest.approx(0.2 / scale, rel=0.4)
    assert hyper.lengthscales[2] > 3 * hyper.lengthscales[0]


def test_a_warm_start_at_the_optimum_needs_few_calls_and_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    likelihood = NegLogPosterior.__call__
    monkeypatch.setattr(NegLogPosterior, "__call__", lambda self, theta: calls.append(1) or likelihood(self, theta))
    X, y = draw()
    cold = fit(X, y, FitSettings())
    of_cold = len(calls)
    warm = fit(X, y, FitSettings(), start=cold.theta)
    assert len(calls) - of_cold < of_cold / 2
    assert warm.energy <= cold.energy + 1e-9


def test_a_poor_warm_start_is_left_for_a_fresh_one() -> None:
    X, y = draw()
    poor = np.array([6.0, 6.0, 6.0, -6.0, 1.0])
    cold = fit(X, y, FitSettings())
    assert fit(X, y, FitSettings(), start=poor).energy <= cold.energy + 1e-3


def test_unit_signal_stays_unit() -> None:
    X, y = draw()
    settings = FitSettings(lengthscale_prior=HVARFNER, signal_prior=None)
    assert hyper_of(fit(X, y, settings, EngineTuning(learn_signal=False)).theta, 3).signal == 1.0


@pytest.mark.parametrize("y", [np.zeros(5), np.array([0.0, 0, 0, 0, 2.2]), np.full(5, 1e8)])
def test_a_fit_to_any_y_is_finite(y: np.ndarray) -> None:
    X = np.random.default_rng(0).random((5, 2))
    for data in (X, np.repeat(X[:1], 5, axis=0)):
        assert np.all(np.isfinite(fit(data, y, MLE).theta))
        assert np.all(np.isfinite(fit(data, y, FitSettings()).theta))


def test_bad_settings_name_the_field_the_rule_and_the_value() -> None:
    with pytest.raises(SettingError, match=r"kernel must be one of .* got 'cubic'"):
        FitSettings(kernel="cubic")
    with pytest.raises(SettingError, match=r"refit_growth must be a number >= 0, got -1"):
        EngineTuning(refit_growth=-1)
    with pytest.raises(SettingError, match=r"each_sd must be a number in \[0.001, 1000\], got 0"):
        NormalOnLogLengthscales(each_sd=0)
    assert NormalOnLog(mean=0.0, sd=2.0).neg_log_density(2.0) == (0.5, 0.5)


def test_a_prior_may_allow_less_noise_than_the_fit_does_by_itself() -> None:
    X = np.linspace(0.0, 1.0, 25)[:, None]
    y = np.sin(3.0 * X[:, 0])
    floors = [fit(X, y, FitSettings(noise_prior=NormalOnLog(mean=-25.0, sd=1.0, least=least))) for least in (0.0, 1e-9)]
    assert np.exp([result.theta[2] for result in floors]) == pytest.approx([1e-6, 1e-9], rel=1e-6)
