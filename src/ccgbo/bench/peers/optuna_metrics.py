"""Optuna's samplers with several directions and with constraints, asked and told in a study in memory.

NSGA-II takes the points that it is given for its first generation, ten of them, and then has generations of ten: with
its own fifty it would still draw at random when a run ends.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import optuna
import torch

from ccgbo.bench.peers.optuna import distribution, make_sampler
from ccgbo.bench.problems.several import Task

POPULATION = 10


class OptunaMetricSearch:
    def __init__(self, task: Task, seed: int, *, sampler: str) -> None:
        torch.set_num_threads(1)
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._task, self._generations = task, sampler == "nsga2"
        with warnings.catch_warnings():  # multivariate TPE is experimental
            warnings.simplefilter("ignore")
            made = (
                optuna.samplers.NSGAIISampler(seed=seed, population_size=POPULATION)
                if self._generations
                else make_sampler(sampler, seed)
            )
            self._study = optuna.create_study(directions=["minimize"] * len(task.objectives), sampler=made)
        self._distributions = {name: distribution(p) for name, p in task.space.items()}
        self._trial: Any = None

    def tell(self, point: Mapping[str, Any], values: Mapping[str, float]) -> None:
        objectives = [values[name] for name in self._task.objectives]
        constraints = {name: values[name] for name in self._task.constraints}
        if self._trial is None and not self._generations:
            given = optuna.trial.create_trial(
                params=dict(point), distributions=self._distributions, values=objectives, constraints=constraints
            )
            self._study.add_trial(given)
            return
        if self._trial is None:  # a trial that was only added belongs to no generation
            self._study.enqueue_trial(dict(point))
            self.ask()
        for name, value in constraints.items():
            self._trial.set_constraint(name, value)
        self._study.tell(self._trial, objectives)
        self._trial = None

    def ask(self) -> dict[str, Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._trial = self._study.ask(self._distributions)
        return dict(self._trial.params)
