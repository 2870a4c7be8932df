"""Input constraints: linear inequalities and arbitrary predicates, and how to find points that satisfy them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ccgbo.errors import InfeasibleSpaceError, SpaceError
from ccgbo.space.parameters import Array, Categorical

if TYPE_CHECKING:
    from ccgbo.space.space import Space

Predicate = Callable[[dict[str, Any]], bool]

DRAWS = 50_000  # uniform draws without a feasible one before the space is called infeasible


@dataclass(frozen=True, slots=True)
class LinearConstraint:
    """``lower <= sum(coefficients[name] * value) <= upper``, in the parameters' own units.

    An inactive conditional parameter counts as zero.
    """

    coefficients: Mapping[str, float]
    upper: float = field(default=math.inf, kw_only=True)
    lower: float = field(default=-math.inf, kw_only=True)

    def __post_init__(self) -> None:
        if not self.coefficients:
            raise SpaceError("LinearConstraint.coefficients must name at least one parameter, got {}.")
        for name, a in self.coefficients.items():
            if isinstance(a, bool) or not isinstance(a, int | float) or not math.isfinite(a):
                raise SpaceError(f"LinearConstraint.coefficients[{name!r}] must be a finite number, got {a!r}.")
        if math.isnan(self.lower) or math.isnan(self.upper) or self.lower > self.upper:
            raise SpaceError(
                f"LinearConstraint.lower must be <= upper, got lower={self.lower!r}, upper={self.upper!r}."
            )

    def holds(self, values: Array, names: tuple[str, ...]) -> NDArray[np.bool_]:  # (n, d) -> (n,)
        a = np.array([self.coefficients.get(name, 0.0) for name in names])
        total = values @ a
        slack = 1e-9 * (np.abs(values) @ np.abs(a) + 1e-300)  # rounding of the sum itself
        result: NDArray[np.bool_] = (total <= self.upper + slack) & (total >= self.lower - slack)
        return result


def linear_start(space: Space, linear: list[LinearConstraint]) -> Array | None:
    """A point in the middle of the linear constraints, or None when provably none exists."""
    from scipy.optimize import Bounds, milp
    from scipy.optimize import LinearConstraint as Rows

    low: list[float] = []
    step: list[float] = []
    top: list[float] = []
    integral: list[float] = []
    for p in space.parameters:  # value = low + step * z
        if isinstance(p, Categorical):
            row = (0.0, 0.0, 0.0, 1)
        else:
            free = p.size == 0
            stride, last = (1.0, float(p.high - p.low)) if free else (float(p.step or 0.0), float(p.size - 1))
            row = (float(p.low), stride, last, 0 if free else 1)
        for column, entry in zip((low, step, top, integral), row, strict=True):
            column.append(entry)
    d = len(low)
    rows, lower, upper = [], [], []
    for c in linear:  # a.v + norm * s <= upper and a.v - norm * s >= lower, s maximised
        a = np.array([c.coefficients.get(name, 0.0) for name in space.names])
        norm = float(np.abs(a * np.array(step)) @ np.array(top)) or 1.0
        offset = float(a @ np.array(low))
        for sign, bound in ((1.0, c.upper), (-1.0, -c.lower)):
            if math.isfinite(bound):
                rows.append(np.append(sign * a * np.array(step), norm))
                lower.append(-math.inf)
                upper.append(bound - sign * offset)
    result = milp(
        np.append(np.zeros(d), -1.0),
        integrality=np.array([*integral, 0]),
        bounds=Bounds(np.zeros(d + 1), np.array([*top, 1.0])),
        constraints=Rows(np.array(rows), np.array(lower), np.array(upper)),
        options={"time_limit": 10.0},
    )
    if result.status == 2:  # proven infeasible
        return None
    if result.x is None:
        return np.full(d, 0.5)
    u = np.full(d, 0.5)
    for j, p in enumerate(space.parameters):
        if not isinstance(p, Categorical) and p.size != 1:
            value = low[j] + step[j] * (round(result.x[j]) if integral[j] else result.x[j])
            value = min(max(value, float(p.low)), float(p.high))
            u[j] = p.to_unit(space.names[j], int(value) if integral[j] and float(value).is_integer() else value)
    return u


def sample_feasible(space: Space, n: int, rng: np.random.Generator) -> Array:  # (n, d), snapped
    """``n`` points that satisfy every constraint: rejection first, then random walks from what was found."""
    found = np.empty((0, space.d))
    drawn = 0
    while len(found) < n and drawn < DRAWS:
        batch = space.snap(rng.random((max(4 * n, 512), space.d)))
        drawn += len(batch)
        found = np.concatenate([found, batch[space.feasible(batch)]])
        if len(found) * 50 < drawn and len(found) > 0 and drawn >= 4096:
            break  # rarer than 2 %: walk instead
    if len(found) >= n:
        return found[:n]
    if len(found) == 0:
        found = _rare_start(space, drawn)
    return walk_feasible(space, found, n, rng)


def _rare_start(space: Space, drawn: int) -> Array:
    linear = [c for c in space.constraints if isinstance(c, LinearConstraint)]
    if linear and not space.conditional:
        start = linear_start(space, linear)
        if start is None:
            raise InfeasibleSpaceError("no point satisfies the linear constraints of the space (proven).")
        start = space.snap(start[None, :])
        if space.feasible(start)[0]:
            return start
    grid = space.grid(limit=200_000)
    if grid is not None and len(grid):
        return grid
    proof = "the whole grid was tried" if grid is not None else f"{drawn:,} random points were tried"
    raise InfeasibleSpaceError(f"no point that satisfies the constraints of the space was found; {proof}.")


def walk_feasible(space: Space, start: Array, n: int, rng: np.random.Generator) -> Array:
    """Random perturbations of feasible points at scales from 1e-6 to 1, kept where feasible."""
    found = start
    for _ in range(60):
        if len(found) >= n:
            break
        base = found[rng.integers(len(found), size=2 * n)]
        scale = 10.0 ** rng.uniform(-6.0, 0.0, size=(2 * n, 1))
        moved = space.snap(np.clip(base + scale * rng.standard_normal(base.shape), 0.0, 1.0))
        found = np.concatenate([found, moved[space.feasible(moved)]])
    if len(found) < n:  # a tiny feasible set: repeat it
        found = found[np.resize(np.arange(len(found)), n)]
    return found[:n]
