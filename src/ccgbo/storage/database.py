"""A connection to a study file: every write is one transaction, durable before it returns.

WAL lets readers go on while somebody writes. A write takes the lock at its start (BEGIN IMMEDIATE), so what it reads
is what it changes; the others wait for it.
"""

from __future__ import annotations

import os
import random
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from ccgbo.errors import StorageError, StudyNotFoundError
from ccgbo.storage.schema import SCHEMA_VERSION, bring_up_to_date, version_of

BUSY_SECONDS = 600.0  # a writer waits this long for the others; a suggestion takes far less
MAGIC = b"SQLite format 3\x00"


class Database:
    """One file, one connection per process; threads of a process take turns."""

    def __init__(self, path: str | os.PathLike[str], *, create: bool) -> None:
        self.path = Path(path)
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = self._open(create)
        self._pid = os.getpid()

    def close(self) -> None:
        with self._lock:
            if self._connection is not None and self._pid == os.getpid():
                self._connection.close()
            self._connection = None

    def __del__(self) -> None:
        if hasattr(self, "_pid"):  # it was opened
            self.close()

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """One consistent view of the file."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """All or nothing; on disk when the block ends."""
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        self._leave_parent()
        with self._lock, plain_errors(self.path):
            connection = self._connection
            if connection is None:
                raise StorageError(f"the study file {str(self.path)!r} was closed.")
            _begin(connection, begin)
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _leave_parent(self) -> None:
        """After a fork: SQLite forbids the parent's connection here, even to close it."""
        if self._pid != os.getpid():
            self._lock = threading.RLock()  # the parent's may have been held by a thread that is not here
            if self._connection is not None:
                _inherited.append(self._connection)
                self._connection = self._open(create=False)
            self._pid = os.getpid()

    # -- opening

    def _open(self, create: bool) -> sqlite3.Connection:
        self._check_path(create)
        with plain_errors(self.path):
            try:
                return self._open_to_write(create)
            except sqlite3.OperationalError as error:
                if not self._is_read_only(error):
                    raise
                return self._open_to_read()

    def _open_to_write(self, create: bool) -> sqlite3.Connection:
        connection = self._connect("rwc" if create else "rw")
        try:
            version = self._version(connection)
            if connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                raise StorageError(f"{str(self.path)!r} is damaged: restore it from a copy.")
            if version < SCHEMA_VERSION:
                self._prepare(connection)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            _use_wal(connection)
            connection.execute("PRAGMA busy_timeout = 1")  # from here on _begin waits
        except BaseException:
            connection.close()
            raise
        return connection

    def _open_to_read(self) -> sqlite3.Connection:
        connection = self._connect("ro", immutable=True)
        if self._version(connection) != SCHEMA_VERSION:
            connection.close()
            raise StorageError(f"{str(self.path)!r} is of an older version: copy it to where it can be written.")
        return connection

    def _version(self, connection: sqlite3.Connection) -> int:
        connection.execute("BEGIN")  # one view of the file: another process may be creating the tables this moment
        try:
            return version_of(connection, str(self.path))
        finally:
            connection.execute("COMMIT")

    def _check_path(self, create: bool) -> None:
        path = str(self.path)
        if self.path.is_dir():
            raise StorageError(f"path must be a file, got the folder {path!r}.")
        if not self.path.exists():
            if not create:
                raise StudyNotFoundError(f"there is no study file {path!r}.")
            if not self.path.parent.is_dir():
                raise StorageError(f"cannot create {path!r}: the folder {str(self.path.parent)!r} does not exist.")

    def _connect(self, mode: str, *, immutable: bool = False) -> sqlite3.Connection:
        uri = f"file:{quote(str(self.path.absolute()))}?mode={mode}" + ("&immutable=1" if immutable else "")
        return sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        try:
            version = version_of(connection, str(self.path))  # another process may have been first
            if version < SCHEMA_VERSION:
                bring_up_to_date(connection, version)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _is_read_only(self, error: sqlite3.OperationalError) -> bool:
        """Whether the file can only be looked at: WAL wants to write beside it, unless nothing is left to replay."""
        wal = Path(f"{self.path}-wal")
        name = _name(error)
        denied = name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN")) and self.path.exists()
        return denied and not (wal.exists() and wal.stat().st_size) and self.path.stat().st_size > 0


_inherited: list[sqlite3.Connection] = []  # connections of a parent process, kept so that they are never closed here


def _begin(connection: sqlite3.Connection, statement: str) -> None:
    """Start a transaction and take its locks. SQLite's own wait grows to 0.1 s between two looks: too long here."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute(statement)
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()
            return
        except sqlite3.OperationalError as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if not _is_busy(error) or time.monotonic() > deadline:
                raise
            time.sleep(random.uniform(0.001, 0.004))


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch the file to WAL once; SQLite does not wait for others here, so we do."""
    deadline = time.monotonic() + BUSY_SECONDS
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if not _is_busy(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _is_busy(error: sqlite3.Error) -> bool:
    return _name(error).startswith("SQLITE_BUSY")


def _name(error: sqlite3.Error) -> str:
    return getattr(error, "sqlite_errorname", None) or ""


@contextmanager
def plain_errors(path: Path) -> Iterator[None]:
    """SQLite's errors as ours, saying what is wrong with which file."""
    try:
        yield
    except sqlite3.Error as error:
        raise StorageError(_explain(str(path), _name(error), str(error))) from error


def _explain(path: str, name: str, text: str) -> str:
    for prefix, words in (
        ("SQLITE_BUSY", f"another process has held {path!r} for more than {BUSY_SECONDS:.0f} s."),
        ("SQLITE_READONLY", f"cannot write {path!r}: the file or its folder is read-only."),
        ("SQLITE_CANTOPEN", f"cannot open {path!r}: the folder is missing or read-only."),
        ("SQLITE_FULL", f"cannot write {path!r}: the disk is full; nothing of this step was kept."),
        ("SQLITE_NOTADB", f"{path!r} is not a study file."),
        ("SQLITE_CORRUPT", f"{path!r} is damaged: restore it from a copy."),
        ("SQLITE_IOERR", f"cannot read or write {path!r}: {text}; nothing of this step was kept."),
    ):
        if name.startswith(prefix):
            return words
    return f"{path!r}: {text}."
