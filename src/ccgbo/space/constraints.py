"""Input constraints: linear inequalities, and any predicate of the params."""

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


@dataclass(frozen=True, slots=True)
class LinearConstraint:
    """``lower <= sum(coefficients[name] * value) <= upper``, in the parameters' own units.

    An inactive conditional parameter counts as zero.
    """

    coefficients: Mapping[str, float]
    upper: float = field(default=math.inf, kw_only=True)
    lower: float = field(default=-math.inf, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.coefficients, Mapping) or not self.coefficients:
            raise SpaceError(
                f"LinearConstraint.coefficients must map parameter names to numbers, got {self.coefficients!r}."
            )
        for name, a in self.coefficients.items():
            if not is_finite(a):
                raise SpaceError(f"LinearConstraint.coefficients[{name!r}] must be a finite number, got {a!r}.")
        object.__setattr__(self, "coefficients", {name: float(a) for name, a in self.coefficients.items()})
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


@dataclass(frozen=True, slots=True)
class LinearRows:
    """All linear constraints of a space as one matrix: lower <= A v <= upper.

    A sum over grid values only may exceed its bound by rounding (0.1 + 0.2 <= 0.3 holds); a sum with a continuous term
    stays inside by as much, so that the user's own check of a suggestion holds in whatever order it adds.
    """

    A: Array  # (c, d)
    lower: Array  # (c,)
    upper: Array  # (c,)
    slack: Array  # (c,) relative to |A| |v|
    sources: tuple[LinearConstraint, ...]

    @classmethod
    def build(cls, space: Space, constraints: Sequence[LinearConstraint]) -> LinearRows | None:
        if not constraints:
            return None
        A = np.array([[c.coefficients.get(name, 0.0) for name in space.names] for c in constraints])
        free = np.isin(np.arange(space.d), space.continuous)
        touches = ((A != 0.0) & free).any(axis=1)
        within = (2.0 + (A != 0.0).sum(axis=1)) * EPS  # what adding up in another order may change
        for c, continuous, share in zip(constraints, touches, within, strict=True):
            if continuous and c.upper - c.lower <= 2.0 * share * min(abs(c.lower), abs(c.upper)):
                raise SpaceError(
                    "LinearConstraint.lower must be < upper over a continuous parameter, and by more than sums are "
                    f"rounded, got {c!r}: such an equation leaves nothing to draw from; give it a width such as "
                    "1e-9, or leave one parameter out and compute it from the others."
                )
        lower, upper = np.array([c.lower for c in constraints]), np.array([c.upper for c in constraints])
        return cls(A, lower, upper, np.where(touches, -within, ROUNDING), tuple(constraints))

    def hold(self, values: Array) -> NDArray[np.bool_]:  # (n, d) own units -> (n,)
        with np.errstate(over="ignore", invalid="ignore"):  # a sum beyond the largest float satisfies no finite bound
            total = values @ self.A.T
            slack = self.slack * (np.abs(values) @ np.abs(self.A).T)
            inside = (total <= self.upper + slack) & (total >= self.lower - slack)
        result: NDArray[np.bool_] = inside.all(axis=1)
        return result
