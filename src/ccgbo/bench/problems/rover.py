"""A rover's way through obstacles: 30 control points of a curve in the unit square, 60 dimensions; and BoTorch's, 30.

Rover60 is after the problem of Wang et al. 2018 ("Batched large-scale Bayesian optimization in high-dimensional
spaces"), also used by Eriksson et al. 2019, with obstacles of its own:

    value   5 - integral of cost along the curve - 10 (|first - start|_1 + |last - goal|_1)
    cost    20.05 inside an obstacle, 0.05 outside
    curve   clamped cubic B-spline of the 30 points, at 1000 parameters

The obstacles are 16 squares of side 0.12 at places drawn from a generator whose seed is in this file, none at the start
(0.05, 0.05) or the goal (0.95, 0.95). Its optimum is not known; see best_known.py. At most 5 minus 0.05 times the
distance of start and goal can be reached.

Trajectory30 is ``botorch.test_functions.synthetic.TrajectoryPlanning``: 15 steps that are biased towards the goal, a
regular grid of obstacles, and the value is 0 on a way that hits none.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
from scipy.interpolate import BSpline

from ccgbo.arrays import Array
from ccgbo.bench.problems.base import Factory, Problem, box, need
from ccgbo.bench.problems.best_known import best_known

MAP_SEED = 60
N_OBSTACLES, SIDE = 16, 0.12
N_POINTS, N_STEPS, DEGREE = 30, 1000, 3
START, GOAL = np.array([0.05, 0.05]), np.array([0.95, 0.95])
IN_OBSTACLE, ANYWHERE, OFF_ENDS, REWARD = 20.0, 0.05, 10.0, 5.0


@cache
def obstacles() -> Array:  # (16, 2) centres
    """Squares that leave start and goal free."""
    rng = np.random.default_rng(MAP_SEED)
    centres: list[Array] = []
    while len(centres) < N_OBSTACLES:
        centre = rng.uniform(0.1, 0.9, 2)
        if min(np.abs(centre - START).max(), np.abs(centre - GOAL).max()) > SIDE:
            centres.append(centre)
    return np.array(centres)


@cache
def _weights() -> Array:  # (1000, 30): points of the curve from control points
    ends = [0.0] * DEGREE, [1.0] * DEGREE
    knots = np.concatenate([ends[0], np.linspace(0.0, 1.0, N_POINTS - DEGREE + 1), ends[1]])
    return np.asarray(BSpline.design_matrix(np.linspace(0.0, 1.0, N_STEPS), knots, DEGREE).toarray())


def curve(x: Array) -> Any:  # (60,) -> (1000, 2)
    return _weights() @ x.reshape(N_POINTS, 2)


def rover(x: Array) -> float:  # (60,)
    way = curve(x)
    inside = (np.abs(way[:, None, :] - obstacles()) < SIDE / 2).all(-1).any(-1)
    cost = IN_OBSTACLE * inside + ANYWHERE
    lengths = np.sqrt((np.diff(way, axis=0) ** 2).sum(-1))
    along = float((0.5 * (cost[:-1] + cost[1:]) * lengths).sum())
    off = float(np.abs(way[0] - START).sum() + np.abs(way[-1] - GOAL).sum())
    return REWARD - along - OFF_ENDS * off


def _rover_rows(X: Array) -> Array:
    return np.array([rover(x) for x in X])


def _rover60(seed: int) -> Problem:
    del seed
    return best_known(Problem(name="Rover60", space=box(0.0, 1.0, 2 * N_POINTS), function=_rover_rows, optimum=REWARD))


def _trajectory_rows(X: Array, *, planning: Any) -> Array:
    torch = need("Trajectory30", "torch", extra="botorch")
    found: Array = -planning.evaluate_true(torch.as_tensor(X)).numpy()
    return found


def _trajectory30(seed: int) -> Problem:
    del seed
    synthetic = need("Trajectory30", "botorch.test_functions.synthetic", extra="botorch")
    planning = synthetic.TrajectoryPlanning(dim=30)
    rows = partial(_trajectory_rows, planning=planning)
    return Problem(name="Trajectory30", space=box(0.0, 1.0, 30), function=rows, optimum=0.0)


CHOOSING: dict[str, Factory] = {"Trajectory30": _trajectory30}
REPORTING: dict[str, Factory] = {"Rover60": _rover60}
