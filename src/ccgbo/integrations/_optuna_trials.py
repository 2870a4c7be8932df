"""What Optuna's trials say to the engine."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from ccgbo.records import Trial


def pruned_limits(trials: Iterable[FrozenTrial], direction: StudyDirection) -> tuple[float, float] | None:
    """A pruned trial is not better than half of the complete ones, nor worse than all of them."""
    outcomes = (frozen_outcome(t, None) for t in trials if t.state == TrialState.COMPLETE)
    values = [outcome["value"] for outcome in outcomes if outcome["state"] == "complete"]
    if not values:
        return None
    worst = min(values) if direction == StudyDirection.MAXIMIZE else max(values)
    middle = statistics.median(values)
    return min(worst, middle), max(worst, middle)


def frozen_outcome(trial: FrozenTrial, limits: tuple[float, float] | None) -> dict[str, Any]:
    """State and value of the engine's record."""
    if trial.state == TrialState.RUNNING:
        return {"state": "pending"}
    value, pruned = trial.value, trial.state == TrialState.PRUNED
    allowed = all(v <= 0.0 for v in trial.constraints.values())
    if value is None or not math.isfinite(value) or not allowed or (pruned and limits is None):
        return {"state": "failed"}
    if pruned and limits is not None:
        value = min(max(value, limits[0]), limits[1])
    return {"state": "complete", "value": value}


def news_of(records: Sequence[Trial], known: Sequence[Trial]) -> list[Trial] | None:
    """What an engine that knows some trials has yet to be told; None if that would not make it know just ``records``.

    Observations must reach an engine in the order of their numbers, and it cannot take back what it knows.
    """
    old = {trial.id: trial for trial in known}
    if not old.keys() <= {record.id for record in records}:
        return None
    news = []
    for record in records:
        before = old.get(record.id)
        if before is not None:
            if before.params != record.params:
                return None
            if (before.state, before.value) == (record.state, record.value):
                continue
            if before.state != "pending":
                return None
        news.append(record)
    last_told = max((trial.id for trial in known if trial.state == "complete"), default=-1)
    late = any(record.state == "complete" and record.id < last_told for record in news)
    return None if late else news
