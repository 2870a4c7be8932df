"""What the observations that a model leaves out still say: averages that stand at those it keeps.

    n  observations, m  of them that are kept, see rows.py

How they are made is in surrogate/gp/pooling.py. They are a pure function of the data, the rows and the hyperparameters,
like the choice of the rows: a resumed run has the same.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ccgbo.engine.history import Data
from ccgbo.engine.noise import in_units_of_y
from ccgbo.surrogate.gp import pooling
from ccgbo.surrogate.gp.posterior import GP
from ccgbo.surrogate.outcome_transform import Outcome

MOST_POOLED = 20_000  # rows that are averaged, evenly spaced in the log: the time of a suggestion is bounded


def pooled(kept: GP, data: Data, rows: NDArray[np.intp], outcome: Outcome) -> GP:
    """The posterior of averages at the rows that are kept, given that of these rows by themselves."""
    pool = pool_of(len(data.values), rows)
    y = outcome.forward(data.values[pool])
    noise = kept.noise_of(len(y), in_units_of_y(data.noise[pool], outcome, y))
    return pooling.pooled(kept, data.F[pool], y, noise, np.searchsorted(pool, rows))


def pool_of(n: int, rows: NDArray[np.intp]) -> NDArray[np.intp]:  # (m,) -> (q,), sorted
    """The rows to average: all n, or beyond ``MOST_POOLED`` evenly spaced ones, and those that are kept."""
    if n <= MOST_POOLED:
        return np.arange(n)
    return np.union1d(np.linspace(0, n - 1, MOST_POOLED).astype(np.intp), rows)
