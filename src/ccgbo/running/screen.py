"""The terminal while a live line stands on it."""

from __future__ import annotations

import os
import threading
from typing import Any

from tqdm import tqdm

CLEAR_LINE, UP = "\r\x1b[K", "\x1b[A"


class Bar(tqdm):  # type: ignore[misc]
    """A line of our own making; tqdm keeps it apart from an objective's own bars."""

    monitor_interval = 0  # there is a clock already


def bar_on(stream: Any, line: str) -> Bar:
    return Bar(desc=line, bar_format="{desc}", file=stream, mininterval=0.0, leave=True)


def _tqdm_draws() -> bool:
    """Whether this thread is moving the cursor for a bar, which tqdm does under its lock."""
    lock = tqdm.get_lock()
    return any(part._is_owned() for part in getattr(lock, "locks", [lock]) if hasattr(part, "_is_owned"))


class Above:
    """Stands in for a standard stream: whole lines are written above the bar.

    Carriage returns and other bars of tqdm are somebody's own drawing and pass as they are. A forked process has no
    bar to move: it clears the line, and the bar is drawn anew at the next tick of its owner's clock.
    """

    def __init__(self, stream: Any, bar: Bar) -> None:
        self._stream, self._bar, self._rest = stream, bar, ""
        self._owner, self._lock = os.getpid(), threading.RLock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with self._lock:
            if os.getpid() != self._owner:
                self._stream.write(CLEAR_LINE + text if text.strip() else text)
            elif "\r" in text or len(tqdm._instances) > 1 or (text.strip("\n") in ("", UP) and _tqdm_draws()):
                self._stream.write(text)
            else:
                lines, newline, self._rest = (self._rest + text).rpartition("\n")
                self._write(lines + newline)
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        self._stream.flush()

    def finish(self) -> None:
        """What was left without an end of line."""
        with self._lock:
            rest, self._rest = self._rest, ""
            self._write(rest + "\n" * bool(rest))

    def _write(self, text: str) -> None:
        if text:
            with self._bar.external_write_mode(file=self._bar.fp):
                self._stream.write(text)
                self._stream.flush()
