"""From the observations to the posterior: when to refit, when to append.

The posterior is a pure function of the data and of a ``FitState`` (hyperparameters and the number of observations they
were fitted on): the first ``n`` observations are factorised together and the rest appended in one block. So a run that
was cut and resumed computes the same bits as one that was not. Beyond ``max_points`` the model is of some of the
observations, see rows.py, which stand for the others too, see pooling.py.

A refit is due when the data have grown by ``refit_growth`` since the last one, when one of those it was made of was
changed, or when a later observation lies more than three predictive standard deviations from its forecast, beyond
``max_points`` at the fifth later one at the earliest; otherwise the new rows are appended in O(n^2).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ccgbo.arrays import LARGEST, Array
from ccgbo.engine import noise as known_noise
from ccgbo.engine.fit_state import FitState, checksum
from ccgbo.engine.history import Data
from ccgbo.engine.pooling import pooled
from ccgbo.engine.rows import NearOptimum, RowRule, around_best
from ccgbo.engine.scales import evidence, scale_of, scales_to_compare, still_holds
from ccgbo.engine.settings import Settings
from ccgbo.engine.stacking import Stacked
from ccgbo.log import report_once
from ccgbo.surrogate.base import Posterior
from ccgbo.surrogate.distance import Choices
from ccgbo.surrogate.forest import Forest
from ccgbo.surrogate.gp.fit import fit, hyper_of
from ccgbo.surrogate.gp.kernels import get_kernel
from ccgbo.surrogate.gp.posterior import GP
from ccgbo.surrogate.outcome_transform import LogGap, Outcome, fit_outcome
from ccgbo.tuning import EngineTuning

REFIT_Z = 3.0  # predictive standard deviations from its forecast at which an observation asks for a refit
PATIENCE = 5  # later observations before one of a model of averages may ask for it: all rows are looked through then


@dataclass(frozen=True, slots=True)
class Model:
    """A posterior with the map between its scale and the user's."""

    posterior: Posterior
    rows: NDArray[np.intp]  # observation behind each row of the posterior
    outcome: Outcome
    fit: FitState
    mean: Array  # posterior mean and std at the observations, one per row
    std: Array
    base: Model | None = None  # the model at the last fit, to append to; None if this is it
    data: Data | None = None  # that it was made of, if this is the model at the last fit
    own_noise: Array | None = None  # variance of each row's own value, where that of the posterior is of an average

    @property
    def on_log_scale(self) -> bool:
        """Whether the values are modelled as logarithms of their gaps to the best."""
        return isinstance(self.outcome, LogGap)

    def in_user_units(self, mean: Array, std: Array) -> tuple[Array, Array]:
        """Means and standard deviations of the posterior on the scale of the values, which are to be maximised.

        Beyond the best observation the scale goes on along its tangent: in the tails of a robust scale that nobody has
        seen a little of the model is any number of the user's.
        """
        seen = np.minimum(mean, self.mean.max())
        slope = self.outcome.slope(seen)
        with np.errstate(over="ignore"):
            values: Array = np.clip(self.outcome.inverse(seen) + slope * (mean - seen), -LARGEST, LARGEST)
            return values, np.minimum(std * slope, LARGEST)


class Surrogate(Protocol):
    """How a posterior is made of the observations."""

    def build(
        self,
        data: Data,
        choices: Choices,
        settings: Settings,
        last: Model | None = None,
        state: FitState | None = None,
        *,
        refit: bool | None = None,
    ) -> Model:
        """The posterior of all observations; ``state`` decides, ``last`` only saves work.

        ``refit=True`` learns the hyperparameters anew, starting from those of ``state``; ``False`` takes them as they
        are; None refits where it is due.
        """


@dataclass(frozen=True, slots=True)
class ExactGP:
    """The Gaussian process of surrogate/gp/; of more than ``max_points`` observations it takes some."""

    rows: RowRule = field(default_factory=NearOptimum)
    pooled: bool = True
    """Whether these stand for the others too, by averages."""

    def build(
        self,
        data: Data,
        choices: Choices,
        settings: Settings,
        last: Model | None = None,
        state: FitState | None = None,
        *,
        refit: bool | None = None,
    ) -> Model:
        if state is None or refit:
            return self._fit(data, choices, settings, state)
        n = len(data.values)
        grown = not state.is_of(data) or _has_grown(state, n, settings.tuning)
        if refit is False or (not grown and n - state.n > settings.tuning.max_points):  # too many to append
            return self._with_theta(data, choices, settings, replace(state, n=n, checksum=checksum(data)))
        if not grown and not still_holds(scale_of(settings, state.scale), data.values, state.n):
            return _base(last, data, state) or self._with_theta(data, choices, settings, state)
        if not grown:
            first = data[: state.n]
            base = _base(last, first, state) or self._with_theta(first, choices, settings, state)
            appended = _append(base, data)
            if appended is not None:
                return appended
        return self._fit(data, choices, settings, state)

    def _fit(self, data: Data, choices: Choices, settings: Settings, state: FitState | None) -> Model:
        """The posterior with hyperparameters that are learned now, on the scale of most evidence."""
        before = None if state is None else state.scale
        scales = scales_to_compare(settings, before, *data.F.shape, mixed=bool(choices))
        models = [self._fit_on(scale, data, choices, settings, state) for scale in scales]
        if len(models) == 1:
            return models[0]
        return max(models, key=lambda model: evidence(model.posterior, model.outcome, data.values[model.rows]))

    def _fit_on(self, scale: str, data: Data, choices: Choices, settings: Settings, state: FitState | None) -> Model:
        tuning = settings.tuning
        some = self.rows.to_fit(data, tuning) if too_many(data, tuning) else np.arange(len(data.values))
        transform, y, noise = _standardised(data, some, scale)
        subset = _subsample_by_value(y, tuning.fit_points)
        result = fit(
            data.F[some[subset]],
            y[subset],
            settings.fit,
            tuning,
            choices=choices,
            given_noise=None if noise is None else noise[subset],
            known_noise=known_noise.standardised(settings.noise, transform, y),
            start=None if state is None else np.array(state.theta),
        )
        chosen = scale if settings.outcome_transform == "adaptive" else None
        fitted = FitState(tuple(result.theta.tolist()), len(data.values), checksum(data), chosen)
        return self._with_theta(data, choices, settings, fitted)

    def _with_theta(self, data: Data, choices: Choices, settings: Settings, state: FitState) -> Model:
        """The posterior of observations that are factorised together."""
        kernel = get_kernel(settings.fit.kernel, choices)
        hyper = hyper_of(np.array(state.theta), data.F.shape[1], settings.fit.relevance)
        n_features, scale = settings.tuning.n_features, scale_of(settings, state.scale)

        def posterior_of(rows: NDArray[np.intp]) -> tuple[GP, Outcome]:
            transform, y, noise = _standardised(data, rows, scale)
            return GP.from_data(kernel, hyper, data.F[rows], y, noise, n_features=n_features), transform

        if not too_many(data, settings.tuning):
            rows = np.arange(len(data.values))
            gp, transform = posterior_of(rows)
            return Model(gp, rows, transform, state, *gp.at_observations(), data=data)
        rows = self.rows.to_keep(data, settings.tuning, lambda some: posterior_of(some)[0])
        report_once("max_points", "%d observations: the model keeps %d of them", len(data.values), len(rows))
        gp, transform = posterior_of(rows)
        own_noise = gp.noise if self.pooled else None
        gp = pooled(gp, data, rows, transform) if self.pooled else gp
        return Model(gp, rows, transform, state, *gp.at_observations(), data=data, own_noise=own_noise)


class RandomForest:
    """The forest of surrogate/forest.py: grown anew from all observations, with nothing to learn before."""

    def build(
        self,
        data: Data,
        choices: Choices,
        settings: Settings,
        last: Model | None = None,  # noqa: ARG002
        state: FitState | None = None,  # noqa: ARG002
        *,
        refit: bool | None = None,  # noqa: ARG002
    ) -> Model:
        n, most = len(data.values), settings.tuning.max_points
        rows = around_best(data, most) if n > most else np.arange(n)
        transform, y, _ = _standardised(data, rows, scale_of(settings))
        forest = Forest.from_data(data.F[rows], y, choices)
        return Model(forest, rows, transform, FitState((), len(data.values)), *forest.at_observations())


def get_surrogate(surrogate: Any) -> Surrogate:
    """A surrogate by its name, or an object of one's own as it is."""
    named: dict[Any, Surrogate] = {"gp": ExactGP(), "forest": RandomForest(), "stacked": Stacked(ExactGP(pooled=False))}
    return named[surrogate] if isinstance(surrogate, str) else surrogate


def build_model(
    data: Data,
    choices: Choices,
    settings: Settings,
    last: Model | None = None,
    state: FitState | None = None,
    *,
    refit: bool | None = None,
) -> Model:
    """The posterior of all observations by the surrogate of the settings, see ``Surrogate``.

    Where evaluations are exact the means at the observations are their values: no model knows better.
    """
    data = known_noise.with_known(data, settings.noise)
    model = get_surrogate(settings.surrogate).build(data, choices, settings, last, state, refit=refit)
    if not known_noise.is_exact(settings.noise, data):
        return model
    return replace(model, mean=model.outcome.forward(data.values[model.rows]))


def too_many(data: Data, tuning: EngineTuning) -> bool:
    """Whether the model takes only some of the observations."""
    return len(data.values) > tuning.max_points


def _has_grown(state: FitState, n: int, tuning: EngineTuning) -> bool:
    """Whether hyperparameters are to be learned anew for the number of observations alone.

    Beyond ``max_points`` the model has a fixed size, and so has what may be appended to it.
    """
    if state.n > tuning.max_points:
        return n != state.n and n >= state.n + tuning.refit_growth * tuning.max_points
    return n != state.n and n >= state.n * (1.0 + tuning.refit_growth)


def _base(last: Model | None, data: Data, state: FitState) -> Model | None:
    """The model at the last fit, if it is at hand and of these observations: readings told since change their noise."""
    if last is None or last.fit != state:
        return None
    base = last.base or last
    return base if base.data is not None and _same(base.data, data) else None


def _same(one: Data, other: Data) -> bool:
    pairs = (one.F, other.F), (one.values, other.values), (one.noise, other.noise)
    return all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)


def _append(base: Model, data: Data) -> Model | None:
    """The model at the last fit with later observations appended, or None where one of them asks for a refit."""
    fresh = np.arange(base.fit.n, len(data.values))
    if not len(fresh):
        return base
    y = base.outcome.forward(data.values[fresh])
    noise = known_noise.in_units_of_y(data.noise[fresh], base.outcome, y)
    before = base.posterior
    assert isinstance(before, GP)
    mean, std = before.predict(data.F[fresh])
    spread = np.sqrt(std**2 + before.noise_of(len(y), noise))
    patient = base.own_noise is not None and len(fresh) < PATIENCE
    if not patient and np.any(np.abs(y - mean) > REFIT_Z * spread):
        return None
    gp = before.condition(data.F[fresh], y, noise)
    rows = np.concatenate([base.rows, fresh])
    own = None if base.own_noise is None else np.concatenate([base.own_noise, gp.noise[len(base.rows) :]])
    return Model(gp, rows, base.outcome, base.fit, *gp.at_observations(), base=base, own_noise=own)


def _standardised(data: Data, rows: NDArray[np.intp], scale: str) -> tuple[Outcome, Array, Array | None]:
    transform = fit_outcome(scale, data.values[rows])
    y = transform.forward(data.values[rows])
    return transform, y, known_noise.in_units_of_y(data.noise[rows], transform, y)


def _subsample_by_value(y: Array, most: int) -> NDArray[np.intp]:
    """All rows, or beyond ``most`` evenly spaced ones in the order of y: a likelihood call costs O(n^3)."""
    n = len(y)
    if n <= most:
        return np.arange(n)
    places = np.linspace(0, n - 1, most).round().astype(int)
    return np.sort(np.argsort(y, kind="stable")[places])


def best_row(mean: Array, U: Array) -> int:  # (n,), (n, d)
    """The row with the best mean within the bounds, which observations may lie beyond; of all where none is within."""
    within = ((U >= 0.0) & (U <= 1.0)).all(axis=1)
    return int(np.where(within, mean, -np.inf).argmax() if within.any() else mean.argmax())
