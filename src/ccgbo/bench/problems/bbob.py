"""Functions of the Black-Box Optimization Benchmark (Hansen et al. 2009), from ``ioh``.

Part of the fresh set, on which nothing is ever chosen:

    problem                 f     what makes it hard
    DifferentPowers2        14    sensitivities that differ more and more towards the optimum
    LunacekRastrigin2       24    two funnels, the larger one with the worse optimum, and ripples
    StepEllipsoid5          7     plateaus, condition 100
    BentCigar5              12    a ridge that is bent, condition 10^6
    Gallagher5              21    101 peaks of random place, height and shape
    RotatedEllipsoid10      10    condition 10^6 along no coordinate
    SharpRidge10            13    a ridge that has no slope across it
    AttractiveSector20      6     one orthant is far better than the others

The rugged set, on which the default may be chosen, has twelve of the others:

    RippledEllipsoid5       2     condition 10^6, with small ripples
    GriewankRosenbrock5     19    Rosenbrock's valley with waves
    MovedGallagher5         22    21 peaks of random place, height and shape
    Weierstrass5            16    rough at every scale
    MovedRastrigin10        3     ten to the dimension local optima, off the grid and unlike one another
    LinearSlope10           5     the optimum in a corner
    RotatedRosenbrock10     9     a bent valley along no coordinate
    Schaffers10             17    ripples that grow towards the optimum
    MovedSchwefel10         20    the best and the second best optimum far apart, near corners
    MovedRosenbrock20       8     a bent valley
    Discus20                11    one direction a thousand times as steep
    RotatedRastrigin20      15    Rastrigin's along no coordinate

All in [-5, 5]^d, to be minimised there and maximised with the opposite sign here. The seed is the instance: it
moves and rotates the function, so that no two seeds are alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ccgbo.arrays import Array
from ccgbo.bench.problems.base import Factory, Problem, box, need, point_of

FUNCTIONS = {
    "DifferentPowers2": 14,
    "LunacekRastrigin2": 24,
    "StepEllipsoid5": 7,
    "BentCigar5": 12,
    "Gallagher5": 21,
    "RotatedEllipsoid10": 10,
    "SharpRidge10": 13,
    "AttractiveSector20": 6,
}
RUGGED_FUNCTIONS = {
    "RippledEllipsoid5": 2,
    "GriewankRosenbrock5": 19,
    "MovedGallagher5": 22,
    "Weierstrass5": 16,
    "MovedRastrigin10": 3,
    "LinearSlope10": 5,
    "RotatedRosenbrock10": 9,
    "Schaffers10": 17,
    "MovedSchwefel10": 20,
    "MovedRosenbrock20": 8,
    "Discus20": 11,
    "RotatedRastrigin20": 15,
}


@dataclass(frozen=True, slots=True)
class Instance:
    """Minus one function of the suite; it is made again where it is unpickled, because ``ioh`` pickles none."""

    function: int
    instance: int
    d: int

    def made(self) -> Any:
        return need("bbob", "ioh").get_problem(self.function, self.instance, self.d)

    def __call__(self, X: Array) -> Array:  # (n, d) -> (n,)
        return -np.asarray(self.made()(X.tolist()), dtype=np.float64)


def _make(seed: int, *, name: str, function: int) -> Problem:
    need(name, "ioh")
    d = int(re.findall(r"\d+$", name)[0])
    instance = Instance(function, seed + 1, d)
    best, space = instance.made().optimum, box(-5.0, 5.0, d)
    return Problem(
        name=name, space=space, function=instance, optimum=-float(best.y), argmax=point_of(space, np.asarray(best.x))
    )


def _factories(functions: Mapping[str, int]) -> dict[str, Factory]:
    return {name: partial(_make, name=name, function=number) for name, number in functions.items()}


FRESH = _factories(FUNCTIONS)
RUGGED = _factories(RUGGED_FUNCTIONS)
