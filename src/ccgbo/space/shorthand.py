"""Parameters as users write them: shorthand, ranges, arrays, SciPy's frozen distributions and Optuna's.

The last two are known by their looks, so that neither SciPy's distributions nor Optuna are imported for it. What can be
meant in two ways is read in the way of this table, said in the ``repr`` of the space, and where people often mean the
other, warned of.

    (20.0, 100.0)              real numbers, both ends included
    (20, 100)                  whole numbers, both ends included
    ["a", "b"], [16, 32]       choices without an order
    [0.0, 1.0]                 two choices; looks like a range, so it is warned of
    5, True, None              one value, passed on and never searched
    range(10, 60, 10)          whole numbers with a step
    np.linspace(0, 1, 11)      evenly spaced numbers, three at least: a range with a step
    np.array([16, 32, 64])     other arrays: choices
"""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

import numpy as np

from ccgbo.errors import SpaceError, SpaceWarning
from ccgbo.log import warn
from ccgbo.space.numeric import is_finite, is_number
from ccgbo.space.parameters import Categorical, Fixed, Float, Int, Parameter

FLAT = {"uniform": False, "loguniform": True, "reciprocal": True}  # name of the distribution -> log
EVEN = 1e-9  # relative: by how much a step of an evenly spaced array may differ from another


def as_parameter(name: str, spec: Any) -> Parameter:
    """A parameter from its shorthand."""
    if isinstance(spec, Float | Int | Categorical):
        return spec
    try:
        made = _from_shorthand(spec)
    except SpaceError as error:
        # of a tuple or a list nobody has typed the name of a class
        told = str(error).replace("Float.", "").replace("Int.", "").replace("Categorical.", "")
        raise SpaceError(f"parameter {name!r}: {told}") from None
    if made is None:
        raise SpaceError(f"parameter {name!r} must be a Float, Int, Categorical, (low, high) or a list, got {spec!r}.")
    if isinstance(spec, list | np.ndarray) and isinstance(made, Categorical):
        _warn_of_range(name, made.choices)
    return made


def _warn_of_range(name: str, choices: Any) -> None:
    """Two numbers, not both whole, seldom are all that is to be tried."""
    if len(choices) != 2 or not all(map(is_number, choices)) or all(isinstance(c, Integral) for c in choices):
        return
    low, high = sorted(choices)
    warn(
        SpaceWarning,
        f"parameter {name!r}: [{choices[0]!r}, {choices[1]!r}] is read as two choices; for a range write "
        f"({low!r}, {high!r}), for the two choices alone Categorical([{choices[0]!r}, {choices[1]!r}]).",
    )


def reading_of(spec: Any) -> str | None:
    """What a parameter was read from, in a few words; None if it leaves no doubt."""
    if isinstance(spec, tuple | range):
        return f"from {spec!r}"
    if isinstance(spec, list):
        return "from a list"
    if isinstance(spec, np.ndarray):
        return "from an array"
    kind = type(spec)
    if kind.__module__.startswith("optuna."):
        return f"from Optuna's {kind.__name__}"
    name = _scipy_name(spec)
    return None if name is None else f"from SciPy's {name}"


def _from_shorthand(spec: Any) -> Parameter | None:
    if isinstance(spec, tuple):
        if len(spec) != 2 or not all(is_number(v) for v in spec):
            raise SpaceError(f"a tuple must be (low, high), got {spec!r}; write choices as a list.")
        return range_between(*spec)
    if isinstance(spec, list):
        return Categorical(spec)
    if isinstance(spec, str):
        raise SpaceError(
            f"what does the text {spec!r} mean? A value that is never searched is Fixed({spec!r}), a choice between "
            f"several a list such as [{spec!r}, ...], a range a tuple such as (0.0, 1.0)."
        )
    if isinstance(spec, np.generic):
        spec = spec.item()
    return Fixed(spec) if spec is None or isinstance(spec, bool | int | float) else _from_foreign(spec)


def range_between(low: Any, high: Any) -> Float | Int:
    """Whole numbers if both ends are written as such, else real ones."""
    if isinstance(low, Integral) and isinstance(high, Integral):
        return Int(int(low), int(high))
    return Float(low, high)


def _from_foreign(spec: Any) -> Parameter | None:
    """The parameter that ``spec`` stands for, or None."""
    if isinstance(spec, range):
        return _from_range(spec)
    if isinstance(spec, np.ndarray):
        if spec.ndim != 1:
            raise SpaceError(f"an array of choices must have one axis, got {spec.ndim}.")
        return _evenly_spaced(spec) or Categorical(spec.tolist())
    if type(spec).__module__.startswith("optuna."):
        return from_optuna(spec)
    return _from_scipy(spec)


def _from_range(spec: range) -> Int:
    if not spec:
        raise SpaceError(f"a range must not be empty, got {spec!r}.")
    low, high = sorted((spec[0], spec[-1]))
    return Int(low, high, step=abs(spec.step))


def _evenly_spaced(values: Any) -> Float | Int | None:
    """The range with a step that has these values, in whichever direction they run; None for other arrays."""
    if len(values) < 3 or values.dtype.kind not in "iuf" or not np.isfinite(values).all():
        return None
    ordered = sorted(values.tolist())
    low, high, step = ordered[0], ordered[-1], (ordered[-1] - ordered[0]) / (len(ordered) - 1)
    if values.tolist() not in (ordered, ordered[::-1]) or not is_finite(step) or step <= 0:
        return None
    rounding = 0.0 if values.dtype.kind != "f" else 4.0 * float(np.finfo(values.dtype).eps) * max(abs(low), abs(high))
    if any(abs(value - (low + i * step)) > max(EVEN * step, rounding) for i, value in enumerate(ordered)):
        return None
    if values.dtype.kind != "f":
        return Int(low, high, step=round(step))
    short = float(f"{step:.12g}")  # 0.2 for the 0.19999999999999998 of (0.7 - 0.1) / 3
    return Float(low, high, step=short if math.isclose(short, step, rel_tol=1e-14) else step)


def from_optuna(distribution: Any) -> Parameter | None:
    """The counterpart of an Optuna distribution, or None."""
    kinds = {cls.__name__ for cls in type(distribution).__mro__}  # older ones are kinds of the newer
    if "CategoricalDistribution" in kinds:
        return Categorical(list(distribution.choices))
    if not kinds & {"FloatDistribution", "IntDistribution"}:
        return None
    cls = Float if "FloatDistribution" in kinds else Int
    return cls(distribution.low, distribution.high, log=distribution.log, step=distribution.step)


def _scipy_name(spec: Any) -> str | None:
    """How SciPy calls a distribution of its own, frozen (``stats.uniform(0, 1)``) or of the new kind."""
    name = getattr(getattr(spec, "dist", None), "name", None)
    if name is None and type(spec).__module__.startswith("scipy.stats.") and hasattr(spec, "support"):
        name = type(spec).__name__
    return name if isinstance(name, str) and hasattr(spec, "support") else None


def _from_scipy(spec: Any) -> Parameter | None:
    name = _scipy_name(spec)
    if name is None:
        return None
    if hasattr(spec, "freeze"):
        raise SpaceError("a distribution of SciPy must be given its numbers, such as uniform(0.0, 1.0).")
    low, high = (float(end) for end in spec.support())
    if name.lower() in FLAT:
        return Float(low, high, log=FLAT[name.lower()])
    if name == "randint":
        return Int(int(low), int(high))
    own = f"({low!r}, {high!r})" if np.isfinite([low, high]).all() else "(low, high)"
    raise SpaceError(
        f"SciPy's {name} is a belief, not a range; give the range here, such as {own}, and the distribution as "
        "prior= of the parameter."
    )
