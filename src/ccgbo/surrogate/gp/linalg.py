"""LAPACK calls of the GP, without the checks that cost more than the work at n = 100.

Matrices are Fortran-ordered lower triangles, as LAPACK wants them; a symmetric C-ordered matrix is its own transpose,
so handing over ``K.T`` copies nothing. A NumPy matrix product with C-ordered factors stays C-ordered.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dsymm
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs, dtrtri, dtrtrs

from ccgbo.arrays import Array
from ccgbo.log import report_once


def cholesky(K: Array) -> tuple[Array, float]:
    """Lower Cholesky factor of K, and the jitter on the diagonal that made it possible (0.0 as a rule)."""
    L, info = dpotrf(K.T, lower=1, clean=1)
    if info == 0:
        return L, 0.0
    scale = float(np.mean(np.diag(K)))
    for power in range(-12, 3):  # at 100 times the mean diagonal any finite kernel matrix is diagonally dominant enough
        jitter = scale * 10.0**power
        bumped = K.T.copy(order="F")
        bumped[np.diag_indices_from(bumped)] += jitter
        L, info = dpotrf(bumped, lower=1, clean=1, overwrite_a=1)
        if info == 0:
            report_once("jitter", "kernel matrix of size %d needed a jitter of %.1e", len(K), jitter)
            return L, jitter
    raise AssertionError("a symmetric finite matrix plus 100 times its mean diagonal must factorise")


def solve_lower(L: Array, B: Array) -> Array:
    """L^-1 B."""
    return dtrtrs(L, B, lower=1)[0]  # type: ignore[no-any-return]


def solve_upper(L: Array, B: Array) -> Array:
    """L^-T B."""
    return dtrtrs(L, B, lower=1, trans=1)[0]  # type: ignore[no-any-return]


def solve(L: Array, B: Array) -> Array:
    """(L L^T)^-1 B."""
    return dpotrs(L, B, lower=1)[0]  # type: ignore[no-any-return]


def inverse_lower(L: Array) -> Array:
    """Lower triangle of (L L^T)^-1; what stands above the diagonal is not to be read."""
    return dpotri(L, lower=1)[0]  # type: ignore[no-any-return]


def inverse_diagonal(L: Array) -> Array:
    """Diagonal of (L L^T)^-1."""
    inverse = dtrtri(L, lower=1)[0]
    return np.einsum("ij,ij->j", inverse, inverse)  # type: ignore[no-any-return]


def symmetric_times(G: Array, B: Array) -> Array:
    """G B for a symmetric Fortran-ordered G of which only the lower triangle is read."""
    return dsymm(1.0, G, B, lower=1)  # type: ignore[no-any-return]
