"""The loop that evaluates a function: take a trial, hand it to an executor, tell what came back.

Suggestions are made while evaluations run; nobody waits for the slowest. One loop serves an optimizer in memory and a
study in a file (``sources.py``), one process and any ``concurrent.futures.Executor``.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from contextlib import ExitStack
from typing import Any, Literal

from ccgbo.errors import ObjectiveError, SettingError, SpaceExhaustedError, TellError
from ccgbo.records import Result, Trial
from ccgbo.running.limits import CtrlC, Limits
from ccgbo.running.progress import Progress, open_progress
from ccgbo.running.sources import Source

OnError = Literal["record", "raise"]
Callback = Callable[[Any, Trial], Any]

INTERRUPTED = "interrupted"
POLL_SECONDS = 0.2  # between looks at the clock and at Ctrl-C while evaluations run


def run(
    source: Source,
    f: Callable[..., Any],
    *,
    n_workers: int | None = None,  # evaluations at a time; None is 1, or the size of the executor
    executor: Executor | None = None,  # None: this thread for one worker, threads for several
    timeout: float | None = None,  # seconds; then no new trial is started
    target: float | None = None,  # stop once the best value is this good
    patience: int | None = None,  # stop after so many finished trials without a better value
    progress: bool = True,
    callback: Callback | None = None,  # callback(optimizer or study, trial) after each; a true answer stops the run
    on_error: OnError = "record",
) -> Result:
    """Evaluate ``f(**params)`` for each trial of ``source``; running evaluations are always waited for.

    An exception of ``f`` is recorded with its traceback as a failed trial, or raised with ``on_error="raise"``. The
    first Ctrl-C stops cleanly: with one worker it interrupts ``f`` and gives its trial back, else it lets what is
    running finish; the second one stops at once.
    """
    if not callable(f):
        raise SettingError(f"f must be callable, got {f!r}.")
    if on_error not in ("record", "raise"):
        raise SettingError(f"on_error must be 'record' or 'raise', got {on_error!r}.")
    limits = Limits(timeout=timeout, target=target, patience=patience, source=source)
    size = _size(n_workers, executor)
    with ExitStack() as stack:
        if executor is None:
            executor = Inline() if size == 1 else ThreadPoolExecutor(size, thread_name_prefix="ccgbo")
            stack.callback(executor.shutdown, wait=False)
        stack.enter_context(source)
        ctrl_c = stack.enter_context(CtrlC(inline=isinstance(executor, Inline)))
        bar = stack.enter_context(open_progress(progress, source.tally(), source.direction))
        loop = Loop(source, f, executor, size, limits, ctrl_c, bar, callback, on_error)
        stack.callback(loop.release)
        stopped = loop.run()
    return source.result(stopped)


def _size(n_workers: Any, executor: Executor | None) -> int:
    if n_workers is None:
        n_workers = 1 if executor is None else getattr(executor, "_max_workers", None)
        if n_workers is None:
            raise SettingError("n_workers must be given with this executor, got None.")
    if isinstance(n_workers, bool) or not isinstance(n_workers, int) or n_workers < 1:
        raise SettingError(f"n_workers must be a whole number >= 1, got {n_workers!r}.")
    return n_workers


class Reported(Exception):
    """A failure that explains itself: recorded by its message, without a traceback."""


class Loop:
    """One run: which trials are being evaluated, and why it stopped."""

    def __init__(
        self,
        source: Source,
        f: Callable[..., Any],
        executor: Executor,
        size: int,
        limits: Limits,
        ctrl_c: CtrlC,
        bar: Progress,
        callback: Callback | None,
        on_error: OnError,
    ) -> None:
        self._source, self._f, self._executor, self._size = source, f, executor, size
        self._limits, self._ctrl_c, self._bar = limits, ctrl_c, bar
        self._callback, self._on_error = callback, on_error
        self._running: dict[Future[Any], Trial] = {}
        self._stopped: str | None = None

    def run(self) -> str:
        """Until all is done or something says stop; the reason."""
        while True:
            self._look_for_a_stop()
            nothing_left = self._fill() if self._stopped is None else True
            if not self._running:
                if self._stopped is not None or nothing_left:
                    return self._stopped or "all trials done"
                time.sleep(POLL_SECONDS)  # another process holds the last trials and may yet give them back
                self._limits.count(self._source.tally())
                continue
            finished, _ = wait(self._running, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
            for future in sorted(finished, key=lambda future: self._running[future].id):
                self._finish(future, self._running[future])

    def _look_for_a_stop(self) -> None:
        if self._ctrl_c.pressed and self._stopped != INTERRUPTED:
            self._stopped = INTERRUPTED
            if self._running:
                self._bar.note(f"waiting for {len(self._running)} running trials; Ctrl-C again gives them up")
        elif self._stopped is None:
            self._stopped = self._limits.reached()

    def _fill(self) -> bool:
        """Start evaluations up to the size of the pool; True when no trial is left to wait for."""
        while len(self._running) < self._size and not self._ctrl_c.pressed:
            start = time.perf_counter()
            try:
                trial = self._source.take()
            except SpaceExhaustedError:
                self._stopped = "every point of the space is used"
                return True
            if trial is None:
                return not self._source.more_to_come()
            self._bar.suggested(time.perf_counter() - start, len(self._running) + 1)
            self._start(trial)
        return False

    def _start(self, trial: Trial) -> None:
        waiting: Future[Any] = Future()
        self._running[waiting] = trial  # so that it is given back if the executor refuses it
        try:
            with self._ctrl_c.evaluating():
                future = self._executor.submit(evaluate, self._f, dict(trial.params))
        except KeyboardInterrupt:
            self._ctrl_c.pressed = True
            self._release(waiting)
            return
        del self._running[waiting]
        self._running[future] = trial

    def _finish(self, future: Future[Any], trial: Trial) -> None:
        error = CancelledError() if future.cancelled() else future.exception()
        if isinstance(error, KeyboardInterrupt):  # Ctrl-C reaches worker processes too
            self._ctrl_c.pressed = True
            self._release(future)
            return
        if isinstance(error, BrokenExecutor | CancelledError) or not isinstance(error, Exception | None):
            raise error  # the objective is not to blame: every running trial is given back
        told, error = self._tell(trial, future, error)
        del self._running[future]
        if told is None:
            return
        if told.state == "failed" and self._on_error == "raise":
            raise ObjectiveError(f"trial {trial.id} failed with {dict(trial.params)!r}: {_last_line(told)}") from error
        tally = self._source.tally()
        self._limits.count(tally)
        self._bar.finished(told, tally, len(self._running))
        if self._callback is not None and self._callback(self._source.owner, told):
            self._stopped = "stopped by callback"

    def _tell(
        self, trial: Trial, future: Future[Any], error: Exception | None
    ) -> tuple[Trial | None, Exception | None]:
        if error is None:
            try:
                return self._source.tell(trial, future.result()), None
            except TellError as refused:  # not a number
                error = refused
        text = str(error) if isinstance(error, Reported) else "".join(traceback.format_exception(error))
        return self._source.tell(trial, failed=True, error=text), error

    def _release(self, future: Future[Any]) -> None:
        self._source.release(self._running.pop(future))

    def release(self) -> None:
        """Whatever is still running when the loop ends will not be told here."""
        for future in list(self._running):
            future.cancel()
            self._release(future)


def evaluate(f: Callable[..., Any], params: Mapping[str, Any]) -> Any:
    """Runs where the executor runs it."""
    return f(**params)


def _last_line(trial: Trial) -> str:
    lines = (trial.error or "").strip().splitlines()
    return lines[-1] if lines else "no reason given"


class Inline(Executor):
    """Evaluates in the calling thread."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future
