"""The initial design: the points that are suggested before there is a model (Algorithm 1, line 1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ccgbo.arrays import Array
from ccgbo.engine.candidates import global_candidates
from ccgbo.engine.design import design_points
from ccgbo.engine.search import Excluded, any_new
from ccgbo.engine.settings import Settings
from ccgbo.space import Space

MAX_SKIPS = 64  # points of the sequence in a row that are excluded already


@dataclass(frozen=True, slots=True)
class InitialDesign:
    """A seeded sequence of points; how many of it were given out is the caller's to remember."""

    space: Space
    settings: Settings
    seed: int

    def is_due(self, *, n_told: int, n_pending: int, n_given: int) -> bool:
        """Whether the next suggestion is one of these: too little is told, or on its way, for a model.

        Where evaluations keep failing the model takes over after twice as many points.
        """
        size = self.settings.initial_size(self.space.d)
        return n_told == 0 or (n_told + n_pending < size and n_given < 2 * size)

    def next_point(self, n_given: int, excluded: Excluded, rng: np.random.Generator) -> tuple[Array, int]:  # (d,)
        """The next point that is not excluded, and how many of the sequence are given out with it."""
        size = self.settings.initial_size(self.space.d)
        for i in range(n_given, n_given + MAX_SKIPS):
            u: Array = design_points(self.space, self.settings.design, i, 1, size, self.seed)[0]
            if excluded.is_new(self.space.features(u[None, :])[0]):
                return u, i + 1
        U = global_candidates(self.space, self.settings.tuning, rng)  # a small grid, mostly used up
        return any_new(U, self.space, excluded, rng), n_given + MAX_SKIPS
