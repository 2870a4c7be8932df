"""The step of the algorithm: from what is known to the next point (arXiv 2510.04676v2, Algorithm 1).

    propose    the next point, with everything that led to it: what ``Optimizer.ask`` does
    prepare    the same without choosing, for a given turn of the schedule: what the pictures show
    question   the counterfactual scores alone: what ``Optimizer.credits`` returns

Pure functions of a ``State`` and a generator, which they alone draw from: a copy of the generator shows what the
next step will see.

    n  observations, d  parameters, p  feature columns, m  candidates
    U  (., d)  points in the unit cube         F  (., p)  points as the model sees them
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ccgbo.acquisition import (
    Acquisition,
    BoundAcquisition,
    Context,
    Factor,
    Turn,
    as_schedule,
    trades_mean,
    weigh,
    with_gradient,
)
from ccgbo.acquisition.factors import PriorFactor, SuccessFactor, UserPrior
from ccgbo.arrays import Array
from ccgbo.credit.field import CreditFactor, credit_factor
from ccgbo.credit.scores import Scores, score
from ccgbo.engine.model import Model, best_row
from ccgbo.engine.search import Excluded, global_candidates, local_candidates, movable, optimize_acquisition
from ccgbo.engine.settings import Settings
from ccgbo.errors import InfeasibleSpaceError
from ccgbo.space import Space
from ccgbo.space.coordinates import NEAR
from ccgbo.surrogate.base import Posterior
from ccgbo.surrogate.optima import Optima, maximise_paths

N_CENTRES = 5  # observations that local candidates lie around


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """All that a step looks at, apart from the generator."""

    space: Space
    settings: Settings
    t: int
    """The iteration: suggestions made by the model so far, see OptimizerState."""
    model: Model
    observed: Array
    """(n, d) positions of the model's observations."""
    pending: Array
    """(k, p) points under evaluation."""
    failed: Array
    """(f, p) points whose evaluation failed."""
    excluded: Excluded
    """Points that must not be suggested again."""
    prior: UserPrior | None = None
    """The user's belief about where the optimum is."""

    @property
    def best(self) -> int:
        """The row of the best observation by posterior mean."""
        return best_row(self.model.mean, self.observed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """Candidates, the weighted acquisition with all that it is made of, and the point that was chosen."""

    acquisition: Acquisition
    U: Array  # (m, d) candidates
    F: Array  # (m, p) their features
    optima: Optima | None  # of posterior paths, where something needs them
    scores: Scores | None
    credit: CreditFactor | None
    factors: Sequence[Factor | None]  # credit among them
    base: BoundAcquisition
    alpha: Array  # (m,) of the base at the candidates
    weighted: BoundAcquisition
    values: Array  # (m,) of the weighted acquisition at the candidates
    chosen: Array | None = None  # (d,), None where nothing was chosen

    def without_credit(self) -> Proposal:
        rest = [factor for factor in self.factors if factor is not self.credit]
        weighted, values = weigh(self.base, self.alpha, self.acquisition.codomain, rest, self.F)
        return replace(self, scores=None, credit=None, factors=rest, weighted=weighted, values=values)


def propose(state: State, rng: np.random.Generator) -> Proposal:
    """The next point to evaluate, x_new, with everything that led to it."""
    turn = as_schedule(state.settings.acquisition).at(state.t, state.space)
    return choose(state, prepare(state, turn, rng), rng)


def prepare(state: State, turn: Turn, rng: np.random.Generator) -> Proposal:
    """Candidates and the weighted acquisition at one turn of the schedule."""
    s, t, space, model = state.settings, state.t, state.space, state.model  # mu_t, sigma_t
    U = global_candidates(space, s.tuning, rng)  # X_cand
    acts = turn.credited and s.credit.strength > 0.0
    optima = sample_optima(state, U, rng) if acts or turn.acquisition.needs_optima else None  # Z_t
    scores = score_observations(state, optima) if acts and optima else None  # l_i, s_i, r_i, c_i
    credit = credit_factor(model.posterior, scores.credit, s.credit, t) if scores else None  # pi(x), w_t(x)
    factors = [credit, prior_factor(state), SuccessFactor.build(model.posterior, state.failed, s.fit.kernel)]
    posterior = with_pending(state, rng)
    U = np.concatenate([U, local_candidates(space, _centres(state, scores), s.tuning.n_local, rng)])
    F = space.features(U)
    context = Context(posterior, incumbent(state), optima, rng, t, F)
    base = with_gradient(turn.acquisition.bind(context), space.continuous_columns)
    alpha = base(F)
    weighted, values = weigh(base, alpha, turn.acquisition.codomain, factors, F)  # Eq. (4)
    return Proposal(
        acquisition=turn.acquisition,
        U=U,
        F=F,
        optima=optima,
        scores=scores,
        credit=credit,
        factors=factors,
        base=base,
        alpha=alpha,
        weighted=weighted,
        values=values,
    )


def choose(state: State, proposal: Proposal, rng: np.random.Generator) -> Proposal:
    """The proposal with its best point.

    The gate: an upper confidence bound and a posterior sample pay with what the model expects for what it does not
    know. With ``credit_when="base_mean_below_incumbent"`` credit acts only where they would pay: their own choice,
    without credit, is taken if its mean is no less than that of the best observation.
    """
    gated = state.settings.credit.credit_when == "base_mean_below_incumbent" and trades_mean(proposal.acquisition)
    if gated and proposal.credit is not None:
        plain = proposal.without_credit()
        u = _search(state, plain, rng)
        if state.model.posterior.predict(state.space.features(u[None, :]))[0][0] >= incumbent(state):
            return replace(plain, chosen=u)
    return replace(proposal, chosen=_search(state, proposal, rng))


def _search(state: State, proposal: Proposal, rng: np.random.Generator) -> Array:  # (d,)
    return optimize_acquisition(
        proposal.weighted,
        state.space,
        proposal.U,
        proposal.values,
        state.settings.tuning,
        state.excluded,
        unit=state.model.posterior.unit,
        rng=rng,
    )


# -- what the step is made of


def question(state: State, rng: np.random.Generator) -> tuple[Optima, Scores]:
    """Which observation could have produced the optimum? As the next step with credit asks it."""
    try:
        U = global_candidates(state.space, state.settings.tuning, rng)
    except InfeasibleSpaceError:  # nothing can be asked; what was told from elsewhere still has its credit
        U = np.empty((0, state.space.d))
    optima = sample_optima(state, U, rng)
    return optima, score_observations(state, optima)


def sample_optima(state: State, U: Array, rng: np.random.Generator) -> Optima:
    """The maxima of posterior paths over candidates and observations."""
    tuning, paths = state.settings.tuning, state.model.posterior.paths(state.settings.credit.n_paths, rng)
    U = U[: tuning.path_candidates]
    free = movable(state.space, np.concatenate([U, state.observed]))
    F, surface = state.space.features(U), state.space.surface
    return maximise_paths(paths, F, free, steps=tuning.path_steps, surface=surface, elsewhere=elsewhere(state))


def score_observations(state: State, optima: Optima) -> Scores:
    s = state.settings
    return score(state.model.mean, state.model.std, optima.z, floor=s.credit.floor, eps=s.tuning.score_eps)


def incumbent(state: State) -> float:
    """The largest posterior mean at the observations; of one that the space does not have, at the point beside it.

    What was observed at another value of a fixed parameter, or beyond a bound that was narrowed since, cannot be had
    again: measured against it no point of the space would promise any improvement.
    """
    mean, away = state.model.mean.copy(), elsewhere(state)
    if len(away):
        beside = state.space.snap(state.observed[away])
        mean[away] = state.model.posterior.predict(state.space.features(beside))[0]
    return float(mean.max())


def elsewhere(state: State) -> NDArray[np.intp]:
    """Rows of the observations that are no points of the space: beyond a bound, or at other values than are fixed."""
    return np.flatnonzero(np.abs(state.space.snap(state.observed) - state.observed).max(axis=1) > NEAR)


def prior_factor(state: State) -> PriorFactor | None:
    if state.prior is None:
        return None
    return PriorFactor(state.prior, state.space, state.settings.prior_strength / max(state.t, 1))


def with_pending(state: State, rng: np.random.Generator) -> Posterior:
    """The posterior with a fantasy at each pending point: its mean (the kriging believer) or a joint sample."""
    posterior, F = state.model.posterior, state.pending
    if not len(F):
        return posterior
    if state.settings.pending == "kriging_believer":
        return posterior.condition(F, posterior.predict(F)[0])
    return posterior.condition(F, posterior.paths(1, rng)(F)[:, 0])


def _centres(state: State, scores: Scores | None) -> Array:
    """Observations to look around: the most credited, or without credit the best predicted."""
    merit = scores.credit if scores is not None else state.model.mean
    centres: Array = state.observed[np.argsort(-merit, kind="stable")[:N_CENTRES]]
    return centres
