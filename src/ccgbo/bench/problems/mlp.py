"""MLP4: tune the training of a small network on the breast-cancer data that ship with scikit-learn.

One hidden layer of tanh units, a logistic output, cross-entropy, plain stochastic gradient descent for 20 epochs.
Step s uses the learning rate lr / (1 + decay * s). 398 patients train, 171 test; the split, the initial weights and
the order of the rows are fixed, so that equal params give equal values. The value is minus the test error, a
multiple of 1/171.

The optimum is the best value that ``ccgbo.bench.problems.search.search_space`` found in 20 000 random
and 10 000 local evaluations: two errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import expit

from ccgbo.arrays import Array
from ccgbo.bench.problems.base import Factory, Problem, need, row_by_row
from ccgbo.space import Float, Int, Space

SPACE = Space(
    {
        "batch_size": Int(32, 128),
        "lr": Float(1e-6, 1.0, log=True),
        "lr_decay": Float(1e-6, 1.0, log=True),
        "hidden": Int(1, 8),
    }
)
EPOCHS = 20
TEST_SIZE = 171
SPLIT_SEED, TRAINING_SEED = 0, 1


@lru_cache(maxsize=1)
def data() -> tuple[Array, Array, Array, Array]:
    """Standardised train rows (398, 30) and labels, then test rows (171, 30) and labels."""
    X, y = need("MLP4", "sklearn.datasets").load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(SPLIT_SEED).permutation(len(y))
    test, train = order[:TEST_SIZE], order[TEST_SIZE:]
    X = (X - X[train].mean(0)) / X[train].std(0)
    return X[train], y[train].astype(np.float64), X[test], y[test].astype(np.float64)


def error_rate(params: Mapping[str, Any]) -> float:
    """Share of the test patients that the trained network gets wrong."""
    X, y, X_test, y_test = data()
    rng = np.random.default_rng(TRAINING_SEED)
    n, d = X.shape
    hidden, batch_size, step = params["hidden"], params["batch_size"], 0
    W, b = rng.standard_normal((d, hidden)) / np.sqrt(d), np.zeros(hidden)
    v, c = rng.standard_normal(hidden) / np.sqrt(hidden), 0.0
    for _ in range(EPOCHS):
        order = rng.permutation(n)
        for start in range(0, n, batch_size):
            rows = order[start : start + batch_size]
            rate = params["lr"] / (1.0 + params["lr_decay"] * step)
            A = np.tanh(X[rows] @ W + b)  # (batch, hidden)
            error = (expit(A @ v + c) - y[rows]) / len(rows)  # slope of the mean cross-entropy
            back = np.outer(error, v) * (1.0 - A**2)
            v, c = v - rate * (error @ A), c - rate * error.sum()
            W, b = W - rate * (X[rows].T @ back), b - rate * back.sum(0)
            step += 1
    says = np.tanh(X_test @ W + b) @ v + c > 0.0
    return float(np.mean(says != (y_test > 0.5)))


def _value(params: Mapping[str, Any]) -> float:
    return -error_rate(params)


def mlp4(seed: int) -> Problem:
    """The same problem for every seed."""
    del seed
    need("MLP4", "sklearn.datasets")
    data()
    return Problem(
        name="MLP4",
        space=SPACE,
        function=row_by_row(SPACE, _value),
        optimum=-2.0 / TEST_SIZE,
        argmax={"batch_size": 90, "lr": 0.8109551276520817, "lr_decay": 0.017289920535133747, "hidden": 2},
        noise_std=0.1,
        best_known=True,
    )


PAPER: dict[str, Factory] = {"MLP4": mlp4}
