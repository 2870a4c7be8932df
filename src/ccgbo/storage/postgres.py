"""Studies in a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import psycopg

from ccgbo.errors import StorageError, StudyExistsError, StudyNotFoundError
from ccgbo.records import Event
from ccgbo.storage.address import Address
from ccgbo.storage.base import Scope, StudyInfo, Unit, View, moved_columns, new_study_id, not_found
from ccgbo.storage.glance import IN_MODEL, info_of, with_metrics
from ccgbo.storage.postgres_link import Connection, Server, said
from ccgbo.storage.postgres_schema import prepare
from ccgbo.storage.postgres_turns import wait_for_turn
from ccgbo.storage.postgres_unit import BEST, PostgresUnit, insert, stored_event, stored_trial
from ccgbo.storage.rows import StudyRow, TrialRow, read_study, study_columns

T = TypeVar("T")

NAMES = "SELECT name FROM ccgbo_studies ORDER BY id"


class PostgresStore:
    """Many studies in one database, for any number of machines."""

    def __init__(self, address: Address, *, create: bool) -> None:
        self._address = address
        self._server = Server(address)
        connection = self._server.connect()
        try:
            self._why_read_only = prepare(connection, self.address, create=create)
        except psycopg.Error as error:
            raise StorageError(f"cannot use {self.address!r}: {said(error)}") from error
        finally:
            connection.close()

    @property
    def address(self) -> str:
        return str(self._address)

    @property
    def path(self) -> Address:
        return self._address

    def close(self) -> None:
        self._server.close()

    def _check_writable(self) -> None:
        if self._why_read_only is not None:
            raise StorageError(self._why_read_only)

    # -- studies

    def names(self) -> list[str]:
        return self._server.read(_names)

    def infos(self) -> list[StudyInfo]:
        return self._server.read(self._infos)

    def _infos(self, connection: Connection) -> list[StudyInfo]:
        query = f"""
            SELECT s.id, s.name, s.direction, s.metrics, s.created, count(t.id) AS n_trials,
                   count(*) FILTER (WHERE t.state = 'complete') AS n_complete,
                   count(*) FILTER (WHERE t.state = 'failed') AS n_failed,
                   count(*) FILTER (WHERE t.state = 'pending') AS n_pending,
                   count(*) FILTER (WHERE t.state = 'abandoned') AS n_abandoned,
                   count(*) FILTER (WHERE t.dropped = 1) AS n_dropped,
                   {BEST} AS best_value
            FROM ccgbo_studies s LEFT JOIN ccgbo_trials t ON t.study = s.id GROUP BY s.id ORDER BY s.id
        """
        infos = []
        for row in connection.execute(query).fetchall():
            study = row.pop("id")
            info, metrics = info_of(row, self.address)
            if metrics is not None:
                measured = f"SELECT value, metrics FROM ccgbo_trials WHERE study = %s AND {IN_MODEL}"
                info = with_metrics(info, metrics, connection.execute(measured, (study,)).fetchall(), self.address)
            infos.append(info)
        return infos

    def find(self, name: str) -> StudyRow | None:
        def find(connection: Connection) -> StudyRow | None:
            row = connection.execute("SELECT * FROM ccgbo_studies WHERE name = %s", (name,)).fetchone()
            return None if row is None else read_study(row, self.address)

        return self._server.read(find)

    def create(self, study: StudyRow) -> StudyRow:
        return self.adopt(study, (), ())

    def adopt(self, study: StudyRow, trials: Sequence[TrialRow], events: Sequence[Event]) -> StudyRow:
        def adopt(connection: Connection) -> StudyRow:
            last = _one(connection, "SELECT coalesce(max(id), 0) AS id FROM ccgbo_studies")["id"]
            new = replace(study, id=max(new_study_id(), last + 1))  # two of one millisecond stay in order
            try:
                insert(connection, "ccgbo_studies", study_columns(new))
            except psycopg.errors.UniqueViolation:
                raise StudyExistsError(f"{self.address!r} already has a study {study.name!r}.") from None
            for known in trials:
                place = {"study": new.id, "revision": study.revision}
                insert(connection, "ccgbo_trials", stored_trial(known.trial) | moved_columns(known) | place)
            for seq, event in enumerate(events, start=1):
                insert(connection, "ccgbo_events", {"study": new.id, "seq": seq} | stored_event(event))
            return new

        self._check_writable()
        return self._server.write(adopt)

    def delete(self, name: str) -> None:
        def delete(connection: Connection) -> None:
            if connection.execute("DELETE FROM ccgbo_studies WHERE name = %s", (name,)).rowcount == 0:
                raise StudyNotFoundError(not_found(self.address, name, _names(connection)))

        self._check_writable()
        self._server.write(delete)

    # -- one study

    def read(self, study: int, work: Callable[[View], T]) -> T:
        return self._server.read(lambda connection: work(PostgresUnit(connection, self.address, study, None)))

    def write(
        self,
        study: int,
        work: Callable[[Unit], T],
        *,
        on_rollback: Callable[[], None] | None = None,
        scope: Scope = "study",
        while_next: Callable[[View], None] | None = None,
    ) -> T:
        def step(connection: Connection) -> T:
            if scope in ("study", "suggestion"):
                wait_for_turn(connection, self.address, study, while_next)
            return work(PostgresUnit(connection, self.address, study, scope))

        self._check_writable()
        if scope == "heartbeat":
            return self._server.write_beside(step, on_rollback=on_rollback)
        return self._server.write(step, on_rollback=on_rollback)


def _names(connection: Connection) -> list[str]:
    return [str(row["name"]) for row in connection.execute(NAMES)]


def _one(connection: Connection, query: str) -> dict[str, Any]:
    row = connection.execute(query).fetchone()
    assert row is not None
    return row
