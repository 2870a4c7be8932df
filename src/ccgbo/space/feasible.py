"""How points that satisfy the constraints of a space are found.

rejection   uniform draws, kept where feasible: exact, and enough where the feasible part is not small
anchors     where draws fail: the middle of the linear constraints by mixed-integer programming, many more draws,
            every point of a finite space; or the report that nothing was found
walks       from the anchors along random lines (hit-and-run), which leaves the uniform distribution as it is: within
            linear constraints along the bands that they leave (polytope.py); for predicates alone each step is a
            uniform draw of the line, shrunk towards its start until feasible (Neal 2003)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ccgbo.arrays import Array
from ccgbo.errors import InfeasibleSpaceError
from ccgbo.space.bands import THIN
from ccgbo.space.constraints import LinearRows
from ccgbo.space.parameters import Categorical

if TYPE_CHECKING:
    from ccgbo.space.space import Space

DRAWS = 50_000  # uniform draws without a feasible one before the space is called infeasible
WALKS = 12_000  # the same where equations hold and every draw is a walk
GRID = 200_000  # a finite space up to this size is looked through
TRIES = 8  # draws per point wanted, after which walks are cheaper than further rejection
STEPS = 8  # of a walk
ANCHORS = 64  # feasible points to walk from, beside those first found
WALKERS = 256  # the same within linear constraints, where a step costs less than a call of a predicate
SHRINKS = 12  # of a line, each by a random share


def sample_feasible(space: Space, n: int, rng: np.random.Generator) -> Array:  # (n, d), snapped
    """``n`` points that satisfy every constraint."""
    found, drawn, batch = np.empty((0, space.d)), 0, max(2 * n, 16)
    tries = 0 if space.polytope is not None and space.polytope.narrow else TRIES * max(n, 32)
    while len(found) < n and drawn < tries:
        U = space.snap(rng.random((batch, space.d)))
        found = np.concatenate([found, U[space.feasible(U)]])
        drawn += batch
    if len(found) >= n:
        return found[:n]
    start = found if len(found) >= 8 else np.concatenate([found, space.anchors])
    return np.concatenate([found, walk_feasible(space, start, n - len(found), rng)])


def walk_feasible(
    space: Space, start: Array, n: int, rng: np.random.Generator, *, steps: int = STEPS
) -> Array:  # start (k, d) -> (n, d)
    """``n`` hit-and-run walks from random ones of the feasible points ``start``."""
    U = start[rng.integers(len(start), size=n)]
    if space.polytope is not None:
        for _ in range(steps):
            U = space.polytope.step(U, rng)
        return U
    for _ in range(steps):
        direction = rng.standard_normal(U.shape)
        # few coordinates at a time: a line through all of them leaves a narrow feasible set at once
        keep = rng.random(U.shape) < np.maximum(rng.random((n, 1)), 1.0 / space.d)
        direction *= keep
        low, high = _line(U, direction)
        rows = np.arange(n)
        for _ in range(SHRINKS):
            t = low[rows] + (high[rows] - low[rows]) * rng.random(len(rows))
            moved = space.snap(U[rows] + t[:, None] * direction[rows])
            ok = space.feasible(moved)
            U[rows[ok]] = moved[ok]
            rows, t = rows[~ok], t[~ok]
            if not len(rows):
                break
            low[rows], high[rows] = np.where(t < 0, t, low[rows]), np.where(t < 0, high[rows], t)
    return U


def _line(U: Array, direction: Array) -> tuple[Array, Array]:
    """The interval of t for which U + t * direction stays in the unit cube."""
    with np.errstate(divide="ignore", invalid="ignore"):
        to_zero, to_one = -U / direction, (1.0 - U) / direction
    still = direction == 0.0
    low = np.where(still, -np.inf, np.minimum(to_zero, to_one)).max(axis=1)
    high = np.where(still, np.inf, np.maximum(to_zero, to_one)).min(axis=1)
    none = still.all(axis=1)
    return np.where(none, 0.0, low), np.where(none, 0.0, high)


def find_feasible(space: Space) -> Array:  # (k, d) with k >= 1
    """Feasible points all over the feasible part, found in the same way each time; raises where there are none."""
    start, n = _first_feasible(space), ANCHORS if space.polytope is None else WALKERS
    return np.concatenate([start, walk_feasible(space, start, n, np.random.default_rng(1), steps=16 + 4 * space.d)])


def _first_feasible(space: Space) -> Array:  # (k, d) with k >= 1
    if space.linear is not None and (not space.conditional or _certain(space, space.linear)):
        start = linear_middle(space, space.linear)
        if start is None:
            raise InfeasibleSpaceError(
                f"no point satisfies the linear constraints of the space{_held(space)} (proven)."
            )
        start = space.repair(space.snap(start[None, :]))
        if space.feasible(start)[0]:
            return start
    rng, drawn = np.random.default_rng(0), 0
    while drawn < (DRAWS if space.equations is None else WALKS):
        U = _draws(space, rng)
        drawn += len(U)
        found = U[space.feasible(U)]
        if len(found):
            return found
    grid = space.grid(limit=GRID)
    if grid is not None and len(grid):
        return grid
    proof = "the whole grid was tried" if grid is not None else f"{drawn:,} random points were tried"
    raise InfeasibleSpaceError(
        f"no point that satisfies the constraints of the space{_held(space)} was found; {proof}."
    )


def _draws(space: Space, rng: np.random.Generator) -> Array:  # (4096, d) snapped
    """Points all over the space; where equations hold, all over what the linear constraints leave."""
    linear = space.without_predicates
    if space.equations is not None and linear is not space:
        return linear.sample(4096, rng)
    return space.repair(space.snap(rng.random((4096, space.d))))


def check_sums(space: Space, rows: LinearRows, which: NDArray[np.bool_]) -> None:
    """Raise where the bounds leave nothing to one of the given rows."""
    low, high = space.low.copy(), space.high.copy()
    for j, p in enumerate(space.parameters):
        if p.active_if is not None:  # an inactive one counts as zero
            low[j], high[j] = min(low[j], 0.0), max(high[j], 0.0)
    ends = np.stack([rows.A * low, rows.A * high])
    least, most = ends.min(axis=0).sum(axis=1), ends.max(axis=0).sum(axis=1)
    rounding = 1e-12 * np.abs(ends).max(axis=0).sum(axis=1)
    for i in np.flatnonzero(which & ((least > rows.upper + rounding) | (most < rows.lower - rounding))):
        allowed = f"a sum between {least[i]:.6g} and {most[i]:.6g}"
        if space.fixed:
            raise InfeasibleSpaceError(
                f"fixed={dict(space.fixed)!r} contradicts {rows.sources[i]!r}: the bounds then allow {allowed}."
            )
        raise InfeasibleSpaceError(f"no point satisfies {rows.sources[i]!r}: the bounds allow {allowed}.")


def _certain(space: Space, rows: LinearRows) -> bool:
    """Whether there are equations, and no row has a conditional term."""
    conditional = [p.active_if is not None for p in space.parameters]
    return space.equations is not None and not (rows.A[:, conditional] != 0.0).any()


def _held(space: Space) -> str:
    return f" with fixed={dict(space.fixed)!r}" if space.fixed else ""


def linear_middle(space: Space, rows: LinearRows) -> Array | None:  # (d,)
    """A point as deep inside the linear constraints as possible, or None when provably none exists."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    low, step, top, integral = _grid_of_numbers(space)
    d = len(low)
    A = rows.A * step
    reach = np.abs(A) @ top  # of a row over the whole box: divided by it, rows are of order one whatever the units
    reach = np.where(reach > 0.0, reach, 1.0)
    A, offset = A / reach[:, None], rows.A @ low
    lower, upper = (rows.lower - offset) / reach, (rows.upper - offset) / reach
    above, below = np.isfinite(upper), np.isfinite(lower)
    depth = np.where(upper - lower < THIN, 0.0, 1.0)[:, None]  # a band leaves no depth to any point, so it has no say
    # A z + s <= upper, A z - s >= lower and, for continuous z, s <= z <= 1 - s, with the depth s as large as possible
    walls = np.eye(d + 1)[:-1][integral == 0]
    walls_left, walls_right = np.vstack([-walls, walls]), np.repeat([0.0, 1.0], len(walls))
    walls_left[:, -1] = 1.0
    left = np.concatenate([np.hstack([A, depth])[above], np.hstack([-A, depth])[below], walls_left])
    right = np.concatenate([upper[above], -lower[below], walls_right])
    for presolve in (True, False):  # the former is faster, and wrong about some narrow bands over integers
        result = milp(
            np.append(np.zeros(d), -1.0),
            integrality=np.append(integral, 0),
            bounds=Bounds(np.zeros(d + 1), np.append(top, 1.0)),
            constraints=LinearConstraint(left, -np.inf, right),
            options={"time_limit": 5.0, "presolve": presolve},
        )
        if result.status != 2:
            break
    if result.status == 2:  # proven infeasible
        return None
    u = np.full(d, 0.5)
    if result.x is None:
        return u
    for j, p in enumerate(space.parameters):
        if not isinstance(p, Categorical) and p.size != 1 and space.names[j] not in space.held:
            if integral[j]:
                u[j] = float(p.unit_of_index(np.asarray(np.rint(result.x[j]))))
            else:
                value = low[j] + step[j] * result.x[j]
                u[j] = p.to_unit(space.names[j], min(max(value, float(p.low)), float(p.high)))
    return u


def _grid_of_numbers(space: Space) -> tuple[Array, Array, Array, Array]:
    """Each number as low + step * z with 0 <= z <= top, z whole where integral; a categorical counts as zero."""
    columns: list[tuple[float, float, float, float]] = []
    for j, p in enumerate(space.parameters):
        if isinstance(p, Categorical) or space.names[j] in space.held:
            columns.append((float(space.low[j]), 0.0, 0.0, 1.0))
        elif p.size == 0:
            columns.append((float(space.low[j]), float(space.high[j] - space.low[j]), 1.0, 0.0))
        else:
            columns.append((float(p.low), float(p.step or 0.0), float(p.size - 1), 1.0))
    low, step, top, integral = (np.array(column) for column in zip(*columns, strict=True))
    return low, step, top, integral
