"""Who holds a trial. A worker says every few seconds that it lives; where Linux can tell that the very process is
gone, nobody has to wait for that to run out."""

from __future__ import annotations

import os
import socket
from functools import cache
from pathlib import Path


def this_worker() -> str:
    """``place/pid/start``: the start time tells a process from a later one with the same id."""
    return f"{_place()}/{os.getpid()}/{_start_time(os.getpid()) or 0}"


def is_gone(worker: str) -> bool:
    """Whether the worker certainly ended; False where that cannot be known from here."""
    place, pid, start = worker.rsplit("/", 2)
    if place != _place() or start == "0":
        return False
    return _start_time(int(pid)) != start


@cache
def _place() -> str:
    """This machine since it was switched on, and the process ids as seen from here (containers have their own)."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{socket.gethostname()}/{boot}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return socket.gethostname()


def _start_time(pid: int) -> str | None:
    """In clock ticks since boot; None where there is no such process or no /proc."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]  # a zombie evaluates nothing
