"""Studies in an SQLite file: the statements."""

from __future__ import annotations

import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeVar

from ccgbo.errors import StudyExistsError, StudyNotFoundError
from ccgbo.records import Trial
from ccgbo.storage.base import Lost, Progress, StudyInfo, Unit, View, not_found
from ccgbo.storage.database import Database
from ccgbo.storage.rows import (
    StudyRow,
    TrialRow,
    place_of,
    read_study,
    read_trials,
    reading,
    storable_text,
    study_columns,
    to_json,
    trial_columns,
)
from ccgbo.storage.workers import is_ended_here, is_silent, read_clock

T = TypeVar("T")

EXTERNAL = "external"  # origin of a trial that the study did not suggest


class SQLiteStore:
    """Many studies in one file."""

    def __init__(self, path: str | os.PathLike[str], *, create: bool) -> None:
        self._database = Database(path, create=create)

    @property
    def address(self) -> str:
        return str(self._database.path)

    def close(self) -> None:
        self._database.close()

    # -- studies

    def names(self) -> list[str]:
        query = "SELECT name FROM studies ORDER BY id"
        return self._database.read(lambda c: [str(row[0]) for row in c.execute(query)])

    def infos(self) -> list[StudyInfo]:
        return self._database.read(self._infos)

    def _infos(self, connection: sqlite3.Connection) -> list[StudyInfo]:
        query = """
            SELECT name, direction, created, count(t.id) AS n_trials,
                   count(*) FILTER (WHERE state = 'complete') AS n_complete,
                   count(*) FILTER (WHERE state = 'failed') AS n_failed,
                   count(*) FILTER (WHERE state = 'pending') AS n_pending,
                   CASE direction WHEN 'maximize' THEN max(value) ELSE min(value) END AS best_value
            FROM studies s LEFT JOIN trials t ON t.study = s.id GROUP BY s.id ORDER BY s.id
        """
        infos = []
        for row in _rows(connection, query):
            for column, types in _INFO_TYPES.items():
                with reading(place_of(self.address, str(row["name"]), column)):
                    if not isinstance(row[column], types):
                        raise TypeError(f"it is {row[column]!r}")
            infos.append(StudyInfo(**dict(row)))
        return infos

    def find(self, name: str) -> StudyRow | None:
        return self._database.read(lambda connection: self._find(connection, name))

    def _find(self, connection: sqlite3.Connection, name: str) -> StudyRow | None:
        row = _rows(connection, "SELECT * FROM studies WHERE name = ?", name).fetchone()
        return None if row is None else read_study(row, self.address)

    def create(self, study: StudyRow) -> StudyRow:
        def create(connection: sqlite3.Connection) -> StudyRow:
            if connection.execute("SELECT 1 FROM studies WHERE name = ?", (study.name,)).fetchone() is not None:
                raise StudyExistsError(f"{self.address!r} already has a study {study.name!r}.")
            last = connection.execute("SELECT max(id) FROM studies").fetchone()[0] or 0
            new = replace(study, id=max(_new_id(), last + 1))  # two of one millisecond stay in order
            _insert(connection, "studies", study_columns(new))
            return new

        return self._database.write(create)

    def delete(self, name: str) -> None:
        def delete(connection: sqlite3.Connection) -> None:
            if connection.execute("DELETE FROM studies WHERE name = ?", (name,)).rowcount == 0:
                names = [row[0] for row in connection.execute("SELECT name FROM studies ORDER BY id")]
                raise StudyNotFoundError(not_found(self.address, name, names))

        self._database.write(delete)

    # -- one study

    def read(self, study: int, work: Callable[[View], T]) -> T:
        return self._database.read(lambda connection: work(SQLiteUnit(connection, self.address, study)))

    def write(self, study: int, work: Callable[[Unit], T], *, on_rollback: Callable[[], None] | None = None) -> T:
        return self._database.write(
            lambda connection: work(SQLiteUnit(connection, self.address, study)), on_rollback=on_rollback
        )


class SQLiteUnit:
    """One study within a transaction."""

    def __init__(self, connection: sqlite3.Connection, address: str, study: int) -> None:
        self._connection, self._address, self._study = connection, address, study
        row = connection.execute("SELECT name FROM studies WHERE id = ?", (study,)).fetchone()
        if row is None:
            raise StudyNotFoundError(f"the study was deleted from {address!r}.")
        self._name = str(row[0])

    def row(self) -> StudyRow:
        return read_study(self._rows("SELECT * FROM studies WHERE id = ?").fetchone(), self._address)

    def revision(self) -> int:
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
        return self._one(f"SELECT count(*) FROM trials WHERE study = ? AND origin != '{EXTERNAL}'", "origin")

    def progress(self) -> Progress:
        query = f"""
            SELECT count(*) FILTER (WHERE origin != '{EXTERNAL}' AND state != 'pending') AS done,
                   count(*) FILTER (WHERE origin != '{EXTERNAL}' AND state = 'failed') AS failed,
                   CASE direction WHEN 'maximize' THEN max(value) ELSE min(value) END AS best
            FROM studies s LEFT JOIN trials t ON t.study = s.id WHERE s.id = ?
        """
        row = self._rows(query).fetchone()
        with reading(place_of(self._address, self._name, "value")):
            best = None if row["best"] is None else float(row["best"])
        return Progress(done=row["done"], failed=row["failed"], best=best)

    def held(self) -> bool:
        query = "SELECT 1 FROM trials WHERE study = ? AND state = 'pending' AND (released OR heartbeat IS NOT NULL)"
        return self._rows(query).fetchone() is not None

    def lost(self, patience: float) -> list[Lost]:
        query = """
            SELECT * FROM trials WHERE study = ? AND state = 'pending' AND (released OR heartbeat IS NOT NULL)
            ORDER BY id
        """
        found = []
        for row in self._trials(query):
            if row.released or (row.worker is not None and is_ended_here(row.worker)):
                found.append(Lost(trial=row.trial, crashed=False))
            elif row.heartbeat is not None and is_silent(row.worker, row.heartbeat, row.clock, patience):
                found.append(Lost(trial=row.trial, crashed=True))
        return found

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
            else:
                columns |= {"told_at": now, "completion_order": self._count_up("n_told")}
            _insert(self._connection, "trials", columns)
            added.append(trial)
        self._change("UPDATE studies SET n_asked = n_asked + ? WHERE id = ?", len(added), self._study)
        return added

    def finish(self, trial: Trial) -> Trial:
        trial = replace(trial, error=storable_text(trial.error))
        self._change(
            "UPDATE trials SET state = ?, value = ?, noise_variance = ?, error = ?, told_at = ?, completion_order = ?, "
            "revision = ?, released = 0, worker = NULL, heartbeat = NULL, clock = NULL WHERE study = ? AND id = ?",
            *(trial.state, trial.value, trial.noise_variance, trial.error),
            *(time.time(), self._count_up("n_told"), self._count_up("revision")),
            *(self._study, trial.id),
        )
        return trial

    def save_state(self, state: dict[str, Any]) -> None:
        self._change("UPDATE studies SET optimizer_state = ? WHERE id = ?", to_json(state), self._study)

    def claim(self, trial_id: int, worker: str | None) -> None:
        self._set(trial_id, **_hold(worker), released=0)

    def release(self, trial_id: int) -> None:
        self._set(trial_id, **_hold(None), released=1)

    def count_attempt(self, trial_id: int) -> int:
        self._change("UPDATE trials SET attempts = attempts + 1 WHERE study = ? AND id = ?", self._study, trial_id)
        return self._one("SELECT attempts FROM trials WHERE study = ? AND id = ?", "attempts", trial_id)

    def beat(self, worker: str) -> None:
        held = _hold(worker)
        self._change(
            "UPDATE trials SET heartbeat = ?, clock = ? WHERE study = ? AND state = 'pending' AND worker = ?",
            *(held["heartbeat"], held["clock"], self._study, worker),
        )

    def _set(self, trial_id: int, **columns: Any) -> None:
        marks = ", ".join(f"{name} = ?" for name in columns)
        query = f"UPDATE trials SET {marks} WHERE study = ? AND id = ? AND state = 'pending'"
        self._change(query, *columns.values(), self._study, trial_id)

    # -- statements

    def _rows(self, query: str, *values: Any) -> sqlite3.Cursor:
        return _rows(self._connection, query, self._study, *values)

    def _trials(self, query: str, *values: Any) -> list[TrialRow]:
        return read_trials(self._rows(query, *values).fetchall(), self._address, self._name)

    def _one(self, query: str, column: str, *values: Any) -> int:
        with reading(place_of(self._address, self._name, column)):
            return int(self._rows(query, *values).fetchone()[0])

    def _change(self, statement: str, *values: Any) -> None:
        self._connection.execute(statement, values)

    def _count_up(self, column: str) -> int:
        self._change(f"UPDATE studies SET {column} = {column} + 1 WHERE id = ?", self._study)
        return self._one(f"SELECT {column} FROM studies WHERE id = ?", column)


_INFO_TYPES: dict[str, Any] = {"name": str, "direction": str, "created": float | int, "best_value": float | int | None}


def _hold(worker: str | None) -> dict[str, Any]:
    """Columns that say who holds a trial; somebody who asked by hand has no heartbeat."""
    clock, now = (None, None) if worker is None else read_clock()
    return {"worker": worker, "heartbeat": now, "clock": clock}


def _new_id() -> int:
    """Never given before, in this file or another, and growing with time: milliseconds and 20 bits of chance."""
    return (time.time_ns() // 1_000_000) << 20 | secrets.randbits(20)


def _rows(connection: sqlite3.Connection, query: str, *values: Any) -> sqlite3.Cursor:
    cursor = connection.cursor()
    cursor.row_factory = sqlite3.Row
    return cursor.execute(query, values)


def _insert(connection: sqlite3.Connection, table: str, columns: dict[str, Any]) -> None:
    marks = ", ".join("?" * len(columns))
    connection.execute(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", tuple(columns.values()))
