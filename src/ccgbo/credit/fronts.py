"""Credit for a front of several objectives (the scores of scores.py with a front in the place of the optimum).

    K  joint posterior draws, each with a Pareto front P_j of q_j points; m objectives, n observations

    l_i = 1/K sum_j  max over z in P_j of  prod_m N(z_m; mu_mi, sigma_mi^2 + eps_c)

the largest density with which observation i could have produced a point of the front, averaged over the draws. With one
objective P_j is the single value Z^(j), and l_i is the paper's Eq. (3) with each Z^(j) in the place of their mean.
Where outcomes are bounded, l_i is multiplied by the probability that observation i is feasible. All in log space.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import logsumexp

from ccgbo.arrays import Array
from ccgbo.credit.scores import EPS


def front_log_likelihood(
    mean: Array,  # (n, m) posterior means at the observations
    std: Array,  # (n, m)
    fronts: Sequence[Array],  # (q_j, m) of each draw
    *,
    eps: float = EPS,  # eps_c
) -> Array:  # (n,)
    """log l_i."""
    var = std**2 + eps
    constant = -0.5 * np.log(2.0 * np.pi * var).sum(axis=1)
    largest = [
        (-0.5 * (front[None] - mean[:, None, :]) ** 2 / var[:, None, :]).sum(axis=2).max(axis=1) for front in fronts
    ]
    result: Array = constant + logsumexp(np.stack(largest), axis=0) - np.log(len(fronts))
    return result
