"""Thompson sampling: one joint posterior path, maximised (Thompson 1933; pathwise as in Wilson et al. 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ccgbo.acquisition.base import Codomain, Context
from ccgbo.arrays import Array
from ccgbo.surrogate.base import Paths


@dataclass(frozen=True, slots=True)
class PathScore:
    """The value of a single path."""

    path: Paths  # k = 1

    def __call__(self, x: Array) -> Array:
        return self.path(x)[:, 0]

    def gradient(self, x: Array) -> tuple[Array, Array]:
        return self.path.select(np.zeros(len(x), dtype=int)).value_and_gradient_each(x)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThompsonSampling:
    """A fresh path at each suggestion."""

    codomain: ClassVar[Codomain] = "real"
    needs_optima: ClassVar[bool] = False
    full_credit: ClassVar[bool] = True  # it explores most
    trades_mean: ClassVar[bool] = True

    def bind(self, context: Context) -> PathScore:
        return PathScore(context.posterior.paths(1, context.rng))
