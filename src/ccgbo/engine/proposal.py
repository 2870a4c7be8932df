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
from typing import Any

import numpy as np

from ccgbo.acquisition import (
    Acquisition,
    BoundAcquisition,
    Factor,
    Turn,
    as_schedule,
    trades_mean,
    weigh,
    with_gradient,
)
from ccgbo.acquisition.factors import PriorFactor, SuccessFactor
from ccgbo.arrays import Array
from ccgbo.credit.field import CreditFactor, credit_factor
from ccgbo.credit.scores import Scores
from ccgbo.engine.candidates import global_candidates, local_candidates
from ccgbo.engine.metric_aim import NamedMetrics
from ccgbo.engine.recombination import LEAST_FACTOR, is_due, recombined
from ccgbo.engine.search import optimize_acquisition
from ccgbo.engine.step import Aim, OneObjective, State
from ccgbo.errors import InfeasibleSpaceError

N_CLOSE = 48  # candidates close to the points that an aim looks ahead to
CLOSE = (-5.0, -2.0)  # decimal logarithms of their least and largest distance


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """Candidates, the weighted acquisition with all that it is made of, and the point that was chosen."""

    acquisition: Acquisition
    U: Array  # (m, d) candidates
    F: Array  # (m, p) their features
    optima: (
        Any  # Optima of posterior paths, or the front of each draw of several objectives; None if nothing needs them
    )
    scores: Scores | None
    credit: CreditFactor | None
    factors: Sequence[Factor | None]  # credit among them
    base: BoundAcquisition
    alpha: Array  # (m,) of the base at the candidates
    weighted: BoundAcquisition
    values: Array  # (m,) of the weighted acquisition at the candidates
    chosen: Array | None = None  # (d,), None where nothing was chosen
    recombines: bool = False  # whether it is the middle of observations, and no maximum of the acquisition

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
    s, t, space, aim = state.settings, state.t, state.space, aim_of(state)  # mu_t, sigma_t
    U = global_candidates(space, s.tuning, rng)  # X_cand
    acquisition, acts = aim.acquisition(turn.acquisition), turn.credited and s.credit.strength > 0.0
    optima = aim.sample_optima(U, rng) if acts or acquisition.needs_optima else None  # Z_t
    scores = aim.score(optima) if acts else None  # l_i, s_i, r_i, c_i
    credit = credit_factor(aim.places(), scores.credit, s.credit, t) if scores else None  # pi(x), w_t(x)
    success = SuccessFactor.build(aim.places(), state.failed, s.fit.kernel)
    posteriors = aim.with_pending(rng)
    U = np.concatenate([U, aim.nearby(scores, rng)])
    F = space.features(U)
    context, feasibility = aim.context(posteriors, optima, rng, F)
    factors = [credit, prior_factor(state), success, feasibility]
    base = with_gradient(acquisition.bind(context), space.continuous_columns)
    alpha = base(F)
    weighted, values = weigh(base, alpha, acquisition.codomain, factors, F)  # Eq. (4)
    return Proposal(
        acquisition=acquisition,
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
    middle = _middle(state, proposal) if is_due(state) else None
    if middle is not None:
        return replace(proposal, chosen=middle, recombines=True)
    if is_gated(state, proposal):
        plain = proposal.without_credit()
        u = _search(state, plain, rng)
        if not pays_with_mean(state, state.space.features(u[None, :])):
            return replace(plain, chosen=u)
    return replace(proposal, chosen=_search(state, proposal, rng))


def is_gated(state: State, proposal: Proposal) -> bool:
    """Whether credit acts only where the choice without it would pay with the mean."""
    rule = state.settings.credit.credit_when == "base_mean_below_incumbent"
    return rule and proposal.credit is not None and trades_mean(proposal.acquisition)


def pays_with_mean(state: State, f: Array) -> bool:  # (1, p)
    """Whether a point has a smaller mean than the best observation."""
    return not state.model.posterior.predict(f)[0][0] >= aim_of(state).incumbent()


def _middle(state: State, proposal: Proposal) -> Array | None:  # (d,)
    """The middle of the most credited observations, if a prior over the optimum and failures leave it a chance."""
    middle = recombined(state, state.model.mean if proposal.scores is None else proposal.scores.credit)
    if middle is None:
        return None
    f = state.space.features(middle[None, :])
    others = [factor for factor in proposal.factors if factor is not None and factor is not proposal.credit]
    return middle if all(factor(f)[0] >= LEAST_FACTOR for factor in others) else None


def _search(state: State, proposal: Proposal, rng: np.random.Generator) -> Array:  # (d,)
    """The best point of the weighted acquisition, sought from the best candidates and what the aim looks ahead to."""
    aim, space, U, values = aim_of(state), state.space, proposal.U, proposal.values
    ahead = aim.ahead()
    if len(ahead):
        more = np.concatenate([ahead, local_candidates(space, ahead, N_CLOSE, rng, CLOSE)])
        U, values = np.concatenate([more, U]), np.concatenate([proposal.weighted(space.features(more)), values])
    return optimize_acquisition(
        proposal.weighted,
        space,
        U,
        values,
        state.settings.tuning,
        state.excluded,
        unit=aim.unit(),
        rng=rng,
        surely=len(ahead),
    )


# -- what the step is made of


def aim_of(state: State) -> Aim:
    """What is sought: the optimum of one objective or, where metrics have names, what they say."""
    return OneObjective(state) if state.goals is None else NamedMetrics(state, state.goals)


def question(state: State, rng: np.random.Generator) -> tuple[Any, Scores]:
    """Which observation could have produced the optimum? As the next step with credit asks it."""
    try:
        U = global_candidates(state.space, state.settings.tuning, rng)
    except InfeasibleSpaceError:  # nothing can be asked; what was told from elsewhere still has its credit
        U = np.empty((0, state.space.d))
    aim = aim_of(state)
    optima = aim.sample_optima(U, rng)
    return optima, aim.score(optima)


def prior_factor(state: State) -> PriorFactor | None:
    if state.prior is None:
        return None
    return PriorFactor(state.prior, state.space, state.settings.prior_strength / max(state.t, 1))
