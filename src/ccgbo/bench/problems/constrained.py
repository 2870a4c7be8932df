"""One objective with measured constraints, from published formulas: more problems on which the preset may be chosen.

    G04_5 ... G24_2        the problems of those numbers of the CEC 2006 competition (Liang et al. 2006) without
                           equations
    DiscBranin2            Branin within a disc (Gelbart et al. 2014)
    Mystery2               Sasena's mystery function beside a sine (Sasena 2002)
    ConstrainedAckley5     Ackley in a half-space and a ball (Eriksson and Poloczek 2021), in five dimensions
    TubularColumn2, IBeam4, CantileverBeam5    engineering designs (Gandomi et al. 2013)

The objective, minimised, is the first column of what a formula returns, and the point is feasible where every other
column is at most 0. ``best`` is the value published, to more digits where the point allows it; ``worst`` is the largest
feasible value that a search found, rounded up to three digits: what counts before a point is feasible. For G09_7 it is
10 000, as its largest, 1e7, would drown all others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from ccgbo.arrays import Array
from ccgbo.bench.problems.formulas import ackley, branin

Box = tuple[tuple[float, float], ...]  # bounds of each parameter


@dataclass(frozen=True, slots=True, kw_only=True)
class Formula:
    """A problem of one objective with constraints."""

    function: Callable[..., tuple[Array, ...]]  # the columns of X, each (n,) -> objective, constraints, each (n,)
    bounds: Box
    constraints: int
    best: float
    worst: float
    point: tuple[float, ...]  # where ``best`` is attained, up to rounding

    def __call__(self, X: Array) -> Array:  # (n, d) own units -> (n, 1 + constraints)
        return np.stack(self.function(*X.T), axis=1)


def g04(x1: Array, x2: Array, x3: Array, x4: Array, x5: Array) -> tuple[Array, ...]:
    """Himmelblau's problem: three quantities, each between two bounds."""
    f = 5.3578547 * x3**2 + 0.8356891 * x1 * x5 + 37.293239 * x1 - 40792.141
    u = 85.334407 + 0.0056858 * x2 * x5 + 0.0006262 * x1 * x4 - 0.0022053 * x3 * x5
    v = 80.51249 + 0.0071317 * x2 * x5 + 0.0029955 * x1 * x2 + 0.0021813 * x3**2
    w = 9.300961 + 0.0047026 * x3 * x5 + 0.0012547 * x1 * x3 + 0.0019085 * x3 * x4
    return f, u - 92.0, -u, v - 110.0, 90.0 - v, w - 25.0, 20.0 - w


def g06(x1: Array, x2: Array) -> tuple[Array, ...]:
    """Two cubes in a thin crescent."""
    f = (x1 - 10.0) ** 3 + (x2 - 20.0) ** 3
    return f, 100.0 - (x1 - 5.0) ** 2 - (x2 - 5.0) ** 2, (x1 - 6.0) ** 2 + (x2 - 5.0) ** 2 - 82.81


def g07(*x: Array) -> tuple[Array, ...]:
    """A quadratic function of ten parameters under three linear and five quadratic constraints."""
    x1, x2, x3, x4, x5, x6, x7, x8, x9, x10 = x
    f = x1**2 + x2**2 + x1 * x2 - 14.0 * x1 - 16.0 * x2 + (x3 - 10.0) ** 2 + 4.0 * (x4 - 5.0) ** 2 + (x5 - 3.0) ** 2
    f = f + 2.0 * (x6 - 1.0) ** 2 + 5.0 * x7**2 + 7.0 * (x8 - 11.0) ** 2 + 2.0 * (x9 - 10.0) ** 2 + (x10 - 7.0) ** 2
    return (
        f + 45.0,
        -105.0 + 4.0 * x1 + 5.0 * x2 - 3.0 * x7 + 9.0 * x8,
        10.0 * x1 - 8.0 * x2 - 17.0 * x7 + 2.0 * x8,
        -8.0 * x1 + 2.0 * x2 + 5.0 * x9 - 2.0 * x10 - 12.0,
        3.0 * (x1 - 2.0) ** 2 + 4.0 * (x2 - 3.0) ** 2 + 2.0 * x3**2 - 7.0 * x4 - 120.0,
        5.0 * x1**2 + 8.0 * x2 + (x3 - 6.0) ** 2 - 2.0 * x4 - 40.0,
        x1**2 + 2.0 * (x2 - 2.0) ** 2 - 2.0 * x1 * x2 + 14.0 * x5 - 6.0 * x6,
        0.5 * (x1 - 8.0) ** 2 + 2.0 * (x2 - 4.0) ** 2 + 3.0 * x5**2 - x6 - 30.0,
        -3.0 * x1 + 6.0 * x2 + 12.0 * (x9 - 8.0) ** 2 - 7.0 * x10,
    )


def g08(x1: Array, x2: Array) -> tuple[Array, ...]:
    """Waves in a small region; a thousand times as high beyond it, towards x1 = 0."""
    waves = (2.0 * math.pi * np.sinc(2.0 * x1)) ** 3  # (sin(2 pi x1) / x1)^3
    f = -waves * np.sin(2.0 * math.pi * x2) / np.maximum(x1 + x2, 1e-12)
    return f, x1**2 - x2 + 1.0, 1.0 - x1 + (x2 - 4.0) ** 2


def g09(x1: Array, x2: Array, x3: Array, x4: Array, x5: Array, x6: Array, x7: Array) -> tuple[Array, ...]:
    """Powers up to the sixth of seven parameters."""
    f = (x1 - 10.0) ** 2 + 5.0 * (x2 - 12.0) ** 2 + x3**4 + 3.0 * (x4 - 11.0) ** 2 + 10.0 * x5**6
    f = f + 7.0 * x6**2 + x7**4 - 4.0 * x6 * x7 - 10.0 * x6 - 8.0 * x7
    return (
        f,
        -127.0 + 2.0 * x1**2 + 3.0 * x2**4 + x3 + 4.0 * x4**2 + 5.0 * x5,
        -282.0 + 7.0 * x1 + 3.0 * x2 + 10.0 * x3**2 + x4 - x5,
        -196.0 + 23.0 * x1 + x2**2 + 6.0 * x6**2 - 8.0 * x7,
        4.0 * x1**2 + x2**2 - 3.0 * x1 * x2 + 2.0 * x3**2 + 5.0 * x6 - 11.0 * x7,
    )


def g10(x1: Array, x2: Array, x3: Array, x4: Array, x5: Array, x6: Array, x7: Array, x8: Array) -> tuple[Array, ...]:
    """The design of a heat exchanger: a sum under six constraints, all of them active."""
    return (
        x1 + x2 + x3,
        -1.0 + 0.0025 * (x4 + x6),
        -1.0 + 0.0025 * (x5 + x7 - x4),
        -1.0 + 0.01 * (x8 - x5),
        -x1 * x6 + 833.33252 * x4 + 100.0 * x1 - 83333.333,
        -x2 * x7 + 1250.0 * x5 + x2 * x4 - 1250.0 * x4,
        -x3 * x8 + 1250000.0 + x3 * x5 - 2500.0 * x5,
    )


def g24(x1: Array, x2: Array) -> tuple[Array, ...]:
    """A slope over two separate regions."""
    first = -2.0 * x1**4 + 8.0 * x1**3 - 8.0 * x1**2 + x2 - 2.0
    return -x1 - x2, first, -4.0 * x1**4 + 32.0 * x1**3 - 88.0 * x1**2 + 96.0 * x1 + x2 - 36.0


def disc_branin(x1: Array, x2: Array) -> tuple[Array, ...]:
    """Branin within a disc that holds one of its three minima."""
    return branin(np.stack([x1, x2], axis=1)), (x1 - 2.5) ** 2 + (x2 - 7.5) ** 2 - 50.0


def mystery(x1: Array, x2: Array) -> tuple[Array, ...]:
    """Sasena's function with the optimum on a wave of the constraint."""
    f = 2.0 + 0.01 * (x2 - x1**2) ** 2 + (1.0 - x1) ** 2 + 2.0 * (2.0 - x2) ** 2
    return f + 7.0 * np.sin(0.5 * x1) * np.sin(0.7 * x1 * x2), -np.sin(x1 - x2 - math.pi / 8.0)


def constrained_ackley(*x: Array) -> tuple[Array, ...]:
    """Ackley where the sum is at most 0 and the norm at most 5: its minimum is on the edge of the first."""
    X = np.stack(x, axis=1)
    return ackley(X), X.sum(axis=1), np.sqrt((X**2).sum(axis=1)) - 5.0


def tubular_column(d: Array, t: Array) -> tuple[Array, ...]:
    """Mean diameter and thickness of a column under a load of 2500 kgf: cost under yield and buckling."""
    load, stress, modulus, length = 2500.0, 500.0, 0.85e6, 250.0
    buckling = 8.0 * load * length**2 / (math.pi**3 * modulus * d * t * (d**2 + t**2)) - 1.0
    return 9.8 * d * t + 2.0 * d, load / (math.pi * d * t * stress) - 1.0, buckling


def i_beam(h: Array, b: Array, web: Array, flange: Array) -> tuple[Array, ...]:
    """Deflection of a beam under bounds on its cross-section and its stress."""
    inner = h - 2.0 * flange
    inertia = web * inner**3 / 12.0 + b * flange**3 / 6.0 + 2.0 * b * flange * ((h - flange) / 2.0) ** 2
    bending = 18e4 * h / (web * inner**3 + 2.0 * b * web * (4.0 * flange**2 + 3.0 * h * inner))
    sideways = 15e3 * b / (inner * web**3 + 2.0 * web * b**3)
    return 5000.0 / inertia, 2.0 * b * flange + web * inner - 300.0, bending + sideways - 56.0


def cantilever(*x: Array) -> tuple[Array, ...]:
    """Weight of a stepped beam under a bound on its deflection."""
    X = np.stack(x, axis=1)
    return 0.0624 * X.sum(axis=1), X**-3 @ np.array([61.0, 37.0, 19.0, 7.0, 1.0]) - 1.0


CHOOSING: Mapping[str, Formula] = MappingProxyType(
    {
        "DiscBranin2": Formula(
            function=disc_branin,
            bounds=((-5.0, 10.0), (0.0, 15.0)),
            constraints=1,
            best=0.397887357729738,
            worst=180.0,
            point=(math.pi, 2.275),
        ),
        "Mystery2": Formula(
            function=mystery,
            bounds=((0.0, 5.0), (0.0, 5.0)),
            constraints=1,
            best=-1.17427432886634,
            worst=35.6,
            point=(2.744951046736978, 2.352251965038253),
        ),
        "G06_2": Formula(
            function=g06,
            bounds=((13.0, 100.0), (0.0, 100.0)),
            constraints=2,
            best=-6961.81387558015,
            worst=-1200.0,
            point=(14.095, 0.8429607892154795),
        ),
        "G08_2": Formula(
            function=g08,
            bounds=((0.0, 10.0), (0.0, 10.0)),
            constraints=2,
            best=-0.0958250414180359,
            worst=0.106,
            point=(1.22797135260752599, 4.24537336612274885),
        ),
        "G24_2": Formula(
            function=g24,
            bounds=((0.0, 3.0), (0.0, 4.0)),
            constraints=2,
            best=-5.50801327159536,
            worst=0.0,
            point=(2.32952019747762, 3.17849307411774),
        ),
        "TubularColumn2": Formula(
            function=tubular_column,
            bounds=((2.0, 14.0), (0.2, 0.8)),
            constraints=2,
            best=26.49949689151545,
            worst=138.0,
            point=(5.451156234254859, 0.2919654771436775),
        ),
        "IBeam4": Formula(
            function=i_beam,
            bounds=((10.0, 80.0), (10.0, 50.0), (0.9, 5.0), (0.9, 5.0)),
            constraints=2,
            best=0.013074118905223335,
            worst=6.68,
            point=(80.0, 50.0, 0.9, 2.3217922606924644),
        ),
        "CantileverBeam5": Formula(
            function=cantilever,
            bounds=((0.01, 100.0),) * 5,
            constraints=1,
            best=1.3399563605990765,
            worst=31.2,
            point=(6.016016096086892, 5.309173814925381, 4.494329625104844, 3.501474808315901, 2.1526652805521853),
        ),
        "ConstrainedAckley5": Formula(
            function=constrained_ackley,
            bounds=((-5.0, 10.0),) * 5,
            constraints=2,
            best=0.0,
            worst=9.57,
            point=(0.0,) * 5,
        ),
        "G04_5": Formula(
            function=g04,
            bounds=((78.0, 102.0), (33.0, 45.0), (27.0, 45.0), (27.0, 45.0), (27.0, 45.0)),
            constraints=6,
            best=-30665.5386717834,
            worst=-23000.0,
            point=(78.0, 33.0, 29.9952560256815985, 45.0, 36.7758129057882073),
        ),
        "G09_7": Formula(
            function=g09,
            bounds=((-10.0, 10.0),) * 7,
            constraints=4,
            best=680.630057374402,
            worst=1e4,
            point=(
                2.33049935147405174,
                1.95137236847114592,
                -0.477541399510615805,
                4.36572624923625874,
                -0.624486959100388983,
                1.03813099410962173,
                1.5942266780671519,
            ),
        ),
        "G10_8": Formula(
            function=g10,
            bounds=((1e2, 1e4), (1e3, 1e4), (1e3, 1e4)) + ((10.0, 1e3),) * 5,
            constraints=6,
            best=7049.24802052867,
            worst=30000.0,
            point=(
                579.306685017979589,
                1359.97067807935605,
                5109.97065743133317,
                182.01769963061534,
                295.601173702746792,
                217.982300369384632,
                286.41652592786852,
                395.601173702746735,
            ),
        ),
        "G07_10": Formula(
            function=g07,
            bounds=((-10.0, 10.0),) * 10,
            constraints=8,
            best=24.30620906818,
            worst=4770.0,
            point=(
                2.17199634142692,
                2.3636830416034,
                8.77392573913157,
                5.09598443745173,
                0.990654756560493,
                1.43057392853463,
                1.32164415364306,
                9.82872576524495,
                8.2800915887356,
                8.3759266477347,
            ),
        ),
    }
)
"""By name, which ends in the number of parameters."""
