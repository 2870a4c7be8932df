"""Parameters as users write them: shorthand, ranges, arrays, SciPy's frozen distributions and Optuna's.

The last two are known by their looks, so that neither SciPy's distributions nor Optuna are imported for it.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from ccgbo.errors import SpaceError
from ccgbo.space.numeric import is_number
from ccgbo.space.parameters import Categorical, Fixed, Float, Int, Parameter

FLAT = {"uniform": False, "loguniform": True, "reciprocal": True}  # name of the distribution -> log


def as_parameter(name: str, spec: Any) -> Parameter:
    """A parameter from its shorthand.

    ``(0.0, 1.0)`` is a Float, ``(1, 8)`` an Int, ``["a", "b"]`` a Categorical, ``True`` or ``10`` a fixed value.
    """
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
    return made


def _from_shorthand(spec: Any) -> Parameter | None:
    if isinstance(spec, tuple):
        if len(spec) != 2 or not all(is_number(v) for v in spec):
            raise SpaceError(f"a tuple must be (low, high), got {spec!r}; write choices as a list.")
        low, high = spec
        if isinstance(low, Integral) and isinstance(high, Integral):
            return Int(int(low), int(high))
        return Float(low, high)
    if isinstance(spec, list):
        return Categorical(spec)
    if isinstance(spec, str):
        raise SpaceError(
            f"what does the text {spec!r} mean? A value that is never searched is Fixed({spec!r}), a choice between "
            f"several a list such as [{spec!r}, ...], a range a tuple such as (0.0, 1.0)."
        )
    return Fixed(spec) if spec is None or isinstance(spec, bool | int | float) else _from_foreign(spec)


def _from_foreign(spec: Any) -> Parameter | None:
    """The parameter that ``spec`` stands for, or None."""
    if isinstance(spec, range):
        return _from_range(spec)
    if isinstance(spec, np.ndarray):
        if spec.ndim != 1:
            raise SpaceError(f"an array of choices must have one axis, got {spec.ndim}.")
        return Categorical(spec.tolist())
    if type(spec).__module__.startswith("optuna."):
        return from_optuna(spec)
    return _from_scipy(spec)


def _from_range(spec: range) -> Int:
    if not spec:
        raise SpaceError(f"a range must not be empty, got {spec!r}.")
    low, high = sorted((spec[0], spec[-1]))
    return Int(low, high, step=abs(spec.step))


def from_optuna(distribution: Any) -> Parameter | None:
    """The counterpart of an Optuna distribution, or None."""
    kind = type(distribution).__name__
    if kind == "CategoricalDistribution":
        return Categorical(list(distribution.choices))
    if kind not in ("FloatDistribution", "IntDistribution"):
        return None
    cls = Float if kind == "FloatDistribution" else Int
    return cls(distribution.low, distribution.high, log=distribution.log, step=distribution.step)


def _from_scipy(spec: Any) -> Parameter | None:
    name = getattr(getattr(spec, "dist", None), "name", None)
    if name in FLAT:
        low, high = spec.support()
        return Float(float(low), float(high), log=FLAT[name])
    if name == "randint":
        low, high = spec.support()
        return Int(int(low), int(high))
    if name is not None and hasattr(spec, "support"):
        raise SpaceError(
            f"SciPy's {name} is a belief, not a range; give the range here and the distribution as prior= of it."
        )
    return None
