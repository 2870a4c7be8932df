"""Functions drawn per seed from a Gaussian process on the unit cube.

    GPDraw4      lengthscales drawn log-uniformly in [0.2, 0.8]: every parameter matters
    ARDDraw6     in [0.15, 5]: some parameters matter much and some hardly at all

The prior is Matern-5/2 with unit variance, drawn by random features:

    f(x) = sqrt(2 / m) sum_k a_k cos(w_k . x + b_k),   a ~ N(0, 1),  b ~ U(0, 2 pi),  w ~ t_5 / lengthscale

The spectral density of Matern-5/2 is a multivariate Student-t with five degrees of freedom. The optimum is found by
L-BFGS-B from the best 60 of 20 000 random points, once per seed.
"""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np

from ccgbo.arrays import Array
from ccgbo.bench.problems.base import Factory, Problem, Rows, box, point_of
from ccgbo.bench.problems.search import maximise_box

FEATURES = 512


def matern_features(d: int, features: int, lengthscale: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Frequencies (features, d) and phases (features,) of a Matern-5/2 prior."""
    normal = rng.standard_normal((features, d))
    student = normal * np.sqrt(5.0 / rng.chisquare(5.0, size=(features, 1)))
    return student / lengthscale, rng.uniform(0.0, 2.0 * np.pi, features)


def _evaluate(X: Array, *, frequencies: Array, phases: Array, amplitudes: Array) -> Array:
    return np.cos(X @ frequencies.T + phases) @ amplitudes


@lru_cache(maxsize=256)
def _draw(seed: int, d: int, shortest: float, longest: float) -> tuple[Rows, float, tuple[float, ...]]:
    rng = np.random.default_rng([seed, 45071])  # apart from the streams of designs and noise
    lengthscale = np.exp(rng.uniform(np.log(shortest), np.log(longest), d))
    frequencies, phases = matern_features(d, FEATURES, lengthscale, rng)
    amplitudes = np.sqrt(2.0 / FEATURES) * rng.standard_normal(FEATURES)
    function = partial(_evaluate, frequencies=frequencies, phases=phases, amplitudes=amplitudes)
    best, where = maximise_box(function, np.zeros(d), np.ones(d), screen=20_000, starts=60, seed=seed)
    return function, best, tuple(float(x) for x in where)


def _make(seed: int, *, name: str, d: int, shortest: float, longest: float) -> Problem:
    function, optimum, argmax = _draw(seed, d, shortest, longest)
    space = box(0.0, 1.0, d)
    return Problem(name=name, space=space, function=function, optimum=optimum, argmax=point_of(space, argmax))


CHOOSING: dict[str, Factory] = {
    "GPDraw4": partial(_make, name="GPDraw4", d=4, shortest=0.2, longest=0.8),
    "ARDDraw6": partial(_make, name="ARDDraw6", d=6, shortest=0.15, longest=5.0),
}
