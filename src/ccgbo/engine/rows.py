"""Which observations the model is made of where there are too many for all of them.

    n  observations, m  of them that are kept, h  places in an order without a gap

An exact posterior costs O(n^3). Beyond ``max_points`` it is made of m = ``kept_points`` rows, in time O(n log n):

    the latest    what the model asked for last, so that it does not ask for it again
    the best      by value, so that they can be recommended
    the others    by their distance to where the optimum may be: all of the nearest, and of the rest ever fewer

The optimum may be where posterior functions have their maxima, as credit asks (surrogate/optima.py): here those of
a coarse model, made of rows around the best values. Distances are in the fitted lengthscales, in the unit cube before
there are any. Rows that are kept for their distance are kept without regard to their values, so that a lucky reading
and an unlucky one beside it are in the model together; by value alone it would be made of the lucky ones.

Of the first h rows of the order all are kept, of the others the share (h / rank)^a. So the neighbourhood of the optimum
is known as with all data, and the rest of the space ever more coarsely, but all of it: what is far has the most to say
of a trend. Of many rows at one place only some are candidates, those at evenly spaced quantiles of their values, whose
mean is that of all.

Everything here is a pure function of the data and the hyperparameters: a resumed run keeps the same rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.spatial.distance import cdist

from ccgbo.arrays import Array
from ccgbo.engine.history import Data
from ccgbo.surrogate.gp.posterior import GP
from ccgbo.tuning import EngineTuning

Rows = NDArray[np.intp]

LATEST = 0.1  # of the rows that are kept
BEST = 0.05  # the same
COARSE = 0.5  # rows of the coarse model, to those that are kept
FOCUS = 0.7  # a: how much more of the near rows than of the far ones; 0 is a random subset
N_PLACES = 64  # best values around which the coarse model's rows are
N_POOL = 4096  # rows among which the maxima of posterior functions are sought
N_DRAWS = 64  # posterior functions
COPIES = 4  # rows at one place that are kept at least
BLOCK = 8192  # rows whose distances are computed at once


class RowRule(Protocol):
    """Which of too many observations the model takes."""

    def to_fit(self, data: Data, tuning: EngineTuning) -> Rows:
        """To learn the hyperparameters on."""

    def to_keep(self, data: Data, tuning: EngineTuning, posterior_of: Callable[[Rows], GP]) -> Rows:
        """To be the observations of the model; ``posterior_of`` makes one of some rows."""


class NearOptimum:
    """The latest, the best, and the others by their distance to where the optimum may be."""

    def to_fit(self, data: Data, tuning: EngineTuning) -> Rows:
        return around_best(data, max(int(COARSE * n_kept(tuning)), 2))

    def to_keep(self, data: Data, tuning: EngineTuning, posterior_of: Callable[[Rows], GP]) -> Rows:
        coarse = posterior_of(self.to_fit(data, tuning))
        places = sampled_optima(data, coarse)
        return around(data, n_kept(tuning), lambda rows: coarse.metric.between(data.F[rows], places))


def n_kept(tuning: EngineTuning) -> int:
    """m: the observations of a model of more than ``max_points``."""
    return min(tuning.kept_points, tuning.max_points)


def around_best(data: Data, m: int) -> Rows:
    """m rows around the best values, by the distance in the unit cube: what can be said before there is a model."""
    places = data.U[best_first(data)[:N_PLACES]]
    return around(data, m, lambda rows: cdist(data.U[rows], places, "sqeuclidean"))


def around(data: Data, m: int, distances: Callable[[Rows], Array]) -> Rows:
    """The latest, the best, and the others by their distance to the nearest of some places; (r,) -> (r, places)."""
    candidates = without_copies(data, m)
    if len(candidates) <= m:
        return candidates
    blocks = np.array_split(candidates, -(-len(candidates) // BLOCK))
    order = candidates[np.argsort(np.concatenate([distances(rows).min(axis=1) for rows in blocks]), kind="stable")]
    n = len(data.values)
    certain = np.union1d(np.arange(n - int(LATEST * m), n), best_first(data)[: int(BEST * m)])
    order = order[~np.isin(order, certain)]
    return np.sort(np.concatenate([certain, thinned(order, m - len(certain))]))


def best_first(data: Data) -> Rows:  # (n,)
    """The rows from the best value to the worst, then those beyond the bounds: no optimum can be there."""
    beyond = ((data.U < 0.0) | (data.U > 1.0)).any(axis=1)
    return np.lexsort((-data.values, beyond))


def thinned(order: Rows, m: int) -> Rows:
    """m rows of an order: the first h, and then the share (h / rank)^a of the others.

    Up to a rank r > h these are h + h ((r / h)^(1 - a) - 1) / (1 - a) rows, which makes m of all n.
    """
    n, b = len(order), 1.0 - FOCUS
    if n <= m or m == 0:
        return order[:m]
    h = brentq(lambda h: h + h * ((n / h) ** b - 1.0) / b - m, 1e-9, m)
    count = np.arange(m)
    rank = np.where(count < h, count, h * (1.0 + b * np.maximum(count / h - 1.0, 0.0)) ** (1.0 / b))
    return order[np.minimum(rank.astype(np.intp), n - 1)]


def without_copies(data: Data, m: int) -> Rows:
    """All rows, or of those at one place so few that there are m in all, but not fewer than ``COPIES``."""
    weights = np.sqrt(np.arange(2.0, 2.0 + data.F.shape[1]))  # equal sums: equal rows, up to odds of 1e-10
    _, place, counts = np.unique((data.F * weights).sum(axis=1), return_inverse=True, return_counts=True)
    if counts.max() <= COPIES:
        return np.arange(len(place))
    caps = 2 ** np.arange(int(math.log2(COPIES)), int(math.log2(counts.max())) + 2)
    fitting = [cap for cap in caps if np.minimum(counts, cap).sum() <= m]
    cap = max(fitting, default=COPIES)
    order = np.lexsort((data.values, place))  # place by place, and there by value
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    kept = np.minimum(counts, cap)
    steps = np.arange(kept.sum()) - np.repeat(np.cumsum(kept) - kept, kept)  # 0 to cap - 1 at each place
    quantile = ((steps + 0.5) * np.repeat(counts / kept, kept)).astype(np.intp)
    return np.sort(order[np.repeat(first, kept) + quantile])


def sampled_optima(data: Data, posterior: GP) -> Array:  # (k, p)
    """Where posterior functions are largest among the observations, of which the better ones are looked at more."""
    pool = data.F[thinned(best_first(data), N_POOL)]
    draws = posterior.paths(N_DRAWS, np.random.default_rng(0))  # always the same draws: the choice is a pure function
    places: Array = pool[np.unique(draws(pool).argmax(axis=0))]
    return places
