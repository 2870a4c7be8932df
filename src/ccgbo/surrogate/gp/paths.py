"""Joint posterior sample paths by Matheron's rule (Wilson et al. 2020; arXiv 2510.04676v2, Sec. 4.2).

    f_j(x) = h_j(x) + k(x, X) v_j,          v_j = K^-1 (y - h_j(X) - e_j),       e_j ~ N(0, diag(noise))

    h_j(x) = sqrt(signal / F) [cos(omega x), sin(omega x)] w_j + phi(x) beta_j   F random frequencies; the trend
    w_j ~ N(0, I), beta_j ~ N(0, trend I)

omega is drawn from the kernel's spectral density: a Student-t with 5 degrees of freedom for Matern-5/2 (3 for
Matern-3/2, a Gaussian for RBF), scaled by the lengthscales, over the embedded columns of distance.py. Each choice of a
large categorical, which has no such columns, adds an angle of its own from the same density. The k paths of one draw
share omega and have their own weights. The prior part is an approximation by random features; the update by the data
is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ccgbo.arrays import Array
from ccgbo.surrogate.distance import Layout
from ccgbo.surrogate.gp.linalg import solve
from ccgbo.surrogate.gp.trend import basis_slope

if TYPE_CHECKING:
    from ccgbo.surrogate.gp.posterior import GP


@dataclass(frozen=True, slots=True)
class Frequencies:
    """F random frequencies of a kernel."""

    layout: Layout
    omega: Array  # (F, q)
    tables: tuple[Array, ...]  # of each large categorical: angles of its choices (size + 1, F), the last if inactive

    @classmethod
    def draw(cls, gp: GP, n: int, rng: np.random.Generator) -> Frequencies:
        metric, dof, sizes = gp.sites.metric, gp.kernel.spectral_dof, dict(gp.kernel.choices)
        omega = rng.standard_normal((n, len(metric.layout.owner)))
        spread = np.sqrt(dof / rng.chisquare(dof, size=(n, 1))) if math.isfinite(dof) else np.ones((n, 1))
        omega *= spread
        omega /= metric.embedded_unit
        tables = []
        for column in metric.layout.many:
            table = rng.standard_normal((sizes[int(column)] + 1, n))
            table *= math.sqrt(0.5) / metric.unit[column] * spread[:, 0]
            table[-1] = 0.0
            tables.append(table)
        return cls(metric.layout, omega, tuple(tables))

    def __len__(self) -> int:
        return len(self.omega)

    def angle(self, x: Array) -> Array:  # (m, p) -> (m, F)
        total: Array = self.layout.embed(x) @ self.omega.T
        for column, table in zip(self.layout.many, self.tables, strict=True):
            total += table[x[:, column].astype(int)]  # -1, inactive, is the last row
        return total


@dataclass(frozen=True, slots=True)
class Paths:
    """k functions drawn from one posterior."""

    gp: GP
    frequencies: Frequencies
    weights: Array  # (2F, k), scaled by sqrt(signal / F)
    update: Array  # (n, k)
    at_data: Array  # (n, k) f_j(X) = y - e_j - noise v_j, which costs no kernel evaluation
    beta: Array | None  # (2p, k) of the trend, None without one

    @property
    def X(self) -> Array:  # (n, p)
        """The observations."""
        return self.gp.X

    @property
    def unit(self) -> Array:  # (p,)
        """The distance that counts as one along each column."""
        return self.gp.unit

    @property
    def k(self) -> int:
        return int(self.weights.shape[1])

    def __call__(self, x: Array) -> Array:  # (m, p) -> (m, k)
        """Every path at every point."""
        return _prior(self.gp, x, self.frequencies, self.weights, self.beta) + self.gp.cross(x) @ self.update

    def value_and_gradient_each(self, x: Array) -> tuple[Array, Array]:  # (k, p) -> (k,), (k, p)
        """Path j at its own point x_j, with its gradient there."""
        gp, F = self.gp, len(self.frequencies)
        cos, sin = cos_sin(self.frequencies.angle(x))
        w_cos, w_sin = self.weights[:F].T, self.weights[F:].T  # (k, F)
        value = np.einsum("kf,kf->k", cos, w_cos) + np.einsum("kf,kf->k", sin, w_sin)
        gradient = self.frequencies.layout.to_features((cos * w_sin - sin * w_cos) @ self.frequencies.omega)
        at = gp.sites.linearize(x)
        value += np.einsum("kn,kn->k", at.k, self.update.T)
        gradient += gp.sites.vjp(at, self.update.T)
        if at.P is not None and self.beta is not None:
            value += np.einsum("kq,kq->k", at.P, self.beta.T)
            gradient += basis_slope(x, self.beta.T)
        return value, gradient

    def select(self, j: NDArray[np.intp]) -> Paths:
        """The paths with the given indices, repeats allowed."""
        beta = None if self.beta is None else self.beta[:, j]
        return Paths(self.gp, self.frequencies, self.weights[:, j], self.update[:, j], self.at_data[:, j], beta)

    def with_mean(self) -> Paths:
        """These and, last, the posterior mean: a path without a prior draw and without noise."""
        gp = self.gp

        def followed_by(rows: Array, last: Array | float) -> Array:
            return np.column_stack([rows, np.broadcast_to(last, len(rows))])

        return Paths(
            gp,
            self.frequencies,
            followed_by(self.weights, 0.0),
            followed_by(self.update, gp.alpha),
            followed_by(self.at_data, gp.y - gp.noise * gp.alpha),
            None if self.beta is None else followed_by(self.beta, 0.0),
        )


def draw_paths(gp: GP, k: int, rng: np.random.Generator, *, n_features: int = 256) -> Paths:
    """k joint draws from the posterior; ``n_features`` frequencies F."""
    frequencies = Frequencies.draw(gp, n_features, rng)
    weights = math.sqrt(gp.hyper.signal / n_features) * rng.standard_normal((2 * n_features, k))
    drawn = rng.standard_normal((len(gp.y), k)) if gp.draws is None else gp.draws.standard_normal(k, rng)
    noise = np.sqrt(gp.noise)[:, None] * drawn
    target = gp.y[:, None] - noise
    phi = gp.sites.P
    beta = None if phi is None else math.sqrt(gp.hyper.trend) * rng.standard_normal((phi.shape[1], k))
    update = solve(gp.L, target - _prior(gp, gp.X, frequencies, weights, beta))
    return Paths(gp, frequencies, weights, update, target - gp.noise[:, None] * update, beta)


def _prior(gp: GP, x: Array, frequencies: Frequencies, weights: Array, beta: Array | None) -> Array:  # (m, k)
    """h_j(x): every path before it has seen the data."""
    h = np.concatenate(cos_sin(frequencies.angle(x)), axis=1) @ weights
    phi = gp.basis(x)
    if phi is not None and beta is not None:
        h += phi @ beta
    return h


def cos_sin(angle: Array) -> tuple[Array, Array]:
    """Cosine and sine to 1e-7, at a tenth of the cost of double precision.

    Reduced to one turn in double precision, evaluated in single. The random features are off by about 1/sqrt(F)
    anyway, so nothing is lost.
    """
    turns = angle * (0.5 / math.pi)
    turns -= np.rint(turns)
    turns *= 2.0 * math.pi
    single = turns.astype(np.float32)
    return np.cos(single).astype(float), np.sin(single).astype(float)
