"""A cluster in virtual time: 10 to 2,000 workers on one study, with failures and stragglers, on the real optimizer.

    python benchmarks/simulate_cluster.py                         the runs of docs/scale.md, to results/cluster.json
    python benchmarks/simulate_cluster.py --runs 500:64 --store none --out -
    python benchmarks/simulate_cluster.py --quick --out -         four small runs, seconds
    python benchmarks/simulate_cluster.py --figure docs/img/scale.png    draws results/cluster.json, runs nothing

A run ``workers:group`` has that many workers, and ``group`` of them share an ask: ``study.ask(group)`` is called when
so many wait. An evaluation takes a log-normal time (median ``--minutes``, sigma 0.5), one in fifty takes ten times that
(a straggler), and one in fifty fails. Asks and tells are made on a real study, one after the other as on one file: the
processor time of each, measured here, is the time that it takes in the simulation, and whoever comes meanwhile waits in
line. So the seconds of the queue are this machine's, and everything else is drawn from the seed.

A run ends after ``generations`` evaluations for each worker, or when asking has taken ``--cpu`` seconds: then it says
so, and its last state is what it had reached.
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402

import ccgbo  # noqa: E402
from ccgbo.bench.problems import Problem, get_problem  # noqa: E402
from ccgbo.plotting import CYCLE, GREY, pyplot, style, tidy  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
RUNS = ("10:1", "100:1", "500:1", "500:64", "2000:1", "2000:256")
GENERATIONS = {10: 15, 100: 5, 500: 3, 2000: 2}
SIGMA = 0.5  # of the logarithm of a duration
STRAGGLERS, TIMES = 0.02, 10.0  # the share of evaluations that take so many times longer
FAILURES = 0.02
Source = ccgbo.Optimizer | ccgbo.Study


@dataclass
class Server:
    """The one that suggests and records: what is asked of it is done in the order it comes."""

    free: float = 0.0  # when it has done all that it was asked
    spent: dict[str, float] = field(default_factory=lambda: {"ask": 0.0, "tell": 0.0})

    def does(self, what: str, now: float, seconds: float) -> float:
        """When something that comes ``now`` and takes so long is done."""
        self.spent[what] += seconds
        self.free = max(self.free, now) + seconds
        return self.free


@dataclass
class Cluster:
    """Workers in virtual time: who evaluates until when, who waits since when, and what was found."""

    source: Source
    problem: Problem
    rng: np.random.Generator
    median: float  # seconds of an evaluation
    server: Server = field(default_factory=Server)
    running: list[tuple[float, int, ccgbo.Trial]] = field(default_factory=list)  # a heap by the end of each
    idle: list[float] = field(default_factory=list)  # since when each of them waits
    busy: float = 0.0  # seconds of all evaluations
    waited: float = 0.0  # seconds of all workers
    asked: int = 0
    answers: list[tuple[int, float]] = field(default_factory=list)  # points and seconds of each ask
    trace: list[tuple[float, int, float]] = field(default_factory=list)  # time, evaluations, simple regret

    def duration(self) -> float:
        slow = TIMES if self.rng.random() < STRAGGLERS else 1.0
        return float(self.median * self.rng.lognormal(0.0, SIGMA) * slow)

    def ask(self, n: int, now: float) -> None:
        """So many of those who wait get a point each, when the server has one for them."""
        started = time.process_time()
        trials = self.source.ask(n)
        seconds = time.process_time() - started
        start = self.server.does("ask", now, seconds)
        self.answers.append((n, seconds))
        for since, trial in zip(self.idle[:n], trials, strict=True):
            self.waited += start - since
            length = self.duration()
            self.busy += length
            heapq.heappush(self.running, (start + length, self.asked, trial))
            self.asked += 1
        del self.idle[:n]

    def finish_one(self) -> float:
        """The next evaluation ends and its outcome is told; the time when that is recorded."""
        now, _, trial = heapq.heappop(self.running)
        failed = self.rng.random() < FAILURES
        value = None if failed else self.problem(trial.params)
        started = time.process_time()
        self.source.tell(trial, value, failed=failed)
        done = self.server.does("tell", now, time.process_time() - started)
        regret = self.trace[-1][2] if self.trace else float("inf")
        if value is not None:
            regret = min(regret, self.problem.optimum - value)
        self.trace.append((done, len(self.trace) + 1, regret))
        self.idle.append(now)
        return done


def simulate(
    problem: Problem, source: Source, workers: int, group: int, total: int, *, minutes: float, cpu: float, seed: int
) -> dict[str, Any]:
    """One run, summed up."""
    cluster = Cluster(source, problem, np.random.default_rng([seed, workers, group]), 60.0 * minutes)
    cluster.idle = [0.0] * workers
    while cluster.asked < workers:  # everybody starts at once
        cluster.ask(min(max(group, 64), workers - cluster.asked), 0.0)
    first = len(cluster.answers)
    while cluster.running and sum(s for _, s in cluster.answers) < cpu:
        now = cluster.finish_one()
        n = min(group, total - cluster.asked)
        if n and len(cluster.idle) >= n:
            cluster.ask(n, now)
    return summary(cluster, workers, group, minutes, first) | {"problem": problem.name, "seed": seed, "wanted": total}


def summary(cluster: Cluster, workers: int, group: int, minutes: float, first: int) -> dict[str, Any]:
    """What was needed, what there was, and where it waited; suggestions of the start are left out of the rates."""
    end, later = cluster.trace[-1][0], cluster.answers[first:]
    mean = 60.0 * minutes * np.exp(SIGMA**2 / 2.0) * (1.0 + STRAGGLERS * (TIMES - 1.0))
    spent = cluster.server.spent
    recent = later[-max(1, len(later) // 4) :] or [(1, float("nan"))]
    rate = sum(n for n, _ in recent) / max(sum(s for _, s in recent), 1e-9)
    rows = np.unique(np.geomspace(1, len(cluster.trace), 40).astype(int)) - 1
    return {
        "workers": workers,
        "group": group,
        "minutes": minutes,
        "evaluations": len(cluster.trace),
        "hours": round(end / 3600.0, 3),
        "needed_per_second": round(workers / mean, 3),
        "available_per_second": round(rate, 2),
        "server_load": float(f"{(spent['ask'] + spent['tell']) / end:.3g}"),
        "ask_seconds": round(spent["ask"], 2),
        "tell_seconds": round(spent["tell"], 2),
        "slowest_ask": round(max(s for _, s in cluster.answers), 2),
        "mean_wait_seconds": round(cluster.waited / max(cluster.asked - workers, 1), 1),
        "regret": float(f"{cluster.trace[-1][2]:.4g}"),
        "trace": [(round(t / 3600.0, 4), n, float(f"{r:.4g}")) for t, n, r in (cluster.trace[i] for i in rows)],
    }


def one_run(spec: str, options: argparse.Namespace, folder: str) -> dict[str, Any]:
    workers, group = (int(part) for part in spec.split(":"))
    total = workers * (options.generations or GENERATIONS.get(workers, 3))
    problem = get_problem(options.problem, options.seed)
    arguments: dict[str, Any] = {"minutes": options.minutes, "cpu": options.cpu, "seed": options.seed}
    if options.store == "none":
        optimizer = ccgbo.Optimizer(problem.space, seed=options.seed)
        return simulate(problem, optimizer, workers, group, total, **arguments) | {"store": "none"}
    path = f"{folder}/{workers}-{group}.db"
    with ccgbo.Study(path, problem.space, seed=options.seed, heartbeat=1e9) as study:
        return simulate(problem, study, workers, group, total, **arguments) | {"store": "sqlite"}


HEAD = ("workers:group", "evaluations", "hours", "needed/s", "available/s", "server load", "mean wait", "regret")


def show(runs: Sequence[dict[str, Any]]) -> None:
    print("| " + " | ".join(HEAD) + " |\n|" + "---|" * len(HEAD))
    for r in runs:
        cut = "" if r["evaluations"] == r["wanted"] else f" of {r['wanted']}"
        cells = [f"{r['workers']}:{r['group']}", f"{r['evaluations']}{cut}", f"{r['hours']:.2f}"]
        cells += [
            f"{r['needed_per_second']:.2f}",
            f"{r['available_per_second']:.1f}",
            f"{100 * r['server_load']:.0f} %",
        ]
        cells += [f"{r['mean_wait_seconds']:.1f} s", f"{r['regret']:.3g}"]
        print("| " + " | ".join(cells) + " |")


def draw(runs: Sequence[dict[str, Any]], path: str) -> None:
    plt = pyplot("the figure of a simulation")
    plt.matplotlib.use("Agg")
    with style("page"):
        figure, (left, middle, right) = plt.subplots(1, 3, figsize=(10.5, 3.4), layout="constrained")
        for r, color in zip(runs, CYCLE, strict=False):
            hours, n, regret = np.array(r["trace"]).T
            label = f"{r['workers']:,}" + (f", {r['group']} at a time" if r["group"] > 1 else "")
            line = {"color": color, "label": label, "linestyle": "-" if r["group"] == 1 else "--"}
            left.plot(60.0 * hours, regret, **line)
            middle.plot(n, regret, **line)
            x = f"{r['workers']:,}\nby {r['group']}"
            right.plot(x, r["available_per_second"], "o", color=color, markersize=7)
            right.plot(x, r["needed_per_second"], "_", color=GREY, markersize=16, markeredgewidth=2.5)
        left.set(xlabel="virtual minutes", ylabel="simple regret", yscale="log", xscale="log", title="Against time")
        middle.set(xlabel="evaluations", yscale="log", xscale="log", title="Against evaluations")
        right.set(yscale="log", xlabel="workers", title="Suggestions per second")
        right.plot([], [], "o", color="black", label="available")
        right.plot([], [], "_", color=GREY, markersize=16, markeredgewidth=2.5, label="needed")
        for ax in (left, middle, right):
            tidy(ax)
        left.legend(title="workers", fontsize=7)
        right.legend(fontsize=8)
        figure.savefig(path, dpi=150)
        plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", nargs="+", default=list(RUNS), metavar="WORKERS:GROUP")
    parser.add_argument("--problem", default="Hartmann6")
    parser.add_argument("--minutes", type=float, default=1.0, help="the median of an evaluation")
    parser.add_argument("--generations", type=int, help="evaluations for each worker; by the number of workers if left")
    parser.add_argument("--cpu", type=float, default=45.0, help="seconds that asking may take in a run")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--store", choices=("sqlite", "none"), default="sqlite")
    parser.add_argument("--out", default=str(ROOT / "results" / "cluster.json"), help="a file, or - for none")
    parser.add_argument("--figure", help="draw the results into this file, and run nothing")
    parser.add_argument("--quick", action="store_true", help="8 and 70 workers, one by one and in groups")
    options = parser.parse_args()
    if options.figure:
        draw(json.loads(Path(options.out).read_text(encoding="utf-8"))["runs"], options.figure)
        return
    if options.quick:
        options.runs, options.problem, options.generations = ["8:1", "8:4", "70:1", "70:64"], "Branin2", 2
    versions = {name: version(name) for name in ("numpy", "scipy")}
    versions = {"python": platform.python_version(), "ccgbo": ccgbo.__version__, **versions}
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for spec in options.runs:
            runs.append(one_run(spec, options, folder))
            print(spec, file=sys.stderr, flush=True)
    print(f"{options.problem}, median {options.minutes:g} minutes, seed {options.seed}, {options.store}, {versions}")
    show(runs)
    if options.out != "-":
        lines = ",\n".join("  " + json.dumps(run) for run in runs)
        head = json.dumps({"versions": versions})[:-1]
        Path(options.out).write_text(f'{head}, "runs": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
