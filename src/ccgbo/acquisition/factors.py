"""Weights other than credit: a user's prior over the optimum, and the chance that an evaluation succeeds.

Prior (piBO, Hvarfner et al. 2022, Eq. 6):   prior(x)^(strength / max(t, 1))

Success: evaluations that failed never enter y; they are remembered as places to avoid by the fourth power of

    p(x) = (k s + sum_ok rho(x, x_i)) / (k + sum_ok rho(x, x_i) + sum_failed rho(x, x_j)),   k = 0.1

where s is the share of evaluations that succeeded and rho the model's correlation at a lengthscale of its own,
n^(-1/p) for n evaluations in p columns (a categorical counts one for each choice): the edge of what works has nothing
to do with how smooth the values are, and sharpens as evaluations fill the space. Far from all evaluations p is s, among
failures it is near zero, among successes near one. The power is there because beyond the last success the acquisition
often rises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from ccgbo.arrays import Array
from ccgbo.credit.field import Located
from ccgbo.errors import SettingError
from ccgbo.space import Categorical, Parameter, Space
from ccgbo.space.numeric import is_finite, is_number
from ccgbo.surrogate.distance import Metric, Points, embedded_columns
from ccgbo.surrogate.gp.kernels import Kernel, get_kernel
from ccgbo.validation import Above, Validated

SUCCESS_WEIGHT = 0.1  # k
SUCCESS_POWER = 4
LOG_FLOOR = -46.0  # log(1e-20) below the peak: a prior of zero makes a place unlikely, never impossible
LOG_BOUND = 1e6  # logarithms beyond this, infinities among them, are cut here to stay numbers
LOG_LIMIT = 600.0  # of the whole factor, so that products of factors neither overflow nor vanish


@dataclass(frozen=True, slots=True)
class NormalPrior(Validated):
    """A normal distribution as the belief about where the optimum of one number is.

    In the units of the parameter; if the parameter is log, mean and sd are of its base-10 logarithm.
    """

    mean: float
    """Where the optimum is believed to be."""
    sd: Annotated[float, Above(0)]
    """How far off that may be."""


Belief = Callable[[dict[str, Any]], float]


def carried_prior(prior: Mapping[str, Any] | Belief, space: Space, rename: Mapping[str, str]) -> Any:
    """A prior in a space that was changed: what it says about parameters and choices that are left; None if nothing.

    A density of the params stays as it is: it reads the new names and values from now on.
    """
    if not isinstance(prior, Mapping):
        return prior
    left = {rename.get(name, name): belief for name, belief in prior.items() if rename.get(name, name) in space}
    for name, belief in list(left.items()):
        p = space[name]
        if isinstance(p, Categorical) and isinstance(belief, Mapping):
            left[name] = {choice: chance for choice, chance in belief.items() if p.find(choice) is not None}
            if not any(left[name].values()):
                del left[name]
    return left or None


class UserPrior:
    """A user's belief about where the optimum is: a distribution per parameter, or any density of the params.

    Per parameter: a ``NormalPrior``, anything with ``logpdf`` or ``pdf`` of an array (SciPy's frozen distributions),
    or for a categorical a mapping of choices to probabilities. Parameters without one are uniform. Densities need not
    be normalised: only ratios count.
    """

    def __init__(self, space: Space, prior: Mapping[str, Any] | Belief) -> None:
        self._space = space
        if isinstance(prior, Mapping):
            for name, belief in prior.items():
                if name not in space:
                    raise SettingError(f"prior names an unknown parameter {name!r}; the space has {list(space)!r}.")
                self._check(name, belief)
        elif not callable(prior):
            raise SettingError(f"prior must be a mapping of parameters to distributions or a callable, got {prior!r}.")
        self._prior = prior

    def carried(self, space: Space, rename: Mapping[str, str]) -> UserPrior | None:
        """The prior in a space that was changed, see ``carried_prior``."""
        prior = carried_prior(self._prior, space, rename)
        return None if prior is None else UserPrior(space, prior)

    def _check(self, name: str, belief: Any) -> None:
        parameter = self._space[name]
        if isinstance(parameter, Categorical):
            if not isinstance(belief, Mapping) or not all(is_finite(v) and v >= 0 for v in belief.values()):
                raise SettingError(f"prior[{name!r}] must map choices to probabilities >= 0, got {belief!r}.")
            for choice in belief:
                if parameter.find(choice) is None:
                    raise SettingError(f"prior[{name!r}] must name choices of {name!r}, got {choice!r}.")
            if not any(belief.values()):
                raise SettingError(f"prior[{name!r}] must give some choice a probability > 0, got {belief!r}.")
        elif not isinstance(belief, NormalPrior) and not hasattr(belief, "logpdf") and not hasattr(belief, "pdf"):
            raise SettingError(f"prior[{name!r}] must be a NormalPrior or have logpdf or pdf, got {belief!r}.")

    def log_density(self, U: Array) -> Array:  # (m, d) snapped -> (m,)
        """Logarithm of the density relative to (about) its peak; finite everywhere."""
        return np.clip(self._raw(U) - self._peak, self._floor, -self._floor)

    @cached_property
    def _peak(self) -> float:
        """Near the largest logarithm: the sum of each belief's own, or the largest of a fixed sample."""
        if not isinstance(self._prior, Mapping):
            return float(self._raw(self._space.sample(1024, np.random.default_rng(0))).max())
        even = np.linspace(0.0, 1.0, 257)
        return sum(float(_log_belief(self._space[name], b, even).max()) for name, b in self._prior.items())

    @property
    def _floor(self) -> float:
        """One floor per belief, so that the sum of many of them is not cut where it still tells places apart."""
        return LOG_FLOOR * (max(len(self._prior), 1) if isinstance(self._prior, Mapping) else 1)

    def _raw(self, U: Array) -> Array:  # (m, d) -> (m,)
        if not isinstance(self._prior, Mapping):
            return _bounded(np.array([self._density(params) for params in self._space.decode_rows(U)]))
        out, active = np.zeros(len(U)), self._space.active(U)
        for name, belief in self._prior.items():
            j = self._space.names.index(name)
            out += np.where(active[:, j], _log_belief(self._space[name], belief, U[:, j]), 0.0)
        return out

    def _density(self, params: dict[str, Any]) -> float:
        try:
            density = self._prior(dict(params))  # type: ignore[operator]
        except Exception as error:
            raise SettingError(f"prior raised {type(error).__name__}: {error} at {params!r}.") from error
        if not is_number(density) or density < 0:
            raise SettingError(f"prior must return a number >= 0, got {density!r} at {params!r}.")
        return float(density)


def _log_belief(p: Parameter, belief: Any, u: Array) -> Array:  # (m,) -> (m,)
    """Logarithm of the belief about one parameter at each position."""
    if isinstance(p, Categorical):
        mass = np.array([float(belief.get(choice, 0.0)) for choice in p.choices])
        logs: Array = _bounded(mass)[p.index_of_unit(u).astype(int)]
        return logs
    values = p.values(p.snap(u))
    if isinstance(belief, NormalPrior):
        with np.errstate(over="ignore"):
            z = ((np.log10(values) if p.log else values) - belief.mean) / belief.sd
        gaussian: Array = -0.5 * np.minimum(np.abs(z), LOG_BOUND) ** 2
        return gaussian
    with np.errstate(all="ignore"):  # what a user's distribution does far out is cut below
        try:
            if hasattr(belief, "logpdf"):
                logs = np.asarray(belief.logpdf(values), dtype=float)
                return np.clip(np.where(np.isnan(logs), -LOG_BOUND, logs), -LOG_BOUND, LOG_BOUND)
            return _bounded(np.asarray(belief.pdf(values), dtype=float))
        except Exception as error:
            raise SettingError(f"prior has {belief!r}, which raised {type(error).__name__}: {error}.") from error


def _bounded(density: Array) -> Array:
    """log density between -LOG_BOUND and LOG_BOUND; zero and NaN are the least."""
    with np.errstate(divide="ignore"):
        logs = np.log(np.where(density > 0.0, density, 0.0))
    return np.clip(logs, -LOG_BOUND, LOG_BOUND)


@dataclass(frozen=True, slots=True)
class PriorFactor:
    """prior(x)^power, relative to the peak of the prior."""

    prior: UserPrior
    space: Space
    power: float

    def _log(self, x: Array) -> Array:
        return np.clip(self.power * self.prior.log_density(self.space.from_features(x)), -LOG_LIMIT, LOG_LIMIT)

    def __call__(self, x: Array) -> Array:
        return np.exp(self._log(x))

    def log_gradient(self, x: Array) -> tuple[Array, Array]:
        gradient = np.zeros_like(x)
        for c in self.space.continuous_columns:
            up, down = x.copy(), x.copy()
            up[:, c] = np.minimum(x[:, c] + 1e-5, 1.0)
            down[:, c] = np.maximum(x[:, c] - 1e-5, 0.0)
            gradient[:, c] = (self._log(up) - self._log(down)) / (up[:, c] - down[:, c])
        return self(x), gradient


@dataclass(frozen=True, slots=True)
class SuccessFactor:
    """p(x)^4 of the module's head."""

    kernel: Kernel
    metric: Metric
    good: Points  # (n,) evaluations that succeeded
    bad: Points  # (f,) those that failed

    @classmethod
    def build(cls, posterior: Located, failed: Array, kernel: str = "matern52") -> SuccessFactor | None:
        if not len(failed):
            return None
        (n, p), choices = posterior.X.shape, posterior.metric.choices
        scale = float((n + len(failed)) ** (-1.0 / embedded_columns(p, choices)))
        metric = Metric(np.full(p, scale), choices)
        return cls(get_kernel(kernel), metric, metric.points(posterior.X), metric.points(failed))

    @property
    def _prior(self) -> tuple[float, float]:
        """k s and k."""
        n, f = len(self.good), len(self.bad)
        return SUCCESS_WEIGHT * n / (n + f), SUCCESS_WEIGHT

    def __call__(self, x: Array) -> Array:
        z = self.metric.points(x)
        top, total = self._prior
        good = self.kernel.rho(self.metric.squared(z, self.good)).sum(axis=1)
        bad = self.kernel.rho(self.metric.squared(z, self.bad)).sum(axis=1)
        result: Array = ((top + good) / (total + good + bad)) ** SUCCESS_POWER
        return result

    def log_gradient(self, x: Array) -> tuple[Array, Array]:
        z = self.metric.points(x)
        good, d_good = self._mass(z, self.good)
        bad, d_bad = self._mass(z, self.bad)
        top, total = self._prior[0] + good, self._prior[1] + good + bad
        slope = d_good / top[:, None] - (d_good + d_bad) / total[:, None]
        return (top / total) ** SUCCESS_POWER, SUCCESS_POWER * slope

    def _mass(self, z: Points, points: Points) -> tuple[Array, Array]:
        """sum_i rho(x, x_i) and its gradient."""
        rho, slope = self.kernel.rho_slope(self.metric.squared(z, points))
        gradient = 2.0 * (slope.sum(axis=1)[:, None] * z.Z - slope @ points.Z) / self.metric.embedded_unit
        return rho.sum(axis=1), self.metric.layout.to_features(gradient)
