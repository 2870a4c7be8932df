"""Runs of experiments with several metrics: kinds "constrained" and "pareto".

    constrained   the regret of a point is its value minus the least feasible one where it is feasible; where it is not,
                  the worst feasible value (BoTorch's ``worst_feasible_value``) stands in its place. The simple regret
                  is then that of the best feasible value so far, and of the worst before there is one.
    pareto        the regret of an evaluation is the largest hypervolume known minus that of the feasible points so far,
                  measured from BoTorch's reference point. What is compared is its logarithm (metrics.py).

``feasible`` counts the feasible points among those that the method suggested. Points of the initial design are the same
for every method of a seed, there is no noise, and times are those of the suggestions alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ccgbo.arrays import Array
from ccgbo.bench.experiment import Cell, Experiment
from ccgbo.bench.problems.several import MetricProblem, get_metric_problem
from ccgbo.bench.quality import cpu_seconds, design_of
from ccgbo.bench.results import Row


def feasible_rows(problem: MetricProblem, values: Array) -> Any:  # (n, metrics) -> (n,) bool
    return (values[:, len(problem.task.objectives) :] <= 0.0).all(axis=1)


def regrets(problem: MetricProblem, values: Array) -> Array:  # (n, metrics) in order of evaluation -> (n,)
    """Of each point with one objective, after each point with several."""
    m, feasible = len(problem.task.objectives), feasible_rows(problem, values)
    if m == 1:
        counted = np.where(feasible, np.minimum(values[:, 0], problem.worst), problem.worst)
        return np.asarray(counted - problem.best, dtype=np.float64)
    return problem.best - hypervolumes(values[:, :m], feasible, np.array(problem.task.reference))


def hypervolumes(Y: Array, feasible: Any, reference: Array) -> Array:  # (n, m), (n,), (m,) -> (n,)
    """What the feasible points up to each one dominate below the reference point, all objectives minimised."""
    import torch
    from botorch.utils.multi_objective.hypervolume import Hypervolume

    measure = Hypervolume(ref_point=-torch.tensor(reference))
    front, found, last = np.empty((0, Y.shape[1])), [], 0.0
    for y, counts in zip(Y, feasible, strict=True):
        if counts and (y < reference).all() and not (front <= y).all(axis=1).any():
            front = np.vstack([front[~(y <= front).all(axis=1)], y])
            last = float(measure.compute(-torch.tensor(front)))
        found.append(last)
    return np.array(found)


def run_metrics(experiment: Experiment, cell: Cell) -> tuple[Row, float]:
    """The regrets of one run, and the CPU seconds of its suggestions."""
    problem = get_metric_problem(cell.problem)
    points = design_of(problem.space, cell.seed, experiment.initial)
    told = [problem(point) for point in points]
    initial = list(zip(points, told, strict=True))
    searcher = experiment.variant(cell.method).make_metric().make(problem.task, cell.seed, initial)
    cpu = 0.0
    for _ in range(experiment.iterations):
        began = cpu_seconds(searcher)
        point = searcher.ask()
        cpu += cpu_seconds(searcher) - began
        told.append(problem(point))
        searcher.tell(point, told[-1])
    values = np.array([list(each.values()) for each in told])
    n, regret = len(points), regrets(problem, values)
    count = int(feasible_rows(problem, values[n:]).sum())
    return {"n_initial": n, "initial": float(regret[:n].min()), "regret": regret[n:].tolist(), "feasible": count}, cpu
