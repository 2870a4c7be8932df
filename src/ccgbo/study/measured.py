"""The metrics of a study: as stored, as read again, and checked against what the user gives on opening."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ccgbo.errors import SettingError
from ccgbo.frames import METRIC_PARTS
from ccgbo.metrics import VALUE, Metrics, metrics_of
from ccgbo.storage.columns import place_of, reading
from ccgbo.storage.rows import StudyRow

if TYPE_CHECKING:
    from ccgbo.study.definition import Given


def stored_metrics(metrics: Metrics) -> dict[str, Any] | None:
    """Plain data, None where one objective has no name: then the direction says it all."""
    return None if metrics.plain else metrics.to_dict()


def read_metrics(row: StudyRow, address: str) -> Metrics:
    with reading(place_of(address, row.name, "metrics")):
        metrics = Metrics({VALUE: row.direction}) if row.metrics is None else Metrics.from_dict(row.metrics)
        if metrics.direction != row.direction:
            raise ValueError(f"the direction is {row.direction!r}")
        return metrics


def metric_names(metrics: Metrics) -> tuple[str, ...]:
    """The metrics that have columns of their own in a table."""
    return () if metrics.plain else metrics.names


def check_columns(metrics: Metrics) -> None:
    """Refuse names that a table could not tell apart: ``ph`` has a column ``metrics_ph_readings``."""
    for name in metrics.names:
        for part in METRIC_PARTS:
            if f"{name}{part}" in metrics.names:
                raise SettingError(
                    f"metrics must have names that a table can tell apart, and {name + part!r} could be a metric or "
                    f"what belongs to {name!r}."
                )


def check_metrics(row: StudyRow, given: Given, stored: Metrics) -> None:
    """Refuse metrics that are not those of the study; what is not given is not looked at."""
    _check_direction(row, given, stored)
    if given.objective is not None and (stored.several or given.objective != stored.objective):
        known = list(stored.objectives) if stored.several else stored.objective
        raise differs("objective", row, given.objective, known)
    if given.objectives is None and given.outcome_constraints is None:
        return
    wanted = metrics_of(
        objectives=stored.objectives if given.objectives is None else given.objectives,
        outcome_constraints=given.outcome_constraints,
    )
    pairs: list[tuple[str, Any, Any]] = [("objectives", wanted.objectives, stored.objectives)]
    if given.outcome_constraints is not None:
        pairs.append(("outcome_constraints", wanted.constraints, stored.constraints))
    for argument, now, was in pairs:
        for name in [*was, *now]:
            if was.get(name) != now.get(name):
                a, b = (repr(there[name]) if name in there else "nothing of the kind" for there in (was, now))
                raise SettingError(
                    f"{argument} must be those of the study {row.name!r}, or be left out; {name!r} differs: the study "
                    f"has {a}, got {b}. change_metrics changes them; another name= makes a new study."
                )


def _check_direction(row: StudyRow, given: Given, stored: Metrics) -> None:
    if given.direction is None:
        return
    if given.objectives is not None:
        metrics_of(direction=given.direction, objectives=given.objectives)  # refuses both
    if stored.several:
        raise differs("direction", row, given.direction, dict(stored.objectives))
    if given.direction != row.direction:
        raise SettingError(
            f"direction must be that of the study {row.name!r}, which is to {row.direction}, got {given.direction!r}. "
            "Another name= makes a new study."
        )


def differs(name: str, row: StudyRow, given: Any, stored: Any) -> SettingError:
    """What is said of an argument that is not that of the study."""
    return SettingError(
        f"{name} must be that of the study {row.name!r}, {stored!r}, or be left out; got {given!r}. "
        "Another name= makes a new study."
    )
