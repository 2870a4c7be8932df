"""Several directions and constraints of an Optuna study as the engine's metrics.

An objective is called "objective 0", "objective 1", ...; a constraint, which Optuna wants to be at most zero, has the
key it was set under: ``trial.set_constraint("weight", ...)`` is "constraint weight". One direction without constraints
has no names, and is modelled as ever.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial

from ccgbo.metrics import VALUE, AtMost, Direction, Measurement, Metrics, metrics_of


def study_metrics(study: Study, trials: Iterable[FrozenTrial]) -> Metrics:
    """What is measured in a study, as far as its trials tell."""
    words: list[Direction] = ["maximize" if d == StudyDirection.MAXIMIZE else "minimize" for d in study.directions]
    keys = sorted({key for trial in trials for key in trial.constraints})
    if len(words) == 1 and not keys:
        return Metrics({VALUE: words[0]})
    return metrics_of(
        objectives={objective(i): word for i, word in enumerate(words)},
        outcome_constraints={constraint(key): AtMost(0.0) for key in keys},
    )


def objective(i: int) -> str:
    return f"objective {i}"


def constraint(key: str) -> str:
    return f"constraint {key.replace('=', '_')}"


def named_outcome(trial: FrozenTrial, read: tuple[float, float | None] | None, metrics: Metrics) -> dict[str, Any]:
    """The outcome of a finished trial by metric; ``read`` is what stands for the value of one that was pruned."""
    values = list(trial.values or ()) if read is None else [read[0]]
    told = {objective(i): Measurement(value=v) for i, v in enumerate(values)}
    if read is not None:
        told[objective(0)] = Measurement(value=read[0], noise_variance=read[1])
    told |= {constraint(key): Measurement(value=float(v)) for key, v in trial.constraints.items()}
    finite = {name: told[name] for name in metrics.names if name in told and math.isfinite(told[name].value)}
    if not finite:
        return {"state": "failed"}
    goal = None if metrics.several else finite.get(objective(0))
    return {"state": "complete", "value": None if goal is None else goal.value, "metrics": finite}
