"""Tables of points evaluated elsewhere: a list of dicts, or a DataFrame, and the outcome of each row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ccgbo.errors import TellError
from ccgbo.frames import PREFIX
from ccgbo.metrics import Metrics
from ccgbo.outcomes import PLAIN, outcome_of
from ccgbo.space import Categorical, Space


def read_table(
    params: Any, values: Any, noise_variance: Any, space: Space, metrics: Metrics = PLAIN
) -> tuple[list[Mapping[str, Any]], list[dict[str, Any]]]:
    """The points of a table and their outcomes; refuses the whole table for one bad row."""
    if not (np.iterable(params) and np.iterable(values)):
        raise TellError(f"params and values must be lists, got {params!r} and {values!r}.")
    rows = table_rows(params, space)
    values = _listed(values)
    one = isinstance(noise_variance, Mapping) or not np.iterable(noise_variance)
    noises = [noise_variance] * len(rows) if one else list(noise_variance)
    if not len(rows) == len(values) == len(noises):
        lengths = f"{len(rows)}, {len(values)} and {len(noises)}"
        raise TellError(f"params, values and noise_variance must have one length, got {lengths}.")
    space.encode_rows(rows)  # refuses what is not in the space
    pairs = zip(values, noises, strict=True)
    return rows, [outcome_of(v, noise_variance=q, metrics=metrics) for v, q in pairs]


def _listed(values: Any) -> list[Any]:
    """The values of a list, or of a DataFrame with a column for each metric."""
    return list(values.to_dict("records")) if hasattr(values, "columns") else list(values)


def table_rows(params: Any, space: Space) -> list[Mapping[str, Any]]:
    """The points of a list of dicts, or of a DataFrame, in which a missing value is an inactive parameter or None.

    A frame of ``to_dataframe`` has further columns beside its params, which are passed over.
    """
    if not hasattr(params, "to_dict") or isinstance(params, Mapping):
        return list(params)
    optional = {name for name, p in space.items() if isinstance(p, Categorical) and None in p.choices}
    return [
        {name: None if _missing(v) else v for name, v in row.items() if name in optional or not _missing(v)}
        for row in _params_of(params, space).to_dict("records")
    ]


def _params_of(frame: Any, space: Space) -> Any:
    """The columns of the parameters, by their own names."""
    columns = {f"{PREFIX}{name}": name for name in space if f"{PREFIX}{name}" in frame}
    return frame[list(columns)].rename(columns=columns) if columns else frame


def _missing(value: Any) -> bool:
    """None, NaN, and pandas' NaT and NA."""
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )
