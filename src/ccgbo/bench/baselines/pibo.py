"""piBO: the acquisition times a fading power of the belief (Hvarfner, Stoll, Souza, Lindauer, Hutter, Nardi 2022).

    x_t = argmax (alpha(x) - min alpha) rho(x)^(beta_rho / t)

beta_rho = 10, a tenth of the budget, as the source advises. UCB can be negative, so the smallest value over the
candidates is taken off first, as CCGBO does. The product is compared by its logarithm: in many dimensions the
belief itself underflows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ccgbo.acquisition import UCB, BoundAcquisition, Codomain, Context
from ccgbo.arrays import Array
from ccgbo.bench.baselines.base import Initial
from ccgbo.bench.baselines.belief import SD, GaussianBelief, LogBelief
from ccgbo.errors import SettingError
from ccgbo.space import Space

LEAST = 1e-300  # of the surplus, whose logarithm is taken


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorWeightedUCB:
    """The logarithm of UCB's surplus times the fading belief; ``strength`` is beta_rho."""

    beta: float
    belief: LogBelief
    strength: float = 10.0
    codomain: ClassVar[Codomain] = "real"
    needs_optima: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.strength >= 0.0:
            raise SettingError(f"strength must be >= 0, got {self.strength!r}.")

    def bind(self, context: Context) -> BoundAcquisition:
        assert context.candidates is not None
        base = UCB(beta=self.beta).bind(context)
        least, power = float(base(context.candidates).min()), self.strength / max(context.t, 1)

        def weighted(x: Array) -> Array:
            result: Array = np.log(np.maximum(base(x) - least, LEAST)) + power * self.belief(x)
            return result

        return weighted


def pibo(
    space: Space,
    initial: Initial,
    beta: float,
    *,
    belief: LogBelief | None = None,  # None: a Gaussian at the best initial point
    sd: float = SD,
    **options: Any,
) -> Mapping[str, Any]:
    belief = GaussianBelief.at_best(space, initial, sd) if belief is None else belief
    return {"acquisition": PriorWeightedUCB(beta=beta, belief=belief, **options)}
