"""Small tables for notebooks: markup without script or style, in which all that comes from elsewhere is text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from ccgbo.text import printable, shorten

MOST_ROWS = 20
WIDEST = 200  # characters of a cell


def text(value: Any) -> str:
    """A value as text that no browser takes for markup; numbers with few digits."""
    if value is None:
        return "–"
    plain = f"{value:.6g}" if isinstance(value, float) else str(value)
    return escape(shorten(printable(plain), WIDEST))


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], *, most: int = MOST_ROWS) -> str:
    """A table of at most so many rows; how many are left out stands below."""
    head = "".join(f"<th>{text(column)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(f'<td>{text(cell)}</td>' for cell in row)}</tr>" for row in rows[:most])
    rest = f"<p>… and {len(rows) - most} more</p>" if len(rows) > most else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def settings(columns: Mapping[str, Mapping[str, Any]]) -> str:
    """Points side by side, a row for each parameter."""
    names = dict.fromkeys(name for params in columns.values() for name in params)
    return table(["", *columns], [[name, *(params.get(name) for params in columns.values())] for name in names])


def block(title: str, *parts: str) -> str:
    """A title and what belongs below it."""
    return f"<div><strong>{text(title)}</strong>{''.join(parts)}</div>"


def lines(*sentences: str) -> str:
    return "".join(f"<div>{text(sentence)}</div>" for sentence in sentences if sentence)
