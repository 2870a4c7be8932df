"""A weight on any acquisition (arXiv 2510.04676v2, Eq. (4)).

    "real"          factor(x) * (alpha(x) - min alpha)      the minimum is over the candidate set that is searched
    "nonnegative"   factor(x) * alpha(x)
    "log"           alpha(x) + log factor(x)

``factor`` is a product: credit, a user's prior over the optimum, the chance that an evaluation succeeds. The weight is
never applied to a negative surplus: where gradient search finds alpha below the candidates' minimum, it stays plain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from ccgbo.acquisition.base import BoundAcquisition, Codomain, value_and_gradient
from ccgbo.arrays import Array


class Factor(Protocol):
    """A positive weight over the space."""

    def __call__(self, x: Array) -> Array: ...  # (m, p) -> (m,)
    def log_gradient(self, x: Array) -> tuple[Array, Array]:  # (m, p) -> (m,), (m, p)
        """The factor and the gradient of its logarithm."""


@runtime_checkable
class LogFactor(Factor, Protocol):
    """A factor that may be too small for a float, and whose logarithm is not."""

    def log(self, x: Array) -> Array: ...  # (m, p) -> (m,)
    def log_and_gradient(self, x: Array) -> tuple[Array, Array]: ...  # (m, p) -> (m,), (m, p)


@dataclass(frozen=True, slots=True)
class Weighted:
    """A base score times its factors."""

    base: BoundAcquisition
    codomain: Codomain
    factors: Sequence[Factor]
    shift: float = 0.0  # min alpha, for "real" only

    def __call__(self, x: Array) -> Array:
        return self.combine(self.base(x), self.factor(x))

    def factor(self, x: Array) -> Array:
        """The logarithm of all factors for "log", their product for the others."""
        out, logs = np.ones(len(x)), np.zeros(len(x))
        for factor in self.factors:
            if isinstance(factor, LogFactor):
                logs += factor.log(x)
            else:
                out *= factor(x)
        return np.log(out) + logs if self.codomain == "log" else out * np.exp(logs)

    def combine(self, alpha: Array, factor: Array) -> Array:
        if self.codomain == "log":
            return alpha + factor
        surplus = alpha - self.shift
        return np.where(surplus > 0.0, factor * surplus, surplus)

    def gradient(self, x: Array) -> tuple[Array, Array]:
        alpha, d_alpha = value_and_gradient(self.base, x)
        factor, logs, d_log = np.ones(len(x)), np.zeros(len(x)), np.zeros_like(x)
        for item in self.factors:
            if isinstance(item, LogFactor):
                value, slope = item.log_and_gradient(x)
                logs += value
            else:
                value, slope = item.log_gradient(x)
                factor *= value
            d_log += slope
        if self.codomain == "log":
            return alpha + (np.log(factor) + logs), d_alpha + d_log
        factor = factor * np.exp(logs)
        surplus = alpha - self.shift
        product = factor[:, None] * (d_alpha + surplus[:, None] * d_log)
        positive = surplus > 0.0
        return np.where(positive, factor * surplus, surplus), np.where(positive[:, None], product, d_alpha)


def weigh(
    base: BoundAcquisition, alpha: Array, codomain: Codomain, factors: Sequence[Factor | None], candidates: Array
) -> tuple[BoundAcquisition, Array]:  # alpha (m,) of the base at the candidates (m, p) -> values (m,)
    """The weighted score and its values at the candidates; the base itself, bit for bit, where no factor is left."""
    present = [factor for factor in factors if factor is not None]
    if not present:
        return base, alpha
    finite = alpha[np.isfinite(alpha)]
    shift = float(finite.min()) if codomain == "real" and len(finite) else 0.0
    weighted = Weighted(base, codomain, present, shift)
    return weighted, weighted.combine(alpha, weighted.factor(candidates))
