"""One study of an SQLite file within a transaction: the statements."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ccgbo.errors import StudyNotFoundError
from ccgbo.records import Event, Trial
from ccgbo.storage.base import Lost, Progress
from ccgbo.storage.columns import place_of, reading
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
from ccgbo.storage.workers import is_ended_here, is_silent, read_clock

# of the trials in the model, whatever is to be found
BEST = """CASE direction WHEN 'maximize' THEN max(value) FILTER (WHERE NOT dropped)
          ELSE min(value) FILTER (WHERE NOT dropped) END"""


class SQLiteUnit:
    """One study within a transaction."""

    def __init__(self, connection: sqlite3.Connection, address: str, study: int) -> None:
        self._connection, self._address, self._study = connection, address, study
        row = connection.execute("SELECT name FROM studies WHERE id = ?", (study,)).fetchone()
        if row is None:
            raise StudyNotFoundError(f"the study was deleted from {address!r}.")
        self._name = str(row[0])
        self._row: StudyRow | None = None  # as it was read, until something is changed

    def row(self) -> StudyRow:
        if self._row is None:
            self._row = read_study(self._rows("SELECT * FROM studies WHERE id = ?").fetchone(), self._address)
        return self._row

    def revision(self) -> int:
        if self._row is not None:
            return self._row.revision
        return self._one("SELECT revision FROM studies WHERE id = ?", "revision")

    def changes(self, since: int) -> list[TrialRow]:
        return self._trials(
            "SELECT * FROM trials WHERE study = ? AND revision > ? ORDER BY completion_order, id", since
        )

    def trial(self, trial_id: int) -> TrialRow | None:
        if not 0 <= trial_id < 2**63:
            return None
        found = self._trials("SELECT * FROM trials WHERE study = ? AND id = ?", trial_id)
        return found[0] if found else None

    def suggested(self) -> int:
        counted = f"origin != '{EXTERNAL}' AND state != 'abandoned'"
        return self._one(f"SELECT count(*) FROM trials WHERE study = ? AND {counted}", "origin")

    def progress(self) -> Progress:
        query = f"""
            SELECT count(*) FILTER (WHERE origin != '{EXTERNAL}' AND state IN ('complete', 'failed')) AS done,
                   count(*) FILTER (WHERE origin != '{EXTERNAL}' AND state = 'failed') AS failed,
                   {BEST} AS best
            FROM studies s LEFT JOIN trials t ON t.study = s.id WHERE s.id = ?
        """
        row = self._rows(query).fetchone()
        with reading(place_of(self._address, self._name, "value")):
            best = None if row["best"] is None else float(row["best"])
        return Progress(done=row["done"], failed=row["failed"], best=best)

    def waiting(self) -> list[Trial]:
        query = "SELECT * FROM trials WHERE study = ? AND state = 'pending' AND released ORDER BY id"
        return [row.trial for row in self._trials(query)]

    def held(self) -> bool:
        query = "SELECT 1 FROM trials WHERE study = ? AND state = 'pending' AND heartbeat IS NOT NULL"
        return self._rows(query).fetchone() is not None

    def lost(self, patience: float) -> list[Lost]:
        query = "SELECT * FROM trials WHERE study = ? AND state = 'pending' AND heartbeat IS NOT NULL ORDER BY id"
        found = []
        for row in self._trials(query):
            if row.worker is not None and is_ended_here(row.worker):
                found.append(Lost(trial=row.trial, crashed=False))
            elif row.heartbeat is not None and is_silent(row.worker, row.heartbeat, row.clock, patience):
                found.append(Lost(trial=row.trial, crashed=True))
        return found

    def events(self) -> list[Event]:
        rows = self._rows("SELECT * FROM events WHERE study = ? ORDER BY seq").fetchall()
        return read_events(rows, self._address, self._name)

    # -- changes

    def add(self, trials: Iterable[Trial], worker: str | None) -> list[Trial]:
        now, revision = time.time(), self._count_up("revision")
        first = self._one("SELECT n_asked FROM studies WHERE id = ?", "n_asked")
        added = []
        for i, given in enumerate(trials):
            trial = replace(given, id=first + i, error=storable_text(given.error))
            columns = trial_columns(trial) | {"study": self._study, "asked_at": now, "revision": revision}
            if trial.state == "pending":
                columns |= _hold(worker)
            elif trial.state != "abandoned":
                columns |= {"told_at": now, "completion_order": self._count_up("n_told")}
            insert(self._connection, "trials", columns)
            added.append(trial)
        self._change("UPDATE studies SET n_asked = n_asked + ? WHERE id = ?", len(added), self._study)
        return added

    def revise(self, trial: Trial) -> Trial:
        trial = replace(trial, error=storable_text(trial.error))
        columns = trial_columns(trial)
        changed = {name: columns[name] for name in REVISED} | {"revision": self._count_up("revision")}
        if trial.state != "pending":
            changed |= _hold(None) | {"released": 0}
        self._update(trial.id, changed)
        if trial.state in ("complete", "failed") and self._has_no_place(trial.id):
            self._update(trial.id, {"told_at": time.time(), "completion_order": self._count_up("n_told")})
        return trial

    def record(self, event: Event) -> None:
        last = self._one("SELECT coalesce(max(seq), 0) FROM events WHERE study = ?", "seq")
        insert(self._connection, "events", {"study": self._study, "seq": last + 1} | event_columns(event))

    def save_state(self, state: dict[str, Any]) -> None:
        self._change("UPDATE studies SET optimizer_state = ? WHERE id = ?", to_json(state), self._study)

    def save_definition(self, study: StudyRow) -> None:
        columns = study_columns(study)
        marks = ", ".join(f"{name} = ?" for name in REDEFINED)
        values = [columns[name] for name in REDEFINED]
        self._change(f"UPDATE studies SET {marks} WHERE id = ?", *values, self._study)
        for column in ("n_changes", "revision"):
            self._count_up(column)

    def claim(self, trial_id: int, worker: str | None) -> None:
        self._update(trial_id, _hold(worker) | {"released": 0}, " AND state = 'pending'")

    def release(self, trial_id: int) -> None:
        self._update(trial_id, _hold(None) | {"released": 1}, " AND state = 'pending'")

    def count_attempt(self, trial_id: int) -> int:
        self._change("UPDATE trials SET attempts = attempts + 1 WHERE study = ? AND id = ?", self._study, trial_id)
        return self._one("SELECT attempts FROM trials WHERE study = ? AND id = ?", "attempts", trial_id)

    def beat(self, worker: str) -> None:
        held = _hold(worker)
        self._change(
            "UPDATE trials SET heartbeat = ?, clock = ? WHERE study = ? AND state = 'pending' AND worker = ?",
            *(held["heartbeat"], held["clock"], self._study, worker),
        )

    def leave(self) -> None:
        self._change("DELETE FROM studies WHERE id = ?", self._study)

    # -- statements

    def _rows(self, query: str, *values: Any) -> sqlite3.Cursor:
        return rows_of(self._connection, query, self._study, *values)

    def _trials(self, query: str, *values: Any) -> list[TrialRow]:
        return read_trials(self._rows(query, *values).fetchall(), self._address, self._name)

    def _one(self, query: str, column: str, *values: Any) -> int:
        with reading(place_of(self._address, self._name, column)):
            return int(self._rows(query, *values).fetchone()[0])

    def _change(self, statement: str, *values: Any) -> None:
        self._row = None
        self._connection.execute(statement, values)

    def _update(self, trial_id: int, columns: dict[str, Any], only: str = "") -> None:
        marks = ", ".join(f"{name} = ?" for name in columns)
        self._change(
            f"UPDATE trials SET {marks} WHERE study = ? AND id = ?{only}", *columns.values(), self._study, trial_id
        )

    def _has_no_place(self, trial_id: int) -> bool:
        """Whether a trial had no outcome yet."""
        query = "SELECT 1 FROM trials WHERE study = ? AND id = ? AND completion_order IS NULL"
        return self._rows(query, trial_id).fetchone() is not None

    def _count_up(self, column: str) -> int:
        self._change(f"UPDATE studies SET {column} = {column} + 1 WHERE id = ?", self._study)
        return self._one(f"SELECT {column} FROM studies WHERE id = ?", column)


def _hold(worker: str | None) -> dict[str, Any]:
    """Columns that say who holds a trial; somebody who asked by hand has no heartbeat."""
    clock, now = (None, None) if worker is None else read_clock()
    return {"worker": worker, "heartbeat": now, "clock": clock}


def rows_of(connection: sqlite3.Connection, query: str, *values: Any) -> sqlite3.Cursor:
    cursor = connection.cursor()
    cursor.row_factory = sqlite3.Row
    return cursor.execute(query, values)


def insert(connection: sqlite3.Connection, table: str, columns: dict[str, Any]) -> None:
    marks = ", ".join("?" * len(columns))
    connection.execute(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", tuple(columns.values()))
