"""Where points lie that were really evaluated, inside the space or not.

A suggestion is a point of the space; what was measured need not be: the oven was at 71.2 and not at 73.5, a bound was
narrowed later. Such a point has coordinates beyond [0, 1], or between those of the grid, on the scale of its parameter.

    inside the space              the coordinates of ``encode``, to the last bit
    a number out of its bounds    the same map, continued; up to ``FARTHEST`` widths away
    a number off its grid         between the positions of its neighbours
    constraints                   are not asked: what was measured was measured
    an inactive parameter         its value says nothing, and is passed over
    cannot be placed              an unknown choice or name, a missing value, no number, not above zero on a log scale,
                                  another value of a parameter that has only one
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ccgbo.arrays import Array
from ccgbo.errors import ParamsError, SpaceError
from ccgbo.space.constraints import LinearConstraint, satisfied
from ccgbo.space.numeric import is_finite
from ccgbo.space.parameters import Categorical, Float, Int, Parameter

if TYPE_CHECKING:
    from ccgbo.space.space import Space

FARTHEST = 100.0  # widths of its range: from farther away a value says nothing, and a trend would be all about it
SAME = 1e-9  # relative: a number this near to the only value of its parameter is that value
ROUNDING = 1e-9  # relative to the terms of a sum: by less nobody breaks a constraint


def place_rows(space: Space, rows: Sequence[Mapping[str, Any]]) -> tuple[Array, list[str | None]]:
    """The position (n, d) of each point, and why a row has none, which is then NaN."""
    problems = [_stranger(space, params) for params in rows]
    known = [params if problem is None else {} for params, problem in zip(rows, problems, strict=True)]
    U, refused = _columns(space, known)
    active = space.active(U)
    for i in np.flatnonzero((active & np.isnan(U)).any(axis=1)).tolist():
        problems[i] = problems[i] or _problem(space, known[i], active[i], refused.get(i, {}))
    U = np.where(active, U, space.at_rest())
    U[[problem is not None for problem in problems]] = math.nan
    return U, problems


def _stranger(space: Space, params: Any) -> str | None:
    try:
        space.check_names(params)
    except ParamsError as error:
        return str(error)
    return None


def _columns(space: Space, rows: Sequence[Mapping[str, Any]]) -> tuple[Array, dict[int, dict[str, str]]]:
    """The position of each value, NaN where it is missing or has none, and by row and name why it has none."""
    U: Array = np.full((len(rows), space.d), math.nan)
    refused: dict[int, dict[str, str]] = {}
    for j, (name, p) in enumerate(space.items()):
        at = [i for i, params in enumerate(rows) if name in params]
        try:
            U[at, j] = p.to_units(name, [rows[i][name] for i in at])
        except ParamsError:  # one of them at least is no value of the parameter
            for i in at:
                try:
                    U[i, j] = place_value(p, name, rows[i][name])
                except ParamsError as error:
                    refused.setdefault(i, {})[name] = str(error)
    return U, refused


def _problem(space: Space, params: Mapping[str, Any], active: Any, refused: Mapping[str, str]) -> str | None:
    """The first parameter of a row that is active and has no place."""
    for name, on in zip(space.names, active, strict=True):
        if on and name in refused:
            return refused[name]
        if on and name not in params:
            return f"params must have a value for {name!r}, got {dict(params)!r}."
    return None


def active_names(space: Space, params: Mapping[str, Any]) -> set[str]:
    """The parameters that are active at a point; nothing depends on a value that has no place."""
    active = space.active(_columns(space, [params])[0])[0]
    return {name for name, on in zip(space.names, active, strict=True) if on}


def place_value(p: Parameter, name: str, value: Any) -> float:
    """The position of one value, beyond [0, 1] where it is out of bounds; raises where it has none."""
    try:
        return p.to_unit(name, value)
    except ParamsError:
        if isinstance(p, Categorical) or not is_finite(value):
            raise
    number = float(value)
    if p.size == 1:
        if math.isclose(number, p.low, rel_tol=SAME):
            return 0.5
        raise ParamsError(f"{name} is fixed at {p.low}, got {value!r}.")
    if p.log and number <= 0.0:
        raise ParamsError(f"{name} must be > 0 on a log scale, got {value!r}.")
    u = _continued(p, number)
    if not -FARTHEST <= u <= 1.0 + FARTHEST:
        raise ParamsError(f"{name} = {value!r} lies too far from [{p.low}, {p.high}] to tell anything about it.")
    return u


def _continued(p: Float | Int, number: float) -> float:
    """The map of a range onto [0, 1], continued beyond it and between the values of a grid."""
    with np.errstate(over="ignore"):
        if p.log or p.step is None:
            return float(p.position(np.asarray(number)))
        return float((number - p.low) / p.step + 0.5) / p.size


def outside(space: Space, params: Mapping[str, Any]) -> str | None:
    """Why ``params`` are no point of the space, None if they are one."""
    try:
        space.encode(params)
        for constraint in space.constraints:
            if broken(constraint, params):
                return f"breaks {constraint!r}."
    except SpaceError as error:  # also of a predicate that cannot be asked
        return str(error)
    return None


def broken(constraint: Any, params: Mapping[str, Any]) -> bool:
    """Whether a point of the box breaks a constraint by more than rounding."""
    if not isinstance(constraint, LinearConstraint):
        return not satisfied(constraint, dict(params))
    terms = [a * float(params.get(name, 0.0)) for name, a in constraint.coefficients.items()]
    total, slack = math.fsum(terms), ROUNDING * math.fsum(map(abs, terms))
    return not constraint.lower - slack <= total <= constraint.upper + slack
