"""Locks that the user's own code cannot drop.

SQLite's locks are POSIX locks: whoever copies the file in the process that has it open (``shutil.copy`` in a notebook)
closes a descriptor and so takes all of them away; the next other process that closes the file takes itself for the
last one and deletes the journal in use. Linux has locks that belong to a descriptor instead. An anchor holds two of
them on the bytes that SQLite looks at before it deletes a journal or empties its index, as long as any connection of
this process is open. Elsewhere there is none, and a lost journal is noticed at the next step.

The descriptors of an anchor are themselves dangerous to close: it is held before SQLite opens the file and let go
after the last connection is closed.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sqlite3
import threading
from pathlib import Path

from ccgbo.storage.turns import SET_LOCK, Area, Turns, is_held_here, set_lock

_SHARED = (0x4000_0002, 510)  # of the file: taken alone by the connection that deletes the journal (os_unix.c)
_IN_USE = (128, 1)  # of the index: taken alone by the connection that empties it
_WRITES = (120, 1)  # of the index: taken alone by the connection that writes

Inode = tuple[int, int]


class Anchor:
    """What this process holds on one file, for ``count`` connections."""

    def __init__(self, inode: Inode, descriptor: int) -> None:
        self.inode = inode
        self.count = 1
        self.descriptors = [descriptor]
        self.locked: list[tuple[int, Area]] = []
        self.turns: Turns | None = None

    def lock(self, file: Path) -> None:
        """Once the journal is there."""
        with _guard:
            if self.locked:
                return
            try:
                index = os.open(f"{file}-shm", os.O_RDONLY)
                self.descriptors.append(index)
                for descriptor, area in ((self.descriptors[0], _SHARED), (index, _IN_USE)):
                    set_lock(descriptor, "F_RDLCK", area)
                    self.locked.append((descriptor, area))
                own = os.open(file, os.O_RDWR)
                self.descriptors.append(own)
                self.turns = Turns(own)
            except OSError:  # a file system without such locks, a file that may only be read
                return

    def still_writes(self) -> bool:
        """Whether this process still has SQLite's lock to write: a copy of the index by another thread takes it away,
        and somebody else may be writing."""
        if len(self.locked) < 2:
            return True
        return is_held_here(self.locked[1][0], _WRITES)


def hold(file: Path) -> Anchor | None:
    """Before SQLite opens ``file``; None where there is no such lock, or no file yet that could be in use."""
    if SET_LOCK is None:
        return None
    with _guard:
        try:
            anchor = _anchors.get(_inode(os.stat(file)))
            if anchor is not None:
                anchor.count += 1
                return anchor
            descriptor = os.open(file, os.O_RDONLY)
        except OSError:
            return None
        inode = _inode(os.fstat(descriptor))
        anchor = _anchors.get(inode)
        if anchor is not None:  # put there this moment: a descriptor of a file in use is not closed
            anchor.descriptors.append(descriptor)
            anchor.count += 1
            return anchor
        anchor = _anchors[inode] = Anchor(inode, descriptor)
        return anchor


def let_go(anchor: Anchor | None, connection: sqlite3.Connection | None) -> None:
    """Close a connection. Before the last one the locks go, so that SQLite can tidy up; after it the descriptors."""
    if anchor is None:
        if connection is not None:
            connection.close()
        return
    with _guard:
        anchor.count -= 1
        last = anchor.count == 0
        if last:
            anchor.turns = None
            for descriptor, area in anchor.locked:
                with contextlib.suppress(OSError):
                    set_lock(descriptor, "F_UNLCK", area)
        try:
            if connection is not None:
                connection.close()
        finally:
            if last:
                del _anchors[anchor.inode]
                for descriptor in anchor.descriptors:
                    os.close(descriptor)


def keep_for_ever(connection: sqlite3.Connection) -> None:
    """Never closed, not even when the interpreter ends."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


def before_fork() -> None:
    _guard.acquire()


def after_fork_in_parent() -> None:
    _guard.release()


def after_fork_in_child() -> None:
    """The child has no connection; what it inherited stays locked by the parent."""
    global _guard
    _guard = threading.RLock()
    for anchor in _anchors.values():
        anchor.turns = None
        for descriptor in anchor.descriptors:
            os.close(descriptor)
    _anchors.clear()


_anchors: dict[Inode, Anchor] = {}
_guard = threading.RLock()  # a study may be collected, and closed, at any moment of the same thread


def _inode(status: os.stat_result) -> Inode:
    return status.st_dev, status.st_ino
