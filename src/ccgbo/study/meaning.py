"""What a row says of a trial: the record that the trial has if the row is right."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ccgbo.errors import ParamsError, TellError
from ccgbo.metrics import Measurement, Metrics
from ccgbo.outcomes import PLAIN, correction_of, outcome_of
from ccgbo.records import Trial
from ccgbo.revisions import abandon, annotate
from ccgbo.space import Categorical, Parameter, Space
from ccgbo.study.metric_cells import Cells
from ccgbo.study.numbers import is_rounding
from ccgbo.study.table_rows import Row
from ccgbo.text import same, shorten

NOTHING = Cells()  # what is known of a metric that was not measured
LONGEST = 5000  # characters of a text in an Excel file, whose cells hold 32,767 with their escapes


def of_new(space: Space, row: Row, metrics: Metrics = PLAIN, *, allow_outside: bool = False) -> Trial | None:
    """The trial that a row from elsewhere tells of; None where it has no outcome."""
    if row.id is not None and not row.cells and not _full(space, row):
        raise TellError(f"there must be the params, or the id of a trial, got id {row.id!r}.")
    params = _full(space, row)
    if allow_outside:
        _check_place(space, params)
    else:
        space.encode(params)
    point = Trial(id=-1, params=space.canonical(params), origin="external")
    outcome = _outcome(point, row, metrics)
    if outcome is None:
        return None
    trial = replace(point, **outcome, dropped=bool(row.dropped))
    return annotate(trial, row.attributes)


def of_known(space: Space, known: Trial, row: Row, metrics: Metrics = PLAIN) -> Trial:
    """A known trial as a row has it: what the row does not say, or says rounded, stays."""
    params = _over(space, known.params, row)
    if row.state == "abandoned" and known.state == "pending" and not row.has_outcome:
        return annotate(abandon(replace(known, params=params)), _differing(known, row))
    outcome = _outcome(known, row, metrics)
    trial = replace(known, params=params, **(outcome or {}))
    if row.dropped is not None and row.dropped != trial.dropped:
        if trial.state not in ("complete", "failed"):
            raise TellError(f"dropped must be empty for a trial that is {trial.state}.")
        trial = replace(trial, dropped=row.dropped)
    return annotate(trial, _differing(known, row))


def _differing(known: Trial, row: Row) -> dict[str, Any]:
    """Attributes that are not those of the trial."""

    def kept(name: str, value: Any) -> bool:
        before = known.attributes.get(name)
        return same_text(value, before) if isinstance(value, str) and isinstance(before, str) else same(value, before)

    return {name: value for name, value in row.attributes.items() if not kept(name, value)}


# -- outcomes


def _outcome(known: Trial, row: Row, metrics: Metrics) -> dict[str, Any] | None:
    """The outcome in a row, None where that is the one the trial has, or none."""
    measured = _by_name(known, row, metrics)
    new_state = row.state if row.state in ("failed", "abandoned") and row.state != known.state else None
    new_error = row.error is not None and not same_text(row.error, known.error)
    if measured is not None and (new_state or new_error):
        what = f"error is {row.error!r}" if new_state is None else f"state is {new_state!r}"
        values = [m.value for m in measured["metrics"].values()] or [measured["value"]]
        said = " and ".join(map(repr, values))
        raise TellError(f"there must be either a value or a failure, but value is {said} and {what}.")
    if measured is not None:
        return measured
    if new_state == "abandoned" and known.state != "pending":
        raise TellError(f"state must not be 'abandoned' where there is an outcome: trial {known.id} is {known.state}.")
    if new_error and known.state == "complete" and new_state is None:
        raise TellError(f"error must be empty for a trial with a value, got {row.error!r}: a remark is a note.")
    return outcome_of(None, failed=True, error=row.error) if new_state == "failed" or new_error else None


def _by_name(known: Trial, row: Row, metrics: Metrics) -> dict[str, Any] | None:
    """What was measured in a row, None where that is what the trial has; of named metrics those that the row has."""
    for name, cells in row.metrics.items():
        if (metrics.plain or name not in metrics.names) and _of_metric(known, name, cells) is not None:
            raise TellError(metrics.unknown(name))
    if metrics.plain:
        return _measured(known, row)
    told, noise = {}, {}
    for name, cells in _with_value(known, row, metrics).items():
        new = _of_metric(known, name, cells)
        if new is not None:
            told[name] = list(new.readings) or new.value
            noise[name] = new.noise_variance
    if not told:
        return None
    return correction_of(told, None, known, metrics, failed=False, noise_variance=noise, error=None)


def _with_value(known: Trial, row: Row, metrics: Metrics) -> dict[str, Cells]:
    """The metrics of a row; the columns of the value are those of the one objective where it has none of its own."""
    cells = {name: cells for name, cells in row.metrics.items() if name in metrics.names}
    value = Cells(row.value, row.readings, row.noise_variance)
    if not value.says:
        return cells
    if metrics.several:
        raise TellError(f"value must be empty where there are several objectives, got {row.value!r}.")
    name = metrics.objective
    own = cells.get(name)
    if own is None or _of_metric(known, name, own) is None:
        return {**cells, name: value}
    if _of_metric(known, name, value) is None or _same_number(own.value, value.value):
        return cells
    raise TellError(
        f"value and {name} must say the same, or one of them be empty, got {row.value!r} and {own.value!r}."
    )


def _of_metric(known: Trial, name: str, cells: Cells) -> Measurement | None:
    """What cells say of a metric, None where that is what the trial has."""
    if cells.value is None and cells.readings is None and name not in known.metrics:
        return None
    outcome = _measured(known.metrics.get(name, NOTHING), cells)
    if outcome is None:
        return None
    if outcome["state"] == "failed":
        told = cells.value if isinstance(cells.value, float) else math.nan  # nan or infinite, as it is
        return Measurement(value=told) if name in known.metrics or cells.value is not None else None
    parts = ("value", "noise_variance", "readings")
    return Measurement(**{part: outcome[part] for part in parts})


def _measured(known: Trial | Measurement | Cells, row: Row | Cells) -> dict[str, Any] | None:
    """The value in a row with all that belongs to it, None where that is what the trial has."""
    readings = None if row.readings is None or _same_numbers(row.readings, known.readings) else row.readings
    value = None if row.value is None or _same_number(row.value, known.value) else row.value
    noise = row.noise_variance
    if readings is not None:
        outcome = outcome_of(list(readings), noise_variance=noise)
        if value is not None and not _same_number(value, outcome["value"]):
            raise TellError(f"value must be the mean of the readings, {outcome['value']!r}, or empty, got {value!r}.")
        return None if _same_number(outcome["value"], known.value) and len(readings) == 1 else outcome
    if value is not None:
        if noise is None and isinstance(value, float):
            noise = known.noise_variance
        outcome = outcome_of(value, noise_variance=noise)
        parts = [name for name in outcome if hasattr(known, name)]
        return outcome if any(not _agrees(outcome[name], getattr(known, name)) for name in parts) else None
    if noise is None or known.value is None or _same_number(noise, known.noise_variance):
        return None
    return outcome_of(list(known.readings or ()) or known.value, noise_variance=noise)


def _agrees(a: Any, b: Any) -> bool:
    return _same_number(a, b) if isinstance(a, float) else bool(a == b)


def _same_number(cell: Any, known: float | None) -> bool:
    return isinstance(cell, float) and known is not None and is_rounding(cell, known)


def _same_numbers(cells: Iterable[float], known: tuple[float, ...] | None) -> bool:
    cells, known = tuple(cells), known or ()
    return len(cells) == len(known) and all(map(_same_number, cells, known))


def same_text(cell: str, known: str | None) -> bool:
    """Whether a text is the known one, but for line ends and what did not fit into a cell."""
    if known is None:
        return False
    a, b = ("\n".join(text.splitlines()) for text in (cell, known))
    return a == b or cell == shorten(known, LONGEST)


# -- settings


def _over(space: Space, known: Mapping[str, Any], row: Row) -> Mapping[str, Any]:
    """The known settings with those of the row in their place, which may lie outside the space."""
    if not row.cells:
        return known
    said = {n: v for n, v in row.cells.items() if n not in known or not _same_value(space, n, v, known[n])}
    params = {**known, **said}
    for name in row.blank:
        choice = _empty_choice(space[name])
        if choice and (name not in known or known[name] not in choice):
            params[name] = choice[0]
    for name in set(params) & set(space.names):
        if not _is_active(space, name, params):
            if name in row.cells:
                raise ParamsError(f"{name!r} is inactive at this point (active_if={space[name].active_if!r}).")
            del params[name]
    if params == dict(known):
        return known
    _check_place(space, params)
    return space.canonical(params)


def _check_place(space: Space, params: Mapping[str, Any]) -> None:
    """Refuse what the model cannot be told of, inside the space or outside."""
    problem = space.place_rows([params])[1][0]
    if problem is not None:
        raise ParamsError(problem)


def _same_value(space: Space, name: str, cell: Any, known: Any) -> bool:
    if name not in space:
        raise ParamsError(f"params has an unknown parameter {name!r}; the space has {list(space.names)!r}.")
    parameter = space[name]
    if isinstance(parameter, Categorical):
        return parameter.canonical(cell) == parameter.canonical(known) and isinstance(cell, bool) == isinstance(
            known, bool
        )
    number = isinstance(known, int | float) and isinstance(cell, int | float)
    return number and is_rounding(float(cell), float(known))


def _full(space: Space, row: Row) -> dict[str, Any]:
    """All the settings of a row: an empty cell of an active parameter is the choice None, or else the empty text."""
    params = dict(row.cells)
    for _ in row.blank:  # a parent may itself have been filled in
        for name in row.blank:
            choice = _empty_choice(space[name])
            if choice and name not in params and _is_active(space, name, params):
                params[name] = choice[0]
    return params


def _empty_choice(parameter: Parameter) -> list[Any]:
    """The choices that an empty cell may stand for, the likelier first."""
    return [c for c in (None, "") if c in parameter.choices] if isinstance(parameter, Categorical) else []


def _is_active(space: Space, name: str, params: Mapping[str, Any]) -> bool:
    conditions = (space[name].active_if or {}).items()
    return all(
        parent in params and _is_active(space, parent, params) and _allows(space, parent, params[parent], values)
        for parent, values in conditions
    )


def _allows(space: Space, parent: str, value: Any, allowed: Iterable[Any]) -> bool:
    source = space[parent]
    if isinstance(source, Categorical):
        return source.find(value) in [source.find(choice) for choice in allowed]
    return value in allowed
