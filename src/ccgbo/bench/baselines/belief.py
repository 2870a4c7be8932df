"""A belief about where the optimum is, for piBO and ColaBO.

In the reproduction nobody knows anything: the belief is a Gaussian around the best point of the initial design (the
CCGBO paper, Sec. 6.1). Its width is not stated there; ours is a quarter of each range.

    log rho(x) = -1/2 sum_j ((u_j - c_j) / sd)^2,     u in the unit cube
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ccgbo.arrays import Array
from ccgbo.bench.baselines.base import Initial, Point
from ccgbo.errors import SettingError
from ccgbo.space import Space
from ccgbo.surrogate.distance import Choices, Metric

LogBelief = Callable[[Array], Array]  # features (m, p) -> log rho up to a constant (m,)

SD = 0.25


@dataclass(frozen=True, slots=True)
class GaussianBelief:
    """The optimum is near ``centre``; distances are the model's, one for a categorical that differs."""

    centre: Array  # (p,) features
    sd: float = SD
    choices: Choices = ()

    def __post_init__(self) -> None:
        if not self.sd > 0.0:
            raise SettingError(f"sd must be > 0, got {self.sd!r}.")

    @classmethod
    def at(cls, space: Space, point: Point, sd: float = SD) -> GaussianBelief:
        return cls(space.features(space.encode(point)[None, :])[0], sd, space.choices)

    @classmethod
    def at_best(cls, space: Space, initial: Initial, sd: float = SD) -> GaussianBelief:
        """Around the best observed point of the initial design."""
        return cls.at(space, max(initial, key=lambda pair: pair[1])[0], sd)

    def __call__(self, x: Array) -> Array:
        metric = Metric(np.full(len(self.centre), self.sd), self.choices)
        log_rho: Array = -0.5 * metric.between(x, self.centre[None, :])[:, 0]
        return log_rho
