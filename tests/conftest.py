"""Shared data: small, seeded, and the same for every test that asks."""

from __future__ import annotations

import signal
import threading

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from ccgbo.surrogate.gp.kernels import get_kernel
from ccgbo.surrogate.gp.posterior import GP, Hyper

if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # a suite that runs in the background ignores Ctrl-C, and so would every process that a test starts and interrupts
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def make_gp(
    n: int = 20, p: int = 3, *, kernel: str = "matern52", noise: float = 0.01, trend: float = 0.0, seed: int = 0
) -> GP:
    """A posterior of a smooth function with lengthscales that differ by dimension."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, p))
    y = np.sin(5.0 * X).sum(axis=1) + 0.1 * rng.standard_normal(n)
    y = (y - y.mean()) / (y.std() or 1.0)
    hyper = Hyper(lengthscales=np.linspace(0.4, 0.7, p), signal=1.3, noise=noise, trend=trend)
    return GP.from_data(get_kernel(kernel), hyper, X, y)


def covariance(gp: GP, x: np.ndarray, x2: np.ndarray) -> np.ndarray:
    """Posterior covariance of the noise-free function, from its definition."""
    K = gp.prior(gp.X, gp.X) + np.diag(gp.noise)
    return gp.prior(x, x2) - gp.cross(x) @ np.linalg.solve(K, gp.cross(x2).T)


def log_likelihood(gp: GP) -> float:
    """log N(y; 0, K)."""
    K = gp.prior(gp.X, gp.X) + np.diag(gp.noise)
    return float(multivariate_normal(np.zeros(len(gp.y)), K).logpdf(gp.y))


@pytest.fixture
def gp() -> GP:
    return make_gp()
