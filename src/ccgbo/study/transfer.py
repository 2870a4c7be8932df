"""Trials in and out of a study: CSV, JSON, Parquet, DataFrames, and Optuna studies.

A table has the columns id, state, value, noise_variance, origin, asked, told, error and ``params_<name>`` for each
parameter, empty where it is inactive. Any table with columns named after the parameters and ``value`` can be imported.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ccgbo.errors import CcgboError, MissingExtraError, ParamsError, SettingError, TellError, UnsupportedError
from ccgbo.optimizer import Optimizer
from ccgbo.records import Trial
from ccgbo.settings_io import storable_space
from ccgbo.space import Categorical, Float, Int, Parameter, Space
from ccgbo.study.study import Study

if TYPE_CHECKING:
    import optuna
    import pandas as pd

FORMATS = ("csv", "json", "parquet")
COLUMNS = ("id", "state", "value", "noise_variance", "origin", "asked", "told", "error")


# -- out


def export_study(study: Study, path: str | os.PathLike[str], *, format: str | None = None) -> int:
    """Write every trial to a file, by default in the format of its suffix; how many there were."""
    path = Path(path)
    kind = format or path.suffix.lstrip(".").lower()
    check_format(kind)
    if kind == "parquet":
        frame = to_dataframe(study)
        for name in _mixed(study.space):  # a column of Parquet has one type
            frame[name] = [None if _is_missing(cell) else str(cell) for cell in frame[name]]
        try:
            frame.to_parquet(path, index=False)
        except ImportError:
            raise MissingExtraError("Parquet", "dataframe") from None
        return len(frame)
    path.write_text(to_csv(study) if kind == "csv" else to_json(study), encoding="utf-8")
    return len(study.trials)


def check_format(kind: str) -> None:
    if kind not in FORMATS:
        raise SettingError(f"format must be one of {list(FORMATS)}, got {kind!r}.")


def to_csv(study: Study) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, [*COLUMNS, *(f"params_{name}" for name in study.space)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(_flat(study))
    return out.getvalue()


def to_json(study: Study) -> str:
    trials = [row.trial.to_dict() | {"asked": _time(row.asked), "told": _time(row.told)} for row in study.records()]
    head = {"study": study.name, "direction": study.direction, "space": storable_space(study.space)}
    return json.dumps(head | {"trials": trials}, indent=2) + "\n"


def to_dataframe(study: Study) -> pd.DataFrame:
    """The table; needs pandas."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("a DataFrame", "dataframe") from None
    return pd.DataFrame(_flat(study), columns=[*COLUMNS, *(f"params_{name}" for name in study.space)])


def _flat(study: Study) -> list[dict[str, Any]]:
    rows = []
    for row in study.records():
        fields = row.trial.to_dict() | {"asked": _time(row.asked), "told": _time(row.told)}
        params = {f"params_{name}": value for name, value in row.trial.params.items()}
        rows.append({name: fields[name] for name in COLUMNS} | params)
    return rows


def _mixed(space: Space) -> list[str]:
    """Columns of categoricals whose choices are not all of one type."""
    kinds = {
        name: {type(c) for c in p.choices} - {type(None)} for name, p in space.items() if isinstance(p, Categorical)
    }
    return [f"params_{name}" for name, types in kinds.items() if len(types) > 1]


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


# -- in


def import_file(
    study: Study, path: str | os.PathLike[str], *, format: str | None = None, value: str = "value"
) -> list[Trial]:
    """Tell a study the finished trials of a CSV, JSON or Parquet file, all or none."""
    path = Path(path)
    kind = format or path.suffix.lstrip(".").lower()
    check_format(kind)
    try:
        table = _read_parquet(path) if kind == "parquet" else _read_text(path, kind)
    except OSError as error:
        raise SettingError(f"cannot read {str(path)!r}: {error.strerror or error}.") from None
    except ValueError as error:  # also what JSON, Unicode and Arrow raise
        raise SettingError(f"{str(path)!r} is not valid {kind}: {error}.") from None
    return import_table(study, table, value=value)


def _read_parquet(path: Path) -> Any:
    try:
        import pandas as pd

        return pd.read_parquet(path)
    except ImportError:
        raise MissingExtraError("Parquet", "dataframe") from None


def _read_text(path: Path, kind: str) -> list[Any]:
    text = path.read_text(encoding="utf-8-sig")
    if kind == "csv":
        return list(csv.DictReader(io.StringIO(text)))
    data = json.loads(text)
    rows = data.get("trials") if isinstance(data, Mapping) else data
    if not isinstance(rows, list):
        raise ValueError("it must hold a list of trials, or an object with a list 'trials'")
    return rows


def import_table(study: Study, table: Any, *, value: str = "value") -> list[Trial]:
    """Tell a study the finished trials of a DataFrame or of a list of rows, all or none.

    A row whose state is "pending", or that has neither a value nor a state, is left out.
    """
    rows: Iterable[Any] = table.to_dict("records") if hasattr(table, "to_dict") else table
    scratch = Optimizer(study.space, direction=study.direction, threads=None)
    for number, row in enumerate(rows, start=1):
        try:
            _take_row(scratch, study.space, row, value)
        except CcgboError as error:
            raise TellError(f"row {number}: {error}") from None
    return study.add_told(scratch.trials)


def _take_row(scratch: Optimizer, space: Space, row: Any, column: str) -> None:
    if not isinstance(row, Mapping):
        raise TellError(f"a row must map columns to values, got {row!r}.")
    state, found = row.get("state"), row.get(column)
    if _is_missing(found):
        if state == "failed":
            error = row.get("error")
            scratch.tell(_params(space, row), failed=True, error=None if _is_missing(error) else str(error))
        elif column not in row:
            raise TellError(f"there must be a column {column!r}, got {list(row)!r}.")
        return
    noise = row.get("noise_variance")
    scratch.tell(_params(space, row), _number(found), noise_variance=None if _is_missing(noise) else _number(noise))


def _params(space: Space, row: Mapping[str, Any]) -> dict[str, Any]:
    given = row.get("params")
    if isinstance(given, Mapping):
        return dict(given)
    params = {}
    for name, parameter in space.items():
        cell = row.get(f"params_{name}", row.get(name))
        if not _is_missing(cell):
            params[name] = _read(name, parameter, cell)
        elif isinstance(parameter, Categorical) and None in parameter.choices and parameter.active_if is None:
            params[name] = None
    return params


def _read(name: str, parameter: Parameter, cell: Any) -> Any:
    """A cell of a table as a value of its parameter: text from CSV, whole floats from pandas."""
    if isinstance(parameter, Categorical):
        if isinstance(cell, str):
            matching = [choice for choice in parameter.choices if str(choice) == cell]
            return matching[0] if matching else cell
        whole = isinstance(cell, float) and cell.is_integer() and parameter.find(cell) is None
        return int(cell) if whole else cell
    try:
        number = float(cell)
    except (TypeError, ValueError):
        raise ParamsError(f"{name} must be a number, got {cell!r}.") from None
    return int(number) if isinstance(parameter, Int) and number.is_integer() else number


def _number(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    try:
        return float(cell)
    except ValueError:
        raise TellError(f"value must be a number, got {cell!r}.") from None


def _is_missing(cell: Any) -> bool:
    return cell is None or cell == "" or (isinstance(cell, float) and math.isnan(cell)) or str(cell) == "<NA>"


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


def import_optuna(study: Study, source: optuna.Study) -> list[Trial]:
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
    kind = type(distribution).__name__
    if kind == "CategoricalDistribution":
        return Categorical(list(distribution.choices))
    if kind not in ("FloatDistribution", "IntDistribution"):
        raise UnsupportedError(f"{name}: {kind} of Optuna has no counterpart.")
    cls = Float if kind == "FloatDistribution" else Int
    return cls(distribution.low, distribution.high, log=distribution.log, step=distribution.step)
