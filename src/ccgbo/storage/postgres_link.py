"""Connections to a PostgreSQL server: every step is one transaction, done again where the connection broke.

A server is restarted, a network drops packets, a failover moves the address. A step that fails that way before its
commit was sent has left nothing behind, and is done again. Of one whose commit was on its way a token tells how it
ended (``postgres_steps.py``): kept, then its result is returned; not kept, then it is done again; nobody can be asked,
then it is an error that says so. So a value is told once, or not at all and the caller knows.

Threads of a process take turns, as a study in memory is brought up to the store within a step; only heartbeats go
their own way. A connection never crosses a fork: the child opens its own.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast
from uuid import UUID, uuid4

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool, PoolTimeout

from ccgbo.errors import StorageError
from ccgbo.storage.address import Address, is_well_formed
from ccgbo.storage.postgres_steps import STAY_HOURS, claim, commit

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

    token: UUID | None  # of a step that must not be done twice
    result: Any = None
    committing_since: float | None = None  # on the clock of the day, which goes on while a machine sleeps


class Server:
    """A database at an address, for the steps of one store."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._lock = threading.RLock()
        self._closed = False
        self._pool: ConnectionPool[Connection] | None = None
        self._answered: UUID | None = None  # the token of the latest step, which nobody will ask for
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
            return self._persist(lambda attempt: self._once(READ, work, attempt, None), with_token=False)

    def write(self, work: Callable[[Connection], T], *, on_rollback: Callable[[], None] | None = None) -> T:
        """All or nothing, and once; durable when it returns."""
        with self._lock:
            return self._persist(lambda attempt: self._once(WRITE, work, attempt, on_rollback), with_token=True)

    def write_beside(self, work: Callable[[Connection], T], *, on_rollback: Callable[[], None] | None = None) -> T:
        """The same beside other steps of this process, of what may be done twice: a heartbeat."""
        return self._persist(lambda attempt: self._once(WRITE, work, attempt, on_rollback), with_token=False)

    def _persist(self, step: Callable[[Attempt], T], *, with_token: bool) -> T:
        """The step, as often as it takes until the server is back; with a token it is kept once."""
        broke_at, tries = None, 0  # the first break: what was computed before it does not count
        while True:
            attempt = Attempt(uuid4() if with_token else None)
            try:
                return step(attempt)
            except psycopg.Error as error:
                if not _is_passing(error):
                    raise StorageError(self._explain(error)) from error
                if self._was_kept(attempt):
                    return cast(T, attempt.result)
                broke_at = time.monotonic() if broke_at is None else broke_at
                if time.monotonic() - broke_at > PATIENCE:
                    raise StorageError(f"{self._explain(error)} Nothing of this step was kept.") from error
            time.sleep(PAUSES[min(tries, len(PAUSES) - 1)])
            tries += 1

    def _once(
        self,
        begin: str,
        work: Callable[[Connection], T],
        attempt: Attempt,
        on_rollback: Callable[[], None] | None,
    ) -> T:
        kept, connection = False, None
        pool = self._ready()
        try:
            connection = pool.getconn()
            connection.execute(begin)
            attempt.result = result = work(connection)
            attempt.committing_since = time.time()
            connection.execute("COMMIT" if attempt.token is None else commit(attempt.token, self._answered))
            kept = True
            if attempt.token is not None:  # else it may be beside a step that has one
                self._answered = attempt.token
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

    def _was_kept(self, attempt: Attempt) -> bool:
        """Whether a step that failed was kept all the same; if not, it never will be."""
        if attempt.token is None or attempt.committing_since is None:
            return False
        began, tries, reason = time.monotonic(), 0, None
        while time.time() - attempt.committing_since < STAY_HOURS * 3600 / 2:
            try:
                with self.connect() as connection:
                    kept = claim(connection, attempt.token)
                if kept:  # else the claim stays, for a commit that is still on its way
                    self._answered = attempt.token
                return kept
            except (StorageError, psycopg.Error) as error:
                reason = error
            if time.monotonic() - began > PATIENCE:
                break
            time.sleep(PAUSES[min(tries, len(PAUSES) - 1)])
            tries += 1
        raise StorageError(
            f"the connection to {str(self.address)!r} was lost while a step was being kept, and the server did not "
            "say how that ended: whether it was kept is not known. Look before you repeat it."
        ) from reason

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
        self._answered = None
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
