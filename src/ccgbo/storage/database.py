"""A connection to a study file: every step is one transaction, and a write is durable before it returns.

WAL lets readers go on while somebody writes. A write takes the lock at its start (BEGIN IMMEDIATE), so what it reads
is what it changes; the others wait for it.

Three things must never happen, and each has its place here:

- A transaction left open by a Ctrl-C. ``_step`` begins, works and ends in one frame: CPython looks for signals when a
  function is entered and after a call, so no interrupt falls between the ``try`` and its ``finally``. In a context
  manager one could, at the first line of ``__exit__``.
- A connection carried over a fork. The child would believe in locks that only its parent holds. Every connection is
  closed before a fork and opened again by whoever needs it.
- Values written into a file that is no longer there. Every step compares the file at the path with the one that it
  opened (``location.py``), and ``anchor.py`` sees to it that nobody deletes a journal in use.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ccgbo.errors import StorageError
from ccgbo.storage import anchor as anchors
from ccgbo.storage import forks
from ccgbo.storage.location import Identity, check_path
from ccgbo.storage.opening import (
    BUSY_SECONDS,
    Link,
    begin_step,
    is_read_only,
    name_of,
    open_snapshot,
    open_to_read,
    open_to_write,
    stamp_of,
)
from ccgbo.storage.words import explain, gone

LOCK_ATTEMPTS = 5  # to write, when another thread of this process copies the files of the study

T = TypeVar("T")


class _LockLostError(StorageError):
    """The lock to write went away during a step."""


class Database:
    """One file, one connection per process; threads of a process take turns."""

    def __init__(self, path: str | os.PathLike[str], *, create: bool) -> None:
        self.path = Path(path)
        check_path(self.path, create=create)
        self._absolute = Path(os.path.realpath(self.path))  # SQLite keeps its journal beside the file itself
        self._lock = threading.RLock()
        self._closed = False
        self._link: Link | None = None
        self._gone: str | None = None  # what happened to the file
        try:
            self._link = self._open(create)
        except sqlite3.Error as error:
            raise StorageError(self._explain(error)) from error
        _databases.add(self)
        forks.watch(self)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            if self._link is not None:
                self._link.close()
                self._link = None

    def __del__(self) -> None:
        if hasattr(self, "_gone"):  # it was opened
            self.close()

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """One consistent view of the file."""
        return self._step("BEGIN", work)

    def write(
        self,
        work: Callable[[sqlite3.Connection], T],
        *,
        on_rollback: Callable[[], None] | None = None,
        while_next: Callable[[], None] | None = None,  # called where this step is the next to write, see turns.py
    ) -> T:
        """All or nothing; on disk when it returns."""
        for _ in range(LOCK_ATTEMPTS - 1):
            try:
                return self._step("BEGIN IMMEDIATE", work, on_rollback, while_next)
            except _LockLostError:
                continue
        return self._step("BEGIN IMMEDIATE", work, on_rollback, while_next)

    def _step(
        self,
        begin: str,
        work: Callable[[sqlite3.Connection], T],
        on_rollback: Callable[[], None] | None = None,
        while_next: Callable[[], None] | None = None,
    ) -> T:
        with self._lock:
            committing = kept = False
            link = self._ready(begin)
            connection, anchor = link.connection, link.anchor
            deadline = time.monotonic() + BUSY_SECONDS
            try:
                if begin != "BEGIN" and anchor is not None and anchor.turns is not None:
                    anchor.turns.wait(deadline, while_next)
                begin_step(connection, begin, deadline)
                self._check(link)
                result = work(connection)
                if begin != "BEGIN":
                    self._check_lock(link)
                committing = True
                connection.execute("COMMIT")
                if begin != "BEGIN":
                    self._check(link, written=True)
                kept = True
                return result
            except sqlite3.Error as error:
                raise StorageError(self._explain(error, committing)) from error
            finally:
                try:
                    if self._link is link and connection.in_transaction:
                        try:  # noqa: SIM105 - entering suppress() would be one more place for an interrupt
                            connection.execute("ROLLBACK")
                        except sqlite3.Error:  # SQLite has rolled back by itself
                            pass
                    if not kept and on_rollback is not None:
                        on_rollback()
                finally:
                    if begin != "BEGIN" and anchor is not None and anchor.turns is not None:
                        anchor.turns.end()

    # -- the connection

    def _ready(self, begin: str) -> Link:
        """The connection for this step, opened again after a fork, renewed for a reader without one of its own."""
        if self._closed:
            raise StorageError(f"the study file {str(self.path)!r} was closed.")
        if self._gone is not None:
            raise StorageError(self._gone)
        try:
            if self._link is None:
                check_path(self.path, create=False)
                self._link = self._open(create=False)
            elif self._link.snapshot is not None and self._link.snapshot != stamp_of(self._absolute):
                copy, self._link = self._link, self._open(create=False)
                copy.close()
        except sqlite3.Error as error:
            raise StorageError(self._explain(error)) from error
        if self._link.snapshot is not None and begin != "BEGIN":
            raise StorageError(f"cannot write {str(self.path)!r}: the file or its folder is read-only.")
        if self._link.connection.in_transaction:  # nothing leaves one open; if anything did, it is not kept
            self._link.connection.execute("ROLLBACK")
        return self._link

    def _open(self, create: bool) -> Link:
        there = Identity.of(self._absolute)
        if there is not None and there.file in _spoiled:
            raise StorageError(
                f"{str(self.path)!r} or its journal was overwritten or deleted while this process had it open: start "
                "the process again to use it."
            )
        if there is not None:
            self._close_outdated(there)
        anchor = anchors.hold(self._absolute)  # before SQLite has a lock on it
        try:
            link = self._connect(create)
        except BaseException:
            anchors.let_go(anchor, None)
            raise
        if link.identity is None:
            anchors.let_go(anchor, None)
            return link
        link.anchor = anchor or anchors.hold(self._absolute)  # the file may be new
        if link.anchor is not None:
            link.anchor.lock(self._absolute)
        return link

    def _close_outdated(self, there: Identity) -> None:
        """Within a process SQLite shares what it knows of a file: a connection that lost its journal would take a new
        one with it."""
        for other in list(_databases):
            link = other._link
            if other is self or link is None or link.identity is None or link.identity.file != there.file:
                continue
            if link.identity.difference(there) is None:
                continue
            if not other._lock.acquire(blocking=False):
                raise StorageError(f"another thread still uses {str(self.path)!r} without its journal: try again.")
            try:
                with contextlib.suppress(StorageError):
                    other._check(link)
            finally:
                other._lock.release()

    def _connect(self, create: bool) -> Link:
        if self._absolute.exists() and not os.access(self._absolute, os.W_OK):
            return self._open_to_read()
        try:
            connection = open_to_write(self._absolute, str(self.path), create=create)
        except sqlite3.OperationalError as error:
            if not is_read_only(error, self._absolute):
                raise
            return self._open_to_read()
        return self._linked(connection)

    def _open_to_read(self) -> Link:
        connection = open_to_read(self._absolute, str(self.path))
        if connection is not None:
            return self._linked(connection)
        return Link(*open_snapshot(self._absolute, str(self.path)))

    def _linked(self, connection: sqlite3.Connection) -> Link:
        try:
            begin_step(connection, "BEGIN", time.monotonic() + BUSY_SECONDS)  # opens the journal
            identity = Identity.of(self._absolute)
            connection.execute("COMMIT")
            if identity is None:
                raise StorageError(f"{str(self.path)!r} was deleted while it was opened.")
        except BaseException:
            connection.close()
            raise
        return Link(connection, identity=identity)

    def _check(self, link: Link, *, written: bool = False) -> None:
        """Raises if the file at the path is no longer the one that was opened."""
        if link.identity is None:
            return
        now = Identity.of(self._absolute)
        what = link.identity.difference(now)
        if what is None:
            assert now is not None
            link.identity = now
            return
        kept = "whether this step was kept is not known" if written else "nothing of this step was kept"
        self._gone = gone(str(self.path), what, kept)
        self._link = None
        same_file = now is not None and now.file == link.identity.file
        others = now is not None and now.journal is not None  # somebody writes beside us
        if same_file and (written or others or "truncated" in what):
            anchors.keep_for_ever(link.connection)  # closing would copy its journal over what stands there now
            _spoiled.add(link.identity.file)
        else:
            if link.connection.in_transaction:
                link.connection.execute("ROLLBACK")
            link.close()  # SQLite leaves alone what stands at the path of a file that was moved
        raise StorageError(self._gone)

    def _check_lock(self, link: Link) -> None:
        """Before a commit. Without the lock others may have written, and what the connection remembers of the file is
        not what stands there."""
        if link.anchor is None or link.anchor.still_writes():
            return
        link.connection.execute("ROLLBACK")
        link.close()
        self._link = None
        raise _LockLostError(
            f"this process opens and closes {str(self.path)!r} and the files beside it all the time, which takes "
            "SQLite's locks away; nothing of this step was kept."
        )

    def _explain(self, error: sqlite3.Error, committing: bool = False) -> str:
        return explain(str(self.path), name_of(error), str(error), committing, BUSY_SECONDS)

    # -- forks

    def before_fork(self) -> None:
        self._lock.acquire()
        if self._link is not None and not self._link.connection.in_transaction:
            self._link.close()
            self._link = None

    def after_fork(self) -> None:
        self._lock.release()

    def after_fork_in_child(self) -> None:
        self._lock = threading.RLock()
        if self._link is not None:  # forked in the middle of a step
            anchors.keep_for_ever(self._link.connection)
            self._link = None


_databases: weakref.WeakSet[Database] = weakref.WeakSet()
_spoiled: set[tuple[int, int]] = set()  # files with a connection of this process that must not be used or closed
