"""The paper's two theorems, measured on its own tasks.

Theorem 5.1: |Z_t - f(x*)| <= (beta + c_0) S_t + C S_t sqrt(log(1 / delta) / K), where S_t is the largest posterior
standard deviation. At some iterations of a run we draw many posterior paths, maximise each by gradient, and record

    mean, sd   of the maxima Z^(j): the first error does not fade with K, the second fades as sd / sqrt(K)
    error_K    mean of |Z_t - f(x*)| over disjoint groups of K paths
    S          over the candidates

Theorem 5.2: R_N^ccg <= max_t (B_t / A_t) R_N with R_N = O(sqrt(N gamma_N beta_N)). We record the regrets and the
information gain of the points that were queried, a lower bound of its maximum gamma_N,

    gain_N = 1/2 log |I + K_N / noise| = sum_(i <= N) log(L_ii / sqrt(noise))

with the kernel fitted at the end of the run. Everything but the gain is in the units of the problem.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ccgbo.arrays import Array
from ccgbo.bench.baselines.base import EngineSearch, gaussian
from ccgbo.bench.experiment import Cell, Experiment
from ccgbo.bench.results import Row
from ccgbo.bench.runner import start, step
from ccgbo.credit.field import CreditSettings, lower_weight, upper_weight
from ccgbo.engine.model import Model, build_model
from ccgbo.engine.optimizer import Optimizer
from ccgbo.engine.search import movable
from ccgbo.engine.threads import blas_threads
from ccgbo.errors import SettingError
from ccgbo.surrogate.optima import maximise_paths

CHECKPOINTS = (0, 5, 10, 20, 40, 70, 100)
GROUPS = (1, 5, 25, 100)  # K
N_PATHS = 400
N_CANDIDATES = 1000
PATH_STEPS = 30


def run_theory(experiment: Experiment, cell: Cell) -> Row:
    """The regrets of one run with what the theorems speak of."""
    problem, initial, searcher = start(experiment, cell)
    if not isinstance(searcher, EngineSearch):
        raise SettingError(f"a theory experiment needs methods of the optimizer itself, got {cell.method!r}.")
    rng = np.random.default_rng([cell.seed, 5])
    regret: list[float] = []
    proxies = []
    for t in range(experiment.iterations + 1):
        if t in CHECKPOINTS:
            with blas_threads(1):
                proxies.append({"t": t, **proxy_errors(posterior(searcher.optimizer), searcher, problem.optimum, rng)})
        if t < experiment.iterations:
            regret.append(step(problem, searcher, cell.seed, len(initial) + t))
    gain = gaussian(posterior(searcher.optimizer).posterior).information_gain()
    return {
        "n_initial": len(initial),
        "initial": min(problem.regret(point) for point, _ in initial),
        "regret": regret,
        "proxy": proxies,
        "gain": [float(g) for g in gain[len(initial) :]],
    }


def posterior(optimizer: Optimizer) -> Model:
    """The posterior of what an optimizer was told, fitted afresh."""
    return build_model(optimizer.data, optimizer.space.choices, optimizer.settings)


def proxy_errors(model: Model, searcher: EngineSearch, optimum: float, rng: np.random.Generator) -> dict[str, Any]:
    """How far Z_t is from the optimum, and why."""
    space, gp = searcher.optimizer.space, model.posterior
    paths = gp.paths(N_PATHS, rng)
    U = space.sample(N_CANDIDATES, rng)
    F = space.features(U)
    free = movable(space, np.concatenate([U, space.from_features(gp.X)]))
    maxima = model.outcome.inverse(maximise_paths(paths, F, free, steps=PATH_STEPS).maxima)
    widest = float(model.in_user_units(np.zeros(1), gp.predict(F)[1].max(keepdims=True))[1][0])
    errors = {str(k): float(np.mean(np.abs(group_means(maxima, k) - optimum))) for k in GROUPS}
    return {"mean": float(maxima.mean() - optimum), "sd": float(maxima.std(ddof=1)), "error": errors, "S": widest}


def group_means(maxima: Array, k: int) -> Array:
    """Z of disjoint groups of k paths."""
    n = len(maxima) // k
    means: Array = maxima[: n * k].reshape(n, k).mean(axis=1)
    return means


def weight_bounds(iterations: int, credit: CreditSettings) -> tuple[Array, Array]:  # (T,), (T,)
    """A_t and B_t of Theorem 5.2 for t = 1 ... T."""
    options = {"strength": credit.strength, "tau": credit.tau, "half_life": credit.half_life}
    steps = range(1, iterations + 1)
    lower = np.array([lower_weight(t, **options, c_min=credit.floor) for t in steps])
    upper = np.array([upper_weight(t, **options) for t in steps])
    return lower, upper


def growth_exponent(cumulative: Array, first: int = 20) -> float:
    """Slope of log R_N against log N from iteration ``first`` on; below 1 is sublinear."""
    n = np.arange(1, len(cumulative) + 1)[first - 1 :]
    return float(np.polyfit(np.log(n), np.log(cumulative[first - 1 :]), 1)[0])
