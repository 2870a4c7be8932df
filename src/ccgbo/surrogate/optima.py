"""Maxima of posterior paths, and their mean, a Monte Carlo proxy of the global maximum (arXiv 2510.04676v2, Sec. 4.2).

    paper     code      shape
    f^(j)     paths     k functions
    x^(j)     argmax    (k, p)
    Z^(j)     maxima    (k,)
    Z_t       z         ()      mean of the maxima

Each path is maximised over the candidates and the observations; with ``steps > 0`` the best point of each then climbs
its own path by gradient ascent on the box.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ccgbo.arrays import Array
from ccgbo.space.affine import Affine
from ccgbo.surrogate.ascent import ascend
from ccgbo.surrogate.base import Paths


@dataclass(frozen=True, slots=True)
class Optima:
    """The maximum of each path, and where it is."""

    argmax: Array  # (k, p)
    maxima: Array  # (k,)

    @property
    def z(self) -> float:
        """Z_t = 1/K sum_j Z^(j)."""
        return float(self.maxima.mean())


def maximise_paths(
    paths: Paths,
    candidates: Array,  # (m, p) features
    movable: NDArray[np.bool_],  # (m + n, p) columns of candidates and observations that gradient ascent may change
    *,
    steps: int = 0,
    surface: Affine | None = None,  # equations that hold in the space
    elsewhere: NDArray[np.intp] | None = None,  # observations that are no points of the space, nor maxima in it
) -> Optima:
    """x^(j) = argmax f^(j) and Z^(j) = f^(j)(x^(j)) for every path."""
    values = np.concatenate([paths(candidates), paths.at_data])  # (m + n, k)
    if elsewhere is not None and len(candidates):
        values[len(candidates) + elsewhere] = -np.inf
    best = values.argmax(axis=0)
    x, maxima = np.concatenate([candidates, paths.X])[best], values[best, np.arange(values.shape[1])]
    if steps > 0:
        x, maxima = ascend(
            paths.value_and_gradient_each, x, movable[best], unit=paths.unit, steps=steps, surface=surface
        )
    return Optima(x, maxima)
