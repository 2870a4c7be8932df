"""Coordinates of which some cannot move, and others only together.

A held parameter has one value wherever it is active: it was fixed, or equations leave it no choice. Parameters that
stand in an equation move along it. Either way positions and features are those of the whole unit cube; what differs is
which of them there are, and that the values at a position are exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ccgbo.arrays import Array
from ccgbo.space.affine import Affine
from ccgbo.space.coordinates import Coordinates
from ccgbo.space.equations import Equations
from ccgbo.space.parameters import Categorical


class HeldCoordinates(Coordinates):
    """Parameters by name, with values that are held and equations that hold."""

    equations: Equations | None
    """What must add up over continuous parameters."""
    held: dict[str, Any]
    """Values of the parameters that cannot move: what is fixed, and what the equations leave no choice of."""
    low: Array
    """(d,) the least number that each parameter may have; zero for a categorical."""
    high: Array
    """(d,) the largest."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        super().__init__(parameters)
        self.equations = None
        self._hold({})

    def _hold(self, values: Mapping[str, Any]) -> None:
        self.held = dict(values)
        self._at = np.array([self.names.index(name) for name in values], dtype=int)
        self._units = np.array([self[name].to_unit(name, value) for name, value in values.items()])
        self.continuous, self.discrete = (np.setdiff1d(js, self._at) for js in (self.continuous, self.discrete))
        self.continuous_columns = np.array([self._columns[j] for j in self.continuous], dtype=int)
        bounds = np.array([(0.0, 0.0) if isinstance(p, Categorical) else (p.low, p.high) for p in self.parameters])
        for j, value in zip(self._at, values.values(), strict=True):
            if not isinstance(self.parameters[j], Categorical):
                bounds[j] = value
        self.low, self.high = bounds.T

    # -- points

    def snap(self, U: Array) -> Array:  # (n, d) -> (n, d)
        if self.held:
            U = np.array(U, dtype=float)
            U[:, self._at] = self._units
        return super().snap(U)

    def numbers(self, U: Array) -> Array:  # (n, d) snapped -> (n, d)
        out = super().numbers(U)
        if self.held:
            out[:, self._at] = np.where(self.active(U)[:, self._at], self.low[self._at], 0.0)
        return out if self.equations is None else self.equations.settle(out)

    def decode_rows(self, U: Array) -> list[dict[str, Any]]:  # (n, d) snapped
        rows = super().decode_rows(U)
        for row in rows if self.held else ():
            row.update((name, value) for name, value in self.held.items() if name in row)
        if self.equations is not None:
            parts = [self.names[j] for j in self.equations.columns]
            for row, values in zip(rows, self.numbers(U)[:, self.equations.columns].tolist(), strict=True):
                row.update(zip(parts, values, strict=True))
        return rows

    # -- what can move

    @property
    def dimension(self) -> int:
        """In how many independent directions a point can move continuously."""
        return len(self.continuous) - (0 if self.equations is None else self.equations.rank)

    @cached_property
    def extent(self) -> Array:  # (d,)
        """How far each coordinate can move: one, or what the equations leave of it."""
        return np.ones(self.d) if self.equations is None else self.equations.extent

    @cached_property
    def surface(self) -> Affine | None:
        """The equations on what the model sees; None without any."""
        return None if self.equations is None else self.equations.features(self._columns, self.p)

    def complete(self, U: Array, columns: Sequence[int]) -> Array:  # (n, d) snapped -> (n, d) snapped
        """Points whose other parts make up for the given coordinates in proportion, where they can."""
        return U if self.equations is None else self.equations.repair(U, held=np.array(columns, dtype=int))
