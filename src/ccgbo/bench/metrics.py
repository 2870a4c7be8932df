"""Regret and what is compared of it.

    simple regret       r_t = min of the initial regret and of the regrets up to iteration t,   t = 0 ... T
    cumulative regret   R_t = sum of the regrets of iterations 1 to t
    AUSR                1 / (T - 1) sum_(t = 2)^T (r_(t-1) + r_t) / 2          the CCGBO paper, Sec. 6.2

The paper's table prints the sum without the division by T - 1. Ratios to the reference are ratios of means over the
same seeds, with an interval from resampling the seeds.

Where other libraries are compared, a regret below zero, where only the best known value is beaten, counts as zero, and
a ten-thousandth of the reference's regret at the start is added to both sides of a ratio: two methods that have arrived
are equal.

In an experiment of kind "pareto" the regret is the hypervolume that is missing, and what is compared is the area under
its logarithm, 1 / T sum_(t = 1)^T log r_t. It is shown as its exponential, the geometric mean of r_t; means over seeds
are of the logarithms as well. A ratio of 0.8 says that a fifth less hypervolume was missing, iteration by iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ccgbo.arrays import Array
from ccgbo.bench.experiment import PEER_KINDS
from ccgbo.bench.results import Results, Row

Average = Callable[[Array], Any]  # over the last axis

RESAMPLES = 5000
TOLERANCE = 1e-4  # of the regret at the start, where other libraries are compared


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


def log_area(row: Row) -> float:
    """The geometric mean of the simple regret of iterations 1 to T, the exponential of the area under its logarithm."""
    r = np.maximum(simple_regret(row)[1:], 0.0) + tolerance([row])
    return float(np.exp(np.log(r).mean()))


def tolerance(rows: Sequence[Row]) -> float:
    """A regret that does not count, because a method with less has arrived."""
    return TOLERANCE * float(np.mean([row["initial"] for row in rows])) + 1e-12


METRICS = {"ausr": ausr, "final": final_regret}
LOG_METRICS = {"ausr": log_area, "final": final_regret}  # of an experiment of kind "pareto"


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
    measure = (LOG_METRICS if results.kind == "pareto" else METRICS)[metric]
    found = np.array([measure(results.row(problem, method, seed)) for seed in seeds])
    return np.maximum(found, 0.0) if results.kind in PEER_KINDS else found


def paired(results: Results, problem: str, method: str, reference: str, metric: str) -> tuple[Array, Array]:
    """The two sides of a ratio over the seeds that both have."""
    seeds = results.seeds(problem, method, reference)
    mine, theirs = (values(results, problem, m, seeds, metric) for m in (method, reference))
    if results.kind not in PEER_KINDS or not seeds:
        return mine, theirs
    if results.kind == "pareto" and metric == "ausr":  # has it inside the logarithm
        return mine, theirs
    more = tolerance([results.row(problem, reference, seed) for seed in seeds])
    return mine + more, theirs + more


def compare(results: Results, problem: str, method: str, reference: str, metric: str = "ausr") -> Comparison:
    """Mean, spread and paired ratio of a metric; seeds that either has not finished are left out."""
    seeds = results.seeds(problem, method, reference)
    plain = values(results, problem, method, seeds, metric)
    mine, theirs = paired(results, problem, method, reference, metric)
    average = average_of(results)
    low, high = ratio_interval(mine, theirs, average=average)
    sd = float(plain.std(ddof=1)) if len(plain) > 1 else 0.0
    ratio = float(_ratio(average(mine), average(theirs)))
    return Comparison(float(average(plain)), sd, len(mine), ratio, low, high, int((mine < theirs).sum()),
                      int((mine > theirs).sum()))  # fmt: skip


def arithmetic(values: Array) -> Any:  # (..., n) -> (...)
    return values.mean(axis=-1)


def geometric(values: Array) -> Any:  # (..., n) -> (...)
    with np.errstate(divide="ignore"):
        return np.exp(np.log(values).mean(axis=-1))


def average_of(results: Results) -> Average:
    """How seeds are averaged."""
    return geometric if results.kind == "pareto" else arithmetic


def ratio_interval(
    mine: Array, theirs: Array, *, level: float = 0.95, seed: int = 0, average: Average = arithmetic
) -> tuple[float, float]:
    """Percentile interval of mean(mine) / mean(theirs), resampling pairs."""
    pick = np.random.default_rng(seed).integers(len(mine), size=(RESAMPLES, len(mine)))
    ratios = _ratio(average(mine[pick]), average(theirs[pick]))
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
    return geometric_ratio([(mine, theirs) for mine, theirs in pairs if len(mine)], average_of(results))


def geometric_ratio(pairs: Sequence[tuple[Array, Array]], average: Average = arithmetic) -> tuple[float, float, float]:
    """Geometric mean of mean(mine) / mean(theirs) over the pairs, with the 95 % interval of resampling inside each."""
    rng = np.random.default_rng(0)
    logs, samples = [], []
    for mine, theirs in pairs:
        pick = rng.integers(len(mine), size=(RESAMPLES, len(mine)))
        with np.errstate(divide="ignore"):
            logs.append(np.log(_ratio(average(mine), average(theirs))))
            samples.append(np.log(_ratio(average(mine[pick]), average(theirs[pick]))))
    if not logs:
        return (float("nan"),) * 3
    low, high = np.exp(np.quantile(np.mean(samples, axis=0), [0.025, 0.975], method="nearest"))
    return float(np.exp(np.mean(logs))), float(low), float(high)
