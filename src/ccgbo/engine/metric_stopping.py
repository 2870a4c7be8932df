"""What more evaluations would gain where metrics have names: played through on functions that the models believe in.

    k  posterior paths of every metric, each taken for the truth in turn; m  points they may be evaluated at

As for one objective (stopping.py), with a belief of its own for each metric. An evaluation measures all of them.

One objective under bounds: the point of the largest expected improvement times the probability of keeping every bound
is evaluated; the gain is how much better the path of the objective is at the point that is recommended in the end, the
best evaluated one that is believed to keep every bound, than at the one that is recommended now.

Several objectives: the point of the largest expected hypervolume improvement, times that probability, is evaluated; the
gain is the growth of the volume that the paths dominate at the evaluated points, as a share of the volume of the
present front. Both are on the scale of the models, above the reference point that ``hypervolume`` infers there.

While no feasible point is known there is nothing to be better than, and no gain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ccgbo.acquisition.feasibility import log_within
from ccgbo.acquisition.hypervolume import Sides
from ccgbo.arrays import Array
from ccgbo.diagnosis import Gain
from ccgbo.engine.goals import Goals
from ccgbo.engine.recommend import best_rows, front_rows
from ccgbo.engine.step import State
from ccgbo.engine.stopping import N_BEST, Believed, expected_gains, expected_improvement, gain_of, where_to_evaluate
from ccgbo.pareto import hypervolume, improvement_boxes, non_dominated, reference_point
from ccgbo.surrogate.base import JointPosterior, Paths

MOST_OBJECTIVES = 3  # of more the boxes of so many fronts take too long
N_PATHS = (64, 32, 16)  # of one, two and three objectives
N_EACH = 3  # points of the front of every path that may be evaluated
LEAST_STD = 1e-6


def gains_of(state: State, rng: np.random.Generator, more: Sequence[int] = (10, 25)) -> list[Gain]:
    """What so many more evaluations are expected to gain of whatever is sought; empty where that cannot be told."""
    return expected_gains(state, rng, more) if state.goals is None else _of_metrics(state, state.goals, rng, more)


def _of_metrics(state: State, goals: Goals, rng: np.random.Generator, more: Sequence[int]) -> list[Gain]:
    n_objectives = len(goals.metrics.objectives)
    if n_objectives > MOST_OBJECTIVES or len(goals.measured.F) < 2 or not goals.feasible.any():
        return []
    posteriors = {name: goals.models[name].posterior for name in goals.needed}
    joint = {name: p for name, p in posteriors.items() if isinstance(p, JointPosterior)}
    if len(joint) < len(posteriors):
        return []
    known = _known(goals)
    game = _Game.of(state, goals, joint, known, N_PATHS[n_objectives - 1], max(more), rng)
    return _fronts(goals, game, known, more, rng) if goals.metrics.several else _one(goals, game, known, more, rng)


def _known(goals: Goals) -> NDArray[np.intp]:
    """The trials that later ones must be better than: the best feasible ones, or the believed front."""
    return front_rows(goals) if goals.metrics.several else best_rows(goals, N_BEST)


@dataclass(frozen=True, slots=True)
class _Game:
    """The paths of every metric at the points, and what is believed of each as evaluations are played."""

    goals: Goals
    truth: Mapping[str, Array]  # (k, m) by metric
    believed: Mapping[str, Believed]
    evaluated: NDArray[np.bool_]  # (k, m)
    n_known: int  # of the points, the first, are trials

    @classmethod
    def of(
        cls,
        state: State,
        goals: Goals,
        posteriors: Mapping[str, JointPosterior],
        known: NDArray[np.intp],
        k: int,
        n: int,
        rng: np.random.Generator,
    ) -> _Game:
        paths = {name: posterior.paths(k, rng) for name, posterior in posteriors.items()}
        U, near = where_to_evaluate(state, goals.measured.U[known], rng)
        pool = state.space.features(U)
        points = np.concatenate([goals.measured.F[known], pool[_best_of_paths(goals, paths, pool)], near])
        truth = {name: path(points).T for name, path in paths.items()}
        believed = {name: Believed(posteriors[name], truth[name], points, n) for name in posteriors}
        evaluated = np.zeros((k, len(points)), dtype=bool)
        evaluated[:, : len(known)] = True
        return cls(goals, truth, believed, evaluated, len(known))

    def log_feasible(self) -> Array:  # (k, m)
        """The logarithm of the probability that every bound is kept."""
        total = np.zeros(self.evaluated.shape)
        for name in self.goals.bounded:
            mean, std = self.believed[name].mean, self.believed[name].std
            total += log_within(mean.ravel(), std.ravel(), *self.goals.bounds(name))[0].reshape(total.shape)
        return total

    def counts(self) -> NDArray[np.bool_]:  # (k, m)
        """Evaluated, and believed to keep every bound; the known trials do."""
        kept = self.evaluated.copy()
        for name in self.goals.bounded:
            low, high = self.goals.bounds(name)
            mean = self.believed[name].mean
            kept &= (low <= mean) & (mean <= high)
        kept[:, : self.n_known] = True
        return kept

    def evaluate(self, merit: Array, rng: np.random.Generator) -> None:  # (k, m)
        """Measure every metric at the point of the largest merit that was not evaluated yet."""
        j = np.where(self.evaluated, -np.inf, merit).argmax(axis=1)
        for believed in self.believed.values():
            believed.observe(j, rng)
        self.evaluated[np.arange(len(j)), j] = True


def _best_of_paths(goals: Goals, paths: Mapping[str, Paths], F: Array) -> NDArray[np.intp]:  # (c, p)
    """Of candidates those that are the best of a path among those that it allows, or on the front of it."""
    drawn = {name: path(F).T for name, path in paths.items()}  # (k, c)
    allowed = np.ones(next(iter(drawn.values())).shape, dtype=bool)
    for name in goals.bounded:
        low, high = goals.bounds(name)
        allowed &= (low <= drawn[name]) & (drawn[name] <= high)
    Y = np.stack([drawn[name] for name in goals.metrics.objectives], axis=2)  # (k, c, objectives)
    chosen: list[int] = []
    for y, ok in zip(Y, allowed, strict=True):
        rows = np.flatnonzero(ok) if ok.any() else np.arange(len(y))
        front = rows[non_dominated(y[rows])]
        chosen += front[np.linspace(0, len(front) - 1, min(N_EACH, len(front))).astype(int)].tolist()
    return np.unique(chosen)


# -- one objective under bounds


def _one(
    goals: Goals, game: _Game, known: NDArray[np.intp], more: Sequence[int], rng: np.random.Generator
) -> list[Gain]:
    name, model = goals.metrics.objective, goals.models[goals.metrics.objective]
    believed, truth = game.believed[name], game.truth[name]
    value = np.empty((max(more) + 1, len(truth)))
    for s in range(len(value)):
        counted = np.where(game.counts(), believed.mean, -np.inf)
        value[s] = truth[np.arange(len(truth)), counted.argmax(axis=1)]
        if s + 1 < len(value):
            improvement = expected_improvement(believed.mean, believed.var, counted.max(axis=1))
            game.evaluate(np.log(np.maximum(improvement, 1e-300)) + game.log_feasible(), rng)
    slope = float(model.outcome.slope(goals.belief(name)[0][known[:1]])[0])
    return [gain_of(n, value[n] - value[0], slope) for n in more]


# -- several objectives


def _fronts(
    goals: Goals, game: _Game, known: NDArray[np.intp], more: Sequence[int], rng: np.random.Generator
) -> list[Gain]:
    names, level = tuple(goals.metrics.objectives), goals.levels()
    r = reference_point(level, level[known])
    now = hypervolume(level[known], r)
    truth = np.stack([game.truth[name] for name in names], axis=2)  # (k, m, objectives)
    before, gains = _volumes(truth, game.counts(), r), []
    for s in range(1, max(more) + 1):
        counts, means = game.counts(), np.stack([game.believed[name].mean for name in names], axis=2)
        deviations = np.stack([game.believed[name].std for name in names], axis=2)
        merit = np.stack([_log_ehvi(m, d, m[c], r) for m, d, c in zip(means, deviations, counts, strict=True)])
        game.evaluate(merit + game.log_feasible(), rng)
        if s in more:
            grown = (_volumes(truth, game.counts(), r) - before) / now
            gains.append(gain_of(s, grown, 1.0, unit="hypervolume"))
    return gains


def _volumes(truth: Array, counts: NDArray[np.bool_], r: Array) -> Array:  # (k, m, objectives), (k, m) -> (k,)
    return np.array([hypervolume(y[kept], r) for y, kept in zip(truth, counts, strict=True)])


def _log_ehvi(mean: Array, std: Array, front: Array, r: Array) -> Array:  # (m, objectives) -> (m,)
    """The logarithm of the expected hypervolume improvement over a front, see acquisition/hypervolume.py."""
    lower, upper = improvement_boxes(front, r)
    total = np.zeros((len(mean), len(lower)))
    for j in range(len(r)):
        side = Sides.of(lower[:, j], upper[:, j])
        total += side.log_parts(mean[:, j], np.maximum(std[:, j], LEAST_STD))[1][:, side.of_box]
    result: Array = np.logaddexp.reduce(total, axis=1)
    return result
