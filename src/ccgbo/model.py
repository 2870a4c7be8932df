"""From the observations to the posterior: when to refit, when to append.

The posterior is a pure function of the data and of ``Fitted`` (hyperparameters and the number of observations they
were fitted on): the first ``fitted.n`` observations are factorised together and the rest appended in one block. So a
run that was cut and resumed computes the same bits as one that was not.

A refit is due when the data have grown by ``refit_growth`` since the last one, or when a later observation lies more
than three predictive standard deviations from its forecast; otherwise the new rows are appended in O(n^2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ccgbo.surrogate.distance import Choices
from ccgbo.surrogate.fit import FitSettings, fit, hyper_of
from ccgbo.surrogate.gp import GP
from ccgbo.surrogate.kernels import get_kernel
from ccgbo.surrogate.linalg import report_once
from ccgbo.surrogate.outcome import Outcome, fit_outcome

Array = NDArray[np.float64]

SURPRISE = 3.0  # predictive standard deviations


@dataclass(frozen=True, slots=True)
class Data:
    """Observations in the order they were told."""

    F: Array  # (n, p) features
    values: Array  # (n,) to be maximised
    noise: Array  # (n,) given variances in the user's units, NaN where unknown


@dataclass(frozen=True, slots=True)
class Fitted:
    """All that must be saved of a model."""

    theta: Array
    n: int


@dataclass(frozen=True, slots=True)
class Model:
    """A posterior with the map between its scale and the user's."""

    gp: GP
    rows: NDArray[np.intp]  # observation behind each row of gp
    outcome: Outcome
    fitted: Fitted
    base: GP  # the posterior at the last fit, to append to
    base_rows: NDArray[np.intp]
    mean: Array  # posterior mean and std at the observations, one per row of gp
    std: Array


def build_model(
    data: Data, choices: Choices, settings: FitSettings, outcome: str, last: Model | None, fitted: Fitted | None
) -> Model:
    """The posterior of all observations, refitted where due; ``last`` saves work, ``fitted`` decides."""
    n = len(data.values)
    if fitted is not None and (n == fitted.n or n < fitted.n * (1.0 + settings.refit_growth)):
        appended = _append(data, choices, settings, outcome, last, fitted)
        if appended is not None:
            return appended
    rows = _rows(data.values, settings.max_points)
    transform = fit_outcome(outcome, data.values[rows])
    y = transform.forward(data.values[rows])
    noise = _standard_noise(data.noise[rows], transform, y)
    start = None if fitted is None else fitted.theta
    few = _spread(y, settings.fit_points)
    few_noise = None if noise is None else noise[few]
    result = fit(data.F[rows[few]], y[few], settings, choices=choices, given_noise=few_noise, start=start)
    kernel, hyper = get_kernel(settings.kernel, choices), hyper_of(result.theta, data.F.shape[1])
    gp = GP.from_data(kernel, hyper, data.F[rows], y, noise)
    return Model(gp, rows, transform, Fitted(result.theta, n), gp, rows, *gp.at_observations())


def _append(
    data: Data, choices: Choices, settings: FitSettings, outcome: str, last: Model | None, fitted: Fitted
) -> Model | None:
    """The last fit with later observations appended, or None where one of them asks for a refit."""
    if last is not None and last.fitted is fitted:
        base, rows, transform = last.base, last.base_rows, last.outcome
    else:
        rows = _rows(data.values[: fitted.n], settings.max_points)
        transform = fit_outcome(outcome, data.values[rows])
        y = transform.forward(data.values[rows])
        noise = _standard_noise(data.noise[rows], transform, y)
        kernel, hyper = get_kernel(settings.kernel, choices), hyper_of(fitted.theta, data.F.shape[1])
        base = GP.from_data(kernel, hyper, data.F[rows], y, noise)
    fresh = np.arange(fitted.n, len(data.values))
    if not len(fresh):
        return Model(base, rows, transform, fitted, base, rows, *base.at_observations())
    y = transform.forward(data.values[fresh])
    noise = _standard_noise(data.noise[fresh], transform, y)
    mean, std = base.predict(data.F[fresh])
    spread = np.sqrt(std**2 + base.hyper.noise_of(len(y), noise))
    if np.any(np.abs(y - mean) > SURPRISE * spread):
        return None
    gp = base.condition(data.F[fresh], y, noise)
    return Model(gp, np.concatenate([rows, fresh]), transform, fitted, base, rows, *gp.at_observations())


def _rows(values: Array, most: int) -> NDArray[np.intp]:
    """All observations, or beyond ``most`` the better half of them by value and the later half by time."""
    n = len(values)
    if n <= most:
        return np.arange(n)
    report_once("max_points", "%d observations: the model keeps the %d best and latest of them", n, most)
    best = np.argsort(-values, kind="stable")[: most // 2]
    rest = np.setdiff1d(np.arange(n), best)[-(most - most // 2) :]
    return np.sort(np.concatenate([best, rest]))


def _spread(y: Array, most: int) -> NDArray[np.intp]:
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
