"""What the observations are worth together, divided among them (Shapley 1953), by sampled orders.

    v(S) = E_j[f_j(argmax over a set of points of path j that knows the observations S only)]

The share of an observation is the mean, over the orders in which observations can be learned, of what it adds to v of
those before it. The shares add up to v(all) - v(none). Near-duplicates, of which each alone is worth nothing since the
other is there, share what they are worth together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ccgbo.arrays import Array
from ccgbo.surrogate.base import Deletions, Rows


@dataclass(frozen=True, slots=True)
class Shares:
    """Shapley values: what the observations are worth together, divided among them."""

    value: Array  # (n,)
    error: Array  # (n,) standard errors over the orders
    total: float  # what they add up to: knowing all of them instead of none


def sampled_orders(n: int, n_orders: int, rng: np.random.Generator) -> list[Rows]:
    """Orders of n observations, in pairs of one and its reverse."""
    forward = [rng.permutation(n) for _ in range((n_orders + 1) // 2)]
    return [order for each in forward for order in (each, each[::-1])][:n_orders]


def shapley(deletions: Deletions, points: Array, orders: Sequence[Rows]) -> Shares:  # (m, p)
    """The mean, over orders of the observations, of what each adds to those before it.

    A share is negative where an observation, with few others, points to the wrong place. An order costs as much as the
    deletions of every observation.
    """
    n, actual = len(deletions.paths.X), deletions.paths(points)[:, :-1]  # (m, k)
    draws = np.arange(actual.shape[1])
    gains = np.empty((len(orders), n))
    for gain, order, grown in zip(gains, orders, deletions.growth(points, orders), strict=True):
        worth = [float(actual[values[:-1].argmax(axis=1), draws].mean()) for values in grown]
        gain[order] = np.diff(worth)
    error = gains.std(axis=0, ddof=1) / np.sqrt(len(orders)) if len(orders) > 1 else np.full(n, np.nan)
    return Shares(gains.mean(axis=0), error, float(gains.sum(axis=1).mean()))
