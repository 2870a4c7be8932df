"""Infinite measurements of named metrics: bad beyond measure, and yet measured.

A metric that counts as not measured says nothing of the place, and the search would come back there for ever. Of one
objective without constraints an infinite value is a failed trial instead, which needs none of this.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ccgbo.metrics import Between, Metrics

Ends = Mapping[str, tuple[float, float]]  # what stands for -inf and for inf of a metric

NO_ENDS: Ends = MappingProxyType({})  # infinite values stay what they are


def ends_of(told: Sequence[Mapping[str, float]], metrics: Metrics) -> Ends:
    """By the finite values of all trials: the extremes of an objective, and of a bounded metric as far beyond its bound
    as any value lies from it; an objective without a finite value has none."""
    found: dict[str, tuple[float, float]] = {}
    for name in metrics.names:
        values = [v for each in told if (v := each.get(name)) is not None and math.isfinite(v)]
        if name in metrics.constraints:
            found[name] = _around(metrics.constraints[name], values)
        elif values:
            found[name] = min(values), max(values)
    return found


def _around(bound: Between, values: Sequence[float]) -> tuple[float, float]:
    sides = [side for side in (bound.lower, bound.upper) if math.isfinite(side)]
    far = max((abs(v - side) for v in values for side in sides), default=0.0) or 1.0
    return sides[0] - far, sides[-1] + far


def finite(name: str, value: float, ends: Ends) -> float:
    """The value, or what stands for an infinite one; NaN stays."""
    if not math.isinf(value) or name not in ends:
        return value
    return ends[name][value > 0.0]
