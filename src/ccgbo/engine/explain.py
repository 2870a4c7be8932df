"""What is shown of a choice: the numbers behind one suggestion, in the user's units."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ccgbo.acquisition.feasibility import log_within
from ccgbo.acquisition.hypervolume import HypervolumeScore
from ccgbo.arrays import Array
from ccgbo.credit.field import plain_metric
from ccgbo.credit.scores import Scores
from ccgbo.engine.goals import Goals
from ccgbo.engine.history import History
from ccgbo.engine.model import Model
from ccgbo.engine.proposal import Proposal, aim_of
from ccgbo.engine.step import State
from ccgbo.explanation import CreditRow, Credits, Explanation, Neighbour
from ccgbo.records import Trial


def in_user_units(model: Model, mean: float, std: float, sign: float) -> tuple[float, float]:
    """Mean and standard deviation of the model as the user would write them."""
    value, deviation = model.in_user_units(np.array([float(mean)]), np.array([float(std)]))
    return sign * float(value[0]), float(deviation[0])


def scored_trials(state: State, history: History) -> list[Trial]:
    """The trials that credits belong to, in their order."""
    if state.goals is None:
        return [history.observed(row) for row in state.model.rows]
    return [history.trials[i] for i in history.complete]


def explain_choice(state: State, proposal: Proposal, history: History) -> Explanation:
    """Everything that made the chosen point the best."""
    assert proposal.chosen is not None
    if state.goals is not None:
        return _explain_metrics(state, state.goals, proposal, history)
    model, sign = state.model, history.sign
    f = state.space.features(proposal.chosen[None, :])
    mean, std = (float(v[0]) for v in model.posterior.predict(f))
    user_mean, user_std = in_user_units(model, mean, std, sign)
    credit, optima, scores = proposal.credit, proposal.optima, proposal.scores
    total = float(np.prod([factor(f)[0] for factor in proposal.factors if factor is not None]))
    return Explanation(
        reason="suggested by the model",
        t=state.t,
        acquisition=type(proposal.acquisition).__name__,
        mean=user_mean,
        std=user_std,
        base=float(proposal.base(f)[0]),
        weight=1.0 if credit is None else float(credit.weight(f)[0]),
        factor=total,
        proxy=None if optima is None else in_user_units(model, optima.z, 0.0, sign)[0],
        neighbours=() if scores is None else _neighbours(f, history, state, scores),
    )


def _explain_metrics(state: State, goals: Goals, proposal: Proposal, history: History) -> Explanation:
    """The same where metrics have names: what each is expected to be, and which of them decided."""
    assert proposal.chosen is not None
    f = state.space.features(proposal.chosen[None, :])
    beliefs = {name: goals.models[name].posterior.predict(f) for name in _needed(goals)}
    said = {
        name: in_user_units(goals.models[name], mean[0], std[0], goals.metrics.sign(name))
        for name, (mean, std) in beliefs.items()
    }
    kept = {name: float(log_within(*beliefs[name], *goals.bounds(name))[0][0]) for name in goals.bounded}
    credit, scores, z = proposal.credit, proposal.scores, math.nan if proposal.scores is None else proposal.scores.z
    objective = goals.metrics.objective
    mean, std = said.get(objective, (None, None))
    return Explanation(
        reason="suggested by the model",
        t=state.t,
        acquisition=type(proposal.acquisition).__name__,
        mean=mean,
        std=std,
        base=float(proposal.base(f)[0]),
        weight=1.0 if credit is None else float(credit.weight(f)[0]),
        factor=float(np.prod([factor(f)[0] for factor in proposal.factors if factor is not None])),
        proxy=None
        if math.isnan(z)
        else in_user_units(goals.models[objective], z, 0.0, goals.metrics.sign(objective))[0],
        neighbours=() if scores is None else _neighbours(f, history, state, scores),
        metrics=said,
        feasibility=math.exp(sum(kept.values())) if goals.metrics.constraints else None,
        decided_by=_decided(goals, proposal, f, kept),
    )


def _needed(goals: Goals) -> list[str]:
    """The metrics that a step looks at: while nothing is feasible, only those that must become so."""
    names = [*(goals.metrics.objectives if goals.feasible.any() else ()), *goals.bounded]
    return list(dict.fromkeys(names))


def _decided(goals: Goals, proposal: Proposal, f: Array, kept: Mapping[str, float]) -> str:
    """The bound that is likelier broken than kept, or the objective that the acquisition gains most by."""
    if kept and (min(kept.values()) < math.log(0.5) or not goals.feasible.any()):
        return min(kept, key=lambda name: kept[name])
    if isinstance(proposal.base, HypervolumeScore):
        return list(goals.metrics.objectives)[int(proposal.base.by_mean(f)[0].argmax())]
    return goals.metrics.objective


def _neighbours(f: Array, history: History, state: State, scores: Scores) -> tuple[Neighbour, ...]:
    credit, places = state.settings.credit, aim_of(state).places()
    trials = scored_trials(state, history)
    metric = plain_metric(places) if credit.field == "knn" else places.metric
    distance = np.sqrt(metric.between(f, places.X)[0])
    return tuple(
        Neighbour(
            trial_id=trials[i].id,
            distance=float(distance[i]),
            credit=float(scores.credit[i]),
        )
        for i in np.argsort(distance, kind="stable")[: credit.n_neighbours]
    )


def credit_rows(trials: Sequence[Trial], scores: Scores, goals: Goals | None = None) -> Credits:
    """The scores of the observations behind them; of named metrics with the probability of being feasible."""
    chance = (
        None if goals is None or not goals.metrics.constraints else np.exp(np.minimum(goals.log_feasibility(), 0.0))
    )
    return Credits(
        CreditRow(
            trial_id=trial.id,
            params=dict(trial.params),
            value=math.nan if trial.value is None else float(trial.value),
            score=float(scores.raw[i]),
            rank=float(scores.rank[i]),
            credit=float(scores.credit[i]),
            values={} if goals is None else trial.values,
            feasibility=None if chance is None else float(chance[i]),
        )
        for i, trial in enumerate(trials)
    )
