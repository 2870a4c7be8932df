"""UCB, EI and LogEI: functions of the posterior mean and standard deviation alone.

u = (mean - incumbent) / std,   h(u) = phi(u) + u Phi(u)

UCB   = mean + beta std                 Srinivas et al. 2009
EI    = std h(u)                        Jones et al. 1998
LogEI = log std + log h(u)              Ament et al. 2023, stable for any u
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from ccgbo.acquisition.averaged import averaged
from ccgbo.acquisition.base import Codomain, Context
from ccgbo.arrays import Array
from ccgbo.surrogate.base import Posterior
from ccgbo.validation import AtLeast, AtMost, Validated

MeanStd = Callable[[Array, Array], tuple[Array, Array, Array]]  # mean, std -> value, d/d mean, d/d std

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)


@dataclass(frozen=True, slots=True)
class MeanStdScore:
    """A score given by a function of mean and std with its two partial derivatives."""

    posterior: Posterior
    function: MeanStd

    def __call__(self, x: Array) -> Array:
        return self.function(*self.posterior.predict(x))[0]

    def gradient(self, x: Array) -> tuple[Array, Array]:
        at = self.posterior.linearize(x)
        if at is None:
            return self(x), np.zeros_like(x)
        value, by_mean, by_std = self.function(at.mean, at.std)
        return value, at.gradient(by_mean, by_std / at.std)


@dataclass(frozen=True, slots=True, kw_only=True)
class UCB(Validated):
    """Upper confidence bound: mean + beta std.

    beta = 2.576 is the paper's. BoTorch and Optuna write mean + sqrt(beta) std: their beta is the square of this one.
    """

    beta: Annotated[float, AtLeast(0), AtMost(1_000_000)] = 2.576
    """Standard deviations above the mean."""
    codomain: ClassVar[Codomain] = "real"
    needs_optima: ClassVar[bool] = False
    trades_mean: ClassVar[bool] = True

    @averaged
    def bind(self, context: Context) -> MeanStdScore:
        def function(mean: Array, std: Array) -> tuple[Array, Array, Array]:
            return mean + self.beta * std, np.ones_like(mean), np.full_like(std, self.beta)

        return MeanStdScore(context.posterior, function)


@dataclass(frozen=True, slots=True, kw_only=True)
class EI:
    """Expected improvement over the best posterior mean."""

    codomain: ClassVar[Codomain] = "nonnegative"
    needs_optima: ClassVar[bool] = False

    @averaged
    def bind(self, context: Context) -> MeanStdScore:
        def function(mean: Array, std: Array) -> tuple[Array, Array, Array]:
            u = (mean - context.incumbent) / std
            return std * np.exp(log_h(u)), ndtr(u), np.exp(-0.5 * u * u - _LOG_SQRT_2PI)

        return MeanStdScore(context.posterior, function)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEI:
    """Logarithm of expected improvement, with a usable gradient where EI underflows."""

    codomain: ClassVar[Codomain] = "log"
    needs_optima: ClassVar[bool] = False

    @averaged
    def bind(self, context: Context) -> MeanStdScore:
        def function(mean: Array, std: Array) -> tuple[Array, Array, Array]:
            u = (mean - context.incumbent) / std
            log_h_u = log_h(u)
            by_mean = np.exp(log_ndtr(u) - log_h_u) / std
            by_std = np.exp(-0.5 * u * u - _LOG_SQRT_2PI - log_h_u) / std
            return np.log(std) + log_h_u, by_mean, by_std

        return MeanStdScore(context.posterior, function)


def log_h(u: Array) -> Array:
    """log(phi(u) + u Phi(u)) without cancellation.

    u > -1        as written
    u = -v <= -1  -v^2/2 - log sqrt(2 pi) + log(1 - v sqrt(pi/2) erfcx(v / sqrt 2))
    v >> 1        the last logarithm tends to -2 log v
    """
    u = np.asarray(u, dtype=float)
    high = np.maximum(u, -1.0)
    out = np.empty_like(u)
    np.log(np.exp(-0.5 * high * high - _LOG_SQRT_2PI) + high * ndtr(high), out=out)
    below = u <= -1.0
    if below.any():
        out[below] = _log_h_below(-u[below])
    return out


def _log_h_below(v: Array) -> Array:
    """log h(-v) for v >= 1."""
    v = np.minimum(v, 1e150)  # squares stay finite
    log_mills = np.log(v * math.sqrt(math.pi / 2.0) * erfcx(v / math.sqrt(2.0)))  # < 0
    out: Array = np.log(-np.expm1(np.minimum(log_mills, -1e-300)))
    far = v > 1e3
    if far.any():
        # 1 - v Mills(v) = 1/v^2 - 3/v^4 + 15/v^6 - ...; at 1e3 both forms agree to 1e-9
        q = 1.0 / v[far] ** 2
        out[far] = -2.0 * np.log(v[far]) + np.log1p(q * (15.0 * q - 3.0))
    out -= 0.5 * v * v + _LOG_SQRT_2PI
    return out
