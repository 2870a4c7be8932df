"""Rows of a table, read cell by cell: what each says, before anybody asks what that means for a study.

    id, asked_at                              whose row it is
    value, readings, noise_variance           an outcome
    metrics_<name> or <name>                  the same where metrics have names; metrics_<name>_readings and
                                              metrics_<name>_noise_variance belong to it
    state, error                              "failed" is one, too, and so is an error without a value
    dropped, note, tags, attributes_<name>    what else is kept with a trial
    params_<name> or <name>                   the settings

An empty cell says nothing, however it spells that. Columns with other names are passed over, which is said.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ccgbo.errors import CcgboError, TellError
from ccgbo.frames import METRIC, METRIC_PARTS, PREFIX
from ccgbo.metrics import Metrics
from ccgbo.outcomes import PLAIN
from ccgbo.space import Categorical, Space
from ccgbo.space.numeric import is_finite
from ccgbo.study.cells import (
    is_date,
    is_missing,
    read_cell,
    read_data,
    read_float,
    read_list,
    read_switch,
    read_words,
    stands_for_itself,
)
from ccgbo.study.headings import ATTRIBUTE, known_columns, meant
from ccgbo.study.metric_cells import Cells, has_metrics, metric_names_of, named_in
from ccgbo.study.numbers import Mark, decimal_mark
from ccgbo.text import valid

NUMBERS = ("noise_variance",)  # columns of numbers beside the value and the params


@dataclass(frozen=True, slots=True)
class Row:
    """What one row says."""

    number: int  # from 1
    id: int | None = None
    asked_at: float | None = None  # seconds since 1970
    cells: Mapping[str, Any] = field(default_factory=dict)  # params that are given
    blank: tuple[str, ...] = ()  # params whose cell is empty
    value: Any = None
    readings: tuple[float, ...] | None = None
    noise_variance: float | None = None
    state: str | None = None
    error: str | None = None
    dropped: bool | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, Cells] = field(default_factory=dict)  # by name, of those that the row says something of

    @property
    def has_outcome(self) -> bool:
        measured = [Cells(self.value, self.readings), *self.metrics.values()]
        return self.state == "failed" or any(m.value is not None or m.readings is not None for m in measured)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A row that cannot be taken, and why."""

    row: int
    reason: str

    def __str__(self) -> str:
        return f"row {self.row}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Reader:
    """How the cells of a table are written."""

    space: Space
    value: str = "value"
    as_text: bool = False  # cells have no types: quotes tell the choice "1" from the choice 1
    guarded: bool = False  # notes and reasons are written as cells.py says
    mark: Mark | None = "."
    by_id: bool = True
    metrics: Metrics = PLAIN

    def row(self, number: int, row: Any) -> Row | None:
        """What a row says, None where all of it is empty."""
        if not isinstance(row, Mapping):
            raise TellError(f"a row must map columns to values, got {row!r}.")
        if None in row:
            raise TellError(f"there are more cells than columns: {row[None]!r}.")
        if not row or all(is_empty(cell) for cell in row.values()):
            return None
        cells, blank = self._params(row)
        return Row(
            number,
            id=self._id(row) if self.by_id else None,
            asked_at=_seconds(self._own(row, "asked_at")),
            cells=cells,
            blank=tuple(blank),
            **self._outcome(row),
            attributes=self._attributes(row),
            metrics=self._metrics(row),
        )

    def _own(self, row: Mapping[str, Any], column: str) -> Any:
        """The cell of one of our columns, None where it is empty or belongs to a parameter of that name."""
        cell = None if self._taken(row, column) else row.get(column)
        return None if is_missing(cell) else cell

    def _taken(self, row: Mapping[str, Any], column: str) -> bool:
        """Whether the cell is that of a parameter of this name."""
        elsewhere = f"{PREFIX}{column}" in row or isinstance(row.get("params"), Mapping)
        return column in self.space and not elsewhere

    def _id(self, row: Mapping[str, Any]) -> int | None:
        cell = self._own(row, "id")
        if cell is None:
            return None
        with suppress(CcgboError):
            number = read_float("id", cell, self.mark)
            if is_finite(number) and number == int(number):
                return int(number)
        raise TellError(f"id must be a whole number, got {cell!r}.")

    def _outcome(self, row: Mapping[str, Any]) -> dict[str, Any]:
        cell, noise = (self._own(row, column) for column in (self.value, "noise_variance"))
        readings, state, dropped = (self._own(row, column) for column in ("readings", "state", "dropped"))
        word = None if state is None else str(state).strip().lower()
        if self.value not in row and readings is None and word is None and not has_metrics(row, self.metrics):
            wanted = (self.value,) if self.metrics.plain else self.metrics.names
            known = known_columns(self.space, "id", PLAIN)
            got = ", ".join(repr(c) if c in known else meant(c, wanted) for c in row)
            raise TellError(f"there must be a column {' or '.join(map(repr, wanted))}, got {got}.")
        return {
            **self._cells("", cell, readings, noise),
            "state": word,
            "error": self._words(row, "error"),
            "dropped": None if dropped is None else read_switch("dropped", dropped),
        }

    def _cells(self, name: str, value: Any, readings: Any, noise: Any) -> dict[str, Any]:
        """What three cells say of the value, or of the metric ``name``."""
        return {
            "value": None if value is None else self._value(name or "value", value),
            "readings": None if readings is None else self._readings(f"{name} readings".strip(), readings),
            "noise_variance": None if noise is None else read_float(f"{name} noise_variance".strip(), noise, self.mark),
        }

    def _metrics(self, row: Mapping[str, Any]) -> dict[str, Cells]:
        """The metrics in a row: by their columns, or all in one cell where cells have types, as in JSON."""
        found: dict[str, Cells] = {}
        packed = row.get("metrics")
        if isinstance(packed, Mapping):  # no value of a parameter is one, also of one that is called so
            for name, cells in packed.items():
                parts = cells if isinstance(cells, Mapping) else {"value": cells}
                said = [parts.get(part) for part in ("value", "readings", "noise_variance")]
                found[name] = Cells(**self._cells(name, *(None if is_missing(s) or s == [] else s for s in said)))
        for name in named_in(row, self.space, self.metrics):
            noise, readings = (self._own(row, f"{METRIC}{name}{part}") for part in METRIC_PARTS)
            cells = Cells(**self._cells(name, self._named(row, name), readings, noise))
            found |= {name: cells} if cells.says else {}
        return {name: cells for name, cells in found.items() if cells.says}

    def _named(self, row: Mapping[str, Any], name: str) -> Any:
        """The cell of a metric, which may have either of two columns, or both where they agree."""
        cells = {c: self._own(row, c) for c in metric_names_of(name) if c in row}
        said = {column: cell for column, cell in cells.items() if cell is not None}
        if len({repr(self._value(name, cell)) for cell in said.values()}) > 1:
            both = " and ".join(map(repr, said.values()))
            raise TellError(f"{' and '.join(said)} must say the same, or one of them be empty, got {both}.")
        return next(iter(said.values()), None)

    def _value(self, name: str, cell: Any) -> Any:
        """A number; where cells have types also what else can be told."""
        if isinstance(cell, str) or is_date(cell):
            return read_float(name, cell, self.mark)
        plain = isinstance(cell, int | float | np.number) and not isinstance(cell, bool)
        with suppress(OverflowError):
            return float(cell) if plain else cell
        return cell

    def _words(self, row: Mapping[str, Any], column: str) -> str | None:
        """A text; where cells have types "NA" is one."""
        cell = None if self._taken(row, column) else row.get(column)
        missing = is_missing(cell) if self.guarded or not isinstance(cell, str) else cell == ""
        return None if missing else valid(read_words(cell, guarded=self.guarded))

    def _readings(self, name: str, cell: Any) -> tuple[float, ...] | None:
        parts = cell.split(";") if isinstance(cell, str) and ";" in cell else read_list(cell)
        numbers = tuple(read_float(name, part, self.mark) for part in parts if not is_missing(part))
        return numbers or None

    def _attributes(self, row: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        packed = self._own(row, "attributes")
        if packed is not None:
            packed = read_data(packed, mark=self.mark)
            if not isinstance(packed, Mapping):
                raise TellError(f"attributes must be a mapping of names to plain data, got {packed!r}.")
            found |= packed
        for column in row:
            if isinstance(column, str) and column.startswith(ATTRIBUTE) and self._own(row, column) is not None:
                found[column.removeprefix(ATTRIBUTE)] = read_data(row[column], as_text=self.as_text, mark=self.mark)
        note, tags = self._words(row, "note"), self._own(row, "tags")
        found |= {} if note is None else {"note": note}
        return found | ({} if tags is None else {"tags": [str(tag) for tag in read_list(tags)]})

    def _params(self, row: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
        given = row.get("params")
        if isinstance(given, Mapping):
            return dict(given), []
        cells: dict[str, Any] = {}
        blank = []
        for name, parameter in self.space.items():
            column = f"{PREFIX}{name}" if f"{PREFIX}{name}" in row else name
            if column not in row:
                continue
            cell = row[column]
            if is_missing(cell) and not stands_for_itself(parameter, cell, as_text=self.as_text):
                blank.append(name)
            else:
                cells[name] = read_cell(name, parameter, cell, as_text=self.as_text, mark=self.mark)
        return cells, blank


def read_rows(
    table: Any,
    space: Space,
    *,
    metrics: Metrics = PLAIN,
    value: str,
    as_text: bool,
    guarded: bool = False,
    by_id: bool = True,
    separator: str | None = None,
) -> tuple[list[Row], list[Refusal]]:
    """The rows of a DataFrame or a list that say something, and those that cannot be read."""
    listed = records_of(table)
    mark = decimal_mark(_numbers(listed, space, value, metrics), separator)
    reader = Reader(space, value=value, as_text=as_text, guarded=guarded, mark=mark, by_id=by_id, metrics=metrics)
    rows, refused = [], []
    for number, cells in enumerate(listed, start=1):
        try:
            row = reader.row(number, cells)
        except CcgboError as error:
            refused.append(Refusal(number, str(error)))
        else:
            rows += [] if row is None else [row]
    return rows, refused


def records_of(table: Any) -> list[Any]:
    """The rows of a DataFrame or a list."""
    return list(table.to_dict("records") if hasattr(table, "to_dict") else table)


def _numbers(rows: Iterable[Any], space: Space, value: str, metrics: Metrics) -> Iterable[str]:
    """Texts where numbers belong."""
    numeric = [name for name, p in space.items() if not isinstance(p, Categorical)]
    columns = {value, *NUMBERS, *numeric, *(f"{PREFIX}{name}" for name in numeric)}
    columns |= {c for name in metrics.names for c in (*metric_names_of(name), f"{METRIC}{name}{METRIC_PARTS[0]}")}
    for row in rows:
        if isinstance(row, Mapping):
            yield from (cell for column in columns if isinstance(cell := row.get(column), str))


def is_empty(cell: Any) -> bool:
    """Whether a cell has nothing in it at all, which is less than saying that there is no value."""
    return cell is None or (isinstance(cell, str) and not cell.strip())


def _seconds(cell: Any) -> float | None:
    """Seconds since 1970 of a time that says its zone; None where it cannot be told any more."""
    if isinstance(cell, str):
        with suppress(ValueError):
            cell = datetime.datetime.fromisoformat(cell.strip())
    zoned = isinstance(cell, datetime.datetime) and cell.tzinfo is not None
    return cell.timestamp() if zoned else None
