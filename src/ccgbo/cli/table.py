"""A table in plain text; whatever a name or a value holds, nothing in it reaches the terminal as a command."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ccgbo.text import printable


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Columns as wide as their widest cell; numbers to the right."""
    names, cells = [printable(name) for name in columns], [[cell(value) for value in row] for row in rows]
    widths = [max([len(name), *(len(row[i]) for row in cells)]) for i, name in enumerate(names)]
    numeric = [any(isinstance(row[i], int | float) for row in rows) for i in range(len(columns))]
    return "\n".join(
        "  ".join(text.rjust(w) if right else text.ljust(w) for text, w, right in zip(line, widths, numeric)).rstrip()
        for line in [names, *cells]
    )


def cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}"
    return printable(value) if isinstance(value, str) else json.dumps(value)


def words(values: Mapping[str, Any]) -> str:
    """``lr=0.01, layers=3``."""
    return ", ".join(f"{printable(name)}={cell(value)}" for name, value in values.items())
