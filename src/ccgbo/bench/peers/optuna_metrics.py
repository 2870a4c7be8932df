"""Optuna's samplers with several directions and with constraints, asked and told in a study in memory.

NSGA-II takes the points that it is given for its first generation and has a population of ten: with its own fifty it
would still draw at random when a run ends.
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
GENERATION = "NSGAIISampler:generation"  # where Optuna keeps it


class OptunaMetricSearch:
    def __init__(self, task: Task, seed: int, *, sampler: str) -> None:
        torch.set_num_threads(1)
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._task = task
        self._given = {GENERATION: 0} if sampler == "nsga2" else {}  # of trials that it did not suggest
        with warnings.catch_warnings():  # multivariate TPE is experimental
            warnings.simplefilter("ignore")
            made = (
                optuna.samplers.NSGAIISampler(seed=seed, population_size=POPULATION)
                if sampler == "nsga2"
                else make_sampler(sampler, seed)
            )
            self._study = optuna.create_study(directions=["minimize"] * len(task.objectives), sampler=made)
        self._distributions = {name: distribution(p) for name, p in task.space.items()}
        self._trial: Any = None

    def tell(self, point: Mapping[str, Any], values: Mapping[str, float]) -> None:
        objectives = [values[name] for name in self._task.objectives]
        constraints = {name: values[name] for name in self._task.constraints}
        if self._trial is None:
            given = optuna.trial.create_trial(
                params=dict(point),
                distributions=self._distributions,
                values=objectives,
                constraints=constraints,
                system_attrs=dict(self._given),  # Optuna writes the constraints into it
            )
            self._study.add_trial(given)
            return
        for name, value in constraints.items():
            self._trial.set_constraint(name, value)
        self._study.tell(self._trial, objectives)
        self._trial = None

    def ask(self) -> dict[str, Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._trial = self._study.ask(self._distributions)
        return dict(self._trial.params)
