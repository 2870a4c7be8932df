"""Which columns of a table mean something to a study, and what is said of those that do not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from ccgbo.frames import COLUMNS, METRIC, PREFIX
from ccgbo.metrics import Metrics
from ccgbo.space import Space
from ccgbo.study.cells import is_missing
from ccgbo.study.metric_cells import TAKEN, metric_names_of

ATTRIBUTE = "attributes_"
OWN = {*TAKEN, "explanation"}  # columns of our own that say nothing of an outcome among them


def known_columns(space: Space, value: str, metrics: Metrics) -> set[str]:
    """The names that the columns of a study's table may have."""
    measured = {column for name in metrics.names for column in metric_names_of(name)}
    return {*COLUMNS, value, *space, *(f"{PREFIX}{name}" for name in space), *measured}


def unread_columns(rows: Iterable[Any], known: Set[str]) -> tuple[str, ...]:
    """The columns that say something in some row and mean nothing here, with what may be meant.

    Of a column ``metrics_<name>`` nothing is said: rows with a metric that there is none of are refused.
    """
    given = dict.fromkeys(
        column
        for row in rows
        if isinstance(row, Mapping)
        for column, cell in row.items()
        if isinstance(column, str) and column not in known and not is_missing(cell)
    )
    unread = [c for c in given if c not in OWN and not c.startswith((METRIC, ATTRIBUTE))]
    names = tuple(sorted(known - {*COLUMNS}))
    return tuple(meant(column, names) for column in unread)


@lru_cache(maxsize=256)  # a table is refused row by row, for the same columns
def meant(column: str, known: tuple[str, ...]) -> str:
    """``'yeild' (is 'yield' meant?)``."""
    lower = {name.lower(): name for name in known}
    word = column.split("[")[0].split("(")[0].strip().lower()  # without a unit
    close = get_close_matches(word, lower, 1, 0.7)
    return f"{column!r} (is {lower[close[0]]!r} meant?)" if close else repr(column)
