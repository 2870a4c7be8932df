"""Weights other than credit: a user's prior over the optimum, and the chance that an evaluation succeeds.

Prior (piBO, Hvarfner et al. 2022, Eq. 6):   prior(x)^(strength / max(t, 1))

Success: evaluations that failed never enter y; they are remembered as places to avoid by

    p(x) = (1 + sum_ok rho(x, x_i)) / (1 + sum_ok rho(x, x_i) + sum_failed rho(x, x_j))

with the model's correlation rho: 1/2 at a lone failure, less where failures crowd, one far from them, and back up
where evaluations nearby succeeded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccgbo.errors import SettingError
from ccgbo.space import Categorical, Space
from ccgbo.surrogate.gp import GP
from ccgbo.surrogate.kernels import squared_distances

Array = NDArray[np.float64]

LOG_FLOOR = -46.0  # log(1e-20): a prior of zero makes a place unlikely, never impossible


@dataclass(frozen=True, slots=True)
class Gaussian:
    """A belief about one number: N(mean, sd^2) in its own units; of its base-10 logarithm if the parameter is log."""

    mean: float
    sd: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.mean) and 0.0 < self.sd < math.inf):
            raise SettingError(f"Gaussian must have a finite mean and sd > 0, got mean={self.mean}, sd={self.sd}.")


Belief = Callable[[dict[str, Any]], float]


class UserPrior:
    """A user's belief about where the optimum is: a distribution per parameter, or any density of the params.

    Per parameter: a :class:`Gaussian`, anything with ``logpdf`` or ``pdf`` (SciPy's frozen distributions), or for a
    categorical a mapping of choices to probabilities. Parameters without one are uniform.
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

    def _check(self, name: str, belief: Any) -> None:
        if isinstance(self._space[name], Categorical):
            if not isinstance(belief, Mapping) or not all(v >= 0 for v in belief.values()):
                raise SettingError(f"prior[{name!r}] must map choices to probabilities >= 0, got {belief!r}.")
        elif not isinstance(belief, Gaussian) and not hasattr(belief, "logpdf") and not hasattr(belief, "pdf"):
            raise SettingError(f"prior[{name!r}] must be a Gaussian or have logpdf or pdf, got {belief!r}.")

    def log_density(self, U: Array) -> Array:  # (m, d) -> (m,)
        logs = np.array([self._log_one(self._space.decode(u)) for u in U])
        return np.maximum(np.where(np.isnan(logs), LOG_FLOOR, logs), LOG_FLOOR)

    def _log_one(self, params: dict[str, Any]) -> float:
        if not isinstance(self._prior, Mapping):
            density = float(self._prior(params))
            if density < 0:
                raise SettingError(f"prior must be >= 0, got {density!r} at {params!r}.")
            return math.log(density) if density > 0 else LOG_FLOOR
        return sum(self._log_belief(name, b, params[name]) for name, b in self._prior.items() if name in params)

    def _log_belief(self, name: str, belief: Any, value: Any) -> float:
        p = self._space[name]
        if isinstance(p, Categorical):
            mass = float(belief.get(value, 0.0))
            return math.log(mass) if mass > 0 else LOG_FLOOR
        if isinstance(belief, Gaussian):
            x = math.log10(value) if p.log else float(value)
            return -0.5 * ((x - belief.mean) / belief.sd) ** 2
        if hasattr(belief, "logpdf"):
            return max(float(belief.logpdf(value)), LOG_FLOOR)
        density = float(belief.pdf(value))
        return math.log(density) if density > 0 else LOG_FLOOR


@dataclass(frozen=True, slots=True)
class PriorFactor:
    """prior(x)^power; the density may be unnormalised."""

    prior: UserPrior
    space: Space
    power: float

    def _log(self, x: Array) -> Array:
        return self.power * self.prior.log_density(self.space.from_features(x))

    def __call__(self, x: Array) -> Array:
        return np.exp(np.minimum(self._log(x), 100.0))

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
    """p(x) of the module's head."""

    gp: GP
    failed: Array  # (f, p) features / lengthscales

    @classmethod
    def build(cls, gp: GP, failed: Array) -> SuccessFactor | None:
        return cls(gp, failed / gp.hyper.lengthscales) if len(failed) else None

    def __call__(self, x: Array) -> Array:
        z = x / self.gp.hyper.lengthscales
        good = 1.0 + self.gp.kernel.rho(squared_distances(z, self.gp.Z)).sum(axis=1)
        bad = self.gp.kernel.rho(squared_distances(z, self.failed)).sum(axis=1)
        result: Array = good / (good + bad)
        return result

    def log_gradient(self, x: Array) -> tuple[Array, Array]:
        scales = self.gp.hyper.lengthscales
        z = x / scales
        rho_g, slope_g = self.gp.kernel.rho_slope(squared_distances(z, self.gp.Z))
        rho_b, slope_b = self.gp.kernel.rho_slope(squared_distances(z, self.failed))
        good, bad = 1.0 + rho_g.sum(axis=1), rho_b.sum(axis=1)
        d_good = self.gp.pull(z, slope_g)
        d_bad = 2.0 * (slope_b.sum(axis=1)[:, None] * z - slope_b @ self.failed) / scales
        total = good + bad
        return good / total, (bad / (good * total))[:, None] * d_good - d_bad / total[:, None]
