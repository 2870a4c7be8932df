"""What is shown of a choice: the numbers behind one suggestion, in the user's units."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

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
from ccgbo.explanation import MIDDLE, CreditRow, Credits, Explanation, Neighbour
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


def explain_choices(
    state: State,
    proposal: Proposal,
    U: Array,  # (r, d) points that were chosen together
    history: History,
) -> list[Explanation]:
    """Everything that made each of the chosen points a good one."""
    F, credit = state.space.features(U), proposal.credit
    total = np.ones(len(F))
    for factor in proposal.factors:
        total *= 1.0 if factor is None else factor(F)
    base, weight = proposal.base(F), np.ones(len(F)) if credit is None else credit.weight(F)
    near = [()] * len(F) if proposal.scores is None else _neighbours(F, history, state, proposal.scores)
    expected = _expected(state, proposal, F, history) if state.goals is None else _by_metric(state.goals, proposal, F)
    return [
        Explanation(
            reason="suggested by the model",
            t=state.t,
            acquisition=MIDDLE if proposal.recombines else type(proposal.acquisition).__name__,
            base=float(base[i]),
            weight=float(weight[i]),
            factor=float(total[i]),
            neighbours=near[i],
            on_log_scale=state.goals is None and state.model.on_log_scale,
            **expected[i],
        )
        for i in range(len(F))
    ]


def _expected(state: State, proposal: Proposal, F: Array, history: History) -> list[dict[str, Any]]:
    """What the objective is expected to be at each point, and at the optimum."""
    model, sign, optima = state.model, history.sign, proposal.optima
    mean, std = model.posterior.predict(F)
    proxy = None if optima is None else in_user_units(model, optima.z, 0.0, sign)[0]
    pairs = [in_user_units(model, float(m), float(s), sign) for m, s in zip(mean, std, strict=True)]
    return [{"mean": m, "std": s, "proxy": proxy} for m, s in pairs]


def _by_metric(goals: Goals, proposal: Proposal, F: Array) -> list[dict[str, Any]]:
    """What each metric that is needed is expected to be at each point, and which of them decided."""
    beliefs = {name: goals.models[name].posterior.predict(F) for name in goals.needed}
    kept = {name: log_within(*beliefs[name], *goals.bounds(name))[0] for name in goals.bounded}
    objective, sign = goals.metrics.objective, goals.metrics.sign
    z = math.nan if proposal.scores is None else proposal.scores.z
    proxy = None if math.isnan(z) else in_user_units(goals.models[objective], z, 0.0, sign(objective))[0]
    out = []
    for i in range(len(F)):
        said = {n: in_user_units(goals.models[n], m[i], s[i], sign(n)) for n, (m, s) in beliefs.items()}
        mean, std = said.get(objective, (None, None))
        chances = {name: float(logs[i]) for name, logs in kept.items()}
        feasibility = math.exp(sum(chances.values())) if chances and not goals.unmeasured else None
        decided = _decided(goals, proposal, F[i : i + 1], chances)
        expected = {"mean": mean, "std": std, "proxy": proxy, "metrics": said}
        out.append({**expected, "feasibility": feasibility, "decided_by": decided})
    return out


def _decided(goals: Goals, proposal: Proposal, f: Array, kept: Mapping[str, float]) -> str:
    """The bound that is likelier broken than kept, or the objective that the acquisition gains most by."""
    if kept and (min(kept.values()) < math.log(0.5) or not goals.feasible.any()):
        return min(kept, key=lambda name: kept[name])
    if isinstance(proposal.base, HypervolumeScore):
        return list(goals.metrics.objectives)[int(proposal.base.by_mean(f)[0].argmax())]
    return goals.metrics.objective


def _neighbours(F: Array, history: History, state: State, scores: Scores) -> list[tuple[Neighbour, ...]]:
    """The nearest observations to each of the points, with their credit."""
    credit, places, trials = state.settings.credit, aim_of(state).places(), scored_trials(state, history)
    metric = plain_metric(places) if credit.field == "knn" else places.metric
    return [
        tuple(
            Neighbour(trial_id=trials[i].id, distance=float(distance[i]), credit=float(scores.credit[i]))
            for i in np.argsort(distance, kind="stable")[: credit.n_neighbours]
        )
        for distance in np.sqrt(metric.between(F, places.X))
    ]


def credit_rows(trials: Sequence[Trial], scores: Scores, goals: Goals | None = None) -> Credits:
    """The scores of the observations behind them; of named metrics with the probability of being feasible."""
    chance = None if goals is None else goals.chances()
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
