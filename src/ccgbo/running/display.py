"""What every display of a run says, and the plainest of them: lines.

A clock ticks while evaluations run, also where the objective keeps the main thread busy, so that an evaluation of an
hour does not look like a program that hangs.
"""

from __future__ import annotations

import contextvars
import os
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from typing import Any, Self

from ccgbo.running.sources import Tally
from ccgbo.text import printable

TICK_SECONDS = 1.0
LINE_SECONDS = (1.0, 60.0)  # between plain lines: at the start, and at most; in between a twentieth of the time so far
QUIET_SECONDS = 600.0  # a plain line although nothing has finished

_drawing = threading.RLock()


@cache
def _no_fork_while_drawing() -> None:
    """A process forked while another thread holds the lock of the screen could never write to it."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_drawing.acquire, after_in_parent=_drawing.release, after_in_child=_drawing.release)


class Shown(ABC):
    """Counts, and draws when something changed and when the clock ticks."""

    is_live = False

    def __init__(self, tally: Tally, goal: str) -> None:
        self._tally, self._goal = tally, goal
        self._first, self._start = tally.done, time.monotonic()
        self._since: tuple[float, ...] = ()
        self._over = False
        self._n_timed, self._seconds, self._warm = 0, 0.0, False
        self._end = threading.Event()
        context = contextvars.copy_context()  # in which a notebook knows the cell that is being run
        self._clock = threading.Thread(target=context.run, args=(self._tick,), name="ccgbo-clock", daemon=True)

    def __enter__(self) -> Self:
        _no_fork_while_drawing()
        self._open()
        self._clock.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._clock.join()
        self._since, self._over = (), True
        with _drawing:
            self._close()

    def _tick(self) -> None:
        while not self._end.wait(TICK_SECONDS):
            with _drawing:
                self._draw(ticked=True)

    def suggested(self, seconds: float) -> None:
        if self._warm:  # the first one also loads the libraries
            self._n_timed, self._seconds = self._n_timed + 1, self._seconds + seconds
        self._warm = True

    def running(self, since: Sequence[float]) -> None:
        self._since = tuple(since)

    def finished(self, tally: Tally) -> None:
        self._tally = tally
        with _drawing:
            self._draw(ticked=False)

    def note(self, text: str) -> None:
        with _drawing:
            self._say(printable(text, keep="\n\t"))

    # what differs: where it is shown

    def _open(self) -> None:  # noqa: B027 - not every display has something to open
        pass

    @abstractmethod
    def _draw(self, *, ticked: bool) -> None: ...

    def _say(self, text: str) -> None:
        printed(text + "\n", sys.stderr)

    @abstractmethod
    def _close(self) -> None: ...

    # words

    def _count(self) -> str:
        return f"{self._tally.done}/{self._tally.total}"

    def _time(self, *, left: bool = True) -> str:
        elapsed, new = time.monotonic() - self._start, self._tally.done - self._first
        rest = self._tally.total - self._tally.done
        return clock(elapsed) + (f"<{clock(elapsed / new * rest)}" if left and new and rest and not self._over else "")

    def _words(self, *, short: bool = False) -> list[str]:
        t, n, out = self._tally, len(self._since), []
        if t.best is not None:
            out.append(f"best {t.best:.6g}")
        if t.front:
            out.append(f"front {len(t.front)}" + ("" if t.hypervolume is None else f", volume {t.hypervolume:.4g}"))
        if t.waits:
            out.append("none feasible yet")
        if n:
            age = time.monotonic() - min(self._since)
            oldest = f"for {duration(age)}" if n == 1 else f"oldest {duration(age)}"
            out.append(f"{n} running" + (f" {oldest}" if n == 1 else f", {oldest}") * (age >= 2.0))
        if t.failed:
            out.append(f"{t.failed} failed")
        if self._n_timed and not short:
            out.append(f"{1e3 * self._seconds / self._n_timed:.0f} ms per suggestion")
        return out


class Lines(Shown):
    """Lines for a log: no colour, nothing drawn over, fewer as time goes on."""

    def _open(self) -> None:
        self._printed_at, self._printed = -LINE_SECONDS[1], self._tally.done

    def _close(self) -> None:
        if self._tally.done != self._printed:
            self._print()

    def _draw(self, *, ticked: bool) -> None:
        now, (least, most) = time.monotonic(), LINE_SECONDS
        pause = QUIET_SECONDS if ticked else min(max(least, (now - self._start) / 20.0), most)
        if now - max(self._printed_at, self._start if ticked else 0.0) >= pause:
            self._print()

    def _print(self) -> None:
        self._printed_at, self._printed = time.monotonic(), self._tally.done
        self._say(f"{self._goal}: {', '.join([f'{self._count()} trials', *self._words()])}")


# -- streams and words


def stream_width(stream: Any) -> int | None:
    """Columns of a terminal; None for anything else."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or None if stream.isatty() else None
    except (OSError, ValueError, AttributeError):
        return None


def printed(text: str, stream: Any) -> None:
    """Write text to a stream of any encoding; a stream that is closed or gone loses it."""
    if stream is None:
        return
    try:
        try:
            stream.write(text)
        except UnicodeEncodeError:
            stream.write(text.encode("ascii", "backslashreplace").decode("ascii"))
        stream.flush()
    except (OSError, ValueError):
        pass


def clock(seconds: float) -> str:
    """1:02:03, 02:03."""
    minutes, s = divmod(int(seconds), 60)
    hours, m = divmod(minutes, 60)
    return f"{hours}:{m:02d}:{s:02d}" if hours else f"{m:02d}:{s:02d}"


def duration(seconds: float) -> str:
    """12 s, 12 min, 3.2 h."""
    if seconds < 60.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 3570.0 else f"{seconds / 3600.0:.1f} h"
