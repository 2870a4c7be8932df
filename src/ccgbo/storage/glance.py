"""What the list of studies says of one with named metrics: its best feasible value, or how long its front is."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ccgbo.metrics import Metrics
from ccgbo.records import Trial, best_of, front_of
from ccgbo.storage.base import StudyInfo
from ccgbo.storage.columns import Row, place_of, reading

IN_MODEL = "state = 'complete' AND dropped = 0"


def info_of(row: dict[str, Any], address: str) -> tuple[StudyInfo, Metrics | None]:
    """A study as the columns of the list have it, and its metrics where they have names: ``with_metrics`` is next."""
    with reading(place_of(address, str(row["name"]), "metrics")):
        stored = json.loads(row["metrics"])
        metrics = None if stored is None else Metrics.from_dict(stored)
    return StudyInfo(**row | {"metrics": stored}), metrics


def with_metrics(info: StudyInfo, metrics: Metrics, rows: Iterable[Row], address: str) -> StudyInfo:
    """The same with what the constraints allow, or with its front; ``rows`` has the value and metrics of each trial."""
    with reading(place_of(address, info.name, "metrics")):
        trials = [
            Trial.from_dict(
                {"id": i, "params": {}, "state": "complete", "value": row["value"]}
                | {"metrics": json.loads(row["metrics"])}
            )
            for i, row in enumerate(rows)
        ]
        best = best_of(trials, metrics)
        front = len(front_of(trials, metrics)) if metrics.several else None
    return replace(info, best_value=None if best is None else best.value, n_front=front)
