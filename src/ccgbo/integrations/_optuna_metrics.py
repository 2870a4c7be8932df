"""Several directions and constraints of an Optuna study as the engine's metrics.

An objective is called "objective 0", "objective 1", ...; a constraint, which Optuna wants to be at most zero, has the
key it was set under: ``trial.set_constraint("weight", ...)`` is "constraint weight". One direction without constraints
has no names, and is modelled as ever. What is infinite stands for the worst or the best there is (infinite.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from ccgbo.errors import SettingError
from ccgbo.infinite import Ends, ends_of, finite
from ccgbo.metrics import MOST_OBJECTIVES, VALUE, AtMost, Direction, Measurement, Metrics, metrics_of
from ccgbo.text import printable


def study_metrics(study: Study, trials: Iterable[FrozenTrial]) -> Metrics:
    """What is measured in a study, as far as its trials tell."""
    words = directions(study)
    keys = sorted({key for trial in trials for key in trial.constraints})
    if len(words) == 1 and not keys:
        return Metrics({VALUE: words[0]})
    return metrics_of(
        objectives={objective(i): word for i, word in enumerate(words)},
        outcome_constraints={constraint(key): AtMost(0.0) for key in keys},
    )


def directions(study: Study) -> list[Direction]:
    """Those of the study; refuses more than a front can have."""
    if len(study.directions) > MOST_OBJECTIVES:
        raise SettingError(f"directions must be at most {MOST_OBJECTIVES}, got {len(study.directions)}.")
    return ["maximize" if d == StudyDirection.MAXIMIZE else "minimize" for d in study.directions]


def objective(i: int) -> str:
    return f"objective {i}"


def constraint(key: str) -> str:
    """The metric of a constraint: of any key that Optuna takes, and another one for each."""
    plain = key == printable(key) and "=" not in key
    return f"constraint {key}" if plain else f"constraint {key!r}".replace("=", r"\x3d")


def infinite_ends(trials: Iterable[FrozenTrial], metrics: Metrics) -> Ends:
    """What stands for infinite values of named metrics, by the complete trials."""
    return ends_of([_values(t) for t in trials if t.state == TrialState.COMPLETE], metrics)


def _values(trial: FrozenTrial) -> dict[str, float]:
    objectives = {objective(i): v for i, v in enumerate(trial.values or ())}
    return objectives | {constraint(key): float(v) for key, v in trial.constraints.items()}


def named_outcome(
    trial: FrozenTrial, read: tuple[float, float | None] | None, metrics: Metrics, ends: Ends
) -> dict[str, Any]:
    """The outcome of a finished trial by metric; ``read`` is what stands for the value of one that was pruned."""
    values = {name: finite(name, v, ends) for name, v in _values(trial).items()}
    told = {name: Measurement(value=v) for name, v in values.items() if name in metrics.names and math.isfinite(v)}
    if trial.state == TrialState.PRUNED:
        told.pop(objective(0), None)  # a value of a short run, which only the reading may stand for
    if read is not None:
        told[objective(0)] = Measurement(value=read[0], noise_variance=read[1])
    if not told:
        return {"state": "failed"}
    measured = {name: told[name] for name in metrics.names if name in told}
    goal = None if metrics.several else measured.get(objective(0))
    return {"state": "complete", "value": None if goal is None else goal.value, "metrics": measured}
