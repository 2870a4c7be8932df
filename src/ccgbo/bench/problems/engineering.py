"""Engineering formulas with known optima: smooth, noise-free, in physical units.

Source of the formulas and ranges: Surjanovic and Bingham, Virtual Library of Simulation Experiments. Hartmann3,
Shekel4 and Colville4 stand beside them as well-known shapes. What is maximised:

    Borehole8       water flow through a borehole, m^3/yr
    WingWeight10    minus the weight of a light aircraft's wing, lb
    PistonCycle7    minus the cycle time of a piston, s
    OTLCircuit6     midpoint voltage of a push-pull circuit, V

Optima are computed to 1e-12 by ``ccgbo.bench.problems.search.maximise_box`` and rounded up in the last digit.
"""

# mypy: disable-error-code="no-any-return"
# NumPy types arithmetic between arrays of unknown shape as Any; every function here returns what its formula gives.

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ccgbo.arrays import Array
from ccgbo.bench.problems import formulas
from ccgbo.bench.problems.base import Factory, Problem, Rows, box, negated, point_of
from ccgbo.space import Float, Space

BOREHOLE = Space(
    {
        "rw": Float(0.05, 0.15),  # radius of the borehole, m
        "r": Float(100.0, 50_000.0),  # radius of influence, m
        "Tu": Float(63_070.0, 115_600.0),  # transmissivity of the upper aquifer, m^2/yr
        "Hu": Float(990.0, 1110.0),  # head of the upper aquifer, m
        "Tl": Float(63.1, 116.0),  # transmissivity of the lower aquifer, m^2/yr
        "Hl": Float(700.0, 820.0),  # head of the lower aquifer, m
        "L": Float(1120.0, 1680.0),  # length of the borehole, m
        "Kw": Float(9855.0, 12_045.0),  # conductivity of the borehole, m/yr
    }
)
WING = Space(
    {
        "Sw": Float(150.0, 200.0),  # wing area, ft^2
        "Wfw": Float(220.0, 300.0),  # fuel in the wing, lb
        "A": Float(6.0, 10.0),  # aspect ratio
        "sweep": Float(-10.0, 10.0),  # quarter-chord sweep, degrees
        "q": Float(16.0, 45.0),  # dynamic pressure at cruise, lb/ft^2
        "taper": Float(0.5, 1.0),
        "tc": Float(0.08, 0.18),  # thickness to chord
        "Nz": Float(2.5, 6.0),  # ultimate load factor
        "Wdg": Float(1700.0, 2500.0),  # design gross weight, lb
        "Wp": Float(0.025, 0.08),  # paint, lb/ft^2
    }
)
PISTON = Space(
    {
        "M": Float(30.0, 60.0),  # piston weight, kg
        "S": Float(0.005, 0.020),  # piston surface, m^2
        "V0": Float(0.002, 0.010),  # initial gas volume, m^3
        "k": Float(1000.0, 5000.0),  # spring coefficient, N/m
        "P0": Float(90_000.0, 110_000.0),  # atmospheric pressure, N/m^2
        "Ta": Float(290.0, 296.0),  # ambient temperature, K
        "T0": Float(340.0, 360.0),  # filling gas temperature, K
    }
)
OTL = Space(
    {
        "Rb1": Float(50.0, 150.0),  # kOhm
        "Rb2": Float(25.0, 70.0),
        "Rf": Float(0.5, 3.0),
        "Rc1": Float(1.2, 2.5),
        "Rc2": Float(0.25, 1.20),
        "beta": Float(50.0, 300.0),  # current gain, A
    }
)


def borehole(X: Array) -> Array:
    """2 pi Tu (Hu - Hl) / (ln(r/rw) (1 + 2 L Tu / (ln(r/rw) rw^2 Kw) + Tu/Tl))."""
    rw, r, Tu, Hu, Tl, Hl, L, Kw = X.T
    log_ratio = np.log(r / rw)
    return 2.0 * math.pi * Tu * (Hu - Hl) / (log_ratio * (1.0 + 2.0 * L * Tu / (log_ratio * rw**2 * Kw) + Tu / Tl))


def wing_weight(X: Array) -> Array:
    Sw, Wfw, A, sweep, q, taper, tc, Nz, Wdg, Wp = X.T
    cos = np.cos(np.deg2rad(sweep))
    shape = (A / cos**2) ** 0.6 * q**0.006 * taper**0.04 * (100.0 * tc / cos) ** -0.3
    return 0.036 * Sw**0.758 * Wfw**0.0035 * shape * (Nz * Wdg) ** 0.49 + Sw * Wp


def piston_cycle(X: Array) -> Array:
    """2 pi sqrt(M / (k + S^2 P0 V0 Ta / (T0 V^2))) at the equilibrium volume V."""
    M, S, V0, k, P0, Ta, T0 = X.T
    A = P0 * S + 19.62 * M - k * V0 / S
    V = S / (2.0 * k) * (np.sqrt(A**2 + 4.0 * k * P0 * V0 * Ta / T0) - A)
    return 2.0 * math.pi * np.sqrt(M / (k + S**2 * P0 * V0 * Ta / (T0 * V**2)))


def otl_circuit(X: Array) -> Array:
    Rb1, Rb2, Rf, Rc1, Rc2, beta = X.T
    Vb1 = 12.0 * Rb2 / (Rb1 + Rb2)
    gain = beta * (Rc2 + 9.0)
    return ((Vb1 + 0.74) * gain + 11.35 * Rf + 0.74 * Rf * gain / Rc1) / (gain + Rf)


def _make(seed: int, *, name: str, space: Space, function: Rows, optimum: float, argmax: tuple[float, ...]) -> Problem:
    del seed
    return Problem(name=name, space=space, function=function, optimum=optimum, argmax=point_of(space, argmax))


def _factory(name: str, space: Space, function: Rows, optimum: float, argmax: tuple[float, ...]) -> Factory:
    return partial(_make, name=name, space=space, function=function, optimum=optimum, argmax=argmax)


REPORTING: dict[str, Factory] = {
    "Hartmann3": _factory(
        "Hartmann3",
        box(0.0, 1.0, 3),
        negated(formulas.hartmann, 3),
        3.862779787333,
        (0.114588878571882, 0.555648894364783, 0.8525469846743587),
    ),
    "Shekel4": _factory(
        "Shekel4",
        box(0.0, 10.0, 4),
        negated(formulas.shekel, 4),
        10.536443153484,
        (4.0007468680225955, 3.9995094797449632, 4.0007468680225955, 3.9995094797449632),
    ),
    "Colville4": _factory("Colville4", box(-10.0, 10.0, 4), negated(formulas.colville, 4), 0.0, (1.0,) * 4),
    "Borehole8": _factory(
        "Borehole8",
        BOREHOLE,
        borehole,
        309.575587660408,
        (0.15, 100.0, 115_600.0, 1110.0, 116.0, 700.0, 1120.0, 12_045.0),
    ),
    "WingWeight10": _factory(
        "WingWeight10",
        WING,
        negated(wing_weight, 10),
        -123.253671700917,
        (150.0, 220.0, 6.0, 0.0, 16.0, 0.5, 0.18, 2.5, 1700.0, 0.025),
    ),
    "PistonCycle7": _factory(
        "PistonCycle7",
        PISTON,
        negated(piston_cycle, 7),
        -0.164228849162,
        (30.0, 0.020, 0.002, 5000.0, 110_000.0, 290.0, 360.0),
    ),
    "OTLCircuit6": _factory("OTLCircuit6", OTL, otl_circuit, 9.601342642321, (50.0, 70.0, 3.0, 1.2, 0.25, 50.0)),
}
