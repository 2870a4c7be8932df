"""Parameters: numbers and categoricals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ccgbo.arrays import Array
from ccgbo.errors import ParamsError, SpaceError
from ccgbo.space.common import Condition, normal_condition, spelled
from ccgbo.space.numeric import Float, Int, is_number

__all__ = ["Array", "Bool", "Categorical", "Fixed", "Float", "Int", "Parameter", "is_number"]


@dataclass(frozen=True, slots=True, repr=False)
class Categorical:
    """One of a few choices with no order between them."""

    choices: Sequence[Any]
    active_if: Condition | None = field(default=None, kw_only=True)
    _index: dict[tuple[bool, Any], int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.choices, str | bytes) or not isinstance(self.choices, Sequence):
            raise SpaceError(f"Categorical.choices must be a list, got {self.choices!r}.")
        plain = tuple(c.item() if isinstance(c, np.generic) else c for c in self.choices)
        object.__setattr__(self, "choices", plain)
        object.__setattr__(self, "active_if", normal_condition(self.active_if))
        if not self.choices:
            raise SpaceError("Categorical.choices must not be empty, got [].")
        object.__setattr__(self, "_index", {})
        for i, choice in enumerate(self.choices):
            if choice is not None and not isinstance(choice, str | bool | int | float):
                raise SpaceError(f"Categorical.choices must be text, numbers, booleans or None, got {choice!r}.")
            if isinstance(choice, float) and not math.isfinite(choice):
                raise SpaceError(f"Categorical.choices must be finite, got {choice!r}.")
            if self._index.setdefault((isinstance(choice, bool), choice), i) != i:
                raise SpaceError(f"Categorical.choices must be distinct, got {choice!r} twice.")

    def __repr__(self) -> str:
        if self.size == 1:
            return spelled("Fixed", self.choices[0], active_if=self.active_if)
        if self.size == 2 and self.choices[0] is False and self.choices[1] is True:
            return spelled("Bool", active_if=self.active_if)
        return spelled("Categorical", list(self.choices), active_if=self.active_if)

    @property
    def size(self) -> int:
        return len(self.choices)

    def find(self, value: Any) -> int | None:
        """Index of ``value``; True and 1 are different choices, 1 and 1.0 are the same."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is not None and not isinstance(value, str | int | float):
            return None
        return self._index.get((isinstance(value, bool), value))

    def snap(self, u: Array) -> Array:
        return self.unit_of_index(self.index_of_unit(u))

    def index_of_unit(self, u: Array) -> Array:
        index: Array = np.clip(np.floor(np.asarray(u, dtype=float) * self.size), 0, self.size - 1)
        return index

    def unit_of_index(self, index: Array) -> Array:
        units: Array = (np.asarray(index, dtype=float) + 0.5) / self.size
        return units

    def to_unit(self, name: str, value: Any) -> float:
        index = self.find(value)
        if index is None:
            raise ParamsError(f"{name} must be one of {list(self.choices)!r}, got {value!r}.")
        return (index + 0.5) / self.size

    def to_units(self, name: str, values: Sequence[Any]) -> Array:  # (n,)
        return np.array([self.to_unit(name, value) for value in values], dtype=float)

    def from_unit(self, u: float) -> Any:
        return self.choices[int(self.index_of_unit(np.asarray(u)))]

    def canonical(self, value: Any) -> Any:
        """The choice that ``value`` stands for."""
        index = self.find(value)
        return value if index is None else self.choices[index]


def Bool(*, active_if: Condition | None = None) -> Categorical:
    """A switch: False or True."""
    return Categorical((False, True), active_if=active_if)


def Fixed(value: Any, *, active_if: Condition | None = None) -> Categorical:
    """A value that is passed on to the objective and never searched."""
    return Categorical((value,), active_if=active_if)


Parameter = Float | Int | Categorical
