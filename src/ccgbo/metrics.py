"""What is measured of a trial: one objective or several, and quantities that must stay within bounds.

    objectives           {"yield": "maximize", "cost": "minimize"}
    outcome_constraints  {"impurity": AtMost(0.02), "ph": Between(6.5, 7.5)}

A ``Metrics`` says which there are. With one objective, no name given and no constraint it is *plain*: a trial has one
value, and nothing below is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal

from ccgbo.errors import SettingError
from ccgbo.text import printable
from ccgbo.validation import Validated, check, number, shown

Direction = Literal["maximize", "minimize"]

VALUE = "value"  # the name of an objective that nobody named
MOST_OBJECTIVES = 5  # the boxes of a front grow too many beyond


@dataclass(frozen=True, slots=True)
class Between(Validated):
    """A measured quantity must lie in [lower, upper]; ``AtMost`` and ``AtLeast`` leave one side open."""

    lower: float
    """The least that is allowed; -inf leaves it open."""
    upper: float
    """The most that is allowed; inf leaves it open."""

    def __post_init__(self) -> None:
        for name in ("lower", "upper"):
            object.__setattr__(self, name, _bound(f"Between.{name}", getattr(self, name)))
        if not self.lower < self.upper:
            raise SettingError(f"Between.lower must be less than upper, got {self.lower!r} and {self.upper!r}.")
        if math.isinf(self.lower) and math.isinf(self.upper):
            raise SettingError("an outcome constraint must have a finite bound, got none.")

    def __repr__(self) -> str:
        if math.isinf(self.lower):
            return f"AtMost({self.upper!r})"
        return f"AtLeast({self.lower!r})" if math.isinf(self.upper) else f"Between({self.lower!r}, {self.upper!r})"

    def __str__(self) -> str:
        if math.isinf(self.lower):
            return f"<= {self.upper:g}"
        return f">= {self.lower:g}" if math.isinf(self.upper) else f"in [{self.lower:g}, {self.upper:g}]"

    def allows(self, value: float) -> bool:
        """Whether a value is within."""
        return self.lower <= value <= self.upper

    def violation(self, value: float) -> float:
        """How far a value lies outside; 0 within."""
        return max(self.lower - value, value - self.upper, 0.0)


def _bound(name: str, value: Any) -> float:
    return value if isinstance(value, float) and math.isinf(value) else number(name, value)


def AtMost(upper: float) -> Between:
    """A measured quantity must not exceed ``upper``."""
    return Between(-math.inf, _finite("AtMost", upper))


def AtLeast(lower: float) -> Between:
    """A measured quantity must not fall below ``lower``."""
    return Between(_finite("AtLeast", lower), math.inf)


def _finite(name: str, value: Any) -> float:
    return number(f"the bound of {name}", value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One metric of one trial."""

    value: float  # the mean of the readings, where there are several
    noise_variance: float | None = None
    readings: tuple[float, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"value": self.value, "noise_variance": self.noise_variance, "readings": list(self.readings)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Measurement:
        return cls(**{**data, "readings": tuple(data.get("readings") or ())})


@dataclass(frozen=True, slots=True)
class Metrics:
    """The objectives by name with their directions, and the bounds of measured quantities."""

    objectives: Mapping[str, Direction] = field(default_factory=lambda: {VALUE: "maximize"})
    constraints: Mapping[str, Between] = field(default_factory=dict)

    @property
    def plain(self) -> bool:
        """One objective without a name of its own and no constraint: a trial has one value."""
        return not self.constraints and tuple(self.objectives) == (VALUE,)

    @property
    def simple(self) -> bool:
        """One objective and no constraint, whether it has a name or not: what is sought is its optimum."""
        return not self.constraints and len(self.objectives) == 1

    @property
    def several(self) -> bool:
        """More than one objective: there is a front, and no best trial."""
        return len(self.objectives) > 1

    @property
    def names(self) -> tuple[str, ...]:
        """Every metric, the objectives first."""
        return tuple(dict.fromkeys([*self.objectives, *self.constraints]))

    @property
    def objective(self) -> str:
        """The objective, or the first of several."""
        return next(iter(self.objectives))

    @property
    def direction(self) -> Direction:
        """The direction of the objective, or of the first of several."""
        return self.objectives[self.objective]

    def sign(self, name: str) -> float:
        """What a value of the metric is multiplied by, so that more is better; of a constraint, one."""
        return -1.0 if self.objectives.get(name) == "minimize" else 1.0

    def unknown(self, name: Any) -> str:
        """What to say of a metric that there is none of."""
        close = get_close_matches(str(name), self.names, 1, 0.7)
        hint = f": did you mean {close[0]!r}?" if close else "."
        return f"there is no metric {shown(name)}{hint} There are {', '.join(map(repr, self.names))}."

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; an open side is None."""
        bounds = {name: [_plain(c.lower), _plain(c.upper)] for name, c in self.constraints.items()}
        return {"objectives": dict(self.objectives), "constraints": bounds}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Metrics:
        bounds = {
            name: Between(_open(low, -1.0), _open(high, 1.0)) for name, (low, high) in data["constraints"].items()
        }
        return metrics_of(objectives=data["objectives"], outcome_constraints=bounds)

    def describe(self) -> list[str]:
        """A line for each: ``yield: maximize``, ``impurity <= 0.02``."""
        goals = [f"{printable(name)}: {direction}" for name, direction in self.objectives.items()]
        return [*goals, *(f"{printable(name)} {bound}" for name, bound in self.constraints.items())]


def _plain(bound: float) -> float | None:
    return None if math.isinf(bound) else bound


def _open(bound: float | None, side: float) -> float:
    return side * math.inf if bound is None else bound


def metrics_of(
    *,
    direction: Any = None,
    objective: Any = None,
    objectives: Any = None,
    outcome_constraints: Any = None,
) -> Metrics:
    """The metrics that the arguments of an optimizer say; refuses what contradicts itself."""
    if objectives is not None:
        for name, given in (("objective", objective), ("direction", direction)):
            if given is not None:
                raise SettingError(f"{name} must be left out where objectives are given, got {given!r}.")
        goals = _objectives(objectives)
    else:
        if direction is not None and not isinstance(direction, str):
            raise SettingError(
                f"direction must be 'maximize' or 'minimize', got {direction!r}; several are objectives=."
            )
        word = check("direction", "maximize" if direction is None else direction, Direction)
        goals = {VALUE if objective is None else _name("objective", objective): word}
    return Metrics(goals, _constraints(outcome_constraints))


def _objectives(given: Any) -> dict[str, Direction]:
    if not isinstance(given, Mapping) or not 1 <= len(given) <= MOST_OBJECTIVES:
        rule = f"a mapping of 1 to {MOST_OBJECTIVES} names to 'maximize' or 'minimize'"
        raise SettingError(f"objectives must be {rule}, got {shown(given)}.")
    return {
        _name("objectives", name): check(f"objectives[{name!r}]", direction, Direction)
        for name, direction in given.items()
    }


def _constraints(given: Any) -> dict[str, Between]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        rule = "a mapping of names to AtMost, AtLeast or Between"
        raise SettingError(f"outcome_constraints must be {rule}, got {shown(given)}.")
    for name, bound in given.items():
        if not isinstance(bound, Between):
            rule = "AtMost, AtLeast or Between"
            raise SettingError(f"outcome_constraints[{name!r}] must be {rule}, got {shown(bound)}.")
    return {_name("outcome_constraints", name): bound for name, bound in given.items()}


def _name(argument: str, name: Any) -> str:
    if not isinstance(name, str) or not name.strip() or name != printable(name) or "=" in name:
        raise SettingError(f"a name in {argument} must be a text without '=' or control characters, got {shown(name)}.")
    return name


def feasible(values: Mapping[str, float], metrics: Metrics) -> bool | None:
    """Whether measured values keep every bound; None where none is broken and one was not measured."""
    verdicts = [bound.allows(values[name]) if name in values else None for name, bound in metrics.constraints.items()]
    return False if False in verdicts else None if None in verdicts else True
