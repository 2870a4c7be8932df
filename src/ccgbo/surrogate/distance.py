"""Distances between points: numbers by how much they differ, choices by whether they do.

    r2(x, x') = sum over numbers ((x_c - x'_c) / unit_c)^2  +  sum over choices [x_c != x'_c] / unit_c^2

    m, n  points, p  feature columns, q  embedded columns

A column of choices holds indices; -1 stands for a parameter that is inactive, and is half as far from every choice, in
r2, as they are from each other. That is the Euclidean geometry of one column per choice with sqrt(1/2) in the choice's
own and 0 in the others. Few choices are embedded like that, so that one product or one tree serves all columns; of more
than ``ONE_HOT`` the indices are compared.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from ccgbo.arrays import Array

Choices = tuple[tuple[int, int], ...]  # (column, number of choices) of each column that holds choices

SQRT_HALF = math.sqrt(0.5)
ONE_HOT = 64  # choices up to which columns of their own are quicker than comparing
MATMUL_FROM_COLUMNS = 24  # columns from which one matrix product beats cdist's loop


@dataclass(frozen=True, slots=True)
class Layout:
    """Where each feature column stands among the embedded ones."""

    p: int
    owner: NDArray[np.intp]  # (q,) feature column of each embedded column
    numbers: tuple[NDArray[np.intp], NDArray[np.intp]]  # embedded and feature columns of the numbers
    with_few_choices: tuple[tuple[int, int], ...]  # feature column and first embedded column of small categoricals
    many: NDArray[np.intp]  # feature columns of large ones, which are not embedded

    @classmethod
    def of(cls, p: int, choices: Choices) -> Layout:
        sizes = dict(choices)
        widths = [0 if sizes.get(c, 1) > ONE_HOT else sizes.get(c, 1) for c in range(p)]
        first = np.concatenate([[0], np.cumsum(widths)])
        numbers = np.array([c for c in range(p) if c not in sizes], dtype=np.intp)
        return cls(
            p,
            np.repeat(np.arange(p), widths),
            (first[numbers], numbers),
            tuple((c, int(first[c])) for c in sizes if widths[c]),
            np.array([c for c in sizes if not widths[c]], dtype=np.intp),
        )

    @property
    def plain(self) -> bool:
        """Whether there are numbers only: the embedded columns are the feature columns."""
        return not self.with_few_choices and not len(self.many)

    def embed(self, X: Array) -> Array:  # (m, p) -> (m, q)
        if self.plain:
            return X
        E = np.zeros((len(X), len(self.owner)))
        E[:, self.numbers[0]] = X[:, self.numbers[1]]
        rows = np.arange(len(X))
        for column, first in self.with_few_choices:
            index = X[:, column].astype(int)
            on = rows if not len(index) or index.min() >= 0 else np.flatnonzero(index >= 0)
            E[on, index[on] + first] = SQRT_HALF
        return E

    def to_features(self, gradient: Array) -> Array:  # (m, q) -> (m, p)
        """A gradient by embedded columns as one by feature columns, in which choices cannot move."""
        if self.plain:
            return gradient
        out = np.zeros((len(gradient), self.p))
        out[:, self.numbers[1]] = gradient[:, self.numbers[0]]
        return out


layout_of = lru_cache(maxsize=256)(Layout.of)


@dataclass(frozen=True, slots=True)
class Points:
    """Points in units of a metric."""

    Z: Array  # (m, q) embedded columns / unit
    C: Array | None = None  # (m, l) choices of the large categoricals, None without

    def __len__(self) -> int:
        return len(self.Z)

    def __add__(self, other: Points) -> Points:
        """These points and the others."""
        C = None if self.C is None or other.C is None else np.concatenate([self.C, other.C])
        return Points(np.concatenate([self.Z, other.Z]), C)


@dataclass(frozen=True, slots=True)
class Metric:
    """The distance r2 of the module's head."""

    unit: Array  # (p,) the distance that counts as one along each column
    choices: Choices = ()
    layout: Layout = field(init=False)
    embedded_unit: Array = field(init=False)  # (q,)

    def __post_init__(self) -> None:
        layout = layout_of(len(self.unit), self.choices)
        object.__setattr__(self, "layout", layout)
        object.__setattr__(self, "embedded_unit", self.unit if layout.plain else self.unit[layout.owner])

    def points(self, X: Array) -> Points:  # (m, p)
        layout = self.layout
        C = X[:, layout.many] if len(layout.many) else None
        return Points(layout.embed(X) / self.embedded_unit, C)

    def squared(self, A: Points, B: Points) -> Array:  # (m, n)
        """r2 between points."""
        if A.C is None or B.C is None:
            return squared_distances(A.Z, B.Z)
        r2 = mismatch(A.C, B.C, self.unit[self.layout.many] ** -2.0)
        if A.Z.shape[1]:
            r2 += squared_distances(A.Z, B.Z)
        return r2

    def between(self, X: Array, X2: Array) -> Array:  # (m, p), (n, p) -> (m, n)
        """r2 between feature rows."""
        return self.squared(self.points(X), self.points(X2))


def embedded_columns(p: int, choices: Choices) -> int:
    """Columns of the Euclidean embedding, in which a categorical has one for each choice."""
    return p + sum(size - 1 for _, size in choices)


def mismatch(A: Array, B: Array, weights: Sequence[float] | Array) -> Array:  # (m, l), (n, l), (l,) -> (m, n)
    """The sum of weights where choices differ, of half weights where one of the two is inactive."""
    total = np.zeros((len(A), len(B)))
    for c, weight in enumerate(weights):
        a, b = A[:, c], B[:, c]
        total += weight * (a[:, None] != b)
        if (a < 0.0).any() or (b < 0.0).any():
            total -= 0.5 * weight * ((a < 0.0)[:, None] != (b < 0.0))
    return total


def squared_distances(A: Array, B: Array) -> Array:  # (m, q), (n, q) -> (m, n)
    """Squared Euclidean distances; exactly zero for identical rows in up to ``MATMUL_FROM_COLUMNS`` columns."""
    if A.shape[1] <= MATMUL_FROM_COLUMNS:
        return cdist(A, B, "sqeuclidean")  # type: ignore[no-any-return]
    r2 = (-2.0 * A) @ B.T
    r2 += np.einsum("ij,ij->i", A, A)[:, None]
    r2 += np.einsum("ij,ij->i", B, B)[None, :]
    np.maximum(r2, 0.0, out=r2)
    if A is B:
        np.fill_diagonal(r2, 0.0)
    return r2
