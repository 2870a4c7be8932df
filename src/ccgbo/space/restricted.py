"""A space some of whose parameters are held at given values.

Parameters, order, coordinates and feature columns are those of the whole space, so a model of the whole space can be
asked about its points. What changes is which coordinates may move: a fixed one is neither continuous nor discrete, and
``snap`` puts it where it belongs. A fixed parameter with a condition has its value wherever it is active.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from ccgbo.arrays import Array
from ccgbo.errors import InfeasibleSpaceError, ParamsError
from ccgbo.space.constraints import LinearConstraint, LinearRows
from ccgbo.space.feasible import linear_middle
from ccgbo.space.parameters import Categorical, Parameter
from ccgbo.space.space import Space


class Restricted(Space):
    """The points of a space at which some parameters have given values; made by ``Space.restricted``."""

    def __init__(self, whole: Space, fixed: Mapping[str, Any]) -> None:
        self.fixed: Mapping[str, Any] = _checked(whole, fixed)
        super().__init__(dict(whole), constraints=whole.constraints)
        self._at = np.array([self.names.index(name) for name in self.fixed], dtype=int)
        self._units = np.array([self[name].to_unit(name, value) for name, value in self.fixed.items()])
        self._exact = np.array([0.0 if isinstance(self[k], Categorical) else float(v) for k, v in self.fixed.items()])
        self._check_conditions()
        self.continuous = np.setdiff1d(self.continuous, self._at)
        self.discrete = np.setdiff1d(self.discrete, self._at)
        self.continuous_columns = np.array([self._columns[j] for j in self.continuous], dtype=int)
        self.linear = LinearRows.build(self, [c for c in self.constraints if isinstance(c, LinearConstraint)])
        if self.linear is not None:
            _check_sums(self, self.linear)

    def __repr__(self) -> str:
        return f"{super().__repr__()}.restricted({dict(self.fixed)!r})"

    def _key(self) -> tuple[Any, ...]:
        return *super()._key(), tuple(sorted(self.fixed.items()))

    def bounds(self, j: int) -> tuple[float, float]:
        at = np.flatnonzero(self._at == j)
        return (float(self._exact[at[0]]),) * 2 if len(at) else super().bounds(j)

    def snap(self, U: Array) -> Array:  # (n, d) -> (n, d)
        U = np.array(U, dtype=float)
        U[:, self._at] = self._units
        return super().snap(U)

    def decode_rows(self, U: Array) -> list[dict[str, Any]]:
        rows = super().decode_rows(U)
        for row in rows:
            row.update((name, value) for name, value in self.fixed.items() if name in row)
        return rows

    def numbers(self, U: Array) -> Array:
        out = super().numbers(U)
        out[:, self._at] = np.where(self.active(U)[:, self._at], self._exact, 0.0)
        return out

    @cached_property
    def cardinality(self) -> int:
        if len(self.continuous):
            return 0
        return math.prod(p.size for j, p in enumerate(self.parameters) if j not in self._at)

    def _axis(self, j: int, p: Parameter) -> Array:
        return self._units[self._at == j] if j in self._at else super()._axis(j, p)

    def _check_conditions(self) -> None:
        """A parameter that is fixed must be active somewhere, given what else is fixed."""
        held = dict(zip(self._at.tolist(), self._units, strict=True))
        blocked: dict[int, int] = {}  # inactive parameter: the fixed one that makes it so
        for j, parents in self._conditions:
            for i, allowed in parents:
                if i in blocked:
                    blocked.setdefault(j, blocked[i])
                elif i in held and self.parameters[i].index_of_unit(np.array([held[i]]))[0] not in allowed:
                    blocked.setdefault(j, i)
        for j in held.keys() & blocked.keys():
            name, parent = self.names[j], self.names[blocked[j]]
            raise ParamsError(
                f"fixed: {name!r} is inactive where {parent!r} is {self.fixed[parent]!r} "
                f"(active_if={self[name].active_if!r})."
            )

    def agrees(self, params: Mapping[str, Any]) -> bool:
        return all(_same(name, self[name], params[name], v) for name, v in self.fixed.items() if name in params)


def _same(name: str, p: Parameter, one: Any, two: Any) -> bool:
    try:
        return p.canonical(one) == two if p.size == 0 else p.to_unit(name, one) == p.to_unit(name, two)
    except (ParamsError, TypeError, ValueError):
        return False


def _checked(whole: Space, fixed: Mapping[str, Any]) -> dict[str, Any]:
    """The values as they will be decoded, those of a space that is restricted already among them."""
    if not isinstance(fixed, Mapping):
        raise ParamsError(f"fixed must be a mapping of names to values, got {fixed!r}.")
    known = dict(whole.fixed)
    for name, value in fixed.items():
        if name not in whole:
            raise ParamsError(f"fixed has an unknown parameter {name!r}; the space has {list(whole.names)!r}.")
        p = whole[name]
        try:
            unit = p.to_unit(name, value)
        except ParamsError as error:
            raise ParamsError(f"fixed: {error}") from None
        exact = p.canonical(value) if p.size == 0 else p.from_unit(unit)
        if name in known and known[name] != exact:
            raise ParamsError(f"fixed: {name!r} is held at {known[name]!r} already, got {value!r}.")
        known[name] = exact
    return known


def _check_sums(space: Restricted, rows: LinearRows) -> None:
    """That the linear constraints leave something: each by itself, then all together."""
    low, high = (np.array(ends) for ends in zip(*(space.bounds(j) for j in range(space.d)), strict=True))
    for j, p in enumerate(space.parameters):
        if p.active_if is not None:  # an inactive one counts as zero
            low[j], high[j] = min(low[j], 0.0), max(high[j], 0.0)
    ends = np.stack([rows.A * low, rows.A * high])
    least, most = ends.min(axis=0).sum(axis=1), ends.max(axis=0).sum(axis=1)
    rounding = 1e-12 * np.abs(ends).max(axis=0).sum(axis=1)
    for i in np.flatnonzero((least > rows.upper + rounding) | (most < rows.lower - rounding)):
        raise InfeasibleSpaceError(
            f"fixed={dict(space.fixed)!r} contradicts {rows.sources[i]!r}: "
            f"the sum is then between {least[i]:.6g} and {most[i]:.6g}."
        )
    if not space.conditional and linear_middle(space, rows) is None:
        raise InfeasibleSpaceError(
            f"no point of the space with fixed={dict(space.fixed)!r} satisfies the linear constraints (proven)."
        )
