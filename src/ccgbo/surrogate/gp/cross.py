"""Prior covariance between query points and fixed points, and its derivative by the query points.

    k(x, s) = signal * rho(r2(x, s)) + trend * phi(x) . phi(s),        see kernels.py, distance.py and trend.py

Every derivative of a posterior is a vector-Jacobian product through k(x, s): ``linearize`` computes what they share,
``vjp`` one of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ccgbo.arrays import Array
from ccgbo.surrogate.distance import Metric, Points
from ccgbo.surrogate.gp.kernels import Kernel
from ccgbo.surrogate.gp.trend import basis, basis_slope

NOISE_FLOOR = 1e-6  # smallest noise variance of standardised y; keeps K well conditioned


@dataclass(frozen=True, slots=True, kw_only=True)
class Hyper:
    """Hyperparameters in the standardised scale of y."""

    lengthscales: Array  # (p,), one per feature column
    signal: float  # prior variance of the stationary part
    noise: float  # variance of the observation noise that is learned
    trend: float = 0.0  # prior variance of the quadratic trend, 0 for none
    relevance: float = 0.0  # extra standard deviation for each unit below the best, 0 for none

    def noise_of(self, n: int, given: Array | None) -> Array:  # (n,)
        """The noise variance of n observations, of which ``given`` (NaN where unknown) knows some."""
        if given is None:
            return np.full(n, self.noise)
        return np.where(np.isnan(given), self.noise, np.maximum(given, NOISE_FLOOR))

    def noise_at(self, y: Array, known: Array, given: Array | None) -> Array:  # (n,), (q,) -> (n,)
        """The same with what relevance adds to the noise of y, whose best is that of the known values."""
        noise = self.noise_of(len(y), given)
        return noise + relevance_noise(self.relevance, y, float(known.max())) if self.relevance else noise


def relevance_noise(relevance: float, y: Array, best: float) -> Array:  # (n,) -> (n,)
    """(relevance * gap to the best)^2: the variance by which low values constrain the model less."""
    noise: Array = (relevance * np.maximum(best - y, 0.0)) ** 2
    return noise


@dataclass(frozen=True, slots=True)
class Linearized:
    """Query points with their prior covariance to the fixed points, ready to be differentiated."""

    x: Array  # (m, p)
    z: Points  # x / lengthscales
    P: Array | None  # (m, 2p) phi(x), None without a trend
    k: Array  # (m, s) k(x, sites)
    slope: Array  # (m, s) d k / d r2 of the stationary part


@dataclass(frozen=True, slots=True)
class CrossCovariance:
    """Prior covariance of any query points with s fixed points."""

    kernel: Kernel
    hyper: Hyper
    Z: Points  # (s,) sites / lengthscales
    P: Array | None  # (s, 2p) phi(sites), None without a trend
    metric: Metric

    @classmethod
    def of(cls, kernel: Kernel, hyper: Hyper, X: Array) -> CrossCovariance:  # (s, p)
        metric = Metric(hyper.lengthscales, kernel.choices)
        return cls(kernel, hyper, metric.points(X), basis(X) if hyper.trend else None, metric)

    def extended(self, X: Array) -> CrossCovariance:  # (q, p)
        """These and q more."""
        more = CrossCovariance.of(self.kernel, self.hyper, X)
        P = None if self.P is None or more.P is None else np.concatenate([self.P, more.P])
        return replace(self, Z=self.Z + more.Z, P=P)

    def basis(self, x: Array) -> Array | None:  # (m, p) -> (m, 2p)
        """phi(x), or None without a trend."""
        return None if self.P is None else basis(x)

    def cross(self, x: Array, P: Array | None) -> Array:  # (m, p), basis(x) -> (m, s)
        """k(x, sites)."""
        return self.between(self.metric.points(x), P, self.Z, self.P)

    def between(self, Z: Points, P: Array | None, Z2: Points, P2: Array | None) -> Array:
        """k between m scaled points and q others, given with their phi: (m, q)."""
        k = self.kernel.rho(self.metric.squared(Z, Z2))
        k *= self.hyper.signal
        if P is not None and P2 is not None:
            k += (self.hyper.trend * P) @ P2.T
        return k

    def linearize(self, x: Array) -> Linearized:  # (m, p)
        """k(x, sites) and what its derivatives by x are made of."""
        metric, P = self.metric, self.basis(x)
        z = metric.points(x)
        k, slope = self.kernel.rho_slope(metric.squared(z, self.Z))
        k *= self.hyper.signal
        slope *= self.hyper.signal
        if P is not None and self.P is not None:
            k += (self.hyper.trend * P) @ self.P.T
        return Linearized(x, z, P, k, slope)

    def vjp(self, at: Linearized, A: Array, own: Array | None = None) -> Array:  # (m, s), (m,) -> (m, p)
        """sum_j A_ij d k(x_i, s_j) / d x_i + own_i / 2 d k(x_i, x_i) / d x_i: the chain rule of all that k enters."""
        G = at.slope * A
        metric = self.metric
        pulled: Array = G.sum(axis=1)[:, None] * at.z.Z
        pulled -= G @ self.Z.Z
        pulled *= 2.0 / metric.embedded_unit
        pulled = metric.layout.to_features(pulled)
        if at.P is not None and self.P is not None:
            weights = A @ self.P
            if own is not None:
                weights += own[:, None] * at.P
            pulled += basis_slope(at.x, self.hyper.trend * weights)
        return pulled
