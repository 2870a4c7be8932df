"""What Optuna's trials and distributions say to the engine."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.search_space import intersection_search_space
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from ccgbo.errors import SpaceError
from ccgbo.records import Trial
from ccgbo.space import Categorical, Float, Int, Parameter

Distributions = Mapping[str, BaseDistribution]

# -- what a trial says


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


# -- search spaces


def search_space_of(trials: Sequence[FrozenTrial]) -> dict[str, BaseDistribution]:
    """What every complete trial has with the same range, as far as there is something to search."""
    space = intersection_search_space(list(trials))
    return {name: d for name, d in space.items() if not d.single() and _can_be_searched(d)}


def _can_be_searched(distribution: BaseDistribution) -> bool:
    try:
        parameter_of(distribution)
    except SpaceError:  # a range at the limits of floating point
        return False
    return True


def parameter_of(d: BaseDistribution) -> Parameter:
    if isinstance(d, FloatDistribution):
        return Float(d.low, d.high, log=d.log, step=d.step)
    if isinstance(d, IntDistribution):
        return Int(d.low, d.high, log=d.log, step=d.step)
    if isinstance(d, CategoricalDistribution):  # by index: Optuna allows choices of any type
        return Categorical(range(len(d.choices)))
    raise SpaceError(f"a distribution must be float, int or categorical, got {d!r}.")


def belongs(params: Mapping[str, Any], search_space: Distributions) -> bool:
    """Whether the point lies in the space: a trial may lack parameters, have had other ranges, or be enqueued."""
    return all(name in params and _contains(d, params[name]) for name, d in search_space.items())


def _contains(d: BaseDistribution, value: Any) -> bool:
    if isinstance(d, FloatDistribution | IntDistribution):
        steps = (value - d.low) / d.step if d.step is not None else 0.0
        return bool(d.low <= value <= d.high) and abs(steps - round(steps)) < 1e-6
    try:
        d.to_internal_repr(value)
    except ValueError:
        return False
    return True


def inward(params: Mapping[str, Any], search_space: Distributions) -> dict[str, Any]:
    return {
        name: int(d.to_internal_repr(params[name])) if isinstance(d, CategoricalDistribution) else params[name]
        for name, d in search_space.items()
    }


def outward(params: Mapping[str, Any], search_space: Distributions) -> dict[str, Any]:
    return {
        name: d.to_external_repr(params[name]) if isinstance(d, CategoricalDistribution) else params[name]
        for name, d in search_space.items()
    }
