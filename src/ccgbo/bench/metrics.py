"""Regret and what is compared of it.

    simple regret       r_t = min of the initial regret and of the regrets up to iteration t,   t = 0 ... T
    cumulative regret   R_t = sum of the regrets of iterations 1 to t
    AUSR                1 / (T - 1) sum_(t = 2)^T (r_(t-1) + r_t) / 2          the CCGBO paper, Sec. 6.2

The paper's table prints the sum without the division by T - 1. Ratios to the reference are ratios of means over the
same seeds, with an interval from resampling the seeds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccgbo.bench.results import Results, Row

Array = NDArray[np.float64]

RESAMPLES = 5000


def simple_regret(row: Row) -> Array:  # (T + 1,)
    return np.minimum.accumulate(np.array([row["initial"], *row["regret"]], dtype=float))


def cumulative_regret(row: Row) -> Array:  # (T,)
    return np.cumsum(np.array(row["regret"], dtype=float))


def ausr(row: Row) -> float:
    """Mean area under the simple regret of iterations 1 to T."""
    r = simple_regret(row)[1:]
    return float(0.5 * (r[:-1] + r[1:]).mean()) if len(r) > 1 else float(r[0])


def final_regret(row: Row) -> float:
    return float(simple_regret(row)[-1])


METRICS = {"ausr": ausr, "final": final_regret}


@dataclass(frozen=True, slots=True)
class Comparison:
    """A method against the reference over the same seeds."""

    mean: float
    sd: float
    n: int
    ratio: float  # mean over the reference's mean
    low: float  # 95 % interval of the ratio
    high: float
    wins: int  # seeds with a smaller regret than the reference
    losses: int


def values(results: Results, problem: str, method: str, seeds: list[int], metric: str = "ausr") -> Array:
    return np.array([METRICS[metric](results.row(problem, method, seed)) for seed in seeds])


def compare(results: Results, problem: str, method: str, reference: str, metric: str = "ausr") -> Comparison:
    """Mean, spread and paired ratio of a metric; seeds that either has not finished are left out."""
    seeds = results.seeds(problem, method, reference)
    mine, theirs = (values(results, problem, m, seeds, metric) for m in (method, reference))
    low, high = ratio_interval(mine, theirs)
    sd = float(mine.std(ddof=1)) if len(mine) > 1 else 0.0
    ratio = float(_ratio(mine.mean(), theirs.mean()))
    return Comparison(float(mine.mean()), sd, len(mine), ratio, low, high, int((mine < theirs).sum()),
                      int((mine > theirs).sum()))  # fmt: skip


def ratio_interval(mine: Array, theirs: Array, *, level: float = 0.95, seed: int = 0) -> tuple[float, float]:
    """Percentile interval of mean(mine) / mean(theirs), resampling pairs."""
    pick = np.random.default_rng(seed).integers(len(mine), size=(RESAMPLES, len(mine)))
    ratios = _ratio(mine[pick].mean(axis=1), theirs[pick].mean(axis=1))
    low, high = np.quantile(ratios, [(1.0 - level) / 2.0, (1.0 + level) / 2.0], method="nearest")
    return float(low), float(high)


def _ratio(mine: Any, theirs: Any) -> Any:
    """mine / theirs; two regrets of exactly zero, which a task of counted errors can have, are equal."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(theirs == 0.0, np.where(mine == 0.0, 1.0, np.inf), mine / theirs)


def overall_ratio(results: Results, method: str, reference: str, metric: str = "ausr") -> tuple[float, float, float]:
    """Geometric mean over the problems of the paired ratio, with its 95 % interval; seeds are resampled by problem."""
    rng = np.random.default_rng(0)
    logs, samples = [], []
    for problem in results.problems:
        seeds = results.seeds(problem, method, reference)
        if not seeds:
            continue
        mine, theirs = (values(results, problem, m, seeds, metric) for m in (method, reference))
        pick = rng.integers(len(mine), size=(RESAMPLES, len(mine)))
        with np.errstate(divide="ignore"):
            logs.append(np.log(_ratio(mine.mean(), theirs.mean())))
            samples.append(np.log(_ratio(mine[pick].mean(axis=1), theirs[pick].mean(axis=1))))
    low, high = np.exp(np.quantile(np.mean(samples, axis=0), [0.025, 0.975], method="nearest"))
    return float(np.exp(np.mean(logs))), float(low), float(high)
