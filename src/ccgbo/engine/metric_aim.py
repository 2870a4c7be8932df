"""What a step aims at where metrics have names: a feasible optimum, or a front of several objectives.

One objective with outcome constraints: any acquisition over the best feasible value, times the probability of being
feasible; while no feasible point is known, that probability alone. Several objectives: an acquisition of the front.
Credit asks the same question of each observation, about the feasible optimum or the front (goals.py, credit/fronts.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ccgbo.acquisition import Acquisition, Context
from ccgbo.acquisition.feasibility import Feasibility, FeasibilityFactor
from ccgbo.arrays import Array
from ccgbo.credit.field import Located
from ccgbo.credit.fronts import front_log_likelihood
from ccgbo.credit.scores import Scores, log_likelihood, scores_of
from ccgbo.engine.candidates import line_candidates, local_candidates
from ccgbo.engine.goals import Goals
from ccgbo.engine.step import N_CENTRES, State, elsewhere, most, with_fantasies
from ccgbo.pareto import non_dominated
from ccgbo.surrogate.base import Posterior
from ccgbo.surrogate.optima import Optima

FRONT_CANDIDATES = 192  # over which the front of each draw is sought, beside the observations


@dataclass(frozen=True, slots=True)
class NamedMetrics:
    """A feasible optimum, or a front."""

    state: State
    goals: Goals

    def acquisition(self, scheduled: Acquisition) -> Acquisition:
        return scheduled if self.goals.feasible.any() else Feasibility()

    def sample_optima(self, U: Array, rng: np.random.Generator) -> Optima | list[Array]:
        k, goals = self.state.settings.credit.n_paths, self.goals
        F = self.state.space.features(U[:FRONT_CANDIDATES])
        return goals.fronts(F, k, rng) if goals.metrics.several else goals.optima(F, k, rng)

    def score(self, optima: Optima | list[Array]) -> Scores:
        s, goals = self.state.settings, self.goals
        eps, floor = s.tuning.score_eps, s.credit.floor
        if isinstance(optima, Optima):
            z, log_lik = optima.z, log_likelihood(*goals.belief(goals.metrics.objective), optima.z, eps=eps)
        else:
            pairs = [goals.belief(name) for name in goals.metrics.objectives]
            mean, std = (np.stack(part, axis=1) for part in zip(*pairs, strict=True))
            z, log_lik = math.nan, front_log_likelihood(mean, std, optima, eps=eps)
        return scores_of(log_lik + goals.log_feasibility(), z, floor=floor, eps=eps)

    def places(self) -> Located:
        return self.goals.places()

    def with_pending(self, rng: np.random.Generator) -> Mapping[str, Posterior]:
        models = self.state.models
        return {name: with_fantasies(models[name].posterior, self.state, rng) for name in self.goals.needed}

    def nearby(self, scores: Scores | None, rng: np.random.Generator) -> Array:
        """Around a front also candidates that differ from one of its points in one parameter: its ends lie there."""
        U, space, n = self.goals.measured.U, self.state.space, self.state.settings.tuning.n_local
        merit = self.merit() if scores is None else scores.credit
        if not self.goals.metrics.several:
            return local_candidates(space, most(merit, U), n, rng)
        on_front = scores is None and self.goals.feasible.any()
        centres = U[merit > 0.0] if on_front else most(merit, U, 2 * N_CENTRES)
        return np.concatenate([local_candidates(space, centres, n, rng), line_candidates(space, centres, 2 * n, rng)])

    def merit(self) -> Array:  # (n,)
        """How good each trial is: the likely feasible first, of them the best, or those of the front."""
        goals = self.goals
        if not goals.feasible.any():
            return goals.log_feasibility()
        if not goals.metrics.several:
            return np.where(goals.feasible, goals.belief(goals.metrics.objective)[0], -np.inf)
        known = np.flatnonzero(goals.feasible)
        merit = np.zeros(len(goals.feasible))
        merit[known[non_dominated(goals.levels()[known])]] = 1.0
        return merit

    def context(
        self,
        posteriors: Mapping[str, Posterior],
        optima: Optima | list[Array] | None,
        rng: np.random.Generator,
        F: Array,
    ) -> tuple[Context, FeasibilityFactor | None]:
        goals, t = self.goals, self.state.t
        feasibility = FeasibilityFactor(goals.constraints(posteriors)) if goals.bounded else None
        sampled = optima if isinstance(optima, Optima) else None
        if not goals.feasible.any():
            first = posteriors[goals.bounded[0]]
            return Context(first, -math.inf, sampled, rng, t, F), feasibility
        front = goals.front(posteriors, self.state.pending, F, rng) if goals.metrics.several else None
        first = posteriors[goals.metrics.objective]
        return Context(first, self.incumbent(), sampled, rng, t, F, front), feasibility

    def incumbent(self) -> float:
        """The best mean of the objective at a feasible trial; of one beyond the space, at the point beside it."""
        goals = self.goals
        mean, away = goals.belief(goals.metrics.objective)[0].copy(), elsewhere(self.state, goals.measured.U)
        if len(away):
            beside = self.state.space.features(self.state.space.snap(goals.measured.U[away]))
            mean[away] = self.state.models[goals.metrics.objective].posterior.predict(beside)[0]
        return float(mean[goals.feasible].max()) if goals.feasible.any() else -math.inf

    def unit(self) -> Array:
        return self.goals.unit()
