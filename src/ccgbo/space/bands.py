"""How far sums can move: each linear constraint is a band, and the thin ones need care.

R   (r, d)  the rows, divided by how far each can move over the whole box
T   (m, d)  the thin ones among them, whose sums can hardly move within all constraints; parallel rows are one
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ccgbo.arrays import Array
from ccgbo.space.constraints import LinearRows

THIN = 0.02  # width of a band, relative to how far its sum could move without it
TOLERANCE = 1e-7  # of linear programming
PROGRAMS = 50  # up to this many parameters it is asked about each


@dataclass(frozen=True, slots=True)
class Bands:
    """lower <= R v <= upper, and what is left of each sum's range within all of them."""

    R: Array  # (r, d)
    lower: Array  # (r,)
    upper: Array  # (r,)
    width: Array  # (r,) how far a row's sum can move within all of them
    extent: Array  # (d,) how far each coordinate can, as a share of its range
    thin: list[int]  # the rows of T


def find_bands(rows: LinearRows, lows: Array, highs: Array, *, conditional: bool) -> Bands:
    """The bands of linear constraints in a box; ``conditional`` where a parameter may be inactive and count as zero."""
    spans = highs - lows
    R, lower, upper = _scaled(rows, spans)
    low = np.minimum(lows, 0.0) if conditional else lows
    span = (np.maximum(highs, 0.0) if conditional else highs) - low
    groups = list(_parallel(R).values())
    # one row is no wedge: what several leave together is looked up by linear programming
    programming = len(groups) > 1 and R.shape[1] <= PROGRAMS
    shares = np.diag(1.0 / np.where(spans > 1e-300, spans, 1.0))
    extent = _extents(shares, R, lower, upper, low, span) if programming else np.ones(R.shape[1])
    width, thin = np.full(len(R), np.inf), list[int]()
    for group in groups:
        row = R[group[0]]
        own = _own_width(R[group], lower[group], upper[group])
        if programming and own > TOLERANCE:  # it does not see what is below its tolerance
            own = min(own, float(_extents(row[None, :], R, lower, upper, low, span)[0]))
        width[group] = own
        free = np.abs(row) @ (spans * extent)  # if its coordinates were independent
        thin += group[:1] if own < THIN * free else []
    return Bands(R, lower, upper, width, extent, thin)


def _own_width(R: Array, lower: Array, upper: Array) -> float:
    """Of the band between parallel rows, from their own bounds."""
    same = np.sign(R @ R[0]) > 0
    return max(float(np.where(same, upper, -lower).min() - np.where(same, lower, -upper).max()), 0.0)


def _extents(directions: Array, R: Array, lower: Array, upper: Array, low: Array, span: Array) -> Array:  # (k,)
    """How far sums with these coefficients (k, d) can move within the constraints and the box."""
    from scipy.optimize import linprog

    above, below = np.isfinite(upper), np.isfinite(lower)
    A, b = np.vstack([R[above], -R[below]]), np.concatenate([upper[above], -lower[below]])
    box = [(0.0, 1.0)] * len(span)
    out: Array = np.abs(directions) @ span
    for i, row in enumerate(directions):
        ends = [linprog(sign * row * span, A_ub=A * span, b_ub=b - A @ low, bounds=box) for sign in (1.0, -1.0)]
        if all(end.status == 0 for end in ends):
            out[i] = min(out[i], max(-ends[0].fun - ends[1].fun, 0.0) + TOLERANCE)
    return out


def _scaled(rows: LinearRows, spans: Array) -> tuple[Array, Array, Array]:
    """The rows divided by how far each can move over the box."""
    largest = np.abs(rows.A).max(axis=1)
    largest = np.where(largest > 0.0, largest, 1.0)  # first, or numbers near the largest float would overflow
    A = rows.A / largest[:, None]
    with np.errstate(over="ignore"):
        reach = np.abs(A) @ spans
    reach = np.where((reach > 0.0) & np.isfinite(reach), reach, 1.0)
    return A / reach[:, None], rows.lower / largest / reach, rows.upper / largest / reach


def _parallel(R: Array) -> dict[tuple[float, ...], list[int]]:
    """Rows with the same coefficients but for the sign, which must all hold between the same two planes."""
    groups: dict[tuple[float, ...], list[int]] = {}
    for i, row in enumerate(R):
        nonzero = np.flatnonzero(row)
        if len(nonzero):
            groups.setdefault(tuple(np.round(row * np.sign(row[nonzero[0]]), 12).tolist()), []).append(i)
    return groups
