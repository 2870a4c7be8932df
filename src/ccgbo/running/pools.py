"""Where evaluations run: this thread, threads, or an executor of the user's, which can break and may be rebuilt."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.reduction import ForkingPickler
from typing import Any

from ccgbo.errors import SettingError
from ccgbo.validation import whole_number

GUARD = (
    'a script that starts processes keeps what it runs under `if __name__ == "__main__":`, and f must be found by '
    "import: defined with def in a module or a script, not in a notebook"
)


class Inline(Executor):
    """Evaluates in the calling thread."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class Threads(Executor):
    """Threads that do not keep the interpreter from ending: an evaluation that was given up is not waited for."""

    def __init__(self, size: int) -> None:
        self._size, self._started = size, 0
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        self._work.put(work)
        if self._started < self._size:
            threading.Thread(target=self._serve, name=f"ccgbo-{self._started}", daemon=True).start()
            self._started += 1
        return future

    def _serve(self) -> None:
        while (work := self._work.get()) is not None:
            work()
            del work  # an idle thread holds on to nothing

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        for _ in range(self._started):
            self._work.put(None)


def size_of(n_workers: Any, executor: Any) -> int:
    """Evaluations at a time."""
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise SettingError(f"executor must be None or a concurrent.futures.Executor, got {executor!r}.")
    if n_workers is None:
        n_workers = 1 if executor is None else getattr(executor, "_max_workers", None)
        if n_workers is None:
            raise SettingError("n_workers must be given with this executor, got None.")
    return whole_number("n_workers", n_workers)


def is_far(executor: Executor) -> bool:
    """Whether what is evaluated travels to another process."""
    return not isinstance(executor, Inline | Threads | ThreadPoolExecutor)


def _start_all(executor: ProcessPoolExecutor, fn: Callable[..., Any], /, *args: Any) -> list[Future[Any]]:
    """Start every process of a pool, which by itself starts one when there is more to do than processes at leisure.

    CPython (3.11) can't start one while the pool breaks: the thread that looks after the processes goes through a
    dictionary of them that grows, fails, and leaves them to themselves.
    """
    return [executor.submit(fn, *args) for _ in range(vars(executor)["_max_workers"])]


def check_processes(executor: Executor, f: Callable[..., Any]) -> None:
    """That the processes of a pool start and know the objective, before a trial is spent on finding out."""
    if not isinstance(executor, ProcessPoolExecutor):
        return
    try:
        ForkingPickler.dumps(f)
    except Exception as error:
        raise SettingError(
            f"f must be a function that can be sent to another process, got {f!r}: {error}. Define it with def at the "
            "top of a module, or use threads: n_workers= without an executor."
        ) from None
    try:
        for probe in _start_all(executor, callable, f):
            probe.result()
    except BrokenProcessPool as error:
        raise SettingError(
            f"executor must be able to start its processes, but they died at the start: {GUARD}."
        ) from error
    except RuntimeError as error:
        if "bootstrapping" in str(error):  # this is such a process, importing the script that started it
            raise SettingError(
                f"executor cannot start processes while the script is being imported: {GUARD}."
            ) from None
        raise SettingError(f"executor must be open: {error}.") from None


def end_processes(executor: Executor) -> None:
    """End what is left of a pool that broke.

    It ends its processes itself, but not one that was being started at that moment, and the interpreter would wait for
    that one for ever at its end.
    """
    if isinstance(executor, ProcessPoolExecutor):
        for process in list((vars(executor).get("_processes") or {}).values()):
            process.kill()


def rebuild(executor: Executor) -> Executor | None:
    """A pool like one that broke; None where that is not known to be possible."""
    if type(executor) is not ProcessPoolExecutor:
        return None
    made = vars(executor)
    pool = ProcessPoolExecutor(
        made["_max_workers"],
        mp_context=made["_mp_context"],
        initializer=made["_initializer"],
        initargs=made["_initargs"],
        max_tasks_per_child=made["_max_tasks_per_child"],
    )
    _start_all(pool, int)
    return pool
