"""How far linear constraints let each coordinate move: a box no larger than it need be.

    one sum at a time    what the others of a sum leave to each, again and again (exact for a single sum)
    equations together   a coordinate that is the same in all their solutions
    programming          where several sums meet: a coordinate that cannot leave one of its bounds

A coordinate that cannot move has ``low == high`` in the result.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ccgbo.arrays import Array
from ccgbo.space.bands import PROGRAMS, TOLERANCE

ROUNDS = 50  # of one sum after the other
ROUNDING = 2.0**-46  # relative to the terms of a sum: a coordinate that can move by less cannot move


def tight_box(
    A: Array,  # (c, d)
    lower: Array,  # (c,)
    upper: Array,  # (c,)
    low: Array,  # (d,)
    high: Array,  # (d,)
    columns: NDArray[np.bool_],  # (d,) those that may be tightened
) -> tuple[Array, Array]:  # (d,), (d,)
    """Bounds of the coordinates within lower <= A v <= upper."""
    low, high = _sums(A, lower, upper, low, high, columns)
    low, high = _solutions(A, lower, upper, low, high, columns)
    if len(A) > 1 and columns.sum() <= PROGRAMS:
        low, high = _programs(A, lower, upper, low, high, columns)
        low, high = _sums(A, lower, upper, low, high, columns)
        low, high = _solutions(A, lower, upper, low, high, columns)
    return low, high


def _sums(
    A: Array, lower: Array, upper: Array, low: Array, high: Array, columns: NDArray[np.bool_]
) -> tuple[Array, Array]:
    box = low, high
    others = 1.0 - np.eye(A.shape[1])
    for _ in range(ROUNDS):
        before = low.copy(), high.copy()
        for row, least, most in zip(A, lower, upper, strict=True):
            ends = np.sort(np.stack([row * low, row * high]), axis=0)
            use = columns & (row != 0.0) & (high > low)
            scale = np.where(use, row, 1.0)
            room = (np.stack([least - others @ ends[1], most - others @ ends[0]])) / scale
            room = np.sort(room, axis=0)
            rounding = ROUNDING * np.abs(ends).max(axis=0).sum() / np.abs(scale)
            low, high = np.where(use, np.maximum(low, room[0]), low), np.where(use, np.minimum(high, room[1]), high)
            shut = use & (
                np.abs(high - low) <= rounding
            )  # bounds that pass each other by more prove that nothing is left
            value = np.clip(0.5 * (low + high), *box)
            low, high = np.where(shut, value, low), np.where(shut, value, high)
        moved = np.maximum(low - before[0], before[1] - high)
        if (moved <= 1e-9 * (before[1] - before[0])).all():
            break
    return low, high


def _solutions(
    A: Array, lower: Array, upper: Array, low: Array, high: Array, columns: NDArray[np.bool_]
) -> tuple[Array, Array]:
    free = np.flatnonzero(columns & (high > low))
    equal = lower == upper
    if not len(free) or not equal.any() or (high < low).any():
        return low, high
    span, middle = (high - low)[free], 0.5 * (low + high)
    E = A[np.ix_(equal, free)] * span
    size = np.abs(E).max(axis=1)
    E, e = E[size > 0.0] / size[size > 0.0, None], ((lower - A @ middle)[equal] / np.where(size > 0.0, size, 1.0))
    if not len(E):
        return low, high
    _, singular, rotation = np.linalg.svd(E)
    null = rotation[(singular > 1e-10 * singular[0]).sum() :]
    same = free[np.linalg.norm(null, axis=0) < 1e-9] if len(null) else free
    solution = middle.copy()
    solution[free] += span * (np.linalg.pinv(E, rcond=1e-10) @ e[size > 0.0])
    slack = 1e-9 * (high - low)[same]
    inside = (solution[same] >= low[same] - slack) & (solution[same] <= high[same] + slack)
    out_low, out_high = low.copy(), high.copy()
    value = np.clip(solution[same], low[same], high[same])
    out_low[same[inside]] = out_high[same[inside]] = value[inside]
    return out_low, out_high


def _programs(
    A: Array, lower: Array, upper: Array, low: Array, high: Array, columns: NDArray[np.bool_]
) -> tuple[Array, Array]:
    from scipy.optimize import linprog

    low, high = low.copy(), high.copy()
    span = np.maximum(high - low, 0.0)
    reach = np.abs(A) @ span
    use = reach > 0.0
    R, offset = A[use] * span / reach[use, None], A[use] @ low
    least, most = (lower[use] - offset) / reach[use], (upper[use] - offset) / reach[use]
    above, below, equal = np.isfinite(most) & (least < most), np.isfinite(least) & (least < most), least == most
    sides = {
        "A_ub": np.vstack([R[above], -R[below]]),
        "b_ub": np.concatenate([most[above], -least[below]]),
        "A_eq": R[equal],
        "b_eq": most[equal],
    }
    for j in np.flatnonzero(columns & (span > 0.0)):
        unit = np.eye(len(low))[j]
        ends = [linprog(sign * unit, **sides, bounds=(0.0, 1.0)) for sign in (1.0, -1.0)]
        if any(end.status != 0 for end in ends):
            continue
        if -ends[1].fun <= TOLERANCE:
            high[j] = low[j]
        elif ends[0].fun >= 1.0 - TOLERANCE:
            low[j] = high[j]
    return low, high
