"""Tables into a study: read, planned, and applied in one write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ccgbo.errors import TellError
from ccgbo.records import Trial
from ccgbo.study.headings import known_columns, unread_columns
from ccgbo.study.planning import Plan, make_plan, refusal
from ccgbo.study.study import Study
from ccgbo.study.table_rows import read_rows, records_of


def import_table(
    study: Study,
    table: Any,
    *,
    value: str = "value",
    as_text: bool = False,
    amend: bool = False,
    dry_run: bool = False,
    by_id: bool = True,
    allow_duplicates: bool = False,
    allow_outside: bool = False,
) -> Plan:
    """Take the rows of a table into a study, all or none; what is there already is not taken in twice.

    A row with the id of a pending trial tells it, with the settings of the row where these are others than were asked.
    A row that says something else of a told trial is an amendment, and left alone unless ``amend`` is given. Rows
    without an id are new. An empty cell says nothing.

    Parameters
    ----------
    study
        Where the rows go.
    table
        A DataFrame, such as ``to_dataframe`` gives, or a list of mappings of columns to cells.
    value
        The column with the value; named metrics have columns ``metrics_<name>`` or ``<name>``.
    as_text
        Whether the cells have no types, so that quotes tell the choice "1" from the choice 1.
    amend
        Whether rows that differ from what was told correct it.
    dry_run
        Only say what would become of the rows.
    by_id
        Whether ids are those of this study; False takes every row as new.
    allow_duplicates
        Whether a new row is taken in although the study has a trial with its settings and its outcome.
    allow_outside
        Whether a new row is taken in although its settings lie outside the bounds or break a constraint.
    """
    return take_in(
        study,
        table,
        {"value": value, "as_text": as_text, "guarded": as_text, "by_id": by_id},
        amend=amend,
        dry_run=dry_run,
        allow_duplicates=allow_duplicates,
        allow_outside=allow_outside,
    )


def take_in(study: Study, table: Any, form: Mapping[str, Any], *, dry_run: bool, **choices: bool) -> Plan:
    """Take a table into a study; ``form`` says how its cells are written, see ``read_rows``."""
    known = study.trials  # which also looks whether the space was changed
    space, metrics = study.space, study.metrics
    table = records_of(table)
    rows, unreadable = read_rows(table, space, metrics=metrics, **form)
    unread = unread_columns(table, known_columns(space, form["value"], metrics))
    times: dict[int, float] = {}
    if any(row.id is not None and row.asked_at is not None for row in rows):
        times = {record.trial.id: record.asked_at for record in study.records()}

    def plan(trials: Mapping[int, Trial]) -> Plan:
        made = make_plan(rows, trials, space, metrics, asked_at=times, refused=unreadable, **choices)
        return replace(made, unread=unread)

    if dry_run:
        return replace(plan({trial.id: trial for trial in known}), dry_run=True)
    made: list[Plan] = []

    def lists(trials: Mapping[int, Trial]) -> tuple[list[Trial], list[Trial]]:
        made[:] = [plan(trials)]
        if made[0].refused:
            raise TellError(refusal(made[0]))
        return made[0].revised, list(made[0].new)

    stored = study.tell_rows(lists)
    return replace(made[0], new=tuple(stored[len(made[0].revised) :]))
