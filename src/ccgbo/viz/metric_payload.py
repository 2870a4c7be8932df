"""What the pages carry where metrics have names: beside the trials what was measured, and beside the credits the front,
the recommended set, and for each metric what its model says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ccgbo.engine.optimizer import Optimizer
from ccgbo.metrics import Measurement, Metrics, feasible
from ccgbo.records import Trial, as_tuple, front_of
from ccgbo.viz.front_view import front_view, volumes
from ccgbo.viz.model_view import ModelView
from ccgbo.viz.numbers import numbers_list, short_number


def metrics_payload(metrics: Metrics) -> dict[str, Any] | None:
    """Which metrics there are; None where a trial has one value."""
    if metrics.plain:
        return None
    bounds = {
        name: {"low": _finite(bound.lower), "high": _finite(bound.upper), "text": str(bound)}
        for name, bound in metrics.constraints.items()
    }
    return {"names": list(metrics.names), "objectives": dict(metrics.objectives), "constraints": bounds}


def measured_columns(trials: Sequence[Trial], metrics: Metrics) -> dict[str, Any]:
    """What was measured of each trial: a column for each metric, and by id whether every bound is kept."""
    if metrics.plain:
        return {"values": [], "feasible": {}, "measured": {}}
    kept = {t.id: feasible(t.values, metrics) for t in trials if t.state == "complete"} if metrics.constraints else {}
    extra = {t.id: {name: _extra(m) for name, m in t.metrics.items() if _extra(m)} for t in trials}
    return {
        "values": [[_finite(t.values.get(name)) for t in trials] for name in metrics.names],
        "feasible": {i: known for i, known in kept.items() if known is not None},
        "measured": {i: known for i, known in extra.items() if known},
    }


def _extra(measured: Measurement) -> dict[str, Any]:
    """What is known of a value beside itself."""
    error = measured.noise_variance
    return ({"readings": list(measured.readings)} if measured.readings else {}) | (
        {} if error is None else {"standard_error": math.sqrt(error)}
    )


def front_payload(trials: Sequence[Trial], metrics: Metrics) -> dict[str, Any]:
    """The measured front and how its volume grew; nothing of one objective."""
    front = front_of(trials, metrics) if metrics.several else []
    if not front:
        return {"front": [], "hypervolume": None}
    grown, reference = volumes(trials, metrics)
    changed = np.flatnonzero(grown > np.concatenate([[-1.0], grown[:-1]]))
    steps = [[int(i) + 1, short_number(float(grown[i]))] for i in changed]
    volume = {"reference": dict(reference), "n": len(grown), "steps": steps, "value": short_number(float(grown[-1]))}
    return {"front": [t.id for t in front], "hypervolume": volume}


def believed_payload(opt: Optimizer, view: ModelView) -> dict[str, Any]:
    """The recommended set and the front as the model sees them."""
    found = [
        {
            "id": r.trial_id,
            "metrics": {name: [short_number(mean), short_number(std, 3)] for name, (mean, std) in r.metrics.items()},
            "feasibility": None if r.feasibility is None else short_number(r.feasibility, 3),
        }
        for r in as_tuple(opt.recommend())
    ]
    return {"recommended_set": found, "front": _front(view) if opt.metrics.several else None}


def _front(view: ModelView) -> dict[str, Any]:
    found = front_view(view)
    return {
        "names": found.names,
        "id": [t.id for t in found.trials],
        "on_front": found.on_front.tolist(),
        "feasible": found.feasible.tolist(),
        **{key: numbers_list(getattr(found, key).T) for key in ("at", "low", "high")},
    }


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value
