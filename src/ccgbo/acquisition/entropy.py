"""Information about the optimum: max-value and joint entropy search, from the maxima of posterior paths.

MES (Wang & Jegelka 2017), with g_j = (Z^(j) - mean) / std:

    1/K sum_j [ g_j phi(g_j) / (2 Phi(g_j)) - log Phi(g_j) ]

JES (Hvarfner et al. 2022), lower bound by moment matching. Observing the optimum (x_j, Z_j) changes the posterior at x
by its covariance c_j(x) with f(x_j), and then cuts it at Z_j:

    m_j = mean + c_j (Z_j - mean(x_j)) / v_j,    s_j^2 = std^2 - c_j^2 / v_j,    v_j = var(x_j)
    b_j = (Z_j - m_j) / s_j,    r = phi(b_j) / Phi(b_j),    cut variance s_j^2 (1 - r (b_j + r))

    1/2 log(std^2 + noise) - 1/K sum_j 1/2 log(s_j^2 (1 - r (b_j + r)) + noise)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from ccgbo.acquisition.analytic import MeanStdScore
from ccgbo.acquisition.base import Context, Scale
from ccgbo.credit.proxy import Optima
from ccgbo.surrogate.gp import GP
from ccgbo.surrogate.kernels import squared_distances
from ccgbo.surrogate.linalg import solve
from ccgbo.surrogate.trend import basis_slope

Array = NDArray[np.float64]


def hazard(b: Array) -> tuple[Array, Array]:
    """r = phi(b) / Phi(b) and log Phi(b), for any b."""
    log_cdf = log_ndtr(b)
    return np.exp(-0.5 * b * b - 0.5 * math.log(2.0 * math.pi) - log_cdf), log_cdf


def _optima(context: Context) -> Optima:
    assert context.optima is not None, "the optimizer prepares optima for an acquisition that needs them"
    return context.optima


@dataclass(frozen=True, slots=True, kw_only=True)
class MES:
    """Information about the value of the maximum."""

    scale: ClassVar[Scale] = "nonnegative"
    needs_optima: ClassVar[bool] = True

    def bind(self, context: Context) -> MeanStdScore:
        maxima = _optima(context).maxima

        def function(mean: Array, std: Array) -> tuple[Array, Array, Array]:
            g = (maxima - mean[:, None]) / std[:, None]  # (m, k)
            g = np.maximum(g, -30.0)  # a mean far above a sampled maximum: no information beyond this
            r, log_cdf = hazard(g)
            by_g = -0.5 * r - 0.5 * g * r * (g + r)
            value = (0.5 * g * r - log_cdf).mean(axis=1)
            return value, -by_g.mean(axis=1) / std, -(by_g * g).mean(axis=1) / std

        return MeanStdScore(context.gp, function)


@dataclass(frozen=True, slots=True, kw_only=True)
class JES:
    """Information about the place and the value of the maximum together."""

    scale: ClassVar[Scale] = "nonnegative"
    needs_optima: ClassVar[bool] = True

    def bind(self, context: Context) -> JointEntropyScore:
        return JointEntropyScore.build(context.gp, _optima(context))


@dataclass(frozen=True, slots=True)
class JointEntropyScore:
    gp: GP
    Z: Array  # (k, p) optima / lengthscales
    P: Array | None  # (k, 2p) phi of the optima, None without a trend
    maxima: Array  # (k,)
    solved: Array  # (n, k) K^-1 k(X, x_j)
    var: Array  # (k,) v_j
    lift: Array  # (k,) (Z_j - mean(x_j)) / v_j

    @classmethod
    def build(cls, gp: GP, optima: Optima) -> JointEntropyScore:
        k = gp.cross(optima.argmax)  # (K, n)
        solved = solve(gp.L, k.T)
        mean = k @ gp.alpha
        Z, P = optima.argmax / gp.hyper.lengthscales, gp.basis(optima.argmax)
        var = gp.prior_variance(P) - np.einsum("kn,nk->k", k, solved)
        var = np.maximum(var, 1e-6 * gp.hyper.signal)
        return cls(gp, Z, P, optima.maxima, solved, var, (optima.maxima - mean) / var)

    def __call__(self, x: Array) -> Array:
        gp, k, P = self.gp, self.gp.cross(x), self.gp.basis(x)
        mean, std = gp.predict_from(k, P)
        prior, _ = self._to_optima(x / gp.hyper.lengthscales, P)
        return self._information(mean, std, prior - k @ self.solved)[0]

    def gradient(self, x: Array) -> tuple[Array, Array]:
        gp, at = self.gp, self.gp.local(x)
        mean, std, d_mean, d_std = gp.predict_gradient_from(at)
        prior, slope = self._to_optima(at.z, at.P)
        value, by_mean, by_std, by_c = self._information(mean, std, prior - at.k @ self.solved)
        A = slope * by_c  # (m, K): through k(x, x_j)
        through_c = 2.0 * (A.sum(axis=1)[:, None] * at.z - A @ self.Z) / gp.hyper.lengthscales
        if self.P is not None:
            through_c += basis_slope(x, gp.hyper.trend * (by_c @ self.P))
        through_c -= gp.pull_kernel(at, by_c @ self.solved.T)
        return value, by_mean[:, None] * d_mean + by_std[:, None] * d_std + through_c

    def _to_optima(self, z: Array, P: Array | None) -> tuple[Array, Array]:  # (m, K), (m, K)
        """k(x, x_j), and d k / d r2 of its stationary part."""
        hyper = self.gp.hyper
        rho, slope = self.gp.kernel.rho_slope(squared_distances(z, self.Z))
        k = hyper.signal * rho
        if P is not None and self.P is not None:
            k += (hyper.trend * P) @ self.P.T
        return k, hyper.signal * slope

    def _information(self, mean: Array, std: Array, c: Array) -> tuple[Array, Array, Array, Array]:
        """Value (m,) and its derivatives by mean (m,), std (m,) and c (m, K)."""
        noise, K = self.gp.hyper.noise, len(self.maxima)
        m_j = mean[:, None] + c * self.lift
        raw_var = std[:, None] ** 2 - c**2 / self.var
        floor = 1e-9 * self.gp.hyper.signal
        inside = raw_var > floor
        var_j = np.where(inside, raw_var, floor)
        s_j = np.sqrt(var_j)
        b = np.maximum((self.maxima - m_j) / s_j, -30.0)
        r, _ = hazard(b)
        keep = np.maximum(1.0 - r * (b + r), 1e-9)  # share of the variance left after the cut
        cut = var_j * keep
        value = 0.5 * np.log(std**2 + noise) - 0.5 * np.log(cut + noise).mean(axis=1)

        by_cut = -0.5 / (cut + noise) / K  # (m, K)
        d_r = -r * (b + r)
        by_b = by_cut * var_j * (-d_r * b - r - 2.0 * r * d_r)
        by_m = -by_b / s_j
        by_var = np.where(inside, by_cut * keep - by_b * b / (2.0 * var_j), 0.0)
        by_std = std / (std**2 + noise) + 2.0 * std * by_var.sum(axis=1)
        by_c = by_m * self.lift - 2.0 * by_var * c / self.var
        return value, by_m.sum(axis=1), by_std, by_c
