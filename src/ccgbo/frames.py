"""Trials as a DataFrame: one form, which ``tell_many`` and ``import_table`` take back.

    id, state, value, noise_variance, readings, dropped, origin, asked_at, told_at, error, note, tags,
    params_<name> for each parameter

A parameter that is inactive in a trial has an empty cell, as have readings, note and tags where there are none.
Readings and tags are lists. Only a study knows the two times.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ccgbo.errors import MissingExtraError

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "id", "state", "value", "noise_variance", "readings", "dropped", "origin", "asked_at", "told_at", "error", "note",
    "tags",
)  # fmt: skip
PREFIX = "params_"


def flat_row(
    trial: Mapping[str, Any], *, asked_at: float | None = None, told_at: float | None = None
) -> dict[str, Any]:
    """A row of the table from a trial as plain data, and the seconds since 1970 at which it was asked and told."""
    said = {name: trial["attributes"].get(name) or None for name in ("note", "tags")}
    fields = {**trial, **said, "readings": trial["readings"] or None, **times(asked_at, told_at)}
    params = {f"{PREFIX}{name}": value for name, value in trial["params"].items()}
    return {name: fields[name] for name in COLUMNS} | params


def times(asked_at: float | None, told_at: float | None) -> dict[str, str | None]:
    """The two times as texts."""
    return {"asked_at": _time(asked_at), "told_at": _time(told_at)}


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def frame_of(rows: Sequence[Mapping[str, Any]], names: Iterable[str] | None = None) -> pd.DataFrame:
    """The table of rows by ``flat_row``, with a column for each of the parameters; None: those that the rows have."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("a DataFrame", "dataframe") from None
    given = dict.fromkeys(column for row in rows for column in row if column not in COLUMNS)
    columns = list(given) if names is None else [f"{PREFIX}{name}" for name in names]
    frame = pd.DataFrame(rows, columns=[*COLUMNS, *columns])
    for column in columns:
        if not _keeps_its_type([row[column] for row in rows if column in row], len(rows)):
            frame[column] = pd.Series([row.get(column) for row in rows], dtype=object)
    return frame


def _keeps_its_type(cells: Sequence[Any], n: int) -> bool:
    """Whether a column with a type holds the cells as they are: pandas makes floats of whole numbers beside a gap."""
    types = {type(cell) for cell in cells}
    if types <= {float}:
        return True
    small = all(not isinstance(cell, int) or abs(cell) < 2**63 for cell in cells)
    return len(cells) == n and small and types in ({bool}, {int})
