"""A quadratic trend under the Gaussian process: a parabola in each feature column.

    f(x) = g(x) + phi(x) . beta,      beta ~ N(0, trend I),      cov f = signal * rho(x, x') + trend * phi(x) . phi(x')

    phi(x) = (sqrt(3) (2 x - 1), sqrt(5) (6 x^2 - 6 x + 1)) / sqrt(2 p)

the first two Legendre polynomials of each of the p columns, orthonormal on [0, 1], so that ``trend`` is the prior
variance of the trend at a point drawn uniformly. A stationary kernel has to learn a slope or a bowl piece by piece; the
parabola has it after about 2 p observations, and where there is none the likelihood takes ``trend`` to nothing.
"""

from __future__ import annotations

import math

import numpy as np

from ccgbo.arrays import Array

LINEAR, SQUARE = math.sqrt(3.0), math.sqrt(5.0)


def basis(X: Array) -> Array:  # (n, p) -> (n, 2p)
    """phi of each row."""
    linear = LINEAR * (2.0 * X - 1.0)
    square = SQUARE * (6.0 * X * (X - 1.0) + 1.0)
    phi: Array = np.concatenate([linear, square], axis=1)
    phi *= 1.0 / math.sqrt(2.0 * X.shape[1])
    return phi


def basis_slope(X: Array, weights: Array) -> Array:  # (m, p), (2p,) or (m, 2p) -> (m, p)
    """Gradient of phi(x_i) . weights_i."""
    p = X.shape[1]
    slope: Array = 2.0 * LINEAR * weights[..., :p] + SQUARE * (12.0 * X - 6.0) * weights[..., p:]
    slope *= 1.0 / math.sqrt(2.0 * p)
    return slope
