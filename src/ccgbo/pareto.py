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

import math

import numpy as np
from numpy.typing import NDArray

from ccgbo.arrays import LARGEST, Array

BLOCK = 2**22  # comparisons that are held at once
MANY = 32  # points, beyond which the best few are compared with all others first


def non_dominated(Y: Array) -> NDArray[np.bool_]:  # (q, m) -> (q,)
    """Which points none is better than in one objective and at least as good as in all; of equal points all."""
    q = len(Y)
    kept = np.ones(q, dtype=bool)
    if not q:
        return kept
    if Y.shape[1] <= 2:
        return _non_dominated_pairs(Y[:, 0], Y[:, -1])
    if q > MANY:  # most are dominated by one of those that are good in everything
        ranks = np.argsort(np.argsort(Y, axis=0), axis=0).sum(axis=1)
        kept = ~_dominated(Y, Y[np.argpartition(-ranks, MANY)[:MANY]])
    rows = np.flatnonzero(kept)
    kept[rows] = ~_dominated(Y[rows], Y[rows])
    return kept


def _dominated(Y: Array, by: Array) -> NDArray[np.bool_]:  # (q, m), (o, m) -> (q,)
    """Which points one of the others is better than in one objective and at least as good as in all."""
    found = np.zeros(len(Y), dtype=bool)
    size = max(BLOCK // max(len(by), 1), 1)
    for first in range(0, len(Y), size):
        as_good, better = True, False
        for mine, other in zip(Y[first : first + size].T, by.T, strict=True):  # by columns, which are long
            as_good = as_good & (mine[:, None] <= other)
            better = better | (mine[:, None] < other)
        found[first : first + size] = np.any(as_good & better, axis=1)
    return found


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
    """Local upper bounds of points to be minimised, and the points z^k that define each.

    Bounds are kept in columns, with room to grow: a point splits few of them, and the others stay where they are.
    """
    m, n = len(r), 1
    U, Z = np.empty((m, 64)), np.full((m, m, 64), -np.inf)  # Z[k, j] is component j of z^k
    U[:, 0], Z[np.arange(m), np.arange(m), 0] = r, r
    for z in P:
        split = np.flatnonzero(U[0, :n] > z[0])
        for j in range(1, m):
            split = split[U[j, split] > z[j]]
        if not len(split):
            continue
        new_U, new_Z = _split(U[:, split], Z[:, :, split], z)
        more = new_U.shape[1] - len(split)
        while n + more > U.shape[1]:
            U, Z = (np.concatenate([part, np.empty_like(part)], axis=-1) for part in (U, Z))
        if more < 0:  # the last ones move into the gaps
            gaps = split[more:]
            stay = np.setdiff1d(np.arange(n + more, n), gaps)
            split, gaps = split[:more], gaps[gaps < n + more]
            U[:, gaps], Z[:, :, gaps] = U[:, stay], Z[:, :, stay]
        places = np.concatenate([split, np.arange(n, n + more)])
        U[:, places], Z[:, :, places] = new_U, new_Z
        n += more
    return U[:, :n].T, Z[:, :, :n].transpose(2, 0, 1)


def _split(U: Array, Z: Array, z: Array) -> tuple[Array, Array]:  # (m, s), (m, m, s), (m,)
    """The bounds that a point makes of those above it, in columns."""
    own = np.arange(len(z))
    others = Z.copy()
    others[own, own] = -np.inf
    j, column = np.nonzero(z[:, None] >= others.max(axis=0))
    fresh_U, fresh_Z, fresh = U[:, column], Z[:, :, column], np.arange(len(j))
    fresh_U[j, fresh], fresh_Z[j, :, fresh] = z[j], z
    return fresh_U, fresh_Z


def _boxes(U: Array, Z: Array, r: Array) -> tuple[Array, Array]:  # -> (b, m), (b, m)
    """Lower and upper corners of disjoint boxes that fill what the points dominate, up to r; in one objective one."""
    lower, upper = np.empty_like(U), U.copy()
    lower[:, 0], upper[:, 0] = Z[:, 0, 0], r[0]
    for j in range(1, len(r)):
        lower[:, j] = Z[:, :j, j].max(axis=1)
    filled = (lower < upper).all(axis=1)
    return lower[filled], upper[filled]


def hypervolume(Y: Array, r: Array) -> float:  # (q, m), (m,)
    """The volume that the points dominate above the reference point; infinite where it exceeds the largest float."""
    P = -Y[non_dominated(Y)] if len(Y) else -Y
    lower, upper = _boxes(*_bounds(P[(-r > P).all(axis=1)], -r), -r)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        sides = upper - lower
        volume = float(sides.prod(axis=1).sum())
        if math.isfinite(volume):
            return volume
        # a side too long for a float, or a product on the way, may be made up for by a short one: take logarithms
        halves = np.log(0.5 * upper - 0.5 * lower) + math.log(2.0)
        return float(np.exp(np.where(np.isfinite(sides), np.log(sides), halves).sum(axis=1)).sum())


def improvement_boxes(Y: Array, r: Array) -> tuple[Array, Array]:  # (q, m), (m,) -> (b, m), (b, m)
    """Disjoint boxes, open above, that fill what no point dominates above the reference point.

    A point improves the hypervolume by the volume of what it dominates of each box.
    """
    front = Y[non_dominated(Y)] if len(Y) else Y
    front = front[(front > r).all(axis=1)]
    if len(r) == 2:
        return _strips(front, r)
    P = -front
    # a plain order makes neighbours follow one another, so that few bounds are split at a time
    corners = -_bounds(P[np.lexsort(P.T[::-1])], -r)[0]
    infinite = np.full(len(r), np.inf)
    return _boxes(*_bounds(corners[np.lexsort(corners.T[::-1])], infinite), infinite)


def _strips(front: Array, r: Array) -> tuple[Array, Array]:  # (q, 2), (2,) -> (b, 2), (b, 2)
    """The boxes of two objectives, one for each interval between second ones: beyond the best first one above it."""
    first, second = front[np.unique(front[:, 1], return_index=True)[1]].T
    infinite = np.full(len(first) + 1, np.inf)
    lower = np.stack([np.append(first, r[0]), np.insert(second, 0, r[1])], axis=1)
    return lower, np.stack([infinite, np.append(second, np.inf)], axis=1)


def reference_point(Y: Array, front: Array, *, beyond: float = 0.1) -> Array:  # (n, m), (q, m) -> (m,)
    """A point below the worst values of a front by a share of its extent; a tenth of it is what BoTorch infers.

    Along an objective in which the front has no extent, that of all points counts, and one where they have none.
    """
    worst, best = front.min(axis=0), front.max(axis=0)
    with np.errstate(over="ignore"):
        extent = best - worst
        of_all = Y.max(axis=0) - Y.min(axis=0)
        extent = np.where(extent > 0.0, extent, np.where(of_all > 0.0, of_all, 1.0))
        result: Array = worst - beyond * np.minimum(extent, LARGEST)
    return np.maximum(result, -LARGEST)


def spread_over(Y: Array, r: Array, n: int) -> list[int]:  # (q, m), (m,)
    """Up to ``n`` points that span a front: the best of each objective, then whichever adds the most volume."""
    chosen = list(dict.fromkeys(int(i) for i in Y.argmax(axis=0)))[:n]
    while len(chosen) < min(n, len(Y)):
        rest = [i for i in range(len(Y)) if i not in chosen]
        chosen.append(max(rest, key=lambda i: hypervolume(Y[[*chosen, i]], r)))
    return chosen
