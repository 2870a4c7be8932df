"""One parameter as the axis of a picture: where its values lie and what stands beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ccgbo.arrays import Array
from ccgbo.errors import SettingError
from ccgbo.space import Categorical, Parameter, Space


@dataclass(frozen=True, slots=True)
class Axis:
    """Points along one parameter."""

    name: str
    units: Array  # (m,) positions in the unit interval
    at: Array  # (m,) where they are drawn: the value itself, or the index of a choice
    labels: tuple[str, ...] = ()  # of a categorical, one per index
    log: bool = False


def axis_of(space: Space, name: str, m: int) -> Axis:
    """``m`` points over a parameter's range; every value of it where it has fewer."""
    if name not in space:
        raise SettingError(f"parameter must be one of {list(space)!r}, got {name!r}.")
    p = space[name]
    if p.size and p.size <= m:
        units = p.unit_of_index(np.arange(p.size, dtype=float))
    else:
        units = np.unique(p.snap(np.linspace(0.0, 1.0, m)))
    at = np.array([place(p, p.from_unit(float(u))) for u in units])
    return Axis(name, units, at, labels_of(p), not isinstance(p, Categorical) and p.log)


def place(p: Parameter, value: Any) -> float:
    """Where a value is drawn along its axis; NaN where the parameter was inactive."""
    if isinstance(p, Categorical):
        index = p.find(value)
        return float("nan") if index is None else float(index)
    return float("nan") if value is None else float(value)


def labels_of(p: Parameter) -> tuple[str, ...]:
    """What stands beside each index of a categorical; empty for a number."""
    return tuple(str(choice) for choice in p.choices) if isinstance(p, Categorical) else ()


def searched(space: Space) -> list[str]:
    """Parameters with more than one value."""
    return [name for name, p in space.items() if p.size != 1]
