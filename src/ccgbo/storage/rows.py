"""What a study file holds, as frozen records."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ccgbo.records import Direction, Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyRow:
    """A study's definition and the optimizer's state beside the trials."""

    id: int = -1  # given by the file
    name: str
    direction: Direction
    space: dict[str, Any]
    settings: dict[str, Any]
    prior: dict[str, Any] | None
    withheld: list[str]  # arguments that a file cannot hold
    cursor: dict[str, Any]
    created: float
    seed: int | None
    preset: str | None
    n_asked: int = 0  # also the id of the next trial
    n_told: int = 0
    revision: int = 0

    @classmethod
    def read(cls, row: sqlite3.Row) -> StudyRow:
        fields = {name: row[name] for name in row.keys()}  # noqa: SIM118 - iterating a Row gives its values
        for name in STUDY_JSON:
            fields[name] = json.loads(fields[name])
        return cls(**fields)


STUDY_JSON = ("space", "settings", "prior", "withheld", "cursor", "seed")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRow:
    """A trial, when it was asked and told, and who works on it."""

    trial: Trial
    asked: float  # seconds since 1970
    told: float | None = None
    told_as: int | None = None  # place in the order of all outcomes
    queued: bool = False  # waits to be given out again
    worker: str | None = None
    heartbeat: float | None = None

    @classmethod
    def read(cls, rows: Sequence[sqlite3.Row]) -> list[TrialRow]:
        """Many rows at once: one call of the JSON parser for all cells of a column, not one per cell."""
        params = json.loads(f"[{','.join(row['params'] for row in rows)}]")
        reasons = json.loads(f"[{','.join(row['explanation'] or 'null' for row in rows)}]")
        return [
            cls(
                trial=Trial.from_dict({name: row[name] for name in PLAIN_FIELDS} | {"params": p, "explanation": why}),
                asked=row["asked"],
                told=row["told"],
                told_as=row["told_as"],
                queued=bool(row["queued"]),
                worker=row["worker"],
                heartbeat=row["heartbeat"],
            )
            for row, p, why in zip(rows, params, reasons, strict=True)
        ]


PLAIN_FIELDS = ("id", "state", "value", "noise_variance", "error", "origin")


def trial_columns(trial: Trial) -> dict[str, Any]:
    """The columns of a trial itself."""
    fields = trial.to_dict()
    why = fields["explanation"]
    return fields | {"params": to_json(fields["params"]), "explanation": None if why is None else to_json(why)}


def to_json(value: Any) -> str:
    return json.dumps(value, default=_plain, separators=(",", ":"))


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"cannot be stored: {value!r}")


def plain_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Params as they will be read back: NumPy's numbers as Python's."""
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in params.items()}
