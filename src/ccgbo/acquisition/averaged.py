"""An acquisition averaged over the members of a mixture posterior (the integrated acquisition of Snoek et al. 2012).

"real", "nonnegative"    sum_k w_k alpha_k(x)
"log"                    log sum_k w_k exp(alpha_k(x)), which for LogEI is the improvement expected of the mixture
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

import numpy as np

from ccgbo.acquisition.base import BoundAcquisition, Context, value_and_gradient
from ccgbo.arrays import Array
from ccgbo.surrogate.mixture import Mixture


@dataclass(frozen=True, slots=True)
class Averaged:
    """The scores of the members of a mixture, averaged by its weights."""

    scores: tuple[BoundAcquisition, ...]
    weights: Array  # (k,)
    log: bool

    def __call__(self, x: Array) -> Array:
        return self._mixed(np.array([score(x) for score in self.scores]))[0]

    def gradient(self, x: Array) -> tuple[Array, Array]:
        each = [value_and_gradient(score, x) for score in self.scores]
        value, share = self._mixed(np.array([v for v, _ in each]))
        return value, np.einsum("km,kmp->mp", share, np.array([g for _, g in each]))

    def _mixed(self, alpha: Array) -> tuple[Array, Array]:  # (k, m) -> (m,), d value / d alpha (k, m)
        w = self.weights[:, None]
        if not self.log:
            return (w * alpha).sum(axis=0), np.broadcast_to(w, alpha.shape)
        top = alpha.max(axis=0)
        mass = w * np.exp(alpha - top)
        total = mass.sum(axis=0)
        return top + np.log(total), mass / total


def averaged(bind: Callable[[Any, Context], BoundAcquisition]) -> Callable[[Any, Context], BoundAcquisition]:
    """``bind`` of an acquisition, averaged over the members where the posterior is a mixture.

    An acquisition without it sees the mean and the standard deviation of the mixture; a posterior sample is one
    function, drawn from one member.
    """

    @wraps(bind)
    def of_each(acquisition: Any, context: Context) -> BoundAcquisition:
        posterior = context.posterior
        if not isinstance(posterior, Mixture):
            return bind(acquisition, context)
        scores = tuple(bind(acquisition, replace(context, posterior=member)) for member in posterior.members)
        return Averaged(scores, posterior.weights, acquisition.codomain == "log")

    return of_each
