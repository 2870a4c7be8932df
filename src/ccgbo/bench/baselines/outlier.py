"""Outlier-robust BO: a Student-t GP finds the outliers, a Gaussian GP does without them (Martinez-Cantin, Tee, McCourt
2018; the Laplace approximation after Vanhatalo, Jylanki, Vehtari 2009).

    p(y_i | f_i) = t_nu(y_i; f_i, scale^2),   f ~ GP

    mode        EM: V_i = (nu scale^2 + r_i^2) / (nu + 1),  r = y - f,   f = K (K + diag V)^-1 y
    curvature   W_i = (nu + 1) (nu scale^2 - r_i^2) / (nu scale^2 + r_i^2)^2      negative at an outlier
    covariance  S = K (I + W K)^-1
    evidence    log p(y | f) - 1/2 f^T K^-1 f - 1/2 log |I + W K|

The lengthscale, the signal variance and the scale of the likelihood have the largest evidence on a small grid. An
observation is an outlier if it is less likely than alpha / n under t_nu(f_i, scale^2 + S_ii): under the model itself a
clean run of n observations loses one with probability alpha at most.

Choices of ours, where the source leaves them open: nu = 4, alpha = 0.05, one lengthscale for all columns, values
scaled by median and median absolute deviation first, classification at every 10th iteration. Not at the start: among
a dozen points far from each other the best value is an outlier like any other. Everything is judged anew each time,
so an observation can come back.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, stdtr

from ccgbo.arrays import Array
from ccgbo.bench.baselines.base import Initial
from ccgbo.engine.fit_state import FitState
from ccgbo.engine.history import Data
from ccgbo.engine.model import ExactGP, Model
from ccgbo.engine.settings import Settings
from ccgbo.errors import SettingError
from ccgbo.space import Space
from ccgbo.surrogate.distance import Choices, Metric, embedded_columns
from ccgbo.surrogate.gp.kernels import get_kernel
from ccgbo.surrogate.gp.linalg import cholesky, solve

NU = 4.0
LENGTHSCALES = (0.1, 0.25, 0.6, 1.5)  # times sqrt(columns)
SIGNALS = (1.0, 10.0)  # prior variance, where half of the values are within 0.67 of the median
SCALES = (0.01, 0.07, 0.5)  # of the likelihood, in the same unit


@dataclass(frozen=True, slots=True, kw_only=True)
class WithoutOutliers:
    """The Gaussian posterior of the inliers, which are told apart at every ``every``-th iteration."""

    n_initial: int
    alpha: float = 0.05
    every: int = 10
    known: dict[int, NDArray[np.intp]] = field(default_factory=dict, compare=False)  # outliers among the first n

    def __post_init__(self) -> None:
        if not 0.0 < self.alpha < 1.0:
            raise SettingError(f"alpha must be in (0, 1), got {self.alpha!r}.")
        if self.every < 1:
            raise SettingError(f"every must be >= 1, got {self.every!r}.")

    def outliers(self, data: Data, choices: Choices, kernel: str) -> NDArray[np.intp]:
        """Rows left out: those of the last classification."""
        t = len(data.values) - self.n_initial
        n = self.n_initial + t // self.every * self.every
        if t < self.every:
            return np.empty(0, dtype=np.intp)
        if n not in self.known:
            self.known[n] = find_outliers(data.F[:n], data.values[:n], kernel=kernel, alpha=self.alpha, choices=choices)
        return self.known[n]

    def build(
        self,
        data: Data,
        choices: Choices,
        settings: Settings,
        last: Model | None = None,  # noqa: ARG002
        state: FitState | None = None,
        *,
        refit: bool | None = None,  # noqa: ARG002
    ) -> Model:
        keep = np.setdiff1d(np.arange(len(data.values)), self.outliers(data, choices, settings.fit.kernel))
        # the number of rows may shrink, so only the hyperparameters of the last fit are passed on
        model = ExactGP().build(data[keep], choices, settings, None, state, refit=True)
        return replace(model, rows=keep[model.rows])


def outlier(space: Space, initial: Initial, beta: float, **options: Any) -> Mapping[str, Any]:  # noqa: ARG001
    return {"surrogate": WithoutOutliers(n_initial=len(initial), **options)}


@dataclass(frozen=True, slots=True)
class RobustPosterior:
    """Laplace approximation of the Student-t posterior at the observations."""

    mode: Array  # (n,)
    variance: Array  # (n,) S_ii
    scale: float
    evidence: float


def find_outliers(
    X: Array,  # (n, p)
    values: Array,  # (n,)
    *,
    kernel: str = "matern52",
    alpha: float = 0.05,
    choices: Choices = (),
) -> NDArray[np.intp]:
    """Rows that a Student-t GP calls outliers, in order."""
    n = len(values)
    y = _by_median(values)
    p = X.shape[1]
    r2 = Metric(np.ones(p), choices).between(X, X) / embedded_columns(p, choices)
    rho = get_kernel(kernel).rho
    kernels = [signal * rho(r2 / length**2) for signal, length in product(SIGNALS, LENGTHSCALES)]
    fits = [robust_posterior(K, y, scale) for K, scale in product(kernels, SCALES)]
    best = max(fits, key=lambda fit: fit.evidence)
    distance = np.abs(y - best.mode) / np.sqrt(best.scale**2 + best.variance)
    return np.flatnonzero(2.0 * stdtr(NU, -distance) < alpha / n)


def _by_median(values: Array) -> Array:
    """Values with median 0 and, if more than half of them differ, a spread of one."""
    offset = values - np.median(values)
    spread = float(np.median(np.abs(offset))) / 0.6745
    return offset / spread if spread > 0.0 else offset


def robust_posterior(K: Array, y: Array, scale: float, *, steps: int = 100, tolerance: float = 1e-4) -> RobustPosterior:
    """Mode by EM from the Gaussian solution, then covariance and evidence there."""
    n, wide = len(y), NU * scale**2
    f = y
    for _ in range(steps):
        V = (wide + (y - f) ** 2) / (NU + 1.0)
        L, _jitter = cholesky(K + np.diag(V))
        weights = solve(L, y)  # K^-1 f
        last, f = f, K @ weights
        if np.max(np.abs(f - last)) < tolerance:
            break
    r2 = (y - f) ** 2
    W = (NU + 1.0) * (wide - r2) / (wide + r2) ** 2
    B = np.eye(n) + W[:, None] * K
    covariance = np.linalg.solve(B.T, K).T  # K B^-1
    constant = gammaln((NU + 1.0) / 2.0) - gammaln(NU / 2.0) - 0.5 * math.log(math.pi * wide)
    log_lik = n * constant - 0.5 * (NU + 1.0) * float(np.log1p(r2 / wide).sum())
    evidence = log_lik - 0.5 * float(f @ weights) - 0.5 * float(np.linalg.slogdet(B)[1])
    variance = np.maximum(np.diag(covariance), 0.0)
    return RobustPosterior(f, variance, scale, evidence)
