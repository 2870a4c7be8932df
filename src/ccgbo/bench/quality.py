"""Runs of an experiment of kind "quality": how few evaluations the optimizer and its peers need.

Beside the regrets of the paper's experiments (runner.py)

    noise       may be given relative to the standard deviation of the problem's values over its space
    design      false: no initial points are shown, every method makes its own, and every evaluation counts
    initial     is how many initial points are shown, max(2 d, 10) if the file does not say
    time        is that of the suggestions alone, because some of the objectives train a model
    row         also has, for the optimizer itself, the regret of the point it recommends at the end (``recommended``)
                and of the point with the best observed value (``seen``): they differ where there is noise

Initial points and noise come from streams of their own, the same for every method of a seed.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ccgbo.bench.baselines import Searcher
from ccgbo.bench.baselines.base import Point
from ccgbo.bench.experiment import Cell, Experiment
from ccgbo.bench.problems import Problem, get_problem
from ccgbo.bench.results import Row
from ccgbo.engine.optimizer import Optimizer
from ccgbo.engine.settings import PAPER
from ccgbo.records import as_tuple
from ccgbo.space import Space

SPREAD_POINTS = 256  # behind the spread of a problem's values


def spread(problem: Problem) -> float:
    """Standard deviation of the noise-free value over the space."""
    U = problem.space.sample(SPREAD_POINTS, np.random.default_rng(0))
    return float(np.std([problem(problem.space.decode(u)) for u in U]))


def paired_noise(seed: int, index: int) -> float:
    """The standard normal error of evaluation ``index``, the same for every method."""
    return float(np.random.default_rng([seed, 2, index]).standard_normal())


def design_of(space: Space, seed: int, n: int | None = None) -> list[Point]:
    """``n`` uniform points, max(2 d, 10) if None; the same for every method."""
    size = PAPER.initial_size(space.d) if n is None else n
    U = space.sample(size, np.random.default_rng([seed, 1]))
    return [space.decode(u) for u in U]


def run_quality(experiment: Experiment, cell: Cell) -> tuple[Row, float]:
    """The regrets of one run, and the CPU seconds of its suggestions."""
    problem = get_problem(cell.problem, cell.seed)
    sd = problem.noise_std if experiment.noise is None else experiment.noise * spread(problem)
    points = design_of(problem.space, cell.seed, experiment.initial) if experiment.design else []
    values = [problem(point) for point in points]
    observed = [value + sd * paired_noise(cell.seed, i) for i, value in enumerate(values)]
    initial = list(zip(points, observed, strict=True))
    searcher = experiment.variant(cell.method).make().make(problem.space, cell.seed, initial)
    first = max(values) if values else problem(problem.space.decode(np.full(problem.space.d, 0.5)))
    regret, cpu = [], 0.0
    for i in range(len(points), len(points) + experiment.iterations):
        began = cpu_seconds(searcher)
        point = searcher.ask()
        cpu += cpu_seconds(searcher) - began
        values.append(problem(point))
        observed.append(values[-1] + sd * paired_noise(cell.seed, i))
        searcher.tell(point, observed[-1])
        regret.append(problem.optimum - values[-1])
    row: Row = {"n_initial": len(points), "initial": problem.optimum - first, "regret": regret}
    return {**row, **_ends(problem, searcher, values, observed)}, cpu


def cpu_seconds(searcher: object) -> float:
    """Used so far by this process and by the one that a peer may have of its own."""
    return time.process_time() + float(getattr(searcher, "cpu_seconds", 0.0))


def _ends(problem: Problem, searcher: Searcher, values: list[float], observed: list[float]) -> dict[str, Any]:
    """Where the optimizer itself would stop, and where the best observed value is."""
    optimizer = getattr(searcher, "optimizer", None)
    if not isinstance(optimizer, Optimizer):
        return {}
    best = max(zip(observed, values, strict=True))[1]
    return {"recommended": problem.regret(as_tuple(optimizer.recommend())[0].params), "seen": problem.optimum - best}
