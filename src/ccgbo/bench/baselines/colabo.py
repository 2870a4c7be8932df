"""ColaBO: a belief about the optimum reweighs whole functions (Hvarfner, Hutter, Nardi, "A General Framework for
User-Guided Bayesian Optimization", 2023, Sec. 4).

The belief about the place x*_f of a function's maximum turns the GP into p(f | rho) ~ rho(x*_f) p(f). Given data, a
draw f_l of the plain posterior then stands for the belief's posterior with weight

    w_l = rho(x*_l) / sum_j rho(x*_j),       x*_l = argmax f_l

and a Monte Carlo acquisition is a weighted mean over the draws. Upper confidence bound in that form (Wilson et al.
2018, in which E|f - m| = std sqrt(2 / pi) for a Gaussian):

    m(x) = sum_l w_l f_l(x),     alpha(x) = m(x) + beta sqrt(pi / 2) sum_l w_l |f_l(x) - m(x)|

The draws are joint paths, maximised over the candidates and the observations. As data come in the draws agree on
their maximum, the weights even out and the belief fades by itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ccgbo.acquisition import BoundAcquisition, Codomain, Context
from ccgbo.arrays import Array
from ccgbo.bench.baselines.base import Initial
from ccgbo.bench.baselines.belief import SD, GaussianBelief, LogBelief
from ccgbo.errors import SettingError
from ccgbo.space import Space
from ccgbo.surrogate.base import Paths


@dataclass(frozen=True, slots=True, kw_only=True)
class BeliefUCB:
    """The Monte Carlo bound over ``n_paths`` paths that are weighed by the belief about their maximum."""

    beta: float
    belief: LogBelief
    n_paths: int = 128
    codomain: ClassVar[Codomain] = "real"
    needs_optima: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.n_paths < 2:
            raise SettingError(f"n_paths must be >= 2, got {self.n_paths!r}.")

    def bind(self, context: Context) -> BoundAcquisition:
        assert context.candidates is not None
        paths = context.posterior.paths(self.n_paths, context.rng)
        points = np.concatenate([context.candidates, context.posterior.X])
        return monte_carlo_ucb(paths, belief_weights(paths, points, self.belief), self.beta)


def colabo(
    space: Space,
    initial: Initial,
    beta: float,
    *,
    belief: LogBelief | None = None,  # None: a Gaussian at the best initial point
    sd: float = SD,
    **options: Any,
) -> Mapping[str, Any]:
    belief = GaussianBelief.at_best(space, initial, sd) if belief is None else belief
    return {"acquisition": BeliefUCB(beta=beta, belief=belief, **options)}


def belief_weights(paths: Paths, points: Array, belief: LogBelief) -> Array:  # (k,) summing to one
    """w_l of each path, whose maximum is looked for among the points."""
    log_rho = belief(points[paths(points).argmax(axis=0)])
    relative = np.exp(log_rho - log_rho.max())
    weights: Array = relative / relative.sum()
    return weights


def monte_carlo_ucb(paths: Paths, weights: Array, beta: float) -> BoundAcquisition:
    """alpha of the module's head."""

    def score(x: Array) -> Array:
        f = paths(x)  # (m, k)
        mean = f @ weights
        spread = np.abs(f - mean[:, None]) @ weights
        result: Array = mean + beta * math.sqrt(math.pi / 2.0) * spread
        return result

    return score
