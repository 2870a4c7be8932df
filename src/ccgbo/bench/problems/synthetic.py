"""Synthetic problems: the paper's tasks, their embedded versions, families in 1 to 20 dimensions, a set for choosing.

Optima are computed to 1e-12 by ``ccgbo.bench.problems.search.maximise_box`` and rounded up in the last digit, so
that rounding never makes a regret negative.

Choices where the source is silent:

- Langermann2 is the sum of Surjanovic and Bingham, which they minimise; it is negated like the others, optimum 4.1558.
- Noise of standard deviation 0.1 on the low-dimensional tasks of the paper, none on the other sets.
- Ackley and Rastrigin live on boxes whose centre is not the optimum, so that a design which tries the centre gains
  nothing by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from ccgbo.bench.problems import formulas
from ccgbo.bench.problems.base import Factory, Problem, Rows, box, negated, point_of
from ccgbo.space import Float, Space

PAPER_NOISE = 0.1
EMBEDDED_DIMENSIONS = (25, 100, 300, 1000)
BRANIN_SPACE = Space({"x1": Float(-5.0, 10.0), "x2": Float(0.0, 15.0)})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Function:
    """One formula, its cube and its maximum after negation."""

    formula: Rows
    low: float
    high: float
    argmax: tuple[float, ...]  # the effective dimensions
    optimum: float = 0.0


_LANGERMANN = _Function(
    formula=formulas.langermann,
    low=0.0,
    high=10.0,
    argmax=(2.7934022097978275, 1.597232501888387),
    optimum=4.155809291848,
)
_HARTMANN6 = _Function(
    formula=formulas.hartmann,
    low=0.0,
    high=1.0,
    argmax=(
        0.20168951104589544,
        0.15001069237420145,
        0.4768739733868458,
        0.2753324306438583,
        0.3116516179969939,
        0.65730053309217,
    ),
    optimum=3.322368011416,
)
_MICHALEWICZ5 = _Function(
    formula=formulas.michalewicz,
    low=0.0,
    high=np.pi,
    argmax=(2.202905519977562, 1.5707963264861122, 1.2849915701574819, 1.92305846961735, 1.7204697722745212),
    optimum=4.687658179089,
)


def _griewank(d: int) -> _Function:
    return _Function(formula=formulas.griewank, low=-600.0, high=600.0, argmax=(0.0,) * d)


def _levy(d: int) -> _Function:
    return _Function(formula=formulas.levy, low=-10.0, high=10.0, argmax=(1.0,) * d)


def _rosenbrock(d: int) -> _Function:
    return _Function(formula=formulas.rosenbrock, low=-5.0, high=10.0, argmax=(1.0,) * d)


def _ackley(d: int) -> _Function:
    # At zero the formula leaves a rounding residue of 4e-16 of its own; the optimum is 0.
    return _Function(formula=formulas.ackley, low=-15.0, high=30.0, argmax=(0.0,) * d)


def _rastrigin(d: int) -> _Function:
    return _Function(formula=formulas.rastrigin, low=-4.0, high=5.12, argmax=(0.0,) * d)


def _styblinski_tang(d: int) -> _Function:
    argmax = (-2.903534027771177,) * d
    return _Function(formula=formulas.styblinski_tang, low=-5.0, high=5.0, argmax=argmax, optimum=39.166165703772 * d)


def _schwefel(d: int) -> _Function:
    return _Function(formula=formulas.schwefel, low=-500.0, high=500.0, argmax=(420.968746359982,) * d)


def _dixon_price(d: int) -> _Function:
    argmax = tuple(2.0 ** (2.0**-j - 1.0) for j in range(d))
    return _Function(formula=formulas.dixon_price, low=-10.0, high=10.0, argmax=argmax)


def _zakharov(d: int) -> _Function:
    return _Function(formula=formulas.zakharov, low=-5.0, high=10.0, argmax=(0.0,) * d)


def _make(seed: int, *, name: str, function: _Function, noise_std: float, dimensions: int | None = None) -> Problem:
    """The same problem for every seed; ``dimensions`` beyond the effective ones change nothing."""
    del seed
    d = len(function.argmax)
    space = box(function.low, function.high, dimensions or d)
    middle = 0.5 * (function.low + function.high)
    return Problem(
        name=name,
        space=space,
        function=negated(function.formula, d),
        optimum=function.optimum,
        argmax=point_of(space, [*function.argmax, *[middle] * (space.d - d)]),
        noise_std=noise_std,
    )


def _branin(seed: int) -> Problem:
    del seed
    return Problem(
        name="Branin2",
        space=BRANIN_SPACE,
        function=negated(formulas.branin, 2),
        optimum=-0.397887357729,
        argmax={"x1": np.pi, "x2": 2.275},
    )


def _factories(functions: dict[str, _Function], *, noise_std: float) -> dict[str, Factory]:
    return {name: partial(_make, name=name, function=f, noise_std=noise_std) for name, f in functions.items()}


PAPER: dict[str, Factory] = _factories(
    {
        "Langermann2": _LANGERMANN,
        "Hartmann6": _HARTMANN6,
        "Griewank6": _griewank(6),
        "Levy8": _levy(8),
        "Rosenbrock10": _rosenbrock(10),
        "Rosenbrock2": _rosenbrock(2),
    },
    noise_std=PAPER_NOISE,
)

EMBEDDED: dict[str, Factory] = {
    f"{base}_{D}": partial(_make, name=f"{base}_{D}", function=f, noise_std=0.0, dimensions=D)
    for base, f in (("Levy4", _levy(4)), ("Hartmann6", _HARTMANN6))
    for D in EMBEDDED_DIMENSIONS
}

CHOOSING: dict[str, Factory] = {
    "Branin2": _branin,
    **_factories(
        {
            "Ackley5": _ackley(5),
            "Michalewicz5": _MICHALEWICZ5,
            "StyblinskiTang4": _styblinski_tang(4),
        },
        noise_std=0.0,
    ),
}

DIMENSION: dict[str, Factory] = _factories(
    {
        f"{family}{d}": function(d)
        for family, function in (
            ("DixonPrice", _dixon_price),
            ("Zakharov", _zakharov),
            ("Rastrigin", _rastrigin),
            ("Schwefel", _schwefel),
        )
        for d in (1, 2, 5, 10, 20)
    },
    noise_std=0.0,
)
