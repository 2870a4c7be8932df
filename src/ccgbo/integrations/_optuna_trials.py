"""What Optuna's trials say to the engine."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from ccgbo.infinite import NO_ENDS, Ends
from ccgbo.integrations._optuna_metrics import named_outcome
from ccgbo.integrations._optuna_pruned import Complete, PrunedReading
from ccgbo.metrics import Metrics
from ccgbo.outcomes import PLAIN
from ccgbo.records import Trial


def complete_trials(trials: Iterable[FrozenTrial], direction: StudyDirection) -> Complete:
    """Those that pruned ones are read by."""
    told = [t for t in trials if t.state == TrialState.COMPLETE and is_observation(t)]
    curves = [t.intermediate_values for t in told]
    return Complete([float(t.value or 0.0) for t in told], curves, direction == StudyDirection.MAXIMIZE)


def is_observation(trial: FrozenTrial) -> bool:
    """Whether it has a finite value."""
    return trial.value is not None and math.isfinite(trial.value)


def frozen_outcome(
    trial: FrozenTrial,
    complete: Complete,
    pruned: PrunedReading,
    metrics: Metrics = PLAIN,
    ends: Ends = NO_ENDS,
) -> dict[str, Any] | None:
    """State, value and noise of the engine's record; None where there is nothing to record."""
    if trial.state == TrialState.RUNNING:
        return {"state": "pending"}
    if trial.state == TrialState.PRUNED and pruned == "ignore":
        return None
    if trial.state == TrialState.FAIL or (trial.state == TrialState.PRUNED and pruned == "fail"):
        return {"state": "failed"}
    if not metrics.plain:
        read = complete.outcome(trial, pruned) if trial.state == TrialState.PRUNED and is_observation(trial) else None
        return named_outcome(trial, read, metrics, ends)
    if not is_observation(trial):
        return {"state": "failed"}
    if trial.state != TrialState.PRUNED:
        return {"state": "complete", "value": trial.value}
    read = complete.outcome(trial, pruned)
    return {"state": "failed"} if read is None else {"state": "complete", "value": read[0], "noise_variance": read[1]}


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
            if _outcome(before) == _outcome(record):
                continue
            if before.state != "pending":
                return None
        news.append(record)
    last_told = max((trial.id for trial in known if trial.state == "complete"), default=-1)
    late = any(record.state == "complete" and record.id < last_told for record in news)
    return None if late else news


def _outcome(trial: Trial) -> tuple[Any, ...]:
    return trial.state, trial.value, trial.noise_variance, dict(trial.metrics)
