"""What may be told of a trial: a number, several readings of it, or a number with its error.

0.93                          one value
[0.91, 0.94]                  readings: the value is their mean
(0.93, 0.02)                  a value and its standard error
[0.93]                        the same as 0.93
{"yield": 71, "cost": 3.2}    metrics by their names, each in one of these forms; None and NaN: not measured
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from ccgbo.errors import TellError, UnsupportedError
from ccgbo.metrics import VALUE, Measurement, Metrics
from ccgbo.records import Trial
from ccgbo.space.numeric import is_finite

PLAIN = Metrics()  # one value
SEVERAL = "value must be one number: several are told by the names of objectives= and outcome_constraints="
FORMS = "a number, a list of readings or a tuple (value, standard_error)"


def outcome_of(
    value: Any,
    *,
    failed: bool = False,
    noise_variance: Any = None,
    error: str | None = None,
    metrics: Metrics = PLAIN,
) -> dict[str, Any]:
    """The fields of a trial that its outcome decides, all of them; refuses what is no number."""
    if failed:
        if value is not None:
            raise TellError(f"value must be None when failed=True, got {value!r}.")
        return _fields("failed", error=error)
    if not metrics.plain:
        return _measured(_measurements(value, noise_variance, metrics), error, metrics)
    if isinstance(value, Mapping):
        raise UnsupportedError(f"{SEVERAL}, got {value!r}.")
    measured = _measurement("value", value, noise_variance)
    if not math.isfinite(measured.value):
        return _fields("failed", error=error or f"the value was {measured.value}")
    return _fields("complete", **vars_of(measured))


def correction_of(value: Any, params: Any, known: Trial, metrics: Metrics = PLAIN, **outcome: Any) -> dict[str, Any]:
    """The fields that a corrected outcome changes; none where only the settings, ``params``, are corrected.

    A mapping corrects the metrics that it names, and None or NaN takes one back; the others stay as they were.
    """
    if value is None and not outcome["failed"] and params is not None:
        return {}
    if metrics.plain or outcome["failed"]:
        return outcome_of(value, **outcome, metrics=metrics)
    told = _measurements(value, outcome["noise_variance"], metrics)
    kept = {name: measured for name, measured in known.metrics.items() if name not in told}
    return _measured({**kept, **told}, outcome["error"], metrics)


def _measured(told: Mapping[str, Measurement | None], error: str | None, metrics: Metrics) -> dict[str, Any]:
    """The fields of a trial with these metrics, of which those that are no finite number count as not measured."""
    names = dict.fromkeys([*metrics.names, *told])  # a trial keeps what it has of metrics that there were
    known = {name: told[name] for name in names if told.get(name) is not None}
    finite = {name: measured for name, measured in known.items() if measured and math.isfinite(measured.value)}
    if not finite:
        said = ", ".join(f"{name} was {measured.value}" for name, measured in known.items() if measured)
        return _fields("failed", error=error or said or "no metric was measured")
    goal = finite.get(metrics.objective)
    value = None if goal is None or metrics.several else goal.value
    return _fields("complete", value=value, metrics=finite)


def _measurements(value: Any, noise_variance: Any, metrics: Metrics) -> dict[str, Measurement | None]:
    """What was told of each metric, None where it is said to be missing; refuses names that there are none of."""
    if not isinstance(value, Mapping):
        if metrics.several:
            raise TellError(f"value must be a mapping of the metrics {list(metrics.names)}, got {value!r}.")
        value = {metrics.objective: value}
        noise_variance = {metrics.objective: noise_variance}
    elif noise_variance is not None and not isinstance(noise_variance, Mapping):
        raise TellError(f"noise_variance must be a mapping of metrics where value is one, got {noise_variance!r}.")
    noise = noise_variance or {}
    for name in [*value, *noise]:
        if name not in metrics.names:
            raise TellError(f"{metrics.unknown(name)} Anything else to keep with a trial goes into attributes=.")
    for name in noise:
        if name not in value:
            raise TellError(f"noise_variance has {name!r}, of which value tells nothing: {value!r}.")
    return {name: None if _missing(v) else _measurement(name, v, noise.get(name)) for name, v in value.items()}


def _missing(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _measurement(name: str, value: Any, noise_variance: Any) -> Measurement:
    """One number with its readings and its variance."""
    value, readings, own = _read(name, value)
    if noise_variance is not None and (readings or own is not None):
        given = f"{len(readings)} readings" if readings else "a standard error"
        raise TellError(f"noise_variance must be None where {name} has {given}, got {noise_variance!r}.")
    noise = own if own is not None else _noise(noise_variance)
    return Measurement(value=value, noise_variance=noise, readings=readings)


def vars_of(measured: Measurement) -> dict[str, Any]:
    """The fields of a trial with one value."""
    return {f.name: getattr(measured, f.name) for f in fields(measured)}


def _fields(state: str, **known: Any) -> dict[str, Any]:
    nothing: dict[str, Any] = {"value": None, "noise_variance": None, "readings": (), "error": None, "metrics": {}}
    return {"state": state, **nothing, **known}


def _read(name: str, value: Any) -> tuple[float, tuple[float, ...], float | None]:
    """A value, the readings that it is the mean of, and the variance that came with it."""
    if getattr(value, "ndim", None) == 1 and hasattr(value, "tolist"):  # an array, a pandas Series, a tensor
        value = value.tolist()
    if isinstance(value, tuple) and len(value) == 2:
        return _number(name, value[0]), (), _squared(name, value[1])
    if isinstance(value, list) and len(value) > 1:
        readings = tuple(_reading(f"{name}[{i}]", reading) for i, reading in enumerate(value))
        return _mean(readings), readings, None
    return _number(name, value), (), None


def _number(name: str, value: Any) -> float:
    """A float from any single number; infinities and NaN pass, text and booleans do not."""
    if getattr(value, "size", None) == 1 and hasattr(value, "item"):  # an array, a pandas Series
        value = value.item()
    elif isinstance(value, list | tuple) and len(value) == 1:
        return _number(name, value[0])
    if isinstance(value, Mapping | np.ndarray):
        if name != VALUE:  # a metric
            raise TellError(f"{name} must be {FORMS}, got {value!r}.")
        raise UnsupportedError(f"{SEVERAL}, got {value!r}.")
    if value is None or isinstance(value, str | bytes | bool | np.bool_ | complex):
        raise TellError(f"{name} must be a number, got {value!r}.")
    if isinstance(value, Sequence):
        raise TellError(f"{name} must be {FORMS}, got {value!r}.")
    try:
        return float(value)
    except OverflowError:  # an int beyond the largest float
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        raise TellError(f"{name} must be a number, got {value!r}.") from None


def _reading(name: str, value: Any) -> float:
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        value = value.item()
    if not is_finite(value):
        raise TellError(f"{name}, a reading, must be a finite number, got {value!r}.")
    return float(value)


def _mean(readings: tuple[float, ...]) -> float:
    try:
        return math.fsum(readings) / len(readings)
    except OverflowError:
        return math.fsum(reading / len(readings) for reading in readings)


def _squared(name: str, standard_error: Any) -> float:
    error = float(standard_error) if is_finite(standard_error) else -1.0
    if error < 0 or math.isinf(error * error):
        raise TellError(f"{name}[1], a standard error, must be a finite number >= 0, got {standard_error!r}.")
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
