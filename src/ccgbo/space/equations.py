"""Equations over continuous parameters: mixtures, and what else must add up.

    V   (n, d)  values in the parameters' own units
    U   (n, d)  positions in the unit cube, on which the same equations are linear, too

A position is a number of 53 bits, so a point at which the equations hold in U breaks them in V by rounding. ``settle``
takes that back: the values that predicates see and users get add up to the last digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ccgbo.arrays import Array
from ccgbo.errors import SpaceError
from ccgbo.space.affine import Affine
from ccgbo.space.parameters import Categorical, Int

if TYPE_CHECKING:
    from ccgbo.space.constraints import LinearConstraint, LinearRows
    from ccgbo.space.space import Space

NEAR = 1e-9  # relative to the terms of a sum: a point this near to the equations is meant to be on them
INTERIOR = 1e-6  # of its range: what is nearer to a bound stays there when the others settle


class Equations:
    """The equations of a space that have a continuous term."""

    def __init__(self, space: Space, rows: LinearRows) -> None:
        A, b = rows.A[rows.equal], rows.upper[rows.equal]
        size = np.abs(A).max(axis=1)
        self.A, self.b = A / size[:, None], b / size  # (m, d), (m,)
        self.columns = np.flatnonzero((self.A != 0.0).any(axis=0) & np.isin(np.arange(space.d), space.continuous))
        bounds = np.array([(0.0, 0.0) if isinstance(p, Categorical) else (p.low, p.high) for p in space.parameters])
        self._low, self._span = bounds[:, 0], bounds[:, 1] - bounds[:, 0]
        self._values = Affine(self.A, self.b, bounds[:, 0], bounds[:, 1])
        self._box = space.low, space.high  # within all linear constraints

    @cached_property
    def rank(self) -> int:
        """By how many dimensions they leave less to search."""
        A = (self.A * self._span)[:, self.columns]
        return int(np.linalg.matrix_rank(A, tol=1e-10)) if A.size else 0

    @cached_property
    def positions(self) -> Affine:  # k = d
        """The equations on the unit cube."""
        moves = self._span > 0.0
        scale = np.where(moves, self._span, 1.0)
        low, high = (np.where(moves, np.clip((end - self._low) / scale, 0.0, 1.0), 0.5) for end in self._box)
        return Affine(self.A * self._span, self.b - self.A @ self._low, low, high)

    @property
    def extent(self) -> Array:  # (d,)
        """How far each position can move within the linear constraints; one for those that are in no equation."""
        out: Array = np.ones(len(self._span))
        out[self.columns] = (self.positions.high - self.positions.low)[self.columns]
        return out

    def features(self, columns: Sequence[int], p: int) -> Affine:  # k = p
        """The equations on what the model sees; ``columns`` are those of the parameters, -1 for none."""
        whole, A, low, high = self.positions, np.zeros((len(self.A), p)), np.zeros(p), np.ones(p)
        at = np.flatnonzero((np.array(columns) >= 0) & (self.A != 0.0).any(axis=0))
        to = np.array(columns)[at]
        A[:, to], low[to], high[to] = whole.A[:, at], whole.low[at], whole.high[at]
        return Affine(A, whole.b, low, high)

    def settle(self, V: Array) -> Array:  # (n, d) -> (n, d)
        """Values that miss the equations by rounding, moved onto them; others as they are."""
        missing = np.abs(self.b - V @ self.A.T)
        near = (missing <= NEAR * (np.abs(V) @ np.abs(self.A).T + np.abs(self.b))).all(axis=1)
        rows = np.flatnonzero(near)
        if not len(rows) or not len(self.columns):
            return V
        out, v = V.copy(), V[rows]
        weights = np.zeros(v.shape)
        weights[:, self.columns] = self._span[self.columns] ** 2
        low, high = self._box
        room = np.minimum(v - low, high - v)
        moved, ok = self._values.onto(v, np.where(room > INTERIOR * (high - low), weights, 0.0))
        if not ok.all():
            moved[~ok] = self._values.onto(v[~ok], weights[~ok])[0]
        out[rows] = moved
        return out

    def repair(self, U: Array, held: Array | None = None) -> Array:  # (n, d) -> (n, d)
        """Points moved onto the equations, as far as that leads.

        With ``held``, columns that stay as they are, the others keep their proportions above their lower bounds.
        """
        weights = np.zeros(U.shape)
        if held is None:
            weights[:, self.columns] = 1.0
        else:
            moving = np.setdiff1d(self.columns, held)
            span = np.where(self._span > 0.0, self._span, 1.0)
            weights[:, moving] = ((U - self.positions.low + 1e-9) / span)[:, moving]
        moved, ok = self.positions.onto(U, np.maximum(weights, 0.0))
        return np.where(ok[:, None], moved, U)


def check_equation(space: Space, equation: LinearConstraint) -> None:
    """An equation is over numbers of one kind: continuous and linear, or on a grid."""
    names = [name for name, a in equation.coefficients.items() if a != 0.0 and space[name].size != 1]
    continuous = [name for name in names if space[name].size == 0]
    for name in names if continuous else ():
        p, reason = space[name], ""
        if p.active_if is not None:
            reason = "is conditional, and counts as zero where it is inactive"
        elif isinstance(p, Int):
            reason = "is a whole number"
        elif p.size > 0:
            reason = "has a step"
        elif not isinstance(p, Categorical) and p.log:
            reason = "is searched on a log scale"
        if reason:
            raise SpaceError(
                f"{equation!r} must be over continuous parameters alone, linear and active everywhere, but {name!r} "
                f"{reason}: change {name!r}, or give the sum a width by lower= and upper=."
            )
