"""Optuna's samplers, asked and told in a study in memory."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import optuna
import torch

from ccgbo.space import Space


class OptunaSearch:
    def __init__(self, space: Space, seed: int, *, sampler: str) -> None:
        torch.set_num_threads(1)
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        with warnings.catch_warnings():  # multivariate TPE is experimental
            warnings.simplefilter("ignore")
            self._study = optuna.create_study(direction="maximize", sampler=make_sampler(sampler, seed))
        self._distributions = {name: distribution(p) for name, p in space.items()}
        self._trial: Any = None

    def tell(self, point: Mapping[str, Any], value: float) -> None:
        if self._trial is not None:
            self._study.tell(self._trial, value)
            self._trial = None
            return
        self._study.add_trial(
            optuna.trial.create_trial(params=dict(point), distributions=self._distributions, value=value)
        )

    def ask(self) -> dict[str, Any]:
        self._trial = self._study.ask(self._distributions)
        return dict(self._trial.params)


def make_sampler(name: str, seed: int) -> Any:
    if name == "gp":
        return optuna.samplers.GPSampler(seed=seed, n_startup_trials=1)
    return optuna.samplers.TPESampler(seed=seed, n_startup_trials=1, multivariate=True)


def distribution(p: Any) -> Any:
    d = optuna.distributions
    if hasattr(p, "choices"):
        return d.CategoricalDistribution(p.choices)
    if isinstance(p.low, int) and p.step is not None:
        return d.IntDistribution(p.low, p.high, log=p.log, step=p.step)
    return d.FloatDistribution(p.low, p.high, log=p.log, step=p.step)
