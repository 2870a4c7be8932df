"""Many observations told at once: time of the first suggestion and of the next ones, memory, and what they are worth.

    python benchmarks/many_observations.py times                             # n = 3,000 to 50,000, a few minutes
    python benchmarks/many_observations.py quality --seeds 2                 # the reporting set, about half an hour
    python benchmarks/many_observations.py quality --cases choosing --sizes 20000 50000 --methods default random
    python benchmarks/many_observations.py table                             # of the results that are there

Methods: ``default``, which chooses the rows of its model (src/ccgbo/engine/rows.py) and lets them stand for the others
(pooling.py); ``not-pooled``, the same rows by themselves; ``best-and-latest``, the better half of 3,000 rows by value
and the later half by time; ``random``, the default told a random subset of 3,000.

Time and memory: noisy Hartmann6 (d = 6) in a fresh process for each n and method: ``tell_many`` of n uniform rows, then
eleven suggestions of which the tellings are not timed. Peak memory is that process's. Times are CPU seconds with one
BLAS thread; on a busy machine figures to keep are ratios of one run, which alternates between the methods.

Quality: n rows of a log, then 50 suggestions. Compared is the AUSR of the 50, of every method from the regret of the
best of all n rows, as the ratio of means over the seeds with its bootstrap interval, a ten-thousandth of the regret at
the start added to both sides; and the same of the point that is recommended in the end. Results are kept in a file, in
which what is there is not run again. Logs:

    uniform      uniform points
    noisy        uniform points, noise with 0.3 of the standard deviation of the values
    runs         past runs one after another, each climbing from a uniform start by ever smaller steps
    noisy runs   both
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402

from ccgbo import Optimizer  # noqa: E402
from ccgbo.arrays import Array  # noqa: E402
from ccgbo.bench.metrics import TOLERANCE, geometric_ratio, ratio_interval  # noqa: E402
from ccgbo.bench.problems import Problem, get_problem  # noqa: E402
from ccgbo.bench.problems.base import row_of  # noqa: E402
from ccgbo.engine.history import Data  # noqa: E402
from ccgbo.engine.model import ExactGP  # noqa: E402
from ccgbo.engine.rows import Rows  # noqa: E402
from ccgbo.surrogate.gp.posterior import GP  # noqa: E402
from ccgbo.tuning import EngineTuning  # noqa: E402
from ccgbo.versions import versions  # noqa: E402

RESULTS = Path(__file__).parents[1] / "results" / "many_observations.json"
SIZES = (3_000, 10_000, 20_000, 50_000)
SUBSET = 3_000
SUGGESTIONS = 50
RUN = 200  # evaluations of one past run
CASES = {
    "choosing": (
        ("Hartmann6", "uniform"),
        ("Levy8", "noisy"),
        ("Michalewicz5", "runs"),
        ("Hartmann6", "noisy runs"),
        ("Ackley5", "uniform"),
        ("Hartmann3", "noisy"),
        ("StyblinskiTang4", "noisy"),
        ("Levy8", "uniform"),
    ),
    "reporting": (
        ("Rastrigin5", "uniform"),
        ("Hartmann4", "noisy"),
        ("Schwefel5", "runs"),
        ("DixonPrice5", "noisy runs"),
        ("ARDDraw6", "noisy"),
    ),
}


class BestAndLatest:
    """The better half by value and the later half by time: a rule that does not look at where rows are."""

    def to_fit(self, data: Data, tuning: EngineTuning) -> Rows:
        n, half = len(data.values), tuning.max_points // 2
        best = np.argsort(-data.values, kind="stable")[:half]
        rest = np.setdiff1d(np.arange(n), best)[half - tuning.max_points :]
        return np.sort(np.concatenate([best, rest]))

    def to_keep(self, data: Data, tuning: EngineTuning, posterior_of: Callable[[Rows], GP]) -> Rows:  # noqa: ARG002
        return self.to_fit(data, tuning)


METHODS: dict[str, dict[str, Any]] = {
    "default": {},
    "best-and-latest": {"surrogate": ExactGP(rows=BestAndLatest(), pooled=False)},
    "not-pooled": {"surrogate": ExactGP(pooled=False)},
    "random": {"tuning": {"max_points": SUBSET + SUGGESTIONS}},
}
Cells = dict[str, dict[str, float]]  # by "problem | log | n | seed | method"


# -- logs


def values_of(problem: Problem, U: Array, rng: np.random.Generator) -> Array:
    """Noisy values of points in the unit cube."""
    X = np.array([row_of(problem.space, problem.space.decode(u)) for u in U])
    return problem.values(X) + problem.noise_std * rng.standard_normal(len(U))


def past_runs(problem: Problem, n: int, rng: np.random.Generator) -> Array:  # (n, d)
    """Points of runs that climb from a uniform start by steps that shrink from 0.3 to 0.03."""
    U = problem.space.sample(-(-n // RUN), rng)
    best, points = values_of(problem, U, rng), [U]
    for step in range(1, RUN):
        moved = U + 0.3 * 0.1 ** (step / RUN) * rng.standard_normal(U.shape)
        points.append(problem.space.snap(np.clip(moved, 0.0, 1.0)))
        found = values_of(problem, points[-1], rng)
        U = np.where((found > best)[:, None], points[-1], U)
        best = np.maximum(found, best)
    return np.stack(points, axis=1).reshape(-1, problem.space.d)[:n]


def problem_of(name: str, log: str) -> Problem:
    problem = get_problem(name)
    if not log.startswith("noisy"):
        return problem
    rng = np.random.default_rng(0)
    spread = values_of(replace(problem, noise_std=0.0), problem.space.sample(2000, rng), rng).std()
    return replace(problem, noise_std=0.3 * float(spread))


def rows_of(problem: Problem, log: str, n: int, seed: int) -> tuple[list[dict[str, Any]], Array, float]:
    """n points of a log, their values, and the least regret among them."""
    rng = np.random.default_rng([seed, n])
    U = past_runs(problem, n, rng) if log.endswith("runs") else problem.space.sample(n, rng)
    true = values_of(replace(problem, noise_std=0.0), U, rng)
    values = true + problem.noise_std * rng.standard_normal(n)
    return [problem.space.decode(u) for u in U], values, problem.optimum - float(true.max())


def told(problem: Problem, points: list[dict[str, Any]], values: Array, method: str, seed: int) -> Optimizer:
    optimizer = Optimizer(problem.space, seed=seed, **METHODS[method])
    if method == "random" and len(values) > SUBSET:
        some = np.random.default_rng([seed, len(values), 1]).permutation(len(values))[:SUBSET]
        points, values = [points[i] for i in some], values[some]
    optimizer.tell_many(points, values)
    return optimizer


# -- time and memory


def peak_megabytes() -> float:
    """Of this process; not ru_maxrss, which a process inherits from the one that started it."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


def measure(n: int, method: str, seed: int, suggestions: int = 10) -> dict[str, float]:
    """CPU seconds to tell n rows, of the first suggestion and of the next ones."""
    problem, rng = get_problem("Hartmann6"), np.random.default_rng(seed)
    points, values, _ = rows_of(problem, "uniform", n, seed)
    before = peak_megabytes()
    start = time.process_time()
    optimizer = told(problem, points, values, method, seed)
    telling, seconds = time.process_time() - start, []
    for _ in range(1 + suggestions):
        start = time.process_time()
        trial = optimizer.ask()
        seconds.append(time.process_time() - start)
        optimizer.tell(trial, problem.noisy(trial.params, rng))
    following = seconds[1:]
    return {
        "tell": telling,
        "first": seconds[0],
        "next": statistics.median(following),
        "next_mean": statistics.mean(following),
        "before": before,
        "peak": peak_megabytes(),
    }


def times(sizes: list[int], methods: list[str], seed: int, repeats: int) -> Cells:
    """The least of some repeats, in which the methods take turns: other work on the machine only adds to a time."""
    cells: Cells = {}
    for _ in range(repeats):
        for n in sizes:
            for method in methods:
                command = [sys.executable, __file__, "measure", "--sizes", str(n), "--methods", method]
                done = subprocess.run([*command, "--first-seed", str(seed)], check=True, capture_output=True, text=True)
                found, key = json.loads(done.stdout), f"{n} | {method}"
                cells[key] = {k: min(v, cells.get(key, found)[k]) for k, v in found.items()}
                print(key, found, file=sys.stderr, flush=True)
    return cells


def time_table(cells: Cells) -> None:
    print("\n| n | rows | tell, CPU s | first suggestion | next, median | next, mean | peak MB (before telling) |")
    print("|---|---|---|---|---|---|---|")
    for key, m in cells.items():
        seconds = " | ".join(f"{m[k]:.3f}" for k in ("tell", "first", "next", "next_mean"))
        print(f"| {key} | {seconds} | {m['peak']:.0f} ({m['before']:.0f}) |")


# -- quality


def follow(problem: Problem, optimizer: Optimizer, first: float, seed: int) -> dict[str, float]:
    """AUSR and final regret of the next suggestions, from the regret ``first`` of what was known."""
    regret, start = [first], time.process_time()
    for i in range(SUGGESTIONS):
        trial = optimizer.ask()
        noise = problem.noise_std * np.random.default_rng([seed, i, 7]).standard_normal()
        value = problem(trial.params)
        optimizer.tell(trial, value + float(noise))
        regret.append(min(regret[-1], problem.optimum - value))
    seconds = time.process_time() - start
    recommended = problem.regret(optimizer.recommend().params)
    return {
        "start": first,
        "ausr": float(np.mean(regret[1:])),
        "final": regret[-1],
        "recommended": recommended,
        "cpu": seconds,
    }


def quality(cases: tuple[tuple[str, str], ...], sizes: list[int], seeds: range, methods: list[str], path: Path) -> None:
    """Runs what is not in the file yet."""
    kept = json.loads(path.read_text()) if path.exists() else {}
    cells: Cells = kept.setdefault("quality", {})
    for seed in seeds:
        for n in sizes:
            for name, log in cases:
                problem = problem_of(name, log)
                wanted = [m for m in methods if f"{name} | {log} | {n} | {seed} | {m}" not in cells]
                points, values, first = rows_of(problem, log, n, seed) if wanted else ([], np.empty(0), 0.0)
                for method in wanted:
                    found = follow(problem, told(problem, points, values, method, seed), first, seed)
                    cells[f"{name} | {log} | {n} | {seed} | {method}"] = found
                    save(kept, path)
                    print(f"{name} | {log} | {n} | {seed} | {method}", found, file=sys.stderr, flush=True)


def quality_table(cells: Cells, cases: tuple[tuple[str, str], ...], reference: str = "random") -> None:
    """Every method to the reference, by case and over all."""
    keys = [key.split(" | ") for key in cells]
    print(f"\n| problem | log | n | seeds | rows | AUSR | to {reference} | recommended | to {reference} |")
    print("|---|---|---|---|---|---|---|---|---|")
    for n in sorted({int(key[2]) for key in keys}):
        for method in [m for m in METHODS if m != reference]:
            pairs: dict[str, list[tuple[Array, Array]]] = {"ausr": [], "recommended": []}
            for name, log in cases:
                has = [{k[3] for k in keys if k[:3] == [name, log, str(n)] and k[4] == m} for m in (method, reference)]
                seeds = sorted(has[0] & has[1], key=int)
                if not seeds:
                    continue
                shown = []
                for metric, found in pairs.items():
                    mine, theirs = (
                        np.array([cells[f"{name} | {log} | {n} | {seed} | {m}"][metric] for seed in seeds])
                        for m in (method, reference)
                    )
                    start = np.mean([cells[f"{name} | {log} | {n} | {seed} | {method}"]["start"] for seed in seeds])
                    small = TOLERANCE * float(start) + 1e-12
                    found.append((np.maximum(mine, 0.0) + small, np.maximum(theirs, 0.0) + small))
                    low, high = ratio_interval(*found[-1])
                    ratio = found[-1][0].mean() / found[-1][1].mean()
                    interval = f" [{low:.3f}, {high:.3f}]" if len(seeds) > 1 else ""  # one seed has none
                    shown.append(f"{mine.mean():.4g} | {ratio:.3f}{interval}")
                print(f"| {name} | {log} | {n} | {len(seeds)} | {method} | {' | '.join(shown)} |")
            if pairs["ausr"]:
                several = all(len(mine) > 1 for mine, _ in pairs["ausr"])
                form = "{:.3f} [{:.3f}, {:.3f}]" if several else "{:.3f}"
                both = [form.format(*geometric_ratio(each)) for each in pairs.values()]
                print(f"| all | | {n} | | {method} | | {both[0]} | | {both[1]} |", flush=True)


# -- the command


def save(kept: dict[str, Any], path: Path) -> None:
    path.write_text(json.dumps({**kept, "versions": versions()}, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("times", "quality", "table", "measure"))
    parser.add_argument("--sizes", type=int, nargs="+")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--cases", default="reporting", choices=list(CASES))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--results", type=Path, default=RESULTS)
    args = parser.parse_args()
    if args.what == "measure":
        print(json.dumps(measure(args.sizes[0], args.methods[0], args.first_seed)))
        return
    if args.what == "times":
        kept = json.loads(args.results.read_text()) if args.results.exists() else {}
        rules = [m for m in args.methods if m != "random"]
        kept["times"] = times(args.sizes or list(SIZES), rules, args.first_seed, args.repeats)
        save(kept, args.results)
    if args.what == "quality":
        seeds = range(args.first_seed, args.first_seed + args.seeds)
        quality(CASES[args.cases], args.sizes or [20_000], seeds, args.methods, args.results)
    kept = json.loads(args.results.read_text())
    time_table(kept.get("times", {}))
    quality_table(kept.get("quality", {}), CASES[args.cases])


if __name__ == "__main__":
    main()
