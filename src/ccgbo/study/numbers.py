"""Numbers as people and spreadsheets write them.

    0.93  0,93  1e-5        a number; a decimal comma will do where it cannot be meant otherwise
    1.234  1,234            1.234 or 1234: decided by the other numbers of the table, refused where they do not
    1.234,5  1 234          refused: separators of thousands are not read
    empty, NaN, #N/A, ...   no number at all

A spreadsheet saves what it shows, which may have fewer digits than what it was given: ``is_rounding`` knows such a
number again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Literal

Mark = Literal[".", ","]

NOTHING = {"", "nan", "+nan", "-nan", "na", "n/a", "#n/a", "#na", "<na>", "nat", "null", "none"}
NOTHING |= {"#num!", "#null!", "#value!", "#div/0!", "#ref!", "#name?"}  # what a formula gives that went wrong
POINT = re.compile(r"[+-]?\d*\.\d*(e[+-]?\d+)?", re.IGNORECASE)
COMMA = re.compile(r"[+-]?\d*,\d*(e[+-]?\d+)?", re.IGNORECASE)
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")  # as they could be meant, too
DIGITS = 6  # a spreadsheet that shows 1.23457E-05 saves no more
SHOWN_WHOLE = Decimal("1e11")  # smaller numbers are shown to the last digit before the point


def is_nothing(text: str) -> bool:
    """Whether a text is one of the ways to write that there is no value."""
    return text.strip().lower() in NOTHING


def decimal_mark(texts: Iterable[str], separator: str | None = None) -> Mark | None:
    """What the numbers of a table have before their decimals, None where some have a comma and some a point.

    A spreadsheet that separates cells by semicolons does so because its numbers have commas.
    """
    comma = point = False
    for text in texts:
        cell = text.strip()
        clear = THOUSANDS.fullmatch(cell) is None
        comma = comma or bool(COMMA.fullmatch(cell) and (clear or separator == ";"))
        point = point or bool(POINT.fullmatch(cell) and clear)
    if comma and point:
        return None
    return "," if comma else "."


def read_number(text: str, mark: Mark | None = ".") -> float:
    """The number that a text stands for; ValueError says why it is none."""
    cell = text.strip().replace("\N{MINUS SIGN}", "-")
    if COMMA.fullmatch(cell):
        if THOUSANDS.fullmatch(cell) and mark != ",":
            raise ValueError(_two_readings(cell, ","))
        return float(cell.replace(",", "."))
    if THOUSANDS.fullmatch(cell) and mark != ".":
        raise ValueError(_two_readings(cell, "."))
    if "_" in cell:  # which Python would read
        raise ValueError("must be a number")
    try:
        return float(cell)
    except ValueError:
        more = " without separators of thousands" if re.search(r"\d[.,]\d{3}[.,]\d", cell) else ""
        raise ValueError(f"must be a number{more}") from None


def _two_readings(cell: str, mark: str) -> str:
    whole, point = cell.replace(mark, ""), cell.replace(mark, ".")
    return f"must be a number that can be read in one way only: {whole} or {point}"


def as_number(text: str, mark: Mark | None = ".") -> float | None:
    """A finite number that a text stands for, or None."""
    try:
        number = read_number(text, mark)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def is_rounding(cell: float, known: float) -> bool:
    """Whether ``cell`` is ``known`` as a spreadsheet may have shown it."""
    if cell == known:
        return True
    if not (math.isfinite(cell) and math.isfinite(known)):
        return False
    written, exact = Decimal(repr(cell)).normalize(), Decimal(known)
    last = min(int(written.as_tuple().exponent), exact.adjusted() + 1 - DIGITS)
    if abs(written) < SHOWN_WHOLE:
        last = min(last, 0)
    return abs(written - exact) <= Decimal(1).scaleb(last) / 2
