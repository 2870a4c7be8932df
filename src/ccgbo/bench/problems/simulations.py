"""Small simulations of real things; part of the fresh set.

    problem             what is searched                                                    value (maximised)
    FlowReactor4        residence time, equivalents, concentration and temperature of a     minus the E-factor: waste
                        flow reactor for an aromatic substitution (Hone et al. 2017)        per product, by mass
    Pendulum5           gains of a controller that swings a pendulum up and holds it        mean return of 4 episodes
    LynxHare4           the rates of a predator-prey model fitted to the pelts of hares     minus the root mean square
                        and lynxes that the Hudson's Bay Company bought, 1900 to 1920       error of the logarithms

Equal points have equal values: the episodes start from fixed seeds. No optimum is known; see best_known.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from ccgbo.arrays import Array
from ccgbo.bench.problems.base import Factory, Problem, need, row_by_row
from ccgbo.bench.problems.best_known import best_known
from ccgbo.space import Float, Space

# -- the reactor: 2,4-dinitrofluorobenzene (A) and pyrrolidine (B) to the ortho product (C), the para (D), the bis (E)

REACTOR = Space(
    {
        "residence_time": Float(0.5, 2.0),  # minutes
        "equivalents": Float(1.0, 5.0),
        "concentration": Float(0.1, 0.5),  # mol/l
        "temperature": Float(30.0, 120.0),  # degrees Celsius
    }
)
RATES_AT_90 = np.array([57.9, 2.70, 0.865, 1.63])  # 10^-2 l/(mol s): A+B->C, A+B->D, C+B->E, D+B->E
ACTIVATION = np.array([33.3, 35.3, 38.9, 44.8])  # kJ/mol
MOLAR_MASS = np.array([159.09, 71.12, 210.21, 210.21, 261.33])  # g/mol of A to E
CHANGE = np.array([[-1, -1, 1, 0, 0], [-1, -1, 0, 1, 0], [0, -1, -1, 0, 1], [0, -1, 0, -1, 1]], dtype=np.float64)
ETHANOL = 789.0  # g/l
GAS_CONSTANT = 8.314e-3  # kJ/(mol K)


def e_factor(params: Mapping[str, Any]) -> float:
    """Mass of solvent, unused reagents and by-products for each mass of the ortho product."""
    kelvin = params["temperature"] + 273.15
    k = 0.6 * RATES_AT_90 * np.exp(-ACTIVATION / GAS_CONSTANT * (1.0 / kelvin - 1.0 / 363.15))  # l/(mol min)

    def slope(_: float, c: Array) -> Array:
        a, b, ortho, para, _bis = c
        change: Array = (k * b * np.array([a, a, ortho, para])) @ CHANGE
        return change

    start = params["concentration"] * np.array([1.0, params["equivalents"], 0.0, 0.0, 0.0])
    end = solve_ivp(slope, (0.0, params["residence_time"]), start, method="LSODA", rtol=1e-8, atol=1e-10).y[:, -1]
    product = MOLAR_MASS[2] * end[2]
    return float((ETHANOL + MOLAR_MASS @ end - product) / product)


# -- the pendulum

PENDULUM = Space(
    {
        "pump": Float(0.0, 2.0),  # torque for each unit of missing energy and speed
        "energy": Float(0.0, 20.0),  # to be reached
        "switch": Float(0.05, 1.5),  # angle from the top below which it is held
        "stiffness": Float(0.0, 30.0),
        "damping": Float(0.0, 10.0),
    }
)
EPISODES, STEPS = 4, 200


def mean_return(params: Mapping[str, Any]) -> float:
    environment = need("Pendulum5", "gymnasium").make("Pendulum-v1")
    try:
        return float(np.mean([_episode(environment, params, seed) for seed in range(EPISODES)]))
    finally:
        environment.close()


def _episode(environment: Any, params: Mapping[str, Any], seed: int) -> float:
    (cos, sin, speed), _ = environment.reset(seed=seed)
    total = 0.0
    for _ in range(STEPS):
        angle = math.atan2(sin, cos)
        if abs(angle) < params["switch"]:
            torque = -params["stiffness"] * angle - params["damping"] * speed
        else:
            torque = params["pump"] * (params["energy"] - 0.5 * speed**2 - 10.0 * cos) * math.copysign(1.0, speed)
        action = np.array([min(max(torque, -2.0), 2.0)], dtype=np.float32)
        (cos, sin, speed), reward, _, _, _ = environment.step(action)
        total += float(reward)
    return total


# -- lynxes and hares, thousands of pelts in the years from 1900

HARES = (
    30.0,
    47.2,
    70.2,
    77.4,
    36.3,
    20.6,
    18.1,
    21.4,
    22.0,
    25.4,
    27.1,
    40.3,
    57.0,
    76.6,
    52.3,
    19.5,
    11.2,
    7.6,
    14.6,
    16.2,
    24.7,
)
LYNXES = (
    4.0,
    6.1,
    9.8,
    35.2,
    59.4,
    41.7,
    19.0,
    13.0,
    8.3,
    9.1,
    7.4,
    8.0,
    12.3,
    19.5,
    45.7,
    51.1,
    29.7,
    15.8,
    9.7,
    10.1,
    8.6,
)
PELTS = np.array([HARES, LYNXES])
RATES = Space(
    {
        "birth_of_hares": Float(0.1, 2.0),  # a year
        "hunting": Float(0.003, 0.3, log=True),
        "death_of_lynxes": Float(0.1, 2.0),
        "feeding": Float(0.003, 0.3, log=True),
    }
)


def log_error(params: Mapping[str, Any]) -> float:
    """Root mean square of log(model / pelts); the equations are solved for the logarithms, which stay finite."""
    a, b, c, d = (params[name] for name in RATES)

    def slope(_: float, z: Array) -> list[float]:
        return [a - b * math.exp(min(z[1], 30.0)), d * math.exp(min(z[0], 30.0)) - c]

    years = np.arange(PELTS.shape[1], dtype=np.float64)
    log_pelts = np.log(PELTS)
    solved = solve_ivp(slope, (0.0, years[-1]), log_pelts[:, 0], t_eval=years, method="LSODA", rtol=1e-8, atol=1e-10)
    return float(np.sqrt(np.mean((solved.y - log_pelts) ** 2)))


# -- the problems


def _minus(params: Mapping[str, Any], *, of: Any) -> float:
    return -float(of(params))


def _make(seed: int, *, name: str) -> Problem:
    """The same problem for every seed."""
    del seed
    made: dict[str, tuple[Space, Callable[[Mapping[str, Any]], float]]] = {
        "FlowReactor4": (REACTOR, partial(_minus, of=e_factor)),
        "Pendulum5": (PENDULUM, mean_return),
        "LynxHare4": (RATES, partial(_minus, of=log_error)),
    }
    space, point = made[name]
    return best_known(Problem(name=name, space=space, function=row_by_row(space, point), optimum=0.0))


FRESH: dict[str, Factory] = {name: partial(_make, name=name) for name in ("FlowReactor4", "Pendulum5", "LynxHare4")}
