"""A look inside an optimizer at one moment: posterior, credits, credit field, base and weighted acquisition.

Looking changes nothing: the generator is a copy and no refit is committed, so the next ``ask`` suggests what it would
have suggested.

    n  observations in the model, m  points looked at
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ccgbo.acquisition import BoundAcquisition, Turn, as_schedule
from ccgbo.arrays import Array
from ccgbo.credit.field import FIELDS
from ccgbo.engine.goals import Goals
from ccgbo.engine.metric_aim import NamedMetrics
from ccgbo.engine.optimizer import Optimizer
from ccgbo.engine.proposal import aim_of, prepare, question
from ccgbo.engine.recommend import known
from ccgbo.engine.step import State
from ccgbo.engine.threads import blas_threads
from ccgbo.errors import NoObservationsError, SettingError
from ccgbo.records import Trial
from ccgbo.space import Space
from ccgbo.surrogate.base import Paths
from ccgbo.viz.axes import axis_of
from ccgbo.viz.layers import Layers, Map, Slice

MOST_SEEN = 24  # cuts that are kept
LEAST_LOG = 25.0  # of the logarithm of an acquisition, below its highest in a cut: far less is nothing
ENOUGH = 8  # values below which none is said to be far off


class HasOptimizer(Protocol):
    """A study: whatever can give an optimizer with all it was told."""

    def optimizer(self) -> Optimizer: ...


Source = Optimizer | HasOptimizer


def optimizer_of(source: Source) -> Optimizer:
    return source if isinstance(source, Optimizer) else source.optimizer()


class ModelView:
    """Everything ``ask`` would look at now. Raises NoObservationsError before the first value.

    Where acquisitions take turns, the acquisition shown is the next one that credit weighs. Where metrics have names,
    the model shown is that of one of them, by default of the (first) objective: ``of`` shows another.
    """

    def __init__(self, source: Source, *, metric: str | None = None) -> None:
        opt = optimizer_of(source)
        self.space: Space = opt.space
        self.metrics, self.direction, self.settings = opt.metrics, opt.direction, opt.settings
        self.every_trial: tuple[Trial, ...] = opt.trials
        state, credit = opt.snapshot(), opt.settings.credit
        turn = _next_credited(state)
        with blas_threads(1):
            proposal = prepare(state, turn, opt.generator())
            self.optima, self.scores = question(state, opt.generator())
        self.state = state
        self.acts = turn.credited and credit.strength > 0.0 and credit.tau > 0.0  # or is only shown
        self.base: BoundAcquisition = proposal.base
        self.weighted: BoundAcquisition = proposal.weighted
        self.iteration, self._credit, self._rng = state.t, proposal.credit, opt.generator()
        self.observations = opt.observations
        self._log = self.goals is not None and proposal.acquisition.codomain == "log"
        self._seen: dict[bytes, tuple[Array, ...]] = {}  # shared with the views of other metrics
        self._show(self.metrics.objective if metric is None else metric)

    def _show(self, metric: str) -> None:
        if metric not in self.metrics.names:
            raise SettingError(self.metrics.unknown(metric))
        if metric not in self.measured:
            raise NoObservationsError(f"{metric!r} was not measured yet.")
        self.metric, self.model, self._sign = metric, self.state.models[metric], self.metrics.sign(metric)

    def of(self, metric: str | None) -> ModelView:
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
        return self.state.best if self.goals is None else int(self._by_merit[0])

    @cached_property
    def observed(self) -> tuple[Array, Array]:
        """Posterior mean (n,) and standard deviation (n,) at the observations, in the user's units."""
        return self._in_user_units(self.model.mean, self.model.std)

    @property
    def believed(self) -> tuple[Array, Array]:
        """The same at every credited trial, where metrics have names: also where this one was not measured."""
        assert self.goals is not None
        return self._in_user_units(*self.goals.belief(self.metric))

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

    # -- the space

    def at(self, params: Sequence[Mapping[str, Any]]) -> Layers:
        """The model at points of the space."""
        return self.at_units(np.array([self.space.encode(point) for point in params]).reshape(-1, self.space.d))

    def at_units(self, U: Array) -> Layers:  # (m, d)
        F = self.space.features(self.space.snap(U))
        with blas_threads(1):
            y, spread = self.model.posterior.predict(F)
            mean, std = self._in_user_units(y, spread)
            ends = self.to_user_units(y - 1.96 * spread), self.to_user_units(y + 1.96 * spread)
            low, high = np.minimum(*ends), np.maximum(*ends)
            return Layers(mean, std, low, high, *self._guidance(F))

    def _guidance(self, F: Array) -> tuple[Array, ...]:
        """What does not depend on the metric that is shown; kept, since the others are looked at in the same places."""
        key = F.tobytes()
        found = self._seen.get(key)
        if found is None:
            weight = np.ones(len(F)) if self._credit is None else self._credit.weight(F)
            found = self._field(F), weight, self.base(F), self.weighted(F), self.feasibility(F)
            if len(self.measured) > 1:
                self._seen[key] = found
            if len(self._seen) > MOST_SEEN:
                self._seen.pop(next(iter(self._seen)))
        return found

    def feasibility(self, F: Array) -> Array:  # (m, p) -> (m,)
        """The probability that every outcome constraint is kept."""
        goals = self.goals
        if goals is None or not goals.bounded:
            return np.ones(len(F))
        bounded = goals.constraints({name: goals.models[name].posterior for name in goals.bounded})
        result: Array = np.exp(np.minimum(sum(part.log_probability(F) for part in bounded), 0.0))
        return result

    def to_user_units(self, y: Array) -> Array:
        """Values of the model (mean, paths) as the user would write them."""
        result: Array = self._sign * self.model.outcome.inverse(y)
        return result

    def _in_user_units(self, mean: Array, std: Array) -> tuple[Array, Array]:
        value, deviation = self.model.in_user_units(mean, std)
        return self._sign * value, deviation

    def _field(self, F: Array) -> Array:
        """pi(x), shown even where ``strength=0`` keeps it from acting."""
        c = self.settings.credit
        credit = self.scores.credit
        if len(credit) < max(c.n_neighbours, 2) or not self.scores.informative:
            return np.ones(len(F))
        return FIELDS[c.field](aim_of(self.state).places(), credit, c.n_neighbours)(F)

    # -- cuts through the space

    def slice(self, name: str, *, m: int = 101, through: Mapping[str, Any] | None = None) -> Slice:
        """Along one parameter, the others held at ``through`` (the recommended point if not given)."""
        axis, centre = axis_of(self.space, name, m), self._centre([name], through)
        U = np.repeat(centre[None, :], len(axis.units), axis=0)
        U[:, self.space.names.index(name)] = axis.units
        layers, hidden = self._visible(U, [name])
        return Slice(axis, layers.shaped((len(axis.units),), hidden), self.space.decode(centre))

    def map(self, x: str, y: str, *, m: int = 61, through: Mapping[str, Any] | None = None) -> Map:
        """Over two parameters, the others held at ``through`` (the recommended point if not given)."""
        if x == y:
            raise SettingError(f"x and y must be different parameters, got {x!r} twice.")
        across, up, centre = axis_of(self.space, x, m), axis_of(self.space, y, m), self._centre([x, y], through)
        shape = len(up.units), len(across.units)
        U = np.repeat(centre[None, :], shape[0] * shape[1], axis=0)
        U[:, self.space.names.index(x)] = np.tile(across.units, shape[0])
        U[:, self.space.names.index(y)] = np.repeat(up.units, shape[1])
        layers, hidden = self._visible(U, [x, y])
        return Map(across, up, layers.shaped(shape, hidden), self.space.decode(centre))

    def _visible(self, U: Array, names: Sequence[str]) -> tuple[Layers, NDArray[np.bool_]]:
        """The model at points that differ in the named parameters, and which of them may not be evaluated.

        The other parts of a mixture make up for a named one, in proportion: along one part that is Cox's direction.
        """
        snapped = self.space.complete(self.space.snap(U), [self.space.names.index(name) for name in names])
        hidden = ~self.space.feasible(snapped) if self.space.constraints else np.zeros(len(U), dtype=bool)
        layers = self.at_units(snapped)
        if self._log:
            base, weighted = (np.maximum(part, part.max() - LEAST_LOG) for part in (layers.base, layers.weighted))
            layers = replace(layers, base=base, weighted=weighted)
        return layers, hidden

    def _centre(self, names: Sequence[str], through: Mapping[str, Any] | None) -> Array:  # (d,)
        """The best predicted observation in which the parameters looked at are active, or the point given.

        Of one that lies outside the space the point of the space beside it.
        """
        if through is not None:
            return self.space.encode(through)
        for i in self._by_merit:
            if all(name in self.credited[i].params for name in names):
                centre: Array = self.space.snap(self.space.place_rows([self.credited[i].params])[0])[0]
                return centre
        raise SettingError(f"no observation has a value for all of {list(names)!r}; give one by through=.")

    @cached_property
    def _by_merit(self) -> NDArray[np.intp]:
        """The credited trials, the best by the model first; of those of a front the most credited."""
        aim = aim_of(self.state)
        if isinstance(aim, NamedMetrics):
            return np.lexsort((-self.scores.credit, -aim.merit()))
        return np.argsort(-self.model.mean, kind="stable")


def view_of(source: Source | ModelView, metric: str | None = None) -> ModelView:
    """A look inside, of one metric if that is named."""
    return source.of(metric) if isinstance(source, ModelView) else ModelView(source, metric=metric)


def _next_credited(state: State) -> Turn:
    """The next turn in which credit weighs the acquisition, or if it weighs none the present one."""
    schedule = as_schedule(state.settings.acquisition)
    turns = [schedule.at(state.t + k, state.space) for k in range(64)]
    return next((turn for turn in turns if turn.credited), turns[0])
