"""From the user's values to the standardised y of the model, and back.

Every transform is a frozen, strictly increasing map fitted on the values seen so far; ``forward`` takes later values
with the same constants. Internally everything is maximised: the caller has flipped the sign before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ccgbo.arrays import LARGEST, Array
from ccgbo.errors import SettingError

LARGEST_SCORE = 1e100  # scales from the center, beyond which values are not told apart
SMALLEST = 1e-300  # scale: values closer together than this count as equal
MOST_LOG = 709.0  # exp of it is near the largest float


class Outcome(Protocol):
    """A fitted increasing map of values."""

    def forward(self, values: Array) -> Array: ...
    def inverse(self, y: Array) -> Array: ...
    def slope(self, y: Array) -> Array:
        """d inverse / d y, which turns a standard deviation of the model into the user's units."""


@dataclass(frozen=True, slots=True)
class Standardize:
    """(value - center) / scale, computed so that neither 1e300 nor 1e-300 overflows on the way."""

    center: float
    scale: float

    @classmethod
    def fitted(cls, values: Array) -> Standardize:
        largest = float(np.max(np.abs(values)))
        if largest == 0.0:
            return cls(0.0, 1.0)
        small = values / largest if largest >= 1e-290 else values * 2.0**600 / (largest * 2.0**600)
        mean, sd = float(small.mean()), float(small.std())
        if sd < 1e-14:  # constant up to rounding: keep the values near zero without blowing up the rounding
            return cls(mean * largest, max(largest, SMALLEST))
        return cls(mean * largest, max(sd * largest, SMALLEST))

    def forward(self, values: Array) -> Array:
        # halves, because value - center may exceed the largest float; a later value may be any number of scales away
        with np.errstate(over="ignore"):
            y = (0.5 * values - 0.5 * self.center) / (0.5 * self.scale)
        return np.clip(y, -LARGEST_SCORE, LARGEST_SCORE)

    def inverse(self, y: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.clip(self.center + self.scale * y, -LARGEST, LARGEST)

    def slope(self, y: Array) -> Array:
        return np.full_like(y, self.scale)


@dataclass(frozen=True, slots=True)
class Robust:
    """Standardised by median and median absolute deviation, then tails drawn in, so that one wild value bends nothing.

        z = (value - median) / spread,     y = z                                                for |z| <= knee
                                           y = sign(z) (knee + log(1 + log(1 + |z| - knee)))    beyond

    continuous with a continuous slope; the result is standardised once more. The double logarithm puts a value of 1e12
    spreads at 6.4, where a single logarithm leaves it at 30 and lets it drown the others.
    """

    first: Standardize
    last: Standardize
    knee: float = 3.0

    @classmethod
    def fitted(cls, values: Array, knee: float = 3.0) -> Robust:
        median = 4.0 * float(np.median(0.25 * values))  # quarters: the sum of two values may exceed the largest float
        deviation = np.abs(0.25 * values - 0.25 * median)
        spread = float(np.median(deviation))
        if spread == 0.0 and deviation.any():  # more than half of the values are equal
            spread = float(np.median(deviation[deviation > 0.0]))
        scale = min(max(4.0 * (spread / 0.6745), SMALLEST), LARGEST)
        first = Standardize(median, scale if deviation.any() else 1.0)
        bent = cls._bend(first.forward(values), knee)
        return cls(first, Standardize.fitted(bent), knee)

    @staticmethod
    def _bend(z: Array, knee: float) -> Array:
        beyond = np.maximum(np.abs(z) - knee, 0.0)
        return np.where(beyond > 0.0, np.sign(z) * (knee + np.log1p(np.log1p(beyond))), z)

    def forward(self, values: Array) -> Array:
        return self.last.forward(self._bend(self.first.forward(values), self.knee))

    def inverse(self, y: Array) -> Array:
        b = self.last.inverse(y)
        tail = self._tail(b)
        z = np.where(tail > 0.0, np.sign(b) * (self.knee + np.expm1(np.expm1(tail))), b)
        return self.first.inverse(z)

    def slope(self, y: Array) -> Array:
        tail = self._tail(self.last.inverse(y))
        with np.errstate(over="ignore"):
            steep = self.first.scale * np.exp(np.expm1(tail) + tail) * self.last.scale
        return np.minimum(steep, LARGEST)

    def _tail(self, b: Array) -> Array:
        return np.clip(np.abs(b) - self.knee, 0.0, 6.3)  # exp(exp(6.3)) is near the largest float


@dataclass(frozen=True, slots=True)
class LogGap:
    """The logarithm of the gap to the best value: what is near the best is told apart.

        g = (best - value) / median gap,   z = -log(1 + g)   for g >= 0
                                           z = -g            beyond the best, where a later value may lie

    continuous with a continuous slope; the result is standardised. Where a function spans orders of magnitude most of
    its values are far from the best, and on their own scale all good ones are one.
    """

    best: float
    unit: float
    """The median gap, or the largest where half of the values are the best."""
    last: Standardize

    @classmethod
    def fitted(cls, values: Array) -> LogGap:
        best = float(values.max())
        gaps = 0.5 * best - 0.5 * values  # halves, because a gap may exceed the largest float
        typical = float(np.median(gaps)) or float(gaps.max()) or 0.5
        unit = min(max(2.0 * typical, SMALLEST), LARGEST)
        return cls(best, unit, Standardize.fitted(cls._drawn(values, best, unit)))

    @staticmethod
    def _drawn(values: Array, best: float, unit: float) -> Array:
        with np.errstate(over="ignore"):
            g = np.clip((0.5 * best - 0.5 * values) / (0.5 * unit), -LARGEST_SCORE, LARGEST)
        return np.where(g > 0.0, -np.log1p(np.maximum(g, 0.0)), -g)

    def forward(self, values: Array) -> Array:
        return self.last.forward(self._drawn(values, self.best, self.unit))

    def inverse(self, y: Array) -> Array:
        z = self.last.inverse(y)
        with np.errstate(over="ignore"):
            below = self.best - self.unit * np.expm1(np.minimum(-z, MOST_LOG))
            above = self.best + self.unit * z
        return np.clip(np.where(z < 0.0, below, above), -LARGEST, LARGEST)

    def slope(self, y: Array) -> Array:
        with np.errstate(over="ignore"):
            steep = self.unit * np.exp(np.clip(-self.last.inverse(y), 0.0, MOST_LOG)) * self.last.scale
        return np.minimum(steep, LARGEST)


LOG_GAP = "log-gap"
OUTCOMES: dict[str, Callable[[Array], Outcome]] = {
    "standardize": Standardize.fitted,
    "robust": Robust.fitted,
    LOG_GAP: LogGap.fitted,
}


def log_jacobian(outcome: Outcome, values: Array) -> float:
    """sum_i log dy / dvalue: what turns a log density of the transformed values into one of the values themselves."""
    slopes = outcome.slope(outcome.forward(values))
    return -float(np.log(np.maximum(slopes, SMALLEST)).sum())


def fit_outcome(name: str, values: Array) -> Outcome:
    if name not in OUTCOMES:
        raise SettingError(f"outcome_transform must be one of {sorted(OUTCOMES)}, got {name!r}.")
    return OUTCOMES[name](values)
