"""The loop that evaluates a function: take a trial, hand it to an executor, tell what came back.

Suggestions are made while evaluations run; nobody waits for the slowest. One loop serves an optimizer in memory and a
study in a file (``sources.py``), one process and any ``concurrent.futures.Executor``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Literal

from ccgbo.errors import ObjectiveError, SettingError, SpaceExhaustedError, TellError
from ccgbo.records import Trial
from ccgbo.result import Result
from ccgbo.running.evaluation import CannotEvaluate, Failure, evaluate, evaluate_far, failure_of, refusal
from ccgbo.running.limits import ALIKE, CtrlC, FirstTrials, Limits
from ccgbo.running.pools import Inline, Threads, check_processes, end_processes, is_far, rebuild, size_of
from ccgbo.running.progress import Progress, goal_of, open_progress
from ccgbo.running.sources import CRASHED, MemorySource, Source, check_points
from ccgbo.text import count
from ccgbo.validation import flag

OnError = Literal["record", "continue", "raise"]
Callback = Callable[[Any, Trial], Any]

INTERRUPTED, BY_HAND = "interrupted", "asked by hand"
GO_ON = 'on_error="continue"'  # how to go on although the first trials all failed
POLL_SECONDS = 0.2  # between looks at the clock and at Ctrl-C while evaluations run
IDLE_BREAKS = 3  # times that a pool may break before it evaluates anything


def run(
    source: Source,
    f: Callable[..., Any],
    *,
    x0: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,  # points to begin with
    n_workers: int | None = None,  # evaluations at a time; None is 1, or the size of the executor
    executor: Executor | None = None,  # None: this thread for one worker, threads for several
    timeout: Any = None,  # seconds, or "30min"; then no new trial is started
    target: float | None = None,  # stop once the best value is this good
    patience: int | None = None,  # stop after so many finished trials without a better value
    stop_when_gain_below: float | None = None,  # stop when ten more trials are expected to gain less
    progress: bool = True,
    callback: Callback | None = None,  # callback(optimizer or study, trial) after each; a true answer stops the run
    on_error: OnError = "record",
) -> Result:
    """Evaluate ``f(**params)`` for each trial of ``source``; running evaluations are waited for.

    An exception of ``f`` is recorded with its traceback as a failed trial. If the first five trials all fail alike the
    run stops; ``on_error="continue"`` goes on, ``on_error="raise"`` stops at the first failure. A coroutine is awaited.

    The first Ctrl-C stops cleanly: with one worker it interrupts ``f`` and releases its trial, else it lets what is
    running finish; the second one releases that, too. Either way the result so far is returned.
    """
    if not callable(f):
        raise SettingError(f"f must be callable, got {f!r}.")
    if on_error not in ("record", "continue", "raise"):
        raise SettingError(f"on_error must be 'record', 'continue' or 'raise', got {on_error!r}.")
    progress = flag("progress", progress)
    if callback is not None and not callable(callback):
        raise SettingError(f"callback must be None or callable, got {callback!r}.")
    points = check_points(x0)
    size = size_of(n_workers, executor)
    limits = Limits(timeout=timeout, target=target, patience=patience, gain=stop_when_gain_below, source=source)
    if executor is not None:
        check_processes(executor, f)
    with CtrlC() as ctrl_c:  # until the result is there: a late press does not take it away
        with ExitStack() as stack:
            stack.enter_context(source)
            source.enqueue(points)
            bar = stack.enter_context(open_progress(progress, source.tally(), goal_of(source.metrics)))
            loop = Loop(source, f, executor, size, limits, ctrl_c, bar, callback, on_error)
            stack.callback(loop.close)
            stopped = loop.run()
        return source.result(stopped)


@dataclass(frozen=True, slots=True)
class Running:
    """An evaluation that was started."""

    trial: Trial
    since: float  # time.monotonic()


class Loop:
    """One run: which trials are being evaluated, and why it stopped."""

    def __init__(
        self,
        source: Source,
        f: Callable[..., Any],
        executor: Executor | None,
        size: int,
        limits: Limits,
        ctrl_c: CtrlC,
        bar: Progress,
        callback: Callback | None,
        on_error: OnError,
    ) -> None:
        self._source, self._f, self._size = source, f, size
        self._own = executor is None  # an executor that was given is its giver's to close
        self._executor = executor or (Inline() if size == 1 else Threads(size))
        self._limits, self._ctrl_c, self._bar = limits, ctrl_c, bar
        self._callback, self._on_error = callback, on_error
        self._running: dict[Future[Any], Running] = {}
        self._suspects: set[int] = set()  # trials that were running when a pool broke: evaluated one at a time
        self._idle_breaks = 0
        self._first = FirstTrials()
        self._has_failed = False
        self._stopped: str | None = None

    def run(self) -> str:
        """Until all is done or something says stop; the reason."""
        while True:
            self._look_for_a_stop()
            if self._ctrl_c.presses > 1:
                return INTERRUPTED
            nothing_left = self._fill() if self._stopped is None else True
            if not self._running:
                if self._stopped is not None or nothing_left:
                    return self._stopped or self._end()
                time.sleep(POLL_SECONDS)  # another process holds the last trials and may yet release them
                self._limits.count(self._source.tally())
                continue
            finished, _ = wait(self._running, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
            for future in sorted(finished, key=lambda future: self._running[future].trial.id):
                if future in self._running:  # a pool that breaks takes all of them
                    self._finish(future, self._running[future].trial)

    def _end(self) -> str:
        tally = self._source.tally()
        left = tally.total - tally.done
        return "all trials done" if left <= 0 else f"{count(left, 'trial')} of {tally.total} without a value, {BY_HAND}"

    def close(self) -> None:
        """Whatever is still running when the loop ends will not be told here."""
        given_up = [future for future in self._running if not future.cancel()]
        for future in list(self._running):
            self._release(future)
        if self._ctrl_c.pressed:
            self._bar.note(self._farewell(len(given_up)))
        if self._own:
            self._executor.shutdown(wait=False)

    # -- stopping

    def _look_for_a_stop(self) -> None:
        if self._ctrl_c.pressed and self._stopped != INTERRUPTED:
            self._stopped = INTERRUPTED
            if self._running and self._ctrl_c.presses == 1:
                self._bar.note(f"waiting for {count(len(self._running), 'running trial')}; Ctrl-C again gives them up")
        elif self._stopped is None:
            self._stopped = self._limits.reached()

    def _farewell(self, given_up: int) -> str:
        words = "interrupted"
        if given_up:
            words += f"; {count(given_up, 'evaluation')} may still run on, but will not be recorded"
        if isinstance(self._source, MemorySource):
            return f"{words}. The result has what was done."
        return f"{words}. Run the same line again to go on."

    # -- starting

    def _fill(self) -> bool:
        """Start evaluations up to the size of the pool; True when no trial is left to wait for."""
        while len(self._running) < (1 if self._suspects else self._size) and not self._ctrl_c.pressed:
            start = time.perf_counter()
            try:
                trial = self._source.take()
            except SpaceExhaustedError:
                self._stopped = "every point of the space is used"
                return True
            if trial is None:
                self._suspects.clear()  # they were failed, or another process has them
                return not self._source.more_to_come()
            if trial.id not in self._suspects:
                self._suspects.clear()
            self._bar.suggested(time.perf_counter() - start)
            self._start(trial)
        return False

    def _start(self, trial: Trial) -> None:
        waiting: Future[Any] = Future()
        self._add(waiting, trial)  # so that it is released if the executor refuses it
        try:
            future = self._submit(dict(trial.params))
        except KeyboardInterrupt:
            self._ctrl_c.note()
            self._release(waiting)
        except BrokenExecutor as error:
            self._release(waiting)
            self._idle_breaks += 1
            self._on_break(error)
        except RuntimeError as error:
            raise SettingError(f"executor must take what is submitted to it: {error}.") from error
        else:
            since = self._running.pop(waiting).since
            self._running[future] = Running(trial, since)

    def _submit(self, params: dict[str, Any]) -> Future[Any]:
        if is_far(self._executor):
            return self._executor.submit(evaluate_far, self._f, params, self._bar.is_live)
        return self._executor.submit(evaluate, self._f, params)

    def _add(self, future: Future[Any], trial: Trial) -> None:
        self._running[future] = Running(trial, time.monotonic())
        self._bar.running([running.since for running in self._running.values()])

    def _remove(self, future: Future[Any]) -> Trial:
        trial = self._running.pop(future).trial
        self._bar.running([running.since for running in self._running.values()])
        return trial

    def _release(self, future: Future[Any], *, crashed: bool = False) -> None:
        self._source.release(self._remove(future), crashed=crashed)

    # -- finishing

    def _finish(self, future: Future[Any], trial: Trial) -> None:
        error = CancelledError() if future.cancelled() else future.exception()
        if isinstance(error, KeyboardInterrupt):  # Ctrl-C reaches worker processes too
            self._ctrl_c.note()
            self._release(future)
        elif isinstance(error, BrokenExecutor):
            self._on_break(error)
        elif isinstance(error, CancelledError):
            raise ObjectiveError(f"the executor cancelled trial {trial.id}: was it shut down?") from error
        elif isinstance(error, CannotEvaluate) or not isinstance(error, Exception | None):
            raise error  # the objective is not to blame: every running trial is released
        else:
            outcome = future.result() if error is None else failure_of(error)
            told, failure = self._tell(trial, outcome)
            self._remove(future)
            self._suspects.discard(trial.id)
            self._idle_breaks = 0
            if told is not None:
                self._count(told, failure)

    def _tell(self, trial: Trial, outcome: Any) -> tuple[Trial | None, Failure | None]:
        if not isinstance(outcome, Failure):
            try:
                return self._source.tell(trial, outcome.value), None
            except TellError as refused:  # not a number
                outcome = refusal(outcome.value, refused)
        return self._source.tell(trial, failed=True, error=outcome.text), outcome

    def _count(self, told: Trial, failure: Failure | None) -> None:
        if failure is not None:
            self._say_first(told, failure)
            if self._on_error == "raise":
                raise ObjectiveError(
                    f"trial {told.id} failed with {dict(told.params)!r}: {failure.reason}"
                ) from failure.cause
        self._look_at_first(failure)
        tally = self._source.tally()
        self._limits.count(tally)
        self._bar.finished(tally)
        if self._callback is not None and self._callback(self._source.owner, told):
            self._stopped = "stopped by callback"

    def _say_first(self, told: Trial, failure: Failure) -> None:
        if not self._has_failed:
            self._has_failed = True
            self._bar.note(f"trial {told.id} failed (of further failures only the number is shown):\n{failure.text}")

    def _look_at_first(self, failure: Failure | None) -> None:
        if self._first.count(failure) and self._on_error == "record" and self._stopped is None:
            assert failure is not None
            self._stopped = (
                f"the first {ALIKE} trials all failed the same way: {failure.reason}; {GO_ON} goes on anyway"
            )

    # -- a pool that breaks

    def _on_break(self, error: BrokenExecutor) -> None:
        """Every running trial is suspect of having killed its process: release them, and go on with a new pool."""
        before, suspects = self._source.tally().failed, sorted(r.trial.id for r in self._running.values())
        for future in list(self._running):
            self._release(future, crashed=True)
        self._suspects.update(suspects)
        words = f"a process died while trials {suspects} were evaluated" if suspects else "a process of the pool died"
        end_processes(self._executor)
        if self._idle_breaks >= IDLE_BREAKS or (executor := rebuild(self._executor)) is None:
            raise ObjectiveError(f"{words}, and the executor cannot go on; the trials were released.") from error
        if self._own:
            self._executor.shutdown(wait=False)
        self._executor, self._own = executor, True
        self._bar.note(f"{words}; they are tried again one by one" if suspects else f"{words}; it was replaced")
        tally = self._source.tally()
        for _ in range(tally.failed - before):  # those that died too often
            self._look_at_first(Failure(text=CRASHED, alike=("crash", "")))
        self._limits.count(tally)
        self._bar.finished(tally)
