"""What a benchmark problem is: a space, a noise-free function over it and the largest value it takes.

Everything is maximised. A problem is evaluated at a point of its space, or at many rows at once:

    params   {"x1": 0.3, "kernel": "rbf"}     one point, as an optimizer proposes it
    X        (n, d)                           rows in the parameters' own units, a categorical by its choice's index
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ccgbo.arrays import Array, Index
from ccgbo.errors import MissingExtraError, SettingError
from ccgbo.space import Categorical, Float, Int, Space

Rows = Callable[[Array], Array]  # (n, d) -> (n,)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Problem:
    """A function to maximise whose optimum is known.

    ``optimum`` is proven or computed to rounding error, and then ``regret`` is never below about -1e-9. Where
    ``best_known`` is true it is the best value that a long search found; a negative regret then means a better one.
    """

    name: str
    space: Space
    function: Rows
    optimum: float  # max of the noise-free value
    argmax: Mapping[str, Any] | None = None  # a point that attains it, where one is known
    noise_std: float = 0.0
    best_known: bool = False

    def __post_init__(self) -> None:
        if not self.noise_std >= 0.0:
            raise SettingError(f"Problem.noise_std must be >= 0, got {self.noise_std!r}.")

    def __call__(self, params: Mapping[str, Any]) -> float:
        """The noise-free value at a point; refuses a point outside the space."""
        self.space.encode(params)
        return float(self.function(row_of(self.space, params)[None, :])[0])

    def noisy(self, params: Mapping[str, Any], rng: np.random.Generator) -> float:
        """The value an optimizer observes."""
        return self(params) + self.noise_std * float(rng.standard_normal())

    def values(self, X: Array) -> Array:  # (n, d) own units -> (n,)
        """Noise-free values of many rows."""
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != self.space.d:
            raise SettingError(f"{self.name}.values: X must have shape (n, {self.space.d}), got {X.shape}.")
        return self.function(X)

    def regret(self, params: Mapping[str, Any]) -> float:
        """How far the noise-free value at a point is below the optimum."""
        return self.optimum - self(params)


Factory = Callable[[int], Problem]  # seed -> problem


def row_of(space: Space, params: Mapping[str, Any]) -> Array:  # (d,)
    """A point as a row in the parameters' own units."""
    return np.array(
        [p.find(params[name]) if isinstance(p, Categorical) else params[name] for name, p in space.items()],
        dtype=np.float64,
    )


def params_of(space: Space, row: Array) -> dict[str, Any]:
    """The point that a row stands for."""
    out: dict[str, Any] = {}
    for value, (name, p) in zip(row, space.items(), strict=True):
        if isinstance(p, Categorical):
            out[name] = p.choices[int(value)]
        else:
            out[name] = round(float(value)) if isinstance(p, Int) else float(value)
    return out


def row_by_row(space: Space, point: Callable[[Mapping[str, Any]], float]) -> Rows:
    """A function of rows from a function of one point."""
    return partial(_row_by_row, space=space, point=point)


def _row_by_row(X: Array, *, space: Space, point: Callable[[Mapping[str, Any]], float]) -> Array:
    return np.array([point(params_of(space, row)) for row in X], dtype=np.float64)


def negated(formula: Rows, d: int) -> Rows:
    """Minus a formula of the first ``d`` columns: the maximised, and if there are more columns embedded, form."""
    return partial(_negated, formula=formula, d=d)


def _negated(X: Array, *, formula: Rows, d: int) -> Array:
    return -formula(X[:, :d])


def box(low: float, high: float, d: int) -> Space:
    """The cube [low, high]^d with parameters x1 ... xd."""
    return Space({f"x{j + 1}": Float(low, high) for j in range(d)})


def point_of(space: Space, values: Sequence[float] | Array) -> dict[str, Any]:
    return params_of(space, np.asarray(values, dtype=np.float64))


def need(problem: str, module: str, *, extra: str = "bench") -> Any:
    """An optional module, or a MissingExtraError that names the problem which needs it."""
    try:
        with warnings.catch_warnings():
            # Box2D's SWIG types have no __module__; Python says so at the first import. gpytorch uses torch.jit.
            warnings.filterwarnings("ignore", message="builtin type .* has no __module__", category=DeprecationWarning)
            warnings.filterwarnings("ignore", message=".*torch.jit", category=DeprecationWarning)
            return importlib.import_module(module)
    except Exception as error:  # Gymnasium has an error of its own for a simulator that is missing
        if isinstance(error, ImportError) or type(error).__name__ == "DependencyNotInstalled":
            raise MissingExtraError(f"the benchmark problem {problem} ({module})", extra) from error
        raise


def folds(n: int, k: int) -> Iterator[tuple[Index, Index]]:
    """Rows to train on and rows to test on, k times; the rows are already in random order."""
    fold = np.arange(n) % k
    for i in range(k):
        yield np.flatnonzero(fold != i), np.flatnonzero(fold == i)
