"""A random forest over scikit-learn's as a posterior (Breiman 2001; as a surrogate Hutter et al. 2011).

    mean(x)   of the trees' values at x
    var(x)    of the trees' values at x, plus a floor: trees that agree are not certain

Every tree is fitted to a bootstrap sample of the observations, so one tree drawn at random stands for one draw from the
posterior (the Bayesian bootstrap, Rubin 1981): a path is a tree. All of it is a function of steps: there are no
gradients, and far from the observations the trees agree on the nearest of them, where a Gaussian process would be
unsure. Its place is where numbers jump, choices are many or observations are thousands. Known noise variances are not
used. The generator of the trees is seeded by the number of observations, so that a resumed run grows the same trees.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccgbo.arrays import Array
from ccgbo.errors import MissingExtraError
from ccgbo.surrogate.distance import Choices, Metric

N_TREES = 60
STD_FLOOR = 0.02  # of standardised y


@dataclass(frozen=True)
class Forest:
    """The posterior after ``len(y)`` observations; ``condition`` grows a new one."""

    X: Array  # (n, p)
    y: Array  # (n,)
    metric: Metric
    trees: tuple[Any, ...]

    @classmethod
    def from_data(cls, X: Array, y: Array, choices: Choices = ()) -> Forest:
        try:
            from sklearn.ensemble import RandomForestRegressor
        except ImportError as error:
            raise MissingExtraError("surrogate='forest'", "sklearn") from error
        metric = Metric(np.ones(X.shape[1]), choices)
        model = RandomForestRegressor(N_TREES, random_state=len(y))
        model.fit(_columns(metric, X), y)
        return cls(X, y, metric, tuple(tree.tree_ for tree in model.estimators_))

    @property
    def unit(self) -> Array:  # (p,)
        return self.metric.unit

    def predict(self, x: Array) -> tuple[Array, Array]:  # (m, p) -> (m,), (m,)
        values = self.each(range(len(self.trees)), x)
        return values.mean(axis=1), np.sqrt(values.var(axis=1) + STD_FLOOR**2)

    def predict_mean(self, x: Array) -> Array:  # (m, p) -> (m,)
        return self.predict(x)[0]

    def linearize(self, x: Array) -> None:  # noqa: ARG002
        """None: a function of steps has no gradient."""
        return

    def at_observations(self) -> tuple[Array, Array]:
        return self.predict(self.X)

    def condition(self, X: Array, y: Array) -> Forest:
        return Forest.from_data(np.concatenate([self.X, X]), np.concatenate([self.y, y]), self.metric.choices)

    def paths(self, k: int, rng: np.random.Generator) -> ForestPaths:
        return ForestPaths(self, rng.integers(len(self.trees), size=k))

    def each(self, which: Any, x: Array) -> Array:  # (m, p) -> (m, len(which))
        """The values of some trees."""
        E = _columns(self.metric, x)
        return np.column_stack([self.trees[i].predict(E).reshape(len(x)) for i in which])


def _columns(metric: Metric, X: Array) -> NDArray[np.float32]:
    """One column per number and per choice; large categoricals as their index, which trees can part as well."""
    layout = metric.layout
    return np.concatenate([layout.embed(X), X[:, layout.many]], axis=1).astype(np.float32)


@dataclass(frozen=True)
class ForestPaths:
    """k trees."""

    forest: Forest
    which: NDArray[np.intp]  # (k,)

    @property
    def X(self) -> Array:
        return self.forest.X

    @property
    def unit(self) -> Array:
        return self.forest.unit

    @cached_property
    def at_data(self) -> Array:  # (n, k)
        return self(self.X)

    def __call__(self, x: Array) -> Array:  # (m, p) -> (m, k)
        return self.forest.each(self.which, x)

    def value_and_gradient_each(self, x: Array) -> tuple[Array, Array]:  # (k, p) -> (k,), (k, p)
        trees, where = np.unique(self.which, return_inverse=True)
        values: Array = self.forest.each(trees, x)[np.arange(len(x)), where]
        return values, np.zeros_like(x)

    def select(self, j: NDArray[np.intp]) -> ForestPaths:
        return ForestPaths(self.forest, self.which[j])
