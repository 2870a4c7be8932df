"""How far a run is: one live line in a terminal, a bar in a notebook, plain lines elsewhere, on standard error.

A clock ticks while evaluations run, also where the objective keeps the main thread busy, so that an evaluation of an
hour does not look like a program that hangs.
"""

from __future__ import annotations

import contextvars
import html
import os
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, Protocol, Self

from ccgbo.records import Direction
from ccgbo.running.sources import Tally
from ccgbo.text import printable, shorten

TICK_SECONDS = 1.0
LINE_SECONDS = (1.0, 60.0)  # between plain lines: at the start, and at most; in between a twentieth of the time so far
QUIET_SECONDS = 600.0  # a plain line although nothing has finished
BAR = 24  # characters of the bar, at most
ECHO = 3  # columns left free: a terminal writes ^C behind the cursor


class Progress(Protocol):
    """What the loop reports."""

    def suggested(self, seconds: float) -> None: ...
    def running(self, since: Sequence[float]) -> None: ...  # time.monotonic() at the start of each that runs
    def finished(self, tally: Tally) -> None: ...
    def note(self, text: str) -> None: ...

    @property
    def is_live(self) -> bool: ...  # whether a line stands on the terminal that others' lines would tear


def open_progress(show: bool, tally: Tally, direction: Direction) -> AbstractContextManager[Progress]:
    if not show:
        return Silent()
    if _notebook() is not None:
        return Notebook(tally, direction)
    return Live(tally, direction) if _is_screen() else Lines(tally, direction)


def _is_screen() -> bool:
    """A terminal with room for a line; one without a size is a log in disguise."""
    return bool(stream_width(sys.stderr))


def _notebook() -> Any:
    """The shell of a Jupyter kernel, where this is one."""
    if "IPython" not in sys.modules:
        return None
    shell = sys.modules["IPython"].get_ipython()
    return shell if getattr(shell, "kernel", None) is not None else None


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


class Silent:
    is_live = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def suggested(self, seconds: float) -> None:
        pass

    def running(self, since: Sequence[float]) -> None:
        pass

    def finished(self, tally: Tally) -> None:
        pass

    def note(self, text: str) -> None:
        pass


# -- what all of them say

_drawing = threading.RLock()


@cache
def _no_fork_while_drawing() -> None:
    """A process forked while another thread holds the lock of the screen could never write to it."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_drawing.acquire, after_in_parent=_drawing.release, after_in_child=_drawing.release)


class Shown:
    """Counts, and draws when something changed and when the clock ticks."""

    is_live = False

    def __init__(self, tally: Tally, direction: Direction) -> None:
        self._tally, self._direction = tally, direction
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

    def _open(self) -> None:
        pass

    def _draw(self, *, ticked: bool) -> None:
        raise NotImplementedError

    def _say(self, text: str) -> None:
        printed(text + "\n", sys.stderr)

    def _close(self) -> None:
        raise NotImplementedError

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
        if n:
            age = time.monotonic() - min(self._since)
            oldest = f"for {duration(age)}" if n == 1 else f"oldest {duration(age)}"
            out.append(f"{n} running" + (f" {oldest}" if n == 1 else f", {oldest}") * (age >= 2.0))
        if t.failed:
            out.append(f"{t.failed} failed")
        if self._n_timed and not short:
            out.append(f"{1e3 * self._seconds / self._n_timed:.0f} ms per suggestion")
        return out


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


class Live(Shown):
    """A line that is drawn over itself; what the objective prints goes above it."""

    is_live = True

    def _open(self) -> None:
        from ccgbo.running.screen import Above, bar_on

        self._stderr = sys.stderr
        self._bar = bar_on(self._stderr, self._line(self._width()))
        streams = {name: getattr(sys, name) for name in ("stdout", "stderr")}
        self._replaced = {name: (s, Above(s, self._bar)) for name, s in streams.items() if stream_width(s)}
        for name, (_, above) in self._replaced.items():
            setattr(sys, name, above)

    def _close(self) -> None:
        for name, (before, above) in self._replaced.items():
            above.finish()
            if getattr(sys, name) is above:
                setattr(sys, name, before)
        self._draw(ticked=False)
        self._bar.close()

    def _draw(self, *, ticked: bool) -> None:  # noqa: ARG002
        self._bar.set_description_str(self._line(self._width()), refresh=True)

    def _say(self, text: str) -> None:
        with self._bar.external_write_mode(file=self._bar.fp):
            printed(text + "\n", self._stderr)

    def _width(self) -> int:
        return stream_width(self._stderr) or 80

    def _line(self, width: int) -> str:
        """Where there is little room the time of a suggestion goes first, then the bar and the time that is left."""
        room, line = width - ECHO, ""
        for short, left in ((False, True), (True, True), (True, False)):
            line = f" {self._count()} [{', '.join([self._time(left=left), *self._words(short=short)])}]"
            if len(self._direction) + len(line) + (0 if short else 5) <= room:  # a bar says more than milliseconds
                break
        bar = min(BAR, room - len(self._direction) - len(line) - 1)
        return shorten(self._direction + (f" {self._blocks(bar)}" if bar >= 4 else "") + line, room)

    def _blocks(self, width: int) -> str:
        full, empty = ("█", "░") if _can_show("█░", self._stderr) else ("#", ".")
        n = min(width, int(width * self._tally.done / self._tally.total))
        return full * n + empty * (width - n)


def _can_show(text: str, stream: Any) -> bool:
    try:
        text.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


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
        self._say(f"{self._direction}: {', '.join([f'{self._count()} trials', *self._words()])}")


class Notebook(Shown):
    """A bar in the cell's output, replaced in place."""

    def _open(self) -> None:
        from IPython.display import display

        show: Any = display
        self._handle = show(self._data(), raw=True, display_id=True)

    def _draw(self, *, ticked: bool) -> None:  # noqa: ARG002
        self._handle.update(self._data(), raw=True)

    def _close(self) -> None:
        self._draw(ticked=False)

    def _data(self) -> dict[str, str]:
        text = f"{self._direction} {self._count()} [{', '.join([self._time(), *self._words()])}]"
        bar = f'<progress value="{self._tally.done}" max="{self._tally.total}"></progress>'
        return {"text/plain": text, "text/html": f"{bar} <code>{html.escape(text)}</code>"}
