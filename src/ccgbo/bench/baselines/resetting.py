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

import numpy as np

from ccgbo.acquisition import Score
from ccgbo.bench.baselines.base import Array, Initial, SurrogateLoop, upper_bound
from ccgbo.errors import SettingError
from ccgbo.model import Model
from ccgbo.presets import Settings
from ccgbo.space import Space
from ccgbo.surrogate.gp import GP

PAPER_BUDGET = 100


def block_length(eps: float, horizon: int = PAPER_BUDGET) -> int:
    """H = ceil(min(T, 12 eps^(-1/4)))."""
    if not 0.0 <= eps <= 1.0:
        raise SettingError(f"eps must be in [0, 1], got {eps!r}.")
    return horizon if eps == 0.0 else math.ceil(min(horizon, 12.0 * eps**-0.25))


class ResettingLoop(SurrogateLoop):
    def __init__(
        self,
        space: Space,
        seed: int,
        initial: Initial,
        settings: Settings,
        *,
        eps: float = 0.01,
        block: int | None = None,  # H; None follows eps
    ) -> None:
        if block is not None and block < 1:
            raise SettingError(f"block must be None or >= 1, got {block!r}.")
        self.block = block_length(eps) if block is None else block
        super().__init__(space, seed, initial, settings)

    @property
    def start(self) -> int:
        """The first observation of the present block."""
        return 0 if self.t < self.block else self.n_initial + self.t // self.block * self.block

    def score(self, model: Model, candidates: Array) -> Score:  # noqa: ARG002
        gp, first = model.gp, self.start
        if first == 0:
            return upper_bound(gp.predict, self.beta)
        if first == len(gp.y):
            return _prior_bound(gp, self.beta)
        return upper_bound(GP.from_data(gp.kernel, gp.hyper, gp.X[first:], gp.y[first:]).predict, self.beta)


def _prior_bound(gp: GP, beta: float) -> Score:
    """The index without any observation: the same everywhere."""
    return lambda x: np.full(len(x), beta * math.sqrt(gp.hyper.signal))
