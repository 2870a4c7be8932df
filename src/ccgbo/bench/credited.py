"""Credit by other answers to the paper's question, on any acquisition: what docs/lab/influence.md compares.

    likelihood   the paper's: how likely the observation would be to produce the estimated optimum
    worth        the exact value of the observation: what acting without it would cost
    fall         by how much the estimated optimum would fall without it, Z_t - Z_t without i
    half         the mean of the ranks by likelihood and by worth

All rank the observations; ranks become credits, and credits the weight of the search, as in the paper. Only for spaces
of continuous parameters.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from ccgbo.acquisition import Acquisition, BoundAcquisition, Context, ThompsonSampling, weigh
from ccgbo.acquisition.base import Codomain
from ccgbo.arrays import Array
from ccgbo.credit.field import CreditSettings, credit_factor
from ccgbo.credit.influence import Pool, Worlds, find_optima
from ccgbo.credit.scores import credits, log_likelihood, ranks
from ccgbo.errors import SettingError
from ccgbo.surrogate.base import DeletablePosterior

Source = Literal["likelihood", "worth", "fall", "half"]
N_POOL = 256  # candidates from which the maxima are climbed


@dataclass(frozen=True, slots=True, kw_only=True)
class CreditedBy:
    """An acquisition weighted by credit from one of the sources."""

    needs_optima: ClassVar[bool] = False

    source: Source
    base: Acquisition = field(default_factory=ThompsonSampling)
    credit: CreditSettings = field(default_factory=lambda: CreditSettings(strength=1.0, tau=20.0))
    n_paths: int = 25

    @property
    def codomain(self) -> Codomain:
        return self.base.codomain

    def bind(self, context: Context) -> BoundAcquisition:
        posterior, F = context.posterior, context.candidates
        if not isinstance(posterior, DeletablePosterior) or F is None:
            raise SettingError(f"CreditedBy must have surrogate='gp', got a {type(posterior).__name__}.")
        apart = np.random.default_rng(deepcopy(context.rng).integers(2**62))  # the base draws what it would without us
        found = maxima_of(posterior, F[:N_POOL], self.n_paths, apart)
        credit = credits(credit_ranks(self.source, posterior, found))
        base = self.base.bind(context)
        factor = credit_factor(posterior, credit, self.credit, context.t)
        return weigh(base, base(F), self.codomain, [factor], F)[0]


def maxima_of(posterior: DeletablePosterior, F: Array, n_paths: int, rng: np.random.Generator) -> Worlds:
    """The maxima of paths with and without each observation, in a space of continuous parameters."""
    n, p = posterior.X.shape
    worlds = [np.array([i]) for i in range(n)]
    return find_optima(posterior.deletions(n_paths, rng), worlds, Pool(F, np.ones((len(F) + n, p), dtype=bool)))


def credit_ranks(source: Source, posterior: DeletablePosterior, found: Worlds) -> Array:  # (n,) in [0, 1]
    """The ranks of the observations by one of the sources."""
    z = float(found.full.maxima[0, :-1].mean())
    by_likelihood = ranks(log_likelihood(*posterior.at_observations(), z))
    if source == "likelihood":
        return by_likelihood
    if source == "fall":
        return ranks(z - found.without.maxima[:, :-1].mean(axis=1))
    by_worth = ranks(found.worth)
    return by_worth if source == "worth" else 0.5 * (by_likelihood + by_worth)
