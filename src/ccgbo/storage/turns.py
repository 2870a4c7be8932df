"""Whose turn it is to write to a study file: a queue before SQLite's own lock.

SQLite lets one connection write and tells the others to try again. Eight processes that try again every few
milliseconds cost a third of the suggestion that they wait for, and whoever comes through has yet to catch up with what
the others did meanwhile. Two bytes of the file, behind those that SQLite locks, are locks that belong to a descriptor
(see anchor.py); to try one is a single system call.

    turn    held by whoever writes
    next    held by one of those who wait to suggest: it catches up with the others while the turn is still taken

They only say who comes when. What keeps two writers apart is SQLite's lock: where there are no such locks, where
somebody writes without them, or where whoever has one of them is suspended, nothing is lost but time.
"""

from __future__ import annotations

import os
import random
import struct
import time
from collections.abc import Callable
from functools import partial
from typing import Any

try:
    import fcntl

    SET_LOCK: int | None = getattr(fcntl, "F_OFD_SETLK", None)
    GET_LOCK: int = getattr(fcntl, "F_OFD_GETLK", 0)
except ImportError:  # Windows, where locks belong to handles
    SET_LOCK = None

Area = tuple[int, int]  # first byte, number of bytes

_TURN, _NEXT, _BOTH = (0x4000_0200, 1), (0x4000_0201, 1), (0x4000_0200, 2)  # SQLite's own end before them (os_unix.c)
_SOON = (0.0003, 0.002)  # seconds between two looks at the turn, at first and at last
_LATER = (0.001, 0.02)  # and at the place next to it, where many may wait
_GROWTH = 0.1  # of the time waited so far
_UNUSED = 10  # looks at a turn that is free and not taken by whoever is next, after which somebody else takes it

_FLOCK = "hhqqi4x"  # struct flock


class Turns:
    """The two locks on one file. Connections of one process share them: only SQLite keeps these apart."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        # a call into C and nothing else, so that no Ctrl-C falls between a ``finally`` and its work
        self.end: Callable[[], Any] = _setting(descriptor, "F_UNLCK", _BOTH)
        self._pass_on = _setting(descriptor, "F_UNLCK", _NEXT)

    def wait(self, deadline: float, while_next: Callable[[], None] | None = None) -> None:
        """Until the turn is ours, or the deadline is over and SQLite may decide.

        ``while_next`` is called in the place next to a turn that is taken; without it there is no such place.
        """
        if while_next is not None and not self._was_free(deadline):
            while_next()
        began = time.monotonic()
        while not self._take(_TURN) and time.monotonic() < deadline:
            _pause(began, *_SOON)
        self._pass_on()

    def _was_free(self, deadline: float) -> bool:
        """Wait for the place next to the turn; True where the turn was free, and is ours, or time is over."""
        unused, began = 0, time.monotonic()
        while not self._take(_NEXT):
            unused = unused + 1 if self._is_free(_TURN) else 0
            if (unused > _UNUSED and self._take(_TURN)) or time.monotonic() > deadline:
                return True
            _pause(began, *_LATER)
        return self._take(_TURN)

    def _take(self, area: Area) -> bool:
        try:
            set_lock(self._descriptor, "F_WRLCK", area)
        except (BlockingIOError, PermissionError):  # EAGAIN, EACCES
            return False
        return True

    def _is_free(self, area: Area) -> bool:
        return _in_the_way(self._descriptor, "F_WRLCK", area)[0] == fcntl.F_UNLCK


def _pause(began: float, least: float, most: float) -> None:
    """The longer somebody waits, the longer is what they wait for: looking often would only cost."""
    between = min(max(_GROWTH * (time.monotonic() - began), least), most)
    time.sleep(random.uniform(0.5, 1.5) * between)


def set_lock(descriptor: int, kind: str, area: Area) -> None:
    """Take or drop a lock that belongs to a descriptor; an ``OSError`` where it cannot be had."""
    _setting(descriptor, kind, area)()


def is_held_here(descriptor: int, area: Area) -> bool:
    """Whether this process has a lock to write there, of its own and not of a descriptor."""
    kind, holder = _in_the_way(descriptor, "F_RDLCK", area)
    return bool(kind == fcntl.F_WRLCK and holder == os.getpid())


def _in_the_way(descriptor: int, kind: str, area: Area) -> tuple[int, int]:
    """The kind of lock that keeps a descriptor from one, F_UNLCK for none, and the process that has it."""
    found = struct.unpack(_FLOCK, fcntl.fcntl(descriptor, GET_LOCK, _flock(kind, area)))
    return found[0], found[4]


def _setting(descriptor: int, kind: str, area: Area) -> Callable[[], Any]:
    assert SET_LOCK is not None
    return partial(fcntl.fcntl, descriptor, SET_LOCK, _flock(kind, area))


def _flock(kind: str, area: Area) -> bytes:
    return struct.pack(_FLOCK, getattr(fcntl, kind), os.SEEK_SET, *area, 0)
