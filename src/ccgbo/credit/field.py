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
from typing import Annotated, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from ccgbo.arrays import Array
from ccgbo.errors import SettingError
from ccgbo.surrogate.distance import Metric
from ccgbo.surrogate.gp.posterior import GP
from ccgbo.validation import Above, AtLeast, AtMost, OrInfinite, OrNone, Validated, whole_number

CDIST_LIMIT = 8192  # distances below which computing them all beats asking the tree
BLOCK = 2**20  # distances that are held at once


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CreditSettings(Validated):
    """The credit mechanism; what is not given is what the default preset has."""

    # None is filled in by Settings.in_force, so that whoever computes with them reads numbers
    strength: Annotated[float, OrNone(), AtLeast(0), AtMost(1)] = None  # type: ignore[assignment]
    """How much credit acts: 0 switches it off, 1 lets it act in full. lambda of the paper.

    Left out, it is what suits the acquisition: 1 for ``Alternate`` and ``ThompsonSampling``, 0.5 for any other."""
    tau: Annotated[float, OrNone(), AtLeast(0), AtMost(1_000_000)] = None  # type: ignore[assignment]
    """How sharply credit tells regions apart. tau of the paper.

    Left out, it is what suits the acquisition: 20 for ``Alternate`` and ``ThompsonSampling``, 5 for any other."""
    half_life: Annotated[float, Above(0), OrInfinite()] = 20.0
    """Iterations after which the exponent of the weight has halved; infinite never fades. M of the paper."""
    n_paths: Annotated[int, AtLeast(1), AtMost(4096)] = 25
    """Posterior functions behind the guess of the optimum. K of the paper."""
    n_neighbours: Annotated[int, AtLeast(1), AtMost(10_000)] = 5
    """Observations whose mean credit a point has; with fewer of them credit does not act yet. H of the paper."""
    floor: Annotated[float, Above(0), AtMost(1)] = 0.1
    """Least credit of an observation, which keeps every region possible. r_min of the paper."""
    field: Literal["knn", "knn-scaled", "smooth"] = "knn-scaled"
    """How credit spreads: over the nearest observations in the unit cube ("knn", as in the paper), in units of the
    fitted lengthscales ("knn-scaled"), or as a differentiable average over all of them ("smooth")."""
    credit_when: Annotated[Literal["always", "base_mean_below_incumbent"], OrNone()] = None  # type: ignore[assignment]
    """When credit acts: at every suggestion that it weighs ("always", as in the paper), or only where the acquisition
    by itself would go to a mean below that of the best observation ("base_mean_below_incumbent").

    Left out, it is what suits the acquisition: the second for ``UCB`` and ``ThompsonSampling``, which pay with the mean
    for what they do not know, the first for any other."""


class Located(Protocol):
    """Observations, and how far apart they are: what a field of credit needs of a posterior."""

    @property
    def X(self) -> Array: ...  # (n, p)
    @property
    def metric(self) -> Metric: ...


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

    def __init__(self, posterior: Located, credit: Array, kappa: float = 0.05) -> None:
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


def plain_metric(posterior: Located) -> Metric:
    """Distances in the unit cube, one for a categorical that differs."""
    return replace(posterior.metric, unit=np.ones(posterior.X.shape[1]))


def _knn(posterior: Located, credit: Array, n_neighbours: int) -> Field:
    return KNNField(posterior.X, credit, n_neighbours, plain_metric(posterior))


def _knn_scaled(posterior: Located, credit: Array, n_neighbours: int) -> Field:
    return KNNField(posterior.X, credit, n_neighbours, posterior.metric)


def _smooth(posterior: Located, credit: Array, n_neighbours: int) -> Field:  # noqa: ARG001 - one signature for every field
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


def credit_factor(posterior: Located, credit: Array, settings: CreditSettings, t: int) -> CreditFactor | None:
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
    n = whole_number("n", n)
    return max(
        upper_weight(t, strength=strength, tau=tau, half_life=half_life, c_max=c_max)
        / lower_weight(t, strength=strength, tau=tau, half_life=half_life, c_min=c_min)
        for t in range(1, n + 1)
    )
