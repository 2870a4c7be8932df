"""Is the expected gain right where metrics have names?

    python benchmarks/metric_stopping.py --seeds 3

At several moments of a run the gain of another 10 evaluations is computed as ``Optimizer.expected_gain`` does, and the
run goes on. Realised is how much better the best feasible value became, in units of the spread of the objective over
the space, or by which share the hypervolume grew above the reference point that was inferred at that moment.
"""

from __future__ import annotations

import argparse
import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402

from ccgbo import AtMost, Gain, Optimizer, Trial  # noqa: E402
from ccgbo.bench.problems.several import MetricProblem, get_metric_problem  # noqa: E402
from ccgbo.records import best_of, hypervolume_of  # noqa: E402

PROBLEMS = ("Gramacy2", "WeldedBeam4", "BraninCurrin2x2", "C2DTLZ2_4x2", "VehicleSafety5x3")
MOMENTS, AHEAD = (15, 25, 35), 10

Pair = tuple[float, float, float, float]  # low, mean and high end of what was expected, and what came


def play(problem: MetricProblem, seed: int) -> list[Pair]:
    """What was expected and what came, at those of the moments at which anything could be told."""
    task = problem.task
    opt = Optimizer(
        task.space,
        objectives=dict.fromkeys(task.objectives, "minimize"),
        outcome_constraints=dict.fromkeys(task.constraints, AtMost(0.0)),
        seed=seed,
    )
    rows = task.space.decode_rows(task.space.sample(500, np.random.default_rng(seed)))
    spread = float(np.std([problem(params)[task.objectives[0]] for params in rows]))
    told: dict[int, tuple[Gain, tuple[Trial, ...]]] = {}
    for t in range(1, max(MOMENTS) + AHEAD + 1):
        trial = opt.ask()
        opt.tell(trial, problem(trial.params))
        if t in MOMENTS and (gain := opt.expected_gain(AHEAD)) is not None:
            told[t] = gain, opt.trials
    return [_pair(gain, before, opt.trials[: t + AHEAD], opt, spread) for t, (gain, before) in told.items()]


def _pair(gain: Gain, before: tuple[Trial, ...], after: tuple[Trial, ...], opt: Optimizer, spread: float) -> Pair:
    if gain.unit == "hypervolume":
        volume = hypervolume_of(before, opt.metrics)
        came = hypervolume_of(after, opt.metrics, volume.reference).value / volume.value - 1.0
        return gain.low, gain.mean, gain.high, came
    old, new = best_of(before, opt.metrics), best_of(after, opt.metrics)
    assert old is not None and new is not None and old.value is not None and new.value is not None
    return gain.low / spread, gain.mean / spread, gain.high / spread, (old.value - new.value) / spread


def calibration(pairs: list[Pair]) -> str:
    if not pairs:
        return "nothing feasible in time"
    low, mean, high, came = np.array(pairs).T
    slack = 1e-3
    ranks = [np.argsort(np.argsort(x)) for x in (mean, came)]
    return (
        f"{len(pairs):3} moments   inside {np.mean((low - slack <= came) & (came <= high + slack)):.0%}   "
        f"expected {np.mean(mean):.3f}   realised {np.mean(came):.3f}   "
        f"rank correlation {np.corrcoef(*ranks)[0, 1]:.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--problems", nargs="*", default=PROBLEMS)
    options = parser.parse_args()
    for name in options.problems:
        pairs = [pair for seed in range(options.seeds) for pair in play(get_metric_problem(name), seed)]
        print(f"{name:18} {calibration(pairs)}", flush=True)


if __name__ == "__main__":
    main()
