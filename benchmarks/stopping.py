"""Is the expected gain of more evaluations right, and how often does a run that stops on it stop too early?

    python benchmarks/stopping.py --seeds 5

After every evaluation the expected gain of another 10 is computed as ``Optimizer.expected_gain`` does, and the run goes
on to its end. A gain is how much better, without noise, the recommended point becomes.

    calibration   realised gain of the next 10 against the expected one, at several moments
    stopping      the run stops at the first evaluation after the design at which the rule says so, with a threshold
                  of a share of the spread of values over the space. Too early: what the 25 evaluations after that would
                  have gained is more than the threshold.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402

from ccgbo import Gain, Optimizer  # noqa: E402
from ccgbo.bench.problems import Problem, get_problem  # noqa: E402

PROBLEMS = ("Branin2", "Hartmann3", "StyblinskiTang4", "GPDraw4", "Ackley5", "Hartmann6")
BUDGET, AFTER = 80, 25
MOMENTS = (15, 25, 35, 45, 55)
SHARES = (0.1, 0.01)  # thresholds, of the spread of values


@dataclass(frozen=True)
class Run:
    """One run, by the number of evaluations from ``first`` on."""

    first: int
    gains: list[Gain]
    recommended: list[float]  # without noise
    spread: float  # standard deviation of values over the space


def play(problem: Problem, seed: int, noise: float) -> Run:
    rng = np.random.default_rng(seed)
    values = np.array([problem(p) for p in problem.space.decode_rows(problem.space.sample(500, rng))])
    spread = float(values.std())
    opt = Optimizer(problem.space, seed=seed)
    first = opt.settings.initial_size(problem.space.d) + 1
    gains, recommended = [], []
    for t in range(1, BUDGET + 1):
        trial = opt.ask()
        opt.tell(trial, problem(trial.params) + noise * spread * rng.standard_normal())
        if t >= first:
            gain = opt.expected_gain(10)
            assert gain is not None
            gains.append(gain)
            recommended.append(problem(opt.recommend().params))
    return Run(first, gains, recommended, spread)


def calibration(runs: list[Run]) -> str:
    inside, expected, realised = [], [], []
    for run in runs:
        for t in MOMENTS:
            i = t - run.first
            if i < 0:
                continue
            gain, came = run.gains[i], run.recommended[i + 10] - run.recommended[i]
            slack = 1e-3 * run.spread
            inside.append(gain.low - slack <= came <= gain.high + slack)
            expected.append(gain.mean / run.spread)
            realised.append(came / run.spread)
    return (
        f"inside {np.mean(inside):.0%}   expected {np.mean(expected):.3f}   realised {np.mean(realised):.3f}"
        f"   rank correlation {spearman(expected, realised):.2f}"
    )


def spearman(a: list[float], b: list[float]) -> float:
    ranks = [np.argsort(np.argsort(x)) for x in (a, b)]
    return float(np.corrcoef(*ranks)[0, 1])


RULES: dict[str, Callable[[list[Gain], float], bool]] = {
    "mean below": lambda g, limit: g[-1].mean < limit,
    "mean below, twice": lambda g, limit: len(g) > 1 and max(g[-1].mean, g[-2].mean) < limit,
    "mean below, three times": lambda g, limit: len(g) > 2 and max(x.mean for x in g[-3:]) < limit,
    "upper end below": lambda g, limit: g[-1].high < limit,
    "both below, twice": lambda g, limit: len(g) > 1 and max(max(x.mean, x.high) for x in g[-2:]) < limit,
    "both below, three times": lambda g, limit: len(g) > 2 and max(max(x.mean, x.high) for x in g[-3:]) < limit,
    "both below, five times": lambda g, limit: len(g) > 4 and max(max(x.mean, x.high) for x in g[-5:]) < limit,
}


def stopping(runs: list[Run], rule: str, share: float) -> str:
    at, early, missed = [], [], []
    for run in runs:
        limit, last = share * run.spread, len(run.gains) - 1 - AFTER
        stop = next((i for i in range(last + 1) if RULES[rule](run.gains[: i + 1], limit)), None)
        if stop is None:
            continue
        lost = run.recommended[stop + AFTER] - run.recommended[stop]
        at.append(run.first + stop)
        early.append(lost > limit)
        missed.append(lost / run.spread)
    if not at:
        return f"stopped 0 of {len(runs)}"
    return (
        f"stopped {len(at)} of {len(runs)}   after {np.mean(at):.0f} evaluations   too early {np.mean(early):.0%}"
        f"   missed {np.mean(missed):.4f} spreads, at most {np.max(missed):.3f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--problems", nargs="*", default=PROBLEMS)
    options = parser.parse_args()
    for noise in (0.0, 0.1):
        every: list[Run] = []
        for name in options.problems:
            runs = [play(get_problem(name, seed=seed), seed, noise) for seed in range(options.seeds)]
            print(f"noise {noise}  {name:16} {calibration(runs)}", flush=True)
            every += runs
        print(f"noise {noise}  {'all':16} {calibration(every)}")
        for share in SHARES:
            for rule in RULES:
                print(f"noise {noise}  threshold {share}  {rule:24} {stopping(every, rule, share)}", flush=True)


if __name__ == "__main__":
    main()
