"""TuRBO's trust region (Eriksson et al. 2019): a box around the best point whose size follows from counting successes.

    side        geometric mean of the sides: 0.8 at first, doubled (at most 1.6) after 3 successes in a row, halved
                after max(4, d) failures
    sides       proportional to the lengthscales of the model
    candidates  min(100 d, 5000) scrambled Sobol points of the box; each differs from the best point in a coordinate
                with probability min(20 / d, 1)

A success is an improvement of the best value by more than a thousandth of it. The peer turbo1 is the published method
around it; the variant turbo-box is this box around our own surrogate.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import qmc

from ccgbo.arrays import Array

FIRST_SIDE, MOST_SIDE, LEAST_SIDE = 0.8, 1.6, 0.5**7
SUCCESSES = 3
LEAST_GAIN = 1e-3  # relative to the best value


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustRegion:
    d: int
    side: float = FIRST_SIDE
    successes: int = 0  # in a row
    failures: int = 0

    @property
    def collapsed(self) -> bool:
        return self.side < LEAST_SIDE

    def after(self, value: float, best: float) -> TrustRegion:
        """The region once a point of it has been evaluated; ``best`` is the best value before."""
        success = value > best + LEAST_GAIN * abs(best)
        successes, failures = (self.successes + 1, 0) if success else (0, self.failures + 1)
        if successes == SUCCESSES:
            return replace(self, side=min(2.0 * self.side, MOST_SIDE), successes=0, failures=0)
        if failures == max(4, self.d):
            return replace(self, side=self.side / 2.0, successes=0, failures=0)
        return replace(self, successes=successes, failures=failures)

    def candidates(self, centre: Array, unit: Array, rng: np.random.Generator) -> Array:  # (d,), (d,) -> (m, d)
        """Points of the box around ``centre``; ``unit`` are the lengthscales."""
        d, m = self.d, min(100 * self.d, 5000)
        logs = np.log(unit)
        half = 0.5 * self.side * np.exp(logs - logs.mean())
        low, high = np.clip(centre - half, 0.0, 1.0), np.clip(centre + half, 0.0, 1.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # m is no power of two
            box = low + (high - low) * qmc.Sobol(d, rng=rng).random(m)
        moves = rng.random((m, d)) <= min(20.0 / d, 1.0)
        still = np.flatnonzero(~moves.any(axis=1))
        moves[still, rng.integers(0, d, len(still))] = True
        return np.where(moves, box, centre)
