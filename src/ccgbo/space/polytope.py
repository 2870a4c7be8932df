"""Linear constraints seen from the inside: walks that stay within them, and the way back to them.

    V   (n, d)  values in the parameters' own units, 0 for categoricals and inactive ones
    z   (n, c)  the continuous ones as shares of their ranges, in values and not in logarithms
    R   (r, d)  the rows, and
    T   (m, d)  the thin ones among them, see bands.py

A line in any direction leaves a thin band at once. So directions are drawn in the null space of the thin rows, plus a
part across each band that is as small as the band is thin: whatever its width, a step goes as far along the band and
as far across it, in proportion.

Every step leaves the uniform distribution over the feasible part of the unit cube as it is. Along a line that is hit
and run (Smith 1984); with logarithms the density of the cube on the line is not flat, and the draw is one of slice
sampling (Neal 2003) in the position of one coordinate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ccgbo.arrays import Array
from ccgbo.space.bands import THIN, find_bands
from ccgbo.space.constraints import LinearRows
from ccgbo.space.parameters import Categorical, Parameter

if TYPE_CHECKING:
    from ccgbo.space.space import Space

Mask = NDArray[np.bool_]

SHRINKS = 40  # of a line; a line that is cut by the linear constraints alone needs one or two
REPAIRS = 30  # rounds of projection


class Polytope:
    """The linear constraints of a space."""

    def __init__(self, space: Space, rows: LinearRows) -> None:
        self._space, self._rows = space, rows
        self._lows, self._highs = space.low, space.high
        self._spans = self._highs - self._lows
        bands = find_bands(rows, self._lows, self._highs, conditional=space.conditional)
        self.R, self.lower, self.upper = bands.R, bands.lower, bands.upper
        self.width, self._extent = bands.width, bands.extent
        self.T, self._T_width = self.R[bands.thin], self.width[bands.thin]
        self._c = space.continuous
        self._low, self._span = self._lows[self._c], self._spans[self._c]
        self._log = np.array([getattr(space.parameters[j], "log", False) for j in self._c], dtype=np.bool_)
        self._R = self.R[:, self._c] * self._span  # per share of the range
        self._T = self.T[:, self._c] * self._span

    @property
    def narrow(self) -> bool:
        """Whether hardly any point of the box is feasible, because a sum is confined."""
        return bool((self.width < THIN).any())

    # -- walks

    def step(self, U: Array, rng: np.random.Generator) -> Array:  # (n, d) feasible -> (n, d) feasible
        """One step of each point: a jump of the discrete coordinates, then a glide of the continuous ones."""
        if len(self._space.discrete):
            U = self._jump(U, rng)
        return self._glide(U, rng) if len(self._c) else U

    def _glide(self, U: Array, rng: np.random.Generator) -> Array:
        """Each point to a random place of a random line through it, within the constraints."""
        U, V = U.copy(), self._space.numbers(U)
        active = self._active(U)
        mask = _subsets(active, len(self.T) + 1, rng)
        d = self._direction(mask, rng)
        v, pace = V[:, self._c], self._span * d
        lead, by_log = self._lead(mask, d, rng)
        first, last = self._segment(v, pace, d, V @ self.R.T)
        rows, n = np.arange(len(U)), np.arange(len(U))
        here = np.where(by_log, np.log(np.where(by_log, v[n, lead], 1.0)), 0.0)
        low, high = self._on_line(first, v, pace, lead, by_log), self._on_line(last, v, pace, lead, by_log)
        low, high = np.minimum(low, high), np.maximum(low, high)
        weighs = mask & self._log
        weighs[n[by_log], lead[by_log]] = False  # its density is the measure along the line
        level = self._density(v, weighs) + np.log1p(-rng.random(len(U)))
        for _ in range(SHRINKS):
            s = low[rows] + (high[rows] - low[rows]) * rng.random(len(rows))
            t = self._from_line(s, v[rows], pace[rows], lead[rows], by_log[rows])
            values = np.clip(v[rows] + t[:, None] * pace[rows], self._low, self._low + self._span)
            moved = self._placed(U[rows], values, mask[rows])
            ok = (self._density(values, weighs[rows]) >= level[rows]) & self._space.feasible(moved)
            U[rows[ok]] = moved[ok]
            rows, s = rows[~ok], s[~ok]
            if not len(rows):
                break
            below = s < here[rows]
            low[rows], high[rows] = np.where(below, s, low[rows]), np.where(below, high[rows], s)
        return U

    def _active(self, U: Array) -> Mask:  # (n, c)
        if not self._space.conditional:
            return np.ones((len(U), len(self._c)), dtype=bool)
        active: Mask = self._space.active(U)[:, self._c]
        return active

    def _direction(self, mask: Mask, rng: np.random.Generator) -> Array:  # (n, c), shares of the ranges
        d, extent = rng.standard_normal(mask.shape) * mask, self._extent[self._c]
        if not len(self.T):
            return d * extent
        T = self._T * extent
        across = self._T_width * rng.standard_normal((len(d), len(T)))
        return (d - _least(T, mask, d @ T.T - across)) * extent

    def _lead(self, mask: Mask, d: Array, rng: np.random.Generator) -> tuple[NDArray[np.intp], Mask]:
        """The coordinate along which the line is drawn, and whether it is on a log scale."""
        lead = np.where(mask, rng.random(mask.shape), -1.0).argmax(axis=1)
        n = np.arange(len(mask))
        return lead, self._log[lead] & mask[n, lead] & (np.abs(d[n, lead]) > 1e-9 * np.abs(d).max(axis=1))

    def _segment(self, v: Array, pace: Array, d: Array, total: Array) -> tuple[Array, Array]:
        """The interval of t in which v + t * pace satisfies the bounds and the rows, 0 included."""
        change = np.where(self._rows.equal, 0.0, d @ self._R.T)  # of an equation it is rounding alone
        at = np.hstack([v, total])
        slope = np.hstack([pace, change])
        lowest = np.concatenate([self._low, self.lower])
        highest = np.concatenate([self._low + self._span, self.upper])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            one, two = (lowest - at) / slope, (highest - at) / slope
        still = slope == 0.0
        first = np.where(still, -np.inf, np.minimum(one, two)).max(axis=1)
        last = np.where(still, np.inf, np.maximum(one, two)).min(axis=1)
        none = still[:, : v.shape[1]].all(axis=1)
        return np.where(none, 0.0, np.minimum(first, 0.0)), np.where(none, 0.0, np.maximum(last, 0.0))

    def _on_line(self, t: Array, v: Array, pace: Array, lead: NDArray[np.intp], by_log: Mask) -> Array:
        n = np.arange(len(t))
        end = np.clip(v[n, lead] + t * pace[n, lead], self._low[lead], (self._low + self._span)[lead])
        return np.where(by_log, np.log(np.where(by_log, end, 1.0)), t)

    def _from_line(self, s: Array, v: Array, pace: Array, lead: NDArray[np.intp], by_log: Mask) -> Array:
        n = np.arange(len(s))
        value = np.exp(np.where(by_log, s, 0.0))
        return np.where(by_log, (value - v[n, lead]) / np.where(by_log, pace[n, lead], 1.0), s)

    def _density(self, v: Array, weighs: Mask) -> Array:  # (n,)
        """Log density of the unit cube in the parameters' own units."""
        density: Array = -np.log(np.where(weighs, v, 1.0)).sum(axis=1)
        return density

    def _placed(self, U: Array, values: Array, mask: Mask) -> Array:
        """U with the masked continuous coordinates at ``values``."""
        out = U.copy()
        for k, j in enumerate(self._c):
            out[:, j] = np.where(mask[:, k], _position(self._space.parameters[j], values[:, k]), U[:, j])
        return self._space.snap(out)

    def _jump(self, U: Array, rng: np.random.Generator) -> Array:
        """Redraw one or two discrete coordinates, and make up for it in others so that the thin rows keep their sums.

        Whether a point may go there does not depend on where it comes from, so a feasible proposal is taken (with
        logarithms, by Metropolis' rule).
        """
        space = self._space
        drawn = _subsets(np.tile(np.isin(np.arange(space.d), space.discrete), (len(U), 1)), 1, rng, most=2)
        moved = space.snap(np.where(drawn, rng.random(U.shape), U))
        weighs = np.zeros((len(U), len(self._c)), dtype=bool)
        if len(self.T):
            moved, weighs = self._make_up(U, moved, drawn, rng)
        ok = space.feasible(moved)
        if len(self._c) and self._log.any():
            weighs &= self._log
            before = self._density(space.numbers(U)[:, self._c], weighs)
            after = self._density(space.numbers(moved)[:, self._c], weighs)
            ok &= np.log1p(-rng.random(len(U))) <= after - before
        return np.where(ok[:, None], moved, U)

    def _make_up(self, U: Array, moved: Array, drawn: Mask, rng: np.random.Generator) -> tuple[Array, Mask]:
        space, m = self._space, len(self.T)
        V, V_old = space.numbers(moved), space.numbers(U)
        off = (V - V_old) @ self.T.T  # (n, m)
        both = (space.active(U) & space.active(moved)) if space.conditional else np.ones(U.shape, dtype=bool)
        free = both & ~drawn & ((self.T != 0.0) & (self._spans > 0.0)).any(axis=0)
        continuous = np.zeros(space.d, dtype=bool)
        continuous[self._c] = True
        on_grid = ((rng.random(len(U)) < 0.5) | ~(free & continuous).any(axis=1))[:, None]
        helps = np.where(
            on_grid, _subsets(free & ~continuous, m, rng, most=m), _subsets(free & continuous, m, rng)
        ).astype(bool)
        values = V - _least(self.T * self._spans, helps, off) * self._spans
        out = moved.copy()
        for j in np.flatnonzero(helps.any(axis=0)):
            out[:, j] = np.where(helps[:, j], _position(space.parameters[j], values[:, j]), moved[:, j])
        # a value beyond its bounds is no move: clipped, it would not find the way back
        margin = 1e-9 * self._spans
        beyond = (helps & ((values < self._lows - margin) | (values > self._highs + margin))).any(axis=1)
        out[beyond] = U[beyond]
        return space.snap(out), helps[:, self._c]

    # -- the way back

    def repair(self, U: Array) -> Array:  # (n, d) snapped -> (n, d) snapped
        """Points moved onto the linear constraints along their continuous coordinates, as far as that leads."""
        out, rows = U.copy(), np.flatnonzero(~self._rows.hold(self._space.numbers(U)))
        for i in range(REPAIRS):
            if not len(rows) or not len(self._c):
                break
            V = self._space.numbers(out[rows])
            excess = self._excess(V, together=i % 2 == 0)
            active = self._active(out[rows])
            v = V[:, self._c]
            free, dz = active, np.zeros(v.shape)
            for _ in range(2):  # what would leave the box stays where it is, and the others make up for it
                dz = -_least(self._R, free, excess, excess != 0.0)
                free = active & ~(((v <= self._low) & (dz < 0.0)) | ((v >= self._low + self._span) & (dz > 0.0)))
            values = np.clip(v + self._span * dz, self._low, self._low + self._span)
            out[rows] = self._placed(out[rows], values, active)
            rows = rows[~self._rows.hold(self._space.numbers(out[rows]))]
        return out

    def _excess(self, V: Array, *, together: bool) -> Array:  # (n, r)
        """How far each row's sum is from the inner half of its band; of bands that hold only if all move ``together``.

        Together they arrive in one round, unless the inner halves do not meet; one after the other they do then, too.
        """
        total = V @ self.R.T
        rounding = 2.0 * np.abs(self._rows.slack) * (np.abs(V) @ np.abs(self.R).T)
        margin = np.minimum(np.maximum(0.25 * np.minimum(self.width, THIN), rounding), 0.5 * (self.upper - self.lower))
        holds = (total >= self.lower + rounding) & (total <= self.upper - rounding)
        inner: Array = total - np.clip(total, self.lower + margin, self.upper - margin)
        return np.where(holds & ((self.width > THIN) | (not together)), 0.0, inner)


def _subsets(eligible: Mask, least: int, rng: np.random.Generator, most: int | None = None) -> Mask:  # (n, k)
    """A random part of the eligible columns of each row: half of the time as few as ``least``, else of any size.

    Few at a time go far where many would be stopped by the first of them at its bound.
    """
    n, k = eligible.shape
    top = k if most is None else min(most, k)
    size = np.where(rng.random(n) < 0.5, min(least, top), rng.integers(min(least, top), top + 1, size=n))
    keys = np.where(eligible, rng.random((n, k)), 2.0)
    rank = keys.argsort(axis=1).argsort(axis=1)
    chosen: Mask = eligible & (rank < size[:, None])
    return chosen


def _least(A: Array, mask: Mask, b: Array, rows: Mask | None = None) -> Array:  # (m, k), (n, k), (n, m) -> (n, k)
    """The smallest x with A x = b for each row of b, over the masked columns (and the given rows of A) alone."""
    M = A[None, :, :] * mask[:, None, :]
    if rows is not None:
        M = M * rows[:, :, None]
    gram = M @ M.transpose(0, 2, 1)
    solved = np.linalg.pinv(gram, rcond=1e-10, hermitian=True) @ b[:, :, None]
    x: Array = (M.transpose(0, 2, 1) @ solved)[:, :, 0]
    return x


def _position(p: Parameter, value: Array) -> Array:
    """Positions of values, rounded to the grid where there is one."""
    assert not isinstance(p, Categorical)
    value = np.clip(value, float(p.low), float(p.high))
    if p.size == 0:
        return np.clip(p.position(value), 0.0, 1.0)
    return p.unit_of_index(np.clip(np.rint((value - float(p.low)) / float(p.step or 1.0)), 0, p.size - 1))
