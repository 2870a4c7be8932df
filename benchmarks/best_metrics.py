"""How the best values of src/ccgbo/bench/problems/best_metrics.json were found; a better one replaces the stored one.

    pip install moocore
    python benchmarks/best_metrics.py                        # every problem, about fifteen minutes of one core
    python benchmarks/best_metrics.py WeldedBeam4 Penicillin7x3 --seed 1

BoTorch's own optima of the problems with constraints are those of papers, and not of its formulas; its largest
hypervolumes are partly those of an approximate front. With one objective: differential evolution under the constraints,
from several seeds. With several: an archive of non-dominated points that grows by differential steps between its
members, up to ten or fifty thousand points, and its hypervolume. Where a formula gives it, nothing is searched.
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

import moocore  # noqa: E402
import numpy as np  # noqa: E402
from scipy.optimize import NonlinearConstraint, differential_evolution  # noqa: E402
from scipy.spatial import cKDTree  # noqa: E402

from ccgbo.bench.problems.several import METRIC_PROBLEMS, MetricProblem, get_metric_problem  # noqa: E402
from ccgbo.versions import versions  # noqa: E402

STORED = Path(__file__).parents[1] / "src/ccgbo/bench/problems/best_metrics.json"
FORMULA = ("ZDT1_6x2", "ZDT2_6x2", "DTLZ2_6x2", "DTLZ2_6x3")  # exact in BoTorch
ARCHIVE, GENERATIONS, CHILDREN = 10_000, 300, 2000
MORE = {"VehicleSafety5x3": (50_000, 400, 4000)}  # where BoTorch's value needed it
RESTARTS = 4
# f1 = 7 / f0 - 9 from f0 = 7/18 to 2/3 and 1 / f0 from there to the reference point, (10, 10)
CLOSED_FORM = {"CONSTR2x2": 19.0 * (2 / 3 - 7 / 18) - 7.0 * np.log(12 / 7) + 10.0 * (10 - 2 / 3) - np.log(15)}


def edges(problem: MetricProblem) -> tuple[Any, Any]:
    low, high = (np.array([getattr(p, side) for p in problem.space.values()]) for side in ("low", "high"))
    return low, high


def least(problem: MetricProblem, seed: int) -> tuple[float, list[float]]:
    """The least feasible value and where."""
    low, high = edges(problem)
    found: list[tuple[float, list[float]]] = []
    for restart in range(RESTARTS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got = differential_evolution(
                lambda x: problem.values(np.atleast_2d(x.T))[:, 0],
                list(zip(low, high, strict=True)),
                constraints=NonlinearConstraint(lambda x: _constraints(problem, x), -np.inf, 0.0),
                vectorized=True,
                updating="deferred",
                polish=False,
                popsize=20,
                maxiter=3000,
                tol=1e-12,
                rng=np.random.default_rng([seed, restart]),
            )
        x = np.clip(got.x, low, high)
        metrics = problem.values(x[None, :])[0]
        if (metrics[1:] <= 0.0).all():
            found.append((float(metrics[0]), x.tolist()))
    return min(found)


def _constraints(problem: MetricProblem, x: Any) -> Any:
    """Of one point (d,) or of the columns of many, as SciPy asks."""
    C = problem.values(np.atleast_2d(x.T))[:, 1:]
    return C[0] if x.ndim == 1 else C.T


def largest(problem: MetricProblem, seed: int) -> float:
    """The hypervolume of an archive of feasible points that do not dominate each other."""
    low, high = edges(problem)
    archive, generations, children = MORE.get(problem.name, (ARCHIVE, GENERATIONS, CHILDREN))
    rng, m, reference = np.random.default_rng(seed), len(problem.task.objectives), np.array(problem.task.reference)
    X, Y, best = np.empty((0, len(low))), np.empty((0, m)), 0.0
    for generation in range(generations):
        U = low + (high - low) * rng.random((children, len(low)))
        if len(X) > 10 and generation >= 5:
            a, b, c = (X[rng.integers(len(X), size=children)] for _ in range(3))
            jump = rng.choice([0.05, 0.2, 0.5, 1.0], size=(children, 1)) * (b - c)
            jump += rng.choice([0.0, 1e-3, 3e-2], size=(children, 1)) * (high - low) * rng.standard_normal(U.shape)
            U = np.clip(a + jump * (rng.random(U.shape) < 0.7), low, high)
        V = problem.values(U)
        kept = (V[:, m:] <= 0.0).all(axis=1) & (V[:, :m] < reference).all(axis=1)
        X, Y = np.vstack([X, U[kept]]), np.vstack([Y, V[kept, :m]])
        front = moocore.is_nondominated(Y)
        X, Y = X[front], Y[front]
        if len(X) > archive:
            apart = spread(Y, archive)
            X, Y = X[apart], Y[apart]
        if generation % 10 == 9:
            best = max(best, float(moocore.hypervolume(Y, ref=reference)))
    return best


def spread(Y: Any, n: int) -> Any:
    """``n`` of the points: the ends of the front, then those farthest from their nearest neighbour."""
    scaled = (Y - Y.min(axis=0)) / np.ptp(Y, axis=0)
    gaps = cKDTree(scaled).query(scaled, k=2)[0][:, 1]
    gaps[[*Y.argmin(axis=0), *Y.argmax(axis=0)]] = np.inf
    return np.argsort(-gaps)[:n]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", default=[name for name in METRIC_PROBLEMS if name not in FORMULA])
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    print("versions:", versions())
    for name in args.problems:
        began, problem = time.process_time(), get_metric_problem(name)
        entry: dict[str, Any]
        if len(problem.task.objectives) > 1:
            value = float(CLOSED_FORM[name]) if name in CLOSED_FORM else largest(problem, args.seed)
            entry, better = {"value": value}, value > problem.best
        else:
            value, where = least(problem, args.seed)
            entry, better = {"value": value, "point": where}, value < problem.best
        spent = time.process_time() - began
        print(f"{name}: found {value:.10g}, best so far {problem.best:.10g}, {spent:.0f} CPU s", flush=True)
        if better:
            stored = {**json.loads(STORED.read_text(encoding="utf-8")), name: entry}
            lines = [f'"{key}": {json.dumps(stored[key])}' for key in sorted(stored)]
            STORED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
