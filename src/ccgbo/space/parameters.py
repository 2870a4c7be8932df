"""One parameter and its map onto the unit interval.

A discrete parameter with k values divides [0, 1] into k cells; a value sits inside its own cell, so that rounding a
uniform draw gives every value its share and the model sees what will be evaluated.

    linear grid, value i of k    u = (i + 1/2) / k
    integers on a log scale      u = log(v / a) / log(b / a),  a = low - 1/2,  b = high + 1/2
    continuous                   u = (g(v) - g(low)) / (g(high) - g(low)),  g = identity or log
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccgbo.errors import ParamsError, SpaceError

Array = NDArray[np.float64]
Condition = Mapping[str, Any]  # {"parent": value or list of values}

MAX_GRID = 2**53  # beyond this a float cannot tell neighbouring grid indices apart


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _check_range(kind: str, low: Any, high: Any) -> None:
    for label, value in (("low", low), ("high", high)):
        if not _is_number(value) or not math.isfinite(value):
            raise SpaceError(f"{kind}.{label} must be a finite number, got {value!r}.")
    if low > high:
        raise SpaceError(f"{kind}.low must be <= {kind}.high, got low={low!r}, high={high!r}.")
    if not math.isfinite(float(high) - float(low)):
        raise SpaceError(f"{kind}.high - {kind}.low must be a finite float, got low={low!r}, high={high!r}.")


class _Numeric:
    """What Float and Int share: a closed range, an optional log scale, an optional grid."""

    __slots__ = ()
    low: Any
    high: Any
    log: bool
    step: Any

    def _position(self, value: Array) -> Array:
        """Values to positions in [0, 1] on the (possibly log) scale."""
        a, b = self._edges()
        if self.log:
            return (np.log(value) - math.log(a)) / (math.log(b) - math.log(a))
        return (value - a) / (b - a)

    def _value(self, u: Array) -> Array:
        a, b = self._edges()
        if self.log:
            return np.exp(math.log(a) + u * (math.log(b) - math.log(a)))
        return a + u * (b - a)

    def _edges(self) -> tuple[float, float]:
        if self.step is None:
            return float(self.low), float(self.high)
        half = 0.5 * float(self.step)
        return float(self.low) - half, float(self.low) + (self.size - 1) * float(self.step) + half

    @property
    def size(self) -> int:
        """Number of values; 0 means a continuum."""
        if self.low == self.high:
            return 1
        if self.step is None:
            return 0
        steps = float(self.high - self.low) / float(self.step)
        return math.floor(steps * (1 + 1e-12) + 1e-9) + 1

    def _index(self, u: Array) -> Array:
        """Grid index of each position, as floats."""
        top = self.size - 1
        if self.log:
            return np.clip(np.rint(self._value(u)) - float(self.low), 0, top)
        return np.clip(np.floor(np.asarray(u) * self.size), 0, top)

    def unit_of_index(self, index: Array) -> Array:
        """Position of each grid index."""
        if self.size == 1:
            return np.full_like(np.asarray(index, dtype=float), 0.5)
        if self.log:
            return self._position(np.asarray(index, dtype=float) + float(self.low))
        return (np.asarray(index, dtype=float) + 0.5) / self.size

    def index_of_unit(self, u: Array) -> Array:
        if self.size == 1:
            return np.zeros_like(np.asarray(u, dtype=float))
        return self._index(np.asarray(u, dtype=float))

    def snap(self, u: Array) -> Array:
        """Positions moved to the nearest value that can be evaluated."""
        if self.size == 0:
            return np.clip(u, 0.0, 1.0)
        return self.unit_of_index(self.index_of_unit(u))

    def _check_value(self, name: str, value: Any) -> float:
        if not _is_number(value) or not math.isfinite(value):
            raise ParamsError(f"{name} must be a finite number, got {value!r}.")
        if not self.low <= value <= self.high:
            raise ParamsError(f"{name} must be in [{self.low}, {self.high}], got {value!r}.")
        return float(value)


@dataclass(frozen=True, slots=True)
class Float(_Numeric):
    """A real number in [low, high]; ``log`` searches it on a log scale, ``step`` puts it on a grid from ``low``."""

    low: float
    high: float
    log: bool = field(default=False, kw_only=True)
    step: float | None = field(default=None, kw_only=True)
    active_if: Condition | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        _check_range("Float", self.low, self.high)
        if self.log and self.low <= 0:
            raise SpaceError(f"Float.low must be > 0 when log=True, got {self.low!r}.")
        if self.step is not None:
            if self.log:
                raise SpaceError(f"Float.step must be None when log=True, got {self.step!r}.")
            if not _is_number(self.step) or not math.isfinite(self.step) or self.step <= 0:
                raise SpaceError(f"Float.step must be a finite number > 0, got {self.step!r}.")
            if (self.high - self.low) / self.step >= MAX_GRID:
                raise SpaceError(f"Float.step must leave fewer than 2**53 values, got {self.step!r}.")
        elif self.low < self.high and not self._edges_distinct():
            raise SpaceError(f"Float range is too narrow to search, got [{self.low!r}, {self.high!r}].")

    def _edges_distinct(self) -> bool:
        if self.log:
            return math.log(self.high) > math.log(self.low)
        return float(self.high) - float(self.low) > 0.0

    def to_unit(self, name: str, value: Any) -> float:
        v = self._check_value(name, value)
        if self.size == 1:
            return 0.5
        if self.step is None:
            return float(np.clip(self._position(np.asarray(v)), 0.0, 1.0))
        index = (v - self.low) / self.step
        if abs(index - round(index)) > 1e-6:
            raise ParamsError(f"{name} must be {self.low} plus a multiple of {self.step}, got {value!r}.")
        return float(self.unit_of_index(np.asarray(float(min(round(index), self.size - 1)))))

    def from_unit(self, u: float) -> float:
        if self.size == 1:
            return float(self.low)
        if self.step is None:
            return float(min(max(float(self._value(np.asarray(u))), self.low), self.high))
        index = float(self._index(np.asarray(u)))
        return min(max(float(f"{self.low + index * self.step:.15g}"), float(self.low)), float(self.high))


@dataclass(frozen=True, slots=True)
class Int(_Numeric):
    """A whole number in [low, high], both included."""

    low: int
    high: int
    log: bool = field(default=False, kw_only=True)
    step: int = field(default=1, kw_only=True)
    active_if: Condition | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        _check_range("Int", self.low, self.high)
        for label in ("low", "high", "step"):
            value = getattr(self, label)
            if not isinstance(value, int | np.integer) or isinstance(value, bool):
                raise SpaceError(f"Int.{label} must be a whole number, got {value!r}.")
        if self.step < 1:
            raise SpaceError(f"Int.step must be >= 1, got {self.step!r}.")
        if self.log and self.low < 1:
            raise SpaceError(f"Int.low must be >= 1 when log=True, got {self.low!r}.")
        if self.log and self.step != 1:
            raise SpaceError(f"Int.step must be 1 when log=True, got {self.step!r}.")
        if max(abs(self.low), abs(self.high)) >= MAX_GRID:
            raise SpaceError(f"Int bounds must be below 2**53 in size, got [{self.low!r}, {self.high!r}].")

    def to_unit(self, name: str, value: Any) -> float:
        v = self._check_value(name, value)
        if v != int(v):
            raise ParamsError(f"{name} must be a whole number, got {value!r}.")
        if (int(v) - self.low) % self.step:
            raise ParamsError(f"{name} must be {self.low} plus a multiple of {self.step}, got {value!r}.")
        return float(self.unit_of_index(np.asarray((v - self.low) // self.step)))

    def from_unit(self, u: float) -> int:
        return int(self.low) + int(self.index_of_unit(np.asarray(u))) * int(self.step)


@dataclass(frozen=True, slots=True)
class Categorical:
    """One of a few choices with no order between them."""

    choices: Sequence[Any]
    active_if: Condition | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if isinstance(self.choices, str | bytes) or not isinstance(self.choices, Sequence):
            raise SpaceError(f"Categorical.choices must be a list, got {self.choices!r}.")
        object.__setattr__(self, "choices", tuple(self.choices))
        if not self.choices:
            raise SpaceError("Categorical.choices must not be empty, got [].")
        for i, choice in enumerate(self.choices):
            if choice is not None and not isinstance(choice, str | bool | int | float):
                raise SpaceError(f"Categorical.choices must be text, numbers, booleans or None, got {choice!r}.")
            if isinstance(choice, float) and not math.isfinite(choice):
                raise SpaceError(f"Categorical.choices must be finite, got {choice!r}.")
            if self.find(choice) != i:
                raise SpaceError(f"Categorical.choices must be distinct, got {choice!r} twice.")

    @property
    def size(self) -> int:
        return len(self.choices)

    def find(self, value: Any) -> int | None:
        """Index of ``value``; True and 1 are different choices, 1 and 1.0 are the same."""
        if isinstance(value, np.generic):
            value = value.item()
        for i, choice in enumerate(self.choices):
            if isinstance(choice, bool) == isinstance(value, bool) and choice == value:
                return i
        return None

    def snap(self, u: Array) -> Array:
        return self.unit_of_index(self.index_of_unit(u))

    def index_of_unit(self, u: Array) -> Array:
        return np.clip(np.floor(np.asarray(u, dtype=float) * self.size), 0, self.size - 1)

    def unit_of_index(self, index: Array) -> Array:
        units: Array = (np.asarray(index, dtype=float) + 0.5) / self.size
        return units

    def to_unit(self, name: str, value: Any) -> float:
        index = self.find(value)
        if index is None:
            raise ParamsError(f"{name} must be one of {list(self.choices)!r}, got {value!r}.")
        return (index + 0.5) / self.size

    def from_unit(self, u: float) -> Any:
        return self.choices[int(self.index_of_unit(np.asarray(u)))]


def Bool(*, active_if: Condition | None = None) -> Categorical:
    """A switch: False or True."""
    return Categorical((False, True), active_if=active_if)


def Fixed(value: Any, *, active_if: Condition | None = None) -> Categorical:
    """A value that is passed on to the objective and never searched."""
    return Categorical((value,), active_if=active_if)


Parameter = Float | Int | Categorical


def as_parameter(name: str, spec: Any) -> Parameter:
    """A parameter from its shorthand.

    ``(0.0, 1.0)`` is a Float, ``(1, 8)`` an Int, ``["a", "b"]`` a Categorical, ``True`` or ``"adam"`` a fixed value.
    """
    if isinstance(spec, Float | Int | Categorical):
        return spec
    if isinstance(spec, tuple):
        if len(spec) != 2 or not all(_is_number(v) for v in spec):
            raise SpaceError(f"parameter {name!r}: a tuple must be (low, high), got {spec!r}; write choices as a list.")
        low, high = spec
        if isinstance(low, Integral) and isinstance(high, Integral):
            return Int(int(low), int(high))
        return Float(float(low), float(high))
    if isinstance(spec, list):
        return Categorical(spec)
    if spec is None or isinstance(spec, str | bool | int | float):
        return Fixed(spec)
    raise SpaceError(f"parameter {name!r} must be a Float, Int, Categorical, (low, high) or a list, got {spec!r}.")
