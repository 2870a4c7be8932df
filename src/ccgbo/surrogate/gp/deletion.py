"""What posterior paths would be without some of the observations, without drawing or factorising them anew.

    f_j(x) = h_j(x) + k(x, X) v_j       a path, see paths.py
    P      (n, n)    K^-1
    G                rows left out: a *world* is what is known without them
    c_G    (|G|, k)  P_GG^-1 v_G

    v without G = v - P_(:,G) c_G,                         zero at G
    f without G = f - k(x, X) P_(:,G) c_G

A correction of rank |G|. It holds for the prior draw, the noise draws and the hyperparameters as they are; the trend is
a part of k and h. Without a single observation i it is f - (k(x, X) . q) v_i / q_i with q the i-th column of P.

The other way round, observations that come in one after the other in some order: with L L^T = K in that order,

    f after s of them = h + sum_(r <= s) a_r(x) b_r,       a(x) = L^-1 k(X, x),  b = L^-1 (y - h(X) - e)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ccgbo.arrays import Array
from ccgbo.surrogate.distance import Points
from ccgbo.surrogate.gp.cross import Linearized
from ccgbo.surrogate.gp.linalg import cholesky, inverse_lower, solve_lower

if TYPE_CHECKING:
    from ccgbo.surrogate.gp.paths import Paths

Rows = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Draws:
    """The noise draws of paths of which observations were taken out: those of all, of which some are kept."""

    total: int
    kept: Rows

    @classmethod
    def of(cls, n: int) -> Draws:
        return cls(n, np.arange(n))

    def without(self, rows: Rows) -> Draws:
        return Draws(self.total, np.delete(self.kept, rows))

    def extended(self, b: int) -> Draws:
        """With b more observations."""
        return Draws(self.total + b, np.concatenate([self.kept, self.total + np.arange(b)]))

    def standard_normal(self, k: int, rng: np.random.Generator) -> Array:  # (n, k)
        drawn: Array = rng.standard_normal((self.total, k))[self.kept]
        return drawn


@dataclass(frozen=True, slots=True)
class Deletions:
    """k paths of one posterior, and what each would be without some of the observations."""

    paths: Paths
    inverse: Array  # (n, n) P

    @classmethod
    def of(cls, paths: Paths) -> Deletions:
        lower = inverse_lower(paths.gp.L)
        return cls(paths, np.ascontiguousarray(np.tril(lower) + np.tril(lower, -1).T))

    def sweep(self, x: Array, worlds: Sequence[Rows]) -> Iterator[Array]:
        """(m, p) -> for every world in turn (k, m + n): every path at every point and, last, at the observations.

        At the observations k(X, X) P = I - diag(noise) P: exact, and no kernel evaluation. The arrays are one that
        changes: what is to be kept must be copied.
        """
        paths, noise = self.paths, self.paths.gp.noise
        values = np.concatenate([paths(x).T, paths.at_data.T], axis=1)
        reach = np.concatenate([self.inverse @ paths.gp.cross(x).T, -self.inverse * noise], axis=1)  # (n, m + n)
        reach[:, len(x) :][np.diag_indices(len(noise))] += 1.0
        changed = np.empty_like(values)
        for rows in worlds:
            c = self._coefficients(rows)
            if len(rows) == 1:
                np.multiply(c[0][:, None], reach[rows[0]], out=changed)
            else:
                np.matmul(c.T, reach[rows], out=changed)
            yield np.subtract(values, changed, out=changed)

    def sweep_own(self, x: Array, path: Rows, worlds: Sequence[Rows]) -> Iterator[tuple[int, Rows, Array]]:
        """(R, p), (R,) -> for every path j in turn, which of the points are its own (r,), and j there (W, r)."""
        left_out = np.concatenate(worlds)
        world = np.repeat(np.arange(len(worlds)), [len(rows) for rows in worlds])
        c = np.concatenate([self._coefficients(rows) for rows in worlds])
        own = self.paths.select(path).value_and_gradient_each(x)[0]
        reach = self.inverse @ self.paths.gp.cross(x).T  # (n, R)
        for j in np.unique(path):
            mine, taken = np.flatnonzero(path == j), np.zeros((len(worlds), len(reach)))
            taken[world, left_out] = c[:, j]
            yield int(j), mine, own[mine] - taken @ reach[:, mine]

    def gradient_of_change(self, x: Array, worlds: Sequence[Rows]) -> Array:
        """(k, p) -> (W, k, p): the gradient of path j in each world minus that of path j, at x_j.

        From the gradients of k(x_j, X) P, which serve every world.
        """
        sites, n = self.paths.gp.sites, len(self.inverse)
        at = sites.linearize(x)
        reach = np.array([sites.vjp(_repeated(at, j, n), self.inverse) for j in range(len(x))])  # (k, n, p)
        change = np.empty((len(worlds), *x.shape))
        for g, rows in enumerate(worlds):
            c = self._coefficients(rows)
            if len(rows) == 1:
                np.multiply(-c[0][:, None], reach[:, rows[0]], out=change[g])
            else:
                change[g] = -np.einsum("ik,kip->kp", c, reach[:, rows])
        return change

    def leave_one_out(self, x: Array) -> tuple[Array, Array]:  # (m, p) -> (n, m), (n, m)
        """Mean and standard deviation of the noise-free function without each of the observations in turn."""
        gp, own = self.paths.gp, self.inverse.diagonal()[:, None]
        mean, std = gp.predict(x)
        reach = self.inverse @ gp.cross(x).T
        return mean - reach * (gp.alpha[:, None] / own), np.sqrt(std**2 + reach**2 / own)

    def select(self, worlds: Sequence[Rows], world: Rows, path: Rows) -> Paths:  # (R,), (R,)
        """Path ``path[r]`` in the world ``world[r]``, for every r."""
        paths = self.paths.select(path)
        coefficients = np.zeros(paths.update.shape)  # (n, R)
        for g in np.unique(world):
            columns = np.flatnonzero(world == g)
            coefficients[np.ix_(worlds[g], columns)] = self._coefficients(worlds[g])[:, path[columns]]
        taken = self.inverse @ coefficients
        update = np.where(coefficients != 0.0, 0.0, paths.update - taken)
        at_data = paths.at_data + paths.gp.noise[:, None] * taken - coefficients
        return replace(paths, update=update, at_data=at_data)

    def growth(self, x: Array, orders: Sequence[Rows]) -> Iterator[Iterator[Array]]:
        """(m, p) -> for every order of the n observations, (k, m) before the first and after each in turn.

        The arrays are one that changes: what is to be kept must be copied.
        """
        gp, cross = self.paths.gp, self.paths.gp.cross(x)
        K = gp.L @ gp.L.T
        residual = K @ self.paths.update  # y - h(X) - e
        prior = np.ascontiguousarray((self.paths(x) - cross @ self.paths.update).T)
        for order in orders:
            L, _ = cholesky(K[np.ix_(order, order)])
            a, b = solve_lower(L, cross[:, order].T), solve_lower(L, residual[order])
            yield _cumulated(prior.copy(), np.ascontiguousarray(a), b)

    def _coefficients(self, rows: Rows) -> Array:  # (|G|, k)
        v = self.paths.update[rows]
        if len(rows) == 1:
            single: Array = v / self.inverse[rows[0], rows[0]]
            return single
        return np.asarray(np.linalg.solve(self.inverse[np.ix_(rows, rows)], v), dtype=float)


def _repeated(at: Linearized, j: int, n: int) -> Linearized:
    """The query point j, n times, as a view."""

    def rows(a: Array) -> Array:
        return np.broadcast_to(a[j], (n, *a.shape[1:]))

    P = None if at.P is None else rows(at.P)
    return Linearized(rows(at.x), Points(rows(at.z.Z)), P, rows(at.k), rows(at.slope))


def _cumulated(values: Array, a: Array, b: Array) -> Iterator[Array]:  # (k, m), (n, m), (n, k)
    yield values
    for a_r, b_r in zip(a, b, strict=True):
        values += b_r[:, None] * a_r
        yield values
