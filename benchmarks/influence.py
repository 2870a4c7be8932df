"""How well credit agrees with the exact worth of an observation, over runs of the default; and what the worth costs.

    python benchmarks/influence.py                 the rank correlations
    python benchmarks/influence.py --speed         the time of Optimizer.influence

At t = 10, 25 and 50 suggestions after the initial design, over all observations so far:

    credit ~ worth   rank correlation of the paper's credit with the exact worth
    credit ~ share   with the Shapley value
    credit ~ fall    with how much the estimated optimum falls without the observation
    value ~ worth    of the observed value with the worth
    worth ~ worth    between two halves of the posterior functions: what the correlation could be at most
    low half         share of all worth that the half with less credit has
    top five         share of runs in which the most valuable observation is among the five with most credit

Means over problems and seeds, with 95 % intervals from resampling these runs.
"""

from __future__ import annotations

import argparse
import os
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
from scipy.stats import rankdata  # noqa: E402

from ccgbo import Optimizer  # noqa: E402
from ccgbo.arrays import Array  # noqa: E402
from ccgbo.bench.credited import maxima_of  # noqa: E402
from ccgbo.bench.problems import get_problem  # noqa: E402
from ccgbo.credit.shapley import sampled_orders, shapley  # noqa: E402
from ccgbo.surrogate.base import DeletablePosterior  # noqa: E402

PROBLEMS = (
    "Forrester1", "Branin2", "GoldsteinPrice2", "Ishigami3", "StyblinskiTang4", "Park4", "Ackley5", "Friedman5",
    "Hartmann6", "ARDDraw6", "Loeppky7", "Levy8", "Rosenbrock10", "Welch20",
)  # fmt: skip
TIMES = (10, 25, 50)
DIMENSIONS = ((1, 3), (4, 6), (7, 20))
COLUMNS = (
    "credit ~ worth",
    "credit ~ share",
    "credit ~ fall",
    "value ~ worth",
    "worth ~ worth",
    "low half",
    "top five",
)


def correlation(a: Array, b: Array) -> float:
    """Spearman's; ties share their rank."""
    return float(np.corrcoef(rankdata(a), rankdata(b))[0, 1]) if np.ptp(a) > 0 and np.ptp(b) > 0 else 0.0


def measures(opt: Optimizer, n_paths: int, n_orders: int) -> list[float]:
    """The columns of the table at one moment of a run."""
    state, rng = opt.snapshot(), np.random.default_rng(0)
    posterior = state.model.posterior
    assert isinstance(posterior, DeletablePosterior)
    F = state.space.features(state.space.sample(256, rng))
    found = maxima_of(posterior, F, n_paths, np.random.default_rng(1))
    credit = np.array([row.credit for row in opt.credits()])
    values = np.array([row.value for row in opt.credits()])
    worth, half = found.worth, n_paths // 2
    points = np.concatenate([F, posterior.X, found.full.argmax[0], found.without.argmax[:, -1]])
    deletions = posterior.deletions(n_paths, np.random.default_rng(1))
    share = shapley(deletions, points, sampled_orders(len(worth), n_orders, rng)).value
    fall = found.full.maxima[0, :-1].mean() - found.without.maxima[:, :-1].mean(axis=1)
    low = credit <= np.median(credit)
    return [
        correlation(credit, worth),
        correlation(credit, share),
        correlation(credit, fall),
        correlation(values, worth),
        correlation(found.loss[:, :half].mean(axis=1), found.loss[:, half:].mean(axis=1)),
        float(worth[low].sum() / worth.sum()) if worth.sum() > 0.0 else 0.5,
        float(worth.argmax() in np.argsort(-credit)[:5]),
    ]


def one_run(name: str, seed: int, n_paths: int, n_orders: int) -> Array:  # (times, columns)
    """A run of the default, looked at on the way."""
    problem = get_problem(name, seed)
    opt = Optimizer(problem.space, seed=seed)
    rows, initial = [], opt.settings.initial_size(problem.space.d)
    for i in range(1, initial + TIMES[-1] + 1):
        trial = opt.ask()
        opt.tell(trial, problem(trial.params))
        if i - initial in TIMES:
            rows.append(measures(opt, n_paths, n_orders))
    return np.array(rows)


def interval(values: Array) -> str:
    """Mean and its 95 % interval over the runs."""
    pick = np.random.default_rng(0).integers(len(values), size=(5000, len(values)))
    low, high = np.quantile(values[pick].mean(axis=1), [0.025, 0.975])
    return f"{values.mean():.2f} [{low:.2f}, {high:.2f}]"


def correlations(seeds: int, n_paths: int, n_orders: int) -> None:
    began, found, d = time.process_time(), [], []
    for name in PROBLEMS:
        runs = [one_run(name, 900 + seed, n_paths, n_orders) for seed in range(seeds)]
        found += runs
        d += [get_problem(name).space.d] * seeds
        print(f"{name:<18}" + "".join(f"{v:8.2f}" for v in np.mean(runs, axis=0)[:, 0]), flush=True)
    table, dimension = np.array(found), np.array(d)  # (runs, times, columns)
    print("\n| | " + " | ".join(COLUMNS) + " |\n|---|" + "---|" * len(COLUMNS))
    for low, high in (*DIMENSIONS, (1, 99)):
        rows = table[(dimension >= low) & (dimension <= high)]
        for j, t in enumerate(TIMES):
            name = f"{low} to {high} dimensions" if high < 99 else "all"
            cells = [interval(rows[:, j, c]) for c in range(len(COLUMNS))]
            print(f"| {name}, t = {t} | " + " | ".join(cells) + " |")
    print(f"\n{len(table)} runs, {(time.process_time() - began) / 60:.1f} CPU minutes")


def speed() -> None:
    """CPU milliseconds of ``influence`` with n observations, two thirds of them at random and a third near the best."""
    for name, n in [(p, n) for p in ("Branin2", "Hartmann6", "Levy8", "Rosenbrock10") for n in (30, 100, 300)]:
        problem, rng = get_problem(name), np.random.default_rng(0)
        space = problem.space
        U = space.sample(n - n // 3, rng)
        best = U[np.argsort([problem(space.decode(u)) for u in U])[-5:]]
        near = best[rng.integers(5, size=n // 3)] + 0.05 * rng.standard_normal((n // 3, space.d))
        points = [space.decode(u) for u in np.concatenate([U, np.clip(near, 0.0, 1.0)])]
        opt = Optimizer(space, seed=0)
        opt.tell_many(points, [problem(point) for point in points])
        opt.snapshot()
        times = []
        for _ in range(7):
            began = time.process_time()
            opt.influence()
            times.append(1e3 * (time.process_time() - began))
        print(f"{name:<14} n = {n:<4} median {np.median(times):6.1f} ms, least {min(times):6.1f} ms", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--paths", type=int, default=64, help="posterior functions")
    parser.add_argument("--orders", type=int, default=40, help="sampled orders of the Shapley values")
    parser.add_argument("--speed", action="store_true")
    options = parser.parse_args()
    speed() if options.speed else correlations(options.seeds, options.paths, options.orders)


if __name__ == "__main__":
    main()
