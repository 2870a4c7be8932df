"""The quadratic trend: what its basis is, what it does to the posterior, and when it is there."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import covariance, make_gp
from numpy.polynomial import legendre
from scipy.optimize import approx_fprime

from ccgbo.surrogate.distance import squared_distances
from ccgbo.surrogate.gp.fit import FitSettings, fit, hyper_of
from ccgbo.surrogate.gp.kernels import get_kernel
from ccgbo.surrogate.gp.posterior import GP
from ccgbo.surrogate.gp.priors import NormalOnLog
from ccgbo.surrogate.gp.trend import basis, basis_slope

WITH, WITHOUT = FitSettings(trend_prior=NormalOnLog(mean=-1.0, sd=1.5)), FitSettings(trend_prior=None)


def test_the_basis_is_numpys_legendre_polynomials_and_orthonormal_on_the_cube() -> None:
    nodes, weights = legendre.leggauss(8)
    X = np.column_stack([0.5 * (nodes + 1.0)])
    phi = basis(X) * np.sqrt(2.0)  # of one column
    expected = np.column_stack(
        [np.sqrt(3.0) * legendre.legval(nodes, [0, 1]), np.sqrt(5.0) * legendre.legval(nodes, [0, 0, 1])]
    )
    np.testing.assert_allclose(phi, expected, atol=1e-14)
    np.testing.assert_allclose(phi.T @ (0.5 * weights[:, None] * phi), np.eye(2), atol=1e-14)


def test_the_slope_of_the_basis_matches_finite_differences(rng: np.random.Generator) -> None:
    X, weights = rng.random((4, 3)), rng.standard_normal((4, 6))
    slope = basis_slope(X, weights)
    for i in range(4):
        numeric = approx_fprime(X[i], lambda x, i=i: float(basis(x[None, :])[0] @ weights[i]), 1e-7)
        np.testing.assert_allclose(slope[i], numeric, atol=1e-5)


def test_the_posterior_is_that_of_the_sum_of_both_kernels_written_out(rng: np.random.Generator) -> None:
    gp, x = make_gp(trend=0.8), rng.random((9, 3))
    scale = gp.hyper.lengthscales

    def k(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return 1.3 * gp.kernel.rho(squared_distances(a / scale, b / scale)) + 0.8 * basis(a) @ basis(b).T

    K = k(gp.X, gp.X) + 0.01 * np.eye(20)
    mean, std = gp.predict(x)
    np.testing.assert_allclose(mean, k(x, gp.X) @ np.linalg.solve(K, gp.y), atol=1e-10)
    cov = k(x, x) - k(x, gp.X) @ np.linalg.solve(K, k(gp.X, x))
    np.testing.assert_allclose(std**2, np.diag(cov), atol=1e-10)
    np.testing.assert_allclose(covariance(gp, x, x), cov, atol=1e-10)


def test_a_bowl_in_six_dimensions_is_found_from_twenty_points_where_the_plain_kernel_misses_it() -> None:
    rng = np.random.default_rng(4)
    X, x, top = rng.random((20, 6)), rng.random((200, 6)), np.linspace(0.2, 0.8, 6)
    bowl = [-((points - top) ** 2).sum(axis=1) for points in (X, x)]
    y, truth = ((values - bowl[0].mean()) / bowl[0].std() for values in bowl)
    error = {}
    for name, settings in (("with", WITH), ("without", WITHOUT)):
        hyper = hyper_of(fit(X, y, settings).theta, 6)
        mean, _ = GP.from_data(get_kernel("matern52"), hyper, X, y).predict(x)
        error[name] = float(np.sqrt(np.mean((mean - truth) ** 2)))
    assert error["with"] < 0.5 * error["without"]


def test_where_there_is_no_trend_its_variance_shrinks() -> None:
    rng = np.random.default_rng(2)
    X = rng.random((80, 2))
    wave = np.sin(20.0 * X[:, 0]) * np.sin(17.0 * X[:, 1])
    y = (wave - wave.mean()) / wave.std()
    hyper = hyper_of(fit(X, y, WITH).theta, 2)
    assert hyper.trend < 0.15 * hyper.signal


def test_a_fit_without_a_trend_prior_has_no_trend_and_its_theta_starts_one_that_has() -> None:
    gp = make_gp()
    plain = fit(gp.X, gp.y, WITHOUT)
    assert hyper_of(plain.theta, 3).trend == 0.0
    upgraded = fit(gp.X, gp.y, WITH, start=plain.theta)
    assert hyper_of(upgraded.theta, 3).trend > 0.0
    assert len(upgraded.theta) == len(plain.theta) + 1
    np.testing.assert_allclose(upgraded.theta, fit(gp.X, gp.y, WITH).theta)


def test_a_space_with_a_categorical_has_no_trend() -> None:
    gp = make_gp()
    X = np.column_stack([gp.X[:, :2], np.arange(20) % 4])
    assert hyper_of(fit(X, gp.y, WITH, choices=((2, 4),)).theta, 3).trend == 0.0


@pytest.mark.parametrize("points", [1, 2, 5])
def test_a_trend_asks_for_no_minimal_number_of_points(points: int) -> None:
    X, y = np.random.default_rng(0).random((points, 4)), np.linspace(-1.0, 1.0, points)
    hyper = hyper_of(fit(X, y, WITH).theta, 4)
    mean, std = GP.from_data(get_kernel("matern52"), hyper, X, y).predict(X)
    assert np.isfinite(mean).all() and (std > 0).all()
