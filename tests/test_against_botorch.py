"""The engine's posterior, acquisitions and paths against BoTorch's, at the same hyperparameters in double precision."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from conftest import covariance, log_likelihood

from ccgbo.acquisition import EI, UCB, Context, LogEI
from ccgbo.acquisition.analytic import log_h
from ccgbo.surrogate.gp.fit import FitSettings, NegLogPosterior, fit, hyper_of
from ccgbo.surrogate.gp.kernels import get_kernel
from ccgbo.surrogate.gp.paths import draw_paths
from ccgbo.surrogate.gp.posterior import GP, Hyper
from ccgbo.surrogate.gp.priors import HVARFNER, HVARFNER_NOISE
from ccgbo.tuning import EngineTuning

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", message="`torch.jit.script", category=DeprecationWarning)
    import torch
    from botorch.acquisition.analytic import (
        ExpectedImprovement,
        LogExpectedImprovement,
        UpperConfidenceBound,
        _log_ei_helper,
    )
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.sampling.pathwise import draw_matheron_paths
    from gpytorch.kernels import MaternKernel, ScaleKernel
    from gpytorch.means import ZeroMean
    from gpytorch.mlls import ExactMarginalLogLikelihood

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.filterwarnings("ignore:.*has known numerical issues"),  # BoTorch on its own plain EI
]

LENGTHSCALES, SIGNAL, NOISE = np.array([0.25, 0.5, 1.1]), 1.7, 3e-3


@pytest.fixture(scope="module")
def gp() -> GP:
    rng = np.random.default_rng(11)
    X = rng.random((30, 3))
    y = np.sin(7.0 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2
    hyper = Hyper(lengthscales=LENGTHSCALES, signal=SIGNAL, noise=NOISE)
    return GP.from_data(get_kernel("matern52"), hyper, X, (y - y.mean()) / y.std())


@pytest.fixture(scope="module")
def model(gp: GP) -> Any:
    """The same model, put together from BoTorch's own parts."""
    Y = torch.tensor(gp.y).unsqueeze(-1)
    kernel = ScaleKernel(MaternKernel(nu=2.5, ard_num_dims=3)).double()
    kernel.base_kernel.lengthscale = torch.tensor(LENGTHSCALES)
    kernel.outputscale = torch.tensor(SIGNAL, dtype=torch.double)
    variance = torch.full_like(Y, NOISE)
    parts = {"covar_module": kernel, "mean_module": ZeroMean(), "outcome_transform": None}
    return SingleTaskGP(torch.tensor(gp.X), Y, variance, **parts).eval()


@pytest.fixture(scope="module")
def x() -> np.ndarray:
    return np.random.default_rng(5).random((80, 3))


def torch_value(acqf: Any, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values and gradients of a BoTorch acquisition at single points."""
    points = torch.tensor(x).unsqueeze(-2).requires_grad_()
    values = acqf(points)
    (gradient,) = torch.autograd.grad(values.sum(), points)
    return values.detach().numpy(), gradient.squeeze(-2).numpy()


def test_posterior_mean_variance_and_covariance_agree(gp: GP, model: Any, x: np.ndarray) -> None:
    with torch.no_grad():
        posterior = model.posterior(torch.tensor(x))
    mean, std = gp.predict(x)
    np.testing.assert_allclose(mean, posterior.mean.squeeze(-1), atol=1e-10)
    np.testing.assert_allclose(std, posterior.variance.sqrt().squeeze(-1), atol=1e-10)
    np.testing.assert_allclose(covariance(gp, x, x), posterior.distribution.covariance_matrix, atol=1e-10)


def test_the_posterior_at_the_observations_agrees(gp: GP, model: Any) -> None:
    with torch.no_grad():
        posterior = model.posterior(torch.tensor(gp.X))
    mean, std = gp.at_observations()
    np.testing.assert_allclose(mean, posterior.mean.squeeze(-1), atol=1e-10)
    np.testing.assert_allclose(std, posterior.variance.sqrt().squeeze(-1), atol=1e-9)


def test_the_posterior_after_more_observations_agrees(gp: GP, model: Any, x: np.ndarray) -> None:
    more, values = x[:4], np.array([0.3, -1.0, 2.0, 0.0])
    with torch.no_grad():
        model.posterior(torch.tensor(x))  # BoTorch conditions on its cached predictions
        noise = torch.full((4, 1), NOISE, dtype=torch.double)
        longer = model.condition_on_observations(torch.tensor(more), torch.tensor(values).unsqueeze(-1), noise=noise)
        posterior = longer.posterior(torch.tensor(x[4:]))
    mean, std = gp.condition(more, values).predict(x[4:])
    np.testing.assert_allclose(mean, posterior.mean.squeeze(-1), atol=1e-8)
    np.testing.assert_allclose(std, posterior.variance.sqrt().squeeze(-1), atol=1e-8)


def test_the_marginal_likelihood_agrees(gp: GP, model: Any) -> None:
    model.train()
    with torch.no_grad():
        mll = ExactMarginalLogLikelihood(model.likelihood, model)
        value = float(mll(model(*model.train_inputs), model.train_targets)) * len(gp.y)
    model.eval()
    assert log_likelihood(gp) == pytest.approx(value, rel=1e-10)


def test_ucb_and_its_gradient_agree_with_the_square_of_beta(gp: GP, model: Any, x: np.ndarray) -> None:
    ours = UCB(beta=2.576).bind(Context(gp, 0.0, None, np.random.default_rng(0)))
    value, gradient = torch_value(UpperConfidenceBound(model, beta=2.576**2), x)
    np.testing.assert_allclose(ours(x), value, atol=1e-7)
    np.testing.assert_allclose(ours.gradient(x)[1], gradient, atol=1e-6)


@pytest.mark.parametrize("best", [-2.0, 0.5, 3.0, 50.0, 1e3])
def test_log_ei_and_its_gradient_agree_however_hopeless_the_point(
    gp: GP, model: Any, x: np.ndarray, best: float
) -> None:
    ours = LogEI().bind(Context(gp, best, None, np.random.default_rng(0)))
    value, gradient = torch_value(LogExpectedImprovement(model, best_f=best), x)
    np.testing.assert_allclose(ours(x), value, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(ours.gradient(x)[1], gradient, rtol=1e-5, atol=1e-5)


def test_ei_agrees(gp: GP, model: Any, x: np.ndarray) -> None:
    ours = EI().bind(Context(gp, 0.5, None, np.random.default_rng(0)))
    value, gradient = torch_value(ExpectedImprovement(model, best_f=0.5), x)
    np.testing.assert_allclose(ours(x), value, atol=1e-7)
    np.testing.assert_allclose(ours.gradient(x)[1], gradient, atol=1e-6)


def test_the_logarithm_of_h_agrees_from_five_down_to_minus_a_million() -> None:
    u = np.concatenate([np.linspace(5.0, -40.0, 2001), -np.geomspace(40.0, 1e6, 500)])
    np.testing.assert_allclose(log_h(u), _log_ei_helper(torch.tensor(u)).numpy(), rtol=1e-9, atol=1e-12)


def test_paths_have_the_mean_and_covariance_of_botorchs_exact_posterior(gp: GP, model: Any, x: np.ndarray) -> None:
    x, k = x[:12], 4000
    with torch.no_grad():
        exact = model.posterior(torch.tensor(x)).distribution
    rng = np.random.default_rng(0)
    ours = np.concatenate([draw_paths(gp, k // 20, rng, n_features=512)(x) for _ in range(20)], axis=1)  # (12, k)
    std = exact.stddev.numpy()
    assert np.abs((ours.mean(axis=1) - exact.mean.numpy()) / std).max() < 5.0 / np.sqrt(k)
    difference = np.abs(np.cov(ours) - exact.covariance_matrix.numpy()) / np.outer(std, std)
    assert difference.max() < 0.15
    assert np.median(difference) < 0.05


def test_maxima_of_paths_agree_with_those_of_botorchs_paths(gp: GP, model: Any) -> None:
    points = np.concatenate([np.random.default_rng(2).random((256, 3)), gp.X])
    rng = np.random.default_rng(0)
    ours = np.concatenate([draw_paths(gp, 100, rng, n_features=512)(points).max(axis=0) for _ in range(10)])
    torch.manual_seed(0)
    with torch.no_grad():
        paths = [draw_matheron_paths(model, torch.Size([100])) for _ in range(10)]
        theirs = torch.cat([path(torch.tensor(points)).amax(dim=-1) for path in paths]).numpy()
    error = np.hypot(ours.std() / np.sqrt(len(ours)), theirs.std() / np.sqrt(len(theirs)))
    assert abs(ours.mean() - theirs.mean()) < 4.0 * error
    assert ours.std() == pytest.approx(theirs.std(), rel=0.15)


# -- the maximum a posteriori of the hyperparameters

HVARFNER_FIT = FitSettings(
    kernel="rbf", lengthscale_prior=HVARFNER, noise_prior=HVARFNER_NOISE, signal_prior=None, trend_prior=None
)
EXACTLY = EngineTuning(learn_signal=False, max_iterations=2000, gradient_tolerance=1e-7)


def measured(d: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """A bowl in three of d parameters that bends in the first, with noise."""
    rng = np.random.default_rng([d, 3])
    X = rng.random((n, d))
    y = np.sin(5.0 * X[:, 0]) - 2.0 * (X[:, 1] - 0.4) ** 2 + X[:, 2] + 0.1 * rng.standard_normal(n)
    return X, (y - y.mean()) / y.std(ddof=1)


def botorch_model(X: np.ndarray, y: np.ndarray) -> Any:
    """SingleTaskGP as it comes, but for the mean: ``y`` is standardised and ours is zero."""
    return SingleTaskGP(torch.tensor(X), torch.tensor(y)[:, None], mean_module=ZeroMean(), outcome_transform=None)


def botorch_density(model: Any, theta: np.ndarray, p: int) -> float:
    """Log posterior density of our hyperparameters by BoTorch, up to a constant."""
    model.covar_module.lengthscale = torch.tensor(np.exp(theta[:p]))
    model.likelihood.noise = torch.tensor(np.exp(theta[p + 1 : p + 2]))
    model.train()
    with torch.no_grad():
        mll = ExactMarginalLogLikelihood(model.likelihood, model)
        return float(mll(model(*model.train_inputs), model.train_targets)) * len(model.train_targets)


@pytest.mark.parametrize(("d", "n"), [(5, 50), (25, 80), (100, 120)])
def test_the_prior_of_hvarfner_gives_the_fit_of_botorch(d: int, n: int) -> None:
    X, y = measured(d, n)
    theirs = botorch_model(X, y)
    to_the_end = {"options": {"maxiter": 5000, "ftol": 1e-12, "gtol": 1e-8}}  # along idle parameters it is almost flat
    fit_gpytorch_mll(ExactMarginalLogLikelihood(theirs.likelihood, theirs), optimizer_kwargs=to_the_end)
    lengthscales = theirs.covar_module.lengthscale.detach().numpy().ravel()
    noise = theirs.likelihood.noise.item()

    ours = fit(X, y, HVARFNER_FIT, EXACTLY).theta
    hyper = hyper_of(ours, d)
    np.testing.assert_allclose(hyper.lengthscales, lengthscales, rtol=0.03)
    assert hyper.noise == pytest.approx(noise, rel=0.03) and hyper.signal == 1.0

    found = np.concatenate([np.log(lengthscales), [0.0, np.log(noise)]])
    energy = NegLogPosterior(X, y, HVARFNER_FIT, learn_signal=False)
    gap = n * (energy(found)[0] - energy(ours)[0])
    assert gap == pytest.approx(botorch_density(theirs, ours, d) - botorch_density(theirs, found, d), abs=1e-4)
    assert abs(gap) < 1e-3, "neither finds a density that the other misses"
