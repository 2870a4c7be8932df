"""Cells of a table: how a choice or a text is written, and what a cell stands for.

    None or inactive    empty
    True, 16, 2.5       as Python writes them
    text                as it is; in double quotes, as JSON has it, where it would be read as one of the above, is
                        empty, begins with a quote or has characters that no table keeps (line ends, lone surrogates)

In CSV and Excel files a text that a spreadsheet would take for a formula gets an apostrophe in front, and one that
begins with an apostrophe another; reading takes it off again. Notes and reasons are texts, too, and keep their line
ends; lists and other plain data are JSON.
"""

from __future__ import annotations

import datetime
import json
import unicodedata
from typing import Any

from ccgbo.errors import ParamsError, TellError
from ccgbo.space import Categorical, Int, Parameter
from ccgbo.study.numbers import Mark, as_number, is_nothing, read_number

FORMULA = ("=", "+", "-", "@", "\t", "\r")
GUARDED = (*FORMULA, "'")
SWITCHES = {"true": True, "false": False}  # however they are capitalised: spreadsheets write TRUE
YES, NO = ("true", "yes", "y", "1", "x"), ("false", "no", "n", "0")


# -- what is no formula


def guard(text: str) -> str:
    """Text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(GUARDED) else text


def unguard(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(GUARDED) else cell


# -- choices


def spell(parameter: Categorical, choice: Any, mark: Mark = ".") -> str:
    """A choice as text that ``read_text`` reads back."""
    if choice is None:
        return ""
    if not isinstance(choice, str):
        there = repr(choice).replace(".", mark)
        return there if read_text(parameter, there) == choice else repr(choice)
    plain = _kept(choice) and not is_nothing(choice) and not choice.startswith('"')
    return choice if plain and read_text(parameter, choice) is choice else _as_json(choice)


def read_text(parameter: Categorical, cell: str) -> Any:
    """The choice that a text stands for: one that is written so here, else elsewhere; or the text itself."""
    choices = parameter.choices
    for choice in choices:
        if choice is not None and not isinstance(choice, str) and repr(choice) == cell:
            return choice
    quoted = _quoted(cell)
    if quoted is not None and quoted in choices:
        return quoted
    if cell in choices:  # text: nothing else equals text
        return cell
    switch, number = SWITCHES.get(cell.strip().lower()), as_number(cell)
    for other in (switch, number):
        index = None if other is None else parameter.find(other)
        if index is not None:
            return choices[index]
    if is_nothing(cell) and None in choices:
        return None
    alike = [c for c in choices if isinstance(c, str) and _looks_like(c, switch, number)]
    return alike[0] if len(alike) == 1 else cell


def _looks_like(choice: str, switch: bool | None, number: float | None) -> bool:
    """Whether a spreadsheet makes of the text of a choice what was read from a cell."""
    if switch is not None:
        return SWITCHES.get(choice.strip().lower()) is switch
    return number is not None and as_number(choice) == number


def read_cell(name: str, parameter: Parameter, cell: Any, *, as_text: bool, mark: Mark | None = ".") -> Any:
    """A cell as a value of its parameter: ``as_text`` where the table has no types, so that quotes tell text apart."""
    if not isinstance(parameter, Categorical):
        number = read_float(name, cell, mark)
        return int(number) if isinstance(parameter, Int) and number.is_integer() else number
    if not as_text and parameter.find(cell) is not None:
        return cell
    if isinstance(cell, str):
        found = read_text(parameter, unguard(cell))
        return found if parameter.find(found) is not None else read_text(parameter, cell)
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    number = isinstance(cell, bool | int | float) and parameter.find(cell) is None
    return read_text(parameter, repr(cell)) if number else cell


def stands_for_itself(parameter: Parameter, cell: Any, *, as_text: bool) -> bool:
    """Whether a cell that looks like no value is a choice: "NA" may be one."""
    if not isinstance(parameter, Categorical) or not isinstance(cell, str):
        return False
    return isinstance(read_text(parameter, cell), str) and cell in parameter.choices and (cell != "" or not as_text)


# -- numbers and switches


def read_float(name: str, cell: Any, mark: Mark | None = ".") -> float:
    """A cell as a number; says of a date what it is."""
    if isinstance(cell, str):
        try:
            return read_number(cell, mark)
        except ValueError as error:
            raise ParamsError(f"{name} {error}, got {cell!r}.") from None
    if is_date(cell):
        raise ParamsError(f"{name} must be a number, but the spreadsheet has made the date {cell} of it.")
    if isinstance(cell, bool):
        raise ParamsError(f"{name} must be a number, got {cell!r}.")
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        raise ParamsError(f"{name} must be a number, got {cell!r}.") from None


def is_date(cell: Any) -> bool:
    return isinstance(cell, datetime.date | datetime.time | datetime.timedelta)


def read_switch(name: str, cell: Any) -> bool:
    """A cell as yes or no."""
    word = str(cell).strip().lower().removesuffix(".0")
    if word in YES or word in NO:
        return word in YES
    raise TellError(f"{name} must be TRUE or FALSE, got {cell!r}.")


def is_missing(cell: Any) -> bool:
    """None, NaN in any spelling, an empty text, and pandas' NA and NaT."""
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    return bool(cell != cell) if isinstance(cell, float) else isinstance(cell, str) and is_nothing(cell)


# -- texts and plain data


def spell_words(text: str) -> str:
    """A note or a reason as the text of a cell, which ``read_words`` reads back."""
    plain = _kept(text, lines=True) and not is_nothing(text) and not text.startswith('"')
    return guard(text if plain else _as_json(text))


def read_words(cell: Any, *, guarded: bool) -> str:
    if is_date(cell):
        return str(cell.isoformat())
    if not isinstance(cell, str) or not guarded:
        return str(cell)
    text = unguard(cell)
    quoted = _quoted(text)
    return text if quoted is None else quoted


def spell_data(value: Any, mark: Mark = ".") -> str:
    """Plain data as a cell which ``read_data`` reads back: numbers stay numbers."""
    if isinstance(value, str):
        plain = all(read_data(value, mark=m) == value for m in (".", ","))
        return spell_words(value) if plain else _as_json(value)
    return repr(value).replace(".", mark) if isinstance(value, float) else _as_json(value)


def read_data(cell: Any, *, as_text: bool = True, mark: Mark | None = ".") -> Any:
    if not isinstance(cell, str) or not as_text:
        return str(cell.isoformat()) if is_date(cell) else cell
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        switch, number = SWITCHES.get(cell.strip().lower()), as_number(cell, mark)
        known = number if switch is None else switch
        return read_words(cell, guarded=True) if known is None else known


def spell_list(items: list[str]) -> str:
    """Tags as people write them, ``good, again``, or as JSON where that would be read otherwise."""
    text = ", ".join(items)
    plain = items and _kept(text) and not text.startswith(("[", *GUARDED)) and read_list(text) == items
    return text if plain else _as_json(items)


def read_list(cell: Any) -> list[Any]:
    """The items of a cell: a list, as JSON, or separated by commas or semicolons."""
    if isinstance(cell, str):
        if cell.startswith("["):
            try:
                return list(json.loads(cell))
            except (ValueError, RecursionError):
                pass
        return [part.strip() for part in cell.replace(";", ",").split(",") if part.strip()]
    return cell.tolist() if hasattr(cell, "tolist") else list(cell)


def _quoted(cell: str) -> str | None:
    if not cell.startswith('"'):
        return None
    try:
        text = json.loads(cell)
    except (ValueError, RecursionError):
        return None
    return text if isinstance(text, str) else None


def _as_json(value: Any) -> str:
    return json.dumps(value).replace("_x", "\\u005fx").replace("x005F_", "\\u0078005F_")


def _kept(text: str, *, lines: bool = False) -> bool:
    """Whether every table keeps the characters of a text as they are; Excel writes others as ``_x000D_``."""
    if "_x" in text or "x005F_" in text or "\ufffe" in text or "\uffff" in text:
        return False
    allowed = "\n\t" if lines else ""
    return not any(unicodedata.category(c) in ("Cc", "Cs") and c not in allowed for c in text)
