"""What a pruned trial says of the value it would have had.

    reading         what the engine is told of a pruned trial with a reported value
    "extrapolate"   its last value plus the median change from that step to the end, with the variance of that change
    "bound"         its last value, kept between the worst and the median complete value
    "fail"          a place to avoid
    "ignore"        nothing

A curve is extrapolated from those of the complete trials that reported at that step or before it; with fewer than
``FEWEST`` of them, or none that changed, the value is bounded instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from optuna.trial import FrozenTrial

from ccgbo.errors import SettingError
from ccgbo.outcomes import bounded, worst_of

PrunedReading = Literal["extrapolate", "bound", "fail", "ignore"]

PRUNED: PrunedReading = "bound"  # the default
FEWEST = 4  # complete curves to extrapolate from


def check_reading(reading: str) -> None:
    allowed = get_args(PrunedReading)
    if reading not in allowed:
        raise SettingError(f"pruned must be one of {', '.join(map(repr, allowed))}, got {reading!r}.")


@dataclass(frozen=True, slots=True)
class Complete:
    """The complete trials that a pruned one is read by."""

    values: Sequence[float]
    curves: Sequence[Mapping[int, float]]  # intermediate values by step, of the same trials
    maximize: bool
    _changes: dict[int, tuple[float, float] | None] = field(default_factory=dict)  # by step, once computed

    def outcome(self, trial: FrozenTrial, reading: PrunedReading) -> tuple[float, float | None] | None:
        """Value and noise variance for the engine; None where the trial is a place to avoid."""
        value = trial.value
        if reading == "fail" or not self.values or value is None or not math.isfinite(value):
            return None
        change = self._change(trial.last_step) if reading == "extrapolate" else None
        if change is None:
            return bounded(value, self.values, maximize=self.maximize), None
        worst = worst_of(self.values, maximize=self.maximize)
        expected = value + change[0]  # not beyond the worst: a curve that diverged would take all of the scale
        return (max if self.maximize else min)(expected, worst), change[1]

    def _change(self, step: int | None) -> tuple[float, float] | None:
        """Median and variance of what complete trials still gained after the step."""
        if step is None:
            return None
        if step not in self._changes:
            reached = ((value, _until(curve, step)) for value, curve in zip(self.values, self.curves, strict=True))
            changes = np.array([value - before for value, before in reached if before is not None])
            spread = float(changes.var(ddof=1)) if len(changes) >= FEWEST else 0.0
            usable = 0.0 < spread < math.inf
            self._changes[step] = (float(np.median(changes)), spread) if usable else None
        return self._changes[step]


def _until(curve: Mapping[int, float], step: int) -> float | None:
    """The last value of a curve up to a step."""
    steps = [s for s, value in curve.items() if s <= step and math.isfinite(value)]
    return curve[max(steps)] if steps else None
