"""Portfolio5: split money between five stocks, on real daily prices.

Prices: the S&P 500 file inside the ``skfolio`` package, 1990-01-02 to 2022-12-28, all days. One stock from each of
five sectors: AAPL, JPM, UNH, WMT, XOM. With daily returns R (n, 5), w = x / sum(x) (equal weights if every x is 0):

    value(w) = 100 (mu . w - (gamma / 2) w . Sigma w),   mu = 252 mean(R),  Sigma = 252 cov(R),  gamma = 2

the yearly mean-variance utility in percent. It is concave in w, so its maximum over the simplex is the solution of a
quadratic program, which is solved when the problem is made.
"""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np
from scipy.optimize import minimize

from ccgbo.arrays import Array
from ccgbo.bench.problems.base import Factory, Problem, need, point_of
from ccgbo.space import Float, Space

STOCKS = ("AAPL", "JPM", "UNH", "WMT", "XOM")
FIRST_DAY, LAST_DAY = "1990-01-02", "2022-12-28"
DAYS_A_YEAR = 252
RISK_AVERSION = 2.0
SPACE = Space({stock: Float(0.0, 1.0) for stock in STOCKS})


def weights(X: Array) -> Array:  # (n, 5) -> (n, 5), rows sum to 1
    total = X.sum(-1, keepdims=True)
    return np.where(total > 0.0, X / np.where(total > 0.0, total, 1.0), 1.0 / X.shape[1])


def utility(X: Array, *, mean: Array, covariance: Array) -> Array:  # percent a year
    W = weights(X)
    value: Array = 100.0 * (W @ mean - 0.5 * RISK_AVERSION * ((W @ covariance) * W).sum(-1))
    return value


@lru_cache(maxsize=1)
def moments() -> tuple[Array, Array]:  # mean (5,), covariance (5, 5), a year
    prices = need("Portfolio5", "skfolio.datasets").load_sp500_dataset()
    table = prices.loc[FIRST_DAY:LAST_DAY, list(STOCKS)].to_numpy(dtype=np.float64)
    returns = table[1:] / table[:-1] - 1.0
    return DAYS_A_YEAR * returns.mean(0), DAYS_A_YEAR * np.cov(returns, rowvar=False)


@lru_cache(maxsize=1)
def best_weights() -> tuple[float, ...]:
    """The optimum of the quadratic program: w >= 0, sum(w) = 1."""
    mean, covariance = moments()
    d = len(STOCKS)
    found = minimize(
        lambda w: 0.5 * RISK_AVERSION * w @ covariance @ w - mean @ w,
        np.full(d, 1.0 / d),
        jac=lambda w: RISK_AVERSION * covariance @ w - mean,
        bounds=[(0.0, 1.0)] * d,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0, "jac": np.ones_like},
        method="SLSQP",
        options={"ftol": 1e-16, "maxiter": 1000},
    )
    w = np.where(found.x > 1e-9, found.x, 0.0)
    return tuple(float(v) for v in w / w.sum())


def portfolio5(seed: int) -> Problem:
    """The same problem for every seed."""
    del seed
    need("Portfolio5", "skfolio.datasets")
    mean, covariance = moments()
    function = partial(utility, mean=mean, covariance=covariance)
    argmax = np.array(best_weights())
    return Problem(
        name="Portfolio5",
        space=SPACE,
        function=function,
        optimum=float(function(argmax[None, :])[0]) + 1e-12,  # above the rounding of the weights' sum
        argmax=point_of(SPACE, argmax),
        noise_std=0.1,
    )


PAPER: dict[str, Factory] = {"Portfolio5": portfolio5}
