"""Why a point is suggested: what its prediction rests on, and what would be suggested without some observations."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace

import numpy as np

from ccgbo.arrays import Array
from ccgbo.engine.explain import in_user_units
from ccgbo.engine.history import History
from ccgbo.engine.influence import deletable, moved
from ccgbo.engine.model import Model
from ccgbo.engine.proposal import propose
from ccgbo.engine.step import State
from ccgbo.influence import PointInfluence, SuggestionChange, Support
from ccgbo.metrics import VALUE
from ccgbo.surrogate.base import Rows


def reasons_for(state: State, history: History, u: Array, top: int) -> PointInfluence:  # (d,)
    """What the prediction at a point rests on: the ``top`` observations without which it would differ most.

    How much a prediction differs is the Kullback-Leibler divergence of what it is from what it would be.
    """
    model, f = state.model, state.space.features(u[None, :])
    mean, std = (float(v[0]) for v in model.posterior.predict(f))
    means, stds = (v[:, 0] for v in deletable(state).deletions(1, np.random.default_rng(0)).leave_one_out(f))
    divergence = np.log(stds / std) + (std**2 + (mean - means) ** 2) / (2.0 * stds**2) - 0.5
    supports = []
    for i in np.argsort(-divergence, kind="stable")[:top]:
        without = in_user_units(model, means[i], stds[i], history.sign)
        supports.append(Support(trial_id=history.observed(model.rows[i]).id, mean=without[0], std=without[1]))
    expected = in_user_units(model, mean, std, history.sign)
    return PointInfluence(params=state.space.decode(u), mean=expected[0], std=expected[1], supports=tuple(supports))


def reasons_for_next(
    state: State,
    history: History,
    rng: np.random.Generator,  # as the next step will find it
    groups: Mapping[str, tuple[int, ...]],
    top: int,
) -> PointInfluence:
    """The next suggestion, and what it would be without the observations it rests on and without each group.

    Each costs a step. The step is made with the random numbers of the next one, so it is the observations that matter.
    """
    chosen = propose(state, deepcopy(rng)).chosen
    assert chosen is not None
    why = reasons_for(state, history, chosen, top)
    row_of = {history.observed(row).id: i for i, row in enumerate(state.model.rows)}
    asked = {f"trial {s.trial_id}": (s.trial_id,) for s in why.supports} | dict(groups)
    changes = []
    for name, ids in asked.items():
        rows = np.array([row_of[i] for i in ids if i in row_of], dtype=np.intp)
        if not 0 < len(rows) < len(row_of):
            continue
        instead = propose(without(state, rows), deepcopy(rng)).chosen
        assert instead is not None
        changes.append(
            SuggestionChange(
                name=name,
                trial_ids=tuple(ids),
                params=state.space.decode(instead),
                moved=float(moved(state.space, chosen, instead[None])[0]),
            )
        )
    return replace(why, changes=tuple(changes))


def without(state: State, rows: Rows) -> State:
    """What the step would look at if some of the observations, not all, had never been made."""
    model, posterior = state.model, deletable(state).without(rows)
    left = Model(posterior, np.delete(model.rows, rows), model.outcome, model.fit, *posterior.at_observations())
    F = state.space.features(state.observed[rows])
    return replace(state, models={VALUE: left}, excluded=state.excluded.without(F))
