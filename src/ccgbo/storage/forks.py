"""What happens to the connections of study files when a process forks: see database.py for why."""

from __future__ import annotations

import os
import weakref
from typing import Protocol

from ccgbo.storage import anchor as anchors


class Forking(Protocol):
    """What must not be carried over a fork."""

    def before_fork(self) -> None: ...
    def after_fork(self) -> None: ...
    def after_fork_in_child(self) -> None: ...


_watched: weakref.WeakSet[Forking] = weakref.WeakSet()
_forking: list[Forking] = []


def watch(connected: Forking) -> None:
    """Tell it of every fork from now on."""
    _watched.add(connected)


def _before_fork() -> None:
    _forking[:] = sorted(_watched, key=id)
    for connected in _forking:
        connected.before_fork()
    anchors.before_fork()


def _after_fork_in_parent() -> None:
    anchors.after_fork_in_parent()
    while _forking:
        _forking.pop().after_fork()


def _after_fork_in_child() -> None:
    anchors.after_fork_in_child()
    while _forking:
        _forking.pop().after_fork_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
