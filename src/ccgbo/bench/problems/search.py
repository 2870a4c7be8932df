"""How the optima that no formula gives were found: screening followed by local search.

``maximise_box`` is for smooth functions of a box: random points, then L-BFGS-B from the best of them. Its answers are
exact to rounding where the function has no needle that every random point misses.
``search_space`` is for any space: random points, then shrinking steps around the best ones found so far.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize

from ccgbo.arrays import Array
from ccgbo.bench.problems.base import Problem, Rows


def maximise_box(
    function: Rows,
    low: Array,  # (d,)
    high: Array,  # (d,)
    *,
    screen: int = 20_000,
    starts: int = 40,
    seed: int = 0,
) -> tuple[float, Array]:  # the largest value and where, (d,)
    """The largest value of a smooth function over a box."""
    rng = np.random.default_rng(seed)
    width = high - low
    U = rng.random((screen, len(low)))
    order = np.argsort(-function(low + width * U))[:starts]
    steps = np.vstack([np.eye(len(low)), -np.eye(len(low))])
    h = 1e-5

    def value_and_slope(u: Array) -> tuple[float, Array]:
        around = np.vstack([u, np.clip(u + h * steps, 0.0, 1.0)])
        f = function(low + width * around)
        d = len(u)
        gap = np.diag(around[1 : d + 1] - around[d + 1 :])
        return -float(f[0]), -(f[1 : d + 1] - f[d + 1 :]) / gap

    def climb(u: Array, ftol: float) -> tuple[float, Array]:
        bounds = [(0.0, 1.0)] * len(u)
        found = minimize(value_and_slope, u, jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": ftol})
        return -float(found.fun), found.x

    tops = [climb(u, 1e-9) for u in U[order]]
    best, where = max(tops, key=lambda top: top[0])
    value, u = climb(where, 1e-15)
    if value > best:
        best, where = value, u
    return best, low + width * where


def search_space(
    problem: Problem,
    *,
    n_random: int = 2000,
    n_local: int = 1000,
    elite: int = 5,
    seed: int = 0,
) -> tuple[float, dict[str, Any]]:  # the largest value and where
    """The best value of ``n_random`` uniform points and ``n_local`` steps around the ``elite`` best so far.

    Each step changes a random subset of the coordinates; its size falls from 0.3 to 0.01 of the range.
    """
    rng = np.random.default_rng(seed)
    space = problem.space
    U = space.sample(n_random, rng)
    y = np.array([problem(space.decode(u)) for u in U])
    for i in range(n_local):
        top = np.argsort(-y, kind="stable")[:elite]
        scale = 0.3 * (0.01 / 0.3) ** (i / max(n_local - 1, 1))
        moves = rng.random(space.d) < max(0.4, 1.0 / space.d)
        moves[rng.integers(space.d)] = True
        jump = rng.random(space.d) < 0.1  # an occasional fresh draw lets a categorical change late, too
        u = U[top[rng.integers(len(top))]]
        step = np.where(jump, rng.random(space.d) - u, scale * rng.standard_normal(space.d))
        new = space.snap(np.clip(u + moves * step, 0.0, 1.0)[None, :])
        U, y = np.vstack([U, new]), np.append(y, problem(space.decode(new[0])))
    best = int(np.argmax(y))
    return float(y[best]), space.decode(U[best])
