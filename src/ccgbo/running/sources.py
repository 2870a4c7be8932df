"""Where a run takes its trials from: an optimizer in memory, or a study in a file (``study/source.py``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

from ccgbo.engine.optimizer import Optimizer
from ccgbo.errors import SettingError
from ccgbo.metrics import Metrics
from ccgbo.records import Direction, Trial, best_of, front_of, hypervolume_of
from ccgbo.result import Result
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
    best: float | None  # that keeps every outcome constraint; None of several objectives
    front: tuple[int, ...] | None = None  # ids of the trials on it, of several objectives
    hypervolume: float | None = None  # that the front dominates, above a point just beyond its worst
    waits: bool = False  # for a first feasible trial


def tally_of(trials: Sequence[Trial], metrics: Metrics, *, total: int, done: int, failed: int) -> Tally:
    """How far a run is that has these trials."""
    best = best_of(trials, metrics)
    tally = Tally(total=total, done=done, failed=failed, best=None if best is None else best.value)
    front = front_of(trials, metrics) if metrics.several else []
    if metrics.several:
        volume = hypervolume_of(trials, metrics).value if front else None
        tally = replace(tally, front=tuple(trial.id for trial in front), hypervolume=volume)
    waits = best is None and not front and bool(metrics.constraints) and any(trial.in_model for trial in trials)
    return replace(tally, waits=waits)


class Source(Protocol):
    """What the loop needs to know of trials."""

    @property
    def metrics(self) -> Metrics: ...

    @property
    def owner(self) -> Any:
        """What a callback is handed: the optimizer or the study."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...

    def enqueue(self, points: Sequence[Mapping[str, Any]]) -> None:
        """Put points in line, to be given before any suggestion."""

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


def check_points(x0: Any) -> list[Mapping[str, Any]]:
    """The points to begin with: of one point a list of it, of None nothing."""
    if x0 is None:
        return []
    points = [x0] if isinstance(x0, Mapping) else list(x0) if isinstance(x0, Sequence) else [x0]
    if isinstance(x0, str) or not all(isinstance(point, Mapping) for point in points):
        raise SettingError(f"x0 must be None or a list of points, each a mapping of names to values, got {x0!r}.")
    return points


class MemorySource:
    """``n_trials`` new trials of an optimizer; one that is abandoned does not count."""

    def __init__(self, optimizer: Optimizer, n_trials: int) -> None:
        self.owner, self._total = optimizer, check_n_trials(n_trials)
        self._left, self._done, self._failed = self._total, 0, 0
        self._again: list[Trial] = []
        self._crashes: dict[int, int] = {}  # by trial

    @property
    def metrics(self) -> Metrics:
        return self.owner.metrics

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def enqueue(self, points: Sequence[Mapping[str, Any]]) -> None:
        self.owner.enqueue(points)

    def take(self) -> Trial | None:
        while self._again:
            trial = self._again.pop(0)
            if self._is_pending(trial):
                return trial
        if self._left == 0:
            return None
        trial = self.owner.ask()
        self._left -= 1
        return trial

    def more_to_come(self) -> bool:
        return False

    def _is_pending(self, trial: Trial) -> bool:
        """Whether the trial still waits for its outcome; a callback may have told it, or given it up."""
        state = self.owner.trial(trial.id).state
        if state == "abandoned":
            self._left += 1
        elif state != "pending":
            self._done += 1
        return state == "pending"

    def tell(self, trial: Trial, value: Any = None, *, failed: bool = False, error: str | None = None) -> Trial | None:
        if not self._is_pending(trial):
            return None
        told = self.owner.tell(trial, value, failed=failed, error=error)
        self._done += 1
        self._failed += told.state == "failed"
        return told

    def release(self, trial: Trial, *, crashed: bool = False) -> None:
        attempts = self._crashes[trial.id] = self._crashes.get(trial.id, 0) + crashed
        if attempts >= MAX_ATTEMPTS:
            self.tell(trial, failed=True, error=CRASHED)
        else:
            self._again.append(trial)

    def tally(self) -> Tally:
        return tally_of(self.owner.trials, self.metrics, total=self._total, done=self._done, failed=self._failed)

    def result(self, stopped: str) -> Result:
        return self.owner.result(stopped)


def is_better(value: float, best: float, direction: Direction) -> bool:
    return value > best if direction == "maximize" else value < best
