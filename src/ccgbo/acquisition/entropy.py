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
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from ccgbo.acquisition.analytic import MeanStdScore
from ccgbo.acquisition.averaged import averaged
from ccgbo.acquisition.base import Codomain, Context
from ccgbo.arrays import Array
from ccgbo.errors import SettingError
from ccgbo.surrogate.base import Joint, JointPosterior, Posterior
from ccgbo.surrogate.optima import Optima


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

    codomain: ClassVar[Codomain] = "nonnegative"
    needs_optima: ClassVar[bool] = True

    @averaged
    def bind(self, context: Context) -> MeanStdScore:
        maxima = _optima(context).maxima

        def function(mean: Array, std: Array) -> tuple[Array, Array, Array]:
            g = (maxima - mean[:, None]) / std[:, None]  # (m, k)
            g = np.maximum(g, -30.0)  # a mean far above a sampled maximum: no information beyond this
            r, log_cdf = hazard(g)
            by_g = -0.5 * r - 0.5 * g * r * (g + r)
            value = (0.5 * g * r - log_cdf).mean(axis=1)
            return value, -by_g.mean(axis=1) / std, -(by_g * g).mean(axis=1) / std

        return MeanStdScore(context.posterior, function)


@dataclass(frozen=True, slots=True, kw_only=True)
class JES:
    """Information about the place and the value of the maximum together."""

    codomain: ClassVar[Codomain] = "nonnegative"
    needs_optima: ClassVar[bool] = True
    needs_joint: ClassVar[bool] = True  # predictions at several points together

    @averaged
    def bind(self, context: Context) -> JointEntropyScore:
        return JointEntropyScore.build(context.posterior, _optima(context))


class Cut(NamedTuple):
    """What the optima leave of the posterior at m points; every array (m, K)."""

    c: Array  # covariance with the value at each optimum
    var: Array  # s_j^2
    std: Array  # s_j
    inside: NDArray[np.bool_]  # where s_j^2 is not at its floor
    b: Array
    r: Array
    keep: Array  # share of the variance left after the cut at Z_j
    left: Array  # that variance, and the noise


@dataclass(frozen=True, slots=True)
class JointEntropyScore:
    joint: Joint  # the posterior with the values at the K optima
    maxima: Array  # (K,)
    lift: Array  # (K,) (Z_j - mean(x_j)) / v_j

    @classmethod
    def build(cls, posterior: Posterior, optima: Optima) -> JointEntropyScore:
        if not isinstance(posterior, JointPosterior):
            name = type(posterior).__name__
            raise SettingError(f"acquisition JES needs a surrogate with joint predictions, which {name} has not.")
        joint = posterior.joint_with(optima.argmax)
        return cls(joint, optima.maxima, (optima.maxima - joint.mean) / joint.var)

    def __call__(self, x: Array) -> Array:
        return self._information(*self.joint.predict(x))[0]

    def gradient(self, x: Array) -> tuple[Array, Array]:
        at = self.joint.linearize(x)
        value, cut = self._information(at.mean, at.std, at.cov)
        return value, at.gradient(*self._slopes(at.std, cut))

    def _information(self, mean: Array, std: Array, c: Array) -> tuple[Array, Cut]:  # (m,), (m,), (m, K) -> (m,)
        noise = self.joint.noise
        var = (std * std)[:, None] - c * c / self.joint.var
        floor = self.joint.var_floor
        inside = var > floor
        var = np.maximum(var, floor)
        s_j = np.sqrt(var)
        b = np.maximum((self.maxima - mean[:, None] - c * self.lift) / s_j, -30.0)
        r, _ = hazard(b)
        keep = np.maximum(1.0 - r * (b + r), 1e-9)
        left = var * keep + noise
        value = 0.5 * np.log(std * std + noise) - 0.5 * np.log(left).mean(axis=1)
        return value, Cut(c, var, s_j, inside, b, r, keep, left)

    def _slopes(self, std: Array, cut: Cut) -> tuple[Array, Array, Array]:
        """Derivatives of the value by mean (m,), half the variance (m,) and c (m, K)."""
        c, var, s_j, inside, b, r, keep, left = cut
        by_cut = -0.5 / len(self.maxima) / left
        fall = r * (b + r)  # -d r / d b
        by_b = by_cut * var * (fall * b - r + 2.0 * r * fall)
        by_m = -by_b / s_j
        by_var = np.where(inside, by_cut * keep - by_b * b / (2.0 * var), 0.0)
        by_half_var = 1.0 / (std * std + self.joint.noise) + 2.0 * by_var.sum(axis=1)
        return by_m.sum(axis=1), by_half_var, by_m * self.lift - 2.0 * by_var * c / self.joint.var
