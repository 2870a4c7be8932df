"""Ax with its own default for the experiment (method "fast"); the given points are its initialisation."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from ax.api.client import Client
from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig
from ax.utils.common.logger import set_ax_logger_levels

from ccgbo.space import Space


class AxSearch:
    def __init__(self, space: Space, seed: int, *, objective: str = "value", bounds: Sequence[str] = ()) -> None:
        torch.set_num_threads(1)
        set_ax_logger_levels(logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._client = Client(random_seed=seed)
            self._client.configure_experiment(parameters=[_parameter(name, p) for name, p in space.items()])
            self._client.configure_optimization(objective=objective, outcome_constraints=list(bounds))
            self._client.configure_generation_strategy(initialization_budget=1, initialize_with_center=False)
        self._trial: int | None = None

    def tell(self, point: Mapping[str, Any], value: float) -> None:
        self.complete(point, {"value": value})

    def complete(self, point: Mapping[str, Any], values: dict[str, Any]) -> None:
        """What was measured at a point that was suggested, or at another one."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if self._trial is None:
                self._trial = self._client.attach_trial(parameters=dict(point))
            self._client.complete_trial(trial_index=self._trial, raw_data=values)
        self._trial = None

    def ask(self) -> dict[str, Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ((self._trial, params),) = self._client.get_next_trials(max_trials=1).items()
        return dict(params)


def _parameter(name: str, p: Any) -> Any:
    if hasattr(p, "choices"):
        kind: Any = {bool: "bool", int: "int", float: "float"}.get(type(p.choices[0]), "str")
        return ChoiceParameterConfig(name=name, values=list(p.choices), parameter_type=kind, is_ordered=False)
    whole = isinstance(p.low, int) and p.step is not None
    return RangeParameterConfig(
        name=name,
        bounds=(p.low, p.high),
        parameter_type="int" if whole else "float",
        step_size=None if whole else p.step,
        scaling="log" if p.log else None,
    )
