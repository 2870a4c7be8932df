"""Time per suggestion, side by side in one run: ours and other libraries.

    python benchmarks/suggest_speed.py            # everything, about ten minutes
    python benchmarks/suggest_speed.py --quick    # n = 100 only
    python benchmarks/suggest_speed.py --highdim  # d = 100 and 1000 only
    python benchmarks/suggest_speed.py --metrics  # two objectives, and one objective with two constraints, only

One BLAS thread, medians over repeats; every contender holds the same n observations of noisy Hartmann6 and the
methods take turns, so that a slow moment of the machine hits all of them. A time is the mean of two suggestions in a
row, because ours alternate between a cheap and a dear one. Figures to keep are the ratios.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402

from ccgbo import Optimizer  # noqa: E402
from ccgbo.bench.baselines import Searcher  # noqa: E402
from ccgbo.bench.methods import get_method  # noqa: E402
from ccgbo.bench.metric_methods import get_metric_method  # noqa: E402
from ccgbo.bench.problems import get_metric_problem, get_problem  # noqa: E402
from ccgbo.bench.problems.several import MetricProblem, Task  # noqa: E402
from ccgbo.errors import MissingExtraError  # noqa: E402
from ccgbo.surrogate.gp.fit import NegLogPosterior  # noqa: E402
from ccgbo.versions import versions  # noqa: E402

Observe = Callable[[Any, np.random.Generator], Any]  # what is told of a point
METRIC_PEERS = ("optuna-gp", "botorch")
HIGHDIM = ("default", "default-nocredit", "gp-logei", "turbo-box", "botorch-vanilla", "turbo1", "cmaes", "optuna-gp")


def loaded(method: str, problem: Any, n: int, seed: int = 0, **options: Any) -> Searcher:
    """A method that knows n observations at uniform points."""
    rng = np.random.default_rng([seed, n])
    points = [problem.space.decode(u) for u in problem.space.sample(n, rng)]
    known = [(point, problem.noisy(point, rng)) for point in points]
    return get_method(method, **options).make(problem.space, seed, known)


def race(names: list[str], problem: Any, n: int, repeats: int, warm: int = 2) -> dict[str, list[float]]:
    """Seconds per suggestion, of each two in a row; the methods take turns."""
    return turns({name: loaded(name, problem, n) for name in names}, problem.noisy, n, repeats, warm)


def turns(made: Mapping[str, Any], observe: Observe, n: int, repeats: int, warm: int) -> dict[str, list[float]]:
    """Searchers by name, each told what is observed at the points that it suggests."""
    rng = np.random.default_rng(n)
    seconds: dict[str, list[float]] = {name: [] for name in made}
    for i in range(repeats + warm):
        for name, method in made.items():
            start = time.perf_counter()
            params = method.ask()
            took = time.perf_counter() - start
            method.tell(params, observe(params, rng))
            if i >= warm:
                seconds[name].append(took)
    return {name: [(a + b) / 2 for a, b in zip(each[::2], each[1::2], strict=False)] for name, each in seconds.items()}


def show(title: str, seconds: dict[str, list[float]], *, mean: bool = False) -> None:
    average = statistics.mean if mean else statistics.median
    ours = average(seconds["default"])
    print(f"\n{title}\n| | {'mean' if mean else 'median'} ms | times ours |\n|---|---|---|")
    for name, values in seconds.items():
        print(f"| {name} | {1e3 * average(values):.1f} | {average(values) / ours:.1f} |", flush=True)


def credit_share(n: int = 100, repeats: int = 40) -> None:
    """What the default costs more than the same without credit, as a share of its time."""
    seconds = race(["default", "default-nocredit"], get_problem("Hartmann6"), n, repeats)
    with_credit, without = (statistics.median(seconds[name]) for name in ("default", "default-nocredit"))
    print(f"\ncredit's own share of a suggestion at n = {n}: {100 * (1 - without / with_credit):.0f} %")


def floor(n: int = 1000, repeats: int = 20) -> None:
    """One Cholesky, inverse and kernel evaluation per likelihood call that the fits needed, and our multiple of it."""
    problem, rng = get_problem("Hartmann6"), np.random.default_rng(0)
    opt = Optimizer(problem.space, seed=0)
    for u in problem.space.sample(n, rng):
        params = problem.space.decode(u)
        opt.tell(params, problem.noisy(params, rng))
    opt.tell(opt.ask(), 0.0)
    counted = NegLogPosterior.__call__
    calls = [0, 0.0]

    def counting(self: NegLogPosterior, theta: Any) -> Any:
        start = time.perf_counter()
        result = counted(self, theta)
        calls[0] += 1
        calls[1] += time.perf_counter() - start
        return result

    NegLogPosterior.__call__ = counting  # type: ignore[method-assign]
    start = time.perf_counter()
    for _ in range(repeats):
        trial = opt.ask()
        opt.tell(trial, problem.noisy(trial.params, rng))
    took = time.perf_counter() - start
    NegLogPosterior.__call__ = counted  # type: ignore[method-assign]
    print(
        f"\nfloor at n = {n}: {repeats} suggestions made {calls[0]} likelihood calls, {calls[1]:.2f} s; "
        f"everything took {took:.2f} s, {took / max(calls[1], 1e-9):.1f} times that floor"
    )


def growth() -> None:
    problem = get_problem("Hartmann6")
    print("\nhow our time grows\n| n | median ms | mean ms over 20 |\n|---|---|---|")
    for n in (50, 100, 200, 400, 800, 1600):
        seconds = race(["default"], problem, n, 20, warm=1)["default"]
        print(f"| {n} | {1e3 * statistics.median(seconds):.1f} | {1e3 * statistics.mean(seconds):.1f} |", flush=True)


def high_dimension(n: int = 200, repeats: int = 6, *, thousand: bool = True) -> None:
    """Every peer of the experiment highdim_peers at D = 100, and BoTorch at D = 1000; a missing library is said."""
    problem, made = get_problem("Levy4_100"), {}
    for name in HIGHDIM:
        try:
            made[name] = loaded(name, problem, n)
        except MissingExtraError as error:
            print(f"{name} is left out: {error}")
    show(f"d = 100, n = {n} (Levy4_100)", turns(made, problem.noisy, n, repeats, warm=1))
    if not thousand:
        return
    problem = get_problem("Levy4_1000")
    made = {name: loaded(name, problem, 100) for name in ("default", "botorch-vanilla")}
    show("d = 1000, n = 100 (Levy4_1000)", turns(made, problem.noisy, 100, repeats, warm=1))


def two_constraints() -> MetricProblem:
    """Hartmann6 inside the unit ball, with no more than 2.5 in all: one objective, two constraints."""
    one = get_problem("Hartmann6")

    def metrics(X: Any) -> Any:
        return np.column_stack([-one.values(X), np.linalg.norm(X, axis=1) - 1.0, X.sum(axis=1) - 2.5])

    task = Task(space=one.space, objectives=("f",), constraints=("c0", "c1"))
    return MetricProblem(name="Hartmann6 with two constraints", task=task, function=metrics, best=-one.optimum, worst=0)


def several_metrics(n: int = 100, repeats: int = 16, peers: Sequence[str] = METRIC_PEERS) -> None:
    """Two objectives, and one objective with two constraints, at d = 6."""
    shown = ((get_metric_problem("DTLZ2_6x2"), "botorch-nehvi"), (two_constraints(), "botorch-logei"))
    for problem, botorch in shown:
        space, rng = problem.space, np.random.default_rng([0, n])
        points = [space.decode(u) for u in space.sample(n, rng)]
        known = [(point, problem(point)) for point in points]
        names = ["default", "default-credit", *(botorch if peer == "botorch" else peer for peer in peers)]
        made = {name: get_metric_method(name).make(problem.task, 0, known) for name in names}
        title = f"n = {n}, d = {space.d}, {problem.name}"
        show(title, turns(made, lambda params, _, f=problem: f(params), n, repeats, warm=2))


def imports(repeats: int = 7) -> None:
    def once(code: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - start

    ours, theirs, nothing = [], [], []
    for _ in range(repeats):
        ours.append(once("import ccgbo"))
        theirs.append(once("import optuna, torch"))
        nothing.append(once("pass"))
    a, b, c = (statistics.median(v) for v in (ours, theirs, nothing))
    print(f"\nimport: ccgbo {a:.2f} s, optuna and torch {b:.2f} s, bare Python {c:.2f} s; ratio {a / b:.2f}")


def memory() -> None:
    code = """
import re, numpy as np, ccgbo
rng = np.random.default_rng(0)
space = {f"x{i}": (0.0, 1.0) for i in range(20)}
opt = ccgbo.Optimizer(space, seed=0)
X = rng.random((2000, 20))
y = -((X - 0.5) ** 2).sum(1) + 0.1 * rng.standard_normal(2000)
opt.tell_many([dict(zip(space, map(float, r))) for r in X], list(y))
for _ in range(2):
    opt.tell(opt.ask(), 0.0)
# not ru_maxrss, which a process inherits from the one that started it
print(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024)
"""
    peak = float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)
    print(f"\npeak memory, n = 2000, d = 20: {peak:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--highdim", action="store_true")
    parser.add_argument("--metrics", action="store_true")
    args = parser.parse_args()
    print("versions:", versions(), "\nseeds: 0; one BLAS thread; load average", os.getloadavg())
    if args.highdim:
        high_dimension()
        return
    if args.metrics:
        several_metrics()
        return
    peers = ["optuna-gp", "botorch-ucb", "bayes-opt"]
    hartmann = get_problem("Hartmann6")
    show("n = 100, d = 6, Hartmann6 with noise", race(["default", "paper", *peers], hartmann, 100, 16))
    credit_share()
    imports()
    if args.quick:
        return
    memory()
    show(
        "n = 1000, d = 6: mean over 20 consecutive suggestions",
        race(["default", "optuna-gp"], hartmann, 1000, 20, warm=1),
        mean=True,
    )
    floor()
    growth()
    high_dimension()


if __name__ == "__main__":
    main()
