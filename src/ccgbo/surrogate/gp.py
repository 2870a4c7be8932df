"""Exact Gaussian-process posterior, immutable (arXiv 2510.04676v2, Sec. 3.1).

    n  observations, m  query points, p  feature columns
    k       signal * rho + trend * phi phi^T, see trend.py
    K       (n, n)  k(X, X) + diag(noise)
    L       (n, n)  lower Cholesky factor of K, Fortran order
    alpha   (n,)    K^-1 y

    mean(x) = k(x, X) alpha
    var(x)  = k(x, x) - |L^-1 k(X, x)|^2

The prior mean is zero: ``y`` arrives standardised.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccgbo.surrogate.distance import Metric, Points
from ccgbo.surrogate.kernels import Kernel
from ccgbo.surrogate.linalg import cholesky, inverse_diagonal, solve, solve_lower, solve_upper
from ccgbo.surrogate.paths import Paths, draw_paths
from ccgbo.surrogate.trend import basis, basis_slope

Array = NDArray[np.float64]

VAR_FLOOR = 1e-12  # relative to the signal variance: cancellation in k - |v|^2 cannot be told from zero below it
NOISE_FLOOR = 1e-6  # smallest noise variance of standardised y; keeps K well conditioned


@dataclass(frozen=True, slots=True, kw_only=True)
class Hyper:
    """Hyperparameters in the standardised scale of y."""

    lengthscales: Array  # (p,), one per feature column
    signal: float  # prior variance of the stationary part
    noise: float  # variance of the observation noise that is learned
    trend: float = 0.0  # prior variance of the quadratic trend, 0 for none

    def noise_of(self, n: int, given: Array | None) -> Array:  # (n,)
        """The noise variance of n observations, of which ``given`` (NaN where unknown) knows some."""
        if given is None:
            return np.full(n, self.noise)
        return np.where(np.isnan(given), self.noise, np.maximum(given, NOISE_FLOOR))


@dataclass(frozen=True, slots=True)
class Local:
    """Query points with their prior covariance to some sites."""

    x: Array  # (m, p)
    z: Points  # x / lengthscales
    P: Array | None  # (m, 2p) phi(x), None without a trend
    k: Array  # (m, s) k(x, sites)
    slope: Array  # (m, s) d k / d r2 of the stationary part


@dataclass(frozen=True, slots=True)
class Sites:
    """Points to which a query point has a prior covariance, and the way back from it to the query point."""

    kernel: Kernel
    hyper: Hyper
    Z: Points  # (s,) sites / lengthscales
    P: Array | None  # (s, 2p) phi(sites), None without a trend

    @classmethod
    def of(cls, kernel: Kernel, hyper: Hyper, X: Array) -> Sites:  # (s, p)
        points = Metric(hyper.lengthscales, kernel.choices).points(X)
        return cls(kernel, hyper, points, basis(X) if hyper.trend else None)

    @property
    def metric(self) -> Metric:
        return Metric(self.hyper.lengthscales, self.kernel.choices)

    def extended(self, X: Array) -> Sites:  # (q, p)
        """These and q more."""
        more = Sites.of(self.kernel, self.hyper, X)
        P = None if self.P is None or more.P is None else np.concatenate([self.P, more.P])
        return replace(self, Z=self.Z + more.Z, P=P)

    def basis(self, x: Array) -> Array | None:  # (m, p) -> (m, 2p)
        """phi(x), or None without a trend."""
        return None if self.P is None else basis(x)

    def cross(self, x: Array, P: Array | None) -> Array:  # (m, p), basis(x) -> (m, s)
        """k(x, sites)."""
        return _covariance(self.kernel, self.hyper, self.metric.points(x), P, self.Z, self.P)

    def local(self, x: Array) -> Local:  # (m, p)
        """What every derivative at x is made of."""
        metric, P = self.metric, self.basis(x)
        z = metric.points(x)
        k, slope = self.kernel.rho_slope(metric.squared(z, self.Z))
        k *= self.hyper.signal
        slope *= self.hyper.signal
        if P is not None and self.P is not None:
            k += (self.hyper.trend * P) @ self.P.T
        return Local(x, z, P, k, slope)

    def pull(self, at: Local, A: Array, own: Array | None = None) -> Array:  # (m, s), (m,) -> (m, p)
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


@dataclass(frozen=True, slots=True)
class GP:
    """The posterior after ``len(y)`` observations; ``condition`` returns a new one."""

    sites: Sites  # X as the kernel sees it
    X: Array  # (n, p)
    y: Array  # (n,)
    noise: Array  # (n,) variance of each observation, learned plus given
    L: Array  # (n, n)
    alpha: Array  # (n,)
    n_features: int = 256  # random frequencies of a path

    @property
    def kernel(self) -> Kernel:
        return self.sites.kernel

    @property
    def hyper(self) -> Hyper:
        return self.sites.hyper

    @property
    def unit(self) -> Array:  # (p,)
        """The distance that counts as one along each column."""
        return self.sites.hyper.lengthscales

    @property
    def metric(self) -> Metric:
        """Distances in these units."""
        return self.sites.metric

    @classmethod
    def from_data(
        cls,
        kernel: Kernel,
        hyper: Hyper,
        X: Array,
        y: Array,
        given_noise: Array | None = None,
        *,
        n_features: int = 256,
    ) -> GP:
        """Condition the prior on data; ``given_noise`` (n,) replaces the learned noise where it is not NaN."""
        noise = hyper.noise_of(len(y), given_noise)
        sites = Sites.of(kernel, hyper, X)
        K = _covariance(kernel, hyper, sites.Z, sites.P, sites.Z, sites.P)
        K[np.diag_indices_from(K)] += noise
        L, jitter = cholesky(K)
        return cls(sites, X, y, noise + jitter, L, solve(L, y), n_features)

    def condition(self, X: Array, y: Array, given_noise: Array | None = None) -> GP:
        """The posterior after b more observations, in O(n^2 b) by appending to the Cholesky factor.

        | L     0  |      B  = (L^-1 K(X, X_new))^T
        | B    L_b |      L_b = chol(K(X_new, X_new) + noise - B B^T)
        """
        n, b = len(self.y), len(y)
        if b == 0:
            return self
        noise = self.hyper.noise_of(b, given_noise)
        B = solve_lower(self.L, self.cross(X).T)  # (n, b)
        S = self.prior(X, X) - B.T @ B
        S[np.diag_indices_from(S)] += noise
        Lb, jitter = cholesky(S)
        L = np.zeros((n + b, n + b), order="F")
        L[:n, :n] = self.L
        L[n:, :n] = B.T
        L[n:, n:] = Lb
        y_all = np.concatenate([self.y, y])
        X_all, noise_all = np.concatenate([self.X, X]), np.concatenate([self.noise, noise + jitter])
        return GP(self.sites.extended(X), X_all, y_all, noise_all, L, solve(L, y_all), self.n_features)

    def with_noise(self, noise: Array) -> GP:  # (n,)
        """The posterior of the same observations with other noise variances."""
        return GP.from_data(self.kernel, self.hyper, self.X, self.y, noise, n_features=self.n_features)

    def restricted(self, rows: Any) -> GP:
        """The posterior of some of the observations."""
        return GP.from_data(self.kernel, self.hyper, self.X[rows], self.y[rows], n_features=self.n_features)

    # -- the prior

    @property
    def noise_variance(self) -> float:
        """The variance of the observation noise that is learned."""
        return self.hyper.noise

    def prior_std(self, x: Array) -> Array:  # (m, p) -> (m,)
        """Standard deviation before any observation."""
        std: Array = np.sqrt(np.broadcast_to(self.prior_variance(self.basis(x)), len(x)))
        return std

    def prior(self, x: Array, x2: Array) -> Array:  # (m, p), (q, p) -> (m, q)
        """k(x, x2)."""
        metric, P, P2 = self.sites.metric, self.basis(x), self.basis(x2)
        return _covariance(self.kernel, self.hyper, metric.points(x), P, metric.points(x2), P2)

    def cross(self, x: Array) -> Array:  # (m, p) -> (m, n)
        """k(x, X)."""
        return self.sites.cross(x, self.basis(x))

    def prior_variance(self, P: Array | None) -> float | Array:  # (m, 2p) -> (m,)
        """k(x, x) of points given by their ``basis``."""
        if P is None:
            return self.hyper.signal
        variance: Array = self.hyper.signal + self.hyper.trend * np.einsum("ij,ij->i", P, P)
        return variance

    def basis(self, x: Array) -> Array | None:  # (m, p) -> (m, 2p)
        """phi(x), or None without a trend."""
        return self.sites.basis(x)

    # -- prediction

    def predict(self, x: Array) -> tuple[Array, Array]:  # (m, p) -> mean (m,), std (m,)
        """Posterior mean and standard deviation of the noise-free function."""
        P = self.basis(x)
        return self.predict_from(self.sites.cross(x, P), P)

    def predict_mean(self, x: Array) -> Array:  # (m, p) -> (m,)
        """The posterior mean alone, at a fraction of the cost."""
        mean: Array = self.cross(x) @ self.alpha
        return mean

    def predict_from(self, k: Array, P: Array | None) -> tuple[Array, Array]:
        """``predict`` at points given by their ``cross`` and ``basis``."""
        return k @ self.alpha, np.sqrt(self._variance(solve_lower(self.L, k.T), P))

    def _variance(self, V: Array, P: Array | None) -> Array:  # V = L^-1 k(X, x), (n, m)
        var: Array = self.prior_variance(P) - np.einsum("ij,ij->j", V, V)
        floored: Array = np.maximum(var, VAR_FLOOR * self.hyper.signal, out=var)
        return floored

    def moments(self, k: Array, P: Array | None) -> tuple[Array, Array, Array]:  # mean (m,), std (m,), Q (m, n)
        """``predict_from`` with Q = k K^-1, for ``by_kernel``."""
        V = solve_lower(self.L, k.T)
        return k @ self.alpha, np.sqrt(self._variance(V, P)), solve_upper(self.L, V).T

    def by_kernel(self, Q: Array, by_mean: Array, by_half_var: Array) -> Array:  # (m, n)
        """Derivative by k(x, X) of a function of mean and variance, given those by mean and half the variance.

        d mean = alpha dk,   d var / 2 = d k(x, x) / 2 - Q dk
        """
        return by_mean[:, None] * self.alpha - by_half_var[:, None] * Q

    def covariance(self, x: Array, x2: Array) -> Array:  # (m, p), (q, p) -> (m, q)
        """Posterior covariance of the noise-free function."""
        V1, V2 = solve_lower(self.L, self.cross(x).T), solve_lower(self.L, self.cross(x2).T)
        result: Array = self.prior(x, x2) - V1.T @ V2
        return result

    def paths(self, k: int, rng: np.random.Generator) -> Paths:
        """k joint draws of the function."""
        return draw_paths(self, k, rng, n_features=self.n_features)

    # -- at the observations

    def at_observations(self) -> tuple[Array, Array]:
        """Posterior mean (n,) and std (n,) of the noise-free function at X.

            mean = y - N alpha,   cov = N - N K^-1 N,   N = diag(noise)

        exact where k - |v|^2 would cancel: sigma_i is tiny at an observed point, and the credits rank by it.
        """
        mean = self.y - self.noise * self.alpha
        var = self.noise - self.noise**2 * inverse_diagonal(self.L)
        return mean, np.sqrt(np.maximum(var, VAR_FLOOR * self.noise))

    def leave_one_out(self) -> tuple[Array, Array]:
        """Predictive mean (n,) and std (n,) of each observation given all the others (Rasmussen & Williams, Eq. 5.12).

        mean_i = y_i - alpha_i / [K^-1]_ii,   var_i = 1 / [K^-1]_ii
        """
        precision = inverse_diagonal(self.L)
        return self.y - self.alpha / precision, 1.0 / np.sqrt(precision)

    def information_gain(self) -> Array:  # (n,)
        """1/2 log |I + K_N / noise| for every N: what the first N observations tell about the function."""
        gain: Array = np.cumsum(np.log(self.L.diagonal()) - 0.5 * np.log(self.noise))
        return gain

    def log_likelihood(self) -> float:
        """log N(y; 0, K)."""
        n = len(self.y)
        return float(-0.5 * self.y @ self.alpha - np.log(np.diag(self.L)).sum() - 0.5 * n * np.log(2.0 * np.pi))


def _covariance(kernel: Kernel, hyper: Hyper, Z: Points, P: Array | None, Z2: Points, P2: Array | None) -> Array:
    """k between m scaled points and q others, given with their phi: (m, q)."""
    k = kernel.rho(Metric(hyper.lengthscales, kernel.choices).squared(Z, Z2))
    k *= hyper.signal
    if P is not None and P2 is not None:
        k += (hyper.trend * P) @ P2.T
    return k
