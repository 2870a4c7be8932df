"""The probability that measured quantities keep their bounds, as a factor on any acquisition, in log space.

    log P(lower <= g(x) <= upper) = log(Phi(b) - Phi(a)),    a = (lower - mean) / std,   b = (upper - mean) / std

for each of them, independent of one another. Gardner et al. 2014 multiply expected improvement by it; before anything
feasible is known the probability itself is maximised.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import log_ndtr

from ccgbo.acquisition.base import Codomain, Context
from ccgbo.arrays import Array
from ccgbo.surrogate.base import Posterior

LEAST = -1e12  # logarithms below this are not told apart
MOST = 600.0  # logarithm of a density, above which it times an edge could overflow
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)


def log_within(
    mean: Array, std: Array, lower: float, upper: float
) -> tuple[Array, Array, Array]:  # (m,) -> (m,), (m,), (m,)
    """log P(lower <= g <= upper) of a normal g, with its derivatives by the mean and by the standard deviation."""
    if math.isinf(lower) != math.isinf(upper):
        return _log_beyond(mean, std, upper, -1.0) if math.isinf(lower) else _log_beyond(mean, std, lower, 1.0)
    a, b = _scaled(lower - mean, std), _scaled(upper - mean, std)
    log_p = _log_between(a, b)
    by_a, by_b = (_density_over(edge, log_p) for edge in (a, b))
    return np.maximum(log_p, LEAST), (by_a - by_b) / std, (_times(a, by_a) - _times(b, by_b)) / std


def _log_beyond(mean: Array, std: Array, bound: float, side: float) -> tuple[Array, Array, Array]:
    """The same of a single bound, in half the time: above it for side 1, below it for -1."""
    z = _scaled(side * (mean - bound), std)
    log_p = log_ndtr(z)
    density = _density_over(z, log_p)
    return np.maximum(log_p, LEAST), side * density / std, -z * density / std


def _scaled(distance: Array, std: Array) -> Array:
    with np.errstate(over="ignore"):
        return np.clip(distance / std, -1e8, 1e8) if np.isfinite(distance).all() else distance


def _log_between(a: Array, b: Array) -> Array:
    """log(Phi(b) - Phi(a)), computed in the tail where both are small."""
    flip = a > 0.0
    low, high = np.where(flip, -b, a), np.where(flip, -a, b)
    log_high = log_ndtr(high)
    with np.errstate(invalid="ignore"):
        ratio = np.where(np.isneginf(low), -np.inf, log_ndtr(low) - log_high)
    result: Array = log_high + np.log(-np.expm1(np.minimum(ratio, -1e-300)))
    return result


def _density_over(edge: Array, log_p: Array) -> Array:
    """phi(edge) / P."""
    if np.isinf(edge).all():
        return np.zeros_like(log_p)
    return np.exp(np.minimum(-0.5 * edge * edge - _LOG_SQRT_2PI - log_p, MOST))


def _times(edge: Array, density: Array) -> Array:
    return np.zeros_like(density) if np.isinf(edge).all() else edge * density


@dataclass(frozen=True, slots=True)
class Bounded:
    """The posterior of a measured quantity and its bounds, in the units of the posterior."""

    posterior: Posterior
    lower: float
    upper: float

    def log_probability(self, x: Array) -> Array:  # (m, p) -> (m,)
        return log_within(*self.posterior.predict(x), self.lower, self.upper)[0]

    def log_gradient(self, x: Array) -> tuple[Array, Array]:  # (m, p) -> (m,), (m, p)
        at = self.posterior.linearize(x)
        if at is None:
            return self.log_probability(x), np.zeros_like(x)
        value, by_mean, by_std = log_within(at.mean, at.std, self.lower, self.upper)
        return value, at.gradient(by_mean, by_std / at.std)


@dataclass(frozen=True, slots=True)
class FeasibilityFactor:
    """The probability that every bound is kept."""

    constraints: Sequence[Bounded]

    def log(self, x: Array) -> Array:  # (m, p) -> (m,)
        total: Array = sum((c.log_probability(x) for c in self.constraints), np.zeros(len(x)))
        return total

    def __call__(self, x: Array) -> Array:
        return np.exp(self.log(x))

    def log_and_gradient(self, x: Array) -> tuple[Array, Array]:
        """The logarithm of the factor, which may be too small for the factor itself, and its gradient."""
        value, gradient = np.zeros(len(x)), np.zeros_like(x)
        for constraint in self.constraints:
            one, slope = constraint.log_gradient(x)
            value += one
            gradient += slope
        return value, gradient

    def log_gradient(self, x: Array) -> tuple[Array, Array]:
        value, gradient = self.log_and_gradient(x)
        return np.exp(value), gradient


@dataclass(frozen=True, slots=True)
class _Nothing:
    """Zero everywhere: the factors alone decide."""

    def __call__(self, x: Array) -> Array:
        return np.zeros(len(x))

    def gradient(self, x: Array) -> tuple[Array, Array]:
        return self(x), np.zeros_like(x)


@dataclass(frozen=True, slots=True, kw_only=True)
class Feasibility:
    """The probability of keeping every bound and nothing else, while no feasible point is known."""

    codomain: ClassVar[Codomain] = "log"
    needs_optima: ClassVar[bool] = False

    def bind(self, context: Context) -> _Nothing:  # noqa: ARG002
        return _Nothing()
