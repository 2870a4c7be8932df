"""Several Gaussian processes of the same observations, each with a weight: a mixture posterior.

    w_k  weights, sum one;  mean_k, var_k  of member k

    mean(x) = sum_k w_k mean_k(x)
    var(x)  = sum_k w_k (var_k(x) + (mean_k(x) - mean(x))^2)

A path is drawn from a member, and members are drawn by their weights. Averaging an acquisition over the members
(acquisition/averaged.py) sees more than these two moments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from ccgbo.arrays import Array
from ccgbo.surrogate.base import Paths, Prediction
from ccgbo.surrogate.distance import Metric
from ccgbo.surrogate.gp.posterior import GP

LEAST_WEIGHT = 0.02  # a member that counts less is left out: it costs as much as any other


@dataclass(frozen=True, slots=True)
class Mixture:
    """The posterior of members that have seen the same observations; ``condition`` returns a new one."""

    members: tuple[GP, ...]
    weights: Array  # (k,)

    @property
    def heaviest(self) -> GP:
        """The member that counts most: its units are those of the mixture."""
        return self.members[int(self.weights.argmax())]

    @property
    def X(self) -> Array:
        return self.members[0].X

    @property
    def unit(self) -> Array:
        return self.heaviest.unit

    @property
    def metric(self) -> Metric:
        return self.heaviest.metric

    def predict(self, x: Array) -> tuple[Array, Array]:
        return self._mixed([member.predict(x) for member in self.members])

    def predict_mean(self, x: Array) -> Array:
        mean: Array = self.weights @ [member.predict_mean(x) for member in self.members]
        return mean

    def linearize(self, x: Array) -> Prediction:
        """``predict`` with its derivatives: d var / 2 = sum_k w_k (d var_k / 2 + (mean_k - mean) d mean_k)."""
        each = [member.linearize(x) for member in self.members]
        mean, std = self._mixed([(at.mean, at.std) for at in each])

        def gradient(by_mean: Array, by_half_var: Array) -> Array:
            total = np.zeros_like(x)
            for w, at in zip(self.weights, each, strict=True):
                total += w * at.gradient(by_mean + by_half_var * (at.mean - mean), by_half_var)
            return total

        return Prediction(mean, std, gradient)

    def at_observations(self) -> tuple[Array, Array]:
        return self._mixed([member.at_observations() for member in self.members])

    def leave_one_out(self) -> tuple[Array, Array]:
        return self._mixed([member.leave_one_out() for member in self.members])

    @property
    def noise(self) -> Array:
        noise: Array = self.weights @ [member.noise for member in self.members]
        return noise

    def condition(self, X: Array, y: Array) -> Mixture:
        return Mixture(tuple(member.condition(X, y) for member in self.members), self.weights)

    def paths(self, k: int, rng: np.random.Generator) -> MixturePaths:
        counts = rng.multinomial(k, self.weights)
        drawn = [member.paths(int(n), rng) for member, n in zip(self.members, counts, strict=True) if n]
        of = np.repeat(np.arange(len(drawn)), counts[counts > 0])
        column = np.concatenate([np.arange(n) for n in counts[counts > 0]])
        return MixturePaths(self, tuple(drawn), of, column)

    def _mixed(self, each: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
        means, stds = (np.array(part) for part in zip(*each, strict=True))
        mean = self.weights @ means
        return mean, np.sqrt(self.weights @ (stds**2 + (means - mean) ** 2))


def log_evidence(gp: GP) -> float:
    """log p(y) at the hyperparameters, up to a constant that all models of the same y share."""
    return float(-0.5 * (gp.y @ gp.alpha) - np.log(gp.L.diagonal()).sum())


def mixed_by_evidence(members: Sequence[GP]) -> GP | Mixture:
    """The members weighted by p(y), those that hardly count left out; one alone as it is."""
    return without_light(members, softmax([log_evidence(member) for member in members]))


def without_light(members: Sequence[GP], weights: Array) -> GP | Mixture:
    """The members with their weights, those that hardly count left out; one alone as it is."""
    least = min(LEAST_WEIGHT, 0.5 / len(members))  # of many members some are left all the same
    heavy = [i for i, weight in enumerate(weights) if weight >= least]
    if len(heavy) == 1:
        return members[heavy[0]]
    return Mixture(tuple(members[i] for i in heavy), weights[heavy] / weights[heavy].sum())


@dataclass(frozen=True, slots=True)
class MixturePaths:
    """Paths of several members."""

    mixture: Mixture
    parts: tuple[Paths, ...]
    of: NDArray[np.intp]  # (k,) the part that each path belongs to
    column: NDArray[np.intp]  # (k,) its place in the part

    @property
    def X(self) -> Array:
        return self.mixture.X

    @property
    def unit(self) -> Array:
        return self.mixture.unit

    @property
    def at_data(self) -> Array:
        return self._gathered([part.at_data for part in self.parts])

    def __call__(self, x: Array) -> Array:
        return self._gathered([part(x) for part in self.parts])

    def value_and_gradient_each(self, x: Array) -> tuple[Array, Array]:
        value, gradient = np.empty(len(x)), np.empty_like(x)
        for i, part in enumerate(self.parts):
            mine = np.flatnonzero(self.of == i)
            if len(mine):
                value[mine], gradient[mine] = part.select(self.column[mine]).value_and_gradient_each(x[mine])
        return value, gradient

    def select(self, j: NDArray[np.intp]) -> MixturePaths:
        return MixturePaths(self.mixture, self.parts, self.of[j], self.column[j])

    def _gathered(self, parts: Sequence[Array]) -> Array:
        out = np.empty((len(parts[0]), len(self.of)))
        for i, values in enumerate(parts):
            mine = self.of == i
            out[:, mine] = values[:, self.column[mine]]
        return out
