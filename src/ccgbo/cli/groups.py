"""Programs with all their descendants, as process groups that end together.

A program leads a group of its own, so that Ctrl-C is ours to answer. The group is killed once the program has ended,
for whatever it left behind, and always before its exit status is collected: until then its number cannot be given to
another process. If we are killed ourselves without a chance to clean up, a watch does it: a tiny process that knows
the groups, and learns of our end by the end of the pipe on which it was told of them.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from typing import Any

WATCH = """
import os, signal, sys
groups = set()
for line in sys.stdin.buffer:
    (groups.add if line[:1] == b"+" else groups.discard)(int(line[1:]))
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        pass
"""


class Groups:
    """The programs that run now."""

    def __init__(self) -> None:
        self.stopped = threading.Event()
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._lock = threading.RLock()  # a signal's handler may stop what the same thread is just starting
        self._watch: subprocess.Popen[bytes] | None = None

    def start(self, arguments: list[str], **options: Any) -> subprocess.Popen[bytes]:
        with self._lock:
            if self.stopped.is_set():
                raise KeyboardInterrupt
            if self._watch is None:
                self._watch = _start_watch()
            child = subprocess.Popen(arguments, start_new_session=True, **options)
            self._running[child.pid] = child
            self._tell_watch("+", child.pid)
        return child

    def wait(self, child: subprocess.Popen[bytes], timeout: float | None) -> bool:
        """Until the program has ended; False if it has not within ``timeout`` seconds. It is not collected yet."""
        pause, waited = 0.001, 0.0
        while not _has_ended(child):
            if timeout is not None and waited >= timeout:
                return False
            if self.stopped.wait(pause):
                raise KeyboardInterrupt
            waited, pause = waited + pause, min(2 * pause, 0.05)
        return True

    def end(self, child: subprocess.Popen[bytes]) -> None:
        """Kill what is left of the program and its descendants, then collect it."""
        with self._lock:
            if self._running.pop(child.pid, None) is not None:
                _kill(child)
                self._tell_watch("-", child.pid)
        child.wait()

    def stop(self) -> None:
        """End every program, and start no other."""
        self.stopped.set()
        with self._lock:
            for child in self._running.values():
                _kill(child)

    def close(self) -> None:
        """Nothing runs any more, so there is nothing to watch."""
        with self._lock:
            watch, self._watch = self._watch, None
        if watch is not None and watch.stdin is not None:
            with contextlib.suppress(OSError):
                watch.stdin.close()
            watch.wait()

    def _tell_watch(self, sign: str, pid: int) -> None:
        if self._watch is not None and self._watch.stdin is not None:
            with contextlib.suppress(OSError):  # it was killed: then nobody watches
                self._watch.stdin.write(f"{sign}{pid}\n".encode("ascii"))
                self._watch.stdin.flush()


def _start_watch() -> subprocess.Popen[bytes] | None:
    if not hasattr(os, "killpg") or not sys.executable:
        return None
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", WATCH],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # it must outlive what ends us
    )


def _has_ended(child: subprocess.Popen[bytes]) -> bool:
    if not hasattr(os, "waitid"):
        return child.poll() is not None
    return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _kill(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()
