"""Stationary kernels as functions of the squared scaled distance, so that no n x n x d tensor is ever made.

r2      squared distance in units of the lengthscales, see distance.py
rho     correlation, rho(0) = 1
slope   d rho / d r2, finite at 0 for every kernel here
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ccgbo.arrays import Array
from ccgbo.errors import SettingError
from ccgbo.surrogate.distance import Choices


@dataclass(frozen=True, slots=True)
class Kernel:
    """A correlation function over columns of numbers and of choices.

    ``spectral_dof`` are the degrees of freedom of its spectral density, a Student-t; inf is a Gaussian.
    """

    name: str
    rho: Callable[[Array], Array]  # r2 -> rho
    rho_slope: Callable[[Array], tuple[Array, Array]]  # r2 -> rho, slope
    spectral_dof: float
    choices: Choices = ()


def _matern52(r2: Array) -> tuple[Array, Array]:
    s = np.sqrt(r2)
    s *= math.sqrt(5.0)
    e = np.exp(-s)
    slope = s + 1.0
    rho = s * s
    rho *= 1.0 / 3.0
    rho += slope
    rho *= e
    slope *= e
    slope *= -5.0 / 6.0
    return rho, slope


def _matern52_rho(r2: Array) -> Array:
    s = np.sqrt(r2)
    s *= math.sqrt(5.0)
    rho = s * (1.0 / 3.0)
    rho += 1.0
    rho *= s
    rho += 1.0
    np.negative(s, out=s)
    rho *= np.exp(s, out=s)
    return rho


def _matern32(r2: Array) -> tuple[Array, Array]:
    s = math.sqrt(3.0) * np.sqrt(r2)
    e = np.exp(-s)
    return (1.0 + s) * e, -1.5 * e


def _rbf(r2: Array) -> tuple[Array, Array]:
    rho = np.exp(-0.5 * r2)
    return rho, -0.5 * rho


KERNELS = {
    "matern52": Kernel("matern52", _matern52_rho, _matern52, 5.0),
    "matern32": Kernel("matern32", lambda r2: _matern32(r2)[0], _matern32, 3.0),
    "rbf": Kernel("rbf", lambda r2: _rbf(r2)[0], _rbf, math.inf),
}


def get_kernel(name: str, choices: Choices = ()) -> Kernel:
    if name not in KERNELS:
        raise SettingError(f"kernel must be one of {sorted(KERNELS)}, got {name!r}.")
    return replace(KERNELS[name], choices=choices) if choices else KERNELS[name]
