"""How far a run is: one live line in a terminal, a bar in a notebook, plain lines elsewhere, on standard error."""

from __future__ import annotations

import html
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, Self

from ccgbo.metrics import Metrics
from ccgbo.running.display import Lines, Shown, printed, stream_width
from ccgbo.running.sources import Tally
from ccgbo.text import shorten

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


def goal_of(metrics: Metrics) -> str:
    """What a run is called: what it does to its objective."""
    return "optimize" if metrics.several else metrics.direction


def open_progress(show: bool, tally: Tally, goal: str) -> AbstractContextManager[Progress]:
    if not show:
        return Silent()
    if _notebook() is not None:
        return Notebook(tally, goal)
    return Live(tally, goal) if _is_screen() else Lines(tally, goal)


def _is_screen() -> bool:
    """A terminal with room for a line; one without a size is a log in disguise."""
    return bool(stream_width(sys.stderr))


def _notebook() -> Any:
    """The shell of a Jupyter kernel, where this is one."""
    if "IPython" not in sys.modules:
        return None
    shell = sys.modules["IPython"].get_ipython()
    return shell if getattr(shell, "kernel", None) is not None else None


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
            if len(self._goal) + len(line) + (0 if short else 5) <= room:  # a bar says more than milliseconds
                break
        bar = min(BAR, room - len(self._goal) - len(line) - 1)
        return shorten(self._goal + (f" {self._blocks(bar)}" if bar >= 4 else "") + line, room)

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
        text = f"{self._goal} {self._count()} [{', '.join([self._time(), *self._words()])}]"
        bar = f'<progress value="{self._tally.done}" max="{self._tally.total}"></progress>'
        return {"text/plain": text, "text/html": f"{bar} <code>{html.escape(text)}</code>"}
