"""What a store holds, as frozen records, and the way to and from columns.

A file may be damaged, or written by somebody else's hand. What is read is checked column by column, and whatever does
not fit is a ``StorageError`` that says where it stands.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, partial
from typing import Any

import numpy as np

from ccgbo.explanation import Explanation, Neighbour
from ccgbo.metrics import Measurement
from ccgbo.records import Direction, Event, Trial
from ccgbo.storage.columns import (
    EVENT_RULES,
    STUDY_JSON,
    STUDY_RULES,
    TRIAL_RULES,
    Row,
    brief,
    check_rows,
    damaged,
    parse_column,
    place_of,
    reading,
    unreadable,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyRow:
    """A study's definition and the optimizer's state beside the trials."""

    id: int = -1  # given by the store, never twice
    name: str
    direction: Direction
    space: dict[str, Any]
    settings: dict[str, Any]
    prior: dict[str, Any] | None
    withheld: list[str]  # arguments that a file cannot hold
    optimizer_state: dict[str, Any]
    created: float
    seed: int | None
    preset: str | None
    n_asked: int = 0  # also the id of the next trial
    n_told: int = 0
    revision: int = 0
    n_changes: int = 0  # of the space and of the metrics
    metrics: dict[str, Any] | None = None  # None: one objective without a name, as ``direction`` says


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRow:
    """A trial, when it was asked and told, and who works on it."""

    trial: Trial
    asked_at: float  # seconds since 1970
    told_at: float | None = None  # when it first had an outcome
    completion_order: int | None = None  # place in the order of all first outcomes
    released: bool = False  # waits to be given out: enqueued, or given back
    attempts: int = 0  # evaluations that ended with their process
    worker: str | None = None
    heartbeat: float | None = None  # seconds on ``clock``
    clock: str | None = None


# -- from columns


def read_study(row: Row, address: str) -> StudyRow:
    name, row = row["name"], _up_to_date(row, "null")
    for column, rule in STUDY_RULES.items():
        if not rule([row[column]]):
            raise damaged(place_of(address, name, column), row[column])
    parts = {}
    for column, types in STUDY_JSON.items():
        where = place_of(address, name, column)
        with reading(where):
            parts[column] = json.loads(row[column])
        if not isinstance(parts[column], types) or isinstance(parts[column], bool):
            raise damaged(where, parts[column])
    if not set(map(str, parts["withheld"])) <= {"constraint", "prior", "acquisition"}:
        raise damaged(place_of(address, name, "withheld"), parts["withheld"])
    return StudyRow(**{column: row[column] for column in STUDY_RULES} | parts)


def read_trials(rows: Sequence[Row], address: str, study: str) -> list[TrialRow]:
    """Many rows at once: one call of each rule, and one of the JSON parser, for all cells of a column."""
    where = partial(place_of, address, study)
    rows = [_up_to_date(row, "{}") for row in rows]
    check_rows(rows, TRIAL_RULES, where)
    parsed = [parse_column(rows, column, "id", where) for column in TRIAL_JSON]
    trials = []
    for row, *cells in zip(rows, *parsed, strict=True):
        try:
            trials.append(_read_trial(row, *cells))
        except Exception as error:  # a file may hold anything
            what = "value, params, explanation, readings, attributes or metrics"
            raise unreadable(where(what, row["id"]), error) from error
    return trials


def _up_to_date(row: Row, metrics: str) -> Row:
    """A row of a file that an older version wrote and that can only be read."""
    return row if "metrics" in row.keys() else {**dict(row), "metrics": metrics}  # noqa: SIM118 - of sqlite3.Row


def _read_trial(row: Row, params: Any, why: Any, readings: Any, attributes: Any, metrics: Any) -> TrialRow:
    _check_metrics(metrics, row["state"])
    measured = row["value"] is not None or bool(metrics)
    if measured != (row["state"] == "complete"):
        raise ValueError(f"the value of a {row['state']} trial is {row['value']!r}")
    if row["dropped"] and row["state"] not in ("complete", "failed"):
        raise ValueError(f"a {row['state']} trial is dropped")
    for name, cell in (("params", params), ("attributes", attributes)):
        if not isinstance(cell, dict):
            raise TypeError(f"{name} are {brief(cell)}")
    _check_readings(readings, row["state"])
    note, tags = attributes.get("note", ""), attributes.get("tags", [])
    if not isinstance(note, str) or not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise TypeError(f"attributes are {brief(attributes)}")
    if why is not None:
        _check_fields(Explanation, why)
        for neighbour in why.get("neighbours", ()):
            _check_fields(Neighbour, neighbour)
        _check_prediction(why)
    parts = {"params": params, "explanation": why, "readings": readings, "attributes": attributes, "metrics": metrics}
    plain = {name: row[name] for name in PLAIN_FIELDS} | {"dropped": bool(row["dropped"])}
    return TrialRow(
        trial=Trial.from_dict(plain | parts),
        asked_at=row["asked_at"],
        told_at=row["told_at"],
        completion_order=row["completion_order"],
        released=bool(row["released"]),
        attempts=row["attempts"],
        worker=row["worker"],
        heartbeat=row["heartbeat"],
        clock=row["clock"],
    )


TRIAL_JSON = ("params", "explanation", "readings", "attributes", "metrics")
PREDICTION = ("mean", "std", "base", "weight", "factor")
PLAIN_FIELDS = ("id", "state", "value", "noise_variance", "error", "origin")


def _check_readings(readings: Any, state: str) -> None:
    if not isinstance(readings, list) or not all(type(r) in (float, int) and math.isfinite(r) for r in readings):
        raise TypeError(f"readings are {brief(readings)}")
    if len(readings) == 1 or (readings and state != "complete"):
        raise ValueError(f"a {state} trial has the readings {brief(readings)}")


def _check_prediction(why: Any) -> None:
    """All parts of a prediction or none; of named metrics the objective may be one that the choice did not need."""
    named = why.get("metrics") or {}
    for parts in (PREDICTION[:2], PREDICTION[2:]) if named else (PREDICTION,):
        if len({why.get(name) is None for name in parts}) > 1:
            raise ValueError("an explanation has a prediction without its parts")
    for mean, std in named.values():
        if not all(type(number) in (float, int) for number in (mean, std)):
            raise TypeError(f"metrics are {brief(named)}")


def _check_metrics(metrics: Any, state: str) -> None:
    if not isinstance(metrics, dict):
        raise TypeError(f"metrics are {brief(metrics)}")
    for name, measured in metrics.items():
        _check_fields(Measurement, measured)
        numbers = [measured["value"], measured.get("noise_variance") or 0.0]
        if not name or not all(map(math.isfinite, numbers)):
            raise ValueError(f"the metric {name!r} is {brief(measured)}")
        _check_readings(measured.get("readings", []), state)


def read_events(rows: Sequence[Row], address: str, study: str) -> list[Event]:
    """The log of a study."""
    where = partial(place_of, address, study, row="event")
    check_rows(rows, EVENT_RULES, where)
    before, after = (parse_column(rows, column, "seq", where) for column in ("before", "after"))
    for row, *cells in zip(rows, before, after, strict=True):
        for column, cell in zip(("before", "after"), cells, strict=True):
            if not isinstance(cell, dict | None):
                raise damaged(where(column, row["seq"]), cell)
    return [
        Event(
            at=row["at"],
            who=row["who"],
            action=row["action"],
            trial_id=row["trial"],
            before=old,
            after=new,
            note=row["note"],
        )
        for row, old, new in zip(rows, before, after, strict=True)
    ]


_SIMPLE: dict[Any, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (float, int),
    "str | None": (str, type(None)),
    "int | None": (int, type(None)),
    "float | None": (float, int, type(None)),
}


@cache
def _kinds(cls: Any) -> dict[str, tuple[type, ...] | None]:
    return {f.name: _SIMPLE.get(f.type) for f in fields(cls)}


def _check_fields(cls: Any, data: Any) -> None:
    """Values as the record's annotations say; a name that it does not have is refused by the record itself."""
    kinds = _kinds(cls)
    for name, value in data.items():
        types = kinds[name]
        if types is not None and (not isinstance(value, types) or isinstance(value, bool)):
            raise TypeError(f"{name} is {value!r}")


# -- to columns

EXTERNAL = "external"  # origin of a trial that the study did not suggest
REVISED = ("params", "state", "value", "noise_variance", "error", "dropped", "readings", "attributes", "metrics")
"""Columns that change when the record of a trial is replaced."""
REDEFINED = ("space", "prior", "withheld", "direction", "metrics", "settings")
"""Columns that change when the definition of a study is."""


def study_columns(study: StudyRow) -> dict[str, Any]:
    columns = {name: getattr(study, name) for name in study.__slots__}
    return columns | {name: to_json(columns[name]) for name in STUDY_JSON}


def trial_columns(trial: Trial) -> dict[str, Any]:
    """The columns of a trial itself."""
    columns = trial.to_dict()
    parts = {name: None if columns[name] is None else to_json(columns[name]) for name in TRIAL_JSON}
    return columns | parts | {"dropped": int(trial.dropped)}


def event_columns(event: Event) -> dict[str, Any]:
    return {
        "at": event.at,
        "who": storable_text(event.who),
        "action": event.action,
        "trial": event.trial_id,
        "before": None if event.before is None else to_json(event.before),
        "after": None if event.after is None else to_json(event.after),
        "note": storable_text(event.note),
    }


def storable_text(text: Any) -> str | None:
    """A text that any store can hold: what is no valid Unicode (a lone surrogate) is written as an escape."""
    if text is None:
        return None
    return str(text).encode("utf-8", "backslashreplace").decode("utf-8")


def to_json(value: Any) -> str:
    return json.dumps(value, default=_plain, separators=(",", ":"))


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"cannot be stored: {value!r}")


def plain_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Params as they will be read back: NumPy's numbers as Python's."""
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in params.items()}
