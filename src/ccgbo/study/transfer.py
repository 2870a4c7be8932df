"""Trials in and out of a study: CSV, Excel, JSON, Parquet, DataFrames, and Optuna studies.

A table has the columns of ``ccgbo.frames``, ``params_<name>`` for each parameter, empty where it is inactive; cells.py
says how choices and texts are written. Any table with columns named after the parameters and ``value`` can be imported,
and one with ``id`` and ``value`` tells the trials of those ids; planning.py says what becomes of its rows.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ccgbo.engine.settings_io import storable_space
from ccgbo.errors import MissingExtraError, SettingError, UnsupportedError
from ccgbo.files import replacing
from ccgbo.frames import COLUMNS, PREFIX, times
from ccgbo.space import Parameter, Space
from ccgbo.space.shorthand import from_optuna
from ccgbo.study.importing import import_table, take_in
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
    "space_of_optuna",
    "to_csv",
    "to_json",
]

if TYPE_CHECKING:
    import optuna

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
                rows = study.table_rows()
                return write_excel(rows, _columns(rows, study.space), study.space, draft)
            text = to_csv(study, separated) if kind == "csv" else to_json(study)
            mark = "\ufeff" if kind == "csv" and separated == "semicolon" else ""  # else Excel takes it for no Unicode
            draft.write_bytes((mark + text).encode("utf-8", "surrogatepass"))
    except OSError as error:
        raise SettingError(f"cannot write {str(path)!r}: {error.strerror or error}.") from None
    return len(study.trials)


def _write_parquet(study: Study, path: Path) -> int:
    frame = for_parquet(study.to_dataframe(), study.space)
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
    rows = study.table_rows()
    return csv_text(rows, _columns(rows, study.space), study.space, dialect)


def _columns(rows: Iterable[Mapping[str, Any]], space: Space) -> list[str]:
    params = [f"{PREFIX}{name}" for name in space]
    others = dict.fromkeys(column for row in rows for column in row if column not in COLUMNS)
    return [*COLUMNS, *(column for column in others if column not in params), *params]


def to_json(study: Study) -> str:
    trials = [row.trial.to_dict() | times(row.asked_at, row.told_at) for row in study.records()]
    head = {"study": study.name, "direction": study.direction, "space": storable_space(study.space)}
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
        The column with the value.
    amend
        Whether rows that differ from what was told correct it.
    dry_run
        Only say what would become of the rows.
    by_id
        Whether ids are those of this study; False takes every row as new.
    allow_duplicates
        Whether a new row is taken in although the study has a trial with its settings and its outcome.
    """
    path = Path(path)
    kind = _kind(format, path.suffix.lstrip(".").lower())
    separator = None
    try:
        if kind == "parquet":
            table = _read_parquet(path)
        elif kind == "csv":
            table, separator = read_csv(path.read_bytes(), _known_columns(study.space, value))
        else:
            table = read_excel(path.read_bytes()) if kind == "xlsx" else _read_json(path)
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
    return take_in(study, table, form, amend=amend, dry_run=dry_run, allow_duplicates=allow_duplicates)


def _known_columns(space: Space, value: str) -> list[str]:
    return [*COLUMNS, value, *space, *(f"{PREFIX}{name}" for name in space)]


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


# -- Optuna


def load_optuna(storage: str, name: str | None = None) -> optuna.Study:
    """An Optuna study from its storage's address, such as ``sqlite:///old.db``."""
    try:
        import optuna
    except ImportError:
        raise MissingExtraError("importing from Optuna", "optuna") from None
    try:
        return optuna.load_study(study_name=name, storage=storage)
    except (KeyError, ValueError) as error:
        raise SettingError(f"cannot load an Optuna study from {storage!r}: {error}.") from None


def import_optuna(study: Study, source: optuna.Study, *, dry_run: bool = False, allow_duplicates: bool = False) -> Plan:
    """Tell a study the finished trials of an Optuna study, all or none; pruned and running ones are left out.

    Parameters
    ----------
    study
        Where the trials go.
    source
        The Optuna study.
    dry_run
        Only say what would become of the trials.
    allow_duplicates
        Whether a trial is taken in although the study has one with its settings and its outcome.
    """
    if len(source.directions) != 1:
        raise UnsupportedError(f"several objectives are out of scope: {source.study_name!r} has more than one.")
    direction = source.direction.name.lower()
    if direction != study.direction:
        raise SettingError(f"the Optuna study must {study.direction} as the study does, but it is to {direction}.")
    rows: list[dict[str, Any]] = []
    for trial in source.get_trials(deepcopy=False):
        if trial.state.name == "COMPLETE":
            rows.append({"params": trial.params, "value": trial.value})
        elif trial.state.name == "FAIL" and trial.params:
            rows.append({"params": trial.params, "value": None, "state": "failed", "error": "failed in Optuna"})
    return import_table(study, rows, dry_run=dry_run, allow_duplicates=allow_duplicates)


def space_of_optuna(source: optuna.Study) -> Space:
    """The space that an Optuna study searched, from its trials; every trial must have had the same parameters."""
    trials = [trial for trial in source.get_trials(deepcopy=False) if trial.distributions]
    if not trials:
        raise SettingError(f"the Optuna study {source.study_name!r} has no trial to take a space from.")
    distributions = trials[-1].distributions
    for trial in trials:
        if set(trial.distributions) != set(distributions):
            raise UnsupportedError(f"trial {trial.number} of the Optuna study has other parameters: give the space.")
    return Space({name: _parameter_of_optuna(name, d) for name, d in distributions.items()})


def _parameter_of_optuna(name: str, distribution: Any) -> Parameter:
    parameter = from_optuna(distribution)
    if parameter is None:
        raise UnsupportedError(f"{name}: {type(distribution).__name__} of Optuna has no counterpart.")
    return parameter
