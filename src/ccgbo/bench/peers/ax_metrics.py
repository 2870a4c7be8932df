"""Ax with several objectives or outcome constraints, with its own default for the experiment (method "fast")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ccgbo.bench.peers.ax import AxSearch
from ccgbo.bench.problems.several import Task


class AxMetricSearch(AxSearch):
    def __init__(self, task: Task, seed: int) -> None:
        goals = ", ".join(f"-{name}" for name in task.objectives)
        super().__init__(task.space, seed, objective=goals, bounds=[f"{name} <= 0" for name in task.constraints])

    def tell(self, point: Mapping[str, Any], value: Any) -> None:
        self.complete(point, dict(value))
