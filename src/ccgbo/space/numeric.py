"""A number and its map onto the unit interval.

A discrete parameter with k values divides [0, 1] into k cells; a value sits inside its own cell, so that rounding a
uniform draw gives every value its share and the model sees what will be evaluated.

    linear grid, value i of k    u = (i + 1/2) / k
    integers on a log scale      u = log(v / a) / log(b / a),  a = low - 1/2,  b = high + 1/2
    continuous                   u = (g(v) - g(low)) / (g(high) - g(low)),  g = identity or log
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from ccgbo.arrays import Array
from ccgbo.errors import ParamsError, SpaceError
from ccgbo.space.common import Condition, normal_condition, spelled

# A value must survive the way to its position and back, or a point could be suggested twice without anybody noticing.
MAX_INT = 2**48  # size of an integer whose cell a position in double precision still tells from its neighbours
MAX_LOG_INT = 10**12  # the same on a log scale, where exp and log cost some digits
NARROWEST = 2e-8  # width of a continuous range relative to its larger end
FINEST = 1e-13  # step relative to the larger end: values are rounded to 15 digits, so that 0.1 * 3 is 0.3


def is_number(value: Any) -> bool:
    """A single real number, booleans excluded."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def is_finite(value: Any) -> bool:
    try:
        return is_number(value) and math.isfinite(value)
    except OverflowError:  # a whole number beyond the largest float
        return False


def _check_range(kind: str, low: Any, high: Any) -> None:
    for label, value in (("low", low), ("high", high)):
        if not is_finite(value):
            raise SpaceError(f"{kind}.{label} must be a finite number, got {value!r}.")
    if low > high:
        raise SpaceError(f"{kind}.low must be <= {kind}.high, got low={low!r}, high={high!r}.")
    if not math.isfinite(float(high) - float(low)):
        raise SpaceError(f"{kind}.high - {kind}.low must be a finite float, got low={low!r}, high={high!r}.")


def _check_log(kind: str, log: Any) -> None:
    if not isinstance(log, bool | np.bool_):
        raise SpaceError(f"{kind}.log must be True or False, got {log!r}.")


class _Numeric(ABC):
    """What Float and Int share: a closed range, an optional log scale, an optional grid."""

    __slots__ = ()
    low: Any
    high: Any
    log: bool
    step: Any

    def position(self, value: Array) -> Array:
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
    @abstractmethod
    def size(self) -> int:
        """Number of values; 0 means a continuum."""

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
            return self.position(np.asarray(index, dtype=float) + float(self.low))
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

    def to_units(self, name: str, values: Sequence[Any]) -> Array:  # (n,)
        """``to_unit`` of each value, at once where all are plain and right."""
        low, high, size = self.low, self.high, self.size
        if size != 1 and set(map(type, values)) == {type(low)} and all(low <= v <= high for v in values):
            v = np.array(values, dtype=float)
            if size == 0:
                return np.clip(self.position(v), 0.0, 1.0)
            index = (v - low) / self.step
            if (np.abs(index - np.rint(index)) <= self._rounding()).all() and np.rint(index).max() < size:
                return self.unit_of_index(np.rint(index))
        return np.array([self.to_unit(name, value) for value in values], dtype=float)

    @abstractmethod
    def to_unit(self, name: str, value: Any) -> float: ...

    def _rounding(self) -> float:
        """How far (value - low) / step may be from the whole number that it stands for."""
        return 0.0

    def _check_value(self, name: str, value: Any) -> float:
        if not is_finite(value):
            raise ParamsError(f"{name} must be a finite number, got {value!r}.")
        if not self.low <= value <= self.high:
            raise ParamsError(f"{name} must be in [{self.low}, {self.high}], got {value!r}.")
        return float(value)


@dataclass(frozen=True, slots=True, repr=False)
class Float(_Numeric):
    """A real number in [low, high]; ``log`` searches it on a log scale, ``step`` puts it on a grid from ``low``."""

    low: float
    high: float
    log: bool = field(default=False, kw_only=True)
    step: float | None = field(default=None, kw_only=True)
    active_if: Condition | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        _check_range("Float", self.low, self.high)
        _check_log("Float", self.log)
        if self.log and self.low < sys.float_info.min:
            raise SpaceError(f"Float.low must be > 0 (and no denormal) when log=True, got {self.low!r}.")
        if self.step is not None:
            self._check_step()
        elif self.low < self.high and self._width() < NARROWEST:
            raise SpaceError(
                f"Float range [{self.low!r}, {self.high!r}] is too narrow for its size; search the difference instead."
            )
        for label in ("low", "high", "step"):
            if getattr(self, label) is not None:
                object.__setattr__(self, label, float(getattr(self, label)))
        object.__setattr__(self, "active_if", normal_condition(self.active_if))

    def __repr__(self) -> str:
        return spelled("Float", self.low, self.high, log=self.log, step=self.step, active_if=self.active_if)

    def _check_step(self) -> None:
        if self.log:
            raise SpaceError(f"Float.step must be None when log=True, got {self.step!r}.")
        if not is_finite(self.step) or self.step <= 0:  # type: ignore[operator]
            raise SpaceError(f"Float.step must be a finite number > 0, got {self.step!r}.")
        if self.low < self.high and self.step < max(FINEST * self._end(), 1e-300):  # type: ignore[operator]
            raise SpaceError(f"Float.step must be at least 1e-13 of the larger bound, got {self.step!r}.")

    @property
    def size(self) -> int:
        if self.low == self.high:
            return 1
        if self.step is None:
            return 0
        return math.floor((self.high - self.low) / self.step + self._rounding()) + 1

    def _rounding(self) -> float:
        return max(1e-6, 4e-15 * self._end() / (self.step or 1.0))

    def _end(self) -> float:
        return max(abs(float(self.low)), abs(float(self.high)))

    def _width(self) -> float:
        """Width of the range relative to the precision of its values, on the scale that is searched."""
        low, high = float(self.low), float(self.high)
        if self.log:
            return (math.log(high) - math.log(low)) / max(1.0, abs(math.log(low)), abs(math.log(high)))
        return (high - low) / self._end() if high - low > 1e-290 else 0.0

    def to_unit(self, name: str, value: Any) -> float:
        v = self._check_value(name, value)
        if self.step is None or self.low == self.high:
            return 0.5 if self.size == 1 else float(np.clip(self.position(np.asarray(v)), 0.0, 1.0))
        index = (v - self.low) / self.step
        if abs(index - round(index)) > self._rounding() or round(index) >= self.size:
            raise ParamsError(f"{name} must be {self.low} plus a multiple of {self.step}, got {value!r}.")
        return float(self.unit_of_index(np.asarray(float(round(index)))))

    def values(self, u: Array) -> Array:  # (n,) -> (n,)
        """The value at each snapped position."""
        if self.size == 1:
            return np.full(np.shape(u), self.low)
        if self.step is None:
            with np.errstate(over="ignore"):  # one rounding beyond the largest float
                return np.clip(self._value(u), self.low, self.high)
        raw = self.low + self._index(np.asarray(u, dtype=float)) * self.step
        rounded = np.array([float(f"{v:.15g}") for v in raw.ravel()]).reshape(raw.shape)
        numbers: Array = np.clip(rounded, self.low, self.high)
        return numbers

    def from_unit(self, u: float) -> float:
        return float(self.values(np.array([u]))[0])

    def canonical(self, value: Any) -> float:
        return float(value)


@dataclass(frozen=True, slots=True, repr=False)
class Int(_Numeric):
    """A whole number in [low, high], both included."""

    low: int
    high: int
    log: bool = field(default=False, kw_only=True)
    step: int = field(default=1, kw_only=True)
    active_if: Condition | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        for label in ("low", "high", "step"):
            value = getattr(self, label)
            if not isinstance(value, int | np.integer) or isinstance(value, bool):
                raise SpaceError(f"Int.{label} must be a whole number, got {value!r}.")
            object.__setattr__(self, label, int(value))
        _check_range("Int", self.low, self.high)
        _check_log("Int", self.log)
        if not 1 <= self.step <= MAX_INT:
            raise SpaceError(f"Int.step must be >= 1 and at most 2**48, got {self.step!r}.")
        if self.log and self.low < 1:
            raise SpaceError(f"Int.low must be >= 1 when log=True, got {self.low!r}.")
        if self.log and self.step != 1:
            raise SpaceError(f"Int.step must be 1 when log=True, got {self.step!r}.")
        if max(abs(self.low), abs(self.high)) > MAX_INT:
            raise SpaceError(f"Int bounds must be at most 2**48 in size, got [{self.low!r}, {self.high!r}].")
        if self.log and self.high > MAX_LOG_INT:
            raise SpaceError(f"Int.high must be at most 10**12 when log=True, got {self.high!r}.")
        object.__setattr__(self, "active_if", normal_condition(self.active_if))

    def __repr__(self) -> str:
        step = None if self.step == 1 else self.step
        return spelled("Int", self.low, self.high, log=self.log, step=step, active_if=self.active_if)

    @property
    def size(self) -> int:
        return (self.high - self.low) // self.step + 1

    def to_unit(self, name: str, value: Any) -> float:
        v = self._check_value(name, value)
        if v != int(v):
            raise ParamsError(f"{name} must be a whole number, got {value!r}.")
        if (int(v) - self.low) % self.step:
            raise ParamsError(f"{name} must be {self.low} plus a multiple of {self.step}, got {value!r}.")
        return float(self.unit_of_index(np.asarray((v - self.low) // self.step)))

    def values(self, u: Array) -> Array:  # (n,) -> (n,), whole numbers as floats
        """The value at each snapped position."""
        numbers: Array = self.low + self.index_of_unit(u) * self.step
        return numbers

    def from_unit(self, u: float) -> int:
        return int(self.values(np.asarray(u)))

    def canonical(self, value: Any) -> int | float:
        return int(value) if value == int(value) else float(value)  # 71.2 may have been really used
