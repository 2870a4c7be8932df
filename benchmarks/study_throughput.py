"""How fast a study file is: several processes on one study, and a study with many trials.

    python benchmarks/study_throughput.py [--processes 8] [--trials 200] [--many 10000]

Each process runs ask, a fast function, tell. All of them work on one study in one file, so the suggestions are made
one after another; the table shows what the file adds to the time of the suggestions themselves.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import ccgbo

SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


def fast(x: float, y: float) -> float:
    return -((x - 0.3) ** 2) - (y - 0.7) ** 2


def work(path: str, n_trials: int, settings: dict[str, Any], ready: Any) -> None:
    in_memory(3, {"n_initial": 2})  # load everything before the clock starts
    with ccgbo.Study(path, SPACE, seed=0, **settings) as study:
        ready.wait()
        for _ in range(n_trials):
            trial = study.ask()
            study.tell(trial, fast(**trial.params))


def in_parallel(path: str, processes: int, n_trials: int, settings: dict[str, Any]) -> float:
    context = multiprocessing.get_context("spawn")
    ready = context.Barrier(processes + 1)
    workers = [context.Process(target=work, args=(path, n_trials, settings, ready)) for _ in range(processes)]
    for worker in workers:
        worker.start()
    ready.wait()
    start = time.perf_counter()
    for worker in workers:
        worker.join()
    seconds = time.perf_counter() - start
    trials = ccgbo.Study(path).trials
    wanted = processes * n_trials
    assert all(worker.exitcode == 0 for worker in workers), "a process failed"
    assert [t.id for t in trials] == list(range(wanted)), f"{len(trials)} trials instead of {wanted}"
    assert all(t.state == "complete" for t in trials), "a value was lost"
    assert len({tuple(t.params.values()) for t in trials}) == wanted, "a point was suggested twice"
    return seconds


def in_memory(n_trials: int, settings: dict[str, Any]) -> float:
    start = time.perf_counter()
    optimizer = ccgbo.Optimizer(SPACE, seed=0, **settings)
    for _ in range(n_trials):
        trial = optimizer.ask()
        optimizer.tell(trial, fast(**trial.params))
    return time.perf_counter() - start


def seconds_of(f: Callable[[], Any]) -> float:
    start = time.perf_counter()
    f()
    return time.perf_counter() - start


def many_trials(path: str, n: int) -> None:
    """Time to open, list and tell with ``n`` suggested trials, explanations included."""
    rng = np.random.default_rng(0)
    with ccgbo.Study(path, SPACE, seed=0) as study:
        for _ in range(12):
            trial = study.ask()
            study.tell(trial, fast(**trial.params))
        why = study.trials[-1].explanation
        points = [{"x": float(x), "y": float(y)} for x, y in rng.random((n, 2))]
        study.add_told(
            ccgbo.Trial(id=i, params=p, state="complete", value=fast(**p), explanation=why)
            for i, p in enumerate(points)
        )
    size = Path(path).stat().st_size / 1e6
    print(f"\n{n:,} trials in one study ({size:.0f} MB)")
    print(f"  open                    {seconds_of(lambda: ccgbo.Study(path)):7.3f} s")
    print(f"  list the studies        {seconds_of(lambda: ccgbo.list_studies(path)):7.3f} s")
    study = ccgbo.Study(path)
    print(f"  all trials              {seconds_of(lambda: study.trials):7.3f} s")
    print(f"  open and restore        {seconds_of(lambda: ccgbo.Study(path).optimizer()):7.3f} s")
    print(f"  tell                    {seconds_of(lambda: study.tell({'x': 0.5, 'y': 0.5}, 0.0)):7.3f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--trials", type=int, default=200, help="of each process")
    parser.add_argument("--many", type=int, default=10_000)
    args = parser.parse_args()
    total = args.processes * args.trials
    print(f"{os.cpu_count()} cores, {args.processes} processes x {args.trials} trials on one file")
    with tempfile.TemporaryDirectory() as folder:
        for label, settings in (("initial design only", {"n_initial": total}), ("model", {})):
            seconds = in_parallel(f"{folder}/{label}.db", args.processes, args.trials, settings)
            print(f"  {label:<22}  {total:,} recorded in {seconds:6.1f} s: {total / seconds:6.1f} trials/s", flush=True)
            alone = in_memory(total, settings)
            print(f"  {'':<22}  one optimizer in memory:    {total / alone:6.1f} trials/s", flush=True)
        many_trials(f"{folder}/many.db", args.many)


if __name__ == "__main__":
    main()
