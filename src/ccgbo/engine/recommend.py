"""Which evaluated point to use: the best by the model, the best feasible one, or a few that span a front."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccgbo.arrays import Array
from ccgbo.engine.explain import in_user_units
from ccgbo.engine.goals import Goals
from ccgbo.engine.history import History
from ccgbo.engine.model import best_row
from ccgbo.engine.noise import is_exact
from ccgbo.engine.step import State
from ccgbo.errors import SettingError, UnsupportedError
from ccgbo.metrics import Metrics
from ccgbo.pareto import non_dominated, reference_point, spread_over
from ccgbo.records import Recommendation, Recommended, Trial, numbers_of

MOST = 5  # points that a recommended set has at most


def recommend(state: State, history: History, aspiration: Any = None) -> Recommended:
    """What ``Optimizer.recommend`` returns."""
    goals = state.goals
    if aspiration is not None and (goals is None or not goals.metrics.several):
        raise SettingError(f"aspiration is for several objectives, and there is one; got {aspiration!r}.")
    if goals is None:
        model, data = state.model, history.data()[state.model.rows]
        exact = is_exact(state.settings.noise, data)
        i = best_row(data.values if exact else model.mean, data.U)
        mean, std = in_user_units(model, model.mean[i], model.std[i], history.sign)
        if exact:
            mean, std = history.sign * float(data.values[i]) + 0.0, 0.0  # no -0.0
        trial = history.observed(model.rows[i])
        return Recommendation(trial_id=trial.id, params=dict(trial.params), mean=mean, std=std)
    if not goals.metrics.several:
        return _recommendation(goals, history, _best_feasible(goals))
    rows, level = front_rows(goals), goals.levels()
    if aspiration is not None:
        return _recommendation(goals, history, _nearest(goals, rows, level, aspiration))
    chosen = spread_over(level[rows], reference_point(level, level[rows]), MOST)
    order = sorted((int(rows[i]) for i in chosen), key=lambda row: -level[row, 0])
    return tuple(_recommendation(goals, history, row) for row in order)


def front_rows(goals: Goals) -> NDArray[np.intp]:
    """The trials of the believed front, or while none is feasible the one that is likeliest to be."""
    known = np.flatnonzero(goals.feasible & _inside(goals))
    if not len(known):
        return np.array([int(goals.log_feasibility().argmax())])
    found: NDArray[np.intp] = known[non_dominated(goals.levels()[known])]
    return found


def believed_front(state: State, history: History) -> list[Trial]:
    """The feasible front by the model, without the noise of the values."""
    goals = state.goals
    if goals is None:
        return [history.observed(state.model.rows[state.best])]
    kept = np.flatnonzero(goals.feasible & _inside(goals))
    means = np.stack([goals.belief(name)[0] for name in goals.metrics.objectives], axis=1)
    return [history.trials[history.complete[row]] for row in kept[non_dominated(means[kept])]]


def require_plain(metrics: Metrics, what: str) -> None:
    """Refuse what is of one objective without outcome constraints only."""
    if not metrics.simple:
        said = "; ".join(metrics.describe())
        raise UnsupportedError(f"{what} is for one objective without outcome constraints, got {said}.")


def _inside(goals: Goals) -> NDArray[np.bool_]:
    """Trials within the bounds of the space; all where none is."""
    U = goals.measured.U
    inside: NDArray[np.bool_] = np.all((U >= 0.0) & (U <= 1.0), axis=1)
    return inside if np.any(inside & goals.feasible) else np.ones(len(U), dtype=bool)


def best_rows(goals: Goals, n: int) -> NDArray[np.intp]:
    """The trials with the best means of the objective of those believed feasible, of which there must be one."""
    rows, mean = np.flatnonzero(goals.feasible & _inside(goals)), goals.belief(goals.metrics.objective)[0]
    order: NDArray[np.intp] = rows[np.argsort(-mean[rows], kind="stable")[:n]]
    return order


def _best_feasible(goals: Goals) -> int:
    return int(best_rows(goals, 1)[0] if goals.feasible.any() else goals.log_feasibility().argmax())


def _nearest(goals: Goals, rows: NDArray[np.intp], level: Array, aspiration: Any) -> int:
    """The point of the front whose largest shortfall from the aspiration, in standardised units, is least."""
    wanted = numbers_of("aspiration", aspiration, goals.metrics)
    target = [
        float(goals.models[name].outcome.forward(np.array([goals.metrics.sign(name) * wanted[name]]))[0])
        for name in goals.metrics.objectives
    ]
    shortfall = (np.array(target) - level[rows]).max(axis=1)
    return int(rows[shortfall.argmin()])


def _recommendation(goals: Goals, history: History, row: int) -> Recommendation:
    trial = history.trials[history.complete[row]]
    metrics = believed_metrics(goals, {name: tuple(part[row] for part in goals.belief(name)) for name in known(goals)})
    mean, std = metrics[goals.metrics.objective]
    chances = goals.chances()
    chance = None if chances is None else float(chances[row])
    return Recommendation(
        trial_id=trial.id, params=dict(trial.params), mean=mean, std=std, metrics=metrics, feasibility=chance
    )


def known(goals: Goals) -> list[str]:
    """The metrics of which anything was measured."""
    return [name for name in goals.metrics.names if len(goals.measured.rows(name))]


def believed_metrics(goals: Goals, beliefs: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Means and standard deviations by metric in the user's units."""
    return {
        name: in_user_units(goals.models[name], mean, std, goals.metrics.sign(name))
        for name, (mean, std) in beliefs.items()
    }
