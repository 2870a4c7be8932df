"""The loop that evaluates a function: executors, failures, limits, Ctrl-C and what it prints."""

from __future__ import annotations

import fcntl
import itertools
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import ccgbo
from ccgbo.running import MemorySource, run

SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


def f(x: float, y: float) -> float:
    return -((x - 0.3) ** 2) - (y - 0.7) ** 2


def bad(x: float, y: float) -> float:
    if x > 0.5:
        raise ValueError(f"x is too large: {x}")
    return f(x, y)


def suicidal(x: float, y: float) -> float:
    if x > 0.5:
        os.kill(os.getpid(), signal.SIGKILL)
    return f(x, y)


def memory(n_trials: int = 12, **settings: Any) -> MemorySource:
    return MemorySource(ccgbo.Optimizer(SPACE, seed=0, **settings), n_trials)


def quiet(source: Any, f: Any, **options: Any) -> ccgbo.Result:
    return run(source, f, progress=False, **options)


# -- one loop for every executor


def test_memory_and_study_make_the_same_trials(tmp_path: Path) -> None:
    result = quiet(memory(20), f)
    with ccgbo.Study(tmp_path / "s.db", SPACE, seed=0) as study:
        cut = study.run(f, 8, progress=False)
        resumed = study.run(f, 20, progress=False)
        finished = study.run(f, 20, progress=False)
    assert cut.trials == result.trials[:8]
    assert resumed.trials == finished.trials == result.trials
    assert resumed.stopped == "all trials done"
    assert resumed.recommendation == result.recommendation


def test_n_trials_counts_suggestions_and_not_values_from_elsewhere(tmp_path: Path) -> None:
    with ccgbo.Study(tmp_path / "s.db", SPACE, seed=0) as study:
        study.tell_many([{"x": 0.1, "y": 0.1}] * 5, [0.0] * 5)
        study.tell(study.ask(), failed=True)
        assert len(study.run(f, 4, progress=False).trials) == 9


@pytest.mark.parametrize("kind", ["threads", "executor", "processes"])
def test_every_executor_finishes_every_trial_once(tmp_path: Path, kind: str) -> None:
    executor: Executor | None = None
    if kind == "executor":
        executor = ThreadPoolExecutor(3)
    elif kind == "processes":
        executor = ProcessPoolExecutor(2, mp_context=get_context("spawn"))
    with ccgbo.Study(tmp_path / "s.db", SPACE, seed=0, n_initial=12) as study:
        result = study.run(f, 16, n_workers=4 if kind == "threads" else None, executor=executor, progress=False)
    if executor is not None:
        assert executor.submit(abs, -1).result() == 1  # it is the caller's to close
        executor.shutdown()
    assert [t.id for t in result.trials] == list(range(16))
    assert all(t.value == f(**t.params) for t in result.trials)


def test_nobody_waits_for_the_slowest() -> None:
    release, started, done = threading.Event(), itertools.count(), []

    def first_is_slow(x: float, y: float) -> float:
        if next(started) == 0:
            assert release.wait(30)
        done.append(x)
        if len(done) == 9:  # all the others went through while the first was held
            release.set()
        return f(x, y)

    result = quiet(memory(10, n_initial=10), first_is_slow, n_workers=2)
    assert [t.state for t in result.trials] == ["complete"] * 10
    assert done[-1] == result.trials[0].params["x"]


def test_the_size_of_an_unknown_executor_must_be_given() -> None:
    class Odd(Executor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            return ThreadPoolExecutor(1).submit(fn, *args, **kwargs)

    with pytest.raises(ccgbo.SettingError, match="n_workers must be given with this executor"):
        quiet(memory(), f, executor=Odd())
    assert len(quiet(memory(4), f, executor=Odd(), n_workers=2).trials) == 4


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"n_workers": 0}, "n_workers must be a whole number >= 1, got 0"),
        ({"timeout": 0.0}, r"timeout must be None or > 0 seconds, got 0\.0"),
        ({"patience": 0}, "patience must be None or >= 1, got 0"),
        ({"target": float("nan")}, "target must be None or a number, got nan"),
        ({"on_error": "ignore"}, "on_error must be 'record' or 'raise', got 'ignore'"),
    ],
)
def test_wrong_options_are_named(option: dict[str, Any], message: str) -> None:
    with pytest.raises(ccgbo.SettingError, match=message):
        quiet(memory(), f, **option)
    with pytest.raises(ccgbo.SettingError, match="f must be callable, got 3"):
        quiet(memory(), 3)
    with pytest.raises(ccgbo.SettingError, match="n_trials must be a whole number >= 1, got 0"):
        memory(0)


# -- failures


@pytest.mark.parametrize("n_workers", [1, 3])
def test_an_exception_is_recorded_with_its_traceback(n_workers: int) -> None:
    result = quiet(memory(20), bad, n_workers=n_workers)
    failed = [t for t in result.trials if t.state == "failed"]
    assert failed
    for trial in failed:
        assert trial.params["x"] > 0.5
        assert trial.error is not None
        assert f"ValueError: x is too large: {trial.params['x']}" in trial.error
        assert "in bad" in trial.error
    assert all(t.value == f(**t.params) for t in result.trials if t.state == "complete")


def test_a_traceback_comes_back_from_another_process() -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        result = quiet(memory(6), bad, executor=executor)
    assert any("in bad" in (t.error or "") for t in result.trials)


def test_an_exception_is_raised_on_demand_after_it_was_recorded() -> None:
    source = memory(20)
    with pytest.raises(ccgbo.ObjectiveError, match=r"trial \d+ failed with .*ValueError: x is too large") as info:
        quiet(source, bad, on_error="raise")
    assert isinstance(info.value.__cause__, ValueError)
    assert source.owner.trials[-1].state == "failed"


def test_a_value_that_is_no_number_is_a_failure_and_several_values_stop_the_run() -> None:
    result = quiet(memory(3), lambda x, y: "high")  # noqa: ARG005
    assert all(t.state == "failed" and "value must be a number, got 'high'" in (t.error or "") for t in result.trials)
    assert all(t.state == "failed" for t in quiet(memory(3), lambda x, y: float("nan")).trials)  # noqa: ARG005
    with pytest.raises(ccgbo.UnsupportedError, match="several objectives are out of scope"):
        quiet(memory(3), lambda x, y: (x, y))


def test_a_broken_pool_gives_its_trials_back(tmp_path: Path) -> None:
    with ccgbo.Study(tmp_path / "s.db", SPACE, seed=0) as study:
        with (
            ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor,
            pytest.raises(BrokenProcessPool),
        ):
            study.run(suicidal, 12, executor=executor, progress=False)
        left = [t for t in study.trials if t.state == "pending"]
        assert left
        assert study.ask() == left[0]
        study.release(left[0].id)
        done = study.run(f, 12, progress=False)
    assert [t.state for t in done.trials] == ["complete"] * 12


def test_a_finite_space_ends_the_run_when_it_is_used_up(tmp_path: Path) -> None:
    with ccgbo.Study(tmp_path / "s.db", {"k": ["a", "b", "c"]}, seed=0) as study:
        result = study.run(lambda k: float(ord(k)), 10, n_workers=2, progress=False)
    assert result.stopped == "every point of the space is used"
    assert result.best_params == {"k": "c"}
    assert len(result.trials) == 3


# -- when to stop


def test_a_run_stops_at_its_target() -> None:
    result = quiet(memory(50), f, target=-0.05)
    assert result.stopped == "target reached"
    assert result.best_value >= -0.05
    assert all((t.value or 0.0) < -0.05 for t in result.trials[:-1])
    down = MemorySource(ccgbo.Optimizer(SPACE, direction="minimize", seed=0), 50)
    assert quiet(down, lambda x, y: -f(x, y), target=0.05).best_value <= 0.05


def test_a_study_that_has_its_target_does_nothing(tmp_path: Path) -> None:
    with ccgbo.Study(tmp_path / "s.db", SPACE, seed=0) as study:
        study.tell({"x": 0.3, "y": 0.7}, 0.0)
        assert study.run(f, 10, target=-0.1, progress=False).stopped == "target reached"
        assert len(study.trials) == 1


def test_a_run_stops_without_progress() -> None:
    result = quiet(memory(50), lambda x, y: 1.0, patience=5)  # noqa: ARG005
    assert result.stopped == "no progress in 5 trials"
    assert len(result.trials) == 6


@pytest.mark.parametrize("n_workers", [1, 3])
def test_a_run_stops_when_its_time_is_over_and_waits_for_what_runs(n_workers: int) -> None:
    def slow(x: float, y: float) -> float:
        time.sleep(0.15)
        return f(x, y)

    result = quiet(memory(1000), slow, timeout=0.5, n_workers=n_workers)
    assert result.stopped == "out of time"
    assert 1 <= len(result.trials) <= 5 * n_workers
    assert all(t.state == "complete" for t in result.trials)


def test_a_callback_sees_every_trial_and_can_stop() -> None:
    seen: list[int] = []
    source = memory(20)

    def callback(owner: ccgbo.Optimizer, trial: ccgbo.Trial) -> bool:
        assert owner is source.owner
        assert trial in owner.trials
        seen.append(trial.id)
        return trial.id == 4

    result = quiet(source, f, callback=callback)
    assert result.stopped == "stopped by callback"
    assert seen == [0, 1, 2, 3, 4]


# -- several runs on one study


def test_a_run_waits_for_the_last_trial_of_another_and_takes_it_over(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with ccgbo.Study(path, SPACE, seed=0, heartbeat=0.5) as study:
        study.take(1, worker="far-away/4711/1")  # never tells
        result = study.run(f, 3, progress=False)
    assert [t.state for t in result.trials] == ["complete"] * 3


def test_a_heartbeat_keeps_a_long_evaluation(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    stolen: list[list[int]] = []

    def long(x: float, y: float) -> float:
        time.sleep(2.0)
        with ccgbo.Study(path, heartbeat=1.2) as other:
            stolen.append(other.release())
        return f(x, y)

    with ccgbo.Study(path, SPACE, seed=0, heartbeat=1.2) as study:
        study.run(long, 1, progress=False)
    assert stolen == [[]]


def test_a_trial_told_by_another_meanwhile_is_not_told_twice(tmp_path: Path) -> None:
    with ccgbo.Study(tmp_path / "s.db", SPACE, seed=0) as study:
        seen: list[ccgbo.Trial] = []

        def overtaken(x: float, y: float) -> float:
            if len(study.trials) == 1:
                study.tell(0, 123.0)
            return f(x, y)

        study.run(overtaken, 3, progress=False, callback=lambda _, trial: seen.append(trial))
        assert study.trials[0].value == 123.0
        assert [t.id for t in seen] == [1, 2]


# -- Ctrl-C

SCRIPT = """
import os, sys, time, ccgbo

def f(x, y):
    os.write(1, b"started\\n")  # whole, whichever of the workers writes at the same time
    time.sleep({seconds})
    return x + y

result = ccgbo.maximize(f, {{"x": (0.0, 1.0), "y": (0.0, 1.0)}}, 50, seed=0, study=sys.argv[1], n_workers={workers})
print(result.stopped, sum(t.state == "complete" for t in result.trials), flush=True)
"""


def start(path: Path, *, workers: int, seconds: float) -> subprocess.Popen[str]:
    script = SCRIPT.format(workers=workers, seconds=seconds)
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    for _ in range(workers):
        assert process.stdout.readline() == "started\n"
    return process


def test_ctrl_c_interrupts_the_only_evaluation_and_gives_it_back(tmp_path: Path) -> None:
    process = start(tmp_path / "s.db", workers=1, seconds=60.0)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, "interrupted 0\n")
    assert "Traceback" not in err
    with ccgbo.Study(tmp_path / "s.db") as study:
        assert [t.state for t in study.trials] == ["pending"]
        assert study.ask().id == 0


def test_ctrl_c_lets_running_evaluations_finish(tmp_path: Path) -> None:
    process = start(tmp_path / "s.db", workers=3, seconds=1.0)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, "interrupted 3\n")
    assert "waiting for 3 running trials" in err
    with ccgbo.Study(tmp_path / "s.db") as study:
        assert [t.state for t in study.trials] == ["complete"] * 3


def test_a_second_ctrl_c_gives_the_running_evaluations_up(tmp_path: Path) -> None:
    process = start(tmp_path / "s.db", workers=2, seconds=2.0)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    while "waiting for 2" not in process.stderr.readline():
        pass
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode != 0
    with ccgbo.Study(tmp_path / "s.db") as study:
        assert [t.id for t in study.ask(2)] == [0, 1]


# -- what is printed


def test_lines_are_printed_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    run(memory(12), bad)
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert lines[0].startswith("maximize: 1/12 trials")
    assert lines[-1].startswith("maximize: 12/12 trials, ")
    assert " failed, best -" in lines[-1]
    assert lines[-1].endswith("ms per suggestion")
    assert "\x1b" not in err
    assert "\r" not in err


def test_a_live_line_is_drawn_in_a_terminal() -> None:
    code = (
        "import ccgbo; ccgbo.maximize(lambda x: -x, {'x': (0.0, 1.0)}, 12, seed=0, n_workers=2,"
        " callback=lambda *_: __import__('time').sleep(0.1))"
    )
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 160, 0, 0))
    process = subprocess.Popen([sys.executable, "-c", code], stdout=theirs, stderr=theirs)
    os.close(theirs)
    drawn = b""
    while select.select([ours], [], [], 60)[0]:
        try:
            chunk = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        drawn += chunk
    assert process.wait() == 0
    os.close(ours)
    text = drawn.decode()
    assert text.count("\r") > 3
    assert "12/12" in text
    assert "running" in text
    assert "ms per suggestion" in text
