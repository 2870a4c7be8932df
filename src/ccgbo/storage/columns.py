"""What a column may hold, and how an error names the cell that does not.

Each rule sees all cells of a column at once, which is what makes many rows fast.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, get_args

from ccgbo.errors import StorageError
from ccgbo.records import Direction, Origin, State

Row = Mapping[str, Any]
Cells = list[Any]
Rule = Callable[[Cells], bool]

YEAR_10000 = 253_402_300_800  # in seconds since 1970: no calendar here goes further


# -- errors


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Whatever goes wrong while something stored is understood is the store's fault, and says where."""
    try:
        yield
    except StorageError:
        raise
    except Exception as error:  # a file may hold anything
        raise unreadable(what, error) from error


def unreadable(what: str, error: Exception) -> StorageError:
    text = f"{type(error).__name__}: {error}"
    return StorageError(f"{what} cannot be read ({text[:200]}): it is damaged or was changed by hand.")


def damaged(where: str, found: Any) -> StorageError:
    return StorageError(f"{where} holds {brief(found)}: it is damaged or was changed by hand.")


def brief(found: Any) -> str:
    text = repr(found)
    return text if len(text) <= 80 else text[:80] + "..."


def place_of(address: str, study: str, column: str, trial: int | None = None, row: str = "trial") -> str:
    """How an error names a cell."""
    return f"{address!r}, study {study!r}" + (f", {row} {trial!r}" if trial is not None else "") + f", column {column}"


# -- rules


def _typed(*types: type) -> Rule:
    allowed = set(types)
    return lambda cells: set(map(type, cells)) <= allowed


def _one_of(*values: Any) -> Rule:
    return lambda cells: all(type(c) is str for c in cells) and set(cells) <= set(values)


def _count(*, optional: bool = False) -> Rule:
    kinds = _typed(int, type(None)) if optional else _typed(int)
    return lambda cells: kinds(cells) and all(c is None or c >= 0 for c in cells)


def _number(*, optional: bool = True) -> Rule:
    kinds = _typed(float, int, type(None)) if optional else _typed(float, int)
    return lambda cells: kinds(cells) and all(c is None or math.isfinite(c) for c in cells)


def _time(*, optional: bool = False) -> Rule:
    kinds = _number(optional=optional)
    return lambda cells: kinds(cells) and all(c is None or 0 <= c < YEAR_10000 for c in cells)


def _flag(cells: Cells) -> bool:
    return set(map(type, cells)) <= {int} and set(cells) <= {0, 1}


_text, _optional_text, _json = _typed(str), _typed(str, type(None)), _typed(str)

STUDY_RULES: dict[str, Rule] = {
    "id": _typed(int),
    "name": _text,
    "direction": _one_of(*get_args(Direction)),
    "space": _json,
    "settings": _json,
    "prior": _json,
    "withheld": _json,
    "optimizer_state": _json,
    "created": _time(),
    "seed": _json,
    "preset": _optional_text,
    "n_asked": _count(),
    "n_told": _count(),
    "revision": _count(),
    "n_changes": _count(),
    "metrics": _json,
}
STUDY_JSON: dict[str, tuple[type, ...]] = {
    "space": (dict,),
    "settings": (dict,),
    "prior": (dict, type(None)),
    "withheld": (list,),
    "optimizer_state": (dict,),
    "seed": (int, type(None)),
    "metrics": (dict, type(None)),
}
TRIAL_RULES: dict[str, Rule] = {
    "id": _count(),
    "params": _json,
    "state": _one_of(*get_args(State)),
    "value": _number(),
    "noise_variance": _number(),
    "error": _optional_text,
    "origin": _one_of(*get_args(Origin)),
    "explanation": _optional_text,
    "dropped": _flag,
    "readings": _json,
    "attributes": _json,
    "metrics": _json,
    "asked_at": _time(),
    "told_at": _time(optional=True),
    "completion_order": _count(optional=True),
    "released": _count(),
    "attempts": _count(),
    "worker": _optional_text,
    "heartbeat": _number(),
    "clock": _optional_text,
}
EVENT_RULES: dict[str, Rule] = {
    "seq": _count(),
    "at": _time(),
    "who": _text,
    "action": _text,
    "trial": _count(optional=True),
    "before": _optional_text,
    "after": _optional_text,
    "note": _optional_text,
}


# -- many rows at once


def check_rows(rows: Sequence[Row], rules: Mapping[str, Rule], where: Callable[[str, int | None], str]) -> None:
    """Every cell by the rule of its column; ``where`` names one by its column and the first column of its row."""
    key = next(iter(rules))
    for column, rule in rules.items():
        if not rule([row[column] for row in rows]):
            bad = next(row for row in rows if not rule([row[column]]))
            raise damaged(where(column, bad[key]), bad[column])


def parse_column(rows: Sequence[Row], column: str, key: str, where: Callable[[str, int | None], str]) -> list[Any]:
    """The JSON of a column, parsed in one call; None where a cell is empty."""
    try:
        parsed: list[Any] = json.loads(f"[{','.join(row[column] or 'null' for row in rows)}]")
        if len(parsed) == len(rows):
            return parsed
    except (ValueError, RecursionError):
        pass
    for row in rows:
        with reading(where(column, row[key])):
            json.loads(row[column] or "null")
    raise StorageError(f"{where(column, None)} cannot be read: it is damaged or was changed by hand.")
