"""What an acquisition function is, so that anybody can write one.

    Acquisition        settings; ``bind`` ties it to a posterior
    BoundAcquisition   the function itself: values and gradients at feature points, always to be maximised
    Codomain           the values it takes, which says how a weight combines with it: "real" is shifted to be
                       non-negative and multiplied, "nonnegative" is multiplied as it is, "log" has the logarithm of
                       the weight added

A user's own acquisition, complete:

    class ProbabilityOfImprovement:
        codomain = "nonnegative"
        needs_optima = False

        def bind(self, context):
            def probability(x):
                mean, std = context.posterior.predict(x)
                return norm_cdf((mean - context.incumbent) / std)

            return probability

A bare function will do as a BoundAcquisition: without ``gradient`` the search takes central differences.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from ccgbo.arrays import Array
from ccgbo.surrogate.base import Posterior
from ccgbo.surrogate.optima import Optima
from ccgbo.validation import Like

Codomain = Literal["real", "nonnegative", "log"]


@dataclass(frozen=True, slots=True)
class Front:
    """What several objectives have in the place of an incumbent, in the units of the posteriors; more is better."""

    posteriors: tuple[Posterior, ...]  # of each objective, pending points included as fantasies
    draws: tuple[Array, ...]  # (q, objectives) the front, or several draws of it where it is known with noise only
    reference: Array  # (objectives,) the hypervolume is measured from here


@dataclass(frozen=True, slots=True)
class Context:
    """What an acquisition may look at."""

    posterior: Posterior  # pending points included as fantasies
    incumbent: float  # best posterior mean at an observed point
    optima: Optima | None  # maxima of posterior paths, where the acquisition says it needs them
    rng: np.random.Generator
    t: int = 0  # iteration, see History
    candidates: Array | None = None  # (m, p) features of the points that are compared first
    front: Front | None = None  # of several objectives


BoundAcquisition = Callable[[Array], Array]  # (m, p) -> (m,); may have .gradient: (m, p) -> (m,), (m, p)


class Acquisition(Protocol):
    """Settings of an acquisition function."""

    @property
    def codomain(self) -> Codomain: ...

    @property
    def needs_optima(self) -> bool: ...

    def bind(self, context: Context) -> BoundAcquisition: ...


def is_acquisition(thing: object) -> bool:
    """Whether a thing has what ``Acquisition`` asks for; a class, which would still have to be called, has not."""
    if isinstance(thing, type):
        return False
    if getattr(thing, "codomain", None) not in get_args(Codomain):
        return False
    return callable(getattr(thing, "bind", None)) and isinstance(getattr(thing, "needs_optima", None), bool)


IS_ACQUISITION = Like(
    f"an acquisition: an object with .bind(context), .codomain in {get_args(Codomain)} and .needs_optima",
    is_acquisition,
)


def trades_mean(acquisition: object) -> bool:
    """Whether an acquisition may prefer a lower mean for more uncertainty (its attribute ``trades_mean``).

    Upper confidence bounds and posterior samples do; the gate ``credit_when="base_mean_below_incumbent"`` asks them
    and leaves every other acquisition alone.
    """
    return bool(getattr(acquisition, "trades_mean", False))


@dataclass(frozen=True, slots=True)
class CentralDifferences:
    """A score with a numerical gradient in the given columns, kept inside the unit box; zero in the others."""

    score: BoundAcquisition
    columns: NDArray[np.intp]
    step: float = 1e-5

    def __call__(self, x: Array) -> Array:
        return self.score(x)

    def gradient(self, x: Array) -> tuple[Array, Array]:  # (m, p) -> (m,), (m, p)
        (m, p), c = x.shape, len(self.columns)
        up, down = np.minimum(x + self.step, 1.0), np.maximum(x - self.step, 0.0)
        stacked = np.repeat(x[None], 2 * c, axis=0)  # (2c, m, p)
        for i, column in enumerate(self.columns):
            stacked[i, :, column] = up[:, column]
            stacked[c + i, :, column] = down[:, column]
        values = self.score(np.concatenate([x[None], stacked]).reshape(-1, p)).reshape(2 * c + 1, m)
        gradient = np.zeros_like(x)
        gradient[:, self.columns] = ((values[1 : c + 1] - values[c + 1 :]) / (up - down).T[self.columns]).T
        return values[0], gradient


def with_gradient(score: BoundAcquisition, columns: NDArray[np.intp]) -> BoundAcquisition:
    """The score itself if it has a gradient, else with central differences in the columns that can be moved."""
    return score if hasattr(score, "gradient") else CentralDifferences(score, columns)


def value_and_gradient(score: BoundAcquisition, x: Array) -> tuple[Array, Array]:
    """(m,), (m, p): by the score's own gradient, or by central differences in every column."""
    return with_gradient(score, np.arange(x.shape[1])).gradient(x)  # type: ignore[attr-defined, no-any-return]
