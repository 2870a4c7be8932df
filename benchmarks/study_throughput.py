"""How fast a study is: several processes on one study, and a study with many trials.

    python benchmarks/study_throughput.py [--store sqlite] [--at 200 1000] [--processes 8] [--trials 96] [--repeats 3]
    python benchmarks/study_throughput.py --store postgres --address postgresql://user@host/database

Each process runs ask, a fast function, tell. All of them work on one study, so the suggestions are made one after
another. Two rates stand beside theirs, measured in turn with it in every repeat: one optimizer in memory that has as
many points pending as there are processes, which is what one core can suggest in sequence, and one process alone on the
study. A repeat has its own seed. On a machine that has other things to do trials per second say little, and their ratio
flatters the many processes, which get a larger share of it: the processor time per trial is what remains.

PostgreSQL needs a database to which the address leads; the studies made there are deleted at the end.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy

import ccgbo
from ccgbo.storage import delete_study

SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


def fast(x: float, y: float) -> float:
    return -((x - 0.3) ** 2) - (y - 0.7) ** 2


def points(n: int, seed: int) -> list[dict[str, float]]:
    return [{"x": float(x), "y": float(y)} for x, y in np.random.default_rng(seed).random((n, 2))]


def tell_points(owner: Any, n: int, seed: int) -> None:
    """``n`` observations, and a suggestion so that the first fit is made."""
    told = points(n, seed)
    owner.tell_many(told, [fast(**p) for p in told])
    trial = owner.ask()
    owner.tell(trial, fast(**trial.params))


# -- the three rates: trials per second, and seconds of all processors per trial

Rate = tuple[float, float]


def in_memory(n: int, n_trials: int, pending: int, seed: int) -> Rate:
    """One optimizer, with so many points under evaluation at every ask."""
    optimizer = ccgbo.Optimizer(SPACE, seed=seed)
    tell_points(optimizer, n, seed)
    running = [optimizer.ask() for _ in range(pending)]
    start, used = time.perf_counter(), time.process_time()
    for _ in range(n_trials):
        running.append(optimizer.ask())
        done = running.pop(0)
        optimizer.tell(done, fast(**done.params))
    return n_trials / (time.perf_counter() - start), (time.process_time() - used) / n_trials


def work(path: str, name: str, n_trials: int, ready: Any, total: Any) -> None:
    in_memory(4, 2, 0, 0)  # load everything before the clock starts
    with ccgbo.Study(path, name=name) as study:
        study.optimizer()
        ready.wait()
        used = time.process_time()
        for _ in range(n_trials):
            trial = study.ask()
            study.tell(trial, fast(**trial.params))
    with total.get_lock():
        total.value += time.process_time() - used


def on_study(path: str, n: int, processes: int, n_trials: int, seed: int) -> Rate:
    """So many processes that share ``n_trials`` of one study."""
    name = f"throughput {n} {processes} {seed} {time.time_ns()}"
    with ccgbo.Study(path, SPACE, name=name, seed=seed) as study:
        tell_points(study, n, seed)
    context = multiprocessing.get_context("spawn")
    ready, used = context.Barrier(processes + 1), context.Value("d", 0.0)
    each = n_trials // processes
    workers = [context.Process(target=work, args=(path, name, each, ready, used)) for _ in range(processes)]
    for worker in workers:
        worker.start()
    ready.wait()
    start = time.perf_counter()
    for worker in workers:
        worker.join()
    seconds = time.perf_counter() - start
    assert all(worker.exitcode == 0 for worker in workers), "a process failed"
    check(path, name, n + 1 + each * processes)
    delete_study(path, name)
    return each * processes / seconds, used.value / (each * processes)


def check(path: str, name: str, wanted: int) -> None:
    with ccgbo.Study(path, name=name) as study:
        trials = study.trials
    assert [t.id for t in trials] == list(range(wanted)), f"{len(trials)} trials instead of {wanted}"
    assert all(t.value == fast(**t.params) for t in trials), "a value was lost"
    assert len({tuple(t.params.values()) for t in trials}) == wanted, "a point was suggested twice"


def compare(path: str, n: int, args: argparse.Namespace) -> None:
    """The rates of every repeat, one after the other, and their medians."""
    rates = []
    for seed in range(args.seed, args.seed + args.repeats):
        memory = in_memory(n, args.trials, args.processes - 1, seed)
        alone = on_study(path, n, 1, args.trials, seed)
        many = on_study(path, n, args.processes, args.trials, seed)
        rates.append([rate for rate, _ in (memory, alone, many)] + [1e3 * used for _, used in (memory, alone, many)])
        print(row(n, f"seed {seed}", rates[-1]), flush=True)
    print(row(n, "median", [statistics.median(column) for column in zip(*rates, strict=True)]), flush=True)


def row(n: int, what: str, numbers: list[float]) -> str:
    of_memory = numbers[2] / numbers[0]
    return (
        f"{n:>6}  {what:<8}"
        + "".join(f" {x:>12.1f}" for x in numbers[:3])
        + f" {of_memory:>10.2f}"
        + "".join(f" {x:>12.1f}" for x in numbers[3:])
    )


# -- many trials


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


def versions(store: str, address: str | None) -> str:
    """What was measured, on what."""
    used = [f"ccgbo {ccgbo.__version__}", f"Python {platform.python_version()}", f"NumPy {np.__version__}"]
    used += [f"SciPy {scipy.__version__}"]
    if store == "sqlite":
        return ", ".join([*used, f"SQLite {sqlite3.sqlite_version}"])
    import psycopg

    with psycopg.connect(address or "") as connection:
        server = connection.info.parameter_status("server_version")
        fsync = connection.execute("SHOW fsync").fetchone()
    return ", ".join(
        [*used, f"psycopg {psycopg.__version__}", f"PostgreSQL {server} (fsync {fsync[0] if fsync else ''})"]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--address", help="of the database, for --store postgres")
    parser.add_argument("--at", type=int, nargs="+", default=[200, 1000], help="observations in the study")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--trials", type=int, default=96, help="of all processes together, in each measurement")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0, help="of the first repeat")
    parser.add_argument(
        "--many", type=int, default=10_000, help="trials of the last part, SQLite alone; 0 leaves it out"
    )
    args = parser.parse_args()
    if args.store == "postgres" and args.address is None:
        parser.error("--store postgres needs --address postgresql://user@host/database")
    with tempfile.TemporaryDirectory() as folder:
        path = args.address or f"{folder}/study.db"
        load = ", ".join(f"{x:.1f}" for x in os.getloadavg()) if hasattr(os, "getloadavg") else "unknown"
        print(f"{versions(args.store, args.address)}; {os.cpu_count()} cores, load {load}")
        print(f"{args.trials} trials in each measurement: trials per second, then processor milliseconds per trial")
        labels = ["in memory", "1 process", f"{args.processes} processes"]
        print(
            f"{'n':>6}  {'':<8}"
            + "".join(f" {x:>12}" for x in labels)
            + " of memory".rjust(11)
            + "".join(f" {x:>12}" for x in labels)
        )
        for n in args.at:
            compare(path, n, args)
        if args.store == "sqlite" and args.many:
            many_trials(f"{folder}/many.db", args.many)


if __name__ == "__main__":
    main()
