"""Who holds a trial, and whether that worker still lives.

A worker is a run in a process: ``place/pid/start#run``. What is known decides in this order:

1. The process ran where this one runs (same machine since it was switched on, same process ids): the system knows
   whether it lives. A living process keeps its trials however long it is silent: it may be suspended, or an evaluation
   may hold Python's lock for minutes, and giving the trial to another would evaluate it twice.
2. Its last heartbeat was taken by the same clock as this process has: it is gone after so many seconds of silence. The
   clock counts from when the machine was switched on (CLOCK_BOOTTIME) and nobody sets it; where there is none it is
   the wall clock.
3. Its heartbeat is of another clock: a study file lies on a local disk, so the machine was restarted, or the file was
   brought here from another one. Either way that process no longer works on this file.
"""

from __future__ import annotations

import os
import secrets
import socket
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

WALL = "wall"
_running: set[str] = set()  # the runs of this process


def this_worker() -> str:
    """``place/pid/start``: the start time tells a process from a later one with the same id."""
    return f"{_place()}/{os.getpid()}/{_start_time(os.getpid()) or 0}"


def start_run() -> str:
    """A worker of its own for one run of this process, until ``end_run``."""
    worker = f"{this_worker()}#{secrets.token_hex(4)}"
    _running.add(worker)
    return worker


def end_run(worker: str) -> None:
    _running.discard(worker)


def is_ended_here(worker: str) -> bool:
    """Whether this is a run of this very process that ended without releasing its trial."""
    process, _, run = worker.partition("#")
    return bool(run) and process == this_worker() and worker not in _running


def is_alive(worker: str) -> bool | None:
    """Whether the worker's process lives; None where that cannot be known from here."""
    process = worker.partition("#")[0]
    try:
        place, pid, start = process.rsplit("/", 2)
        number = int(pid)
    except ValueError:
        return None
    if place != _place() or start == "0" or not 0 < number < 2**31:
        return None
    try:
        return _start_time(number) == start
    except PermissionError:  # it is there, but not for our eyes
        return None


def is_silent(worker: str | None, heartbeat: float, clock: str | None, patience: float) -> bool:
    """Whether a worker is gone for all that can be known here; see the order above."""
    alive = None if worker is None else is_alive(worker)
    if alive is not None:
        return not alive
    here, now = read_clock()
    return clock != here or now - heartbeat > patience


def read_clock() -> tuple[str, float]:
    """A clock that all processes of this machine share and nobody sets, and what it shows, in seconds."""
    boot = _boot()
    return (WALL, time.time()) if boot is None else (boot, time.clock_gettime(time.CLOCK_BOOTTIME))


@cache
def _boot() -> str | None:
    """This machine since it was switched on."""
    if not hasattr(time, "CLOCK_BOOTTIME"):
        return None
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None


@cache
def _place() -> str:
    """This machine since it was switched on, and the process ids as seen from here (containers have their own)."""
    try:
        return f"{socket.gethostname()}/{_boot()}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return socket.gethostname()


def _start_time(pid: int) -> str | None:
    """In clock ticks since boot; None where there is no such process or no /proc."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        if sys.platform == "linux" and pid != os.getpid():
            with suppress(ProcessLookupError):
                os.kill(pid, 0)  # PermissionError: /proc hides the processes of other users
        return None
    return None if fields[0] in "ZX" else fields[19]  # a zombie evaluates nothing
