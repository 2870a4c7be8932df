"""Cells of a table: how a choice is written as text, and which choice a cell stands for.

    None or inactive    empty
    True, 16, 2.5       as Python writes them
    text                as it is; in double quotes, as JSON has it, where it would be read as one of the above, is
                        empty, begins with a quote or has characters that no table keeps (line ends, lone surrogates)

In CSV a text that a spreadsheet would take for a formula gets an apostrophe in front, and one that begins with an
apostrophe another; reading takes it off again.
"""

from __future__ import annotations

import json
import math
import unicodedata
from typing import Any

from ccgbo.errors import ParamsError
from ccgbo.space import Categorical, Int, Parameter

FORMULA = ("=", "+", "-", "@", "\t", "\r")
GUARDED = (*FORMULA, "'")
SWITCHES = {"true": True, "false": False}  # however they are capitalised: spreadsheets write TRUE


def guard(text: str) -> str:
    """Text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(GUARDED) else text


def unguard(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(GUARDED) else cell


def spell(parameter: Categorical, choice: Any) -> str:
    """A choice as text that ``read_text`` reads back."""
    if choice is None:
        return ""
    if not isinstance(choice, str):
        return repr(choice)
    kept = not any(unicodedata.category(c) in ("Cc", "Cs") for c in choice)
    plain = kept and choice and not choice.startswith('"') and read_text(parameter, choice) is choice
    return choice if plain else json.dumps(choice)


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
    switch, number = SWITCHES.get(cell.strip().lower()), as_float(cell)
    for other in (switch, number):
        index = None if other is None else parameter.find(other)
        if index is not None:
            return choices[index]
    return None if cell in ("None", "null") and None in choices else cell


def _quoted(cell: str) -> str | None:
    if not cell.startswith('"'):
        return None
    try:
        text = json.loads(cell)
    except (ValueError, RecursionError):
        return None
    return text if isinstance(text, str) else None


def as_float(cell: str) -> float | None:
    """A finite number from text, or None."""
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def read_cell(name: str, parameter: Parameter, cell: Any, *, as_text: bool) -> Any:
    """A cell as a value of its parameter: ``as_text`` where the table has no types, so that quotes tell text apart."""
    if not isinstance(parameter, Categorical):
        return _number(name, parameter, cell)
    if not as_text and parameter.find(cell) is not None:
        return cell
    if isinstance(cell, str):
        found = read_text(parameter, unguard(cell))
        return found if parameter.find(found) is not None else read_text(parameter, cell)
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def _number(name: str, parameter: Parameter, cell: Any) -> float | int:
    try:
        number = float(cell)
    except (TypeError, ValueError, OverflowError):
        raise ParamsError(f"{name} must be a number, got {cell!r}.") from None
    return int(number) if isinstance(parameter, Int) and number.is_integer() else number


def is_missing(cell: Any) -> bool:
    """None, NaN, an empty text, and pandas' NA and NaT."""
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    return bool(cell != cell) if isinstance(cell, float) else isinstance(cell, str) and cell == ""
