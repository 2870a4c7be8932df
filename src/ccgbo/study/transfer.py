"""Trials in and out of a study: CSV, JSON, Parquet, DataFrames, and Optuna studies.

A table has the columns id, state, value, noise_variance, origin, asked_at, told_at, error and ``params_<name>`` for
each parameter, empty where it is inactive; cells.py says how choices are written. Any table with columns named after
the parameters and ``value`` can be imported, and one with ``id`` and ``value`` tells the trials of those ids.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ccgbo.engine.settings_io import storable_space
from ccgbo.errors import MissingExtraError, SettingError, UnsupportedError
from ccgbo.files import replacing
from ccgbo.frames import COLUMNS, times
from ccgbo.space import Categorical, Parameter, Space
from ccgbo.space.shorthand import from_optuna
from ccgbo.study.cells import guard, is_missing, spell
from ccgbo.study.importing import Imported, import_table
from ccgbo.study.study import Study

__all__ = [
    "Imported",
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

FORMATS = ("csv", "json", "parquet")


# -- out


def export_study(study: Study, path: str | os.PathLike[str], *, format: str | None = None) -> int:
    """Write every trial to a file, by default in the format of its suffix; how many there were."""
    path = Path(path)
    kind = format or path.suffix.lstrip(".").lower()
    check_format(kind)
    try:
        with replacing(path) as draft:
            if kind == "parquet":
                return _write_parquet(study, draft)
            draft.write_bytes((to_csv(study) if kind == "csv" else to_json(study)).encode("utf-8", "surrogatepass"))
    except OSError as error:
        raise SettingError(f"cannot write {str(path)!r}: {error.strerror or error}.") from None
    return len(study.trials)


def _write_parquet(study: Study, path: Path) -> int:
    frame = study.to_dataframe()
    for name, parameter in study.space.items():
        if isinstance(parameter, Categorical) and not _one_type(parameter):
            column = f"params_{name}"
            frame[column] = [None if is_missing(c) and c != "" else spell(parameter, c) for c in frame[column]]
    frame["error"] = [None if is_missing(e) else e.encode("utf-8", "backslashreplace").decode() for e in frame["error"]]
    try:
        frame.to_parquet(path, index=False)
    except ImportError:
        raise MissingExtraError("Parquet", "dataframe") from None
    return len(frame)


def check_format(kind: str) -> None:
    if kind not in FORMATS:
        raise SettingError(f"format must be one of {list(FORMATS)}, got {kind!r}.")


def to_csv(study: Study) -> str:
    """The table as text; no cell of it is a formula to a spreadsheet."""
    columns = [*COLUMNS, *(f"params_{name}" for name in study.space)]
    choices = {f"params_{name}": p for name, p in study.space.items() if isinstance(p, Categorical)}
    lines = [_line(columns)]
    for row in study.table_rows():
        for column in row.keys() & choices.keys():
            cell = spell(choices[column], row[column])
            row[column] = guard(cell) if isinstance(row[column], str) else cell
        row["error"] = None if row["error"] is None else guard(row["error"])
        lines.append(_line([row.get(column) for column in columns]))
    return "".join(lines)


def _line(cells: list[Any]) -> str:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\r\n").writerow(cells)  # only then is a cell with a lone \r put in quotes
    return out.getvalue().removesuffix("\r\n") + "\n"


def to_json(study: Study) -> str:
    trials = [row.trial.to_dict() | times(row.asked_at, row.told_at) for row in study.records()]
    head = {"study": study.name, "direction": study.direction, "space": storable_space(study.space)}
    return json.dumps(head | {"trials": trials}, indent=2) + "\n"


def _one_type(parameter: Categorical) -> bool:
    """Whether a column with a type holds every choice as it is: all booleans or all numbers, and no cell empty."""
    types = {type(choice) for choice in parameter.choices}
    small = all(not isinstance(choice, int) or abs(choice) < 2**63 for choice in parameter.choices)
    return parameter.active_if is None and small and types in ({bool}, {int}, {float})


# -- in


def import_file(
    study: Study, path: str | os.PathLike[str], *, format: str | None = None, value: str = "value"
) -> Imported:
    """Tell a study the outcomes of a CSV, JSON or Parquet file, all or none; a file that was imported changes nothing.

    Rows with the id and the params of a trial belong to that trial, others are told as from elsewhere.
    """
    path = Path(path)
    kind = format or path.suffix.lstrip(".").lower()
    check_format(kind)
    try:
        table = _read_parquet(path) if kind == "parquet" else _read_text(path, kind)
    except OSError as error:
        raise SettingError(f"cannot read {str(path)!r}: {error.strerror or error}.") from None
    except (ValueError, csv.Error, RecursionError) as error:  # also what JSON, Unicode and Arrow raise
        raise SettingError(f"{str(path)!r} is not valid {kind}: {error}.") from None
    return import_table(study, table, value=value, as_text=kind != "json")


def _read_parquet(path: Path) -> Any:
    try:
        import pandas as pd

        return pd.read_parquet(path)
    except ImportError:
        raise MissingExtraError("Parquet", "dataframe") from None


def _read_text(path: Path, kind: str) -> list[Any]:
    text = path.read_bytes().decode("utf-8", "surrogatepass").removeprefix("\ufeff")
    if kind == "csv":
        return list(csv.DictReader(io.StringIO(text, newline="")))
    data = json.loads(text)
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


def import_optuna(study: Study, source: optuna.Study) -> Imported:
    """Tell a study the finished trials of an Optuna study, all or none; pruned and running ones are left out."""
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
    return import_table(study, rows)


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
