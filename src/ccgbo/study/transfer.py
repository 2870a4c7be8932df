"""Trials in and out of a study: CSV, Excel, JSON, Parquet, DataFrames, and Optuna studies.

A table has the columns of ``ccgbo.frames``, ``params_<name>`` for each parameter, empty where it is inactive; cells.py
says how choices and texts are written. Any table with columns named after the parameters and ``value`` can be imported,
and one with ``id`` and ``value`` tells the trials of those ids; planning.py says what becomes of its rows.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ccgbo.engine.settings_io import storable_space
from ccgbo.errors import MissingExtraError, SettingError
from ccgbo.files import replacing
from ccgbo.frames import COLUMNS, PREFIX, flat_row, frame_of, metric_columns, times
from ccgbo.study.headings import ATTRIBUTE, known_columns
from ccgbo.study.importing import import_table, take_in
from ccgbo.study.measured import metric_names
from ccgbo.study.optuna_studies import import_optuna, load_optuna, metrics_of_optuna, space_of_optuna
from ccgbo.study.planning import Change, Plan
from ccgbo.study.sheets import SEPARATORS, Dialect, csv_text, for_parquet, read_csv, read_excel, write_excel
from ccgbo.study.study import Study

__all__ = [
    "Change",
    "Plan",
    "check_format",
    "export_study",
    "import_file",
    "import_optuna",
    "import_table",
    "load_optuna",
    "metrics_of_optuna",
    "space_of_optuna",
    "to_csv",
    "to_json",
]

FORMATS = ("csv", "xlsx", "json", "parquet")
ALIASES = {"tsv": "csv", "txt": "csv"}


# -- out


def export_study(
    study: Study, path: str | os.PathLike[str], *, format: str | None = None, dialect: Dialect | None = None
) -> int:
    """Write every trial to a file; how many there were.

    Parameters
    ----------
    study
        Whose trials.
    path
        The file; one that is there is replaced when all is written.
    format
        "csv", "xlsx", "json" or "parquet"; None takes the suffix of the path.
    dialect
        Of CSV: "comma", "semicolon" with decimal commas, as Excel expects in much of Europe, or "tab"; None is "comma",
        and "tab" for a .tsv file.
    """
    path = Path(path)
    suffix = path.suffix.lstrip(".").lower()
    kind = _kind(format, suffix)
    separated = dialect or ("tab" if format is None and suffix == "tsv" else "comma")
    if separated not in SEPARATORS or (dialect is not None and kind != "csv"):
        raise SettingError(f"dialect must be one of {list(SEPARATORS)}, for CSV only, got {dialect!r} for {kind}.")
    try:
        with replacing(path) as draft:
            if kind == "parquet":
                return _write_parquet(study, draft)
            if kind == "xlsx":
                rows = _rows(study)
                return write_excel(rows, _columns(rows, study), study.space, draft)
            text = to_csv(study, separated) if kind == "csv" else to_json(study)
            mark = "\ufeff" if kind == "csv" and separated == "semicolon" else ""  # else Excel takes it for no Unicode
            draft.write_bytes((mark + text).encode("utf-8", "surrogatepass"))
    except OSError as error:
        raise SettingError(f"cannot write {str(path)!r}: {error.strerror or error}.") from None
    return len(study.trials)


def _write_parquet(study: Study, path: Path) -> int:
    rows = _rows(study)
    frame = frame_of(rows, study.space, metric_names(study.metrics))
    for column in _columns(rows, study):
        if column.startswith(ATTRIBUTE):
            frame[column] = [row.get(column) for row in rows]
    frame = for_parquet(frame, study.space)
    try:
        frame.to_parquet(path, index=False)
    except ImportError:
        raise MissingExtraError("Parquet", "dataframe") from None
    return len(frame)


def check_format(kind: str) -> None:
    if kind not in FORMATS:
        raise SettingError(f"format must be one of {list(FORMATS)}, got {kind!r}.")


def _kind(format: str | None, suffix: str) -> str:
    kind = format or ALIASES.get(suffix, suffix)
    check_format(kind)
    return kind


def to_csv(study: Study, dialect: Dialect = "comma") -> str:
    """The table as text; no cell of it is a formula to a spreadsheet."""
    rows = _rows(study)
    return csv_text(rows, _columns(rows, study), study.space, dialect)


def _rows(study: Study) -> list[dict[str, Any]]:
    """The rows of the table, with a column for each attribute that a trial has."""
    return [
        flat_row(record.trial.to_dict(), asked_at=record.asked_at, told_at=record.told_at)
        | {f"{ATTRIBUTE}{n}": v for n, v in record.trial.attributes.items() if n not in COLUMNS}
        for record in study.records()
    ]


def _columns(rows: Sequence[Mapping[str, Any]], study: Study) -> list[str]:
    params = [f"{PREFIX}{name}" for name in study.space]
    measured = metric_columns(rows, metric_names(study.metrics))
    others = dict.fromkeys(column for row in rows for column in row if column not in COLUMNS)
    return [*COLUMNS, *measured, *(c for c in others if c not in params and c not in measured), *params]


def to_json(study: Study) -> str:
    trials = [row.trial.to_dict() | times(row.asked_at, row.told_at) for row in study.records()]
    head = {"study": study.name, "direction": study.direction, "space": storable_space(study.space)}
    head |= {} if study.metrics.plain else {"metrics": study.metrics.to_dict()}
    return json.dumps(head | {"trials": trials}, indent=2) + "\n"


# -- in


def import_file(
    study: Study,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    value: str = "value",
    amend: bool = False,
    dry_run: bool = False,
    by_id: bool = True,
    allow_duplicates: bool = False,
    allow_outside: bool = False,
) -> Plan:
    """Take the rows of a file into a study, all or none; a file that was imported changes nothing.

    See ``import_table`` for what becomes of a row.

    Parameters
    ----------
    study
        Where the rows go.
    path
        A CSV, Excel, JSON or Parquet file.
    format
        "csv", "xlsx", "json" or "parquet"; None takes the suffix of the path.
    value
        The column with the value; named metrics have columns ``metrics_<name>`` or ``<name>``.
    amend
        Whether rows that differ from what was told correct it.
    dry_run
        Only say what would become of the rows.
    by_id
        Whether ids are those of this study; False takes every row as new.
    allow_duplicates
        Whether a new row is taken in although the study has a trial with its settings and its outcome.
    allow_outside
        Whether a new row is taken in although its settings lie outside the bounds or break a constraint.
    """
    path = Path(path)
    kind = _kind(format, path.suffix.lstrip(".").lower())
    separator, known = None, known_columns(study.space, value, study.metrics)
    try:
        if kind == "parquet":
            table = _read_parquet(path)
        elif kind == "csv":
            table, separator = read_csv(path.read_bytes(), known)
        else:
            table = read_excel(path.read_bytes(), known) if kind == "xlsx" else _read_json(path)
    except OSError as error:
        raise SettingError(f"cannot read {str(path)!r}: {error.strerror or error}.") from None
    except (ValueError, csv.Error, RecursionError) as error:  # also what JSON, Unicode and Arrow raise
        raise SettingError(f"{str(path)!r} is not valid {kind}: {error}.") from None
    form = {
        "value": value,
        "as_text": kind != "json",
        "guarded": kind in ("csv", "xlsx"),
        "by_id": by_id,
        "separator": separator,
    }
    choices = {"amend": amend, "allow_duplicates": allow_duplicates, "allow_outside": allow_outside}
    return take_in(study, table, form, dry_run=dry_run, **choices)


def _read_parquet(path: Path) -> Any:
    try:
        import pandas as pd

        return pd.read_parquet(path)
    except ImportError:
        raise MissingExtraError("Parquet", "dataframe") from None


def _read_json(path: Path) -> list[Any]:
    data = json.loads(path.read_bytes().decode("utf-8", "surrogatepass").removeprefix("\ufeff"))
    rows = data.get("trials") if isinstance(data, Mapping) else data
    if not isinstance(rows, list):
        raise ValueError("it must hold a list of trials, or an object with a list 'trials'")
    return rows
