"""What the rest of the library sees of a surrogate: a posterior, and functions drawn from it.

    n  observations, m  query points, k  paths, p  feature columns

``y`` is standardised and to be maximised. Implementations: the Gaussian process (gp/) and the forest (forest.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ccgbo.arrays import Array
from ccgbo.surrogate.distance import Metric

Rows = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Prediction:
    """Mean and standard deviation at m points, with their derivatives by the points."""

    mean: Array  # (m,)
    std: Array  # (m,)
    gradient: Callable[[Array, Array], Array]
    """(m,), (m,) -> (m, p): of a function with these derivatives by the mean and by half the variance."""


@dataclass(frozen=True, slots=True)
class JointPrediction:
    """The same together with the covariance with the function at K points."""

    mean: Array  # (m,)
    std: Array  # (m,)
    cov: Array  # (m, K)
    gradient: Callable[[Array, Array, Array], Array]
    """(m,), (m,), (m, K) -> (m, p)"""


class Paths(Protocol):
    """k functions drawn from one posterior."""

    @property
    def X(self) -> Array:
        """(n, p) observations."""

    @property
    def unit(self) -> Array:
        """(p,) distance that counts as one along each column."""

    @property
    def at_data(self) -> Array:
        """(n, k) every path at the observations."""

    def __call__(self, x: Array) -> Array:
        """(m, p) -> (m, k): every path at every point."""

    def value_and_gradient_each(self, x: Array) -> tuple[Array, Array]:
        """(k, p) -> (k,), (k, p): path j at its own point x_j, with its gradient there."""

    def select(self, j: Rows) -> Paths:
        """The paths with the given indices, repeats allowed."""


class Posterior(Protocol):
    """What is believed about the function after n observations; ``condition`` returns a new one."""

    @property
    def X(self) -> Array:
        """(n, p) observations."""

    @property
    def unit(self) -> Array:
        """(p,) distance that counts as one along each column."""

    @property
    def metric(self) -> Metric:
        """Distances in these units."""

    def predict(self, x: Array) -> tuple[Array, Array]:
        """(m, p) -> mean (m,), standard deviation (m,) of the noise-free function."""

    def predict_mean(self, x: Array) -> Array:
        """(m, p) -> (m,)"""

    def linearize(self, x: Array) -> Prediction | None:
        """``predict`` with its derivatives by x; None for a function of steps, which has none."""

    def at_observations(self) -> tuple[Array, Array]:
        """Mean (n,) and standard deviation (n,) at the observations."""

    def condition(self, X: Array, y: Array) -> Self:
        """The posterior after b more observations (b, p), (b,)."""

    def paths(self, k: int, rng: np.random.Generator) -> Paths:
        """k joint draws of the function."""


class Joint(Protocol):
    """A posterior together with that of the function at K points."""

    @property
    def mean(self) -> Array:
        """(K,) at the points."""

    @property
    def var(self) -> Array:
        """(K,) at the points, bounded away from zero."""

    @property
    def noise(self) -> float:
        """Variance of the observation noise."""

    @property
    def var_floor(self) -> float:
        """A variance that cannot be told from nothing."""

    def predict(self, x: Array) -> tuple[Array, Array, Array]:
        """(m, p) -> mean (m,), standard deviation (m,), covariance (m, K) with the points."""

    def linearize(self, x: Array) -> JointPrediction: ...


@runtime_checkable
class JointPosterior(Posterior, Protocol):
    """A posterior that knows how the function at one point goes with that at another."""

    def joint_with(self, points: Array) -> Joint: ...


class Deletions(Protocol):
    """k paths of one posterior, and what each would be without some of the observations.

    A *world* is what is known without some rows; the random draws are the same in each.
    """

    @property
    def paths(self) -> Paths:
        """The paths themselves, the posterior mean last."""

    def sweep(self, x: Array, worlds: Sequence[Rows]) -> Iterator[Array]:
        """(m, p) -> for every world in turn (k, m + n): every path at every point and, last, at the observations.

        The arrays are one that changes: what is to be kept must be copied.
        """

    def sweep_own(self, x: Array, path: Rows, worlds: Sequence[Rows]) -> Iterator[tuple[int, Rows, Array]]:
        """(R, p), (R,) -> for every path j in turn, which of the points are its own (r,), and j there (W, r)."""

    def gradient_of_change(self, x: Array, worlds: Sequence[Rows]) -> Array:
        """(k, p) -> (W, k, p): the gradient of path j in each world minus that of path j, at x_j."""

    def leave_one_out(self, x: Array) -> tuple[Array, Array]:
        """(m, p) -> (n, m), (n, m): mean and standard deviation without each of the observations in turn."""

    def select(self, worlds: Sequence[Rows], world: Rows, path: Rows) -> Paths:
        """Path ``path[r]`` in the world ``world[r]``, for every r."""

    def growth(self, x: Array, orders: Sequence[Rows]) -> Iterator[Iterator[Array]]:
        """(m, p) -> for every order of the n observations, (k, m) before the first and after each in turn."""


@runtime_checkable
class DeletablePosterior(Posterior, Protocol):
    """A posterior that knows what it would be without some of its observations."""

    def without(self, rows: Rows) -> Self:
        """Without some of the observations, of which some must be left; its paths keep their random draws."""

    def deletions(self, k: int, rng: np.random.Generator) -> Deletions:
        """k joint draws and, last, the mean, with what they would be without some of the observations."""


@runtime_checkable
class CheckedPosterior(Posterior, Protocol):
    """A posterior that can be checked against its own observations."""

    @property
    def noise(self) -> Array:
        """(n,) variance of the noise of each observation."""

    def leave_one_out(self) -> tuple[Array, Array]:
        """Mean (n,) and standard deviation (n,), noise included, of each observation given the others."""
