"""Small real runs with named metrics, for the pictures."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from ccgbo import AtLeast, AtMost, Between, Optimizer

CHEMISTRY: dict[str, Any] = {
    "objectives": {"yield": "maximize", "cost": "minimize"},
    "outcome_constraints": {"impurity": AtMost(0.6)},
}
BENCH = {"x": (0.0, 1.0), "y": (0.0, 1.0), "solvent": ["a", "b"]}


def chemistry(x: float, y: float, solvent: str) -> dict[str, float]:
    """A good yield is dear, and impure where both parameters are high."""
    value = 70.0 - 20.0 * (x - 0.7) ** 2 - 10.0 * (y - 0.2) ** 2 + (solvent == "a")
    return {"yield": value, "cost": 3.0 + 2.0 * x + y * y, "impurity": x * y + 0.3 * x}


def run_chemistry(target: Any, n: int) -> Any:
    """n trials; the impurity of the fifth is not measured, and the sixth fails."""
    for i in range(n):
        trial = target.ask()
        values = chemistry(**trial.params)
        if i == 4:
            values.pop("impurity")
        if i == 5:
            target.tell(trial, failed=True, error="it exploded")
        else:
            target.tell(trial, values)
    return target


@cache
def two_objectives() -> Optimizer:
    """Two objectives and a bound, 18 trials; not to be asked or told."""
    opt: Optimizer = run_chemistry(Optimizer(BENCH, **CHEMISTRY, seed=0), 18)
    return opt


@cache
def constrained() -> Optimizer:
    """One objective to be minimised under two bounds, 16 trials, of which the fourth lacks one; not to be changed."""
    bounds = {"c1": AtLeast(0.0), "c2": Between(0.0, 1.4)}
    opt = Optimizer(
        {"x": (0.0, 1.0), "y": (0.0, 1.0)}, objective="f", direction="minimize", outcome_constraints=bounds, seed=0
    )
    for i in range(16):
        trial = opt.ask()
        x, y = trial.params["x"], trial.params["y"]
        c1 = 0.5 * math.sin(2.0 * math.pi * (x * x - 2.0 * y)) + x + 2.0 * y - 1.5
        values = {"f": x + y, "c1": c1, "c2": 1.5 - x * x - y * y}
        if i == 3:
            values.pop("c1")
        opt.tell(trial, values)
    return opt


@cache
def three_objectives() -> Optimizer:
    """Three noisy objectives, 14 trials; not to be asked or told."""
    goals: Any = {"a": "minimize", "b": "minimize", "c": "maximize"}
    opt, noise = Optimizer({"x": (0.0, 1.0), "y": (0.0, 1.0)}, objectives=goals, seed=0), np.random.default_rng(0)
    for _ in range(14):
        trial = opt.ask()
        x, y = trial.params["x"], trial.params["y"]
        a, b, c = np.array([x, (1.0 - x) ** 2 + y, y - x * y]) + 0.1 * noise.standard_normal(3)
        opt.tell(trial, {"a": a, "b": b, "c": c})
    return opt
