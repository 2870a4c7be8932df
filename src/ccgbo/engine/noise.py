"""What is known of the noise of an evaluation, ``Settings.noise``, and what follows from it.

    "unknown"    the model learns a variance
    0.1          the standard deviation of an evaluation, in the units of the values: nothing is learned
    "none", 0    evaluations are exact: the best observation is the best value seen, whatever a model makes of it

What an evaluation itself tells of its noise, by readings or a standard error, goes before.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ccgbo.arrays import Array
from ccgbo.engine.history import Data
from ccgbo.surrogate.outcome_transform import LARGEST_SCORE, Outcome

Noise = str | float
EXACT_VARIANCE = 1e-8  # of standardised values: keeps their covariance well conditioned


def is_known(noise: Noise) -> bool:
    return noise != "unknown"


def is_exact(noise: Noise, data: Data) -> bool:
    """Whether every value is the function's own: nothing was told with a noise of its own."""
    return noise in ("none", 0.0) and bool(np.all(np.isnan(data.noise) | (data.noise == 0.0)))


def with_known(data: Data, noise: Noise) -> Data:
    """The observations with the variance that is known of all of them, where they have none of their own."""
    if not isinstance(noise, float) or noise == 0.0:
        return data
    variance = min(noise, LARGEST_SCORE) ** 2  # its square is finite
    return replace(data, noise=np.where(np.isnan(data.noise), variance, data.noise))


def standardised(noise: Noise, outcome: Outcome, y: Array) -> float | None:
    """The variance of a further evaluation in the units of y; None where it is to be learned.

    A transform that draws tails in does not have one slope: that in the middle of the observations is taken.
    """
    if not is_known(noise):
        return None
    if isinstance(noise, str) or noise == 0.0:
        return EXACT_VARIANCE
    slope = float(np.median(outcome.slope(y)))
    return float(np.clip((noise / max(slope, 1e-150)) ** 2 if noise < LARGEST_SCORE else 1e6, EXACT_VARIANCE, 1e6))


def in_units_of_y(noise: Array, outcome: Outcome, y: Array) -> Array | None:  # (n,), (n,) -> (n,)
    """Given variances in the units of y, or None if there are none."""
    if np.isnan(noise).all():
        return None
    with np.errstate(over="ignore"):
        scaled: Array = np.minimum(noise / np.maximum(outcome.slope(y), 1e-150) ** 2, 1e6)
    return scaled
