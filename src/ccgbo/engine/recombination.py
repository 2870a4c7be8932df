"""The middle of the most promising observations, as a point to evaluate.

    w_i  in proportion to  log(m + 1/2) - log i,   i = 1, ..., m   the places by credit, or without it by posterior mean

Of 20 points in 100 dimensions none is good in more than some of the coordinates, and nothing tells in which. Their
weighted mean keeps what the better ones have in common and averages out what they have not, as the recombination of
an evolution strategy does (Hansen 2016, arXiv 1604.00772, whose weights these are). No acquisition looks there: to a
model without a trend the middle is an average place.

With fewer parameters the model has something to say, and the middle is for when it was wrong: after a suggestion that
did not become the best, as a simplex contracts when its reflection fails (Nelder and Mead 1965).

A mean of choices is none, so only observations with the choices of the most promising one take part.
"""

from __future__ import annotations

import numpy as np

from ccgbo.arrays import Array
from ccgbo.engine.step import State
from ccgbo.space import Categorical, Space

PARENTS = 10  # m, at most
LEAST_FACTOR = 0.1  # of what else weighs an acquisition: a prior over the optimum, the chance of success


def is_due(state: State) -> bool:
    """Whether this suggestion of one objective is the middle: it is time for it, or the search has stalled."""
    if state.goals is not None:
        return False
    tuning, space = state.settings.tuning, state.space
    if tuning.recombine_every is not None and state.t % tuning.recombine_every == 0:
        return True
    if tuning.recombine_stalled is None or space.mixed or space.d < tuning.recombine_from:
        return False
    return _since_best(state) % tuning.recombine_stalled == 1


def _since_best(state: State) -> int:
    """How many suggestions ago the best observation was made; all of them, if it was before the first."""
    told_since = len(state.placed) - 1 - int(state.model.rows[state.best])
    return min(told_since, state.t)


def recombined(state: State, merit: Array) -> Array | None:  # (n,) of the observations -> (d,)
    """The weighted mean of the observations of most merit; None where there are no two, or it may not be asked for."""
    space, order = state.space, np.argsort(-merit, kind="stable")
    U = space.snap(state.observed[order])
    U = U[_alike(space, U)][:PARENTS]
    if len(U) < 2:
        return None
    weights = np.log(len(U) + 0.5) - np.log(np.arange(1.0, len(U) + 1.0))
    middle = space.repair(space.snap((weights / weights.sum() @ U)[None, :]))
    allowed = space.feasible(middle)[0] and state.excluded.keeps_distance(space.features(middle)[0])
    return middle[0] if allowed else None


def _alike(space: Space, U: Array) -> Array:  # (n, d) -> (n,) bool
    """Which points have the choices of the first, and the same parameters in use."""
    chosen = [j for j in space.discrete if isinstance(space.parameters[j], Categorical)]
    alike: Array = (U[:, chosen] == U[0, chosen]).all(axis=1)
    return alike & (space.active(U) == space.active(U[:1])).all(axis=1) if space.conditional else alike
