"""What an optimizer knows at one moment, seen through the model of one metric: observations, values, credits.

n  observations in the model
"""

from __future__ import annotations

import copy
import math
from functools import cached_property
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ccgbo.acquisition import Turn, as_schedule
from ccgbo.arrays import Array
from ccgbo.engine.goals import Goals
from ccgbo.engine.metric_aim import NamedMetrics
from ccgbo.engine.optimizer import Optimizer
from ccgbo.engine.proposal import Proposal, aim_of, prepare, question
from ccgbo.engine.recommend import known
from ccgbo.engine.step import State
from ccgbo.engine.threads import blas_threads
from ccgbo.errors import NoObservationsError, SettingError
from ccgbo.records import Recommendation, Trial, as_tuple
from ccgbo.space import Space
from ccgbo.surrogate.base import Paths

ENOUGH = 8  # values below which none is said to be far off


class HasOptimizer(Protocol):
    """A study: whatever can give an optimizer with all it was told."""

    def optimizer(self) -> Optimizer: ...


Source = Optimizer | HasOptimizer


def optimizer_of(source: Source) -> Optimizer:
    return source if isinstance(source, Optimizer) else source.optimizer()


class Moment:
    """All that is known now. Raises NoObservationsError before the first value.

    Where metrics have names, it is seen through the model of one of them, by default of the (first) objective; ``of``
    takes another.
    """

    def __init__(self, source: Source, *, metric: str | None = None) -> None:
        opt = optimizer_of(source)
        self.space: Space = opt.space
        self.metrics, self.direction, self.settings = opt.metrics, opt.direction, opt.settings
        self.every_trial: tuple[Trial, ...] = opt.trials
        self.observations = opt.observations
        self.state, credit = opt.snapshot(), opt.settings.credit
        self._recommend = opt.recommend
        turn = _next_credited(self.state)
        with blas_threads(1):
            self.proposal: Proposal = prepare(self.state, turn, opt.generator())
            self.optima, self.scores = question(self.state, opt.generator())
        self.acts = turn.credited and credit.strength > 0.0 and credit.tau > 0.0  # or is only shown
        self.iteration, self._rng = self.state.t, opt.generator()
        self._show(self.metrics.objective if metric is None else metric)

    def _show(self, metric: str) -> None:
        if metric not in self.metrics.names:
            raise SettingError(self.metrics.unknown(metric))
        if metric not in self.measured:
            raise NoObservationsError(f"{metric!r} was not measured yet.")
        self.metric, self.model, self._sign = metric, self.state.models[metric], self.metrics.sign(metric)

    def of(self, metric: str | None) -> Self:
        """The same moment with the model of another metric; None stays at this one."""
        if metric is None or metric == self.metric:
            return self
        new = copy.copy(self)
        for name in ("rows", "trials", "observed", "values", "window"):
            vars(new).pop(name, None)
        new._show(metric)
        return new

    # -- the observations

    @property
    def goals(self) -> Goals | None:
        """Where metrics have names, the beliefs about all of them."""
        return self.state.goals

    @property
    def measured(self) -> list[str]:
        """The metrics that have a model: of which anything was measured."""
        goals = self.state.goals
        return [self.metrics.objective] if goals is None else known(goals)

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """Which of the complete trials the model knows."""
        goals, rows = self.state.goals, self.model.rows
        return rows if goals is None else goals.measured.rows(self.metric)[rows]

    @cached_property
    def trials(self) -> list[Trial]:
        """The trial behind each of the n observations in the model."""
        return [self.observations[row] for row in self.rows]

    @cached_property
    def credited(self) -> list[Trial]:
        """The trials that ``scores`` are of: those in the model or, where metrics have names, all complete ones."""
        return self.trials if self.state.goals is None else list(self.observations)

    @property
    def best_row(self) -> int:
        """The best of the credited trials by the model; of several objectives one of the front."""
        return self.state.best if self.goals is None else int(self.by_merit[0])

    @cached_property
    def observed(self) -> tuple[Array, Array]:
        """Posterior mean (n,) and standard deviation (n,) at the observations, in the user's units."""
        return self.in_user_units(self.model.mean, self.model.std)

    @property
    def believed(self) -> tuple[Array, Array]:
        """The same at every credited trial, where metrics have names: also where this one was not measured."""
        assert self.goals is not None
        return self.in_user_units(*self.goals.belief(self.metric))

    @cached_property
    def values(self) -> Array:  # (n,)
        """What was told."""
        return np.array([trial.values[self.metric] for trial in self.trials], dtype=float)

    @cached_property
    def window(self) -> tuple[float, float]:
        """The range of values worth showing: what was told, without far-off bad values, and a little around it.

        Where tails are drawn in (``outcome_transform="robust"``) the model's belief far from the data is wide beyond
        any use. Of a constraint no value is better than another, and its bounds belong into the picture.
        """
        low, high = float(self.values.min()), float(self.values.max())
        if self.metric not in self.metrics.objectives:
            low, high = min(low, *self.bounds), max(high, *self.bounds)
        elif len(self.values) >= ENOUGH:
            first, third = (float(q) for q in np.quantile(self.values, [0.25, 0.75]))
            reach = 1.5 * (third - first)
            if reach > 0.0 and self._sign > 0:
                low = max(low, first - reach)
            elif reach > 0.0:
                high = min(high, third + reach)
        margin = 0.15 * (high - low) or 0.1 * abs(high) or 1.0
        return low - margin, high + margin

    @property
    def bounds(self) -> list[float]:
        """The bounds that this metric has to keep; none where it has none."""
        bound = self.metrics.constraints.get(self.metric)
        return [] if bound is None else [end for end in (bound.lower, bound.upper) if math.isfinite(end)]

    @property
    def colors(self) -> dict[str, tuple[float, float]]:
        """What the colours of a map span, where that is not simply all there is."""
        low, high = self.window
        return {"mean": (low, high), "std": (0.0, 0.5 * (high - low)), "feasibility": (0.0, 1.0)}

    @property
    def credits(self) -> Array:  # (n,)
        """Of the n observations in the model."""
        credit: Array = self.scores.credit if self.goals is None else self.scores.credit[self.rows]
        return credit

    @property
    def proxy(self) -> float:
        """Z_t in the user's units, of the objective; of several there is none, and it is NaN."""
        return float(self.of(self.metrics.objective).to_user_units(np.array([self.scores.z]))[0])

    @property
    def gap(self) -> Array:  # (n,)
        """|Z_t - mu_i| / sqrt(sigma_i^2 + eps_c): how many standard deviations below the proxy each one lies."""
        mean, std = (self.model.mean, self.model.std) if self.goals is None else self.goals.belief(self.metric)
        result: Array = np.abs(self.scores.z - mean) / np.sqrt(std**2 + self.settings.tuning.score_eps)
        return result

    def paths(self, k: int) -> Paths:
        """k posterior paths, in the model's units."""
        return self.model.posterior.paths(k, copy.deepcopy(self._rng))

    def to_user_units(self, y: Array) -> Array:
        """Values of the model (mean, paths) as the user would write them."""
        return self.in_user_units(y, np.zeros_like(y))[0]

    def in_user_units(self, mean: Array, std: Array) -> tuple[Array, Array]:
        value, deviation = self.model.in_user_units(mean, std)
        return self._sign * value, deviation

    @cached_property
    def recommended(self) -> Recommendation:
        """The evaluated point to use; of several objectives the first of those that span the front."""
        return as_tuple(self._recommend())[0]

    @cached_property
    def by_merit(self) -> NDArray[np.intp]:
        """The credited trials: the recommended one, then the best by the model; of a front the most credited first."""
        aim = aim_of(self.state)
        if isinstance(aim, NamedMetrics):
            return np.lexsort((-self.scores.credit, -aim.merit()))
        others = np.array([trial.id != self.recommended.trial_id for trial in self.credited])
        return np.lexsort((-self.model.mean, others))


def _next_credited(state: State) -> Turn:
    """The next turn in which credit weighs the acquisition, or if it weighs none the present one."""
    schedule = as_schedule(state.settings.acquisition)
    turns = [schedule.at(state.t + k, state.space) for k in range(64)]
    return next((turn for turn in turns if turn.credited), turns[0])
