"""The statements on a study file. Methods that take a connection run inside the caller's transaction."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from ccgbo.errors import StudyExistsError, StudyNotFoundError
from ccgbo.records import Direction, Trial
from ccgbo.storage.database import Database
from ccgbo.storage.rows import STUDY_JSON, StudyRow, TrialRow, to_json, trial_columns
from ccgbo.storage.workers import is_gone


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyInfo:
    """One study of a file at a glance."""

    name: str
    direction: Direction
    n_trials: int
    n_complete: int
    n_failed: int
    n_pending: int
    best_value: float | None
    created: float  # seconds since 1970


class StudyFile(Database):
    """Studies and trials."""

    # -- studies

    def names(self, connection: sqlite3.Connection) -> list[str]:
        return [row[0] for row in connection.execute("SELECT name FROM studies ORDER BY id")]

    def find(self, connection: sqlite3.Connection, name: str) -> StudyRow | None:
        row = _rows(connection, "SELECT * FROM studies WHERE name = ?", name).fetchone()
        return None if row is None else StudyRow.read(row)

    def by_id(self, connection: sqlite3.Connection, study: int) -> StudyRow:
        row = _rows(connection, "SELECT * FROM studies WHERE id = ?", study).fetchone()
        if row is None:
            raise StudyNotFoundError(f"the study was deleted from {str(self.path)!r}.")
        return StudyRow.read(row)

    def create(self, connection: sqlite3.Connection, study: StudyRow) -> StudyRow:
        if self.find(connection, study.name) is not None:
            raise StudyExistsError(f"{str(self.path)!r} already has a study {study.name!r}.")
        fields = {name: getattr(study, name) for name in study.__slots__ if name != "id"}
        fields |= {name: to_json(fields[name]) for name in STUDY_JSON}
        new = _insert(connection, "studies", fields)
        return replace(study, id=new)

    def delete(self, connection: sqlite3.Connection, name: str) -> None:
        if connection.execute("DELETE FROM studies WHERE name = ?", (name,)).rowcount == 0:
            raise StudyNotFoundError(not_found(str(self.path), name, self.names(connection)))

    def infos(self, connection: sqlite3.Connection) -> list[StudyInfo]:
        query = """
            SELECT name, direction, created, count(t.id) AS n_trials,
                   count(*) FILTER (WHERE state = 'complete') AS n_complete,
                   count(*) FILTER (WHERE state = 'failed') AS n_failed,
                   count(*) FILTER (WHERE state = 'pending') AS n_pending,
                   CASE direction WHEN 'maximize' THEN max(value) ELSE min(value) END AS best_value
            FROM studies s LEFT JOIN trials t ON t.study = s.id GROUP BY s.id ORDER BY s.id
        """
        return [StudyInfo(**dict(row)) for row in _rows(connection, query)]

    # -- trials

    def changes(self, connection: sqlite3.Connection, study: int, since: int) -> list[TrialRow]:
        """Trials that changed after revision ``since``, outcomes in the order they were told."""
        query = "SELECT * FROM trials WHERE study = ? AND revision > ? ORDER BY told_as, id"
        return TrialRow.read(_rows(connection, query, study, since).fetchall())

    def trial(self, connection: sqlite3.Connection, study: int, trial_id: int) -> Trial | None:
        rows = _rows(connection, "SELECT * FROM trials WHERE study = ? AND id = ?", study, trial_id).fetchall()
        return TrialRow.read(rows)[0].trial if rows else None

    def add(self, connection: sqlite3.Connection, study: int, trials: Iterable[Trial], worker: str | None) -> None:
        """New trials, pending for ``worker`` or told already."""
        now, revision = time.time(), self._next_revision(connection, study)
        added = 0
        for trial in trials:
            pending = trial.state == "pending"
            fields = trial_columns(trial) | {"study": study, "asked": now, "revision": revision}
            if pending:
                fields |= {"worker": worker, "heartbeat": None if worker is None else now}
            else:
                fields |= {"told": now, "told_as": self._next_told(connection, study)}
            _insert(connection, "trials", fields)
            added += 1
        connection.execute("UPDATE studies SET n_asked = n_asked + ? WHERE id = ?", (added, study))

    def finish(self, connection: sqlite3.Connection, study: int, trial: Trial) -> None:
        """The outcome of a pending trial."""
        connection.execute(
            "UPDATE trials SET state = ?, value = ?, noise_variance = ?, error = ?, told = ?, told_as = ?, "
            "revision = ?, queued = 0, worker = NULL, heartbeat = NULL WHERE study = ? AND id = ?",
            (
                *(trial.state, trial.value, trial.noise_variance, trial.error),
                *(time.time(), self._next_told(connection, study), self._next_revision(connection, study)),
                *(study, trial.id),
            ),
        )

    def save_cursor(self, connection: sqlite3.Connection, study: int, cursor: dict[str, Any]) -> None:
        connection.execute("UPDATE studies SET cursor = ? WHERE id = ?", (to_json(cursor), study))

    # -- who works on what

    def abandoned(self, connection: sqlite3.Connection, study: int, patience: float) -> list[Trial]:
        """Pending trials to give out again: put back, or held by a worker that is gone or silent for too long."""
        query = """
            SELECT * FROM trials WHERE study = ? AND state = 'pending' AND (queued OR heartbeat IS NOT NULL) ORDER BY id
        """
        oldest = time.time() - patience
        rows = TrialRow.read(_rows(connection, query, study).fetchall())
        return [row.trial for row in rows if row.queued or _silent(row, oldest)]

    def held(self, connection: sqlite3.Connection, study: int) -> bool:
        """Whether a worker with a heartbeat holds a trial, or one waits to be given out."""
        query = "SELECT 1 FROM trials WHERE study = ? AND state = 'pending' AND (queued OR heartbeat IS NOT NULL)"
        return connection.execute(query, (study,)).fetchone() is not None

    def claim(self, connection: sqlite3.Connection, study: int, trial_id: int, worker: str | None) -> None:
        """Hand a trial to ``worker``; None is somebody who will tell in their own time."""
        self._hold(connection, study, trial_id, 0, worker, None if worker is None else time.time())

    def put_back(self, connection: sqlite3.Connection, study: int, trial_id: int) -> None:
        self._hold(connection, study, trial_id, 1, None, None)

    def _hold(self, connection: sqlite3.Connection, study: int, trial_id: int, *values: Any) -> None:
        connection.execute(
            "UPDATE trials SET queued = ?, worker = ?, heartbeat = ? WHERE study = ? AND id = ? AND state = 'pending'",
            (*values, study, trial_id),
        )

    def beat(self, connection: sqlite3.Connection, study: int, worker: str) -> None:
        connection.execute(
            "UPDATE trials SET heartbeat = ? WHERE study = ? AND state = 'pending' AND worker = ?",
            (time.time(), study, worker),
        )

    # -- counters

    def suggested(self, connection: sqlite3.Connection, study: int) -> int:
        """Trials that the study suggested, in contrast to values told from elsewhere."""
        query = "SELECT count(*) FROM trials WHERE study = ? AND origin != 'told'"
        return int(connection.execute(query, (study,)).fetchone()[0])

    def progress(
        self, connection: sqlite3.Connection, study: int, direction: Direction
    ) -> tuple[int, int, float | None]:
        """Suggestions that are done, those that failed, and the best value of all trials."""
        best = "max" if direction == "maximize" else "min"
        query = f"""
            SELECT count(*) FILTER (WHERE origin != 'told' AND state != 'pending'),
                   count(*) FILTER (WHERE origin != 'told' AND state = 'failed'), {best}(value)
            FROM trials WHERE study = ?
        """
        done, failed, value = connection.execute(query, (study,)).fetchone()
        return done, failed, value

    def _next_revision(self, connection: sqlite3.Connection, study: int) -> int:
        return self._count_up(connection, study, "revision")

    def _next_told(self, connection: sqlite3.Connection, study: int) -> int:
        return self._count_up(connection, study, "n_told")

    def _count_up(self, connection: sqlite3.Connection, study: int, column: str) -> int:
        connection.execute(f"UPDATE studies SET {column} = {column} + 1 WHERE id = ?", (study,))
        row = connection.execute(f"SELECT {column} FROM studies WHERE id = ?", (study,)).fetchone()
        if row is None:
            raise StudyNotFoundError(f"the study was deleted from {str(self.path)!r}.")
        return int(row[0])


def _silent(row: TrialRow, oldest: float) -> bool:
    assert row.heartbeat is not None
    return row.heartbeat < oldest or (row.worker is not None and is_gone(row.worker))


def _rows(connection: sqlite3.Connection, query: str, *values: Any) -> sqlite3.Cursor:
    cursor = connection.cursor()
    cursor.row_factory = sqlite3.Row
    return cursor.execute(query, values)


def _insert(connection: sqlite3.Connection, table: str, fields: dict[str, Any]) -> int:
    columns = ", ".join(fields)
    marks = ", ".join("?" * len(fields))
    cursor = connection.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", tuple(fields.values()))
    return int(cursor.lastrowid or 0)


def not_found(path: str, name: str, names: list[str]) -> str:
    return f"{path!r} has no study {name!r}; it has {names!r}."


def list_studies(path: str | os.PathLike[str]) -> list[StudyInfo]:
    """Every study of a file, oldest first."""
    file = StudyFile(path, create=False)
    try:
        with file.read() as connection:
            return file.infos(connection)
    finally:
        file.close()


def delete_study(path: str | os.PathLike[str], name: str) -> None:
    """Remove a study and its trials from a file."""
    file = StudyFile(path, create=False)
    try:
        with file.write() as connection:
            file.delete(connection, name)
    finally:
        file.close()
