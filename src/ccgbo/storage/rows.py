"""What a store holds, as frozen records, and the way to and from columns.

A file may be damaged, or written by somebody else's hand. What is read is checked column by column, and whatever does
not fit is a ``StorageError`` that says where it stands.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, get_args

import numpy as np

from ccgbo.errors import StorageError
from ccgbo.records import Direction, Explanation, Neighbour, Origin, State, Trial

Row = Mapping[str, Any]
Cells = list[Any]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRow:
    """A trial, when it was asked and told, and who works on it."""

    trial: Trial
    asked_at: float  # seconds since 1970
    told_at: float | None = None
    completion_order: int | None = None  # place in the order of all outcomes
    released: bool = False  # waits to be given out again
    attempts: int = 0  # evaluations that ended with their process
    worker: str | None = None
    heartbeat: float | None = None  # seconds on ``clock``
    clock: str | None = None


# -- errors


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Whatever goes wrong while something stored is understood is the store's fault, and says where."""
    try:
        yield
    except StorageError:
        raise
    except Exception as error:  # a file may hold anything
        raise _unreadable(what, error) from error


def _unreadable(what: str, error: Exception) -> StorageError:
    text = f"{type(error).__name__}: {error}"
    return StorageError(f"{what} cannot be read ({text[:200]}): it is damaged or was changed by hand.")


def place_of(address: str, study: str, column: str, trial: int | None = None) -> str:
    """How an error names a cell."""
    return f"{address!r}, study {study!r}" + (f", trial {trial!r}" if trial is not None else "") + f", column {column}"


# -- what a column may hold: each rule sees all cells of a column at once, which is what makes many rows fast


def _typed(*types: type) -> Callable[[Cells], bool]:
    allowed = set(types)
    return lambda cells: set(map(type, cells)) <= allowed


def _one_of(*values: Any) -> Callable[[Cells], bool]:
    return lambda cells: all(type(c) is str for c in cells) and set(cells) <= set(values)


def _count(*, optional: bool = False) -> Callable[[Cells], bool]:
    kinds = _typed(int, type(None)) if optional else _typed(int)
    return lambda cells: kinds(cells) and all(c is None or c >= 0 for c in cells)


def _number(*, optional: bool = True) -> Callable[[Cells], bool]:
    kinds = _typed(float, int, type(None)) if optional else _typed(float, int)
    return lambda cells: kinds(cells) and all(c is None or math.isfinite(c) for c in cells)


_text, _optional_text, _json = _typed(str), _typed(str, type(None)), _typed(str)

STUDY_RULES = {
    "id": _typed(int),
    "name": _text,
    "direction": _one_of(*get_args(Direction)),
    "space": _json,
    "settings": _json,
    "prior": _json,
    "withheld": _json,
    "optimizer_state": _json,
    "created": _number(optional=False),
    "seed": _json,
    "preset": _optional_text,
    "n_asked": _count(),
    "n_told": _count(),
    "revision": _count(),
}
STUDY_JSON: dict[str, tuple[type, ...]] = {
    "space": (dict,),
    "settings": (dict,),
    "prior": (dict, type(None)),
    "withheld": (list,),
    "optimizer_state": (dict,),
    "seed": (int, type(None)),
}
TRIAL_RULES = {
    "id": _count(),
    "params": _json,
    "state": _one_of(*get_args(State)),
    "value": _number(),
    "noise_variance": _number(),
    "error": _optional_text,
    "origin": _one_of(*get_args(Origin)),
    "explanation": _optional_text,
    "asked_at": _number(optional=False),
    "told_at": _number(),
    "completion_order": _count(optional=True),
    "released": _count(),
    "attempts": _count(),
    "worker": _optional_text,
    "heartbeat": _number(),
    "clock": _optional_text,
}
_SIMPLE: dict[Any, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (float, int),
    "str | None": (str, type(None)),
    "int | None": (int, type(None)),
    "float | None": (float, int, type(None)),
}


# -- from columns


def read_study(row: Row, address: str) -> StudyRow:
    name = row["name"]
    for column, rule in STUDY_RULES.items():
        if not rule([row[column]]):
            raise _damaged(place_of(address, name, column), row[column])
    parts = {}
    for column, types in STUDY_JSON.items():
        where = place_of(address, name, column)
        with reading(where):
            parts[column] = json.loads(row[column])
        if not isinstance(parts[column], types) or isinstance(parts[column], bool):
            raise _damaged(where, parts[column])
    if not set(map(str, parts["withheld"])) <= {"constraint", "prior", "acquisition"}:
        raise _damaged(place_of(address, name, "withheld"), parts["withheld"])
    return StudyRow(**{column: row[column] for column in STUDY_RULES} | parts)


def read_trials(rows: Sequence[Row], address: str, study: str) -> list[TrialRow]:
    """Many rows at once: one call of each rule, and one of the JSON parser, for all cells of a column."""
    for column, rule in TRIAL_RULES.items():
        cells = [row[column] for row in rows]
        if not rule(cells):
            bad = next(row for row in rows if not rule([row[column]]))
            raise _damaged(place_of(address, study, column, bad["id"]), bad[column])
    params = _parse(rows, "params", address, study)
    reasons = _parse(rows, "explanation", address, study)
    trials = []
    for row, p, why in zip(rows, params, reasons, strict=True):
        try:
            trials.append(_read_trial(row, p, why))
        except Exception as error:  # a file may hold anything
            where = place_of(address, study, "value, params or explanation", row["id"])
            raise _unreadable(where, error) from error
    return trials


def _read_trial(row: Row, params: Any, why: Any) -> TrialRow:
    if (row["value"] is None) == (row["state"] == "complete"):
        raise ValueError(f"the value of a {row['state']} trial is {row['value']!r}")
    if not isinstance(params, dict):
        raise TypeError(f"params are {_brief(params)}")
    if why is not None:
        _check_fields(Explanation, why)
        for neighbour in why.get("neighbours", ()):
            _check_fields(Neighbour, neighbour)
        if len({why.get(name) is None for name in PREDICTION}) > 1:
            raise ValueError("an explanation has a prediction without its parts")
    trial = Trial.from_dict({name: row[name] for name in PLAIN_FIELDS} | {"params": params, "explanation": why})
    return TrialRow(
        trial=trial,
        asked_at=row["asked_at"],
        told_at=row["told_at"],
        completion_order=row["completion_order"],
        released=bool(row["released"]),
        attempts=row["attempts"],
        worker=row["worker"],
        heartbeat=row["heartbeat"],
        clock=row["clock"],
    )


PREDICTION = ("mean", "std", "base", "weight", "factor")
PLAIN_FIELDS = ("id", "state", "value", "noise_variance", "error", "origin")


def _parse(rows: Sequence[Row], column: str, address: str, study: str) -> list[Any]:
    try:
        parsed: list[Any] = json.loads(f"[{','.join(row[column] or 'null' for row in rows)}]")
        if len(parsed) == len(rows):
            return parsed
    except (ValueError, RecursionError):
        pass
    for row in rows:
        with reading(place_of(address, study, column, row["id"])):
            json.loads(row[column] or "null")
    raise StorageError(f"{place_of(address, study, column)} cannot be read: it is damaged or was changed by hand.")


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


def _damaged(where: str, found: Any) -> StorageError:
    return StorageError(f"{where} holds {_brief(found)}: it is damaged or was changed by hand.")


def _brief(found: Any) -> str:
    text = repr(found)
    return text if len(text) <= 80 else text[:80] + "..."


# -- to columns


def study_columns(study: StudyRow) -> dict[str, Any]:
    columns = {name: getattr(study, name) for name in study.__slots__}
    return columns | {name: to_json(columns[name]) for name in STUDY_JSON}


def trial_columns(trial: Trial) -> dict[str, Any]:
    """The columns of a trial itself."""
    columns = trial.to_dict()
    why = columns["explanation"]
    return columns | {"params": to_json(columns["params"]), "explanation": None if why is None else to_json(why)}


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
