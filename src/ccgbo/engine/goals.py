"""What a step aims at where metrics have names: a feasible optimum, or a front of several objectives.

    n  complete trials, whichever metrics they have; k  posterior paths; m  objectives

Objectives are to be maximised. Every metric has a posterior of its own, over the trials that have it; at the others it
predicts. A metric is *exact* where the model takes almost none of its variance for noise: what was measured then counts
as it is, else what the model believes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ccgbo.acquisition.base import Front
from ccgbo.acquisition.feasibility import Bounded, log_within
from ccgbo.arrays import Array
from ccgbo.engine.history import Measured
from ccgbo.engine.model import Model
from ccgbo.metrics import Metrics
from ccgbo.pareto import non_dominated, reference_point
from ccgbo.surrogate.base import CheckedPosterior, Paths, Posterior
from ccgbo.surrogate.distance import Metric
from ccgbo.surrogate.optima import Optima

EXACT = (
    0.05  # standard deviation of the noise, in standardised units, up to which measured values are taken as they are
)
CHANCE = 0.01  # of being feasible, from which on a point counts for what may be had
N_FRONTS = 8  # draws of a front that is known with noise only


@dataclass(frozen=True, slots=True)
class Places:
    """Where observations lie and how far apart: what a field of credit needs of a posterior."""

    X: Array  # (n, p)
    metric: Metric


@dataclass(frozen=True)
class Goals:
    """The beliefs about all metrics at all complete trials."""

    metrics: Metrics
    models: Mapping[str, Model]
    measured: Measured
    _beliefs: dict[str, tuple[Array, Array]] = field(default_factory=dict, repr=False)  # as they were asked for

    # -- beliefs

    def belief(self, name: str) -> tuple[Array, Array]:  # (n,), (n,)
        """Posterior mean and standard deviation of a metric at every complete trial."""
        if name not in self._beliefs:
            self._beliefs[name] = self._believe(name)
        return self._beliefs[name]

    def _believe(self, name: str) -> tuple[Array, Array]:
        model, rows = self.models[name], self.measured.rows(name)[self.models[name].rows]
        n = len(self.measured.F)
        mean, std = np.empty(n), np.empty(n)
        others = np.setdiff1d(np.arange(n), rows)
        mean[rows], std[rows] = model.mean, model.std
        if len(others):
            mean[others], std[others] = model.posterior.predict(self.measured.F[others])
        return mean, std

    def bounds(self, name: str) -> tuple[float, float]:
        """The bounds of a metric in the units of its model, in which an objective is to be maximised."""
        bound, model, sign = self.metrics.constraints[name], self.models[name], self.metrics.sign(name)
        ends = sorted(sign * end for end in (bound.lower, bound.upper))
        low, high = (end if np.isinf(end) else float(model.outcome.forward(np.array([end]))[0]) for end in ends)
        return low, high

    @property
    def bounded(self) -> list[str]:
        """The constraints of which anything was measured: of the others nothing is known."""
        return [name for name in self.metrics.constraints if len(self.measured.rows(name))]

    @property
    def unmeasured(self) -> list[str]:
        """The constraints of which nothing was measured: whether a trial keeps every bound cannot be told."""
        return [name for name in self.metrics.constraints if name not in self.bounded]

    def chances(self) -> Array | None:  # (n,)
        """The probability that a trial keeps every bound; None where that cannot be told, or there is none."""
        if not self.metrics.constraints or self.unmeasured:
            return None
        result: Array = np.exp(np.minimum(self.log_feasibility(), 0.0))
        return result

    @property
    def needed(self) -> list[str]:
        """The metrics that a choice looks at: while nothing is feasible, only those that must become so."""
        return list(dict.fromkeys([*self.sought, *self.bounded]))

    @property
    def sought(self) -> list[str]:
        """The objectives; while nothing is feasible, the constraints."""
        return list(self.metrics.objectives) if self.feasible.any() else self.bounded

    @cached_property
    def feasible(self) -> NDArray[np.bool_]:  # (n,)
        """Which trials keep every bound, as far as is known."""
        kept = np.ones(len(self.measured.F), dtype=bool)
        for name in self.bounded:
            low, high = self.bounds(name)
            mean = self.belief(name)[0]
            known = (low <= mean) & (mean <= high)
            if _exact(self.models[name]):
                rows, bound = self.measured.rows(name), self.metrics.constraints[name]
                values = self.metrics.sign(name) * self.measured.values[name][rows]
                known[rows] = (bound.lower <= values) & (values <= bound.upper)
            kept &= known
        return kept

    def log_feasibility(self) -> Array:  # (n,)
        """The logarithm of the probability that a trial keeps every bound."""
        total = np.zeros(len(self.measured.F))
        for name in self.bounded:
            total += log_within(*self.belief(name), *self.bounds(name))[0]
        return total

    def constraints(self, posteriors: Mapping[str, Posterior]) -> list[Bounded]:
        return [Bounded(posteriors[name], *self.bounds(name)) for name in self.bounded]

    # -- several

    def levels(self) -> Array:  # (n, m)
        """The objectives at every trial: as measured where that is exact, else as believed."""
        return np.stack([self._level(name) for name in self.metrics.objectives], axis=1)

    def _level(self, name: str) -> Array:  # (n,)
        model, level = self.models[name], self.belief(name)[0].copy()
        if _exact(model):
            rows = self.measured.rows(name)
            level[rows] = model.outcome.forward(self.measured.values[name][rows])
        return level

    def expected(self, posteriors: Mapping[str, Posterior], F: Array) -> Array:  # (c, p) -> (c', m)
        """The means of the objectives at those of the points that may be feasible."""
        if self.bounded:
            chance = sum(bounded.log_probability(F) for bounded in self.constraints(posteriors))
            F = F[chance >= math.log(CHANCE)]
        return np.stack([posteriors[name].predict(F)[0] for name in self.metrics.objectives], axis=1)

    def front(self, posteriors: Mapping[str, Posterior], pending: Array, F: Array, rng: np.random.Generator) -> Front:
        """The front of the feasible trials and of the fantasies at pending points.

        Improvements are measured from a point beyond that front and the one that is expected of the candidates F
        (c, p): where the model expects the ends of the front farther out than they are known, so is the point.
        """
        names = tuple(self.metrics.objectives)
        own = tuple(posteriors[name] for name in names)
        level, known = (
            self.levels(),
            self.feasible if self.feasible.any() else np.ones(len(self.measured.F), dtype=bool),
        )
        Y = level[known]
        hoped = np.concatenate([Y, self.expected(posteriors, F)])
        reference = reference_point(level, hoped[non_dominated(hoped)])
        if all(_exact(self.models[name]) for name in names):
            draws = [Y]
        else:
            paths = [self.models[name].posterior.paths(N_FRONTS, rng) for name in names]
            drawn = np.stack([path(self.measured.F[known]) for path in paths], axis=2)  # (n, k, m)
            draws = list(drawn.transpose(1, 0, 2))
        if len(pending):
            fantasy = np.stack([posterior.predict(pending)[0] for posterior in own], axis=1)
            draws = [np.concatenate([draw, fantasy]) for draw in draws]
        return Front(own, tuple(draw[non_dominated(draw)] for draw in draws), reference)

    # -- optima of paths

    def sample(self, candidates: Array, k: int, rng: np.random.Generator) -> tuple[Array, NDArray[np.bool_], Array]:
        """k joint draws at candidates and trials: objectives (k, c, m), which are feasible (k, c), violation (k, c).

        Draws of the metrics are independent of one another, as their posteriors are.
        """
        F = np.concatenate([candidates, self.measured.F])
        drawn = {name: self._path(name, k, rng)(F) for name in (*self.metrics.objectives, *self.bounded)}  # (c, k)
        Y = np.stack([drawn[name].T for name in self.metrics.objectives], axis=2)
        violation = np.zeros(Y.shape[:2])
        for name in self.bounded:
            low, high = self.bounds(name)
            violation += np.maximum(np.maximum(low - drawn[name], drawn[name] - high), 0.0).T
        return Y, violation == 0.0, violation

    def _path(self, name: str, k: int, rng: np.random.Generator) -> Paths:
        return self.models[name].posterior.paths(k, rng)

    def optima(self, candidates: Array, k: int, rng: np.random.Generator) -> Optima:
        """The maximum of each path where the paths of the constraints allow it; where none does, at least violation."""
        Y, allowed, violation = self.sample(candidates, k, rng)
        merit = np.where(allowed, Y[:, :, 0], -np.inf)
        none = ~allowed.any(axis=1)
        merit[none] = -violation[none]
        best = merit.argmax(axis=1)
        X = np.concatenate([candidates, self.measured.F])
        return Optima(X[best], Y[np.arange(k), best, 0])

    def fronts(self, candidates: Array, k: int, rng: np.random.Generator) -> list[Array]:
        """The Pareto front of each joint draw over the points that its constraints allow."""
        Y, allowed, violation = self.sample(candidates, k, rng)
        fronts = []
        for y, ok, beyond in zip(Y, allowed, violation, strict=True):
            kept = y[ok] if ok.any() else y[[int(beyond.argmin())]]
            fronts.append(kept[non_dominated(kept)])
        return fronts

    # -- places

    def places(self) -> Places:
        """All complete trials, at distances in the shortest of the lengthscales of what is sought."""
        metrics = [self.models[name].posterior.metric for name in self.sought]
        unit = np.min([metric.unit for metric in metrics], axis=0)
        return Places(self.measured.F, Metric(unit, metrics[0].choices))

    def unit(self) -> Array:  # (p,)
        """The distance that counts as one along each column for every metric that a choice looks at."""
        result: Array = np.min([self.models[name].posterior.unit for name in self.needed], axis=0)
        return result


def _exact(model: Model) -> bool:
    posterior = model.posterior
    return isinstance(posterior, CheckedPosterior) and float(np.median(posterior.noise)) <= EXACT**2
