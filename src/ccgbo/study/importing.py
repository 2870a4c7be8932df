"""Rows of a table into a study: outcomes of its own trials by their id, everything else as told from elsewhere.

Nothing is taken in twice. A row with the id and the params of a trial belongs to that trial: it tells it if it is
pending, and is passed over if it says what was told already. Any other row is new, unless the study has as many
finished trials with these params and this outcome as the table has rows.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ccgbo.errors import CcgboError, TellError
from ccgbo.outcomes import outcome_of
from ccgbo.records import Trial
from ccgbo.space import Categorical, Space
from ccgbo.space.numeric import is_finite
from ccgbo.study.cells import as_float, is_missing, read_cell, unguard
from ccgbo.study.study import Study

ROUNDING = 1e-5  # relative: a spreadsheet that shows 1.23457E-05 saves no more
LISTED = 10  # changed values in a message


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What became of the rows of a table."""

    told: int  # pending trials of the study that have their outcome now
    unchanged: int  # rows that the study had already
    added: int  # rows from elsewhere
    open: int  # rows without a value
    trials: tuple[Trial, ...]  # told and added ones, as the study has them now

    def __str__(self) -> str:
        trials = "trial" if self.told == 1 else "trials"
        text = f"told {self.told} pending {trials}, skipped {self.unchanged} unchanged, added {self.added} new"
        return text + (f", left {self.open} without a value" if self.open else "")


@dataclass(frozen=True, slots=True)
class Row:
    number: int  # from 1
    id: int | None
    params: dict[str, Any] | None  # None where a row has only an id
    outcome: dict[str, Any] | None  # None while there is no value


def import_table(study: Study, table: Any, *, value: str = "value", as_text: bool = False) -> Imported:
    """Tell a study the outcomes in a DataFrame or a list of rows, all or none.

    A row whose state is "pending", or that has neither a value nor a state, is left out. ``as_text`` is for tables
    whose cells are all text: there quotes tell the choice "1" from the choice 1.
    """
    rows = []
    listed: Iterable[Any] = table.to_dict("records") if hasattr(table, "to_dict") else table
    for number, row in enumerate(listed, start=1):
        try:
            rows.append(_read_row(study.space, number, row, value, as_text))
        except CcgboError as error:
            raise TellError(f"row {number}: {error}") from None
    plan = _Plan(study.space, rows)
    trials = study.tell_rows(plan)
    n = len(trials) - plan.added
    return Imported(told=n, unchanged=plan.unchanged, added=plan.added, open=plan.open, trials=tuple(trials))


class _Plan:
    """Which rows tell which trials; called with the trials of the study while nobody else can change them."""

    def __init__(self, space: Space, rows: list[Row]) -> None:
        self._space, self._rows = space, rows
        self.unchanged = self.added = self.open = 0

    def __call__(self, trials: Mapping[int, Trial]) -> tuple[list[Trial], list[Trial]]:
        self.unchanged = self.added = self.open = 0
        own = [row for row in self._rows if self._is_of(row, trials)]
        done = self._tell(own, trials)
        ids, numbers = {row.id for row in own}, {row.number for row in own}
        there = Counter(_key(trial) for trial in trials.values() if trial.id not in ids and trial.state != "pending")
        new: list[Trial] = []
        for row in self._rows:
            if row.number in numbers:
                continue
            if row.params is None:
                raise TellError(f"row {row.number}: there must be the params, or the id of a trial, got id {row.id!r}.")
            if row.outcome is None:
                self.open += 1
                continue
            trial = Trial(id=-1, params=row.params, origin="external").with_outcome(**row.outcome)
            if there[_key(trial)] > 0:
                there[_key(trial)] -= 1
                self.unchanged += 1
            else:
                new.append(trial)
        self.added = len(new)
        return done, new

    def _is_of(self, row: Row, trials: Mapping[int, Trial]) -> bool:
        known = None if row.id is None else trials.get(row.id)
        return known is not None and (row.params is None or _same(self._space, row.params, known.params))

    def _tell(self, rows: list[Row], trials: Mapping[int, Trial]) -> list[Trial]:
        done: dict[int, Trial] = {}
        changed: list[str] = []
        for row in rows:
            assert row.id is not None
            known = done.get(row.id, trials[row.id])
            if row.outcome is None:
                self.open += known.state == "pending"
                self.unchanged += known.state != "pending"
            elif known.state == "pending":
                done[row.id] = known.with_outcome(**row.outcome)
            elif _agrees(known, row.outcome):
                self.unchanged += 1
            else:
                before, after = _shown(known.state, known.value), _shown(row.outcome["state"], row.outcome.get("value"))
                changed.append(f"trial {row.id} from {before} to {after} (row {row.number})")
        if changed:
            more = f" and {len(changed) - LISTED} more" if len(changed) > LISTED else ""
            raise TellError(
                f"a table cannot change what was told already, and nothing was imported: it would change "
                f"{', '.join(changed[:LISTED])}{more}."
            )
        return list(done.values())


def _shown(state: str, value: float | None) -> str:
    return state if value is None else repr(value)


def _same(space: Space, params: Mapping[str, Any], known: Mapping[str, Any]) -> bool:
    """One point, but for what a spreadsheet rounds."""
    return params.keys() == known.keys() and bool(
        np.all(np.abs(space.encode(params) - space.encode(known)) <= ROUNDING)
    )


def _agrees(known: Trial, outcome: Mapping[str, Any]) -> bool:
    if known.state != outcome["state"]:
        return False
    pairs = [(known.value, outcome.get("value")), (known.noise_variance, outcome.get("noise_variance"))]
    return all(a is None or b is None or math.isclose(a, b, rel_tol=ROUNDING) for a, b in pairs)


def _key(trial: Trial) -> str:
    """Point and outcome; JSON tells 1 from "1" and from true."""
    return json.dumps([sorted(trial.params.items()), trial.state, trial.value, trial.noise_variance])


# -- rows


def _read_row(space: Space, number: int, row: Any, column: str, as_text: bool) -> Row:
    if not isinstance(row, Mapping):
        raise TellError(f"a row must map columns to values, got {row!r}.")
    if None in row:
        raise TellError(f"there are more cells than columns: {row[None]!r}.")
    trial_id, params = _read_id(space, row), _read_params(space, row, as_text)
    if params is None and trial_id is None:
        params = {}  # refused with the name of what is missing
    if params is not None:
        space.encode(params)
        params = space.canonical(params)
    return Row(number, trial_id, params, _read_outcome(row, column, as_text))


def _read_id(space: Space, row: Mapping[str, Any]) -> int | None:
    cell = row.get("id")
    if is_missing(cell) or ("id" in space and "params_id" not in row and "params" not in row):
        return None
    number: Any = as_float(cell) if isinstance(cell, str) else cell
    if not is_finite(number) or number != int(number):
        raise TellError(f"id must be a whole number, got {cell!r}.")
    return int(number)


def _read_outcome(row: Mapping[str, Any], column: str, as_text: bool) -> dict[str, Any] | None:
    found, noise, error = row.get(column), row.get("noise_variance"), row.get("error")
    if not is_missing(found):
        noise = None if is_missing(noise) else _read_number("noise_variance", noise)
        return outcome_of(_read_number("value", found), failed=False, noise_variance=noise, error=None)
    if row.get("state") == "failed":
        text = None if is_missing(error) else unguard(str(error)) if as_text else str(error)
        text = None if text is None else text.encode("utf-8", "backslashreplace").decode()  # a file holds no surrogates
        return outcome_of(None, failed=True, noise_variance=None, error=text)
    if column not in row:
        raise TellError(f"there must be a column {column!r}, got {list(row)!r}.")
    return None


def _read_number(name: str, cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    try:
        return float(cell)
    except ValueError:
        raise TellError(f"{name} must be a number, got {cell!r}.") from None


def _read_params(space: Space, row: Mapping[str, Any], as_text: bool) -> dict[str, Any] | None:
    """The params of a row; None where it has none at all."""
    given = row.get("params")
    if isinstance(given, Mapping):
        return dict(given)
    cells = {name: row.get(f"params_{name}", row.get(name)) for name in space}
    if not any(name in row or f"params_{name}" in row for name in space):
        return None
    params, blank = {}, []
    for name, parameter in space.items():
        cell = cells[name]
        stands_for_itself = (
            not as_text and cell == "" and isinstance(parameter, Categorical) and "" in parameter.choices
        )
        if is_missing(cell) and not stands_for_itself:
            blank.append(name)
        else:
            params[name] = read_cell(name, parameter, cell, as_text=as_text)
    empty = not params
    _fill_blanks(space, params, blank)
    return params if not empty or _is_complete(space, params) else None


def _is_complete(space: Space, params: Mapping[str, Any]) -> bool:
    return all(name in params or not _is_active(space, name, params) for name in space)


def _fill_blanks(space: Space, params: dict[str, Any], blank: list[str]) -> None:
    """An empty cell of an active parameter is the choice None, or else the empty text."""
    for _ in blank:  # a parent may itself have been filled in
        for name in blank:
            parameter = space[name]
            if name in params or not isinstance(parameter, Categorical) or not _is_active(space, name, params):
                continue
            params |= next(({name: choice} for choice in (None, "") if choice in parameter.choices), {})


def _is_active(space: Space, name: str, params: Mapping[str, Any]) -> bool:
    conditions = (space[name].active_if or {}).items()
    return all(parent in params and _allows(space, parent, params[parent], values) for parent, values in conditions)


def _allows(space: Space, parent: str, value: Any, allowed: Iterable[Any]) -> bool:
    source = space[parent]
    if isinstance(source, Categorical):
        return source.find(value) in [source.find(choice) for choice in allowed]
    return value in allowed
