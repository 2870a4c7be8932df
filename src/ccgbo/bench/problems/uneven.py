"""Functions whose parameters matter unequally, from 1 to 20 dimensions, for choosing defaults: not reported on.

Most well-known test functions treat their coordinates alike, and real problems do not. A default chosen on the former
alone would learn that all lengthscales are equal. Optima are computed to 1e-12 by
``ccgbo.bench.problems.search.maximise_box`` and rounded up in the last digit.
"""

from __future__ import annotations

import math
from functools import partial

from ccgbo.bench.problems import formulas
from ccgbo.bench.problems.base import Factory, Problem, Rows, box, negated, point_of
from ccgbo.space import Space


def _make(seed: int, *, name: str, function: Rows, space: Space, optimum: float, argmax: tuple[float, ...]) -> Problem:
    """The same problem for every seed."""
    del seed
    return Problem(name=name, space=space, function=function, optimum=optimum, argmax=point_of(space, argmax))


MINIMISED: dict[str, Factory] = {
    name: partial(
        _make,
        name=name,
        function=negated(formula, len(argmax)),
        space=box(low, high, len(argmax)),
        optimum=optimum,
        argmax=argmax,
    )
    for name, formula, low, high, optimum, argmax in (
        ("Forrester1", formulas.forrester, 0.0, 1.0, 6.020740055768, (0.7572487580,)),
        ("GoldsteinPrice2", formulas.goldstein_price, -2.0, 2.0, -2.999999999999, (0.0, -1.0)),
        ("Ishigami3", formulas.ishigami, -math.pi, math.pi, 1.0 + 0.1 * math.pi**4, (-0.5 * math.pi, 0.0, math.pi)),
        (
            "Hartmann4",
            formulas.hartmann,
            0.0,
            1.0,
            3.729840584486,
            (0.1873952703426901, 0.1941515252296871, 0.5579177805637246, 0.2647796194965794),
        ),
        (
            "DettePepelyshev8",
            formulas.dette_pepelyshev,
            0.0,
            1.0,
            -10.675031162982,
            (0.5, 0.75, 0.3453625563, 0.0, 0.0, 0.0, 0.0, 0.0),
        ),
        (
            "Welch20",
            formulas.welch,
            -0.5,
            0.5,
            8.25,
            (
                *(-0.5, -0.5, -0.5, 0.0, -0.5, 0.5, -0.5, 0.0, 0.5, 0.5),
                *(0.5, -0.5, 0.0, 0.5, -0.5, 0.0, 0.5, 0.5, -0.5, 0.0),
            ),
        ),
    )
}

# largest at an edge or in a corner of the unit cube, as where more of something is better up to what is allowed
MAXIMISED: dict[str, Factory] = {
    name: partial(_make, name=name, function=formula, space=box(0.0, 1.0, len(argmax)), optimum=optimum, argmax=argmax)
    for name, formula, optimum, argmax in (
        ("Currin2", formulas.currin, 13.798722044729, (0.21666667, 0.0)),
        ("Park4", formulas.park, 25.589254158607, (1.0, 1.0, 1.0, 1.0)),
        ("Friedman5", formulas.friedman, 30.0, (0.5, 1.0, 0.0, 1.0, 1.0)),
        ("Loeppky7", formulas.loeppky, 23.9, (1.0,) * 7),
    )
}

CHOOSING = MINIMISED | MAXIMISED
