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
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, log_ndtr, ndtr

from ccgbo.acquisition.base import Context, Scale
from ccgbo.errors import SettingError
from ccgbo.surrogate.gp import GP

Array = NDArray[np.float64]
MeanStd = Callable[[Array, Array], tuple[Array, Array, Array]]  # mean, std -> value, d/d mean, d/d std

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)


@dataclass(frozen=True, slots=True)
class MeanStdScore:
    """A score given by a function of mean and std with its two partial derivatives."""

    gp: GP
    function: MeanStd

    def __call__(self, x: Array) -> Array:
        return self.function(*self.gp.predict(x))[0]

    def gradient(self, x: Array) -> tuple[Array, Array]:
        mean, std, d_mean, d_std = self.gp.predict_gradient(x)
        value, by_mean, by_std = self.function(mean, std)
        return value, by_mean[:, None] * d_mean + by_std[:, None] * d_std


@dataclass(frozen=True, slots=True, kw_only=True)
class UCB:
    """Upper confidence bound; beta = 2.576 is the paper's."""

    beta: float = 2.576
    scale: ClassVar[Scale] = "real"
    needs_optima: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0.0 <= self.beta < math.inf:
            raise SettingError(f"UCB.beta must be a finite number >= 0, got {self.beta!r}.")

    def bind(self, context: Context) -> MeanStdScore:
        def function(mean: Array, std: Array) -> tuple[Array, Array, Array]:
            return mean + self.beta * std, np.ones_like(mean), np.full_like(std, self.beta)

        return MeanStdScore(context.gp, function)


@dataclass(frozen=True, slots=True, kw_only=True)
class EI:
    """Expected improvement over the best posterior mean."""

    scale: ClassVar[Scale] = "nonnegative"
    needs_optima: ClassVar[bool] = False

    def bind(self, context: Context) -> MeanStdScore:
        def function(mean: Array, std: Array) -> tuple[Array, Array, Array]:
            u = (mean - context.incumbent) / std
            return std * np.exp(log_h(u)), ndtr(u), np.exp(-0.5 * u * u - _LOG_SQRT_2PI)

        return MeanStdScore(context.gp, function)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEI:
    """Logarithm of expected improvement, with a usable gradient where EI underflows."""

    scale: ClassVar[Scale] = "log"
    needs_optima: ClassVar[bool] = False

    def bind(self, context: Context) -> MeanStdScore:
        def function(mean: Array, std: Array) -> tuple[Array, Array, Array]:
            u = (mean - context.incumbent) / std
            log_h_u = log_h(u)
            by_mean = np.exp(log_ndtr(u) - log_h_u) / std
            by_std = np.exp(-0.5 * u * u - _LOG_SQRT_2PI - log_h_u) / std
            return np.log(std) + log_h_u, by_mean, by_std

        return MeanStdScore(context.gp, function)


def log_h(u: Array) -> Array:
    """log(phi(u) + u Phi(u)) without cancellation.

    u > -1        as written
    u <= -1       -u^2/2 - log sqrt(2 pi) + log(1 - |u| sqrt(pi/2) erfcx(|u| / sqrt 2))
    u << -1       the last logarithm tends to -2 log |u|
    """
    u = np.asarray(u, dtype=float)
    high = np.maximum(u, -1.0)
    direct = np.log(np.exp(-0.5 * high * high - _LOG_SQRT_2PI) + high * ndtr(high))
    low = np.clip(-u, 1.0, 1e150)  # squares stay finite
    log_mills = np.log(low * math.sqrt(math.pi / 2.0) * erfcx(low / math.sqrt(2.0)))  # < 0
    middle = np.log(-np.expm1(np.minimum(log_mills, -1e-300)))
    # 1 - |u| Mills(|u|) = 1/u^2 - 3/u^4 + 15/u^6 - ...; at |u| = 1e3 both forms agree to 1e-9
    q = np.where(low > 1e3, 1.0 / low**2, 0.0)
    tail = -2.0 * np.log(low) + np.log1p(q * (15.0 * q - 3.0))
    left = -0.5 * low * low - _LOG_SQRT_2PI + np.where(low > 1e3, tail, middle)
    return np.where(u > -1.0, direct, left)
