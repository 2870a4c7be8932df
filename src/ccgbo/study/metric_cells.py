"""Which columns of a table are metrics, and what their cells say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ccgbo.errors import TellError
from ccgbo.frames import COLUMNS, METRIC, METRIC_PARTS, PREFIX
from ccgbo.metrics import Metrics
from ccgbo.space import Space

TAKEN = {*COLUMNS, "params", "metrics", "attributes"}  # columns that have a meaning of their own


@dataclass(frozen=True, slots=True)
class Cells:
    """What one row says of one metric."""

    value: Any = None
    readings: tuple[float, ...] | None = None
    noise_variance: float | None = None

    @property
    def says(self) -> bool:
        return self.value is not None or self.readings is not None or self.noise_variance is not None


def metric_names_of(name: str) -> list[str]:
    """The names that the column of a metric may have; a name that is one of our own columns needs its prefix."""
    return [f"{METRIC}{name}", *([] if name in TAKEN else [name])]


def has_metrics(row: Mapping[str, Any], metrics: Metrics) -> bool:
    """Whether a row has a column of a metric, or all of them in one cell."""
    columns = {column for name in metrics.names for column in metric_names_of(name)}
    named = any(column in columns or str(column).startswith(METRIC) for column in row)
    return named or isinstance(row.get("metrics"), Mapping)


def named_in(row: Mapping[str, Any], space: Space, metrics: Metrics) -> list[str]:
    """The metrics that a row has columns of, also those that there are none of any more, or never were."""
    known = metrics.names if not metrics.plain else ()
    ours = {c for name in known for c in metric_names_of(name)}
    parts = {f"{METRIC}{name}{part}" for name in known for part in METRIC_PARTS}
    others = []
    for column in row:
        if not isinstance(column, str) or column in space or column in ours | parts:
            continue
        if column.startswith(METRIC):
            base = next((column.removesuffix(part) for part in METRIC_PARTS if column.endswith(part)), column)
            others.append((base if base in row else column).removeprefix(METRIC))
    for name in known:
        if name in space and name in row and name not in TAKEN:
            raise TellError(
                f"the column {name!r} could be the parameter or the metric: call it {PREFIX + name!r} or "
                f"{METRIC + name!r}."
            )
    return list(dict.fromkeys([*known, *others]))
