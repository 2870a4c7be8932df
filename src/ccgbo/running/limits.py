"""When a run stops although trials are left."""

from __future__ import annotations

import math
import re
import signal
import threading
import time
from datetime import timedelta
from types import FrameType
from typing import Any, Self

from ccgbo.engine.metric_stopping import MOST_OBJECTIVES
from ccgbo.errors import SettingError
from ccgbo.metrics import Metrics
from ccgbo.running.evaluation import Failure, is_evaluating
from ccgbo.running.sources import Source, Tally, is_better
from ccgbo.space.numeric import is_finite, is_number
from ccgbo.validation import whole_number

AHEAD, IN_A_ROW = 10, 5  # evaluations whose gain is asked for; outcomes in a row after which it must be too little
ALIKE = 5  # first trials of a run that all fail the same way end it
DURATION = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(s|sec|min|m|h|d)?\s*")
SECONDS = {"s": 1.0, "sec": 1.0, None: 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def seconds(name: str, value: Any) -> float:
    """Seconds from a number, a timedelta, or a text such as "90s", "30min" or "1.5h"."""
    found: Any = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(value, str) and (match := DURATION.fullmatch(value)):
        found = float(match[1]) * SECONDS[match[2]]
    if not is_finite(found) or not found > 0:
        raise SettingError(f"{name} must be None, a number of seconds > 0 or a text such as '30min', got {value!r}.")
    return float(found)


class Limits:
    """When to stop although trials are left."""

    def __init__(self, *, timeout: Any, target: Any, patience: Any, gain: Any, source: Source) -> None:
        self._deadline = math.inf if timeout is None else time.monotonic() + seconds("timeout", timeout)
        if target is not None and (not is_number(target) or math.isnan(target)):
            raise SettingError(f"target must be None or a number, got {target!r}.")
        self._patience = None if patience is None else whole_number("patience", patience)
        self._target, self._direction = target, source.metrics.direction
        _check_suits(source.metrics, target, gain)
        self._gain = None if gain is None else GainBelow(gain, source)
        tally = source.tally()
        self._best, self._best_at, self._done = tally.best, tally.done, tally.done
        self._front = tally.front

    def count(self, tally: Tally) -> None:
        if tally.front != self._front:
            self._front, self._best_at = tally.front, tally.done
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
        return None if self._gain is None else self._gain.reached(self._done)


def _check_suits(metrics: Metrics, target: Any, gain: Any) -> None:
    """Refuse limits that mean nothing for the metrics."""
    if metrics.several and target is not None:
        names = list(metrics.objectives)
        raise SettingError(f"target must be None where there are several objectives, {names!r}, got {target!r}.")
    if len(metrics.objectives) > MOST_OBJECTIVES and gain is not None:
        rule = f"must be None where there are more than {MOST_OBJECTIVES} objectives"
        raise SettingError(f"stop_when_gain_below {rule}, got {gain!r}.")


class GainBelow:
    """Whether more evaluations are worth their while.

    A model can err about that, most of all a young one: it is asked only once there is more than the initial design,
    and must say so after five outcomes in a row, of the expected gain and of what is gained in one of ten cases.
    """

    def __init__(self, least: Any, source: Source) -> None:
        if not is_finite(least) or not least > 0:
            raise SettingError(f"stop_when_gain_below must be None or a number > 0, got {least!r}.")
        self._least, self._source = float(least), source
        self._asked_at, self._below = -1, 0

    def reached(self, done: int) -> str | None:
        if done == self._asked_at:
            return None
        self._asked_at, owner = done, self._source.owner
        known = sum(trial.in_model for trial in owner.trials)
        gain = owner.expected_gain(AHEAD) if known > owner.settings.initial_size(owner.space.d) else None
        self._below = self._below + 1 if gain is not None and max(gain.mean, gain.high) < self._least else 0
        if self._below < IN_A_ROW or gain is None:
            return None
        return f"another {AHEAD} trials are expected to gain {gain.words()[0]}"


class FirstTrials:
    """Whether the first trials of a run all fail the same way: then it is the objective, not the points."""

    def __init__(self) -> None:
        self._alike: tuple[str, str] | None = None
        self._n, self._differ = 0, False

    def count(self, failure: Failure | None) -> bool:
        """Count an outcome, None for a value; True once enough of them have failed alike."""
        if failure is None or (self._n and failure.alike != self._alike):
            self._differ = True
        elif not self._differ:
            self._alike, self._n = failure.alike, self._n + 1
        return not self._differ and self._n >= ALIKE


class CtrlC:
    """Counts Ctrl-C, so that it never cuts an ask or a tell in two.

    In an objective that runs in this thread each one interrupts it. Elsewhere the first two are noted, for the loop to
    answer; whoever presses a third time wants out at any price.
    """

    def __init__(self) -> None:
        self.presses = 0
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

    @property
    def pressed(self) -> bool:
        return self.presses > 0

    def note(self) -> None:
        """An interrupt that arrived in another way: through the objective."""
        self.presses = max(self.presses, 1)

    def _on_signal(self, _number: int, frame: FrameType | None) -> None:
        self.presses += 1
        if is_evaluating(frame) or self.presses > 2:
            raise KeyboardInterrupt
