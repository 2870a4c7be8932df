"""Trials as a DataFrame: one form, which ``tell_many`` and ``import_table`` take back.

    id, state, value, noise_variance, readings, dropped, origin, asked_at, told_at, error, note, tags,
    metrics_<name> for each metric that has a name, and metrics_<name>_noise_variance, metrics_<name>_readings where
    one is known, params_<name> for each parameter

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
PREFIX, METRIC = "params_", "metrics_"
METRIC_PARTS = ("_noise_variance", "_readings")
"""What may be known of a metric beside its value, as the ends of the names of columns."""


def flat_row(
    trial: Mapping[str, Any], *, asked_at: float | None = None, told_at: float | None = None
) -> dict[str, Any]:
    """A row of the table from a trial as plain data, and the seconds since 1970 at which it was asked and told."""
    said = {name: trial["attributes"].get(name) or None for name in ("note", "tags")}
    fields = {**trial, **said, "readings": trial["readings"] or None, **times(asked_at, told_at)}
    params = {f"{PREFIX}{name}": value for name, value in trial["params"].items()}
    return {name: fields[name] for name in COLUMNS} | _metrics(trial) | params


def _metrics(trial: Mapping[str, Any]) -> dict[str, Any]:
    cells: dict[str, Any] = {}
    for name, measured in (trial.get("metrics") or {}).items():
        cells[f"{METRIC}{name}"] = measured["value"]
        known = zip(METRIC_PARTS, (measured["noise_variance"], measured["readings"] or None), strict=True)
        cells |= {f"{METRIC}{name}{part}": cell for part, cell in known if cell is not None}
    return cells


def metric_columns(rows: Iterable[Mapping[str, Any]], metrics: Iterable[str] = ()) -> list[str]:
    """The columns of metrics, also of those that no row has."""
    given = {column for row in rows for column in row if column.startswith(METRIC)}
    columns = []
    for name in metrics:
        columns += [f"{METRIC}{name}", *(c for part in METRIC_PARTS if (c := f"{METRIC}{name}{part}") in given)]
    return [*columns, *sorted(given - set(columns))]


def times(asked_at: float | None, told_at: float | None) -> dict[str, str | None]:
    """The two times as texts."""
    return {"asked_at": _time(asked_at), "told_at": _time(told_at)}


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def frame_of(
    rows: Sequence[Mapping[str, Any]], names: Iterable[str] | None = None, metrics: Iterable[str] = ()
) -> pd.DataFrame:
    """The table of rows by ``flat_row``, with a column for each of the parameters and of the metrics that have names;
    None: those that the rows have."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("a DataFrame", "dataframe") from None
    given = dict.fromkeys(column for row in rows for column in row if column.startswith(PREFIX))
    columns = list(given) if names is None else [f"{PREFIX}{name}" for name in names]
    measured = metric_columns(rows, metrics)
    frame = pd.DataFrame(rows, columns=[*COLUMNS, *measured, *columns])
    for column in measured:
        if not column.endswith(METRIC_PARTS[1]):
            frame[column] = frame[column].astype(float)
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
