"""When a run stops although trials are left."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

from ccgbo.errors import SettingError
from ccgbo.running.sources import Source, Tally, is_better


class Limits:
    """When to stop although trials are left."""

    def __init__(self, *, timeout: Any, target: Any, patience: Any, source: Source) -> None:
        if timeout is not None and not timeout > 0:
            raise SettingError(f"timeout must be None or > 0 seconds, got {timeout!r}.")
        if target is not None and math.isnan(target):
            raise SettingError(f"target must be None or a number, got {target!r}.")
        if patience is not None and not patience >= 1:
            raise SettingError(f"patience must be None or >= 1, got {patience!r}.")
        self._deadline = math.inf if timeout is None else time.monotonic() + timeout
        self._target, self._patience, self._direction = target, patience, source.direction
        tally = source.tally()
        self._best, self._best_at, self._done = tally.best, tally.done, tally.done

    def count(self, tally: Tally) -> None:
        if tally.best is not None and (self._best is None or is_better(tally.best, self._best, self._direction)):
            self._best, self._best_at = tally.best, tally.done
        self._done = tally.done

    def reached(self) -> str | None:
        if (
            self._target is not None
            and self._best is not None
            and not is_better(self._target, self._best, self._direction)
        ):
            return "target reached"
        if self._patience is not None and self._done - self._best_at >= self._patience:
            return f"no progress in {self._patience} trials"
        if time.monotonic() > self._deadline:
            return "out of time"
        return None


class CtrlC:
    """Turns the first Ctrl-C into a note, so that it never cuts an ask or a tell in two."""

    def __init__(self, *, inline: bool) -> None:
        self.pressed = False
        self._inline, self._evaluating = inline, False
        self._before: Any = None

    def __enter__(self) -> Self:
        if (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        ):
            self._before = signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """Marks the time in which the objective itself may run in this thread."""
        self._evaluating = True
        try:
            yield
        finally:
            self._evaluating = False

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self.pressed or (self._inline and self._evaluating):
            raise KeyboardInterrupt
        self.pressed = True
