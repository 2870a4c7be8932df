"""What each observation is worth: the loss of acting without it, on posterior paths (see surrogate/gp/deletion.py).

    code      shape        meaning
    world     W of them    rows left out: one observation, or a group
    maxima    (W, k + 1)   of k draws and, last, of the posterior mean, in each world
    loss      (W, k)       f_j(x*_j) - f_j(x*_j without the world's rows), never negative
    worth     (W,)         mean of the loss over the draws: the value of the observation

x*_j is the maximum of path j. With many observations a deletion moves most of them a little, and on a finite set of
points not at all. So each maximum is followed on its own path:

1. The best point of a pool, which holds candidates, the observations and the maxima of the paths themselves.
2. Where that is still x*_j, the move to second order: with g the gradient that the deletion adds and H minus the
   Hessian of the path, both in lengthscales, the maximum moves by H^-1 g and f_j falls by g H^-1 g / 2. A short move
   ends here, a longer one goes on with Newton's method.
3. Where another point is best, gradient ascent from there. What is found in one world is offered to every other and to
   the path itself, which keeps a loss from being negative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ccgbo.arrays import Array
from ccgbo.surrogate.ascent import ascend
from ccgbo.surrogate.base import Deletions, Paths, Rows

SHORT = 0.1  # lengthscales: a move up to which the second order is trusted
LONGEST = 0.3  # lengthscales: the longest first step of Newton's method
FLAT = 1e-3  # gradient, in lengthscales, that is not worth a climb where there is no second order
FEW_COLUMNS = 32  # columns up to which a Hessian is made
POLISHES, CHORDS = 3, 3  # Hessians at the maximum of a path; steps of Newton's method in another world with the last
STEPS = 8  # of gradient ascent in one round; the paths that gained go on in the next
ROUNDS, ROUNDS_ELSEWHERE = 5, 2  # on the paths themselves, and in other worlds
EXCHANGES = 3  # times that the maximum of one path is offered to the others
BLOCK = 2**21  # covariances that are held at once

Bools = NDArray[np.bool_]
Settle = Callable[[Rows, Array], Array]
"""(b,), (b, p) -> (b, p): ends of climbs, each from a point of the pool, drawn back to where they are allowed."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Where the maxima are sought."""

    F: Array  # (m, p) candidates
    movable: Bools  # (m + n, p) columns of candidates and observations that gradient ascent may change
    settle: Settle | None = None  # None: every end of a climb is allowed


@dataclass(frozen=True, slots=True)
class Found:
    """The maximum of every path in every world."""

    origin: Rows  # (W, k + 1) point of the pool, candidates and then observations, that it was climbed from
    argmax: Array  # (W, k + 1, p)
    maxima: Array  # (W, k + 1) of the path in that world
    actual: Array  # (W, k + 1) of the path itself at the same place


@dataclass(frozen=True, slots=True)
class Worlds:
    """The maxima of k draws and, last, of the posterior mean: as they are (W = 1), and in every world."""

    full: Found
    without: Found

    @property
    def loss(self) -> Array:  # (W, k)
        """What acting in each world costs on each draw."""
        fall: Array = np.maximum(self.full.actual - self.without.actual, 0.0)
        return fall[:, :-1]

    @property
    def worth(self) -> Array:  # (W,)
        """E_j[f_j(x*_j) - f_j(x*_j without)]."""
        mean: Array = self.loss.mean(axis=1)
        return mean

    @property
    def error(self) -> Array:  # (W,)
        """Standard error of the worth over the draws; NaN of a single one."""
        k = self.loss.shape[1]
        return self.loss.std(axis=1, ddof=1) / np.sqrt(k) if k > 1 else np.full(len(self.loss), np.nan)


def find_optima(deletions: Deletions, worlds: Sequence[Rows], pool: Pool) -> Worlds:
    """The maximum of every path, and of every path in every world."""
    full, inverse = _own_maxima(deletions.paths, pool)
    best, itself = _best_of_pool(deletions, worlds, pool, full)
    climbs = _move_to_second_order(deletions, worlds, pool, full, inverse, best, itself)
    _climb_the_rest(deletions, worlds, pool, inverse, best, itself, climbs)
    _share(deletions, worlds, pool, full, best, climbs)
    return Worlds(full, best)


# -- the paths themselves


def _own_maxima(paths: Paths, pool: Pool) -> tuple[Found, Array | None]:
    """The maximum of each path, with the inverse curvature there, see ``_inverse_curvature``."""
    values = np.concatenate([paths(pool.F), paths.at_data])  # (m + n, k + 1)
    origin = values.argmax(axis=0)
    start, height = np.concatenate([pool.F, paths.X])[origin], values[origin, np.arange(values.shape[1])]
    x, maxima = _gradient_ascent(paths, pool, origin, start, height, ROUNDS)
    for _ in range(EXCHANGES):
        at_others = paths(x)  # (k + 1, k + 1): what one path found may be better for another
        j = np.flatnonzero(at_others.max(axis=0) > maxima + 1e-6)
        if not len(j):
            break
        other = at_others[:, j].argmax(axis=0)
        origin[j] = origin[other]
        start, height = x[other], at_others[other, j]
        x[j], maxima[j] = _gradient_ascent(paths.select(j), pool, origin[j], start, height, ROUNDS)
    inverse = None
    for _ in range(POLISHES):
        inverse = _inverse_curvature(paths, pool, origin, x)
        if inverse is None:
            break
        x, maxima = _newton(paths, x, inverse)
    return Found(origin[None], x[None], maxima[None], maxima[None].copy()), inverse


def _gradient_ascent(
    paths: Paths, pool: Pool, origin: Rows, x: Array, value: Array, rounds: int
) -> tuple[Array, Array]:
    """Path j from its own point x_j, where it has this value: (k, p), (k,)."""
    movable = pool.movable[origin]
    x, value = x.copy(), value.copy()
    rows = np.flatnonzero(movable.any(axis=1))
    for _ in range(rounds):
        if not len(rows):
            break
        function = paths.select(rows).value_and_gradient_each
        end, reached = ascend(function, x[rows], movable[rows], unit=paths.unit, steps=STEPS, tolerance=1e-7)
        if pool.settle is not None:
            end = pool.settle(origin[rows], end)
            reached = function(end)[0]
        gain = reached - value[rows]
        better = gain > 0.0
        x[rows[better]], value[rows[better]] = end[better], reached[better]
        rows = rows[gain > 1e-6]
    return x, value


def _newton(paths: Paths, x: Array, inverse: Array) -> tuple[Array, Array]:  # (k, p), (k, p, p)
    """Newton's method on path j from its own point x_j with a curvature that stays: (k, p), (k,)."""
    unit, radius = np.minimum(paths.unit, 1.0), np.full(len(x), LONGEST)
    value, gradient = paths.value_and_gradient_each(x)
    for _ in range(CHORDS):
        step = np.einsum("kpq,kq->kp", inverse, gradient * unit)
        step *= np.minimum(radius / np.maximum(_longest(step), 1e-300), 1.0)[:, None]
        end = np.clip(x + step * unit, 0.0, 1.0)
        end = np.where(step == 0.0, x, end)  # choices, and what lies outside the box, stay as they are
        reached, slope = paths.value_and_gradient_each(end)
        better = reached > value
        x, gradient = np.where(better[:, None], end, x), np.where(better[:, None], slope, gradient)
        value, radius = np.where(better, reached, value), np.where(better, 2.0 * radius, 0.25 * radius)
    return x, value


def _inverse_curvature(paths: Paths, pool: Pool, origin: Rows, x: Array) -> Array | None:  # (k, p, p)
    """Inverse of minus the Hessian of path j at its own maximum x_j, in units.

    By differences of the gradient. A column at its bound, from which the path falls inwards, does not move; where the
    path is flat or no maximum, the inverse is large, so that the move is long. None where a maximum may lie at a
    constraint, or in many columns.
    """
    k, p = x.shape
    if pool.settle is not None or p > FEW_COLUMNS:
        return None
    unit, gradient = np.minimum(paths.unit, 1.0), paths.value_and_gradient_each(x)[1]
    pressed = ((x <= 0.0) & (gradient < 0.0)) | ((x >= 1.0) & (gradient > 0.0))
    free = pool.movable[origin] & ~pressed
    width = np.where(x > 0.5, -0.01, 0.01) * unit * free  # (k, p), inwards
    shifted = x[:, None, :] + np.eye(p) * width[:, None, :]
    slopes = paths.select(np.repeat(np.arange(k), p)).value_and_gradient_each(shifted.reshape(k * p, p))[1]
    change = (slopes.reshape(k, p, p) - gradient[:, None, :]) * unit / np.where(free, width / unit, 1.0)[:, :, None]
    both = free[:, :, None] & free[:, None, :]
    minus_hessian = np.where(both, -0.5 * (change + change.transpose(0, 2, 1)), np.eye(p))
    values, vectors = np.linalg.eigh(minus_hessian)
    inverse = np.einsum("kpq,kq,krq->kpr", vectors, 1.0 / np.maximum(values, 1e-6), vectors)
    return np.where(both, inverse, 0.0)


def _longest(step: Array) -> Array:  # (k, p) -> (k,)
    longest: Array = np.abs(step).max(axis=1, initial=0.0)
    return longest


# -- the same in every world


def _best_of_pool(deletions: Deletions, worlds: Sequence[Rows], pool: Pool, full: Found) -> tuple[Found, Bools]:
    """The best point of the pool and the paths' own maxima, and where (W, k + 1) it is the path's own."""
    m, k = len(pool.F), full.maxima.shape[1]
    points, paths = np.concatenate([pool.F, full.argmax[0]]), np.arange(k)  # the observations follow
    start, maxima = np.empty((len(worlds), k), dtype=np.intp), np.empty((len(worlds), k))
    for g, values in enumerate(deletions.sweep(points, worlds)):
        start[g] = values.argmax(axis=1)
        maxima[g] = values[paths, start[g]]
    X = deletions.paths.X
    origin = np.concatenate([np.arange(m), full.origin[0], m + np.arange(len(X))])[start]
    actual = np.broadcast_to(full.maxima[0], maxima.shape).copy()  # of all that stay
    return Found(origin, np.concatenate([points, X])[start], maxima, actual), start == m + paths


def _move_to_second_order(
    deletions: Deletions,
    worlds: Sequence[Rows],
    pool: Pool,
    full: Found,
    inverse: Array | None,
    best: Found,
    itself: Bools,
) -> Bools:  # (W, k + 1)
    """Move the maxima that stay with their path, in place; what is left to be climbed."""
    x, unit = full.argmax[0], np.minimum(deletions.paths.unit, 1.0)
    scaled = np.where(pool.movable[full.origin[0]], deletions.gradient_of_change(x, worlds) * unit, 0.0)
    if inverse is None:
        steep: Bools = ~itself | (np.abs(scaled).max(axis=2) > FLAT)
        return steep
    step = np.einsum("kpq,wkq->wkp", inverse, scaled)
    end = x + step * unit
    inside = (((end >= 0.0) & (end <= 1.0)) | (step == 0.0)).all(axis=2)
    short: Bools = (np.abs(step).max(axis=2) <= SHORT) & inside & itself
    fall = np.where(short, 0.5 * np.einsum("wkp,wkp->wk", step, scaled), 0.0)
    best.argmax[short] = end[short]
    best.maxima[:] += fall
    best.actual[:] -= fall
    return ~short


def _climb_the_rest(
    deletions: Deletions,
    worlds: Sequence[Rows],
    pool: Pool,
    inverse: Array | None,
    best: Found,
    itself: Bools,
    climbs: Bools,
) -> None:
    """Climb the paths of other worlds, in place."""
    world, path = np.nonzero(climbs)
    origin, x, maxima = best.origin[world, path], best.argmax[world, path], best.maxima[world, path]
    near = itself[world, path] & (inverse is not None)
    size = max(BLOCK // len(deletions.paths.X), 1)
    for part in (np.flatnonzero(near), np.flatnonzero(~near)):
        for a in range(0, len(part), size):
            rows = part[a : a + size]
            paths = deletions.select(worlds, world[rows], path[rows])
            if inverse is not None and near[rows[0]]:
                x[rows], maxima[rows] = _newton(paths, x[rows], inverse[path[rows]])
            else:
                start = (origin[rows], x[rows], maxima[rows])
                x[rows], maxima[rows] = _gradient_ascent(paths, pool, *start, ROUNDS_ELSEWHERE)
    best.argmax[world, path], best.maxima[world, path] = x, maxima


def _share(deletions: Deletions, worlds: Sequence[Rows], pool: Pool, full: Found, best: Found, climbs: Bools) -> None:
    """Offer what was found in one world to every world of its path and to the path itself, in place.

    A path that is higher there than at its own maximum goes on from there.
    """
    world, path = np.nonzero(climbs)
    if not len(world):
        return
    paths, origin, x = deletions.paths, best.origin[world, path], best.argmax[world, path]
    own = paths.select(path).value_and_gradient_each(x)[0]
    best.actual[world, path] = own
    highest = np.full(len(full.maxima[0]), -np.inf)
    np.maximum.at(highest, path, own)
    top = np.array([np.flatnonzero((path == j) & (own == highest[j]))[0] for j in np.unique(path)])
    top = top[own[top] > full.maxima[0, path[top]]]
    j = path[top]
    if len(top):
        start = (origin[top], x[top], own[top])
        full.argmax[0, j], full.maxima[0, j] = _gradient_ascent(paths.select(j), pool, *start, ROUNDS)
        full.actual[0, j], full.origin[0, j] = full.maxima[0, j], origin[top]
        x, path = np.concatenate([x, full.argmax[0, j]]), np.concatenate([path, j])
        origin, own = np.concatenate([origin, origin[top]]), np.concatenate([own, full.maxima[0, j]])
    for one, mine, values in deletions.sweep_own(x, path, worlds):
        column = values.argmax(axis=1)
        height, found = values[np.arange(len(worlds)), column], mine[column]
        g = np.flatnonzero(height > best.maxima[:, one] + 1e-9)
        best.maxima[g, one], best.argmax[g, one] = height[g], x[found[g]]
        best.actual[g, one], best.origin[g, one] = own[found[g]], origin[found[g]]
