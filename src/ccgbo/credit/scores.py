"""Counterfactual scores of past observations (arXiv 2510.04676v2, Sec. 4.2).

    paper   code        shape
    Z_t     z           ()      Monte Carlo proxy of max f, see surrogate/optima.py
    l_i     log_lik     (n,)    Eq. (3), kept in log space
    s_i     raw         (n,)    reported to the user
    r_i     rank        (n,)    in [0, 1]
    c_i     credit      (n,)    in [floor, 1]

Departures from the paper: none. Ranks are taken of log l, which orders as s does and does not underflow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ccgbo.arrays import Array
from ccgbo.log import report_once

EPS = 1e-6  # eps_c: stabilises Eq. (3); the paper gives no value


@dataclass(frozen=True, slots=True)
class Scores:
    """What the counterfactual question answers for each observation, in the order of the observations."""

    z: float
    log_lik: Array  # (n,)
    raw: Array  # (n,)
    rank: Array  # (n,)
    credit: Array  # (n,)

    @property
    def informative(self) -> bool:
        """False when every observation has the same credit: the weight is then exactly one."""
        return len(self.credit) > 1 and bool(np.any(self.credit != self.credit[0]))


def score(
    mean: Array,  # (n,) posterior mean at the observations
    std: Array,  # (n,)
    z: float,
    *,
    floor: float = 0.1,  # r_min
    eps: float = EPS,  # eps_c
) -> Scores:
    """Scores, ranks and credits of each observation for the current proxy of the optimum."""
    return scores_of(log_likelihood(mean, std, z, eps=eps), z, floor=floor, eps=eps)


def scores_of(
    log_lik: Array,  # (n,)
    z: float,  # proxy of the optimum; NaN of a front
    *,
    floor: float = 0.1,  # r_min
    eps: float = EPS,
) -> Scores:
    """Scores, ranks and credits from log-likelihoods."""
    rank = ranks(log_lik)
    return Scores(z, log_lik, raw_scores(log_lik, eps=eps), rank, credits(rank, floor=floor))


def log_likelihood(mean: Array, std: Array, z: float, *, eps: float = EPS) -> Array:
    """log l_i = log N(Z_t; mu_i, sigma_i^2 + eps_c), Eq. (3)."""
    if not np.isfinite(z):
        report_once("proxy", "the proxy of the optimum is %s: no credit is given", z)
        return np.zeros_like(mean)  # equal likelihoods: equal credits, which weigh nothing
    var = std**2 + eps
    result: Array = -0.5 * np.log(2.0 * np.pi * var) - 0.5 * (z - mean) ** 2 / var
    return result


def raw_scores(log_lik: Array, *, eps: float = EPS) -> Array:
    """s_i = l_i / (mean(l) + eps_c) - 1."""
    lik = np.exp(log_lik)
    result: Array = lik / (lik.mean() + eps) - 1.0
    return result


def ranks(log_lik: Array) -> Array:
    """r_i = (#{j : s_j <= s_i} - 1) / (n - 1), of log l_i."""
    n = len(log_lik)
    if n < 2:
        return np.ones(n)
    below_or_equal = np.searchsorted(np.sort(log_lik), log_lik, side="right")
    result: Array = (below_or_equal - 1) / (n - 1)
    return result


def credits(rank: Array, *, floor: float = 0.1) -> Array:
    """c_i = r_min + (r_max - r_min) r_i with r_max = 1."""
    return floor + (1.0 - floor) * rank
