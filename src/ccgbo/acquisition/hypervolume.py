"""Several objectives: expected hypervolume improvement, and random scalarisation as the cheap alternative.

EHVI (Emmerich 2005; the logarithm as in Ament et al. 2023). With boxes [l_b, u_b] that fill what the front leaves
undominated, and posteriors that are independent across the m objectives,

    EHVI(x) = sum_b prod_j (psi_j(l_bj) - psi_j(u_bj)),     psi_j(a) = E[(f_j(x) - a)^+] = std_j h((mean_j - a) / std_j)

exact for any number of objectives. The sum is taken of logarithms, so that it has a gradient where it underflows. A
front that is known with noise only is drawn several times from posterior paths; the mean over the draws is the sum over
the boxes of all of them.

Scalarized (Knowles 2006, ParEGO; Paria et al. 2020 with random weights): each suggestion draws weights w from the
simplex and maximises the expected improvement of

    s(y) = min_j w_j v_j + 0.05 sum_j w_j v_j,     v_j = (y_j - r_j) / (best_j - r_j)

over the best s of the front, by a fixed quasi-random sample of y.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri

from ccgbo.acquisition.analytic import log_h
from ccgbo.acquisition.base import Codomain, Context, Front
from ccgbo.arrays import Array
from ccgbo.errors import SettingError
from ccgbo.pareto import improvement_boxes
from ccgbo.surrogate.base import Posterior, Prediction

N_SAMPLES = 64  # of y, behind a scalarised improvement
SOFT = 1e-3  # width over which the kink of an improvement is rounded, in units of s
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)


def _front(context: Context) -> Front:
    if context.front is None:
        raise SettingError("acquisition must be one for a single objective, such as 'logei': there is one objective.")
    return context.front


@dataclass(frozen=True, slots=True, kw_only=True)
class EHVI:
    """Logarithm of the expected improvement of the dominated hypervolume."""

    codomain: ClassVar[Codomain] = "log"
    needs_optima: ClassVar[bool] = False
    several: ClassVar[bool] = True  # objectives

    def bind(self, context: Context) -> HypervolumeScore:
        front = _front(context)
        boxes = [improvement_boxes(Y, front.reference) for Y in front.draws]
        lower, upper = (np.concatenate(sides) for sides in zip(*boxes, strict=True))
        sides = [Sides.of(lower[:, j], upper[:, j]) for j in range(lower.shape[1])]
        return HypervolumeScore(front.posteriors, sides, -math.log(len(front.draws)))


@dataclass(frozen=True, slots=True)
class Sides:
    """The different intervals that boxes have along one objective."""

    edges: Array  # (e,) finite ones
    low: NDArray[np.intp]  # (s,) edge below each interval
    high: NDArray[np.intp]  # (s,) edge above, -1 where it is open
    of_box: NDArray[np.intp]  # (b,) interval of each box

    @classmethod
    def of(cls, lower: Array, upper: Array) -> Sides:  # (b,), (b,)
        pairs, of_box = np.unique(np.stack([lower, upper], axis=1), axis=0, return_inverse=True)
        edges = np.unique(pairs[np.isfinite(pairs)])
        high = np.where(np.isfinite(pairs[:, 1]), np.searchsorted(edges, pairs[:, 1]), -1)
        return cls(edges, np.searchsorted(edges, pairs[:, 0]), high, of_box.ravel())

    def log_parts(self, mean: Array, std: Array) -> tuple[Array, Array]:  # (m,), (m,) -> z (m, e), (m, s)
        """(mean - edge) / std, and log(psi(low) - psi(high)) of each interval."""
        z = np.clip((mean[:, None] - self.edges) / std[:, None], -1e8, 1e8)
        log_psi = np.log(std)[:, None] + log_h(z)
        low, closed = log_psi[:, self.low], self.high >= 0
        gap = log_psi[:, self.high[closed]] - low[:, closed]
        low[:, closed] += np.log(-np.expm1(np.minimum(gap, -1e-16)))
        return z, low

    def slopes(self, z: Array, log_part: Array, weight: Array) -> tuple[Array, Array]:
        """Derivatives by mean (m,) and std (m,) of the weighted sum of ``log_parts``; weight (m, s)."""
        log_cdf, log_pdf = log_ndtr(z), -0.5 * z * z - _LOG_SQRT_2PI
        out = []
        for log_edge in (log_cdf, log_pdf):
            slope = np.exp(np.minimum(log_edge[:, self.low] - log_part, 700.0))
            closed = self.high >= 0
            slope[:, closed] -= np.exp(np.minimum(log_edge[:, self.high[closed]] - log_part[:, closed], 700.0))
            out.append((weight * slope).sum(axis=1))
        return out[0], out[1]


@dataclass(frozen=True, slots=True)
class HypervolumeScore:
    posteriors: Sequence[Posterior]
    sides: Sequence[Sides]  # of each objective
    shift: float  # minus the logarithm of the number of fronts

    def __call__(self, x: Array) -> Array:
        total = sum(
            side.log_parts(*posterior.predict(x))[1][:, side.of_box]
            for posterior, side in zip(self.posteriors, self.sides, strict=True)
        )
        return _log_sum(total)[0] + self.shift  # type: ignore[arg-type]

    def gradient(self, x: Array) -> tuple[Array, Array]:
        at = [posterior.linearize(x) for posterior in self.posteriors]
        if any(one is None for one in at):
            return self(x), np.zeros_like(x)
        value, slopes = self._linearized([one for one in at if one is not None])
        gradient = np.zeros_like(x)
        for one, (by_mean, by_std) in zip(at, slopes, strict=True):
            assert one is not None
            gradient += one.gradient(by_mean, by_std / one.std)
        return value, gradient

    def by_mean(self, x: Array) -> Array:  # (m, p) -> (m, objectives)
        """Derivative by the mean of each objective in units of its standard deviation: which of them decides."""
        found = [posterior.predict(x) for posterior in self.posteriors]
        at = [Prediction(mean, std, lambda a, b: a + b) for mean, std in found]
        return np.stack([slope[0] * one.std for slope, one in zip(self._linearized(at)[1], at, strict=True)], axis=1)

    def _linearized(self, at: Sequence[Prediction]) -> tuple[Array, list[tuple[Array, Array]]]:
        parts = [side.log_parts(one.mean, one.std) for one, side in zip(at, self.sides, strict=True)]
        total: Array = sum(part[:, side.of_box] for (_, part), side in zip(parts, self.sides))  # type: ignore[assignment]
        value, share = _log_sum(total)
        slopes = []
        for (z, part), side in zip(parts, self.sides, strict=True):
            weight = np.zeros_like(part)
            np.add.at(weight.T, side.of_box, share.T)
            slopes.append(side.slopes(z, part, weight))
        return value + self.shift, slopes


def _log_sum(logs: Array) -> tuple[Array, Array]:  # (m, b) -> (m,), (m, b)
    """log sum exp over the boxes, and the share of each."""
    top = logs.max(axis=1, keepdims=True)
    shares = np.exp(logs - top)
    total = shares.sum(axis=1, keepdims=True)
    return (top + np.log(total))[:, 0], shares / total


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalarized:
    """Expected improvement of a randomly weighted Chebyshev scalarisation."""

    codomain: ClassVar[Codomain] = "log"
    needs_optima: ClassVar[bool] = False
    several: ClassVar[bool] = True

    def bind(self, context: Context) -> ScalarizedScore:
        front = _front(context)
        m, known = len(front.reference), np.concatenate(front.draws)
        weights = context.rng.dirichlet(np.ones(m))
        from scipy.stats import qmc  # takes longer to load than all the rest

        # SciPy spawns a generator that it is given, and what it spawns is not part of the state that is saved
        seed = int(context.rng.integers(2**62))
        uniform = qmc.Sobol(m, rng=np.random.default_rng(seed)).random(N_SAMPLES)
        best = np.maximum(known.max(axis=0), front.reference + 1e-9) if len(known) else front.reference + 1.0
        scale = weights / (best - front.reference)
        score = ScalarizedScore(
            front.posteriors, front.reference, scale, ndtri(np.clip(uniform, 1e-6, 1.0 - 1e-6)), -math.inf
        )
        incumbent = float(score.scalar(known)[0].max()) if len(known) else 0.0
        return ScalarizedScore(front.posteriors, front.reference, scale, score.normal, incumbent)


@dataclass(frozen=True, slots=True)
class ScalarizedScore:
    posteriors: Sequence[Posterior]
    reference: Array  # (objectives,)
    scale: Array  # (objectives,) weight over extent
    normal: Array  # (N, objectives)
    incumbent: float

    def scalar(self, y: Array) -> tuple[Array, Array]:  # (..., objectives) -> (...), (...)
        """s(y), and the objective in which the minimum is."""
        v = (y - self.reference) * self.scale
        at: Array = v.argmin(axis=-1)
        return v.min(axis=-1) + 0.05 * v.sum(axis=-1), at

    def __call__(self, x: Array) -> Array:
        mean, std = (np.stack(part, axis=1) for part in zip(*(p.predict(x) for p in self.posteriors), strict=True))
        return self._value(mean, std)[0]

    def gradient(self, x: Array) -> tuple[Array, Array]:
        at = [posterior.linearize(x) for posterior in self.posteriors]
        if any(one is None for one in at):
            return self(x), np.zeros_like(x)
        known = [one for one in at if one is not None]
        mean, std = np.stack([one.mean for one in known], axis=1), np.stack([one.std for one in known], axis=1)
        value, by_y = self._value(mean, std)  # (m, N, objectives)
        gradient = np.zeros_like(x)
        for j, one in enumerate(known):
            gradient += one.gradient(
                by_y[:, :, j].sum(axis=1), (by_y[:, :, j] * self.normal[:, j]).sum(axis=1) / one.std
            )
        return value, gradient

    def _value(self, mean: Array, std: Array) -> tuple[Array, Array]:
        """log E[(s - incumbent)^+], its kink rounded, and the derivative by every sample of y."""
        y = mean[:, None, :] + std[:, None, :] * self.normal
        s, lowest = self.scalar(y)
        u = (s - self.incumbent) / SOFT
        log_soft = np.where(u < -30.0, u, np.log(np.logaddexp(0.0, np.maximum(u, -30.0))))  # exp(u) far below
        top = log_soft.max(axis=1, keepdims=True)
        share = np.exp(log_soft - top)
        total = share.sum(axis=1, keepdims=True)
        by_u = (share / total) * np.exp(np.minimum(-np.logaddexp(0.0, -u) - log_soft, 700.0))  # sigmoid / softplus
        by_s = by_u / SOFT
        hit = (np.arange(len(self.scale)) == lowest[:, :, None]) + 0.05
        value = (top + np.log(total))[:, 0] + math.log(SOFT / len(self.normal))
        return value, by_s[:, :, None] * hit * self.scale
