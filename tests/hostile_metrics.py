"""Metrics that nobody hopes for, by name: what is asked for, and what is measured."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ccgbo import AtLeast, AtMost, Between

BOX = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
FAST: Any = {"n_initial": 4, "tuning": {"n_candidates": 64, "n_local": 16, "n_starts": 2, "search_steps": 8}}
N = 9

Function = Callable[[float, float, int], dict[str, Any]]  # of x, y and the number of the trial


def two(x: float, y: float) -> dict[str, Any]:
    return {"a": x - y * y, "b": (x - 0.2) ** 2 + y}


def scaled(size: float) -> Function:
    return lambda x, y, _: {name: size * value for name, value in two(x, y).items()}


FRONT: dict[str, Any] = {"objectives": {"a": "maximize", "b": "minimize"}}
KINDS: dict[str, tuple[dict[str, Any], Function]] = {
    "NaN in some metrics": (
        FRONT | {"outcome_constraints": {"c": AtMost(0.7)}},
        lambda x, y, i: two(x, y) | {"c": x + y} | ({"abc"[i % 3]: [math.nan, None, math.inf][i % 3]} if i > 1 else {}),
    ),
    "contradictory constraints": (
        {"objective": "a", "outcome_constraints": {"c": AtLeast(1.0), "d": AtLeast(1.0)}},
        lambda x, y, _: {"a": x, "c": x + y, "d": -x - y},
    ),
    "all infeasible": (
        FRONT | {"outcome_constraints": {"c": AtMost(-1.0)}},
        lambda x, y, _: two(x, y) | {"c": x},
    ),
    "all infeasible by any measure": (
        {"objective": "a", "outcome_constraints": {"c": AtMost(-1e300)}},
        lambda x, y, _: {"a": y, "c": x},
    ),
    "a constant objective": (FRONT, lambda x, y, _: two(x, y) | {"b": 3.0}),
    "nothing but constants": (
        FRONT | {"outcome_constraints": {"c": AtMost(1.0)}},
        lambda *_: {"a": 1.0, "b": 0.0, "c": 1.0},
    ),
    "a constant beyond its bound": (
        {"objective": "a", "outcome_constraints": {"c": Between(0.0, 1.0)}},
        lambda x, y, _: {"a": x + y, "c": 2.0},
    ),
    "metrics of 1e300": (FRONT, scaled(1e300)),
    "metrics of 1e-300": (FRONT, scaled(1e-300)),
    "metrics as large as numbers go": (
        FRONT,
        lambda x, y, _: {"a": 1.79e308 * (2 * x - 1), "b": 1.79e308 * (1 - 2 * y)},
    ),
    "metrics of both sizes": (
        FRONT | {"outcome_constraints": {"c": AtMost(0.5e300), "a": AtLeast(-1e-300)}},
        lambda x, y, _: {"a": 1e-300 * x, "b": 1e300 * y, "c": 1e300 * (x + y)},
    ),
    "a bound at the edge of numbers": (
        {"objective": "a", "outcome_constraints": {"c": Between(-1.7e308, 1.7e308), "d": Between(0.0, 5e-324)}},
        lambda x, y, i: {"a": x, "c": 1e300 * y, "d": 0.0 if i % 2 else x},
    ),
    "an objective that is bounded": (
        {"objective": "a", "direction": "minimize", "outcome_constraints": {"a": AtLeast(0.5)}},
        lambda x, y, _: {"a": x + y},
    ),
    "a metric that appears late": (
        {"objective": "a", "outcome_constraints": {"c": AtMost(0.5)}},
        lambda x, y, i: {"a": x} | ({"c": x + y} if i >= N - 2 else {}),
    ),
    "an objective that appears late": (FRONT, lambda x, y, i: {"b": y} if i < N - 2 else two(x, y)),
}


def play(target: Any, f: Function, n: int = N) -> dict[int, dict[str, float]]:
    """n trials; what of them counts as measured."""
    known = {}
    for i in range(n):
        trial = target.ask()
        values = f(trial.params["x"], trial.params["y"], i)
        target.tell(trial, values)
        known[trial.id] = {k: v for k, v in values.items() if v is not None and math.isfinite(v)}
    return known
