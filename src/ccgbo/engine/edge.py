"""The feasible optimum of the posterior means: where a search for one that lies on the edge of the bounds begins.

Where metrics are known to many digits, the probability of being feasible is a cliff and the improvement beyond it a
ridge as thin as the uncertainty that is left: few candidates hit it, and a gradient zigzags along it. Sequential
quadratic programming follows the edge itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from ccgbo.acquisition.feasibility import Bounded
from ccgbo.arrays import Array
from ccgbo.surrogate.base import Posterior

MOST_FREE = 40  # parameters up to which it is sought: a step costs the cube of their number
STEPS = 15  # at most
MARGIN = 1.0  # standard deviations


class _Means:
    """Posterior means and their gradients along the free columns, which are scaled to units; remembers one point."""

    def __init__(self, posteriors: Sequence[Posterior], start: Array, free: NDArray[np.bool_], unit: Array) -> None:
        self._posteriors, self._start, self._free, self.unit = posteriors, start, free, unit[free]
        self._last: tuple[bytes, Array, Array] | None = None

    def point(self, z: Array) -> Array:  # (f,) -> (p,)
        x = self._start.copy()
        x[self._free] = np.clip(z * self.unit, 0.0, 1.0)
        return x

    def __call__(self, z: Array) -> tuple[Array, Array]:  # (f,) -> (k,), (k, f)
        key = z.tobytes()
        if self._last is None or self._last[0] != key:
            x = self.point(z)[None, :]
            found = [posterior.linearize(x) for posterior in self._posteriors]
            one, none = np.ones(1), np.zeros(1)
            means = np.array([at.mean[0] for at in found if at is not None])
            slopes = np.array([at.gradient(one, none)[0, self._free] for at in found if at is not None])
            self._last = key, means, slopes * self.unit
        return self._last[1:]


def best_of_means(
    objective: Posterior,
    constraints: Sequence[Bounded],
    start: Array,  # (p,)
    free: NDArray[np.bool_],  # (p,) columns that may move
    unit: Array,  # (p,) distance that counts as one
) -> Array:  # (2, p)
    """Where the mean of the objective is largest among the means that keep their bounds, from a start on: on the edge,
    and within it by a standard deviation of each. Twice the start where a posterior has no gradient."""
    posteriors = [objective, *(c.posterior for c in constraints)]
    if not free.any() or any(posterior.linearize(start[None, :]) is None for posterior in posteriors):
        return np.stack([start, start])
    means = _Means(posteriors, start, free, np.minimum(unit, 1.0))
    edge = _climb(means, constraints, start[free] / means.unit, np.zeros(len(constraints)))
    doubt = np.array([c.posterior.predict(means.point(edge)[None, :])[1][0] for c in constraints])
    return np.stack([means.point(edge), means.point(_climb(means, constraints, edge, MARGIN * doubt))])


def _climb(means: _Means, constraints: Sequence[Bounded], z: Array, margin: Array) -> Array:  # (f,), (k,) -> (f,)
    sides = [
        (i, sign, bound)
        for i, c in enumerate(constraints)
        for sign, bound in ((1.0, c.lower), (-1.0, c.upper))
        if np.isfinite(bound)
    ]
    rows, signs, bounds = (np.array(column) for column in zip(*sides, strict=True))
    found = minimize(
        lambda z: (-means(z)[0][0], -means(z)[1][0]),
        z,
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0 / u) for u in means.unit],
        constraints={
            "type": "ineq",
            "fun": lambda z: signs * (means(z)[0][1 + rows] - bounds) - margin[rows],
            "jac": lambda z: signs[:, None] * means(z)[1][1 + rows],
        },
        options={"maxiter": STEPS, "ftol": 1e-7},
    ).x
    return found if np.isfinite(found).all() else z
