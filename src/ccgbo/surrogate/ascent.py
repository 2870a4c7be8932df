"""Many small maximisations on the unit box at once: projected gradient ascent with Barzilai-Borwein steps.

Each row is its own problem; one call of ``fun`` serves them all. Steps are taken in units of the GP's lengthscales,
where the posterior is isotropic, so the spectral step length of Barzilai & Borwein (1988) suits every direction. A
step that does not improve its row is taken back and shortened. On a surface, where linear equations hold, directions
are those within it and steps that end beside it are moved back onto it.

SciPy's L-BFGS-B solves one problem per call; ten starts through it cost ten times the Python overhead, and stacking
them into one problem ties their step lengths together. That is why this loop is ours.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ccgbo.arrays import Array
from ccgbo.space.affine import Affine

ValueGradient = Callable[[Array], tuple[Array, Array]]  # (b, p) -> (b,), (b, p)


def ascend(
    fun: ValueGradient,
    x: Array,  # (b, p) starts, inside the unit box where they may move
    movable: NDArray[np.bool_],  # (b, p)
    *,
    unit: Array,  # (p,) length of a step that counts as one along each column
    steps: int,
    first: float = 0.2,  # length of the first step, in lengthscales
    tolerance: float = 1e-5,  # a gain below this, relative to 1 + |value|, counts as none
    surface: Affine | None = None,  # equations that must hold
) -> tuple[Array, Array]:  # (b, p), (b,)
    """Points at least as high as the starts, and their values."""
    unit = np.minimum(unit, 1.0)  # a step far beyond the box tells nothing
    metric = unit * unit * movable
    value, gradient = fun(x)
    direction = _direction(x, gradient, metric, surface)
    length = np.sqrt(np.einsum("ij,ij->i", direction, gradient))
    step = first / np.maximum(length, 1e-300)
    stalled = np.zeros(len(x), dtype=int)
    for _ in range(steps):
        with np.errstate(over="ignore"):  # a step from a flat place onto a steep one ends at the edge of the box
            trial = np.where(movable, np.clip(x + step[:, None] * direction, 0.0, 1.0), x)
        if surface is not None:
            trial, there = surface.onto(trial, metric)
            trial = np.where(there[:, None], trial, x)
        moved = trial - x
        trial_value, trial_gradient = fun(trial)
        better = trial_value > value
        curvature = -np.einsum("ij,ij->i", moved, trial_gradient - gradient)
        squared = np.einsum("ij,ij->i", moved / unit, moved / unit)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            spectral = np.where(curvature > 0, squared / curvature, 4.0 * step)
        # a failed step is shortened to where its own curvature says, and by 4 at least
        step = np.where(
            better, np.clip(spectral, step / 16.0, np.minimum(step * 16.0, 1e300)), np.minimum(spectral, step / 4.0)
        )
        gain = np.where(better, trial_value - value, 0.0)
        keep = better[:, None]
        x = np.where(keep, trial, x)
        gradient = np.where(keep, trial_gradient, gradient)
        direction = _direction(x, gradient, metric, surface)
        value = np.where(better, trial_value, value)
        stalled = np.where(gain > tolerance * (1.0 + np.abs(value)), 0, stalled + 1)
        if np.all(stalled >= 2):
            break
    return x, value


def _direction(x: Array, gradient: Array, metric: Array, surface: Affine | None) -> Array:
    return metric * gradient if surface is None else surface.tangent(x, gradient, metric)
