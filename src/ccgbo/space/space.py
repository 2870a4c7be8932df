"""A search space: coordinates, and which of their points may be evaluated."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccgbo.arrays import Array
from ccgbo.errors import SpaceError
from ccgbo.markup import block, lines, table
from ccgbo.space.constraints import LinearConstraint, LinearRows, Predicate, satisfied
from ccgbo.space.equations import Equations, check_equation
from ccgbo.space.feasible import check_sums, find_feasible, sample_feasible
from ccgbo.space.held import HeldCoordinates
from ccgbo.space.parameters import Categorical, Parameter
from ccgbo.space.placement import outside, place_rows
from ccgbo.space.polytope import Polytope
from ccgbo.space.tight import tight_box
from ccgbo.text import count


class Space(HeldCoordinates):
    """The set of points that may be evaluated.

    >>> space = Space({"lr": Float(1e-5, 1e-1, log=True), "layers": (1, 8), "act": ["relu", "tanh"]})
    """

    fixed: Mapping[str, Any] = MappingProxyType({})
    """Parameters that are held at a value, see ``restricted``."""

    def __init__(
        self,
        parameters: Mapping[str, Any],
        *,
        constraints: Sequence[LinearConstraint | Predicate] | LinearConstraint | Predicate = (),
    ) -> None:
        super().__init__(parameters)
        self.constraints = _listed(constraints)
        for c in self.constraints:
            self._check_constraint(c)
        self._predicates = [c for c in self.constraints if not isinstance(c, LinearConstraint)]
        self._hold(self.fixed)
        self.linear = self._linear_rows()
        if self.linear is not None and self.linear.equal.any():
            self._solve(self.linear)

    def _linear_rows(self) -> LinearRows | None:
        return LinearRows.build(self, [c for c in self.constraints if isinstance(c, LinearConstraint)])

    def _solve(self, rows: LinearRows) -> None:
        """Find what the equations leave of each range; what they leave no choice of is held."""
        check_sums(self, rows, rows.equal)
        certain = ~(rows.A[:, [p.active_if is not None for p in self.parameters]] != 0.0).any(axis=1)
        part = (rows.A[rows.equal] != 0.0).any(axis=0) & np.isin(np.arange(self.d), self.continuous)
        A, lower, upper = rows.A[certain], rows.lower[certain], rows.upper[certain]
        low, high = tight_box(A, lower, upper, self.low, self.high, part)
        still = {self.names[j]: float(low[j]) for j in np.flatnonzero(part & (low == high))}
        if still:
            self._hold(self.held | still)
            self.linear = self._linear_rows()
        if self.linear is not None and self.linear.equal.any() and (low <= high).all():
            self.low, self.high = low, high
            self.equations = Equations(self, self.linear)

    def restricted(self, fixed: Mapping[str, Any]) -> Space:
        """The points of this space at which the named parameters have exactly the given values.

        Coordinates and features are those of this space. A parameter with a condition has its value wherever it is
        active: "the oven is at 180" says nothing about points without an oven. Values that no point of the space has,
        for its bounds, conditions or linear constraints, are refused.

        Parameters
        ----------
        fixed
            Values by the names of their parameters; of a space that is restricted already, in addition to those.
        """
        from ccgbo.space.restricted import Restricted

        return Restricted(self, fixed) if not isinstance(fixed, Mapping) or fixed else self

    def agrees(self, params: Mapping[str, Any]) -> bool:  # noqa: ARG002
        """Whether a point has the values that are fixed, wherever they are active."""
        return True

    def __repr__(self) -> str:
        """A line for each parameter, with what it was read from; it reads back as Python."""
        lines = []
        for name, p in self._parameters.items():
            reading = self.readings[name]
            lines.append(f"    {name!r}: {p!r}," + (f"  # {reading}" if reading else "") + "\n")
        tail = f", constraints={list(self.constraints)!r}" if self.constraints else ""
        return f"Space({{\n{''.join(lines)}}}{tail})"

    def _repr_html_(self) -> str:
        rows = [[name, repr(p), self.readings[name] or ""] for name, p in self._parameters.items()]
        more = [f"constraint {constraint!r}" for constraint in self.constraints]
        return block(f"Space of {count(len(rows), 'parameter')}", table(["name", "parameter", ""], rows), lines(*more))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self.names)

    def _key(self) -> tuple[Any, ...]:
        return tuple(self._parameters.items()), self.constraints

    # -- points that were really evaluated

    def place_rows(self, rows: Sequence[Mapping[str, Any]]) -> tuple[Array, list[str | None]]:  # (n, d)
        """Where evaluated points lie, and why a row cannot be placed: it is then NaN.

        Of a point of the space as ``encode_rows`` gives it, to the last bit. Numbers beyond their bounds have
        coordinates beyond [0, 1], those off a grid lie between its positions; constraints are not asked.

        Parameters
        ----------
        rows
            Settings by name, as they were really used.
        """
        return place_rows(self, rows)

    def outside(self, params: Mapping[str, Any]) -> str | None:
        """Why settings are no point of this space: a bound, a choice, a condition, a constraint; None if they are.

        Parameters
        ----------
        params
            Settings by name.
        """
        return outside(self, params)

    # -- constraints

    def _check_constraint(self, constraint: Any) -> None:
        if isinstance(constraint, LinearConstraint):
            for name in constraint.coefficients:
                if name not in self._parameters:
                    raise SpaceError(f"{type(constraint).__name__} names an unknown parameter: {name!r}.")
                if isinstance(self._parameters[name], Categorical):
                    raise SpaceError(
                        f"{type(constraint).__name__} must name numbers only, got the categorical {name!r}."
                    )
            if constraint.equals is not None:
                check_equation(self, constraint)
        elif not callable(constraint):
            raise SpaceError(f"constraints must be LinearConstraint or callable, got {constraint!r}.")

    def feasible(self, U: Array) -> NDArray[np.bool_]:  # (n, d) snapped -> (n,)
        ok = np.ones(len(U), dtype=bool)
        if self.linear is not None:
            ok &= self.linear.hold(self.numbers(U))
        if self._predicates:
            rows = np.flatnonzero(ok)
            for i, params in zip(rows, self.decode_rows(U[rows]), strict=True):
                ok[i] = all(satisfied(predicate, params) for predicate in self._predicates)
        return ok

    @cached_property
    def without_predicates(self) -> Space:
        """The same space with its linear constraints alone."""
        linear = [c for c in self.constraints if isinstance(c, LinearConstraint)]
        return Space(self, constraints=linear).restricted(self.fixed) if self._predicates else self

    @cached_property
    def polytope(self) -> Polytope | None:
        """The linear constraints as walks need them; None without any."""
        return None if self.linear is None else Polytope(self, self.linear)

    def repair(self, U: Array) -> Array:  # (n, d) snapped -> (n, d) snapped
        """Points beside an equation or a narrow band of linear constraints moved onto it; others stay as they are."""
        if self.equations is not None:
            assert self.linear is not None
            off = ~self.linear.hold(self.numbers(U))
            U = U.copy()
            U[off] = self.equations.repair(U[off])
        return U if self.polytope is None or not self.polytope.narrow else self.polytope.repair(U)

    def sample(self, n: int, rng: np.random.Generator) -> Array:  # (n, d)
        """Uniform snapped points that satisfy the constraints."""
        if self.constraints:
            return sample_feasible(self, n, rng)
        return self.snap(rng.random((n, self.d)))

    @cached_property
    def anchors(self) -> Array:  # (k, d), at least one
        """Points that satisfy the constraints, the same for every user of the space; to walk from where they are rare.

        Raises InfeasibleSpaceError where none is found.
        """
        return find_feasible(self)

    # -- finite spaces

    @cached_property
    def cardinality(self) -> int:
        """Number of points if every parameter is discrete (constraints not counted), else 0."""
        if len(self.continuous):
            return 0
        return math.prod(p.size for name, p in self._parameters.items() if name not in self.held)

    def grid_size_at_most(self, limit: int) -> bool:
        """Whether the space is finite and has at most ``limit`` combinations."""
        return 0 < self.cardinality <= limit

    def grid(self, *, limit: int) -> Array | None:
        """Every feasible point of a finite space of at most ``limit`` combinations, else None."""
        if not self.grid_size_at_most(limit):
            return None
        return self._grid

    @cached_property
    def _grid(self) -> Array:
        axes = [self._axis(j, p) for j, p in enumerate(self.parameters)]
        U = np.unique(self.snap(np.array(list(product(*axes)), dtype=float)), axis=0)
        return U[self.feasible(U)] if self.constraints else U

    def _axis(self, j: int, p: Parameter) -> Array:
        return self._units[self._at == j] if j in self._at else p.unit_of_index(np.arange(p.size, dtype=float))


def as_space(space: Any, constraint: Any = None) -> Space:
    """A Space from itself or from a mapping; ``constraint`` adds to its own."""
    if not isinstance(space, Space):
        space = Space(space)
    made: Space = space
    if constraint is None:
        return made
    return Space(made, constraints=[*made.constraints, *_listed(constraint)]).restricted(made.fixed)


def together(constraint: Any, constraints: Any) -> Any:
    """What two arguments say in one: ``constraint``, and several ``constraints``."""
    if constraints is None or constraint is None:
        return constraint if constraints is None else constraints
    return [*_listed(constraint), *_listed(constraints)]


def _listed(constraints: Any) -> tuple[LinearConstraint | Predicate, ...]:
    """One constraint or several, as a tuple."""
    several = isinstance(constraints, Iterable) and not callable(constraints)
    return tuple(constraints) if several else (constraints,)
