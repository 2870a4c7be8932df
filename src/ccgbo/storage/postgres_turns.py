"""Whose turn it is to suggest for a study in PostgreSQL, and who comes next.

Two advisory locks of the database. The turn is held to the end of the transaction. The place next to it is held by one
of those who wait: while the one before it computes, it catches up with what was told and fitted so far. Whoever does
not get that place in time, because the worker that has it does not come forward, waits for its turn without it.
"""

from __future__ import annotations

from collections.abc import Callable

import psycopg

from ccgbo.storage.base import View
from ccgbo.storage.postgres_link import LOCK_SECONDS, Connection
from ccgbo.storage.postgres_unit import PostgresUnit

NEXT_SECONDS = 2  # that somebody waits for the place next to the turn


def wait_for_turn(
    connection: Connection, address: str, study: int, while_next: Callable[[View], None] | None = None
) -> None:
    """The turn, until the end of the transaction; ``while_next`` is called before it if somebody else has it."""
    turn, place = study, ~study
    row = connection.execute("SELECT pg_try_advisory_xact_lock(%s) AS free", (turn,)).fetchone()
    if row is not None and row["free"]:
        return
    if while_next is None or not _is_next(connection, place):
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (turn,))
        return
    while_next(PostgresUnit(connection, address, study, None))
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (turn,))
    connection.execute("SELECT pg_advisory_unlock(%s)", (place,))


def _is_next(connection: Connection, place: int) -> bool:
    """Wait for the place next to the turn. It is a lock of the connection, which a step that fails lets go of."""
    try:
        connection.execute(f"SAVEPOINT place; SET LOCAL lock_timeout = '{NEXT_SECONDS}s'")
        connection.execute("SELECT pg_advisory_lock(%s)", (place,))
        connection.execute(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
    except psycopg.errors.LockNotAvailable:
        connection.execute("ROLLBACK TO SAVEPOINT place")
        return False
    return True
