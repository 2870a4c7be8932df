"""One evaluation, where the executor runs it: a value or a failure comes back as plain data.

An exception may refuse to travel between processes, and one that breaks on arrival breaks the whole pool. So its name,
its message and its traceback are sent as text, and the exception itself only if it survives the journey.
"""

from __future__ import annotations

import asyncio
import inspect
import multiprocessing
import pickle
import signal
import threading
import traceback
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any

from ccgbo.errors import CcgboError
from ccgbo.text import reason, valid


class Reported(Exception):
    """A failure that explains itself: recorded by its message, without a traceback."""


class CannotEvaluate(CcgboError):
    """No trial can be evaluated: the run stops, and the trial is released as if it had never been taken."""


@dataclass(frozen=True, slots=True)
class Value:
    """What the objective returned."""

    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why an evaluation gave no value."""

    text: str  # as recorded: the traceback from the objective on, or a message
    alike: tuple[str, str]  # equal for failures of the same kind: the type, and the line or else the message
    cause: Exception | None = None

    @property
    def reason(self) -> str:
        return reason(self.text)


def evaluate(f: Callable[..., Any], params: Mapping[str, Any], far: bool = False, /) -> Value | Failure:
    """``f(**params)``; ``far`` says that the answer must travel to another process."""
    try:
        value = f(**params)
        if inspect.isawaitable(value):
            value = _awaited(value)
        return _told(value, far)
    except CannotEvaluate:
        raise
    except Exception as error:
        return _failure(error, _hint(f, params, error), far)


def evaluate_far(f: Callable[..., Any], params: Mapping[str, Any], under_a_bar: bool, /) -> Value | Failure:
    """The same in a process of a pool, perhaps on the terminal where the run shows how far it is."""
    _wait_for_a_second_ctrl_c()
    if not (under_a_bar and multiprocessing.parent_process()):
        return evaluate(f, params, True)
    from ccgbo.running.screen import clearing_lines

    with clearing_lines():
        return evaluate(f, params, True)


def failure_of(error: Exception) -> Failure:
    """For what went wrong outside the objective, in an executor."""
    return _failure(error, None, far=False)


def refusal(value: Any, error: Exception) -> Failure:
    """For a value that cannot be told: no line of the objective is to blame, so there is no traceback."""
    text = valid(f"what the objective returned is refused: {error}")
    return Failure(text=text, alike=("refused", type(value).__qualname__), cause=error)


def is_evaluating(frame: FrameType | None) -> bool:
    """Whether an objective is being evaluated in the thread that this frame is of."""
    while frame is not None:
        if frame.f_code is evaluate.__code__:
            return True
        frame = frame.f_back
    return False


# -- what comes back


def _told(value: Any, far: bool) -> Value | Failure:
    if value is None:
        return Failure(text="the objective returned None: is a return missing?", alike=("None", ""))
    if far and not _travels(value):
        return Failure(
            text=f"the objective returned what cannot travel between processes: a {type(value).__qualname__}",
            alike=("value", type(value).__qualname__),
        )
    return Value(value)


def _failure(error: Exception, hint: str | None, far: bool) -> Failure:
    cause = error if not far or _travels(error) else None
    if isinstance(error, Reported):
        text = valid(str(error))
        return Failure(text=text, alike=(type(error).__qualname__, text.partition("\n")[0]), cause=cause)
    frames = _without_ours(error.__traceback__)
    text = valid("".join(traceback.format_exception(type(error), error, frames))).rstrip()
    alike = (type(error).__qualname__, _place(frames) or reason(text))
    return Failure(text=text if hint is None else f"{text} ({hint})", alike=alike, cause=cause)


def _without_ours(frames: TracebackType | None) -> TracebackType | None:
    while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    return frames


def _place(frames: TracebackType | None) -> str | None:
    """Where an exception was raised."""
    if frames is None:
        return None
    while frames.tb_next is not None:
        frames = frames.tb_next
    return f"{frames.tb_frame.f_code.co_filename}:{frames.tb_lineno}"


def _travels(thing: Any) -> bool:
    try:
        pickle.loads(pickle.dumps(thing))
    except Exception:
        return False
    return True


# -- what is often wrong with an objective


def _hint(f: Callable[..., Any], params: Mapping[str, Any], error: Exception) -> str | None:
    """What to do about a call that does not fit the function."""
    if not isinstance(error, TypeError):
        return None
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(**params)
    except TypeError:
        hint = f"the parameters are passed by name: f({', '.join(f'{name}=…' for name in params)})"
        needed = [p for p in signature.parameters.values() if p.default is p.empty and p.kind not in (2, 3, 4)]
        if len(needed) == 1 and needed[0].name not in params:
            hint += "; for a function of one dictionary give lambda **params: f(params)"
        return hint
    return None


# -- asynchronous objectives


def _awaited(value: Awaitable[Any]) -> Any:
    """The result of a coroutine, in an event loop of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_wait_for(value))
    return _awaited_in_a_thread(value)  # a notebook's thread already runs a loop, and a thread runs one at a time


async def _wait_for(value: Awaitable[Any]) -> Any:
    return await value


def _awaited_in_a_thread(value: Awaitable[Any]) -> Any:
    done: Future[Any] = Future()
    loop = asyncio.new_event_loop()
    task = loop.create_task(_wait_for(value))

    def work() -> None:
        try:
            done.set_result(loop.run_until_complete(task))
        except BaseException as error:
            done.set_exception(error)
        finally:
            loop.close()

    threading.Thread(target=work, name="ccgbo-await", daemon=True).start()
    try:
        return done.result()
    except KeyboardInterrupt:
        loop.call_soon_threadsafe(task.cancel)
        raise


# -- Ctrl-C in the processes of a pool

_presses = 0  # Ctrl-C during the evaluation at hand


def _wait_for_a_second_ctrl_c() -> None:
    """A terminal sends Ctrl-C to every process: the first is the run's to answer, the second ends the evaluation."""
    global _presses
    _presses = 0
    if (
        multiprocessing.parent_process() is not None
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ):
        signal.signal(signal.SIGINT, _on_ctrl_c)


def _on_ctrl_c(_number: int, frame: FrameType | None) -> None:
    global _presses
    if is_evaluating(frame):  # else the process is idle, and must live for its pool to live
        _presses += 1
        if _presses > 1:
            raise KeyboardInterrupt
