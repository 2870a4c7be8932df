"""A space some of whose parameters are held at given values.

Parameters, order, coordinates and feature columns are those of the whole space, so a model of the whole space can be
asked about its points. What changes is which coordinates may move: a fixed one is neither continuous nor discrete, and
``snap`` puts it where it belongs. A fixed parameter with a condition has its value wherever it is active.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ccgbo.errors import InfeasibleSpaceError, ParamsError
from ccgbo.space.constraints import LinearRows
from ccgbo.space.feasible import check_sums, linear_middle
from ccgbo.space.parameters import Parameter
from ccgbo.space.space import Space


class Restricted(Space):
    """The points of a space at which some parameters have given values; made by ``Space.restricted``."""

    def __init__(self, whole: Space, fixed: Mapping[str, Any]) -> None:
        self.fixed: Mapping[str, Any] = _checked(whole, fixed)
        super().__init__(whole, constraints=whole.constraints)
        self._check_conditions()
        if self.linear is not None:
            self._check_linear(self.linear)

    def __repr__(self) -> str:
        return f"{super().__repr__()}.restricted({dict(self.fixed)!r})"

    def _key(self) -> tuple[Any, ...]:
        return *super()._key(), tuple(sorted(self.fixed.items()))

    def _check_conditions(self) -> None:
        """A parameter that is fixed must be active somewhere, given what else is fixed."""
        held = {self.names.index(name): self[name].to_unit(name, value) for name, value in self.fixed.items()}
        blocked: dict[int, int] = {}  # inactive parameter: the fixed one that makes it so
        for j, parents in self._conditions:
            for i, allowed in parents:
                if i in blocked:
                    blocked.setdefault(j, blocked[i])
                elif i in held and self.parameters[i].index_of_unit(np.array([held[i]]))[0] not in allowed:
                    blocked.setdefault(j, i)
        for j in sorted(held.keys() & blocked.keys()):
            name, parent = self.names[j], self.names[blocked[j]]
            raise ParamsError(
                f"fixed: {name!r} is inactive where {parent!r} is {self.fixed[parent]!r} "
                f"(active_if={self[name].active_if!r})."
            )

    def _check_linear(self, rows: LinearRows) -> None:
        """That the linear constraints leave something: each by itself, then all together."""
        check_sums(self, rows, np.ones(len(rows.A), dtype=bool))
        if not self.conditional and linear_middle(self, rows) is None:
            raise InfeasibleSpaceError(
                f"no point of the space with fixed={dict(self.fixed)!r} satisfies the linear constraints (proven)."
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
