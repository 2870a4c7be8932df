"""A look inside an optimizer at one moment: posterior, credits, credit field, base and weighted acquisition.

Looking changes nothing: the generator is a copy and no refit is committed, so the next ``ask`` suggests what it would
have suggested.

    n  observations in the model, m  points looked at
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ccgbo.acquisition import BoundAcquisition, Turn, as_schedule
from ccgbo.arrays import Array
from ccgbo.credit.field import FIELDS
from ccgbo.engine.model import FitState, Model, build_model
from ccgbo.engine.optimizer import Optimizer
from ccgbo.engine.proposal import prepare, question
from ccgbo.engine.step import State
from ccgbo.engine.threads import blas_threads
from ccgbo.errors import SettingError
from ccgbo.metrics import VALUE
from ccgbo.records import Trial
from ccgbo.space import Space
from ccgbo.surrogate.base import Paths
from ccgbo.viz.axes import Axis, axis_of

ENOUGH = 8  # values below which none is said to be far off
REFIT_GROWTH = 1.25  # a replay refits when the observations have grown by this factor
REFIT_LIMIT = 300  # and keeps the last fit beyond this many: later ones change little and cost O(n^3) each


class HasOptimizer(Protocol):
    """A study: whatever can give an optimizer with all it was told."""

    def optimizer(self) -> Optimizer: ...


Source = Optimizer | HasOptimizer


def optimizer_of(source: Source) -> Optimizer:
    return source if isinstance(source, Optimizer) else source.optimizer()


@dataclass(frozen=True, slots=True)
class Layers:
    """The model at m points; mean and std in the user's units, the acquisition as the search sees it."""

    mean: Array
    std: Array
    low: Array  # central 95 % of what the model believes; not symmetric where the outcome is transformed
    high: Array
    credit: Array  # pi(x) in (0, 1], one everywhere while credit says nothing
    weight: Array  # w_t(x)
    base: Array  # alpha(x)
    weighted: Array  # Eq. (4), what the next suggestion maximises

    def shaped(self, shape: tuple[int, ...], hidden: NDArray[np.bool_]) -> Layers:
        """As a grid, NaN where a point may not be evaluated."""
        return Layers(*(np.where(hidden, np.nan, getattr(self, f)).reshape(shape) for f in self.__slots__))


@dataclass(frozen=True, slots=True)
class Slice:
    """The model along one parameter."""

    x: Axis
    layers: Layers  # (m,)
    through: Mapping[str, Any]  # the point the other parameters are held at


@dataclass(frozen=True, slots=True)
class Map:
    """The model over two parameters."""

    x: Axis
    y: Axis
    layers: Layers  # (len(y), len(x))
    through: Mapping[str, Any]


class ModelView:
    """Everything ``ask`` would look at now. Raises NoObservationsError before the first value.

    Where acquisitions take turns, the acquisition shown is the next one that credit weighs.
    """

    def __init__(self, source: Source) -> None:
        opt = optimizer_of(source)
        self.space: Space = opt.space
        self.direction, self.settings = opt.direction, opt.settings
        self.every_trial: tuple[Trial, ...] = opt.trials
        state, credit = opt.snapshot(), opt.settings.credit
        turn = _next_credited(state)
        with blas_threads(1):
            proposal = prepare(state, turn, opt.generator())
            self.optima, self.scores = question(state, opt.generator())
        self.model: Model = state.model
        self.best_row = state.best  # by posterior mean
        self.acts = turn.credited and credit.strength > 0.0 and credit.tau > 0.0  # or is only shown
        self.base: BoundAcquisition = proposal.base
        self.weighted: BoundAcquisition = proposal.weighted
        self.iteration, self._credit, self._rng = state.t, proposal.credit, opt.generator()
        self.observations, self._sign = opt.observations, 1.0 if opt.direction == "maximize" else -1.0

    # -- the observations

    @cached_property
    def trials(self) -> list[Trial]:
        """The trial behind each of the n observations in the model."""
        return [self.observations[row] for row in self.model.rows]

    @cached_property
    def observed(self) -> tuple[Array, Array]:
        """Posterior mean (n,) and standard deviation (n,) at the observations, in the user's units."""
        return self._in_user_units(self.model.mean, self.model.std)

    @cached_property
    def values(self) -> Array:  # (n,)
        """What was told."""
        return np.array([trial.value for trial in self.trials], dtype=float)

    @cached_property
    def window(self) -> tuple[float, float]:
        """The range of values worth showing: what was told, without far-off bad values, and a little around it.

        Where tails are drawn in (``outcome_transform="robust"``) the model's belief far from the data is wide beyond
        any use.
        """
        low, high = float(self.values.min()), float(self.values.max())
        if len(self.values) >= ENOUGH:
            first, third = (float(q) for q in np.quantile(self.values, [0.25, 0.75]))
            reach = 1.5 * (third - first)
            if reach > 0.0 and self._sign > 0:
                low = max(low, first - reach)
            elif reach > 0.0:
                high = min(high, third + reach)
        margin = 0.15 * (high - low) or 0.1 * abs(high) or 1.0
        return low - margin, high + margin

    @property
    def colors(self) -> dict[str, tuple[float, float]]:
        """What the colours of a map span, where that is not simply all there is."""
        low, high = self.window
        return {"mean": (low, high), "std": (0.0, 0.5 * (high - low))}

    @property
    def credits(self) -> Array:  # (n,)
        return self.scores.credit

    @property
    def proxy(self) -> float:
        """Z_t in the user's units."""
        return float(self._in_user_units(np.array([self.scores.z]), np.zeros(1))[0][0])

    @property
    def gap(self) -> Array:  # (n,)
        """|Z_t - mu_i| / sqrt(sigma_i^2 + eps_c): how many standard deviations below the proxy each one lies."""
        spread = np.sqrt(self.model.std**2 + self.settings.tuning.score_eps)
        result: Array = np.abs(self.scores.z - self.model.mean) / spread
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
            weight = np.ones(len(F)) if self._credit is None else self._credit.weight(F)
            return Layers(mean, std, low, high, self._field(F), weight, self.base(F), self.weighted(F))

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
        if len(self.credits) < max(c.n_neighbours, 2) or not self.scores.informative:
            return np.ones(len(F))
        return FIELDS[c.field](self.model.posterior, self.credits, c.n_neighbours)(F)

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
        return self.at_units(snapped), hidden

    def _centre(self, names: Sequence[str], through: Mapping[str, Any] | None) -> Array:  # (d,)
        """The best predicted observation in which the parameters looked at are active, or the point given.

        Of one that lies outside the space the point of the space beside it.
        """
        if through is not None:
            return self.space.encode(through)
        for i in np.argsort(-self.model.mean, kind="stable"):
            if all(name in self.trials[i].params for name in names):
                centre: Array = self.space.snap(self.space.place_rows([self.trials[i].params])[0])[0]
                return centre
        raise SettingError(f"no observation has a value for all of {list(names)!r}; give one by through=.")


def _next_credited(state: State) -> Turn:
    """The next turn in which credit weighs the acquisition, or if it weighs none the present one."""
    schedule = as_schedule(state.settings.acquisition)
    turns = [schedule.at(state.t + k, state.space) for k in range(64)]
    return next((turn for turn in turns if turn.credited), turns[0])


# -- credit in the past


@dataclass(frozen=True, slots=True)
class CreditOverTime:
    """Credits of every observation as they were after each of several numbers of observations."""

    trial_ids: tuple[int, ...]  # (n,) in the order they were told
    after: NDArray[np.intp]  # (c,) numbers of observations
    credits: Array  # (n, c), NaN before an observation was made


def replay_credits(source: Source, *, columns: int = 80) -> CreditOverTime:
    """The credits after 2, 3, ... observations, at most ``columns`` times, recomputed from what was told.

    Hyperparameters are refitted where the observations have grown by a quarter; the credits of a live run, which
    refits more often, can differ a little.
    """
    opt = optimizer_of(source)
    data, n = opt.data, len(opt.observations)
    after = np.unique(np.linspace(min(2, n), n, min(columns, max(n - 1, 1))).round().astype(int)) if n else np.arange(0)
    out = np.full((n, len(after)), np.nan)
    fit: FitState | None = None
    rng = np.random.default_rng(0)
    now = opt.snapshot() if n else None
    with blas_threads(1):
        for column, k in enumerate(after):
            due = fit is None or (k >= REFIT_GROWTH * fit.n and k <= REFIT_LIMIT)
            model = build_model(data[:k], opt.space.choices, opt.settings, state=fit, refit=due)
            fit = model.fit if due else fit
            assert now is not None
            then = replace(now, models={VALUE: model}, placed=data.U)
            out[model.rows, column] = question(then, rng)[1].credit
    return CreditOverTime(tuple(trial.id for trial in opt.observations), after, out)
