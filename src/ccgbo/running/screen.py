"""The terminal while a live line stands on it."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
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


class Lines:
    """Stands in for a standard stream and passes on whole lines, so that nothing is drawn into one of them.

    A process that does not own the bar clears its line first; the owner draws it anew when its clock ticks.
    """

    def __init__(self, stream: Any) -> None:
        self._stream, self._rest, self._lock = stream, "", threading.RLock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with self._lock:
            if self._is_drawing(text):
                self._stream.write(text)
            else:
                lines, newline, self._rest = (self._rest + text).rpartition("\n")
                if newline:
                    self._pass_on(lines + newline)
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
            if rest:
                self._pass_on(rest + "\n")

    def _is_drawing(self, text: str) -> bool:
        """A carriage return, or another bar of tqdm, is somebody's own drawing and passes as it is."""
        return "\r" in text or bool(tqdm._instances) or (text.strip("\n") in ("", UP) and _tqdm_draws())

    def _pass_on(self, lines: str) -> None:
        self._stream.write(CLEAR_LINE + lines)
        self._stream.flush()


class Above(Lines):
    """The same where the bar is: lines are written above it."""

    def __init__(self, stream: Any, bar: Bar) -> None:
        super().__init__(stream)
        self._bar, self._owner = bar, os.getpid()

    def _is_drawing(self, text: str) -> bool:
        return "\r" in text or len(tqdm._instances) > 1 or (text.strip("\n") in ("", UP) and _tqdm_draws())

    def _pass_on(self, lines: str) -> None:
        if os.getpid() != self._owner:  # forked: the bar at hand is only a copy
            super()._pass_on(lines)
            return
        with self._bar.external_write_mode(file=self._bar.fp):
            self._stream.write(lines)
            self._stream.flush()


@contextmanager
def clearing_lines() -> Iterator[None]:
    """In another process than the bar's: what is printed here does not run into the bar."""
    before = {name: getattr(sys, name) for name in ("stdout", "stderr")}
    ours = {name: Lines(stream) for name, stream in before.items() if stream is not None and stream.isatty()}
    for name, stream in ours.items():
        setattr(sys, name, stream)
    try:
        yield
    finally:
        for name, stream in ours.items():
            stream.finish()
            setattr(sys, name, before[name])
