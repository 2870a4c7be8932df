"""A linear regression in which every coefficient has an L1 penalty of its own: 100 to 300 of them.

    minimise over b   |y - X b|^2 / (2 n) + sum_j p_j |b_j|,       p_j = p_max 10^(x_j),   x_j in [-3, 0]

p_max is the least common penalty at which every coefficient is zero. With columns X_j / p_j it is scikit-learn's own
Lasso of penalty 1. The value is minus the mean squared error over five fixed folds, relative to the variance of y.
Few columns matter, and a coordinate only matters as far as its column's coefficient is not zero anyway.

    problem            columns                                                         rows   for
    LassoMade100       make_regression, 10 of 100 columns matter                       120    choosing
    LassoMade300       make_regression, 15 of 300 columns matter                       150    reporting
    LassoDiabetes200   diabetes, its 65 terms of degree 1 and 2 and shuffled copies    442    reporting

No optimum is known; see best_known.py.
"""

from __future__ import annotations

import warnings
from functools import lru_cache, partial

import numpy as np

from ccgbo.arrays import Array
from ccgbo.bench.problems.base import Factory, Problem, box, folds, need
from ccgbo.bench.problems.best_known import best_known

DATA_SEED = 0
FOLDS = 5
MADE = {"LassoMade100": (120, 100, 10), "LassoMade300": (150, 300, 15)}  # rows, columns, columns that matter
MADE_NOISE = 0.5  # of the standard deviation of the noise-free target
DIABETES_COLUMNS = 200


def _made(rows: int, columns: int, matter: int) -> tuple[Array, Array]:
    datasets = need("Lasso", "sklearn.datasets")
    X, y = datasets.make_regression(rows, columns, n_informative=matter, random_state=DATA_SEED)
    return X, y + MADE_NOISE * y.std() * np.random.default_rng(DATA_SEED).standard_normal(rows)


def _diabetes(columns: int) -> tuple[Array, Array]:
    """Terms of degree 1 and 2, then as many shuffled columns of them as are missing: they look real and say nothing."""
    X, y = need("Lasso", "sklearn.datasets").load_diabetes(return_X_y=True)
    terms = [X, *(X[:, [i]] * X[:, i:] for i in range(X.shape[1]))]
    real = np.hstack(terms)  # (442, 65)
    rng = np.random.default_rng(DATA_SEED)
    order = rng.permutation(len(y))
    copies = [rng.permutation(real[:, j % real.shape[1]]) for j in range(columns - real.shape[1])]
    return np.column_stack([real, *copies])[order], y[order]


@lru_cache(maxsize=4)
def data(name: str) -> tuple[Array, Array]:  # (n, d) and (n,), both standardised
    X, y = _made(*MADE[name]) if name in MADE else _diabetes(DIABETES_COLUMNS)
    return (X - X.mean(0)) / X.std(0), (y - y.mean()) / y.std()


def greatest_penalty(X: Array, y: Array) -> float:
    return float(np.abs(X.T @ (y - y.mean())).max() / len(y))


def cross_validated(x: Array, *, name: str) -> float:
    """Minus the mean squared error over the folds, for one row of logarithms of penalties."""
    linear_model = need(name, "sklearn.linear_model")
    X, y = data(name)
    scaled = X / (greatest_penalty(X, y) * 10.0**x)
    squares = 0.0
    for train, test in folds(len(y), FOLDS):
        model = linear_model.Lasso(alpha=1.0, tol=1e-5, max_iter=5000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a fit that is cut off is a value like another
            model.fit(scaled[train], y[train])
        squares += float(((y[test] - model.predict(scaled[test])) ** 2).sum())
    return -squares / len(y)


def _values(X: Array, *, name: str) -> Array:
    return np.array([cross_validated(x, name=name) for x in X])


def _make(seed: int, *, name: str, d: int) -> Problem:
    """The same problem for every seed."""
    del seed
    need(name, "sklearn.linear_model")
    space = box(-3.0, 0.0, d)
    return best_known(Problem(name=name, space=space, function=partial(_values, name=name), optimum=0.0))


def _factory(name: str, d: int) -> Factory:
    return partial(_make, name=name, d=d)


CHOOSING: dict[str, Factory] = {"LassoMade100": _factory("LassoMade100", 100)}
REPORTING: dict[str, Factory] = {
    "LassoMade300": _factory("LassoMade300", 300),
    "LassoDiabetes200": _factory("LassoDiabetes200", DIABETES_COLUMNS),
}
