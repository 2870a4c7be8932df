"""Many observations told at once: time of the first suggestion and of the next ones, memory, and what they are worth.

    python benchmarks/many_observations.py                                  # n = 3,000 to 50,000, about ten minutes
    python benchmarks/many_observations.py --sizes 3000 20000 --seeds 4 --quality Hartmann6 Levy8
    python benchmarks/many_observations.py --no-quality                     # times and memory only

Time and memory: noisy Hartmann6 (d = 6) in a fresh process for each n: ``tell_many`` of n uniform rows, then eleven
suggestions of which the tellings are not timed. Peak memory is that process's. Quality: n rows, then 50 suggestions by
the default that was told all of them, and by the same default that was told a random subset of 3,000 with the same
seed. Compared is the AUSR of the 50, both from the regret of the best of all n rows, as the ratio of means with its
bootstrap interval over the seeds; and the final regret. Times are CPU seconds with one BLAS thread, which other work on
the machine changes little; figures to keep are ratios of one run.
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
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402

from ccgbo import Optimizer  # noqa: E402
from ccgbo.bench.metrics import geometric_ratio, ratio_interval  # noqa: E402
from ccgbo.bench.problems import Problem, get_problem  # noqa: E402
from ccgbo.versions import versions  # noqa: E402

SIZES = (3_000, 10_000, 20_000, 50_000)
SUBSET = 3_000
SUGGESTIONS = 50


def rows_of(problem: Problem, n: int, seed: int) -> tuple[list[dict[str, Any]], list[float]]:
    """n uniform points and their noisy values."""
    rng = np.random.default_rng([seed, n])
    points = [problem.space.decode(u) for u in problem.space.sample(n, rng)]
    return points, [problem.noisy(point, rng) for point in points]


def told(problem: Problem, points: list[dict[str, Any]], values: list[float], seed: int) -> Optimizer:
    optimizer = Optimizer(problem.space, seed=seed)
    optimizer.tell_many(points, values)
    return optimizer


def peak_megabytes() -> float:
    """Of this process; not ru_maxrss, which a process inherits from the one that started it."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


def measure(n: int, seed: int, suggestions: int = 10) -> dict[str, float]:
    """CPU seconds to tell n rows, of the first suggestion and of the next ones."""
    problem, rng = get_problem("Hartmann6"), np.random.default_rng(seed)
    points, values = rows_of(problem, n, seed)
    before = peak_megabytes()
    start = time.process_time()
    optimizer = told(problem, points, values, seed)
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


def times(sizes: list[int], seed: int) -> None:
    print("\ntime and memory, Hartmann6 with noise, d = 6; ratios to the first line")
    print("| n | tell, CPU s | first suggestion | next, median | next, mean | peak MB (before telling) |")
    print("|---|---|---|---|---|---|")
    base: dict[str, float] = {}
    for n in sizes:
        command = [sys.executable, __file__, "--measure", str(n), "--first-seed", str(seed)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        m = json.loads(done.stdout)
        base = base or m
        cells = [f"{m[key]:.3f} ({m[key] / base[key]:.2f})" for key in ("first", "next", "next_mean")]
        print(f"| {n} | {m['tell']:.2f} | {' | '.join(cells)} | {m['peak']:.0f} ({m['before']:.0f}) |", flush=True)


def follow(problem: Problem, optimizer: Optimizer, first: float, seed: int) -> tuple[float, float]:
    """AUSR and final regret of the next suggestions, from the regret ``first`` of what was known."""
    regret = [first]
    for i in range(SUGGESTIONS):
        trial = optimizer.ask()
        noise = problem.noise_std * np.random.default_rng([seed, i, 7]).standard_normal()
        value = problem(trial.params)
        optimizer.tell(trial, value + float(noise))
        regret.append(min(regret[-1], problem.optimum - value))
    return float(np.mean(regret[1:])), regret[-1]


def pair(problem: Problem, n: int, seed: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """The default after all n rows, and after a random subset of them."""
    points, values = rows_of(problem, n, seed)
    first = min(problem.regret(point) for point in points)
    some = np.random.default_rng([seed, n, 1]).permutation(n)[: min(SUBSET, n)]
    whole = follow(problem, told(problem, points, values, seed), first, seed)
    subset = told(problem, [points[i] for i in some], [values[i] for i in some], seed)
    return whole, follow(problem, subset, first, seed)


def quality(names: list[str], sizes: list[int], seeds: range) -> None:
    print(f"\nthe next {SUGGESTIONS} suggestions after n rows, to those after a random subset of {SUBSET}; {seeds}")
    print("| problem | n | AUSR, all | subset | ratio | final regret, all | subset | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for n in (size for size in sizes if size > SUBSET):
        pairs: list[list[tuple[Any, Any]]] = [[], []]
        for name in names:
            problem = get_problem(name)
            found = np.array([pair(problem, n, seed) for seed in seeds])  # (seeds, 2, 2)
            cells = []
            for metric in (0, 1):
                mine, theirs = found[:, 0, metric] + 1e-12, found[:, 1, metric] + 1e-12
                pairs[metric].append((mine, theirs))
                low, high = ratio_interval(mine, theirs)
                ratio = mine.mean() / theirs.mean()
                cells.append(f"{mine.mean():.4g} | {theirs.mean():.4g} | {ratio:.3f} [{low:.3f}, {high:.3f}]")
            print(f"| {name} | {n} | {' | '.join(cells)} |", flush=True)
        both = ["{:.3f} [{:.3f}, {:.3f}]".format(*geometric_ratio(each)) for each in pairs]
        print(f"| all | {n} | | | {both[0]} | | | {both[1]} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--quality", nargs="+", default=["Hartmann6", "Ackley5", "Michalewicz5", "Levy8"])
    parser.add_argument("--no-quality", action="store_true")
    parser.add_argument("--no-times", action="store_true")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure is not None:
        print(json.dumps(measure(args.measure, args.first_seed)))
        return
    print("versions:", versions(), f"\nseeds from {args.first_seed}; one BLAS thread; load average", os.getloadavg())
    if not args.no_times:
        times(args.sizes, args.first_seed)
    if not args.no_quality:
        quality(args.quality, args.sizes, range(args.first_seed, args.first_seed + args.seeds))


if __name__ == "__main__":
    main()
