"""Which parameters are active where: conditions on parents, compiled to grid indices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ccgbo.arrays import Array
from ccgbo.errors import ParamsError, SpaceError
from ccgbo.space.parameters import Categorical, Parameter

Compiled = list[tuple[int, list[tuple[int, Array]]]]  # (child, [(parent, allowed grid indices)])


def compile_conditions(parameters: Mapping[str, Parameter]) -> Compiled:
    """The conditions of every conditional parameter, parents before their children."""
    names = list(parameters)
    conditions = {
        j: [_compile_one(parameters, name, *item) for item in p.active_if.items()]
        for j, (name, p) in enumerate(parameters.items())
        if p.active_if is not None
    }
    ordered: Compiled = []
    done = set(range(len(names))) - set(conditions)
    while len(ordered) < len(conditions):
        ready = [j for j in conditions if j not in done and all(i in done for i, _ in conditions[j])]
        if not ready:
            stuck = [names[j] for j in conditions if j not in done]
            raise SpaceError(f"active_if must not form a cycle, got one through {stuck!r}.")
        ordered.extend((j, conditions[j]) for j in ready)
        done.update(ready)
    return ordered


def _compile_one(
    parameters: Mapping[str, Parameter], name: str, parent: str, values: tuple[Any, ...]
) -> tuple[int, Array]:
    if parent not in parameters:
        raise SpaceError(f"{name}.active_if names an unknown parameter: {parent!r}.")
    source = parameters[parent]
    if source.size == 0:
        raise SpaceError(f"{name}.active_if must depend on a discrete parameter, got the continuous {parent!r}.")
    try:
        units = [source.to_unit(parent, value) for value in values]
    except ParamsError as error:
        raise SpaceError(f"{name}.active_if: {error}") from None
    return list(parameters).index(parent), source.index_of_unit(np.array(units))


def value_index(p: Parameter, u: Array) -> Array:  # (n,) -> (n,)
    """Grid index of each position that is one of a value of the parameter, -1 beyond its range and between values."""
    index = p.index_of_unit(u)
    if p.size == 1 or isinstance(p, Categorical):
        return index
    last = p.unit_of_index(np.array([p.size - 2.0, p.size - 1.0]))  # the smallest cell on a log scale
    at: Array = np.where(np.abs(p.unit_of_index(index) - u) <= 0.25 * (last[1] - last[0]), index, -1.0)
    return at
