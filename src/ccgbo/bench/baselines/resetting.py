"""R-GP-UCB: the posterior starts anew at regular intervals (Bogunovic, Scarlett, Cevher 2016, Algorithm 1).

The iterations are cut into blocks of H; inside a block the index is that of GP-UCB given the block's own observations
(the first block also has the initial design). H follows from the rate of change eps that the method is to guard
against, by the rule of the source's experiments,

    H = ceil(min(T, 12 eps^(-1/4)))            eps = 0.01 gives 38

The kernel, which the source takes as known, is learned from all observations; only the posterior forgets. At the
start of a block the posterior is the prior and every candidate ties: the first, a uniform draw, is taken.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ccgbo.acquisition import BoundAcquisition, Codomain, Context
from ccgbo.bench.baselines.base import Initial, gaussian, upper_bound
from ccgbo.errors import SettingError
from ccgbo.space import Space

PAPER_BUDGET = 100


def block_length(eps: float, horizon: int = PAPER_BUDGET) -> int:
    """H = ceil(min(T, 12 eps^(-1/4)))."""
    if not 0.0 <= eps <= 1.0:
        raise SettingError(f"eps must be in [0, 1], got {eps!r}.")
    return horizon if eps == 0.0 else math.ceil(min(horizon, 12.0 * eps**-0.25))


@dataclass(frozen=True, slots=True, kw_only=True)
class ResettingUCB:
    """GP-UCB given the present block of ``block`` (H) iterations; None follows ``eps``."""

    beta: float
    eps: float = 0.01
    block: int | None = None
    codomain: ClassVar[Codomain] = "real"
    needs_optima: ClassVar[bool] = False

    def __post_init__(self) -> None:
        block_length(self.eps)
        if self.block is not None and self.block < 1:
            raise SettingError(f"block must be None or >= 1, got {self.block!r}.")

    def start(self, t: int, n: int) -> int:
        """The first of n observations that belongs to the present block; the initial design is in the first."""
        block = block_length(self.eps) if self.block is None else self.block
        return 0 if t < block else n - t % block

    def bind(self, context: Context) -> BoundAcquisition:
        posterior, n = gaussian(context.posterior), len(context.posterior.X)
        first = self.start(context.t, n)
        if first == 0:
            return upper_bound(posterior.predict, self.beta)
        if first == n:
            return lambda x: self.beta * posterior.prior_std(x)
        return upper_bound(posterior.restricted(slice(first, None)).predict, self.beta)


def rgp(space: Space, initial: Initial, beta: float, **options: Any) -> Mapping[str, Any]:  # noqa: ARG001
    return {"acquisition": ResettingUCB(beta=beta, **options)}
