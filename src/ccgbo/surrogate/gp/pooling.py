"""Averages that stand at some of the observations for all of them.

    q  observations, m  of them that are kept, p  feature columns

Every observation j belongs to the kept one i that is nearest to it in the fitted lengthscales. With g, the posterior
mean of the kept ones by themselves, a kept observation counts as

    y'_i = g(x_i) + sum_j w_j (y_j - g(x_j)) / sum_j w_j,       noise'_i = 1 / sum_j w_j
    w_j  = 1 / (noise_j + 2 signal (1 - rho(x_i, x_j)))

with sums over its cell, itself among them. Averaged is what g leaves over, so that the slope of the function within a
cell does not count as an error; the second part of a variance is what the residual may change on the way from x_j to
x_i, by the prior. Where values are exact an observation keeps its own; under noise, or of a function that is rough
between the rows, all q values are used at the cost of m. The errors of one cell count as independent, which is
optimistic where the function is rough.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ccgbo.arrays import Array
from ccgbo.surrogate.gp.posterior import GP

BLOCK = 2048  # rows whose distances to all that are kept are computed at once


def pooled(
    kept: GP,  # of the m rows by themselves
    F: Array,  # (q, p) rows to average, with those that are kept
    y: Array,  # (q,)
    noise: Array,  # (q,) variance of each value
    own: NDArray[np.intp],  # (m,) where the rows of ``kept`` stand among them
) -> GP:
    """The posterior of the averages."""
    values, variances = averaged(kept, F, y, noise, own)
    return GP.from_data(kept.kernel, kept.hyper, kept.X, values, variances, n_features=kept.n_features)


def averaged(
    kept: GP,
    F: Array,  # (q, p)
    y: Array,  # (q,)
    noise: Array,  # (q,)
    own: NDArray[np.intp],  # (m,)
) -> tuple[Array, Array]:  # (m,), (m,)
    """The values y' of the kept rows, and the variances noise' of their errors."""
    m, blocks = len(own), np.array_split(np.arange(len(y)), -(-len(y) // BLOCK))
    parts = [_nearest(kept, F[block]) for block in blocks]
    cell, r2, g = (np.concatenate(part) for part in zip(*parts, strict=True))
    cell[own], r2[own] = np.arange(m), 0.0  # of several at one place each its own
    weight = 1.0 / (noise + 2.0 * kept.hyper.signal * (1.0 - kept.kernel.rho(r2)))
    total = np.bincount(cell, weight, m)
    residual = np.bincount(cell, weight * (y - g), m) / total
    alone = np.bincount(cell, minlength=m) == 1
    return np.where(alone, y[own], g[own] + residual), 1.0 / total


def _nearest(kept: GP, F: Array) -> tuple[NDArray[np.intp], Array, Array]:  # (b, p) -> (b,), (b,), (b,)
    """The nearest kept row of each row, the squared distance to it, and the mean g."""
    sites, P = kept.sites, kept.basis(F)
    r2 = sites.metric.squared(sites.metric.points(F), sites.Z)
    cell = r2.argmin(axis=1)
    nearest = r2[np.arange(len(F)), cell]
    mean = kept.hyper.signal * (kept.kernel.rho(r2) @ kept.alpha)
    if P is not None and sites.P is not None:
        mean += kept.hyper.trend * (P @ (kept.alpha @ sites.P))
    return cell, nearest, mean
