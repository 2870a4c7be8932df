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


def explain_choice(state: State, proposal: Proposal, history: History) -> Explanation:
    """Everything that made the chosen point the best."""
    assert proposal.chosen is not None
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


def _neighbours(f: Array, history: History, state: State, scores: Scores) -> tuple[Neighbour, ...]:
    model, credit = state.model, state.settings.credit
    metric = plain_metric(model.posterior) if credit.field == "knn" else model.posterior.metric
    distance = np.sqrt(metric.between(f, model.posterior.X)[0])
    return tuple(
        Neighbour(
            trial_id=history.observed(model.rows[i]).id,
            distance=float(distance[i]),
            credit=float(scores.credit[i]),
        )
        for i in np.argsort(distance, kind="stable")[: credit.n_neighbours]
    )


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
