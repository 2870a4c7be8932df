"""Named parameters, mapped onto the unit cube and onto what the model sees.

    U       (n, d)  unit cube, one coordinate per parameter, in the order of ``names``
    F       (n, p)  what the model sees: one column per searched parameter, of a categorical the index of its choice

The squared distance between two rows of F is the sum of squared differences of the numbers plus one for every
categorical that differs; the kernel and the credit field both use it. An inactive parameter rests at the middle of
its range, a categorical at -1, half as far from every choice as they are from each other: two points in which it is
inactive never differ by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccgbo.arrays import Array
from ccgbo.errors import ParamsError, SpaceError
from ccgbo.space.conditions import compile_conditions, value_index
from ccgbo.space.parameters import Categorical, Int, Parameter
from ccgbo.space.shorthand import as_parameter, reading_of

NEAR = 1e-6  # of a continuous range: nobody needs an evaluation this near to another
INACTIVE_COORDINATE = 0.5  # coordinate of a parameter that is inactive or has one value


class Coordinates(Mapping[str, Parameter]):
    """Parameters by name, some of them active only under a condition."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        if not isinstance(parameters, Mapping) or not parameters:
            raise SpaceError(
                "space must be a non-empty mapping of names to parameters such as {'x': (0.0, 1.0)}, "
                f"got {parameters!r}."
            )
        for name in parameters:
            if not isinstance(name, str) or not name:
                raise SpaceError(f"parameter names must be non-empty text, got {name!r}.")
        self._parameters = {name: as_parameter(name, spec) for name, spec in parameters.items()}
        known: Mapping[str, str | None] = parameters.readings if isinstance(parameters, Coordinates) else {}
        self.readings: dict[str, str | None] = {
            name: known.get(name) or reading_of(spec) for name, spec in parameters.items()
        }
        self.names = tuple(self._parameters)
        self.parameters = tuple(self._parameters.values())
        self.d = len(self.names)
        self._conditions = compile_conditions(self._parameters)
        self.conditional = bool(self._conditions)
        sizes = np.array([min(p.size, 2**53) for p in self.parameters], dtype=float)
        self.continuous = np.flatnonzero(sizes == 0)  # parameter indices with a continuum of values
        self.discrete = np.flatnonzero(sizes > 1)
        self._columns: list[int] = []  # feature column of each parameter, -1 for constants
        columns = 0
        for p in self.parameters:
            self._columns.append(-1 if p.size == 1 else columns)
            columns += p.size != 1
        self.p = max(columns, 1)  # nothing varies: one column of zeros, so that no model has to think of none
        self.choices = tuple(  # (feature column, number of choices) of each categorical
            (c, p.size)
            for c, p in zip(self._columns, self.parameters, strict=True)
            if c >= 0 and isinstance(p, Categorical)
        )
        self._plain = not self.conditional and len(self.continuous) == self.d
        self.continuous_columns = np.array([self._columns[j] for j in self.continuous], dtype=int)

    @property
    def mixed(self) -> bool:
        """Whether there are categoricals to choose from."""
        return bool(self.choices)

    @cached_property
    def tolerance(self) -> Array:  # (p,)
        """Two rows of F that differ by no more than this in any column are the same point to a user.

        A quarter of the smallest cell of a grid; a millionth of a continuous range.
        """
        out = np.full(self.p, NEAR)
        for c, p in zip(self._columns, self.parameters, strict=True):
            if c < 0:
                continue
            if isinstance(p, Categorical):
                out[c] = 0.25
            elif p.size > 0:
                last = p.unit_of_index(np.array([p.size - 2.0, p.size - 1.0]))  # the smallest cell on a log scale
                out[c] = 0.25 * (last[1] - last[0])
        return out

    def __getitem__(self, name: str) -> Parameter:
        return self._parameters[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __len__(self) -> int:
        return self.d

    # -- points

    def encode(self, params: Mapping[str, Any]) -> Array:  # (d,)
        """A point as its snapped position in the unit cube; refuses what is not in the space."""
        self.check_names(params)
        u = self.at_rest()
        for j, name in enumerate(self.names):
            if name in params:
                u[j] = self.parameters[j].to_unit(name, params[name])
        active = self.active(u[None, :])[0]
        for j, name in enumerate(self.names):
            if active[j] and name not in params:
                raise ParamsError(f"params must have a value for {name!r}, got {dict(params)!r}.")
            if not active[j] and name in params:
                raise ParamsError(f"{name!r} is inactive at this point (active_if={self[name].active_if!r}).")
        u[~active] = INACTIVE_COORDINATE
        return u

    def check_names(self, params: Mapping[str, Any]) -> None:
        """Refuse what is no mapping of names of this space."""
        if not isinstance(params, Mapping):
            raise ParamsError(f"params must be a mapping of names to values, got {params!r}.")
        for name in params:
            if name not in self._parameters:
                raise ParamsError(f"params has an unknown parameter {name!r}; the space has {list(self.names)!r}.")

    def at_rest(self) -> Array:  # (d,)
        """The position in which every parameter is inactive."""
        return np.full(self.d, INACTIVE_COORDINATE)

    def encode_rows(self, rows: Sequence[Mapping[str, Any]]) -> Array:  # (n, d)
        """``encode`` of each point, column by column, to the last bit."""
        if len(rows) == 1 or not all(isinstance(params, Mapping) for params in rows):
            return np.array([self.encode(params) for params in rows])
        U, given = np.full((len(rows), self.d), INACTIVE_COORDINATE), np.zeros((len(rows), self.d), dtype=bool)
        for j, (name, p) in enumerate(self._parameters.items()):
            at = [i for i, params in enumerate(rows) if name in params]
            given[at, j] = True
            U[at, j] = p.to_units(name, [rows[i][name] for i in at])
        if sum(map(len, rows)) != given.sum() or (self.active(U) != given).any():
            return np.array([self.encode(params) for params in rows])  # which says what is wrong
        return U

    def decode(self, u: Array) -> dict[str, Any]:
        """The point at a position; inactive parameters are left out."""
        return self.decode_rows(self.snap(u[None, :]))[0]

    def decode_rows(self, U: Array) -> list[dict[str, Any]]:  # (n, d) snapped
        """The point at each row."""
        columns: list[list[Any]] = []
        for j, p in enumerate(self.parameters):
            if isinstance(p, Categorical):
                columns.append([p.choices[int(i)] for i in p.index_of_unit(U[:, j])])
            else:
                numbers = p.values(U[:, j]).tolist()
                columns.append([int(v) for v in numbers] if isinstance(p, Int) else numbers)
        if not self.conditional:
            return [dict(zip(self.names, row, strict=True)) for row in zip(*columns, strict=True)]
        active = self.active(U).tolist()
        return [
            {name: value for name, value, on in zip(self.names, row, mask, strict=True) if on}
            for row, mask in zip(zip(*columns, strict=True), active, strict=True)
        ]

    def canonical(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The point in plain Python values and the order of the space; it must belong to the space."""
        return {name: self[name].canonical(params[name]) for name in self.names if name in params}

    def snap(self, U: Array) -> Array:  # (n, d) -> (n, d)
        """Every coordinate at a value that can be evaluated, inactive ones at rest."""
        if self._plain:
            return np.clip(U, 0.0, 1.0)
        out = np.column_stack([p.snap(U[:, j]) for j, p in enumerate(self.parameters)])
        if self.conditional:
            out[~self.active(out)] = INACTIVE_COORDINATE
        return out

    def active(self, U: Array) -> NDArray[np.bool_]:  # (n, d)
        mask = np.ones(U.shape, dtype=bool)
        for j, parents in self._conditions:
            for i, allowed in parents:
                mask[:, j] &= mask[:, i] & np.isin(value_index(self.parameters[i], U[:, i]), allowed)
        return mask

    def features(self, U: Array) -> Array:  # (n, d) snapped -> (n, p)
        if self._plain:
            return U
        F = np.zeros((len(U), self.p))
        active = self.active(U) if self.conditional else None
        for j, p in enumerate(self.parameters):
            c = self._columns[j]
            if c < 0:
                continue
            if not isinstance(p, Categorical):
                F[:, c] = U[:, j]  # inactive: INACTIVE_COORDINATE
            else:
                index = p.index_of_unit(U[:, j])
                F[:, c] = index if active is None else np.where(active[:, j], index, -1.0)
        return F

    def from_features(self, F: Array) -> Array:  # (n, p) -> (n, d) snapped
        """The unit-cube point of each feature row."""
        if self._plain:
            return F
        U = np.full((len(F), self.d), INACTIVE_COORDINATE)
        for j, p in enumerate(self.parameters):
            c = self._columns[j]
            if c < 0:
                continue
            if not isinstance(p, Categorical):
                U[:, j] = F[:, c]
            else:
                U[:, j] = p.unit_of_index(np.maximum(F[:, c], 0.0))
        return self.snap(U)

    def numbers(self, U: Array) -> Array:  # (n, d) snapped: numbers as they are, 0 for categoricals and inactive ones
        out = np.zeros(U.shape)
        for j, p in enumerate(self.parameters):
            if not isinstance(p, Categorical):
                out[:, j] = p.values(U[:, j])
        if self.conditional:
            out[~self.active(U)] = 0.0
        return out
