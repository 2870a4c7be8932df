"""Tables as files: CSV as spreadsheets of many countries write it, and Excel's own format.

read     cells separated by commas, semicolons or tabs, or as a first line ``sep=;`` says; UTF-8 with or without a
         byte-order mark, UTF-16 ("Unicode text"), or the Windows code page 1252
written  UTF-8; with semicolons also a byte-order mark and decimal commas, which is what Excel expects in those
         countries
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

from ccgbo.errors import MissingExtraError
from ccgbo.frames import METRIC, PREFIX
from ccgbo.space import Categorical, Space
from ccgbo.study.cells import guard, is_missing, spell, spell_data, spell_list, spell_words
from ccgbo.study.headings import ATTRIBUTE
from ccgbo.study.meaning import LONGEST
from ccgbo.study.numbers import Mark
from ccgbo.study.table_rows import is_empty
from ccgbo.text import shorten, valid

Dialect = Literal["comma", "semicolon", "tab"]
SEPARATORS: dict[str, str] = {"comma": ",", "semicolon": ";", "tab": "\t"}
SHEET = "trials"
EXACT = 2**53  # whole numbers that a spreadsheet keeps
WORDS = ("error", "note")


# -- cells


def written(row: Mapping[str, Any], columns: Iterable[str], space: Space, mark: Mark = ".") -> list[Any]:
    """A row of ``flat_row`` as cells: texts that no spreadsheet runs, numbers and True and False as they are."""
    return [_cell(column, row.get(column), space, mark) for column in columns]


def _cell(column: str, cell: Any, space: Space, mark: Mark) -> Any:
    if column.startswith(PREFIX) and isinstance(parameter := space[column.removeprefix(PREFIX)], Categorical):
        if isinstance(cell, str):
            return guard(spell(parameter, cell))
        return None if cell is None else _Choice(cell, spell(parameter, cell, mark))
    if column.startswith(ATTRIBUTE):
        plain = isinstance(cell, bool | int | float)
        return None if cell is None else _Choice(cell, spell_data(cell, mark)) if plain else spell_data(cell, mark)
    if column == "tags":
        return None if cell is None else spell_list(list(cell))
    if column in ("readings", "attributes") or (column.startswith(METRIC) and isinstance(cell, list)):
        return json.dumps(cell) if cell else None
    return spell_words(cell) if column in WORDS and cell is not None else cell


class _Choice:
    """Something that is no text, and its spelling where there are only texts."""

    def __init__(self, choice: Any, spelling: str) -> None:
        self.choice, self.spelling = choice, spelling


# -- CSV


def csv_text(rows: Iterable[Mapping[str, Any]], columns: Sequence[str], space: Space, dialect: Dialect) -> str:
    mark: Mark = "," if dialect == "semicolon" else "."
    lines = [_line(columns, SEPARATORS[dialect])]
    for row in rows:
        cells = [_as_text(cell, mark) for cell in written(row, columns, space, mark)]
        lines.append(_line(cells, SEPARATORS[dialect]))
    return "".join(lines)


def _as_text(cell: Any, mark: Mark) -> Any:
    if isinstance(cell, _Choice):
        return cell.spelling
    if isinstance(cell, bool):
        return str(cell).upper()
    return repr(cell).replace(".", mark) if isinstance(cell, float) else cell


def _line(cells: Sequence[Any], separator: str) -> str:
    out = io.StringIO(newline="")
    # with this end of line a cell with a lone \r is put in quotes
    csv.writer(out, delimiter=separator, lineterminator="\r\n").writerow(cells)
    return out.getvalue().removesuffix("\r\n") + "\n"


def read_csv(data: bytes, known: Set[str]) -> tuple[list[Any], str]:
    """The rows of a CSV file and what separates its cells: what makes most of the ``known`` names of columns."""
    text = _decoded(data)
    given = re.match(r'"?sep=(.)"?\r?\n', text)
    if given is not None:
        text, separators = text[given.end() :], [given[1]]
    else:
        separators = list(SEPARATORS.values())

    def found(separator: str) -> int:
        return len(known & set(_names(next(_records(text, separator), []), known)))

    separator = max(separators, key=found)
    return list(_rows(_records(text, separator), known)), separator


def _records(text: str, separator: str) -> Iterator[list[str]]:
    return csv.reader(io.StringIO(text, newline=""), delimiter=separator)


def _decoded(data: bytes) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "surrogatepass")
    try:
        return data.decode("utf-8", "surrogatepass").removeprefix("\ufeff")
    except UnicodeDecodeError:
        return data.decode("cp1252")  # what Excel calls CSV on Windows


def _names(cells: Iterable[Any], known: Set[str]) -> list[str]:
    """The names of columns; spaces around them count only where a parameter has them."""
    texts = ["" if is_empty(cell) else str(cell) for cell in cells]
    return [text if text in known else text.strip() for text in texts]


def _rows(records: Iterable[Sequence[Any]], known: Set[str]) -> Iterator[dict[str | None, Any]]:
    """Rows by the names of their columns; empty ones at the end of a sheet, below and to the right, are none."""
    lines = iter(records)
    names = _names(next(lines, []), known)
    twice = [name for i, name in enumerate(names) if name and name in names[:i]]
    if twice:
        raise ValueError(f"it has the column {twice[0]!r} twice")
    for cells in lines:
        named = zip_longest(names, cells)  # a row may end before its columns, or after them
        row: dict[str | None, Any] = {name or None: cell for name, cell in named if name or not is_empty(cell)}
        yield row


# -- Excel


def write_excel(rows: Iterable[Mapping[str, Any]], columns: Sequence[str], space: Space, path: Path) -> int:
    """Write a workbook with one sheet; how many rows there were."""
    excel = _openpyxl()
    book = excel.Workbook(write_only=True)
    sheet = book.create_sheet(SHEET)
    sheet.freeze_panes = "A2"
    sheet.append(list(columns))
    listed = list(rows)
    for row in listed:
        short = {c: shorten(cell, LONGEST) if c in WORDS and cell is not None else cell for c, cell in row.items()}
        sheet.append([_typed(cell, sheet) for cell in written(short, columns, space)])
    with path.open("wb") as file:
        book.save(file)
    return len(listed)


def _typed(cell: Any, sheet: Any) -> Any:
    """A cell with its type; openpyxl by itself writes the first 16 of up to 17 digits of a number."""
    plain = cell.choice if isinstance(cell, _Choice) else cell
    if not isinstance(plain, float):
        return repr(plain) if isinstance(plain, int) and abs(plain) > EXACT else plain
    from openpyxl.cell import WriteOnlyCell

    number = WriteOnlyCell(sheet, repr(plain))
    number.data_type = "n"
    return number


def read_excel(data: bytes, known: Set[str]) -> list[Any]:
    """The rows of the first sheet, or of that with the trials; a formula is the value that was saved with it."""
    excel = _openpyxl()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about what a workbook has beside its cells
            book = excel.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
            sheet = book[SHEET] if SHEET in book.sheetnames else book.worksheets[0]
            return list(_rows(sheet.iter_rows(values_only=True), known))
    except ValueError:
        raise
    except Exception as error:  # zip, XML and openpyxl have many ways to say that a file is damaged
        raise ValueError(f"it is no workbook ({error})") from None


def _openpyxl() -> Any:
    try:
        import openpyxl
    except ImportError:
        raise MissingExtraError("an Excel file", "excel") from None
    return openpyxl


# -- Parquet


def for_parquet(frame: Any, space: Space) -> Any:
    """A DataFrame whose columns have one type each, as Parquet needs it."""
    for name, parameter in space.items():
        if isinstance(parameter, Categorical) and not _one_type(parameter):
            column = f"{PREFIX}{name}"
            frame[column] = [_or_none(c, partial(spell, parameter)) for c in frame[column]]
    for column in frame:
        if column in WORDS:
            frame[column] = [_or_none(c, valid) for c in frame[column]]
        elif column == "attributes" or str(column).startswith(ATTRIBUTE):
            frame[column] = [_or_none(c, spell_data) for c in frame[column]]
    return frame


def _or_none(cell: Any, write: Callable[[Any], Any]) -> Any:
    return None if is_missing(cell) and not isinstance(cell, str) else write(cell)


def _one_type(parameter: Categorical) -> bool:
    """Whether a column with a type holds every choice as it is: all booleans or all numbers, and no cell empty."""
    types = {type(choice) for choice in parameter.choices}
    small = all(not isinstance(choice, int) or abs(choice) < 2**63 for choice in parameter.choices)
    return parameter.active_if is None and small and types in ({bool}, {int}, {float})
