"""WGP-UCB: observations weigh more the later they came (Deng, Zhou, Kim, Tewari, Gupta, Shroff 2022, Sec. 3-4).

    w_s = eta^-s,   lambda_t = lambda eta^-t,   alpha_t = lambda eta^-2t

    mean      k~(x)^T (K~ + lambda_t I)^-1 y~         K~ = W K W,     W = diag(sqrt(w_s))
    variance  k(x, x) - k^(x)^T (K^ + alpha_t I)^-1 k^(x)   K^ = W^2 K W^2, W^2 = diag(w_s)

Both are posteriors with a noise variance of their own for each observation: dividing by the weights,

    mean      noise lambda eta^-(t - s)              variance  noise lambda eta^-2(t - s)

so an old observation counts as a noisier one. The index is mean + beta std. ``lambda`` is the learned noise variance,
and the kernel, which the source takes as known, is learned from all observations alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ccgbo.acquisition import BoundAcquisition, Codomain, Context
from ccgbo.arrays import Array
from ccgbo.bench.baselines.base import Initial, gaussian
from ccgbo.errors import SettingError
from ccgbo.space import Space
from ccgbo.surrogate.gp.posterior import GP

LARGEST = 1e12  # a noise variance beyond which an observation of unit scale says nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedUCB:
    """``eta`` in (0, 1]; 1 is GP-UCB. Our choice, 0.99, halves a weight in 69 steps."""

    beta: float
    eta: float = 0.99
    codomain: ClassVar[Codomain] = "real"
    needs_optima: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0.0 < self.eta <= 1.0:
            raise SettingError(f"eta must be in (0, 1], got {self.eta!r}.")

    def bind(self, context: Context) -> BoundAcquisition:
        by_mean, by_variance = weighted_posteriors(gaussian(context.posterior), self.eta)

        def ucb(x: Array) -> Array:
            return by_mean.predict(x)[0] + self.beta * by_variance.predict(x)[1]

        return ucb


def wgp(space: Space, initial: Initial, beta: float, **options: Any) -> Mapping[str, Any]:  # noqa: ARG001
    return {"acquisition": WeightedUCB(beta=beta, **options)}


def weighted_posteriors(gp: GP, eta: float) -> tuple[GP, GP]:
    """The posterior whose mean is used, and the one whose variance is; rows of ``gp`` are in the order of time."""
    age = np.arange(len(gp.y))[::-1]  # t - s
    noise = gp.noise_variance * eta ** (-1.0 * age), gp.noise_variance * eta ** (-2.0 * age)
    first, second = (gp.with_noise(np.minimum(each, LARGEST)) for each in noise)
    return first, second
