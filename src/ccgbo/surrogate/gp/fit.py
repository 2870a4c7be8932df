"""Hyperparameters by maximum likelihood or maximum a posteriori, with analytic gradients through L-BFGS-B.

    theta = (log lengthscale of each column, log signal variance, log noise variance[, log trend variance])

    log p(y | theta) = -1/2 y^T K^-1 y - 1/2 log |K| - n/2 log 2 pi
    d / d theta_k    =  1/2 tr(W dK / d theta_k),   W = alpha alpha^T - K^-1

With K = signal * rho + trend * phi phi^T + N (see trend.py) the traces need no further large product than G Z:

    trend:         trend * (|phi^T alpha|^2 - tr(phi^T K^-1 phi))
    signal:        y^T alpha - n - tr(W N) - the trend's
    noise:         noise * sum of W_ii over the observations whose noise is learned
    lengthscale k: -sum_ij G_ij (Z_ik - Z_jk)^2 = -2 (Z_k^2 . G 1 - Z_k . G Z_k),   G = signal * slope * W

where Z has the embedded columns of distance.py; for a categorical of many choices, which has none,

    lengthscale k: -sum_ij G_ij [choices i and j differ] / lengthscale_k^2

so memory stays at a few n x n matrices whatever the dimension.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from scipy.optimize import minimize

from ccgbo.arrays import Array
from ccgbo.surrogate.distance import Choices, layout_of, mismatch, squared_distances
from ccgbo.surrogate.gp.cross import NOISE_FLOOR, Hyper, relevance_noise
from ccgbo.surrogate.gp.kernels import Kernel, get_kernel
from ccgbo.surrogate.gp.linalg import cholesky, inverse_lower, solve, symmetric_times
from ccgbo.surrogate.gp.priors import LENGTHSCALES, NOISE, SIGNAL, TREND, LengthscalePrior, VariancePrior
from ccgbo.surrogate.gp.trend import basis
from ccgbo.tuning import EngineTuning
from ccgbo.validation import AtLeast, AtMost, Validated

LOG_LENGTHSCALE = (math.log(5e-3), math.log(1e3))
LOG_SIGNAL = (math.log(1e-3), math.log(1e3))
LOG_NOISE = (math.log(NOISE_FLOOR), math.log(4.0))
LOG_TREND = (math.log(1e-4), math.log(1e2))
TUNING = EngineTuning()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FitSettings(Validated):
    """How the surrogate is fitted; what is not given is what the default preset has.

    A prior that is None is flat: with no prior on lengthscales, noise and signal the fit is maximum likelihood.
    """

    kernel: Literal["matern52", "matern32", "rbf"] = "matern52"
    """Correlation function."""
    lengthscale_prior: LengthscalePrior | None = LENGTHSCALES
    """Prior on the lengthscales; None is flat."""
    noise_prior: VariancePrior | None = NOISE
    """Prior on the variance of the noise, of standardized values; None is flat."""
    signal_prior: VariancePrior | None = SIGNAL
    """Prior on the variance of the process; None is flat."""
    trend_prior: VariancePrior | None = TREND
    """Prior on the variance of a quadratic trend under the process; None, or a categorical in the space: no trend."""
    relevance: Annotated[float, AtLeast(0), AtMost(100)] = 0.0
    """Extra noise of an observation for each unit that its standardised value is below the best: what is far below the
    optimum then constrains the model less. 0 is none."""
    hyper_samples: Annotated[int, AtLeast(0), AtMost(1000)] = 0
    """Draws of the hyperparameters, beside the most likely ones, over which an acquisition is averaged; 0, or a
    categorical in the space: these alone."""


@dataclass(frozen=True, slots=True)
class FitResult:
    """Where a fit ended; ``theta`` warm-starts the next one."""

    theta: Array  # (p + 2,), with a trend (p + 3,)
    energy: float  # negative log posterior, per observation


def hyper_of(theta: Array, p: int, relevance: float = 0.0) -> Hyper:
    """Hyperparameters of a model of p feature columns from theta."""
    values = np.exp(theta)
    signal, noise, *rest = values[p:].tolist()
    trend = rest[0] if rest else 0.0
    return Hyper(lengthscales=values[:p], signal=signal, noise=noise, trend=trend, relevance=relevance)


def fit(
    X: Array,  # (n, p)
    y: Array,  # (n,) standardised
    settings: FitSettings,
    tuning: EngineTuning = TUNING,
    *,
    choices: Choices = (),  # columns of choices
    given_noise: Array | None = None,  # (n,) known variances, NaN where the noise is learned
    known_noise: float | None = None,  # variance of every other observation, None where it is learned
    start: Array | None = None,  # theta of the last fit
) -> FitResult:
    """The best of the local optima reached from the last fit and, where that start is poor, from the prior."""
    energy = NegLogPosterior(
        X, y, settings, choices, given_noise, learn_signal=tuning.learn_signal, known_noise=known_noise
    )
    if start is not None and len(start) != len(energy.bounds):
        start = None  # from before there was a trend
    fresh = default_theta(energy, settings, start)
    starts = [np.clip(theta, *energy.bounds.T) for theta in (fresh if start is None else [start, *fresh])]
    known = {theta.tobytes(): energy(theta) for theta in starts}  # L-BFGS-B begins with these again
    order = np.argsort([known[theta.tobytes()][0] for theta in starts], kind="stable")
    # under a prior the warm start alone is enough while no fresh start looks better than it before any optimisation;
    # without one the likelihood has optima at lengthscales of nothing and of infinity that a warm start never leaves
    warm_is_enough = start is not None and order[0] == 0 and settings.lengthscale_prior is not None
    chosen = [starts[order[0]]] if warm_is_enough else [starts[i] for i in order[:2]]
    results = [_descend(energy, theta, known, tuning) for theta in chosen]
    return min(results, key=lambda r: r.energy)


def default_theta(energy: NegLogPosterior, settings: FitSettings, last: Array | None) -> list[Array]:
    """Fresh starts: the prior's mode, and a shorter lengthscale with more noise."""
    g, prior = energy.p, settings.lengthscale_prior
    level = prior.log_mode(g) if prior is not None else math.log(0.5) + 0.5 * math.log(max(g, 1)) - 0.35
    noise = settings.noise_prior.log_mode if settings.noise_prior is not None else -4.0
    trend = [] if energy.trend_prior is None else [energy.trend_prior.log_mode]
    modest = np.concatenate([np.full(g, level), [0.0, noise], trend])
    rough = np.concatenate([np.full(g, level - 1.0), [0.0, noise + 2.0], trend])
    return [modest, rough] if last is None else [modest]


def _descend(
    energy: NegLogPosterior, theta: Array, known: Mapping[bytes, tuple[float, Array]], tuning: EngineTuning
) -> FitResult:
    result = minimize(
        lambda x: known.get(x.tobytes()) or energy(x),
        theta,
        jac=True,
        method="L-BFGS-B",
        bounds=energy.bounds,
        options={"maxiter": tuning.max_iterations, "gtol": tuning.gradient_tolerance, "ftol": 1e-7},
    )
    return FitResult(np.asarray(result.x), float(result.fun))


def _from_least(log_bounds: tuple[float, float], prior: LengthscalePrior | VariancePrior | None) -> tuple[float, float]:
    """Bounds of a logarithm that hold what the prior allows."""
    least = 0.0 if prior is None else prior.least
    return (log_bounds[0] if least == 0.0 else max(log_bounds[0], math.log(least))), log_bounds[1]


class NegLogPosterior:
    """Negative log posterior density per observation, and its gradient."""

    def __init__(
        self,
        X: Array,
        y: Array,
        settings: FitSettings,
        choices: Choices = (),
        given_noise: Array | None = None,
        *,
        learn_signal: bool = True,
        known_noise: float | None = None,
    ) -> None:
        self.y, self.settings, self.p = y, settings, X.shape[1]
        self.kernel: Kernel = get_kernel(settings.kernel, choices)
        self.layout = layout_of(self.p, choices)
        self.E = self.layout.embed(X)  # (n, q)
        self.C = X[:, self.layout.many]  # (n, l)
        unknown = np.ones(len(y), dtype=bool) if given_noise is None else np.isnan(given_noise)
        self.learned = unknown.astype(float)  # (n,) 1 where the noise is learned
        self.given = (
            np.zeros(len(y)) if given_noise is None else np.where(unknown, 0.0, np.maximum(given_noise, NOISE_FLOOR))
        )
        if settings.relevance:
            self.given = self.given + relevance_noise(settings.relevance, y, float(y.max()))
        self.choice = np.isin(np.arange(self.p), [column for column, _ in choices])  # (p,)
        self.ones = np.ones((len(y), 1))
        signal = _from_least(LOG_SIGNAL, settings.signal_prior) if learn_signal else (0.0, 0.0)
        # one parabola for all choices of a categorical is no better than none (docs/quality.md)
        self.trend_prior = None if choices else settings.trend_prior
        self.P = None if self.trend_prior is None else basis(X)
        trend = [] if self.trend_prior is None else [_from_least(LOG_TREND, self.trend_prior)]
        lengthscale = _from_least(LOG_LENGTHSCALE, settings.lengthscale_prior)
        known = None if known_noise is None else math.log(known_noise)
        noise = _from_least(LOG_NOISE, settings.noise_prior) if known is None else (known, known)
        self.bounds = np.array([lengthscale] * self.p + [signal, noise, *trend])

    def __call__(self, theta: Array) -> tuple[float, Array]:
        g, n, y = self.p, len(self.y), self.y
        signal, noise = math.exp(theta[g]), math.exp(theta[g + 1])
        Z = self.E * np.exp(-theta[:g])[self.layout.owner]
        rho, slope = self.kernel.rho_slope(self._squared(Z, theta))
        rho *= signal
        if self.P is not None:
            P = math.exp(0.5 * theta[g + 2]) * self.P
            rho += P @ P.T
        N = noise * self.learned + self.given
        rho.flat[:: n + 1] += N
        L, _ = cholesky(rho)
        alpha = solve(L, y)
        value = 0.5 * float(y @ alpha) + float(np.log(L.diagonal()).sum()) + 0.5 * n * math.log(2.0 * math.pi)

        W = inverse_lower(L)  # lower triangle of K^-1, Fortran order
        W_diagonal = alpha * alpha - W.diagonal()
        gradient = np.empty(len(theta))
        gradient[g + 1] = -0.5 * noise * float(self.learned @ W_diagonal)
        gradient[g] = -0.5 * (float(y @ alpha) - n - float(N @ W_diagonal))
        if self.P is not None:
            pulled = alpha @ P
            gradient[g + 2] = -0.5 * (float(pulled @ pulled) - float(np.vdot(P, symmetric_times(W, P))))
            gradient[g] -= gradient[g + 2]
        G = np.outer(alpha, alpha).T
        G -= W
        G *= slope.T  # symmetric, so the transpose is free and Fortran-ordered
        GZ = symmetric_times(G, np.concatenate([Z, self.ones], axis=1))
        per_column = np.einsum("ij,ij->j", Z, Z * GZ[:, -1:] - GZ[:, :-1])
        gradient[:g] = 2.0 * signal * (per_column if self.layout.plain else self._merged(per_column, G, theta))
        value, gradient = self._add_priors(theta, value, gradient)
        return value / n, gradient / n

    def _squared(self, Z: Array, theta: Array) -> Array:  # (n, n)
        many = self.layout.many
        if not len(many):
            return squared_distances(Z, Z)
        r2 = mismatch(self.C, self.C, np.exp(-2.0 * theta[many]))
        if Z.shape[1]:
            r2 += squared_distances(Z, Z)
        return r2

    def _merged(self, per_column: Array, G: Array, theta: Array) -> Array:  # (q,) -> (p,)
        """The sums of the embedded columns by feature column, and those of large categoricals."""
        merged: Array = np.bincount(self.layout.owner, per_column, self.p).astype(float)
        for i, column in enumerate(self.layout.many):
            differ = np.triu(mismatch(self.C[:, [i]], self.C[:, [i]], [1.0]))  # of G only one triangle is there
            merged[column] = math.exp(-2.0 * theta[column]) * float(np.vdot(G.T, differ))
        return merged

    def _add_priors(self, theta: Array, value: float, gradient: Array) -> tuple[float, Array]:
        settings, g = self.settings, self.p
        if settings.lengthscale_prior is not None and g:
            density, slope = settings.lengthscale_prior.neg_log_density(
                theta[:g], self.choice, trend=self.P is not None
            )
            value += density
            gradient[:g] += slope
        for i, prior in ((g, settings.signal_prior), (g + 1, settings.noise_prior), (g + 2, self.trend_prior)):
            if prior is not None:
                density, slope_i = prior.neg_log_density(float(theta[i]))
                value += density
                gradient[i] += slope_i
        return value, gradient
