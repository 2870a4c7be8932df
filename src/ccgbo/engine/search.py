"""The inner maximiser of an acquisition over a space.

    optimize_acquisition   the best of a finite set, then gradient steps over the continuous part in turn with
                           exhaustive or neighbour moves over the discrete part; excluded points are passed over

Everything is a pure function of its arguments and the generator it is handed.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from ccgbo.acquisition.base import BoundAcquisition, value_and_gradient
from ccgbo.arrays import Array
from ccgbo.engine.candidates import SMALL_GRID
from ccgbo.engine.moves import SOME_CHOICES, single_moves
from ccgbo.errors import SpaceExhaustedError
from ccgbo.log import report_once
from ccgbo.space import Space
from ccgbo.space.feasible import walk_feasible
from ccgbo.surrogate.ascent import ascend
from ccgbo.tuning import EngineTuning

LARGE_GRID = 200_000  # up to this size exhaustion is checked point by point


class Excluded:
    """Points that must not be suggested again, and points under evaluation, from which a batch keeps its distance."""

    def __init__(self, F: Array, space: Space, pending: Array | None = None, min_distance: float = 0.0) -> None:
        self._space, self._F = space, F  # (k, p) features, those of the pending ones included
        self._pending = np.empty((0, space.p)) if pending is None else pending
        self._min_distance = min_distance
        self._radius = self.radius(len(self._pending))

    def radius(self, k: int) -> Array:  # (p,)
        """Half-widths of the box that is kept free around each of ``k`` points under evaluation."""
        radius, columns = self._space.tolerance.copy(), self._space.continuous_columns
        if len(columns) and k:
            least = self._space.tolerance[columns[0]]
            radius[columns] = max(self._min_distance * k ** (-1.0 / self._space.dimension), least)
        return radius

    def without(self, F: Array) -> Excluded:  # (g, p)
        """The same when some of the points were never evaluated; of equal ones the others stay."""
        fewer, kept = copy(self), np.ones(len(self._F), dtype=bool)
        for f in F:
            kept[np.flatnonzero(kept & (f == self._F).all(axis=1))[:1]] = False
        fewer._F = self._F[kept]
        return fewer

    def is_new(self, f: Array) -> bool:  # (p,)
        return _away(f, self._F, self._space.tolerance)

    def keeps_distance(self, f: Array) -> bool:  # (p,)
        """Free, and outside the box of half-width min_distance / k^(1/d) around each of the k pending points.

        k such boxes hold (2 min_distance)^d of the space at most, however many points are pending.
        """
        return self.is_new(f) and _away(f, self._pending, self._radius)

    def new_rows(self, F: Array) -> NDArray[np.bool_]:  # (m, p) -> (m,)
        return _away_rows(F, self._F, self._space.tolerance)

    def distant_rows(self, F: Array) -> NDArray[np.bool_]:  # (m, p) -> (m,)
        """``keeps_distance`` of many points."""
        return self.new_rows(F) & _away_rows(F, self._pending, self._radius)


def _away(f: Array, F: Array, radius: Array) -> bool:  # (p,), (k, p), (p,)
    return not len(F) or bool((np.abs(F - f) > radius).any(axis=1).all())


def _away_rows(F: Array, others: Array, radius: Array) -> NDArray[np.bool_]:  # (m, p), (k, p), (p,) -> (m,)
    if not len(others):
        return np.ones(len(F), dtype=bool)
    # scaled by the radius, "in every column" is one ball of the maximum norm
    nearest = cKDTree(others / radius).query(F / radius, p=np.inf, distance_upper_bound=1.0)[0]
    return np.isinf(nearest)  # type: ignore[no-any-return]


def optimize_acquisition(
    acquisition: BoundAcquisition,
    space: Space,
    U: Array,  # (m, d) candidates, snapped and feasible
    values: Array,  # (m,) their scores
    tuning: EngineTuning,
    excluded: Excluded,
    *,
    unit: Array,  # (p,) distance that counts as one along each column
    rng: np.random.Generator,
    surely: int = 0,  # the search starts from so many of the first candidates in any case
) -> Array:  # (d,)
    """The best point found that is not excluded."""
    values = _finite(values)
    order = np.argsort(-values, kind="stable")
    if tuning.n_starts > 0 and not space.grid_size_at_most(SMALL_GRID):
        refined, refined_values = refine_best(acquisition, space, U, values, tuning, unit=unit, rng=rng, surely=surely)
        U, values = np.concatenate([refined, U]), np.concatenate([refined_values, values])
        order = np.argsort(-values, kind="stable")
    for allowed in (excluded.keeps_distance, excluded.is_new):
        for i in order:
            if allowed(space.features(U[i : i + 1])[0]):
                result: Array = U[i]
                return result
    return any_new(U[order], space, excluded, rng)


def refine_best(
    acquisition: BoundAcquisition,
    space: Space,
    U: Array,  # (m, d)
    values: Array,  # (m,) finite
    tuning: EngineTuning,
    *,
    unit: Array,
    rng: np.random.Generator,
    surely: int = 0,
) -> tuple[Array, Array]:  # (k, d), (k,), n_starts <= k <= n_starts + surely
    """The best candidates and the first ``surely`` ones, each moved to a local maximum of the acquisition."""
    order = np.argsort(-values, kind="stable")
    best, good = order[: tuning.n_starts], U[order[:SOME_CHOICES]]
    starts = np.concatenate([best, np.setdiff1d(np.arange(surely), best)])
    return _refine(acquisition, space, U[starts], values[starts], good, tuning, unit, rng)


def _finite(values: Array) -> Array:
    bad = ~np.isfinite(values)
    if not bad.any():
        return values
    report_once(
        "acquisition", "the acquisition is not finite at %d of %d points: they are passed over", bad.sum(), len(bad)
    )
    return np.where(bad, -np.finfo(float).max, values)


def _refine(
    acquisition: BoundAcquisition,
    space: Space,
    U: Array,
    values: Array,
    good: Array,
    tuning: EngineTuning,
    unit: Array,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Gradient steps and discrete moves in turn, until neither helps."""
    rounds = 3 if len(space.discrete) and len(space.continuous) else 1
    for _ in range(rounds):
        before = values
        if len(space.continuous):
            U, values = gradient_ascent(acquisition, space, U, values, tuning.search_steps, unit)
        if len(space.discrete):
            U, values = _discrete_local_search(acquisition, space, U, values, good, rng)
        if np.all(values <= before):
            break
    return U, values


def gradient_ascent(
    acquisition: BoundAcquisition, space: Space, U: Array, values: Array, steps: int, unit: Array
) -> tuple[Array, Array]:
    """Gradient ascent over the active continuous coordinates; an infeasible end is drawn back towards its start."""
    F = space.features(U)
    end_F, end_values = ascend(
        lambda x: value_and_gradient(acquisition, x),
        F,
        movable(space, U),
        unit=unit,
        steps=steps,
        surface=space.surface,
    )
    end = U.copy()
    end[:, space.continuous] = end_F[:, space.continuous_columns]
    if space.constraints:
        end = pull_back(space, U, end)
        end_values = acquisition(space.features(end))
    end_values = _finite(end_values)
    better = end_values > values
    return np.where(better[:, None], end, U), np.where(better, end_values, values)


def pull_back(space: Space, start: Array, end: Array) -> Array:
    """The farthest of the points 1, 1/2, 1/4, ... of the way that is feasible; the start is."""
    out, share, open_rows = start.copy(), 1.0, np.arange(len(start))
    while len(open_rows) and share > 1e-3:
        tried = space.repair(space.snap(start[open_rows] + share * (end[open_rows] - start[open_rows])))
        ok = space.feasible(tried)
        out[open_rows[ok]] = tried[ok]
        open_rows, share = open_rows[~ok], share / 2.0
    return out


def movable(space: Space, U: Array) -> NDArray[np.bool_]:  # (m, p)
    """Feature columns that a gradient may change: continuous and active."""
    mask = np.zeros((len(U), space.p), dtype=bool)
    mask[:, space.continuous_columns] = space.active(U)[:, space.continuous] if space.conditional else True
    return mask


def _discrete_local_search(
    acquisition: BoundAcquisition,
    space: Space,
    U: Array,
    values: Array,
    good: Array,
    rng: np.random.Generator,
    most: int = 8,
) -> tuple[Array, Array]:
    """Steepest ascent over single discrete moves, for every start."""
    U, values = U.copy(), values.copy()
    for i in range(len(U)):
        for _ in range(most):
            moves = single_moves(space, U[i], good, rng)
            if space.constraints:
                moves = moves[space.feasible(moves)]
            if not len(moves):
                break
            found = _finite(acquisition(space.features(moves)))
            best = int(found.argmax())
            if found[best] <= values[i]:
                break
            U[i], values[i] = moves[best], found[best]
    return U, values


def any_new(U: Array, space: Space, excluded: Excluded, rng: np.random.Generator) -> Array:
    """A point that is not excluded, when the search found none: the first such of U, or of all there are."""
    for points in _pools(U, space, rng):
        open_rows = np.flatnonzero(excluded.new_rows(space.features(points)))
        if len(open_rows):
            chosen: Array = points[open_rows[0]]
            return chosen
    held = f" with fixed={dict(space.fixed)!r}" if space.fixed else ""
    raise SpaceExhaustedError(
        f"every point of the space{held} is evaluated, pending or failed; "
        "allow_repeats=True allows evaluated ones again."
    )


def _pools(U: Array, space: Space, rng: np.random.Generator) -> Iterator[Array]:
    """What was searched, then every point of a finite space in random order or a large sample of another."""
    yield U
    grid = space.grid(limit=LARGE_GRID)
    if grid is not None:
        yield grid[rng.permutation(len(grid))]
        return
    sample = space.sample(SMALL_GRID, rng)
    yield sample
    if space.constraints:
        yield walk_feasible(space, sample, SMALL_GRID, rng)
