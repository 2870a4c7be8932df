"""What a study file holds, as frozen records."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
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
    def read(cls, row: sqlite3.Row) -> TrialRow:
        fields = {name: row[name] for name in TRIAL_FIELDS}
        fields["params"] = json.loads(fields["params"])
        fields["explanation"] = None if fields["explanation"] is None else json.loads(fields["explanation"])
        return cls(
            trial=Trial.from_dict(fields),
            asked=row["asked"],
            told=row["told"],
            told_as=row["told_as"],
            queued=bool(row["queued"]),
            worker=row["worker"],
            heartbeat=row["heartbeat"],
        )


TRIAL_FIELDS = ("id", "params", "state", "value", "noise_variance", "error", "origin", "explanation")


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
