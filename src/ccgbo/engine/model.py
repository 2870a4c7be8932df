"""From the observations to the posterior: when to refit, when to append.

The posterior is a pure function of the data and of a ``FitState`` (hyperparameters and the number of observations they
were fitted on): the first ``n`` observations are factorised together and the rest appended in one block. So a run that
was cut and resumed computes the same bits as one that was not.

A refit is due when the data have grown by ``refit_growth`` since the last one, when one of those it was made of was
changed, or when a later observation lies more than three predictive standard deviations from its forecast; otherwise
the new rows are appended in O(n^2).
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ccgbo.arrays import Array
from ccgbo.engine import noise as known_noise
from ccgbo.engine.history import Data
from ccgbo.engine.settings import Settings
from ccgbo.engine.stacking import Stacked
from ccgbo.log import report_once
from ccgbo.surrogate.base import Posterior
from ccgbo.surrogate.distance import Choices
from ccgbo.surrogate.forest import Forest
from ccgbo.surrogate.gp.fit import fit, hyper_of
from ccgbo.surrogate.gp.kernels import get_kernel
from ccgbo.surrogate.gp.posterior import GP
from ccgbo.surrogate.outcome_transform import LARGEST, Outcome, fit_outcome

REFIT_Z = 3.0  # predictive standard deviations from its forecast at which an observation asks for a refit


@dataclass(frozen=True, slots=True)
class FitState:
    """All that must be saved of a model: hyperparameters, and which observations they were fitted on."""

    theta: tuple[float, ...]
    n: int
    """How many."""
    checksum: int | None = None
    """Of these observations; None takes the first n for them."""

    def to_dict(self) -> dict[str, Any]:
        return {"theta": list(self.theta), "n": self.n, "checksum": self.checksum}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> FitState:
        return cls(tuple(data["theta"]), data["n"], data.get("checksum"))

    def is_of(self, data: Data) -> bool:
        """Whether the first ``n`` observations are still those of the fit: none was amended, dropped or restored."""
        return self.checksum is None or (self.n <= len(data.values) and self.checksum == _checksum(data[: self.n]))


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

    def in_user_units(self, mean: Array, std: Array) -> tuple[Array, Array]:
        """Means and standard deviations of the posterior on the scale of the values, which are to be maximised."""
        with np.errstate(over="ignore"):
            deviation: Array = np.minimum(std * self.outcome.slope(mean), LARGEST)
        return self.outcome.inverse(mean), deviation


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


class ExactGP:
    """The Gaussian process of surrogate/gp/."""

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
            return _fit(data, choices, settings, state)
        n = len(data.values)
        if refit is False:
            return _with_theta(data, choices, settings, replace(state, n=n, checksum=_checksum(data)))
        if state.is_of(data) and (n == state.n or n < state.n * (1.0 + settings.tuning.refit_growth)):
            base = _base(last, data[: state.n], state) or _with_theta(data[: state.n], choices, settings, state)
            appended = _append(base, data)
            if appended is not None:
                return appended
        return _fit(data, choices, settings, state)


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
        rows = _rows(data.values, settings.tuning.max_points)
        transform, y, _ = _standardised(data, rows, settings)
        forest = Forest.from_data(data.F[rows], y, choices)
        return Model(forest, rows, transform, FitState((), len(data.values)), *forest.at_observations())


def get_surrogate(surrogate: Any) -> Surrogate:
    """A surrogate by its name, or an object of one's own as it is."""
    named: dict[Any, Surrogate] = {"gp": ExactGP(), "forest": RandomForest(), "stacked": Stacked(ExactGP())}
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


def _fit(data: Data, choices: Choices, settings: Settings, state: FitState | None) -> Model:
    """The posterior with hyperparameters that are learned now."""
    rows = _rows(data.values, settings.tuning.max_points)
    transform, y, noise = _standardised(data, rows, settings)
    subset = _subsample_by_value(y, settings.tuning.fit_points)
    result = fit(
        data.F[rows[subset]],
        y[subset],
        settings.fit,
        settings.tuning,
        choices=choices,
        given_noise=None if noise is None else noise[subset],
        known_noise=known_noise.standardised(settings.noise, transform, y),
        start=None if state is None else np.array(state.theta),
    )
    fitted = FitState(tuple(result.theta.tolist()), len(data.values), _checksum(data))
    return _with_theta(data, choices, settings, fitted)


def _with_theta(data: Data, choices: Choices, settings: Settings, state: FitState) -> Model:
    """The posterior of observations that are factorised together."""
    rows = _rows(data.values, settings.tuning.max_points)
    transform, y, noise = _standardised(data, rows, settings)
    kernel, hyper = (
        get_kernel(settings.fit.kernel, choices),
        hyper_of(np.array(state.theta), data.F.shape[1], settings.fit.relevance),
    )
    gp = GP.from_data(kernel, hyper, data.F[rows], y, noise, n_features=settings.tuning.n_features)
    return Model(gp, rows, transform, state, *gp.at_observations(), data=data)


def _base(last: Model | None, data: Data, state: FitState) -> Model | None:
    """The model at the last fit, if it is at hand and of these observations: readings told since change their noise."""
    if last is None or last.fit != state:
        return None
    base = last.base or last
    return base if base.data is not None and _same(base.data, data) else None


def _same(one: Data, other: Data) -> bool:
    pairs = (one.F, other.F), (one.values, other.values), (one.noise, other.noise)
    return all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)


def _checksum(data: Data) -> int:
    """Of where observations are and of their values; of positions nine digits, on which all machines agree."""
    return zlib.crc32(data.values.tobytes(), zlib.crc32((data.F.round(9) + 0.0).tobytes()))


def _append(base: Model, data: Data) -> Model | None:
    """The model at the last fit with later observations appended, or None where one of them asks for a refit."""
    fresh = np.arange(base.fit.n, len(data.values))
    if not len(fresh):
        return base
    y = base.outcome.forward(data.values[fresh])
    noise = _standard_noise(data.noise[fresh], base.outcome, y)
    before = base.posterior
    assert isinstance(before, GP)
    mean, std = before.predict(data.F[fresh])
    spread = np.sqrt(std**2 + before.noise_of(len(y), noise))
    if np.any(np.abs(y - mean) > REFIT_Z * spread):
        return None
    gp = before.condition(data.F[fresh], y, noise)
    rows = np.concatenate([base.rows, fresh])
    return Model(gp, rows, base.outcome, base.fit, *gp.at_observations(), base=base)


def _standardised(data: Data, rows: NDArray[np.intp], settings: Settings) -> tuple[Outcome, Array, Array | None]:
    transform = fit_outcome(settings.outcome_transform, data.values[rows])
    y = transform.forward(data.values[rows])
    return transform, y, _standard_noise(data.noise[rows], transform, y)


def _rows(values: Array, most: int) -> NDArray[np.intp]:
    """All observations, or beyond ``most`` the better half of them by value and the later half by time."""
    n = len(values)
    if n <= most:
        return np.arange(n)
    report_once("max_points", "%d observations: the model keeps the %d best and latest of them", n, most)
    best = np.argsort(-values, kind="stable")[: most // 2]
    rest = np.setdiff1d(np.arange(n), best)[-(most - most // 2) :]
    return np.sort(np.concatenate([best, rest]))


def _subsample_by_value(y: Array, most: int) -> NDArray[np.intp]:
    """All rows, or beyond ``most`` evenly spaced ones in the order of y: a likelihood call costs O(n^3)."""
    n = len(y)
    if n <= most:
        return np.arange(n)
    places = np.linspace(0, n - 1, most).round().astype(int)
    return np.sort(np.argsort(y, kind="stable")[places])


def _standard_noise(noise: Array, outcome: Outcome, y: Array) -> Array | None:
    """Given variances in the units of y, or None if there are none."""
    if np.isnan(noise).all():
        return None
    with np.errstate(over="ignore"):
        scaled: Array = np.minimum(noise / np.maximum(outcome.slope(y), 1e-150) ** 2, 1e6)
    return scaled


def best_row(mean: Array, U: Array) -> int:  # (n,), (n, d)
    """The row with the best mean within the bounds, which observations may lie beyond; of all where none is within."""
    within = ((U >= 0.0) & (U <= 1.0)).all(axis=1)
    return int(np.where(within, mean, -np.inf).argmax() if within.any() else mean.argmax())
