"""What is shown of a choice: the numbers behind one suggestion, in the user's units."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ccgbo.arrays import Array
from ccgbo.credit.field import plain_metric
from ccgbo.credit.scores import Scores
from ccgbo.engine.history import History
from ccgbo.engine.model import Model
from ccgbo.engine.proposal import Proposal, State
from ccgbo.explanation import CreditRow, Credits, Explanation, Neighbour
from ccgbo.records import Trial


def in_user_units(model: Model, mean: float, std: float, sign: float) -> tuple[float, float]:
    """Mean and standard deviation of the model as the user would write them."""
    value, deviation = model.in_user_units(np.array([float(mean)]), np.array([float(std)]))
    return sign * float(value[0]), float(deviation[0])


def explain_choices(
    state: State,
    proposal: Proposal,
    U: Array,  # (r, d) points that were chosen together
    history: History,
) -> list[Explanation]:
    """Everything that made each of the chosen points a good one."""
    model, sign, F = state.model, history.sign, state.space.features(U)
    credit, optima = proposal.credit, proposal.optima
    total = np.ones(len(F))
    for factor in proposal.factors:
        total *= 1.0 if factor is None else factor(F)
    mean, std = model.posterior.predict(F)
    base, weight = proposal.base(F), np.ones(len(F)) if credit is None else credit.weight(F)
    proxy = None if optima is None else in_user_units(model, optima.z, 0.0, sign)[0]
    near = [()] * len(F) if proposal.scores is None else _neighbours(F, history, state, proposal.scores)
    explanations = []
    for i in range(len(F)):
        user_mean, user_std = in_user_units(model, float(mean[i]), float(std[i]), sign)
        explanations.append(
            Explanation(
                reason="suggested by the model",
                t=state.t,
                acquisition=type(proposal.acquisition).__name__,
                mean=user_mean,
                std=user_std,
                base=float(base[i]),
                weight=float(weight[i]),
                factor=float(total[i]),
                proxy=proxy,
                neighbours=near[i],
            )
        )
    return explanations


def _neighbours(F: Array, history: History, state: State, scores: Scores) -> list[tuple[Neighbour, ...]]:
    """The nearest observations to each of the points, with their credit."""
    model, credit = state.model, state.settings.credit
    metric = plain_metric(model.posterior) if credit.field == "knn" else model.posterior.metric
    return [
        tuple(
            Neighbour(
                trial_id=history.observed(model.rows[i]).id,
                distance=float(distance[i]),
                credit=float(scores.credit[i]),
            )
            for i in np.argsort(distance, kind="stable")[: credit.n_neighbours]
        )
        for distance in np.sqrt(metric.between(F, model.posterior.X))
    ]


def credit_rows(trials: Sequence[Trial], scores: Scores) -> Credits:
    """The scores of the observations behind them."""
    return Credits(
        CreditRow(
            trial_id=trial.id,
            params=dict(trial.params),
            value=float(trial.value),  # type: ignore[arg-type]
            score=float(scores.raw[i]),
            rank=float(scores.rank[i]),
            credit=float(scores.credit[i]),
        )
        for i, trial in enumerate(trials)
    )
