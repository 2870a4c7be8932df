"""How far a run is: one live line in a terminal, plain lines elsewhere, both on standard error."""

from __future__ import annotations

import os
import sys
import time
from contextlib import AbstractContextManager
from typing import Protocol, Self

from ccgbo.records import Direction, Trial
from ccgbo.running.sources import Tally

LINE_SECONDS = 1.0  # at most one plain line in this time, and one at the end


class Progress(Protocol):
    """What the loop reports."""

    def suggested(self, seconds: float, running: int) -> None: ...
    def finished(self, trial: Trial, tally: Tally, running: int) -> None: ...
    def note(self, text: str) -> None: ...


def open_progress(show: bool, tally: Tally, direction: Direction) -> AbstractContextManager[Progress]:
    if not show:
        return Silent()
    return Live(tally, direction) if _is_screen() else Lines(tally, direction)


def _is_screen() -> bool:
    """A terminal with room for a line; one without a size is a log in disguise."""
    try:
        return sys.stderr.isatty() and os.get_terminal_size(sys.stderr.fileno()).columns > 0
    except OSError:
        return False


class Silent:
    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def suggested(self, seconds: float, running: int) -> None:
        pass

    def finished(self, trial: Trial, tally: Tally, running: int) -> None:
        pass

    def note(self, text: str) -> None:
        pass


class _Counting:
    """What both kinds of line say."""

    def __init__(self, tally: Tally, direction: Direction) -> None:
        self._tally, self._direction, self._running = tally, direction, 0
        self._n_suggested, self._seconds = 0, 0.0

    def suggested(self, seconds: float, running: int) -> None:
        self._n_suggested += 1
        self._seconds += seconds
        self._running = running

    def words(self) -> list[str]:
        t = self._tally
        out = [f"{self._running} running"] if self._running else []
        out += [f"{t.failed} failed"] if t.failed else []
        out += [f"best {t.best:.6g}"] if t.best is not None else []
        if self._n_suggested:
            out.append(f"{1e3 * self._seconds / self._n_suggested:.0f} ms per suggestion")
        return out


class Live(_Counting):
    """A bar that is drawn over itself."""

    def __init__(self, tally: Tally, direction: Direction) -> None:
        super().__init__(tally, direction)
        from tqdm import tqdm

        self._bar = tqdm(total=tally.total, initial=tally.done, desc=direction, unit="trial", file=sys.stderr)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._running = 0
        self._bar.set_postfix_str(", ".join(self.words()), refresh=True)
        self._bar.close()

    def suggested(self, seconds: float, running: int) -> None:
        super().suggested(seconds, running)
        self._bar.set_postfix_str(", ".join(self.words()), refresh=False)

    def finished(self, trial: Trial, tally: Tally, running: int) -> None:  # noqa: ARG002
        self._tally, self._running = tally, running
        self._bar.set_postfix_str(", ".join(self.words()), refresh=False)
        self._bar.update(tally.done - self._bar.n)

    def note(self, text: str) -> None:
        self._bar.write(text, file=sys.stderr)


class Lines(_Counting):
    """Lines for a log: no colour, nothing drawn over."""

    def __init__(self, tally: Tally, direction: Direction) -> None:
        super().__init__(tally, direction)
        self._printed_at, self._printed = -LINE_SECONDS, tally.done

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._running = 0
        if self._tally.done != self._printed:
            self._print()

    def finished(self, trial: Trial, tally: Tally, running: int) -> None:  # noqa: ARG002
        self._tally, self._running = tally, running
        if time.monotonic() - self._printed_at >= LINE_SECONDS:
            self._print()

    def note(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def _print(self) -> None:
        self._printed_at, self._printed = time.monotonic(), self._tally.done
        words = [f"{self._tally.done}/{self._tally.total} trials", *self.words()]
        print(f"{self._direction}: {', '.join(words)}", file=sys.stderr, flush=True)
