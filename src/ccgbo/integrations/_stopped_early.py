"""The value of a run that a pruner or a scheduler ended before its time."""

from __future__ import annotations

import statistics
from collections.abc import Sequence


def worst_of(whole: Sequence[float], *, maximize: bool) -> float:
    return min(whole) if maximize else max(whole)


def bounded(value: float, whole: Sequence[float], *, maximize: bool) -> float:
    """The last value of a short run, not better than half of the whole runs, nor worse than all of them."""
    low, high = sorted((worst_of(whole, maximize=maximize), statistics.median(whole)))
    return min(max(value, low), high)
