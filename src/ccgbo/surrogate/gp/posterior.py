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

from ccgbo.arrays import Array
from ccgbo.surrogate.base import JointPrediction, Prediction
from ccgbo.surrogate.distance import Metric
from ccgbo.surrogate.gp.cross import CrossCovariance, Hyper
from ccgbo.surrogate.gp.deletion import Deletions, Draws
from ccgbo.surrogate.gp.kernels import Kernel
from ccgbo.surrogate.gp.linalg import cholesky, inverse_diagonal, solve, solve_lower, solve_upper
from ccgbo.surrogate.gp.paths import Paths, draw_paths

VAR_FLOOR = 1e-12  # relative to the signal variance: cancellation in k - |v|^2 cannot be told from zero below it


@dataclass(frozen=True, slots=True)
class GP:
    """The posterior after ``len(y)`` observations; ``condition`` returns a new one."""

    sites: CrossCovariance  # X as the kernel sees it
    X: Array  # (n, p)
    y: Array  # (n,)
    noise: Array  # (n,) variance of each observation, learned plus given
    L: Array  # (n, n)
    alpha: Array  # (n,)
    n_features: int = 256  # random frequencies of a path
    draws: Draws | None = None  # of the noise of a path, where observations were taken out

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
        sites = CrossCovariance.of(kernel, hyper, X)
        return cls._factorised(sites, X, y, hyper.noise_at(y, y, given_noise), n_features)

    @classmethod
    def _factorised(
        cls, sites: CrossCovariance, X: Array, y: Array, noise: Array, n_features: int, draws: Draws | None = None
    ) -> GP:
        K = sites.between(sites.Z, sites.P, sites.Z, sites.P)
        K[np.diag_indices_from(K)] += noise
        L, jitter = cholesky(K)
        return cls(sites, X, y, noise + jitter, L, solve(L, y), n_features, draws)

    def condition(self, X: Array, y: Array, given_noise: Array | None = None) -> GP:
        """The posterior after b more observations, in O(n^2 b) by appending to the Cholesky factor.

        | L     0  |      B  = (L^-1 K(X, X_new))^T
        | B    L_b |      L_b = chol(K(X_new, X_new) + noise - B B^T)
        """
        n, b = len(self.y), len(y)
        if b == 0:
            return self
        noise = self.hyper.noise_at(y, self.y, given_noise)
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
        draws = None if self.draws is None else self.draws.extended(b)
        return GP(self.sites.extended(X), X_all, y_all, noise_all, L, solve(L, y_all), self.n_features, draws)

    def with_noise(self, noise: Array) -> GP:  # (n,)
        """The posterior of the same observations with other noise variances."""
        return GP.from_data(self.kernel, self.hyper, self.X, self.y, noise, n_features=self.n_features)

    def restricted(self, rows: Any) -> GP:
        """The posterior of some of the observations."""
        return GP.from_data(self.kernel, self.hyper, self.X[rows], self.y[rows], n_features=self.n_features)

    def without(self, rows: NDArray[np.intp]) -> GP:
        """The posterior without some of the observations, of which some must be left.

        The prior and the noise variances stay as they are, and so do the random draws: its paths are the paths that
        the same generator gives here, without these observations.
        """
        draws = (self.draws or Draws.of(len(self.y))).without(rows)
        X, y, noise = (np.delete(a, rows, axis=0) for a in (self.X, self.y, self.noise))
        sites = CrossCovariance.of(self.kernel, self.hyper, X)
        return GP._factorised(sites, X, y, noise, self.n_features, draws)

    # -- the prior

    @property
    def noise_variance(self) -> float:
        """The variance of the observation noise that is learned."""
        return self.hyper.noise

    def noise_of(self, n: int, given: Array | None) -> Array:  # (n,)
        """The noise variance of n observations, of which ``given`` (NaN where unknown) knows some."""
        return self.hyper.noise_of(n, given)

    def prior_std(self, x: Array) -> Array:  # (m, p) -> (m,)
        """Standard deviation before any observation."""
        std: Array = np.sqrt(np.broadcast_to(self.prior_variance(self.basis(x)), len(x)))
        return std

    def prior(self, x: Array, x2: Array) -> Array:  # (m, p), (q, p) -> (m, q)
        """k(x, x2)."""
        metric, P, P2 = self.sites.metric, self.basis(x), self.basis(x2)
        return self.sites.between(metric.points(x), P, metric.points(x2), P2)

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

    def predict_with_weights(
        self, k: Array, P: Array | None
    ) -> tuple[Array, Array, Array]:  # mean (m,), std (m,), Q (m, n)
        """``predict_from`` with Q = k K^-1, for ``grad_wrt_cross``."""
        V = solve_lower(self.L, k.T)
        return k @ self.alpha, np.sqrt(self._variance(V, P)), solve_upper(self.L, V).T

    def grad_wrt_cross(self, Q: Array, by_mean: Array, by_half_var: Array) -> Array:  # (m, n)
        """Derivative by k(x, X) of a function of mean and variance, given those by mean and half the variance.

        d mean = alpha dk,   d var / 2 = d k(x, x) / 2 - Q dk
        """
        return by_mean[:, None] * self.alpha - by_half_var[:, None] * Q

    def linearize(self, x: Array) -> Prediction:  # (m, p)
        """``predict`` with its derivatives by x."""
        at = self.sites.linearize(x)
        mean, std, Q = self.predict_with_weights(at.k, at.P)

        def gradient(by_mean: Array, by_half_var: Array) -> Array:
            return self.sites.vjp(at, self.grad_wrt_cross(Q, by_mean, by_half_var), by_half_var)

        return Prediction(mean, std, gradient)

    def joint_with(self, points: Array) -> JointGP:  # (K, p)
        """The posterior together with that of the function at some points."""
        P = self.basis(points)
        k = self.sites.cross(points, P)  # (K, n)
        solved = solve(self.L, k.T)
        var = self.prior_variance(P) - np.einsum("kn,nk->k", k, solved)
        floored = np.maximum(var, 1e-6 * self.hyper.signal)
        return JointGP(self, self.sites.extended(points), solved, k @ self.alpha, floored)

    def correlation(self) -> CrossCovariance:
        """The kernel at unit variance between any point and the observations."""
        return CrossCovariance.of(self.kernel, replace(self.hyper, signal=1.0, trend=0.0), self.X)

    def paths(self, k: int, rng: np.random.Generator) -> Paths:
        """k joint draws of the function."""
        return draw_paths(self, k, rng, n_features=self.n_features)

    def deletions(self, k: int, rng: np.random.Generator) -> Deletions:
        """k joint draws and, last, the mean, with what they would be without some of the observations."""
        return Deletions.of(self.paths(k, rng).with_mean())

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
        """Mean (n,) and std (n,) of every y_i given the others: y - alpha / q and q^-1/2, q the diagonal of K^-1."""
        q = inverse_diagonal(self.L)
        return self.y - self.alpha / q, np.sqrt(1.0 / q)

    def information_gain(self) -> Array:  # (n,)
        """1/2 log |I + K_N / noise| for every N: what the first N observations tell about the function."""
        gain: Array = np.cumsum(np.log(self.L.diagonal()) - 0.5 * np.log(self.noise))
        return gain


@dataclass(frozen=True, slots=True)
class JointGP:
    """A posterior together with its covariance with the function at K points."""

    gp: GP
    sites: CrossCovariance  # the n observations and the K points
    solved: Array  # (n, K) K^-1 k(X, x_j)
    mean: Array  # (K,) at the points
    var: Array  # (K,)

    @property
    def noise(self) -> float:
        return self.gp.hyper.noise

    @property
    def var_floor(self) -> float:
        """A variance that cannot be told from nothing."""
        return 1e-9 * self.gp.hyper.signal

    def predict(self, x: Array) -> tuple[Array, Array, Array]:  # (m, p) -> mean (m,), std (m,), covariance (m, K)
        P = self.gp.basis(x)
        k, to_points = self._split(self.sites.cross(x, P))
        return *self.gp.predict_from(k, P), to_points - k @ self.solved

    def linearize(self, x: Array) -> JointPrediction:  # (m, p)
        """``predict`` with its derivatives by x."""
        gp, at = self.gp, self.sites.linearize(x)
        k, to_points = self._split(at.k)
        mean, std, Q = gp.predict_with_weights(k, at.P)

        def gradient(by_mean: Array, by_half_var: Array, by_cov: Array) -> Array:
            by_k = gp.grad_wrt_cross(Q, by_mean, by_half_var) - by_cov @ self.solved.T
            return self.sites.vjp(at, np.concatenate([by_k, by_cov], axis=1), by_half_var)

        return JointPrediction(mean, std, to_points - k @ self.solved, gradient)

    def _split(self, k: Array) -> tuple[Array, Array]:
        """k(x, X) and k(x, x_j)."""
        n = len(self.gp.y)
        return k[:, :n], k[:, n:]
