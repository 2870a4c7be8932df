"""The part of a box on which linear equations hold: directions within it, and the way onto it.

    x   (n, k)  points, a row each
    A   (m, k)  A x = b,  low <= x <= high

Both work with a weight per coordinate, the inverse of a diagonal metric: what has more weight moves more. A coordinate
of weight zero stays where it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ccgbo.arrays import Array

Mask = NDArray[np.bool_]

EPS = 2.0**-52  # rounding of one addition
TURNS = 4  # in which coordinates at their bounds are told not to go beyond


@dataclass(frozen=True, slots=True)
class Affine:
    """The points of a box at which ``A x = b``."""

    A: Array  # (m, k)
    b: Array  # (m,)
    low: Array  # (k,)
    high: Array  # (k,)

    def tangent(self, x: Array, gradient: Array, weights: Array) -> Array:  # (n, k) each -> (n, k)
        """The steepest direction along which the equations keep holding: W g - W A' (A W A')^-1 A W g.

        Of coordinates at a bound those that would leave the box are left out.
        """
        W = weights
        for _ in range(TURNS):
            pull = W * gradient
            direction: Array = pull - W * (_solve(self._gram(W), pull @ self.A.T) @ self.A)
            leaving = self._leaving(x, direction) & (W > 0.0)
            if not leaving.any():
                break
            W = np.where(leaving, 0.0, W)
        slope, steepest = (direction * gradient).sum(axis=1), (weights * gradient**2).sum(axis=1)
        return np.where((slope > 1e-15 * steepest)[:, None], direction, 0.0)  # else it is rounding alone

    def onto(self, x: Array, weights: Array) -> tuple[Array, Mask]:  # (n, k) each -> (n, k), (n,)
        """Points of the set near to ``x``, and which rows could be moved onto it.

        What is missing to the right side is shared out by weight; who reaches a bound stays there, and the others make
        up for it.
        """
        out = np.where(weights > 0.0, np.clip(x, self.low, self.high), x)
        rows, missing = np.arange(len(x)), self._missing(out)
        for _ in range(8 + 2 * x.shape[1]):
            off = (np.abs(missing[rows]) > self._rounding(out[rows])).any(axis=1)
            rows = rows[off]
            if not len(rows):
                break
            here, W = out[rows], weights[rows]
            for _ in range(TURNS):
                move = W * (_solve(self._gram(W), missing[rows]) @ self.A)
                leaving = self._leaving(here, move) & (W > 0.0)
                if not leaving.any():
                    break
                W = np.where(leaving, 0.0, W)
            out[rows] = np.where(W > 0.0, np.clip(here + move, self.low, self.high), here)
            missing[rows] = self._missing(out[rows])
        return out, np.all(np.abs(missing) <= 4.0 * self._rounding(out), axis=1)

    def _gram(self, W: Array) -> Array:  # (n, m, m)
        if len(self.A) == 1:
            single: Array = (W @ (self.A[0] ** 2))[:, None, None]
            return single
        gram: Array = np.einsum("ik,nk,jk->nij", self.A, W, self.A)
        return gram

    def _leaving(self, x: Array, move: Array) -> Mask:
        leaving: Mask = ((x <= self.low) & (move < 0.0)) | ((x >= self.high) & (move > 0.0))
        return leaving

    def _missing(self, x: Array) -> Array:  # (n, m)
        """b - A x, added up with more digits than the numbers have, where the machine has them."""
        terms = x[:, None, :].astype(np.longdouble) * self.A
        missing: Array = (self.b - terms.sum(axis=2)).astype(float)
        return missing

    def _rounding(self, x: Array) -> Array:  # (n, m)
        """Of a sum, by its terms."""
        rounding: Array = EPS * (np.abs(x) @ np.abs(self.A).T + np.abs(self.b))
        return rounding


def _solve(gram: Array, right: Array) -> Array:  # (n, m, m), (n, m) -> (n, m)
    """The least solution of each system; of one that says nothing, zero."""
    if gram.shape[1] == 1:
        diagonal = gram[:, :, 0]
        return np.divide(right, diagonal, out=np.zeros_like(right), where=diagonal > 0.0)
    solution: Array = (np.linalg.pinv(gram, rcond=1e-12, hermitian=True) @ right[:, :, None])[:, :, 0]
    return solution
