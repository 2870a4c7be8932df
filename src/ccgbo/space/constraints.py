"""Input constraints: linear inequalities and equations, mixtures, and any predicate of the params."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ccgbo.arrays import Array
from ccgbo.errors import SpaceError
from ccgbo.space.numeric import is_finite, is_number

if TYPE_CHECKING:
    from ccgbo.space.space import Space

Predicate = Callable[[dict[str, Any]], bool]

ROUNDING = 1e-12  # by which a sum of grid values may miss its bound, relative to the size of its terms
EPS = 2.0**-52  # rounding of one addition


def satisfied(predicate: Predicate, params: dict[str, Any]) -> bool:
    """What a predicate says of a point; its failures are told as the constraint's."""
    name = getattr(predicate, "__name__", repr(predicate))
    try:
        answer: Any = predicate(dict(params))  # a dict of its own, so that no predicate sees what another did to it
    except Exception as error:
        raise SpaceError(
            f"constraint {name} raised {type(error).__name__}: {error} at the params {params!r}."
        ) from error
    if isinstance(answer, bool | np.bool_):
        return bool(answer)
    if (isinstance(answer, int | np.integer) and answer in (0, 1)) or (
        isinstance(answer, np.ndarray) and answer.dtype == bool and answer.size == 1
    ):
        return bool(answer)
    hint = "; is a return missing?" if answer is None else "."
    raise SpaceError(f"constraint {name} must return True or False, got {answer!r} at the params {params!r}{hint}")


@dataclass(frozen=True, slots=True, repr=False)
class LinearConstraint:
    """``lower <= sum(coefficients[name] * value) <= upper``, in the parameters' own units.

    ``equals=`` says both bounds at once. An equation is over continuous parameters alone, or over whole numbers and
    steps alone. An inactive conditional parameter counts as zero.
    """

    coefficients: Mapping[str, float]
    upper: float = field(default=math.inf, kw_only=True)
    lower: float = field(default=-math.inf, kw_only=True)
    equals: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.coefficients, Mapping) or not self.coefficients:
            raise SpaceError(
                f"LinearConstraint.coefficients must map parameter names to numbers, got {self.coefficients!r}."
            )
        for name, a in self.coefficients.items():
            if not is_finite(a):
                raise SpaceError(f"LinearConstraint.coefficients[{name!r}] must be a finite number, got {a!r}.")
        object.__setattr__(self, "coefficients", {name: float(a) for name, a in self.coefficients.items()})
        if self.equals is not None:
            self._read_equals(self.equals)
        for label in ("lower", "upper"):
            bound = getattr(self, label)
            if not is_number(bound) or not (is_finite(bound) or bound in (math.inf, -math.inf)):
                raise SpaceError(f"LinearConstraint.{label} must be a number, got {bound!r}.")
            object.__setattr__(self, label, float(bound))
        if self.lower > self.upper:
            raise SpaceError(
                f"LinearConstraint.lower must be <= upper, got lower={self.lower!r}, upper={self.upper!r}."
            )
        if not math.isfinite(self.lower) and not math.isfinite(self.upper):
            raise SpaceError("LinearConstraint must have a finite lower or upper, got neither.")
        object.__setattr__(self, "equals", self.lower if self.lower == self.upper else None)

    def _read_equals(self, equals: float) -> None:
        if not is_finite(equals):
            raise SpaceError(f"LinearConstraint.equals must be a finite number, got {equals!r}.")
        if self.lower not in (-math.inf, equals) or self.upper not in (math.inf, equals):
            raise SpaceError("LinearConstraint takes equals, or lower and upper, got both.")
        object.__setattr__(self, "lower", equals)
        object.__setattr__(self, "upper", equals)

    def __eq__(self, other: object) -> bool:  # a mixture is what it is short for
        if not isinstance(other, LinearConstraint):
            return NotImplemented
        return (self.coefficients, self.lower, self.upper) == (other.coefficients, other.lower, other.upper)

    def __repr__(self) -> str:
        if self.equals is not None:
            return f"LinearConstraint({self.coefficients!r}, equals={self.equals!r})"
        bounds = {"lower": self.lower, "upper": self.upper}
        told = ", ".join(f"{label}={bound!r}" for label, bound in bounds.items() if math.isfinite(bound))
        return f"LinearConstraint({self.coefficients!r}, {told})"


class Mixture(LinearConstraint):
    """Parts that add up to a total: ``Mixture(["water", "ethanol", "acetone"], total=1.0)``.

    Short for a ``LinearConstraint`` with coefficients of one and ``equals=total``. Every suggestion adds up.
    """

    __slots__ = ()

    def __init__(self, parts: Sequence[str], *, total: float = 1.0) -> None:
        if isinstance(parts, str | bytes) or not isinstance(parts, Sequence) or len(parts) < 2:
            raise SpaceError(f"Mixture.parts must be a list of two names or more, got {parts!r}.")
        for name in parts:
            if not isinstance(name, str):
                raise SpaceError(f"Mixture.parts must be names of parameters, got {name!r}.")
            if list(parts).count(name) > 1:
                raise SpaceError(f"Mixture.parts must be distinct, got {name!r} twice.")
        if not is_finite(total) or total <= 0:
            raise SpaceError(f"Mixture.total must be a finite number > 0, got {total!r}.")
        super().__init__(dict.fromkeys(parts, 1.0), equals=float(total))

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.coefficients)

    @property
    def total(self) -> float:
        return self.upper

    def __repr__(self) -> str:
        return f"Mixture({list(self.parts)!r}, total={self.total!r})"


def constraint_to_dict(constraint: LinearConstraint) -> dict[str, Any]:
    """Plain data that ``constraint_from_dict`` reads back."""
    if isinstance(constraint, Mixture):
        return {"mixture": list(constraint.parts), "total": constraint.total}
    bounds = {"lower": constraint.lower, "upper": constraint.upper}
    if constraint.equals is not None:
        bounds = {"equals": constraint.equals}
    return {"coefficients": dict(constraint.coefficients)} | {k: v for k, v in bounds.items() if math.isfinite(v)}


def constraint_from_dict(data: Any) -> LinearConstraint:
    """A constraint from a table of a space file."""
    fields = set(data) if isinstance(data, Mapping) else set()
    if "mixture" in fields and fields <= {"mixture", "total"}:
        return Mixture(data["mixture"], total=data.get("total", 1.0))
    if "coefficients" in fields and fields <= {"coefficients", "lower", "upper", "equals"}:
        return LinearConstraint(**data)
    raise SpaceError(
        f"must have 'coefficients' and 'lower', 'upper' or 'equals', or else 'mixture' and 'total', got {data!r}."
    )


@dataclass(frozen=True, slots=True)
class LinearRows:
    """All linear constraints of a space as one matrix: lower <= A v <= upper.

    A sum over grid values only may exceed its bound by rounding (0.1 + 0.2 <= 0.3 holds); a sum with a continuous term
    stays inside by as much, so that the user's own check of a suggestion holds in whatever order it adds. An equation
    with continuous terms holds up to the rounding of its sum, see equations.py.
    """

    A: Array  # (c, d)
    lower: Array  # (c,)
    upper: Array  # (c,)
    slack: Array  # (c,) relative to |A| |v|
    equal: NDArray[np.bool_]  # (c,) equations with a continuous term
    sources: tuple[LinearConstraint, ...]

    @classmethod
    def build(cls, space: Space, constraints: Sequence[LinearConstraint]) -> LinearRows | None:
        if not constraints:
            return None
        A = np.array([[c.coefficients.get(name, 0.0) for name in space.names] for c in constraints])
        free = np.isin(np.arange(space.d), space.continuous)
        touches = ((A != 0.0) & free).any(axis=1)
        within = (2.0 + (A != 0.0).sum(axis=1)) * EPS  # what adding up in another order may change
        equal = touches & np.array([c.equals is not None for c in constraints])
        for c, band, share in zip(constraints, touches & ~equal, within, strict=True):
            if band and c.upper - c.lower <= 2.0 * share * min(abs(c.lower), abs(c.upper)):
                raise SpaceError(
                    "LinearConstraint.lower must be < upper by more than sums are rounded, or equals= must be given, "
                    f"got {c!r}."
                )
        lower, upper = np.array([c.lower for c in constraints]), np.array([c.upper for c in constraints])
        slack = np.where(equal, 4.0 * within, np.where(touches, -within, ROUNDING))
        return cls(A, lower, upper, slack, equal, tuple(constraints))

    def hold(self, values: Array) -> NDArray[np.bool_]:  # (n, d) own units -> (n,)
        with np.errstate(over="ignore", invalid="ignore"):  # a sum beyond the largest float satisfies no finite bound
            total = values @ self.A.T
            slack = self.slack * (np.abs(values) @ np.abs(self.A).T)
            inside = (total <= self.upper + slack) & (total >= self.lower - slack)
        result: NDArray[np.bool_] = inside.all(axis=1)
        return result
