"""Objectives and constraints between an optimizer and the framework that says them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ccgbo.errors import UnsupportedError
from ccgbo.metrics import Metrics
from ccgbo.validation import shown

GOALS = ("objective", "objectives", "outcome_constraints")


def options_of(metrics: Metrics) -> dict[str, Any]:
    """Metrics as the keywords of ``ccgbo.Optimizer``."""
    if metrics.plain:
        return {"direction": metrics.direction}
    return {"objectives": metrics.objectives, "outcome_constraints": metrics.constraints}


def refuse_goals(given: Mapping[str, Any], instead: str) -> None:
    """Refuse keywords of the optimizer that say what is sought, where the framework says it."""
    for name in GOALS:
        if given.get(name) is not None:
            raise UnsupportedError(f"{name} must be left out here: {instead}, got {name}={shown(given[name])}.")
