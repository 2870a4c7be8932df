"""The posterior against scikit-learn, against itself by another route, and against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import covariance, log_likelihood, make_gp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from ccgbo import log
from ccgbo.surrogate.distance import MATMUL_FROM_COLUMNS, squared_distances
from ccgbo.surrogate.gp.kernels import KERNELS, get_kernel
from ccgbo.surrogate.gp.linalg import cholesky
from ccgbo.surrogate.gp.posterior import GP, Hyper

SKLEARN = {
    "matern52": lambda ls: Matern(length_scale=ls, nu=2.5),
    "matern32": lambda ls: Matern(length_scale=ls, nu=1.5),
    "rbf": lambda ls: RBF(length_scale=ls),
}


@pytest.mark.parametrize("kernel", KERNELS)
def test_mean_std_and_likelihood_equal_scikit_learns(kernel: str, rng: np.random.Generator) -> None:
    gp = make_gp(kernel=kernel)
    ours = gp.hyper
    theirs = GaussianProcessRegressor(
        ConstantKernel(ours.signal) * SKLEARN[kernel](ours.lengthscales), alpha=ours.noise, optimizer=None
    ).fit(gp.X, gp.y)
    x = rng.random((30, 3))
    mean, std = gp.predict(x)
    expected_mean, expected_std = theirs.predict(x, return_std=True)
    np.testing.assert_allclose(mean, expected_mean, atol=1e-10)
    np.testing.assert_allclose(std, expected_std, atol=1e-8)
    np.testing.assert_allclose(covariance(gp, x, x), theirs.predict(x, return_cov=True)[1], atol=1e-10)
    assert log_likelihood(gp) == pytest.approx(theirs.log_marginal_likelihood(), rel=1e-10)


@pytest.mark.parametrize("trend", [0.0, 0.8])
@pytest.mark.parametrize("kernel", KERNELS)
def test_gradients_of_mean_and_std_match_finite_differences(
    kernel: str, trend: float, rng: np.random.Generator
) -> None:
    gp, x, h = make_gp(kernel=kernel, trend=trend), rng.random((5, 3)), 1e-6
    at = gp.sites.linearize(x)
    mean, std, Q = gp.predict_with_weights(at.k, at.P)
    np.testing.assert_allclose((mean, std), gp.predict(x), rtol=1e-10)
    one, none = np.ones(5), np.zeros(5)
    d_mean = gp.sites.vjp(at, gp.grad_wrt_cross(Q, one, none))
    d_std = gp.sites.vjp(at, gp.grad_wrt_cross(Q, none, 1.0 / std), 1.0 / std)
    for c in range(3):
        e = h * np.eye(3)[c]
        up, down = gp.predict(x + e), gp.predict(x - e)
        np.testing.assert_allclose(d_mean[:, c], (up[0] - down[0]) / (2 * h), atol=1e-6)
        np.testing.assert_allclose(d_std[:, c], (up[1] - down[1]) / (2 * h), atol=1e-6)


@pytest.mark.parametrize("trend", [0.0, 0.8])
def test_appending_observations_equals_starting_over(trend: float, rng: np.random.Generator) -> None:
    gp, x = make_gp(n=25, trend=trend), rng.random((10, 3))
    part = GP.from_data(gp.kernel, gp.hyper, gp.X[:15], gp.y[:15])
    for whole in (
        part.condition(gp.X[15:], gp.y[15:]),
        part.condition(gp.X[15:20], gp.y[15:20]).condition(gp.X[20:], gp.y[20:]),
    ):
        np.testing.assert_allclose(whole.L, gp.L, atol=1e-10)
        np.testing.assert_allclose(whole.predict(x), gp.predict(x), atol=1e-10)
    assert len(part.y) == 15, "the posterior that was appended to is unchanged"


@pytest.mark.parametrize("trend", [0.0, 0.8])
def test_the_closed_form_at_the_observations_equals_the_general_prediction(trend: float) -> None:
    gp = make_gp(trend=trend)
    np.testing.assert_allclose(gp.at_observations(), gp.predict(gp.X), atol=1e-9)


def test_the_closed_form_at_the_observations_keeps_digits_that_subtraction_loses() -> None:
    gp = make_gp(noise=1e-9)
    _, std = gp.at_observations()
    assert len(np.unique(std)) == len(std)
    assert np.all(std > 0) and np.all(std**2 <= 1e-9 * (1 + 1e-9))


def test_given_noise_replaces_the_learned_noise_where_it_is_known() -> None:
    gp = make_gp(n=10)
    given_noise = np.full(10, np.nan)
    given_noise[3] = 0.5
    noisy = GP.from_data(gp.kernel, gp.hyper, gp.X, gp.y, given_noise)
    assert noisy.noise[3] == 0.5 and np.all(noisy.noise[np.arange(10) != 3] == gp.hyper.noise)
    assert noisy.at_observations()[1][3] > gp.at_observations()[1][3]


def test_wide_and_narrow_distances_agree(rng: np.random.Generator) -> None:
    A, B = rng.random((20, MATMUL_FROM_COLUMNS + 1)), rng.random((30, MATMUL_FROM_COLUMNS + 1))
    direct = ((A[:, None] - B[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(squared_distances(A, B), direct, atol=1e-12)
    np.testing.assert_allclose(
        squared_distances(A[:, :3], B[:, :3]), ((A[:, None, :3] - B[None, :, :3]) ** 2).sum(axis=2)
    )
    assert np.all(np.diag(squared_distances(A, A)) == 0.0)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_slope_of_each_kernel_is_its_derivative_and_finite_at_zero(kernel: str) -> None:
    k, r2, h = get_kernel(kernel), np.array([0.01, 0.5, 3.0, 20.0]), 1e-6
    rho, slope = k.rho_slope(r2)
    np.testing.assert_allclose(rho, k.rho(r2), rtol=1e-12)
    np.testing.assert_allclose(slope, (k.rho(r2 + h) - k.rho(r2 - h)) / (2 * h), atol=1e-7)
    assert np.isfinite(k.rho_slope(np.zeros(1))[1][0]) and k.rho(np.zeros(1))[0] == 1.0


def test_a_singular_matrix_is_factorised_with_jitter_and_said_once(caplog: pytest.LogCaptureFixture) -> None:

    log._reported.clear()
    K = np.ones((5, 5))
    with caplog.at_level("WARNING", logger="ccgbo"):
        L, jitter = cholesky(K)
        cholesky(K)
    assert jitter > 0
    np.testing.assert_allclose(L @ L.T, K + jitter * np.eye(5), atol=1e-12)
    assert [r.name for r in caplog.records] == ["ccgbo"]


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 12),
    identical=st.booleans(),
    log_scale=st.floats(-4, 4),
    log_noise=st.floats(-6, 0),
    seed=st.integers(0, 1000),
)
def test_any_posterior_is_finite_and_its_std_within_the_prior(
    n: int, identical: bool, log_scale: float, log_noise: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.random((1, 2)), n, axis=0) if identical else rng.random((n, 2))
    hyper = Hyper(lengthscales=np.full(2, 10.0**log_scale), signal=1.0, noise=10.0**log_noise)
    gp = GP.from_data(get_kernel("matern52"), hyper, X, rng.standard_normal(n))
    mean, std = gp.predict(rng.random((20, 2)))
    assert np.all(np.isfinite(mean)) and np.all(std > 0) and np.all(std <= 1.0 + 1e-9)
    assert np.all(np.isfinite(gp.at_observations()))
