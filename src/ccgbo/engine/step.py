"""What a step looks at, and what it aims at where there is one objective without constraints.

State          all that a step looks at, apart from the generator
Aim            the parts of the step that depend on what is sought
OneObjective   the optimum of one objective, as in the paper; named metrics: see metric_aim.py

n  observations, d  parameters, p  feature columns, m  candidates
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ccgbo.acquisition import Acquisition, Context
from ccgbo.acquisition.factors import UserPrior
from ccgbo.acquisition.feasibility import FeasibilityFactor
from ccgbo.arrays import Array
from ccgbo.credit.field import Located
from ccgbo.credit.scores import Scores, score
from ccgbo.engine.candidates import local_candidates
from ccgbo.engine.goals import Goals
from ccgbo.engine.model import Model, best_row
from ccgbo.engine.noise import is_known
from ccgbo.engine.search import Excluded, movable
from ccgbo.engine.settings import Settings
from ccgbo.metrics import VALUE
from ccgbo.space import Space
from ccgbo.space.coordinates import NEAR
from ccgbo.surrogate.base import Posterior
from ccgbo.surrogate.gp.posterior import GP
from ccgbo.surrogate.integrated import integrated
from ccgbo.surrogate.optima import Optima, maximise_paths

N_CENTRES = 5  # observations that local candidates lie around


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """All that a step looks at, apart from the generator."""

    space: Space
    settings: Settings
    t: int
    """The iteration: suggestions made by the model so far, see OptimizerState."""
    models: Mapping[str, Model]
    """The model of each metric, made when it is first asked for."""
    placed: Array
    """(., d) positions of the observations of the objective, of which its model may keep some."""
    pending: Array
    """(k, p) points under evaluation."""
    failed: Array
    """(f, p) points whose evaluation failed."""
    excluded: Excluded
    """Points that must not be suggested again."""
    prior: UserPrior | None = None
    """The user's belief about where the optimum is."""
    goals: Goals | None = None
    """Where there are constraints or several objectives, the beliefs about all metrics."""

    @property
    def model(self) -> Model:
        """That of the objective, of several the first."""
        return next(iter(self.models.values()))

    @property
    def observed(self) -> Array:
        """(n, d) positions of the observations of ``model``."""
        return self.placed[self.model.rows]

    @property
    def best(self) -> int:
        """The row of the best observation by posterior mean."""
        return best_row(self.model.mean, self.observed)


class Aim(Protocol):
    """What is sought."""

    def acquisition(self, scheduled: Acquisition) -> Acquisition:
        """What is maximised at a turn of this acquisition."""

    def sample_optima(self, U: Array, rng: np.random.Generator) -> Any:
        """Optima of posterior paths over candidates (m, d) and observations."""

    def score(self, optima: Any) -> Scores:
        """How likely each observation could have produced them."""

    def places(self) -> Located:
        """What the scores are of."""

    def with_pending(self, rng: np.random.Generator) -> Mapping[str, Posterior]:
        """The posteriors with a fantasy at each pending point."""

    def nearby(self, scores: Scores | None, rng: np.random.Generator) -> Array:
        """(c, d) candidates around the most credited observations, without credit around the best predicted."""

    def context(
        self, posteriors: Mapping[str, Posterior], optima: Any, rng: np.random.Generator, F: Array
    ) -> tuple[Context, FeasibilityFactor | None]:
        """What an acquisition may look at, and the factor of outcomes that must keep their bounds."""

    def incumbent(self) -> float:
        """What is to be improved on."""

    def unit(self) -> Array:
        """(p,) distance that counts as one along each column."""


@dataclass(frozen=True, slots=True)
class OneObjective:
    """The optimum of one objective."""

    state: State

    def acquisition(self, scheduled: Acquisition) -> Acquisition:
        return scheduled

    def sample_optima(self, U: Array, rng: np.random.Generator) -> Optima:
        """The maxima of posterior paths over candidates and observations."""
        state = self.state
        tuning, paths = state.settings.tuning, state.model.posterior.paths(state.settings.credit.n_paths, rng)
        U = U[: tuning.path_candidates]
        free = movable(state.space, np.concatenate([U, state.observed]))
        F, surface = state.space.features(U), state.space.surface
        return maximise_paths(paths, F, free, steps=tuning.path_steps, surface=surface, elsewhere=elsewhere(state))

    def score(self, optima: Optima) -> Scores:
        s, model = self.state.settings, self.state.model
        return score(model.mean, model.std, optima.z, floor=s.credit.floor, eps=s.tuning.score_eps)

    def places(self) -> Located:
        return self.state.model.posterior

    def with_pending(self, rng: np.random.Generator) -> Mapping[str, Posterior]:
        return {VALUE: with_fantasies(integrated_posterior(self.state), self.state, rng)}

    def nearby(self, scores: Scores | None, rng: np.random.Generator) -> Array:
        state = self.state
        centres = most(state.model.mean if scores is None else scores.credit, state.observed)
        return local_candidates(state.space, centres, state.settings.tuning.n_local, rng)

    def context(
        self, posteriors: Mapping[str, Posterior], optima: Any, rng: np.random.Generator, F: Array
    ) -> tuple[Context, None]:
        return Context(posteriors[VALUE], self.incumbent(), optima, rng, self.state.t, F), None

    def incumbent(self) -> float:
        """The largest posterior mean at the observations; of one that the space does not have, at the point beside it.

        What was observed at another value of a fixed parameter, or beyond a bound that was narrowed since, cannot be
        had again: measured against it no point of the space would promise any improvement.
        """
        state = self.state
        mean, away = state.model.mean.copy(), elsewhere(state)
        if len(away):
            beside = state.space.snap(state.observed[away])
            mean[away] = state.model.posterior.predict(state.space.features(beside))[0]
        return float(mean.max())

    def unit(self) -> Array:
        return self.state.model.posterior.unit


def elsewhere(state: State, U: Array | None = None) -> NDArray[np.intp]:
    """Rows of the observations that are no points of the space: beyond a bound, or at other values than are fixed."""
    U = state.observed if U is None else U
    return np.flatnonzero(np.abs(state.space.snap(U) - U).max(axis=1) > NEAR)


def integrated_posterior(state: State) -> Posterior:
    """What an acquisition sees: the model's posterior or, with ``FitSettings.hyper_samples``, an average over draws of
    its hyperparameters. Credit, where it is on, decides how much each of them counts."""
    settings, posterior = state.settings, state.model.posterior
    if not isinstance(posterior, GP):
        return posterior
    return integrated(
        posterior,
        settings.fit,
        settings.tuning,
        credited=settings.credit.strength > 0.0,
        known_noise=is_known(settings.noise),
    )


def with_fantasies(posterior: Posterior, state: State, rng: np.random.Generator) -> Posterior:
    """A posterior with a fantasy at each pending point: its mean (the kriging believer) or a joint sample."""
    F = state.pending
    if not len(F):
        return posterior
    if state.settings.pending == "kriging_believer":
        return posterior.condition(F, posterior.predict(F)[0])
    return posterior.condition(F, posterior.paths(1, rng)(F)[:, 0])


def most(merit: Array, U: Array, n: int = N_CENTRES) -> Array:  # (n,), (n, d)
    """The places of the largest merit."""
    places: Array = U[np.argsort(-merit, kind="stable")[:n]]
    return places
