"""One study of a PostgreSQL database within a transaction: the statements, and who waits for whom.

A study has two locks, always taken in this order and held to the end of the transaction:

- its turn to suggest, an advisory lock (``postgres_turns.py``). Who adds trials has it, so no two suggestions start
  from the same state and no id is given twice.
- its row in ``ccgbo_studies``, which has the counters. Who changes anything of the trials has it when it reads what it
  changes, so changes come in one after the other and a revision is never seen before a smaller one.

A step that tells takes the row alone, for some milliseconds. A step that suggests takes its turn, and the row only when
it stores the suggestion: outcomes told while the model is computed are not held up, and count from the next suggestion
on, exactly as if they had come after this one. Only where it finds trials that wait or are lost does it take the row at
once, so that nobody tells what is being given out again. A step that may change anything takes both.

Times and heartbeats are of the server's clock. Nothing is known of a worker's process here: a worker is gone when it is
silent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ccgbo.errors import StudyNotFoundError
from ccgbo.records import Event, Trial
from ccgbo.storage.base import Lost, Progress, Scope
from ccgbo.storage.columns import place_of, reading
from ccgbo.storage.postgres_link import Connection
from ccgbo.storage.rows import (
    EXTERNAL,
    REDEFINED,
    REVISED,
    StudyRow,
    TrialRow,
    event_columns,
    read_events,
    read_study,
    read_trials,
    storable_text,
    study_columns,
    to_json,
    trial_columns,
)

BEST = """CASE s.direction WHEN 'maximize' THEN max(t.value) FILTER (WHERE t.dropped = 0)
          ELSE min(t.value) FILTER (WHERE t.dropped = 0) END"""
CLOCK = "server"
NOW = object()  # stands for the server's time
_NOW = "extract(epoch FROM clock_timestamp())::float8"
TRIALS = "SELECT * FROM ccgbo_trials WHERE study = %s"


class PostgresUnit:
    """One study within a transaction; without a scope it is only looked at. Who adds trials has its turn already."""

    def __init__(self, connection: Connection, address: str, study: int, scope: Scope | None) -> None:
        self._connection, self._address, self._study = connection, address, study
        self._locked = scope in ("study", "trials")
        self._suggests = scope == "suggestion"
        lock = " FOR NO KEY UPDATE" if self._locked else ""
        row = connection.execute(f"SELECT name FROM ccgbo_studies WHERE id = %s{lock}", (study,)).fetchone()
        if row is None:
            raise self._deleted()
        self._name = row["name"]
        self._row: StudyRow | None = None  # as it was read, until this step changes something

    def _deleted(self) -> StudyNotFoundError:
        return StudyNotFoundError(f"the study was deleted from {self._address!r}.")

    def row(self) -> StudyRow:
        if self._row is None:
            self._row = read_study(self._first("SELECT * FROM ccgbo_studies WHERE id = %s"), self._address)
        return self._row

    def revision(self) -> int:
        if self._row is not None:
            return self._row.revision
        return int(self._first("SELECT revision FROM ccgbo_studies WHERE id = %s")["revision"])

    def changes(self, since: int) -> list[TrialRow]:
        return self._trials(f"{TRIALS} AND revision > %s ORDER BY completion_order NULLS FIRST, id", since)

    def trial(self, trial_id: int) -> TrialRow | None:
        if not 0 <= trial_id < 2**63:
            return None
        found = self._trials(f"{TRIALS} AND id = %s", trial_id)
        return found[0] if found else None

    def suggested(self) -> int:
        query = "SELECT count(*) AS n FROM ccgbo_trials WHERE study = %s AND origin <> %s AND state <> 'abandoned'"
        return int(self._first(query, EXTERNAL)["n"])

    def progress(self) -> Progress:
        ours = f"t.origin <> '{EXTERNAL}'"
        query = f"""
            SELECT count(*) FILTER (WHERE {ours} AND t.state IN ('complete', 'failed')) AS done,
                   count(*) FILTER (WHERE {ours} AND t.state = 'failed') AS failed,
                   {BEST} AS best
            FROM ccgbo_studies s LEFT JOIN ccgbo_trials t ON t.study = s.id WHERE s.id = %s GROUP BY s.id
        """
        return Progress(**self._first(query))

    def waiting(self) -> list[Trial]:
        query = f"{TRIALS} AND state = 'pending' AND released = 1 ORDER BY id"
        return [row.trial for row in self._given_out(query)]

    def held(self) -> bool:
        query = "SELECT 1 FROM ccgbo_trials WHERE study = %s AND state = 'pending' AND heartbeat IS NOT NULL LIMIT 1"
        return bool(self._rows(query))

    def lost(self, patience: float) -> list[Lost]:
        query = f"{TRIALS} AND state = 'pending' AND heartbeat < {_NOW} - %s::float8 ORDER BY id"
        return [Lost(trial=row.trial, crashed=True) for row in self._given_out(query, patience)]

    def events(self) -> list[Event]:
        rows = self._rows("SELECT * FROM ccgbo_events WHERE study = %s ORDER BY seq")
        for row in rows:
            self._decode(row, ("who", "note"))
        return read_events(rows, self._address, self._name)

    # -- changes

    def add(self, trials: Iterable[Trial], worker: str | None) -> list[Trial]:
        new = [replace(trial, error=storable_text(trial.error)) for trial in trials]
        outcomes = [trial.state not in ("pending", "abandoned") for trial in new]
        counters = self._count_up(revision=1, n_asked=len(new), n_told=sum(outcomes))
        asked, order, added = counters["n_asked"] - len(new), counters["n_told"] - sum(outcomes), []
        for i, (given, has_outcome) in enumerate(zip(new, outcomes, strict=True)):
            trial = replace(given, id=asked + i)
            columns = stored_trial(trial) | {"study": self._study, "asked_at": NOW, "revision": counters["revision"]}
            if trial.state == "pending":
                columns |= _hold(worker)
            elif has_outcome:
                order += 1
                columns |= {"told_at": NOW, "completion_order": order}
            insert(self._connection, "ccgbo_trials", columns)
            added.append(trial)
        return added

    def revise(self, trial: Trial) -> Trial:
        trial = replace(trial, error=storable_text(trial.error))
        columns = stored_trial(trial)
        self._lock()
        is_first = trial.state in ("complete", "failed") and self._has_no_place(trial.id)
        counters = self._count_up(revision=1, n_told=int(is_first))
        changed = {name: columns[name] for name in REVISED} | {"revision": counters["revision"]}
        if trial.state != "pending":
            changed |= _hold(None) | {"released": 0}
        if is_first:
            changed |= {"told_at": NOW, "completion_order": counters["n_told"]}
        self._update(trial.id, changed)
        return trial

    def record(self, event: Event) -> None:
        self._lock()
        last = self._first("SELECT coalesce(max(seq), 0) AS seq FROM ccgbo_events WHERE study = %s")["seq"]
        insert(self._connection, "ccgbo_events", {"study": self._study, "seq": last + 1} | stored_event(event))

    def save_state(self, state: dict[str, Any]) -> None:
        self._change("UPDATE ccgbo_studies SET optimizer_state = %s WHERE id = %s", to_json(state), self._study)

    def save_definition(self, study: StudyRow) -> None:
        columns = study_columns(study)
        marks = ", ".join(f"{name} = %s" for name in REDEFINED)
        values = [columns[name] for name in REDEFINED]
        self._change(f"UPDATE ccgbo_studies SET {marks} WHERE id = %s", *values, self._study)
        self._count_up(n_changes=1, revision=1)

    def claim(self, trial_id: int, worker: str | None) -> None:
        self._lock()
        self._update(trial_id, _hold(worker) | {"released": 0}, " AND state = 'pending'")

    def release(self, trial_id: int) -> None:
        self._lock()
        self._update(trial_id, _hold(None) | {"released": 1}, " AND state = 'pending'")

    def count_attempt(self, trial_id: int) -> int:
        self._lock()
        query = "UPDATE ccgbo_trials SET attempts = attempts + 1 WHERE study = %s AND id = %s RETURNING attempts"
        return int(self._first(query, trial_id)["attempts"])

    def beat(self, worker: str) -> None:
        self._change(
            f"UPDATE ccgbo_trials SET heartbeat = {_NOW}, clock = %s WHERE study = %s AND state = 'pending' "
            "AND worker = %s",
            *(CLOCK, self._study, worker),
        )

    def leave(self) -> None:
        self._change("DELETE FROM ccgbo_studies WHERE id = %s", self._study)

    # -- statements

    def _lock(self) -> None:
        """The study's row, where this step did not begin with it."""
        if not self._locked:
            query = "SELECT 1 FROM ccgbo_studies WHERE id = %s FOR NO KEY UPDATE"
            if not self._rows(query):
                raise self._deleted()
            self._locked = True

    def _given_out(self, query: str, *values: Any) -> list[TrialRow]:
        """Trials that may be given out again: nobody tells them between this look and the end of the step."""
        found = self._trials(query, *values)
        if found and self._suggests and not self._locked:
            self._lock()
            found = self._trials(query, *values)
        return found

    def _rows(self, query: str, *values: Any) -> list[dict[str, Any]]:
        return self._connection.execute(query, (self._study, *values)).fetchall()

    def _first(self, query: str, *values: Any) -> dict[str, Any]:
        row = self._connection.execute(query, (self._study, *values)).fetchone()
        if row is None:
            raise self._deleted()
        return row

    def _trials(self, query: str, *values: Any) -> list[TrialRow]:
        rows = self._rows(query, *values)
        for row in rows:
            self._decode(row, ("error",))
        return read_trials(rows, self._address, self._name)

    def _decode(self, row: dict[str, Any], columns: tuple[str, ...]) -> None:
        for column in columns:
            if row[column] is not None:
                with reading(place_of(self._address, self._name, column)):
                    row[column] = json.loads(row[column])

    def _change(self, statement: str, *values: Any) -> None:
        self._row = None
        self._connection.execute(statement, values)

    def _update(self, trial_id: int, columns: dict[str, Any], only: str = "") -> None:
        marks = ", ".join(f"{name} = {_mark(value)}" for name, value in columns.items())
        self._change(
            f"UPDATE ccgbo_trials SET {marks} WHERE study = %s AND id = %s{only}",
            *_given(columns),
            *(self._study, trial_id),
        )

    def _has_no_place(self, trial_id: int) -> bool:
        """Whether a trial had no outcome yet."""
        query = "SELECT 1 FROM ccgbo_trials WHERE study = %s AND id = %s AND completion_order IS NULL"
        return bool(self._rows(query, trial_id))

    def _count_up(self, **by: int) -> dict[str, Any]:
        """Counters of the study raised together, and what they are then."""
        self._row = None
        sums = ", ".join(f"{column} = {column} + %s" for column in by)
        query = f"UPDATE ccgbo_studies SET {sums} WHERE id = %s RETURNING {', '.join(by)}"
        row = self._connection.execute(query, (*by.values(), self._study)).fetchone()
        if row is None:
            raise self._deleted()
        return row


def _hold(worker: str | None) -> dict[str, Any]:
    """Columns that say who holds a trial; somebody who asked by hand has no heartbeat."""
    clock, now = (None, None) if worker is None else (CLOCK, NOW)
    return {"worker": worker, "heartbeat": now, "clock": clock}


def stored_trial(trial: Trial) -> dict[str, Any]:
    columns = trial_columns(trial)
    return columns | {"error": _text(columns["error"])}


def stored_event(event: Event) -> dict[str, Any]:
    columns = event_columns(event)
    return columns | {name: _text(columns[name]) for name in ("who", "note")}


def _text(text: str | None) -> str | None:
    return None if text is None else json.dumps(text)


def insert(connection: Connection, table: str, columns: dict[str, Any]) -> None:
    marks = ", ".join(map(_mark, columns.values()))
    connection.execute(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", _given(columns))


def _mark(value: Any) -> str:
    return _NOW if value is NOW else "%s"


def _given(columns: dict[str, Any]) -> list[Any]:
    return [value for value in columns.values() if value is not NOW]
