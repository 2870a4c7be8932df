"""What may be told of a trial: a number, several readings of it, or a number with its error.

0.93            one value
[0.91, 0.94]    readings: the value is their mean
(0.93, 0.02)    a value and its standard error
[0.93]          the same as 0.93
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ccgbo.errors import TellError, UnsupportedError
from ccgbo.space.numeric import is_finite

FORMS = "a number, a list of readings or a tuple (value, standard_error)"


def outcome_of(
    value: Any, *, failed: bool = False, noise_variance: Any = None, error: str | None = None
) -> dict[str, Any]:
    """The fields of a trial that its outcome decides, all of them; refuses what is no number."""
    if failed:
        if value is not None:
            raise TellError(f"value must be None when failed=True, got {value!r}.")
        return _fields("failed", error=error)
    value, readings, own = _read(value)
    if noise_variance is not None and (readings or own is not None):
        given = f"{len(readings)} readings" if readings else "a standard error"
        raise TellError(f"noise_variance must be None where value has {given}, got {noise_variance!r}.")
    noise = own if own is not None else _noise(noise_variance)
    if not math.isfinite(value):
        return _fields("failed", error=error or f"the value was {value}")
    return _fields("complete", value=value, noise_variance=noise, readings=readings)


def correction_of(value: Any, params: Any, **outcome: Any) -> dict[str, Any]:
    """The fields that a corrected outcome changes; none where only the settings, ``params``, are corrected."""
    keeps = value is None and not outcome["failed"] and params is not None
    return {} if keeps else outcome_of(value, **outcome)


def _fields(state: str, **known: Any) -> dict[str, Any]:
    return {"state": state, "value": None, "noise_variance": None, "readings": (), "error": None, **known}


def _read(value: Any) -> tuple[float, tuple[float, ...], float | None]:
    """A value, the readings that it is the mean of, and the variance that came with it."""
    if getattr(value, "ndim", None) == 1 and hasattr(value, "tolist"):  # an array, a pandas Series, a tensor
        value = value.tolist()
    if isinstance(value, tuple) and len(value) == 2:
        return _number(value[0]), (), _squared(value[1])
    if isinstance(value, list) and len(value) > 1:
        readings = tuple(_reading(i, reading) for i, reading in enumerate(value))
        return _mean(readings), readings, None
    return _number(value), (), None


def _number(value: Any) -> float:
    """A float from any single number; infinities and NaN pass, text and booleans do not."""
    if getattr(value, "size", None) == 1 and hasattr(value, "item"):  # an array, a pandas Series
        value = value.item()
    elif isinstance(value, list | tuple) and len(value) == 1:
        return _number(value[0])
    if isinstance(value, Mapping | np.ndarray):
        raise UnsupportedError(f"several objectives are out of scope: value must be one number, got {value!r}.")
    if value is None or isinstance(value, str | bytes | bool | np.bool_ | complex):
        raise TellError(f"value must be a number, got {value!r}.")
    if isinstance(value, Sequence):
        raise TellError(f"value must be {FORMS}, got {value!r}.")
    try:
        return float(value)
    except OverflowError:  # an int beyond the largest float
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        raise TellError(f"value must be a number, got {value!r}.") from None


def _reading(i: int, value: Any) -> float:
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        value = value.item()
    if not is_finite(value):
        raise TellError(f"value[{i}], a reading, must be a finite number, got {value!r}.")
    return float(value)


def _mean(readings: tuple[float, ...]) -> float:
    try:
        return math.fsum(readings) / len(readings)
    except OverflowError:
        return math.fsum(reading / len(readings) for reading in readings)


def _squared(standard_error: Any) -> float:
    error = float(standard_error) if is_finite(standard_error) else -1.0
    if error < 0 or math.isinf(error * error):
        raise TellError(f"value[1], a standard error, must be a finite number >= 0, got {standard_error!r}.")
    return error * error


def _noise(noise_variance: Any) -> float | None:
    if noise_variance is None:
        return None
    if not is_finite(noise_variance) or noise_variance < 0:
        raise TellError(f"noise_variance must be None or a finite number >= 0, got {noise_variance!r}.")
    return float(noise_variance)


# -- runs that a pruner or a scheduler ended before their time


def worst_of(whole: Sequence[float], *, maximize: bool) -> float:
    return min(whole) if maximize else max(whole)


def bounded(value: float, whole: Sequence[float], *, maximize: bool) -> float:
    """The last value of a short run, not better than half of the whole runs, nor worse than all of them."""
    low, high = sorted((worst_of(whole, maximize=maximize), statistics.median(whole)))
    return min(max(value, low), high)
