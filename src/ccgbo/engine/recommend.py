"""Which evaluated point to use: the best of one objective, the best feasible one, or a few that span a front.

Of one objective it is the point of best posterior mean where evaluations are noisy, and that of best value where they
are exact. Where nobody said which, the observations do (``speaks_of_noise``): a model always allows for some noise, and
takes what it cannot explain for it. docs/lab/noise.md has the figures.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccgbo.arrays import Array
from ccgbo.engine.explain import in_user_units
from ccgbo.engine.goals import Goals
from ccgbo.engine.history import Data, History
from ccgbo.engine.model import best_row, build_model
from ccgbo.engine.noise import is_exact, is_known
from ccgbo.engine.settings import Settings
from ccgbo.engine.step import State
from ccgbo.errors import SettingError, UnsupportedError
from ccgbo.metrics import Metrics
from ccgbo.pareto import non_dominated, reference_point, spread_over
from ccgbo.records import Recommendation, Recommended, Trial, numbers_of
from ccgbo.surrogate.gp.fit import NegLogPosterior
from ccgbo.surrogate.gp.posterior import GP
from ccgbo.surrogate.outcome_transform import log_jacobian

MOST = 5  # points that a recommended set has at most
OUTLYING = 3.0  # standard deviations of the noise
JUDGED = 200  # observations up to which they are asked about their noise: it costs two fits


def recommend(state: State, history: History, aspiration: Any = None) -> Recommended:
    """What ``Optimizer.recommend`` returns."""
    goals = state.goals
    if aspiration is not None and (goals is None or not goals.metrics.several):
        raise SettingError(f"aspiration is for several objectives, and there is one; got {aspiration!r}.")
    if goals is None:
        model, data = state.model, history.data()[state.model.rows]
        exact, values = is_exact(state.settings.noise, data), deciding_values(state, history.data())
        i = best_row(model.mean if values is None else values, data.U)
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


def deciding_values(state: State, data: Data) -> Array | None:  # (n,)
    """The values by which observations of one objective are recommended; None where their posterior means decide.

    A value that lies further above its mean than noise would explain is no better than the worst: nobody said that
    evaluations are exact, and a slip of the pen looks like that.
    """
    model, values = state.model, data.values[state.model.rows]
    if speaks_of_noise(state, data):
        return None
    if is_exact(state.settings.noise, data) or not isinstance(model.posterior, GP):
        return values
    excess = model.outcome.forward(values) - model.mean
    return np.where(excess > OUTLYING * np.sqrt(model.posterior.noise), values.min(), values)


def speaks_of_noise(state: State, data: Data) -> bool:
    """Whether evaluations are noisy: because it was said, or because the observations are likelier so.

        log p(y, theta | noise) - (log n) / 2 > log p(y, theta' | none)

    with the most likely hyperparameters of each; what is taken off is for the noise, one more parameter that was
    learned (Schwarz 1978). Beyond ``JUDGED`` observations, and with other surrogates than the exact GP, noise is taken
    for granted.
    """
    settings, known, n = state.settings, data.noise[~np.isnan(data.noise)], len(data.values)
    if is_exact(settings.noise, data):
        return False
    most = min(JUDGED, settings.tuning.max_points)
    if is_known(settings.noise) or known.any() or settings.surrogate != "gp" or n > most:
        return True
    noisy, exact = (_log_posterior(replace(settings, noise=noise), state, data) for noise in ("unknown", "none"))
    return noisy - 0.5 * math.log(n) > exact


def _log_posterior(settings: Settings, state: State, data: Data) -> float:
    """log p(y, theta) of the values as they were told, without the prior of the noise."""
    choices = state.space.choices
    model = build_model(data, choices, settings, None, state.model.fit, refit=True)
    y, plain = model.outcome.forward(data.values), replace(settings.fit, noise_prior=None)
    energy = NegLogPosterior(data.F, y, plain, choices, learn_signal=settings.tuning.learn_signal)
    return log_jacobian(model.outcome, data.values) - len(y) * energy(np.array(model.fit.theta))[0]


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
