"""Points at which an acquisition is computed first.

    global_candidates      a finite set that fills the space (all of it, where it is a small grid)
    local_candidates       points around given centres, for the neighbourhoods of credited observations
    line_candidates        points that differ from given centres in one coordinate, for the ends of a front

Everything is a pure function of its arguments and the generator it is handed.
"""

from __future__ import annotations

import numpy as np

from ccgbo.arrays import Array
from ccgbo.engine.design import shifted_sobol
from ccgbo.space import Space
from ccgbo.tuning import EngineTuning

SMALL_GRID = 2048  # a finite space up to this size is searched whole
FEW_COORDINATES = 20  # that a local candidate changes on average where there are many


def global_candidates(space: Space, tuning: EngineTuning, rng: np.random.Generator) -> Array:  # (m, d) snapped
    """Candidates over the whole space."""
    grid = space.grid(limit=SMALL_GRID)
    if grid is not None and not len(grid):
        return space.anchors  # says that there is none
    if grid is not None:
        return grid[rng.permutation(len(grid))]  # so that any head of it is spread over the space
    if not tuning.quasi_random or space.constraints:
        return space.sample(tuning.n_candidates, rng)
    return space.snap(shifted_sobol(space.d, tuning.n_candidates, rng))


def local_candidates(space: Space, centres: Array, n: int, rng: np.random.Generator) -> Array:  # (m, d) snapped
    """``n`` points around the centres at scales from 0.003 to 0.3, each changing a random part of the coordinates.

    In many dimensions about ``FEW_COORDINATES`` of them, as TuRBO and BoTorch's ``sample_around_best`` do.
    """
    if n == 0 or len(centres) == 0 or space.grid_size_at_most(SMALL_GRID):
        return np.empty((0, space.d))
    base = centres[rng.integers(len(centres), size=n)]
    scale = 10.0 ** rng.uniform(-2.5, -0.5, size=(n, 1))
    moved = base + scale * rng.standard_normal((n, space.d)) * space.extent
    dice = rng.random((n, space.d))
    share = rng.random((n, 1)) * min(1.0, 2.0 * FEW_COORDINATES / space.d)
    changed = dice < np.maximum(share, min(1.0, 2.0 / space.d))
    fresh = rng.random((n, space.d))
    for j in space.discrete:  # a small step seldom leaves a cell: draw anew instead, half of the time
        redraw = rng.random(n) < 0.5
        moved[:, j] = np.where(redraw, fresh[:, j], moved[:, j])
    return _allowed(space, np.clip(np.where(changed, moved, base), 0.0, 1.0))


def line_candidates(space: Space, centres: Array, n: int, rng: np.random.Generator) -> Array:  # (m, d) snapped
    """``n`` points that differ from a centre in one coordinate, drawn over its range; a sixth of them at each bound."""
    if n == 0 or len(centres) == 0 or space.grid_size_at_most(SMALL_GRID):
        return np.empty((0, space.d))
    U = centres[rng.integers(len(centres), size=n)]
    U[np.arange(n), rng.integers(space.d, size=n)] = np.clip(rng.uniform(-0.25, 1.25, size=n), 0.0, 1.0)
    return _allowed(space, U)


def _allowed(space: Space, U: Array) -> Array:
    """The points of the space at or beside U, without those that its constraints do not allow."""
    U = space.repair(space.snap(U))
    return U[space.feasible(U)] if space.constraints else U
