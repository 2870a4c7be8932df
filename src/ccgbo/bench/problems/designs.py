"""Two smooth designs with several objectives, problems RE2-4-1 and RE3-4-7 of Tanabe & Ishibuchi 2020 (Applied Soft
Computing 89), whose formulas, ranges and ends of the front these are. All objectives are minimised.

    FourBarTruss4x2       volume and displacement of a truss, by the cross-sections of its bars
    RocketInjector4x3     largest temperature of the injector face, distance from the inlet and largest temperature of
                          the post tip, by angle, areas of the hydrogen and of the oxygen, and thickness of the tip

Hypervolumes are measured from a tenth of the front's extent beyond its worst values, as BoTorch infers such a point.
"""

# mypy: disable-error-code="no-any-return"
# NumPy types arithmetic between arrays of unknown shape as Any; every function here returns what its formula gives.

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from ccgbo.arrays import Array
from ccgbo.bench.problems.base import Rows

FORCE, YOUNG, LENGTH, STRESS = 10.0, 2e5, 200.0, 10.0  # kN, kN/cm^2, cm, kN/cm^2
LEAST = FORCE / STRESS  # cross-section of the first bar
# coefficients of 1, a, h, o, t, aa, ha, hh, oa, oh, oo, ta, th, to, tt
FACE = (0.692, 0.477, -0.687, -0.080, -0.0650, -0.167, -0.0129, 0.0796, -0.0634, -0.0257, 0.0877, -0.0521, 0.00156,
        0.00198, 0.0184)  # fmt: skip
INLET = (0.153, -0.322, 0.396, 0.424, 0.0226, 0.175, 0.0185, -0.0701, -0.251, 0.179, 0.0150, 0.0134, 0.0296, 0.0752,
         0.0192)  # fmt: skip
TIP = (0.370, -0.205, 0.0307, 0.108, 1.019, -0.135, 0.0141, 0.0998, 0.208, -0.0301, -0.226, 0.353, 0.0, -0.0497,
       -0.423)  # fmt: skip
TIP_CUBIC = (0.202, -0.281, -0.342, -0.245, 0.281, -0.184, -0.281)  # of aah, aao, ahh, hho, hoo, att, aho


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """Objectives over a box."""

    function: Rows  # (n, d) -> (n, m), minimised
    low: tuple[float, ...]
    high: tuple[float, ...]
    ideal: tuple[float, ...]  # of the front
    nadir: tuple[float, ...]

    @property
    def reference(self) -> tuple[float, ...]:
        """The point that hypervolumes are measured from."""
        return tuple(worst + 0.1 * (worst - best) for best, worst in zip(self.ideal, self.nadir, strict=True))


def four_bar_truss(X: Array) -> Array:  # (n, 4) -> (n, 2)
    x1, x2, x3, x4 = X.T
    root = math.sqrt(2.0)
    volume = LENGTH * (2.0 * x1 + root * x2 + np.sqrt(x3) + x4)
    displacement = FORCE * LENGTH / YOUNG * (2.0 / x1 + 2.0 * root / x2 - 2.0 * root / x3 + 2.0 / x4)
    return np.stack([volume, displacement], axis=1)


def rocket_injector(X: Array) -> Array:  # (n, 4) -> (n, 3)
    a, h, o, t = X.T
    quadratic = np.stack(
        [np.ones_like(a), a, h, o, t, a * a, h * a, h * h, o * a, o * h, o * o, t * a, t * h, t * o, t * t], axis=1
    )
    cubic = np.stack([a * a * h, a * a * o, a * h * h, h * h * o, h * o * o, a * t * t, a * h * o], axis=1)
    Y = quadratic @ np.array([FACE, INLET, TIP]).T
    Y[:, 2] += cubic @ np.array(TIP_CUBIC)
    return Y


DESIGNS: Mapping[str, Design] = MappingProxyType(
    {
        "FourBarTruss4x2": Design(
            function=four_bar_truss,
            low=(LEAST, math.sqrt(2.0) * LEAST, math.sqrt(2.0) * LEAST, LEAST),
            high=(3.0 * LEAST,) * 4,
            ideal=(1237.84142300, 0.00276142375),
            nadir=(2886.36956042, 0.04),
        ),
        "RocketInjector4x3": Design(
            function=rocket_injector,
            low=(0.0,) * 4,
            high=(1.0,) * 4,
            ideal=(0.00889341391, 0.00488, -0.4315),
            nadir=(0.98949120096, 0.956587924661, 0.987530948586),
        ),
    }
)
