"""The model at many points: what slices and maps are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccgbo.arrays import Array
from ccgbo.viz.axes import Axis


@dataclass(frozen=True, slots=True)
class Layers:
    """The model at m points; mean and std in the user's units, the acquisition as the search sees it."""

    mean: Array
    std: Array
    low: Array  # central 95 % of what the model believes; not symmetric where the outcome is transformed
    high: Array
    credit: Array  # pi(x) in (0, 1], one everywhere while credit says nothing
    weight: Array  # w_t(x)
    base: Array  # alpha(x)
    weighted: Array  # Eq. (4), what the next suggestion maximises
    feasibility: Array  # the probability that every outcome constraint is kept, NaN before each was measured

    def shaped(self, shape: tuple[int, ...], hidden: NDArray[np.bool_]) -> Layers:
        """As a grid, NaN where a point may not be evaluated."""
        return Layers(*(np.where(hidden, np.nan, getattr(self, f)).reshape(shape) for f in self.__slots__))


@dataclass(frozen=True, slots=True)
class Slice:
    """The model along one parameter."""

    x: Axis
    layers: Layers  # (m,)
    through: Mapping[str, Any]  # the point the other parameters are held at


@dataclass(frozen=True, slots=True)
class Map:
    """The model over two parameters."""

    x: Axis
    y: Axis
    layers: Layers  # (len(y), len(x))
    through: Mapping[str, Any]
