"""Test functions in 25 to 200 dimensions whose optimum is nowhere near the centre, each coordinate elsewhere.

The formulas are the well-known ones, moved so that the optimum is at ``target(...)``: in units of the box every
coordinate of it is 0.1 to 0.4 to one side of the middle, drawn from a generator whose seed is in this file. So neither
the centre nor the diagonal nor a corner is a good guess, the optimum is inside, and its value 0 is exact.

    family       box of each coordinate
    Ackley       [-5, 10]
    Rosenbrock   [-5, 10]
    Levy         [-10, 10]
    Rastrigin    [-5.12, 5.12]

Choosing and reporting have each family in two dimensions, not the same ones, and every problem has its own optimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from ccgbo.arrays import Array
from ccgbo.bench.problems import formulas
from ccgbo.bench.problems.base import Factory, Problem, Rows, box, point_of

TARGET_SEED = 20260


@dataclass(frozen=True, slots=True, kw_only=True)
class _Family:
    """A formula that is smallest, 0, where every coordinate is ``least``."""

    formula: Rows
    low: float
    high: float
    least: float


_FAMILIES = {
    "Ackley": _Family(formula=formulas.ackley, low=-5.0, high=10.0, least=0.0),
    "Rosenbrock": _Family(formula=formulas.rosenbrock, low=-5.0, high=10.0, least=1.0),
    "Levy": _Family(formula=formulas.levy, low=-10.0, high=10.0, least=1.0),
    "Rastrigin": _Family(formula=formulas.rastrigin, low=-5.12, high=5.12, least=0.0),
}


def target(family: str, d: int) -> Array:  # (d,) in [0.1, 0.4] or [0.6, 0.9]
    """Where the optimum is, in the unit cube."""
    rng = np.random.default_rng([TARGET_SEED, list(_FAMILIES).index(family), d])
    return 0.5 + rng.choice([-1.0, 1.0], d) * rng.uniform(0.1, 0.4, d)


def _moved(X: Array, *, formula: Rows, by: Array) -> Array:
    return -formula(X - by)


def _make(seed: int, *, family: str, d: int) -> Problem:
    """The same problem for every seed."""
    del seed
    of = _FAMILIES[family]
    space = box(of.low, of.high, d)
    optimum_at = of.low + (of.high - of.low) * target(family, d)
    return Problem(
        name=f"Shifted{family}{d}",
        space=space,
        function=partial(_moved, formula=of.formula, by=optimum_at - of.least),
        optimum=0.0,
        argmax=point_of(space, optimum_at),
    )


def _factories(dimensions: dict[str, tuple[int, ...]]) -> dict[str, Factory]:
    return {
        f"Shifted{family}{d}": partial(_make, family=family, d=d) for family, each in dimensions.items() for d in each
    }


CHOOSING: dict[str, Factory] = _factories(
    {"Ackley": (25, 100), "Rosenbrock": (50, 200), "Levy": (25, 100), "Rastrigin": (50, 200)}
)
REPORTING: dict[str, Factory] = _factories(
    {"Ackley": (50, 200), "Rosenbrock": (25, 100), "Levy": (50, 200), "Rastrigin": (25, 100)}
)
