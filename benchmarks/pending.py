"""What to assume of points under evaluation: the posterior mean (believer) or a joint sample, measured side by side.

    python benchmarks/pending.py --seeds 10

    batch   five points asked at once, told together
    async   four workers; one asks as soon as it is done, and evaluations take random times

Every variant sees the same initial design and noise for a seed. AUSR is the simple regret of the noise-free value,
averaged over the evaluations after the design in the order they finish. Printed: the ratio of its mean over the seeds
to the first variant's, with a paired bootstrap interval over seeds; below 1 is better.
"""

from __future__ import annotations

import argparse
import heapq
import math
import os
import time
from collections.abc import Callable, Iterator

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402

from ccgbo import Optimizer, Trial  # noqa: E402
from ccgbo.bench.metrics import geometric_ratio  # noqa: E402
from ccgbo.bench.problems import get_problem  # noqa: E402

PROBLEMS = ("Branin2", "StyblinskiTang4", "GPDraw4", "Ackley5")
VARIANTS = {
    "believer, together": {"pending": "kriging_believer", "tuning": {"min_pending_distance": 0.0}},
    "sample, together": {"pending": "fantasy", "tuning": {"min_pending_distance": 0.0}},
    "believer, apart": {"pending": "kriging_believer", "tuning": {"min_pending_distance": 0.05}},
    "sample, apart": {"pending": "fantasy", "tuning": {"min_pending_distance": 0.05}},
}
Finished = Iterator[Trial]  # trials in the order they finish; each is told before the next is drawn


def batches(opt: Optimizer, budget: int, rng: np.random.Generator, size: int = 5) -> Finished:  # noqa: ARG001
    for _ in range(budget // size):
        yield from opt.ask(size)


def workers(opt: Optimizer, budget: int, rng: np.random.Generator, count: int = 4) -> Finished:
    running: list[tuple[float, int, Trial]] = []
    now = 0.0
    for asked in range(budget):
        if len(running) == count:
            now, _, done = heapq.heappop(running)
            yield done
        heapq.heappush(running, (now + rng.exponential(), asked, opt.ask()))
    while running:
        yield heapq.heappop(running)[2]


MODES: dict[str, Callable[[Optimizer, int, np.random.Generator], Finished]] = {"batch": batches, "async": workers}


def ausr(problem_name: str, mode: str, variant: str, seed: int, budget: int, noise: float) -> float:
    """One optimisation."""
    problem = get_problem(problem_name, seed)
    opt = Optimizer(problem.space, seed=seed, **VARIANTS[variant])
    draws = np.random.default_rng([seed, 1])
    design = problem.space.sample(max(2 * problem.space.d, 10), draws)
    spread = float(np.std([problem(problem.space.decode(u)) for u in problem.space.sample(200, draws)]))
    best, trace = -math.inf, []
    for u in design:
        params = problem.space.decode(u)
        best = max(best, problem(params))
        opt.tell(params, problem(params) + noise * spread * float(draws.standard_normal()))
    for trial in MODES[mode](opt, budget, np.random.default_rng([seed, 2])):
        value = problem(trial.params)
        best = max(best, value)
        trace.append(problem.optimum - best)
        opt.tell(trial, value + noise * spread * float(draws.standard_normal()))
    return float(np.mean(trace))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--mode", choices=list(MODES), action="append", help="all of them if not given")
    parser.add_argument("--first", type=int, default=1000, help="the first seed")
    parser.add_argument("--budget", type=int, default=40, help="evaluations after the initial design")
    parser.add_argument("--noise", type=float, default=0.0, help="standard deviation, relative to that of the function")
    options = parser.parse_args()
    started, seeds = time.process_time(), range(options.first, options.first + options.seeds)
    for mode in options.mode or MODES:
        table = {
            variant: np.array(
                [[ausr(p, mode, variant, seed, options.budget, options.noise) for seed in seeds] for p in PROBLEMS]
            )
            for variant in VARIANTS
        }
        base = table[next(iter(VARIANTS))]
        print(f"{mode:<22}" + "".join(f"{p:>17}" for p in PROBLEMS) + "    all, 95 % interval")
        for variant, ours in table.items():
            row = "".join(f"{r:>17.2f}" for r in ours.mean(axis=1) / base.mean(axis=1))
            ratio, low, high = geometric_ratio(list(zip(ours, base, strict=True)))
            print(f"  {variant:<20}{row}    {ratio:.2f} [{low:.2f}, {high:.2f}]", flush=True)
    print(f"seeds {options.first} to {seeds[-1]}, {options.budget} evaluations, noise {options.noise}, ", end="")
    print(f"{(time.process_time() - started) / 60:.1f} CPU minutes")


if __name__ == "__main__":
    main()
