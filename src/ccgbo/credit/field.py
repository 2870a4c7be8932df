"""Credits spread over the space, and the weight they give (arXiv 2510.04676v2, Sec. 4.3 and Theorem 5.2).

    c(x)    mean credit of the H nearest observations, or the kernel-weighted average of all
    pi(x) = c(x) / max_j c_j
    w(x)  = pi(x)^(tau / (1 + t / M))
    [(1 - lambda) + lambda w(x)]       what multiplies the acquisition

Every field is of the same geometry as the model: distances in the unit cube, one for a categorical that differs.
"knn" takes them as they are, as the paper does; "knn-scaled" in units of the fitted lengthscales, so that a parameter
which hardly matters does not part neighbours. A kNN field is piecewise constant: its gradient is zero almost
everywhere, and a search over it sees the weight in the value of each point. The smooth field is

    c(x) = (sum_i rho(x, x_i) c_i + kappa mean(c)) / (sum_i rho(x, x_i) + kappa)

with the model's correlation rho; kappa draws it to the mean credit far from every observation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from ccgbo.errors import SettingError
from ccgbo.surrogate.base import Posterior
from ccgbo.surrogate.distance import Metric
from ccgbo.surrogate.gp import GP

Array = NDArray[np.float64]

CREDIT_WHEN = ("always", "base_mean_below_incumbent")
CDIST_LIMIT = 8192  # distances below which computing them all beats asking the tree
BLOCK = 2**20  # distances that are held at once


@dataclass(frozen=True, slots=True, kw_only=True)
class CreditSettings:
    """The credit mechanism; ``strength=0`` switches it off."""

    strength: float = 0.5  # lambda
    tau: float = 1.0  # sensitivity to differences of credit
    half_life: float = 20.0  # M, in iterations
    n_paths: int = 25  # K
    n_neighbours: int = 5  # H
    floor: float = 0.1  # r_min
    eps: float = 1e-6  # eps_c
    field: str = "knn"  # or "knn-scaled", or "smooth"
    credit_when: str = "always"  # or "base_mean_below_incumbent", the gate of proposal.py
    n_features: int = 256  # random frequencies of a path
    path_candidates: int | None = None  # candidates among which each path's maximum is sought; None takes them all
    path_steps: int = 0  # gradient steps on each path from the best of them; 0 as in the paper

    def __post_init__(self) -> None:
        rules = (
            ("strength", 0.0 <= self.strength <= 1.0, "in [0, 1]"),
            ("tau", 0.0 <= self.tau < np.inf, ">= 0"),
            ("half_life", self.half_life > 0.0, "> 0"),
            ("n_paths", self.n_paths >= 1, ">= 1"),
            ("n_neighbours", self.n_neighbours >= 1, ">= 1"),
            ("floor", 0.0 < self.floor <= 1.0, "in (0, 1]"),
            ("eps", self.eps > 0.0, "> 0"),
            ("field", self.field in FIELDS, f"one of {sorted(FIELDS)}"),
            ("credit_when", self.credit_when in CREDIT_WHEN, f"one of {list(CREDIT_WHEN)}"),
            ("n_features", self.n_features >= 1, ">= 1"),
            ("path_candidates", self.path_candidates is None or self.path_candidates >= 1, "None or >= 1"),
            ("path_steps", self.path_steps >= 0, ">= 0"),
        )
        for name, holds, rule in rules:
            if not holds:
                raise SettingError(f"CreditSettings.{name} must be {rule}, got {getattr(self, name)!r}.")


class Field(Protocol):
    """pi(x) in (0, 1] over the space."""

    def __call__(self, x: Array) -> Array: ...  # (m, p) -> (m,)
    def gradient(self, x: Array) -> tuple[Array, Array]: ...  # (m, p) -> (m,), (m, p)


class KNNField:
    """Mean credit of the H nearest observations over the largest credit.

    The KD-tree serves large sets; for the few points of a gradient step all distances at once are quicker, and with a
    large categorical, which has no columns that a tree could part, they are the only way.
    """

    def __init__(self, X: Array, credit: Array, n_neighbours: int, metric: Metric | None = None) -> None:
        self._metric = metric or Metric(np.ones(X.shape[1]))
        self._points = self._metric.points(X)
        embedded = self._points.C is None
        self._tree = cKDTree(self._points.Z, balanced_tree=False, compact_nodes=False) if embedded else None
        self._share = credit / credit.max()
        self._h = n_neighbours

    def __call__(self, x: Array) -> Array:
        return np.add.reduce(self._share[self._nearest(x)], axis=1) / self._h  # type: ignore[no-any-return]

    def _nearest(self, x: Array) -> NDArray[np.intp]:  # (m, p) -> (m, H)
        if self._tree is None:
            blocks = np.array_split(x, max(len(x) * len(self._points) // BLOCK, 1))
            between = [self._metric.squared(self._metric.points(block), self._points) for block in blocks]
            return np.concatenate([_smallest(distances, self._h) for distances in between])
        z = self._metric.points(x).Z
        if len(z) * len(self._points) <= CDIST_LIMIT and self._h < len(self._points):
            return _smallest(cdist(z, self._points.Z), self._h)
        return self._tree.query(z, k=self._h)[1].reshape(len(z), self._h)  # type: ignore[no-any-return]

    def gradient(self, x: Array) -> tuple[Array, Array]:
        return self(x), np.zeros_like(x)


def _smallest(distances: Array, h: int) -> NDArray[np.intp]:  # (m, n) -> (m, h)
    index: NDArray[np.intp] = np.argpartition(distances, h - 1, axis=1)[:, :h]
    return index


class SmoothField:
    """Kernel-weighted average of the credits with the fitted lengthscales."""

    def __init__(self, posterior: Posterior, credit: Array, kappa: float = 0.05) -> None:
        if not isinstance(posterior, GP):
            name = type(posterior).__name__
            raise SettingError(f"CreditSettings.field='smooth' needs a surrogate with a kernel, which {name} has not.")
        self._sites = posterior.correlation()
        self._share, self._kappa = credit / credit.max(), kappa

    def __call__(self, x: Array) -> Array:
        return self._average(self._sites.cross(x, None))[0]

    def gradient(self, x: Array) -> tuple[Array, Array]:
        at = self._sites.linearize(x)
        pi, mass = self._average(at.k)
        return pi, self._sites.vjp(at, (self._share - pi[:, None]) / mass[:, None])

    def _average(self, rho: Array) -> tuple[Array, Array]:  # (m, n) -> (m,), (m,)
        mass = rho.sum(axis=1) + self._kappa
        return (rho @ self._share + self._kappa * self._share.mean()) / mass, mass


def plain_metric(posterior: Posterior) -> Metric:
    """Distances in the unit cube, one for a categorical that differs."""
    return replace(posterior.metric, unit=np.ones(posterior.X.shape[1]))


def _knn(posterior: Posterior, credit: Array, n_neighbours: int) -> Field:
    return KNNField(posterior.X, credit, n_neighbours, plain_metric(posterior))


def _knn_scaled(posterior: Posterior, credit: Array, n_neighbours: int) -> Field:
    return KNNField(posterior.X, credit, n_neighbours, posterior.metric)


def _smooth(posterior: Posterior, credit: Array, n_neighbours: int) -> Field:  # noqa: ARG001 - one signature for every field
    return SmoothField(posterior, credit)


FIELDS = {"knn": _knn, "knn-scaled": _knn_scaled, "smooth": _smooth}


def exponent(t: int, tau: float, half_life: float) -> float:
    """tau / (1 + t / M), Eq. (5)."""
    return tau / (1.0 + t / half_life)


class CreditFactor:
    """(1 - lambda) + lambda pi(x)^e, the factor of Eq. (4)."""

    def __init__(self, field: Field, strength: float, power: float) -> None:
        self.field, self.strength, self.power = field, strength, power

    def weight(self, x: Array) -> Array:
        """w_t(x)."""
        result: Array = self.field(x) ** self.power
        return result

    def __call__(self, x: Array) -> Array:
        return (1.0 - self.strength) + self.strength * self.weight(x)

    def log_gradient(self, x: Array) -> tuple[Array, Array]:
        """The factor (m,) and the gradient of its logarithm (m, p)."""
        pi, d_pi = self.field.gradient(x)
        w = pi**self.power
        factor = (1.0 - self.strength) + self.strength * w
        return factor, (self.strength * self.power * w / (pi * factor))[:, None] * d_pi


def credit_factor(posterior: Posterior, credit: Array, settings: CreditSettings, t: int) -> CreditFactor | None:
    """The factor at iteration t, or None where it would be one everywhere.

    ``credit`` belongs to the observations of the posterior; fewer than H of them, or equal credits, weigh nothing.
    """
    if settings.strength == 0.0 or settings.tau == 0.0:
        return None
    if len(credit) < max(settings.n_neighbours, 2) or not np.any(credit != credit[0]):
        return None
    field = FIELDS[settings.field](posterior, credit, settings.n_neighbours)
    return CreditFactor(field, settings.strength, exponent(t, settings.tau, settings.half_life))


# -- Theorem 5.2: what lambda, tau and M cost at worst


def lower_weight(t: int, *, strength: float, tau: float, half_life: float, c_min: float = 0.1) -> float:
    """A_t = 1 - lambda + lambda c_min^(tau / (1 + t / M))."""
    return 1.0 - strength + strength * float(c_min ** exponent(t, tau, half_life))


def upper_weight(t: int, *, strength: float, tau: float, half_life: float, c_max: float = 1.0) -> float:
    """B_t = 1 - lambda + lambda c_max^(tau / (1 + t / M))."""
    return 1.0 - strength + strength * float(c_max ** exponent(t, tau, half_life))


def regret_factor(
    n: int, *, strength: float, tau: float, half_life: float, c_min: float = 0.1, c_max: float = 1.0
) -> float:
    """max over 1 <= t <= n of B_t / A_t: the constant by which the regret bound of GP-UCB grows."""
    if n < 1:
        raise SettingError(f"n must be >= 1, got {n}.")
    return max(
        upper_weight(t, strength=strength, tau=tau, half_life=half_life, c_max=c_max)
        / lower_weight(t, strength=strength, tau=tau, half_life=half_life, c_min=c_min)
        for t in range(1, n + 1)
    )
