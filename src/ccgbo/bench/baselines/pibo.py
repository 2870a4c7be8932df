"""piBO: the acquisition times a fading power of the belief (Hvarfner, Stoll, Souza, Lindauer, Hutter, Nardi 2022).

    x_t = argmax (alpha(x) - min alpha) rho(x)^(beta_rho / t)

beta_rho = 10, a tenth of the budget, as the source advises. UCB can be negative, so the smallest value over the
candidates is taken off first, as CCGBO does. The product is compared by its logarithm: in many dimensions the
belief itself underflows.
"""

from __future__ import annotations

import numpy as np

from ccgbo.acquisition import Score
from ccgbo.bench.baselines.base import Array, Initial, SurrogateLoop
from ccgbo.bench.baselines.belief import SD, GaussianBelief, LogBelief
from ccgbo.errors import SettingError
from ccgbo.model import Model
from ccgbo.presets import Settings
from ccgbo.space import Space

LEAST = 1e-300  # of the surplus, whose logarithm is taken


class PriorWeightedLoop(SurrogateLoop):
    def __init__(
        self,
        space: Space,
        seed: int,
        initial: Initial,
        settings: Settings,
        *,
        belief: LogBelief | None = None,  # None: a Gaussian at the best initial point
        sd: float = SD,
        strength: float = 10.0,  # beta_rho
    ) -> None:
        if not strength >= 0.0:
            raise SettingError(f"strength must be >= 0, got {strength!r}.")
        super().__init__(space, seed, initial, settings)
        self.belief = GaussianBelief.at_best(space, initial, sd) if belief is None else belief
        self.strength = strength

    def score(self, model: Model, candidates: Array) -> Score:
        base = super().score(model, candidates)
        least, power = float(base(candidates).min()), self.strength / max(self.t, 1)

        def weighted(x: Array) -> Array:
            result: Array = np.log(np.maximum(base(x) - least, LEAST)) + power * self.belief(x)
            return result

        return weighted
