"""Studies in an SQLite file."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from ccgbo.errors import StudyExistsError, StudyNotFoundError
from ccgbo.records import Event
from ccgbo.storage.base import Scope, StudyInfo, Unit, View, moved_columns, new_study_id, not_found
from ccgbo.storage.columns import place_of, reading
from ccgbo.storage.database import Database
from ccgbo.storage.glance import IN_MODEL, info_of, with_metrics
from ccgbo.storage.rows import StudyRow, TrialRow, event_columns, read_study, study_columns, trial_columns
from ccgbo.storage.sqlite_unit import BEST, SQLiteUnit, insert, rows_of

T = TypeVar("T")


class SQLiteStore:
    """Many studies in one file."""

    def __init__(self, path: str | os.PathLike[str], *, create: bool) -> None:
        self._database = Database(path, create=create)

    @property
    def address(self) -> str:
        return str(self._database.path)

    @property
    def path(self) -> Path:
        return self._database.path

    def close(self) -> None:
        self._database.close()

    # -- studies

    def names(self) -> list[str]:
        query = "SELECT name FROM studies ORDER BY id"
        return self._database.read(lambda c: [str(row[0]) for row in c.execute(query)])

    def infos(self) -> list[StudyInfo]:
        return self._database.read(self._infos)

    def _infos(self, connection: sqlite3.Connection) -> list[StudyInfo]:
        version = connection.execute("PRAGMA user_version").fetchone()[0]  # an older file that can only be read
        query = f"""
            SELECT s.id, name, direction, {"s.metrics" if version >= 5 else "'null'"} AS metrics, created,
                   count(t.id) AS n_trials,
                   count(*) FILTER (WHERE state = 'complete') AS n_complete,
                   count(*) FILTER (WHERE state = 'failed') AS n_failed,
                   count(*) FILTER (WHERE state = 'pending') AS n_pending,
                   count(*) FILTER (WHERE state = 'abandoned') AS n_abandoned,
                   count(*) FILTER (WHERE dropped) AS n_dropped,
                   {BEST} AS best_value
            FROM studies s LEFT JOIN trials t ON t.study = s.id GROUP BY s.id ORDER BY s.id
        """
        infos = []
        for row in rows_of(connection, query):
            for column, types in _INFO_TYPES.items():
                with reading(place_of(self.address, str(row["name"]), column)):
                    if not isinstance(row[column], types):
                        raise TypeError(f"it is {row[column]!r}")
            columns = dict(row)
            study = columns.pop("id")
            info, metrics = info_of(columns, self.address)
            if metrics is not None:
                measured = f"SELECT value, metrics FROM trials WHERE study = ? AND {IN_MODEL}"
                info = with_metrics(info, metrics, rows_of(connection, measured, study), self.address)
            infos.append(info)
        return infos

    def find(self, name: str) -> StudyRow | None:
        return self._database.read(lambda connection: self._find(connection, name))

    def _find(self, connection: sqlite3.Connection, name: str) -> StudyRow | None:
        row = rows_of(connection, "SELECT * FROM studies WHERE name = ?", name).fetchone()
        return None if row is None else read_study(row, self.address)

    def create(self, study: StudyRow) -> StudyRow:
        return self._database.write(lambda connection: self._create(connection, study))

    def _create(self, connection: sqlite3.Connection, study: StudyRow) -> StudyRow:
        if connection.execute("SELECT 1 FROM studies WHERE name = ?", (study.name,)).fetchone() is not None:
            raise StudyExistsError(f"{self.address!r} already has a study {study.name!r}.")
        last = connection.execute("SELECT max(id) FROM studies").fetchone()[0] or 0
        new = replace(study, id=max(new_study_id(), last + 1))  # two of one millisecond stay in order
        insert(connection, "studies", study_columns(new))
        return new

    def adopt(self, study: StudyRow, trials: Sequence[TrialRow], events: Sequence[Event]) -> StudyRow:
        def adopt(connection: sqlite3.Connection) -> StudyRow:
            new = self._create(connection, study)
            for known in trials:
                place = {"study": new.id, "revision": study.revision}
                insert(connection, "trials", trial_columns(known.trial) | moved_columns(known) | place)
            for seq, event in enumerate(events, start=1):
                insert(connection, "events", {"study": new.id, "seq": seq} | event_columns(event))
            return new

        return self._database.write(adopt)

    def delete(self, name: str) -> None:
        def delete(connection: sqlite3.Connection) -> None:
            if connection.execute("DELETE FROM studies WHERE name = ?", (name,)).rowcount == 0:
                names = [row[0] for row in connection.execute("SELECT name FROM studies ORDER BY id")]
                raise StudyNotFoundError(not_found(self.address, name, names))

        self._database.write(delete)

    # -- one study

    def read(self, study: int, work: Callable[[View], T]) -> T:
        return self._database.read(lambda connection: work(SQLiteUnit(connection, self.address, study)))

    def write(
        self,
        study: int,
        work: Callable[[Unit], T],
        *,
        on_rollback: Callable[[], None] | None = None,
        scope: Scope = "study",  # noqa: ARG002 - a file has one lock to write
        while_next: Callable[[View], None] | None = None,
    ) -> T:
        return self._database.write(
            lambda connection: work(SQLiteUnit(connection, self.address, study)),
            on_rollback=on_rollback,
            while_next=None if while_next is None else lambda: self.read(study, while_next),
        )


_INFO_TYPES: dict[str, Any] = {"name": str, "direction": str, "created": float | int, "best_value": float | int | None}
