"""What more evaluations would gain: played through on functions that the model believes in.

    k  posterior paths, each taken for the truth in turn; m  points they may be evaluated at; t  evaluations

The points are the maxima of the paths, candidates around the best observations and over the space, and the best
observations themselves. On each path t evaluations are played: the point of the largest expected improvement is
evaluated, noise and all, and the belief follows. With C the posterior covariance of the points and x_s the s-th choice,

    w_s = (C(., x_s) - sum_(r < s) w_r w_r(x_s)) / sqrt(var_s(x_s) + noise)
    mean_(s + 1) = mean_s + w_s (y_s - mean_s(x_s)) / sqrt(var_s(x_s) + noise),      var_(s + 1) = var_s - w_s^2

so that a step costs O(k m t). The gain is how much higher the path is at the point that is recommended at the end, the
evaluated one with the best mean, than at the point that is recommended now. The hyperparameters are held: what another
fit would believe is not in it. In the user's units it is taken along the slope at the best observation: beyond the
knee of the robust transform a value of the model would stand for astronomic ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from ccgbo.arrays import LARGEST, Array
from ccgbo.diagnosis import Gain
from ccgbo.engine.candidates import global_candidates, local_candidates
from ccgbo.engine.search import movable
from ccgbo.engine.step import State, most
from ccgbo.errors import InfeasibleSpaceError
from ccgbo.surrogate.base import JointPosterior, Paths
from ccgbo.surrogate.optima import maximise_paths

N_PATHS = 64
N_GLOBAL, N_LOCAL, N_BEST = 192, 96, 12  # points over the space, around the best observations, and these themselves


def expected_gains(
    state: State, rng: np.random.Generator, more: Sequence[int] = (10, 25), *, n_paths: int = N_PATHS
) -> list[Gain]:
    """What so many more evaluations are expected to gain; empty where the surrogate knows no covariances."""
    posterior, model = state.model.posterior, state.model
    if not isinstance(posterior, JointPosterior) or len(state.observed) < 2:
        return []
    paths = posterior.paths(n_paths, rng)
    best = _best(state)
    points = np.concatenate([posterior.X[best], _points(state, paths, rng)])
    value = _play(posterior, paths(points), points, len(best), max(more), rng)
    slope = float(model.outcome.slope(model.mean[best[:1]])[0])
    return [gain_of(n, value[n] - value[0], slope) for n in more]


def gain_of(n: int, gain: Array, slope: float, *, unit: Literal["value", "hypervolume"] = "value") -> Gain:  # (k,)
    """What ``n`` evaluations gained on each of the paths, in the user's units."""
    found = [gain.mean(), *np.quantile(gain, [0.1, 0.9]), gain.std(ddof=1) / len(gain) ** 0.5]
    with np.errstate(over="ignore"):
        mean, low, high, error = np.clip(slope * np.array(found), -LARGEST, LARGEST).tolist()
    return Gain(n=n, mean=mean, low=low, high=high, error=error, unit=unit)


def _best(state: State) -> NDArray[np.intp]:
    """The observations with the best mean; as for a recommendation those within the bounds, if there are any."""
    inside = ((state.observed >= 0.0) & (state.observed <= 1.0)).all(axis=1)
    merit = np.where(inside, state.model.mean, -np.inf) if inside.any() else state.model.mean
    order: NDArray[np.intp] = np.argsort(-merit, kind="stable")[: min(N_BEST, int(inside.sum()) or N_BEST)]
    return order


def _points(state: State, paths: Paths, rng: np.random.Generator) -> Array:  # (m, p)
    """Where the paths may be evaluated."""
    space, tuning = state.space, state.settings.tuning
    U, near = where_to_evaluate(state, most(state.model.mean, state.observed), rng)
    free = movable(space, np.concatenate([U, state.observed]))
    steps = 0 if space.constraints else tuning.path_steps  # a climb could leave what is allowed
    optima = maximise_paths(paths, space.features(U), free, steps=steps).argmax
    return np.concatenate([optima, near])


def where_to_evaluate(state: State, centres: Array, rng: np.random.Generator) -> tuple[Array, Array]:  # (., d), (., p)
    """Candidates over the space for the optima of paths, and beside those the features of points to be evaluated."""
    space = state.space
    try:
        U = global_candidates(space, state.settings.tuning, rng)
    except InfeasibleSpaceError:
        U = np.empty((0, space.d))
    near = local_candidates(space, centres, N_LOCAL, rng)
    return U, np.concatenate([space.features(near), space.features(U[:N_GLOBAL])])


class Believed:
    """What is believed of one metric at some points on every path, as evaluations of the path are played."""

    def __init__(
        self,
        posterior: JointPosterior,
        truth: Array,  # (k, m) every path at every point
        points: Array,  # (m, p)
        n: int,  # evaluations at most
    ) -> None:
        self._joint = posterior.joint_with(points)
        mean, std, self._C = self._joint.predict(points)
        self._truth, (k, m) = truth, truth.shape
        self.mean, self.var = np.tile(mean, (k, 1)), np.tile(std**2, (k, 1))
        self._W, self._s = np.empty((n, k, m)), 0

    @property
    def std(self) -> Array:  # (k, m)
        result: Array = np.sqrt(np.maximum(self.var, 1e-12))
        return result

    def observe(self, j: NDArray[np.intp], rng: np.random.Generator) -> None:  # (k,)
        """Evaluate every path at one point each, noise and all."""
        rows, W, s, noise = np.arange(len(j)), self._W, self._s, self._joint.noise
        spread = np.sqrt(np.maximum(self.var[rows, j], 0.0) + noise)
        W[s] = (self._C[j] - np.einsum("rkm,rk->km", W[:s], W[:s, rows, j])) / spread[:, None]
        y = self._truth[rows, j] + noise**0.5 * rng.standard_normal(len(j))
        self.mean += W[s] * ((y - self.mean[rows, j]) / spread)[:, None]
        self.var -= W[s] ** 2
        self._s += 1


def _play(
    posterior: JointPosterior,
    truth: Array,  # (m, k) every path at every point
    points: Array,  # (m, p)
    n_observed: int,  # of them, the first, are observations
    n: int,
    rng: np.random.Generator,
) -> Array:  # (n + 1, k)
    """Every path at the point that would be recommended, after 0, 1, ... n evaluations."""
    truth = truth.T
    believed, rows = Believed(posterior, truth, points, n), np.arange(len(truth))
    evaluated = np.zeros(truth.shape, dtype=bool)
    evaluated[:, :n_observed] = True
    out = np.empty((n + 1, len(truth)))
    for s in range(n + 1):
        known = np.where(evaluated, believed.mean, -np.inf)
        out[s] = truth[rows, known.argmax(axis=1)]
        if s == n:
            break
        improvement = expected_improvement(believed.mean, believed.var, known.max(axis=1))
        j = np.where(evaluated, -np.inf, improvement).argmax(axis=1)
        believed.observe(j, rng)
        evaluated[rows, j] = True
    return out


def expected_improvement(mean: Array, var: Array, best: Array) -> Array:  # (k, m), (k, m), (k,)
    """That of the mean of a point over the best one."""
    std = np.sqrt(np.maximum(var, 1e-12))
    z = (mean - best[:, None]) / std
    improvement: Array = std * (z * ndtr(z) + np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi))
    return improvement
