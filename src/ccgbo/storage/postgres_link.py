"""Connections to a PostgreSQL server: every step is one transaction, done again where the connection broke.

A server is restarted, a network drops packets, a failover moves the address. A step that fails that way before its
commit was sent has left nothing behind, and is done again. Of one whose commit was on its way the server itself knows
how it ended (``txid_status``): kept, then its result is returned; not kept, then it is done again; the server does not
know any more, then it is an error that says so. So a value is told once, or not at all and the caller knows.

Threads of a process take turns, as a study in memory is brought up to the store within a step; only heartbeats go
their own way. A connection never crosses a fork: the child opens its own.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool, PoolTimeout

from ccgbo.errors import StorageError
from ccgbo.storage.address import Address, is_well_formed

Connection = psycopg.Connection[dict[str, Any]]
T = TypeVar("T")

READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"
PATIENCE = 120.0  # seconds for a server to come back
PAUSES = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0)  # seconds before the step is done again; the last one from then on
POOL = 4  # connections: one for the step of the process, one for its heartbeats, others after a broken one
LOCK_SECONDS = 600  # a writer waits this long for the others
# who vanishes with a lock is found by silence on the wire, in seconds instead of the system's two hours
SETTINGS = (
    f"SET lock_timeout = '{LOCK_SECONDS}s'; SET idle_in_transaction_session_timeout = '{LOCK_SECONDS}s'; "
    "SET tcp_keepalives_idle = 15; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3; "
    "SET client_min_messages = warning"
)
DEFAULTS = {
    "application_name": "ccgbo",
    "connect_timeout": "10",
    "keepalives_idle": "15",
    "keepalives_interval": "5",
    "keepalives_count": "3",
}
AGAIN = ("08", "40", "57P0", "25P03")  # states: connection, rolled back by a conflict, shutdown, idle for too long

logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())  # our own errors say what its warnings do


@dataclass(slots=True)
class Attempt:
    """One try of a step, and how far it came."""

    xid: str | None = None  # the server's number of the transaction, once it writes
    result: Any = None
    committing: bool = False


class Server:
    """A database at an address, for the steps of one store."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._lock = threading.RLock()
        self._closed = False
        self._pool: ConnectionPool[Connection] | None = None
        given = _parameters(os.fspath(address))
        if given is None:
            raise StorageError(
                f"path must be an address such as postgresql://user@host/database, got {str(address)!r}, which cannot "
                "be read: characters such as @ / : in a name or password are written %40 %2F %3A."
            )
        self._parameters: dict[str, Any] = DEFAULTS | {k: v for k, v in given.items() if v is not None}
        _servers.add(self)

    def connect(self) -> Connection:
        """A connection of one's own."""
        try:
            connection = psycopg.connect("", autocommit=True, row_factory=dict_row, **self._parameters)
        except psycopg.Error as error:
            raise StorageError(f"cannot connect to {str(self.address)!r}: {said(error)}") from None
        return connection

    def close(self) -> None:
        with self._lock:
            self._closed = True
            if self._pool is not None:
                self._pool.close()
                self._pool = None

    def __del__(self) -> None:
        if hasattr(self, "_parameters"):
            self.close()

    # -- steps

    def read(self, work: Callable[[Connection], T]) -> T:
        """One consistent view of the database."""
        with self._lock:
            return self._persist(lambda attempt: self._once(READ, lambda c, _: work(c), attempt, None))

    def write(
        self,
        work: Callable[[Connection, Attempt], T],
        *,
        on_rollback: Callable[[], None] | None = None,
        beside: bool = False,  # other steps of this process
    ) -> T:
        """All or nothing; durable when it returns. ``work`` fills in the transaction's number."""
        with contextlib.nullcontext() if beside else self._lock:
            return self._persist(lambda attempt: self._once(WRITE, work, attempt, on_rollback))

    def _persist(self, step: Callable[[Attempt], T]) -> T:
        """The step, as often as it takes until the server is back."""
        began, tries = time.monotonic(), 0
        while True:
            attempt = Attempt()
            try:
                return step(attempt)
            except psycopg.Error as error:
                if not _is_passing(error):
                    raise StorageError(self._explain(error)) from error
                if attempt.committing and attempt.xid is not None and self._was_kept(attempt.xid, began):
                    return cast(T, attempt.result)
                if time.monotonic() - began > PATIENCE:
                    raise StorageError(f"{self._explain(error)} Nothing of this step was kept.") from error
            time.sleep(PAUSES[min(tries, len(PAUSES) - 1)])
            tries += 1

    def _once(
        self,
        begin: str,
        work: Callable[[Connection, Attempt], T],
        attempt: Attempt,
        on_rollback: Callable[[], None] | None,
    ) -> T:
        kept, connection = False, None
        pool = self._ready()
        try:
            connection = pool.getconn()
            connection.execute(begin)
            attempt.result = result = work(connection, attempt)
            attempt.committing = True
            connection.execute("COMMIT")
            kept = True
            return result
        finally:
            if connection is not None:
                if not kept and not connection.closed:
                    try:  # noqa: SIM105 - entering suppress() would be one more place for an interrupt
                        connection.execute("ROLLBACK; SELECT pg_advisory_unlock_all()")
                    except psycopg.Error:  # the server has rolled back by itself
                        pass
                pool.putconn(connection)
            if not kept and on_rollback is not None:
                on_rollback()

    def _was_kept(self, xid: str, began: float) -> bool:
        """Whether a transaction was committed whose commit was not answered."""
        tries = 0
        while True:
            with contextlib.suppress(StorageError, psycopg.Error):
                with self.connect() as connection:
                    row = connection.execute("SELECT txid_status(%s::bigint) AS status", (xid,)).fetchone()
                status = None if row is None else row["status"]
                if status in ("committed", "aborted"):
                    return bool(status == "committed")
                if status is None:
                    break  # too old for it to know
            if time.monotonic() - began > PATIENCE:
                break
            time.sleep(PAUSES[min(tries, len(PAUSES) - 1)])
            tries += 1
        raise StorageError(
            f"the connection to {str(self.address)!r} was lost while a step was being kept, and the server did not "
            "come back: whether it was kept is not known. Look before you repeat it."
        )

    # -- the pool

    def _ready(self) -> ConnectionPool[Connection]:
        if self._closed:
            raise StorageError(f"the database {str(self.address)!r} was closed.")
        if self._pool is None:
            self._pool = ConnectionPool(
                "",
                kwargs={"autocommit": True, "row_factory": dict_row, "prepare_threshold": None} | self._parameters,
                min_size=0,
                max_size=POOL,
                max_idle=60.0,
                timeout=10.0,
                reconnect_timeout=5.0,
                num_workers=1,
                configure=_configure,
                open=True,
            )
        return self._pool

    def _explain(self, error: psycopg.Error) -> str:
        name, state = str(self.address), error.sqlstate or ""
        if isinstance(error, PoolTimeout):
            try:  # the pool does not say why
                self.connect().close()
            except StorageError as reason:
                return str(reason)
        if state == "55P03":
            return f"another process has held the study in {name!r} for more than {LOCK_SECONDS} s."
        if state == "42501" or state == "25006":
            return f"cannot write {name!r}: this user may only read ({said(error)})"
        if state == "42P01":
            return f"the tables of {name!r} are gone: {said(error)}"
        return f"{name!r}: {said(error)}"

    def after_fork_in_child(self) -> None:
        """The parent's connections are the parent's."""
        self._lock = threading.RLock()
        if self._pool is not None:
            _of_the_parent.append(self._pool)
            self._pool = None


def _parameters(address: str) -> dict[str, Any] | None:
    """What an address says, or None; libpq's own message would quote it."""
    try:
        return conninfo_to_dict(address) if is_well_formed(address) else None
    except psycopg.Error:
        return None


def said(error: psycopg.Error) -> str:
    """The server's words, in one line that ends in a full stop."""
    words = error.diag.message_primary or " ".join(str(error).split()) or type(error).__name__
    return words.rstrip(".") + "."


def _is_passing(error: psycopg.Error) -> bool:
    """Whether the same step may succeed when it is done again."""
    if error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError)  # the connection broke, or none could be had
    return error.sqlstate.startswith(AGAIN)


def _configure(connection: Connection) -> None:
    connection.execute(SETTINGS)


# -- forks

_servers: weakref.WeakSet[Server] = weakref.WeakSet()
_of_the_parent: list[Any] = []  # never closed here: that would end the parent's connections


def _after_fork_in_child() -> None:
    for server in list(_servers):
        server.after_fork_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
