"""Runs the grid of an experiment: problem x method x seed, on one machine or a cluster, resumed where it stopped.

Runs of one problem and seed are paired: every method is shown the same initial design, and evaluation i of every
method has the same observation noise.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ccgbo.bench.baselines import Searcher
from ccgbo.bench.baselines.base import Initial
from ccgbo.bench.experiment import Cell, Experiment
from ccgbo.bench.methods import require
from ccgbo.bench.problems import Problem, get_metric_problem, get_problem
from ccgbo.bench.results import ResultFile, Results, Row, read_results
from ccgbo.engine.design import design_points
from ccgbo.engine.settings import PAPER
from ccgbo.errors import MissingExtraError, SettingError

BACKENDS = ("loky", "dask", "ray")
NOISE_STREAM = 90001  # keeps the noise apart from the draws of designs and methods

Report = Callable[[str], None]


def noise_of(seed: int, index: int) -> np.random.Generator:
    """The generator of the noise on evaluation ``index`` of a run, the same for every method."""
    return np.random.default_rng([seed, index, NOISE_STREAM])


def initial_design(problem: Problem, seed: int, n: int | None = None) -> Initial:
    """``n`` uniform points and their noisy values; None is max(2 d, 10)."""
    n = PAPER.initial_size(problem.space.d) if n is None else n
    points = [problem.space.decode(u) for u in design_points(problem.space, "random", 0, n, n, seed)]
    return [(point, problem.noisy(point, noise_of(seed, i))) for i, point in enumerate(points)]


def start(experiment: Experiment, cell: Cell) -> tuple[Problem, Initial, Searcher]:
    """A run before its first iteration."""
    problem = get_problem(cell.problem, cell.seed)
    initial = initial_design(problem, cell.seed, experiment.initial)
    return problem, initial, experiment.variant(cell.method).make().make(problem.space, cell.seed, initial)


def step(problem: Problem, searcher: Searcher, seed: int, index: int) -> float:
    """One iteration: ask, evaluate with noise, tell. Returns the noise-free regret."""
    point = searcher.ask()
    value = problem(point)
    searcher.tell(point, value + problem.noise_std * float(noise_of(seed, index).standard_normal()))
    return problem.optimum - value


def run_regret(experiment: Experiment, cell: Cell) -> Row:
    """The regrets of one run."""
    problem, initial, searcher = start(experiment, cell)
    first = min(problem.regret(point) for point, _ in initial)
    regret = [step(problem, searcher, cell.seed, len(initial) + t) for t in range(experiment.iterations)]
    return {"n_initial": len(initial), "initial": first, "regret": regret}


def _measure(kind: str) -> Callable[[Experiment, Cell], Row]:
    if kind == "theory":
        from ccgbo.bench.theory import run_theory

        return run_theory
    if kind == "illustration":
        from ccgbo.bench.illustration import run_illustration

        return run_illustration
    return run_regret


def run_cell(experiment: Experiment, cell: Cell) -> tuple[Row, float]:
    """The row of one run, and the CPU seconds it took: of its suggestions where other libraries are compared."""
    named = {"problem": cell.problem, "method": cell.method, "seed": cell.seed}
    if experiment.kind == "quality":
        from ccgbo.bench.quality import run_quality

        row, cpu = run_quality(experiment, cell)
        return {**named, **row}, cpu
    if experiment.several:
        from ccgbo.bench.metric_runs import run_metrics

        row, cpu = run_metrics(experiment, cell)
        return {**named, **row}, cpu
    began = time.process_time()
    row = _measure(experiment.kind)(experiment, cell)
    return {**named, **row}, time.process_time() - began


def available(experiment: Experiment, cells: Sequence[Cell], report: Report) -> set[str]:
    """Problems and labels of methods that can be made here; a missing extra is reported and leaves the others."""
    needs: dict[str, Callable[[], object]] = {
        label: partial(require, experiment.variant(label).made()) for label in dict.fromkeys(c.method for c in cells)
    }
    for problem in dict.fromkeys(c.problem for c in cells):
        if experiment.several:
            needs[problem] = partial(get_metric_problem, problem)
        elif experiment.kind != "illustration":
            needs[problem] = partial(get_problem, problem, experiment.first_seed)
        else:
            needs[problem] = lambda: None
    found = set()
    for name, need in needs.items():
        try:
            need()
            found.add(name)
        except MissingExtraError as error:
            report(f"{name} is left out: {error}")
    return found


def run_experiment(
    experiment: Experiment,
    output: str | Path,
    *,
    jobs: int = 1,
    backend: str = "loky",
    address: str | None = None,
    problems: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    progress: bool = False,
    report: Report = lambda _: None,
) -> Results:
    """Run what is missing in ``output``, of all or of some problems and methods, and put it in order."""
    if backend not in BACKENDS:
        raise SettingError(f"backend must be one of {list(BACKENDS)}, got {backend!r}.")
    if jobs == 0:
        raise SettingError(f"jobs must not be 0, got {jobs!r}.")
    asked = experiment.cells(problems, methods)
    file = ResultFile(output, experiment)
    usable = available(experiment, asked, report)
    todo = [c for c in asked if {c.problem, c.method} <= usable and c not in file.done]
    with _bar(len(todo), experiment.name, progress) as advance:
        for row, cpu in _results(experiment, todo, jobs, backend, address):
            file.append(row, cpu)
            advance(f"{row['problem']} {row['method']} {row['seed']}")
    file.finish()
    return read_results(output)


@contextmanager
def _bar(total: int, name: str, shown: bool) -> Iterator[Callable[[str], None]]:
    from tqdm import tqdm

    with tqdm(total=total, desc=name, unit="run", disable=not shown, mininterval=1.0, smoothing=0.05) as bar:

        def advance(last: str) -> None:
            bar.set_postfix_str(last, refresh=False)
            bar.update()

        yield advance


def _results(
    experiment: Experiment, cells: Sequence[Cell], jobs: int, backend: str, address: str | None
) -> Iterator[tuple[Row, float]]:
    """Rows as they are finished."""
    if not cells:
        return
    joblib = _need("joblib", "ccgbo bench run", "bench")
    with _cluster(joblib, backend, jobs, address):
        if backend == "ray":  # its joblib backend returns whole batches only
            size = 4 * max(jobs, 1)
            for first in range(0, len(cells), size):
                batch = cells[first : first + size]
                yield from joblib.Parallel()(joblib.delayed(run_cell)(experiment, cell) for cell in batch)
        else:
            stream = joblib.Parallel(return_as="generator_unordered", batch_size=1)
            yield from stream(joblib.delayed(run_cell)(experiment, cell) for cell in cells)


@contextmanager
def _cluster(joblib: Any, backend: str, jobs: int, address: str | None) -> Iterator[None]:
    """The joblib backend, with the cluster behind it started here unless an address is given."""
    if backend == "loky":
        with joblib.parallel_config("loky", n_jobs=jobs, inner_max_num_threads=1):
            yield
    elif backend == "dask":
        distributed = _need("distributed", "--backend dask", "dask")
        local = {"n_workers": jobs, "threads_per_worker": 1, "dashboard_address": None}
        client = distributed.Client(address) if address else distributed.Client(**local)
        with client, joblib.parallel_config("dask", n_jobs=jobs):
            yield
    else:
        ray = _need("ray", "--backend ray", "ray")
        _need("ray.util.joblib", "--backend ray", "ray").register_ray()
        ours = not ray.is_initialized()
        if ours:
            options = {"address": address} if address else {"num_cpus": jobs}
            ray.init(**options, include_dashboard=False, log_to_driver=False)
        try:
            with joblib.parallel_config("ray", n_jobs=jobs):
                yield
        finally:
            if ours:
                ray.shutdown()


def _need(module: str, what: str, extra: str) -> Any:
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(what, extra) from error
