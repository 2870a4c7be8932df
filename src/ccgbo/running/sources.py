"""Where a run takes its trials from: an optimizer in memory, or a study in a file (``study/source.py``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, Self

from ccgbo.engine.optimizer import Optimizer
from ccgbo.records import Direction, Result, Trial, best_of
from ccgbo.validation import whole_number

MAX_ATTEMPTS = 2  # evaluations that may end with their process before the trial is failed
CRASHED = (
    "the process that evaluated it ended before it gave a value, twice; it may have run out of memory or crashed at "
    "these parameters, so it is not tried again."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How far a run is."""

    total: int  # suggestions wanted
    done: int  # of them, told or failed
    failed: int
    best: float | None


class Source(Protocol):
    """What the loop needs to know of trials."""

    @property
    def direction(self) -> Direction: ...

    @property
    def owner(self) -> Any:
        """What a callback is handed: the optimizer or the study."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...

    def take(self) -> Trial | None:
        """A trial to evaluate; None when there is none to give now."""

    def more_to_come(self) -> bool:
        """Whether a trial may be given later although there is none now."""

    def tell(self, trial: Trial, value: Any = None, *, failed: bool = False, error: str | None = None) -> Trial | None:
        """Record an outcome; None where somebody else was first."""

    def release(self, trial: Trial, *, crashed: bool = False) -> None:
        """The trial has no outcome and can be asked again; one that crashed too often is failed instead."""

    def tally(self) -> Tally: ...
    def result(self, stopped: str) -> Result: ...


def check_n_trials(n_trials: Any) -> int:
    return whole_number("n_trials", n_trials)


class MemorySource:
    """``n_trials`` new trials of an optimizer."""

    def __init__(self, optimizer: Optimizer, n_trials: int) -> None:
        self.owner, self._total = optimizer, check_n_trials(n_trials)
        self._left, self._done, self._failed = self._total, 0, 0
        best = best_of(optimizer.trials, optimizer.direction)
        self._best = None if best is None else best.value
        self._again: list[Trial] = []
        self._crashes: dict[int, int] = {}  # by trial

    @property
    def direction(self) -> Direction:
        return self.owner.direction

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def take(self) -> Trial | None:
        if self._again:
            return self._again.pop(0)
        if self._left == 0:
            return None
        trial = self.owner.ask()
        self._left -= 1
        return trial

    def more_to_come(self) -> bool:
        return False

    def tell(self, trial: Trial, value: Any = None, *, failed: bool = False, error: str | None = None) -> Trial | None:
        told = self.owner.tell(trial, value, failed=failed, error=error)
        self._done += 1
        self._failed += told.state == "failed"
        if told.value is not None and (self._best is None or is_better(told.value, self._best, self.direction)):
            self._best = told.value
        return told

    def release(self, trial: Trial, *, crashed: bool = False) -> None:
        attempts = self._crashes[trial.id] = self._crashes.get(trial.id, 0) + crashed
        if attempts >= MAX_ATTEMPTS:
            self.tell(trial, failed=True, error=CRASHED)
        else:
            self._again.append(trial)

    def tally(self) -> Tally:
        return Tally(total=self._total, done=self._done, failed=self._failed, best=self._best)

    def result(self, stopped: str) -> Result:
        return self.owner.result(stopped)


def is_better(value: float, best: float, direction: Direction) -> bool:
    return value > best if direction == "maximize" else value < best
