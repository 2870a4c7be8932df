"""Opening a study file: to write, to read beside a writer, or as a copy in memory where neither is allowed."""

from __future__ import annotations

import os
import random
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path

from ccgbo.errors import StorageError
from ccgbo.storage.anchor import Anchor, let_go
from ccgbo.storage.location import Identity
from ccgbo.storage.schema import SCHEMA_VERSION, create_tables, upgrade_tables, version_of

BUSY_SECONDS = 600.0  # a writer waits this long for the others; a suggestion takes far less
WAIT_SECONDS = 600.0  # for somebody else who creates the file or switches it to WAL
Stamp = tuple[Identity | None, int]

LONGEST_CELL = 64_000_000  # bytes; a file that somebody sends must not fill the memory with one cell


@dataclass(slots=True)
class Link:
    """An open connection and the file it was opened on."""

    connection: sqlite3.Connection
    snapshot: Stamp | None = None  # of what it is a copy in memory, for a reader that may not write beside the file
    identity: Identity | None = None  # of the file, unless it is a copy
    anchor: Anchor | None = None  # what keeps its locks

    def close(self) -> None:
        let_go(self.anchor, self.connection)


def open_to_write(file: Path, path: str, *, create: bool) -> sqlite3.Connection:
    """A connection for everything; an empty file becomes a study file, and one of an older version one of this."""
    connection = _connect(file, "rwc" if create else "rw")
    try:
        version = _version(connection, path)
        if version == 0:
            _prepare(connection, path)
        _check_whole(connection, path)
        if 0 < version < SCHEMA_VERSION:
            _prepare(connection, path)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        _use_wal(connection)
        connection.execute("PRAGMA busy_timeout = 1")  # from here on Database waits itself
    except BaseException:
        connection.close()
        raise
    return connection


def open_to_read(file: Path, path: str) -> sqlite3.Connection | None:
    """A live connection for a reader that may not write: needs the journal and its index, which exist as long as
    anybody has the study open. None where they do not; refuses where newer values are in a journal that is closed."""
    wal, shm = Path(f"{file}-wal"), Path(f"{file}-shm")
    if not wal.exists() or not os.access(file, os.R_OK):
        return None
    try:
        if not shm.exists():
            raise PermissionError
        connection = _connect(file, "ro", "&readonly_shm=1")
        try:
            if _version(connection, path) == 0:
                raise StorageError(f"{path!r} has no study yet.")
            connection.execute("PRAGMA busy_timeout = 1")
        except BaseException:
            connection.close()
            raise
        return connection
    except (sqlite3.OperationalError, PermissionError):
        if not _size(wal):
            return None
        raise StorageError(
            f"the newest values of {path!r} are in {wal.name!r} beside it, which cannot be read from here: ask its "
            "owner for the permission to read the files that end in -wal and -shm, or to close the study."
        ) from None


def open_snapshot(file: Path, path: str) -> tuple[sqlite3.Connection, Stamp]:
    """A copy of the file as it stands, and what it was taken of. Nobody has it open, so it is whole; if somebody
    opens it while it is copied, the copy is taken again."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        before = stamp_of(file)
        source = _connect(file, "ro", "&immutable=1")
        copy = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        try:
            if _version(source, path) == 0:
                raise StorageError(f"{path!r} has no study yet.")
            _check_whole(source, path)
            source.backup(copy)
            if before == stamp_of(file):
                _harden(copy)
                upgrade_tables(copy, version_of(copy, path))
                return copy, before
        except (StorageError, sqlite3.Error):
            if before == stamp_of(file) or time.monotonic() > deadline:
                copy.close()
                raise
        finally:
            source.close()
        copy.close()
        time.sleep(0.01)


def begin_step(connection: sqlite3.Connection, statement: str, deadline: float) -> None:
    """Start a transaction and take its locks. SQLite's own wait grows to 0.1 s between two looks: too long here."""
    while True:
        try:
            connection.execute(statement)
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()
            return
        except sqlite3.OperationalError as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if not name_of(error).startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                raise
            time.sleep(random.uniform(0.001, 0.004))


def stamp_of(file: Path) -> Stamp:
    """Changes when somebody writes to the file; while anybody has it open to write there is a journal."""
    try:
        return Identity.of(file), file.stat().st_mtime_ns
    except OSError:
        return None, 0


def is_read_only(error: sqlite3.OperationalError, file: Path) -> bool:
    """Whether the file can only be looked at: WAL wants to write beside it."""
    return name_of(error).startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN")) and _size(file) > 0


def name_of(error: sqlite3.Error) -> str:
    return getattr(error, "sqlite_errorname", None) or ""


def _connect(file: Path, mode: str, more: str = "") -> sqlite3.Connection:
    uri = f"{file.as_uri()}?mode={mode}{more}"
    connection = sqlite3.connect(uri, uri=True, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False)
    _harden(connection)
    return connection


def _harden(connection: sqlite3.Connection) -> None:
    """A file may come from anybody: nothing in it may run, and no cell is believed to be well-formed."""
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_CELL)


def _version(connection: sqlite3.Connection, path: str) -> int:
    connection.execute("BEGIN")  # one view of the file: another process may be creating the tables this moment
    try:
        return version_of(connection, path)
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _check_whole(connection: sqlite3.Connection, path: str) -> None:
    if connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
        raise StorageError(f"{path!r} is damaged: restore it from a copy.")


def _prepare(connection: sqlite3.Connection, path: str) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = version_of(connection, path)  # another process may have been first
        if version == 0:
            create_tables(connection)
        elif version < SCHEMA_VERSION:
            upgrade_tables(connection, version)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch the file to WAL once; SQLite does not wait for others here, so we do."""
    deadline = time.monotonic() + WAIT_SECONDS
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if not name_of(error).startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0
