"""Fronts of several objectives, all to be maximised: who is dominated, what volume, which boxes are left to improve.

    q  points of a front, m  objectives, b  boxes, r  the reference point (m,)

Local upper bounds (Klamroth, Lacour & Vanderpooten 2015), in the sense of minimisation: every point that no point of
the front dominates lies below one of them. Each is defined by m points z^1, ... z^m, where z^k gives it component k. A
new point z splits every bound u > z into those u^j = (z_j, u_-j) for which z_j is no less than component j of all other
points that define u.

Boxes (Lacour, Klamroth & Fonseca 2017): what the front dominates, up to r, is the disjoint union over its bounds u of

    [z^1_1, r_1]  x  prod_(j > 1) [max_(k < j) z^k_j, u_j]

and what it does not dominate is, read from the other side, what the bounds themselves dominate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ccgbo.arrays import Array

BLOCK = 2**22  # comparisons that are held at once


def non_dominated(Y: Array) -> NDArray[np.bool_]:  # (q, m) -> (q,)
    """Which points none is better than in one objective and at least as good as in all; of equal points all."""
    q = len(Y)
    kept = np.ones(q, dtype=bool)
    if not q:
        return kept
    if Y.shape[1] <= 2:
        return _non_dominated_pairs(Y[:, 0], Y[:, -1])
    size = max(BLOCK // max(q * Y.shape[1], 1), 1)
    for first in range(0, q, size):
        rows = Y[first : first + size, None, :]
        as_good, better = np.all(rows <= Y, axis=2), np.any(rows < Y, axis=2)
        kept[first : first + size] = ~np.any(as_good & better, axis=1)
    return kept


def _non_dominated_pairs(first: Array, second: Array) -> NDArray[np.bool_]:  # (q,), (q,)
    """The same for two objectives in O(q log q): a point stays if no better first one is as good in the second."""
    order = np.lexsort((-second, -first))
    a, b = first[order], second[order]
    start = np.searchsorted(-a, -a, side="left")  # where the best second one of equal first ones is
    above = np.concatenate([[-np.inf], np.maximum.accumulate(b)])[start]
    kept = np.empty(len(a), dtype=bool)
    kept[order] = (b > above) & (b == b[start])
    return kept


def _bounds(P: Array, r: Array) -> tuple[Array, Array]:  # (q, m), (m,) -> U (b, m), Z (b, m, m)
    """Local upper bounds of points to be minimised, and the points z^k that define each."""
    m = len(r)
    U, Z = r[None, :].copy(), np.full((1, m, m), -np.inf)
    Z[0, np.arange(m), np.arange(m)] = r
    for z in P:
        split = (z < U).all(axis=1)
        if not split.any():
            continue
        u, defining = U[split], Z[split]
        fresh_U, fresh_Z = [U[~split]], [Z[~split]]
        for j in range(m):
            others = np.delete(defining[:, :, j], j, axis=1)  # (s, m - 1)
            rows = z[j] >= others.max(axis=1, initial=-np.inf)
            new_u, new_z = u[rows].copy(), defining[rows].copy()
            new_u[:, j], new_z[:, j, :] = z[j], z
            fresh_U.append(new_u)
            fresh_Z.append(new_z)
        U, Z = np.concatenate(fresh_U), np.concatenate(fresh_Z)
    return U, Z


def _boxes(U: Array, Z: Array, r: Array) -> tuple[Array, Array]:  # -> (b, m), (b, m)
    """Lower and upper corners of disjoint boxes that fill what the points dominate, up to r; in one objective one."""
    lower, upper = np.empty_like(U), U.copy()
    lower[:, 0], upper[:, 0] = Z[:, 0, 0], r[0]
    for j in range(1, len(r)):
        lower[:, j] = Z[:, :j, j].max(axis=1)
    filled = (lower < upper).all(axis=1)
    return lower[filled], upper[filled]


def hypervolume(Y: Array, r: Array) -> float:  # (q, m), (m,)
    """The volume that the points dominate above the reference point."""
    P = -Y[non_dominated(Y)] if len(Y) else -Y
    lower, upper = _boxes(*_bounds(P[(-r > P).all(axis=1)], -r), -r)
    return float((upper - lower).prod(axis=1).sum())


def improvement_boxes(Y: Array, r: Array) -> tuple[Array, Array]:  # (q, m), (m,) -> (b, m), (b, m)
    """Disjoint boxes, open above, that fill what no point dominates above the reference point.

    A point improves the hypervolume by the volume of what it dominates of each box.
    """
    front = Y[non_dominated(Y)] if len(Y) else Y
    P = -front[(front > r).all(axis=1)]
    # a plain order makes neighbours follow one another, so that few bounds are split at a time
    corners = -_bounds(P[np.lexsort(P.T[::-1])], -r)[0]
    infinite = np.full(len(r), np.inf)
    return _boxes(*_bounds(corners[np.lexsort(corners.T[::-1])], infinite), infinite)


def reference_point(Y: Array, front: Array, *, beyond: float = 0.1) -> Array:  # (n, m), (q, m) -> (m,)
    """A point below the worst values of a front by a share of its extent; a tenth of it is what BoTorch infers.

    Along an objective in which the front has no extent, that of all points counts, and one where they have none.
    """
    worst, best = front.min(axis=0), front.max(axis=0)
    extent = best - worst
    of_all = Y.max(axis=0) - Y.min(axis=0)
    extent = np.where(extent > 0.0, extent, np.where(of_all > 0.0, of_all, 1.0))
    result: Array = worst - beyond * extent
    return result


def spread_over(Y: Array, r: Array, n: int) -> list[int]:  # (q, m), (m,)
    """Up to ``n`` points that span a front: the best of each objective, then whichever adds the most volume."""
    chosen = list(dict.fromkeys(int(i) for i in Y.argmax(axis=0)))[:n]
    while len(chosen) < min(n, len(Y)):
        rest = [i for i in range(len(Y)) if i not in chosen]
        chosen.append(max(rest, key=lambda i: hypervolume(Y[[*chosen, i]], r)))
    return chosen
