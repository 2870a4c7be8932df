"""How the best values of src/ccgbo/bench/problems/best_known.json were found; a better point replaces the stored one.

    python benchmarks/best_known.py                          # every problem, about fifteen minutes of one core
    python benchmarks/best_known.py Rover60 LassoMade100
    python benchmarks/best_known.py Hopper33 --seed 1        # more of the same

The policies and the small simulations by CMA-ES, restarted with twice the population; the rover by CMA-ES from the
straight line and from bent ones; the lasso by L-BFGS-B on the gradient that implicit differentiation gives, from
common penalties and from penalties that know which columns a common one picked.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import cmaes  # noqa: E402
import numpy as np  # noqa: E402
from scipy.optimize import minimize  # noqa: E402
from sklearn.linear_model import Lasso  # noqa: E402

from ccgbo.bench.problems import Problem, get_problem  # noqa: E402
from ccgbo.bench.problems.base import folds  # noqa: E402
from ccgbo.bench.problems.lasso import FOLDS, data, greatest_penalty  # noqa: E402
from ccgbo.versions import versions  # noqa: E402

STORED = Path(__file__).parents[1] / "src/ccgbo/bench/problems/best_known.json"
SIMULATIONS = ("FlowReactor4", "Pendulum5", "LynxHare4")
EVALUATIONS = {"LunarLander12": 2400, "Swimmer16": 6000, "Hopper33": 800, "Rover60": 60_000}
EVALUATIONS.update(dict.fromkeys(SIMULATIONS, 4000))
DIGITS = 10  # of a stored coordinate
Found = tuple[float, Any]  # value and point in the unit cube


def value_of(problem: Problem, u: Any) -> float:
    return problem(problem.space.decode(np.round(u, DIGITS)))


def evolve(problem: Problem, mean: Any, sigma: float, evaluations: int, seed: int) -> Found:
    """CMA-ES in the unit cube; when it stops it starts again from the best point with twice the population."""
    d, best, used, population = problem.space.d, (-np.inf, mean), 0, None
    while used < evaluations:
        bounds = np.tile([0.0, 1.0], (d, 1))
        es = cmaes.CMA(mean=np.array(mean), sigma=sigma, bounds=bounds, seed=seed + used, population_size=population)
        while used < evaluations and not es.should_stop():
            told = []
            for _ in range(es.population_size):
                u = es.ask()
                value = value_of(problem, u)
                told.append((u, -value))
                best = max(best, (value, np.round(u, DIGITS)), key=lambda found: found[0])
            used += es.population_size
            es.tell(told)
        mean, population = best[1], 2 * es.population_size
    return best


def policy(problem: Problem, seed: int) -> Found:
    rng = np.random.default_rng(seed)
    share = EVALUATIONS[problem.name] // 4
    U = rng.random((200, problem.space.d))
    order = np.argsort([-value_of(problem, u) for u in U])[:2]
    tops = [evolve(problem, U[i], 0.25, share, seed) for i in order]
    tops.append(evolve(problem, np.full(problem.space.d, 0.5), 0.25, share, seed))
    best = max(tops, key=lambda found: found[0])
    return max(best, evolve(problem, best[1], 0.05, share, seed + 1), key=lambda found: found[0])


def simulation(problem: Problem, seed: int) -> Found:
    """Smooth functions of few parameters: the simplex goes on where CMA-ES stops."""
    start = policy(problem, seed)
    options = {"xatol": 1e-10, "fatol": 1e-13, "maxfev": 2000}
    bounds = [(0.0, 1.0)] * problem.space.d
    got = minimize(lambda u: -value_of(problem, u), start[1], method="Nelder-Mead", bounds=bounds, options=options)
    return max(start, (-float(got.fun), got.x.round(DIGITS)), key=lambda found: found[0])


def rover(problem: Problem, seed: int) -> Found:
    t = np.linspace(0.0, 1.0, 30)
    tops = []
    for bend in (-0.6, -0.4, -0.2, 0.0, 0.2, 0.4, 0.6):  # to the left or to the right of the straight line
        bow = bend * np.sin(np.pi * t) / np.sqrt(2.0)
        way = np.column_stack([0.05 + 0.9 * t - bow, 0.05 + 0.9 * t + bow])
        start = np.clip(way, 0.02, 0.98).ravel()
        tops.append(evolve(problem, start, 0.05, EVALUATIONS["Rover60"] // 10, seed))
    best = max(tops, key=lambda found: found[0])
    return max(best, evolve(problem, best[1], 0.01, EVALUATIONS["Rover60"] // 3, seed), key=lambda found: found[0])


def lasso_slope(x: Any, name: str) -> tuple[float, Any]:
    """The cross-validated error and its slope by the logarithms of the penalties.

    On the columns whose coefficient is not zero the fit satisfies X'(y - X b) / n = p sign(b), hence
    db / dp = -(X'X / n)^-1 diag(sign b) there, with centred columns; the others do not move.
    """
    X, y = data(name)
    p = greatest_penalty(X, y) * 10.0**x
    error, slope = 0.0, np.zeros(len(x))
    for train, test in folds(len(y), FOLDS):
        model = Lasso(alpha=1.0, tol=1e-5, max_iter=5000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X[train] / p, y[train])
        b = model.coef_ / p
        active = np.flatnonzero(b)
        miss = y[test] - model.predict(X[test] / p)
        error += float((miss**2).sum())
        middle = X[train].mean(0)
        A = (X[train] - middle)[:, active]
        B = (X[test] - middle)[:, active]
        gram = A.T @ A / len(train) + 1e-9 * np.eye(len(active))
        moves = np.linalg.solve(gram, B.T @ miss)  # (active,)
        slope[active] += 2.0 * moves * np.sign(b[active]) * p[active] * np.log(10.0)
    return error / len(y), slope / len(y)


def lasso(problem: Problem, seed: int) -> Found:
    X, y = data(problem.name)
    d, rng, tops = problem.space.d, np.random.default_rng(seed), []
    for common in (-1.3, -1.0, -0.8, -0.6, -0.5):
        picked = np.abs(Lasso(alpha=greatest_penalty(X, y) * 10.0**common).fit(X, y).coef_) > 0.0
        knowing = np.where(picked, -1.5, -0.3)
        for start in (np.full(d, common), knowing, knowing + 0.2 * rng.standard_normal(d)):
            bounds = [(-3.0, 0.0)] * d
            options = {"maxiter": 300}
            begin = np.clip(start, -3.0, 0.0)
            got = minimize(
                lasso_slope, begin, (problem.name,), jac=True, method="L-BFGS-B", bounds=bounds, options=options
            )
            tops.append(got.x)
    points = [np.clip((x + 3.0) / 3.0, 0.0, 1.0).round(DIGITS) for x in tops]
    best = max(((value_of(problem, u), u) for u in points), key=lambda found: found[0])
    for i in range(2000):  # kinks stop a slope: single coordinates go on
        u, j = best[1].copy(), rng.integers(d, size=1 + i % 3)
        u[j] = np.clip(u[j] + rng.normal(0.0, 0.15, len(j)), 0.0, 1.0).round(DIGITS)
        best = max(best, (value_of(problem, u), u), key=lambda found: found[0])
    return best


SEARCHES = {
    **dict.fromkeys(("LunarLander12", "Swimmer16", "Hopper33"), policy),
    **dict.fromkeys(SIMULATIONS, simulation),
    "Rover60": rover,
    **dict.fromkeys(("LassoMade100", "LassoMade300", "LassoDiabetes200"), lasso),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", default=list(SEARCHES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--evaluations", type=int, help="of the policies and the rover, instead of their own number")
    args = parser.parse_args()
    if args.evaluations is not None:
        EVALUATIONS.update(dict.fromkeys(EVALUATIONS, args.evaluations))
    print("versions:", versions())
    for name in args.problems:
        began, problem = time.process_time(), get_problem(name)
        value, u = SEARCHES[name](problem, args.seed)
        stored = json.loads(STORED.read_text())
        had = stored.get(name, {}).get("value", -np.inf)
        print(f"{name}: found {value:.8g}, stored {had:.8g}, {time.process_time() - began:.0f} CPU s", flush=True)
        if value > had:
            stored[name] = {"value": value, "point": [float(v) for v in u]}
            lines = [f'"{key}": {json.dumps(stored[key])}' for key in sorted(stored)]
            STORED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
