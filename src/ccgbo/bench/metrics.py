"""Regret and what is compared of it.

    simple regret       r_t = min of the initial regret and of the regrets up to iteration t,   t = 0 ... T
    cumulative regret   R_t = sum of the regrets of iterations 1 to t
    AUSR                1 / (T - 1) sum_(t = 2)^T (r_(t-1) + r_t) / 2          the CCGBO paper, Sec. 6.2

The paper's table prints the sum without the division by T - 1. Ratios to the reference are ratios of means over the
same seeds, with an interval from resampling the seeds.

In an experiment of kind "quality" a regret below zero, where only the best known value is beaten, counts as zero, and a
ten-thousandth of the reference's regret at the start is added to both sides of a ratio: two methods that have arrived
are equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ccgbo.arrays import Array
from ccgbo.bench.results import Results, Row

RESAMPLES = 5000
TOLERANCE = 1e-4  # of the regret at the start, in an experiment of kind "quality"


def simple_regret(row: Row) -> Array:  # (T + 1,)
    first = row["regret"][0] if row.get("n_initial") == 0 else row["initial"]
    return np.minimum.accumulate(np.array([first, *row["regret"]], dtype=float))


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
    found = np.array([METRICS[metric](results.row(problem, method, seed)) for seed in seeds])
    return np.maximum(found, 0.0) if results.kind == "quality" else found


def paired(results: Results, problem: str, method: str, reference: str, metric: str) -> tuple[Array, Array]:
    """The two sides of a ratio over the seeds that both have."""
    seeds = results.seeds(problem, method, reference)
    mine, theirs = (values(results, problem, m, seeds, metric) for m in (method, reference))
    if results.kind != "quality" or not seeds:
        return mine, theirs
    start = float(np.mean([results.row(problem, reference, seed)["initial"] for seed in seeds]))
    return mine + (TOLERANCE * start + 1e-12), theirs + (TOLERANCE * start + 1e-12)


def compare(results: Results, problem: str, method: str, reference: str, metric: str = "ausr") -> Comparison:
    """Mean, spread and paired ratio of a metric; seeds that either has not finished are left out."""
    seeds = results.seeds(problem, method, reference)
    plain = values(results, problem, method, seeds, metric)
    mine, theirs = paired(results, problem, method, reference, metric)
    low, high = ratio_interval(mine, theirs)
    sd = float(plain.std(ddof=1)) if len(plain) > 1 else 0.0
    ratio = float(_ratio(mine.mean(), theirs.mean()))
    return Comparison(float(plain.mean()), sd, len(mine), ratio, low, high, int((mine < theirs).sum()),
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


def overall_ratio(
    results: Results, method: str, reference: str | Mapping[str, str], metric: str = "ausr"
) -> tuple[float, float, float]:
    """Geometric mean over the problems of the paired ratio, with its 95 % interval; seeds are resampled by problem.

    ``reference`` is one method, or one for each problem.
    """
    pairs = []
    for problem in results.problems:
        other = reference if isinstance(reference, str) else reference[problem]
        pairs.append(paired(results, problem, method, other, metric))
    return geometric_ratio([(mine, theirs) for mine, theirs in pairs if len(mine)])


def geometric_ratio(pairs: Sequence[tuple[Array, Array]]) -> tuple[float, float, float]:
    """Geometric mean of mean(mine) / mean(theirs) over the pairs, with the 95 % interval of resampling inside each."""
    rng = np.random.default_rng(0)
    logs, samples = [], []
    for mine, theirs in pairs:
        pick = rng.integers(len(mine), size=(RESAMPLES, len(mine)))
        with np.errstate(divide="ignore"):
            logs.append(np.log(_ratio(mine.mean(), theirs.mean())))
            samples.append(np.log(_ratio(mine[pick].mean(axis=1), theirs[pick].mean(axis=1))))
    if not logs:
        return (float("nan"),) * 3
    low, high = np.exp(np.quantile(np.mean(samples, axis=0), [0.025, 0.975], method="nearest"))
    return float(np.exp(np.mean(logs))), float(low), float(high)
