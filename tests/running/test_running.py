"""The loop that evaluates a function: executors, failures, limits, Ctrl-C and what it prints."""

from __future__ import annotations

import asyncio
import fcntl
import itertools
import json
import math
import os
import pty
import re
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
from datetime import timedelta
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ccgbo
from ccgbo.running import MemorySource, Tally, run, seconds
from ccgbo.running.display import Lines
from ccgbo.running.pools import check_processes, end_processes, rebuild

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
    assert resumed.recommend() == result.recommend()


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
        ({"timeout": 0.0}, r"timeout must be None, a number of seconds > 0 or a text such as '30min', got 0\.0"),
        ({"timeout": "soon"}, "timeout must be None, a number of seconds > 0 or a text such as '30min', got 'soon'"),
        ({"timeout": True}, "timeout must be None, a number of seconds"),
        ({"target": "a"}, "target must be None or a number, got 'a'"),
        ({"patience": "a"}, "patience must be a whole number >= 1, got 'a'"),
        ({"callback": 3}, "callback must be None or callable, got 3"),
        ({"stop_when_gain_below": 0}, "stop_when_gain_below must be None or a number > 0, got 0"),
        ({"stop_when_gain_below": "1"}, "stop_when_gain_below must be None or a number > 0, got '1'"),
        ({"patience": 0}, "patience must be a whole number >= 1, got 0"),
        ({"target": float("nan")}, "target must be None or a number, got nan"),
        ({"on_error": "ignore"}, "on_error must be 'record', 'continue' or 'raise', got 'ignore'"),
    ],
)
def test_wrong_options_are_named(option: dict[str, Any], message: str) -> None:
    with pytest.raises(ccgbo.SettingError, match=message):
        quiet(memory(), f, **option)
    with pytest.raises(ccgbo.SettingError, match="f must be callable, got 3"):
        quiet(memory(), 3)
    with pytest.raises(ccgbo.SettingError, match="n_trials must be a whole number >= 1, got 0"):
        memory(0)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (90, 90.0),
        (np.float32(1.5), 1.5),
        ("90", 90.0),
        ("90s", 90.0),
        ("30min", 1800.0),
        (" 1.5 h ", 5400.0),
        ("2d", 172800.0),
        (timedelta(minutes=2), 120.0),
    ],
)
def test_a_time_is_a_number_of_seconds_or_a_text(given: Any, meant: float) -> None:
    assert seconds("timeout", given) == meant


def test_numpy_numbers_will_do() -> None:
    result = quiet(
        MemorySource(ccgbo.Optimizer(SPACE, seed=0), np.int64(9)), f, n_workers=np.int64(2), patience=np.int8(3)
    )
    assert result.stopped in ("no progress in 3 trials", "all trials done")


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
    assert all(t.state == "failed" for t in quiet(memory(3), lambda x, y: float("nan")).trials)  # noqa: ARG005
    with pytest.raises(ccgbo.UnsupportedError, match="value must be one number: several are told by the names"):
        quiet(memory(3), lambda x, y: {"x": x, "y": y})


# -- an objective that is wrong itself


def takes_a_dict(params: dict[str, float]) -> float:
    return params["x"]


def takes_a_trial(trial: Any) -> float:
    return float(trial.suggest_float("x", 0.0, 1.0))


def takes_others(x: float, z: float) -> float:
    return x + z


def returns_nothing(x: float, y: float) -> None:
    f(x, y)


@pytest.mark.parametrize(
    ("objective", "says"),
    [
        (takes_others, r"TypeError: takes_others\(\) got .* 'y' \(the parameters are passed by name: f\(x=…, y=…\)\)"),
        (takes_a_dict, r"TypeError: .*; for a function of one dictionary give lambda \*\*params: f\(params\)"),
        (takes_a_trial, r"TypeError: .*passed by name: f\(x=…, y=…\); for a function of one dictionary"),
        (returns_nothing, "the objective returned None: is a return missing\\?"),
        (lambda x, y: "high", "what the objective returned is refused: value must be a number, got 'high'"),  # noqa: ARG005
    ],
)
def test_a_run_whose_first_five_trials_fail_alike_stops_and_says_why(objective: Any, says: str) -> None:
    result = quiet(memory(20), objective)
    assert [t.state for t in result.trials] == ["failed"] * 5
    assert re.fullmatch(
        f'the first 5 trials all failed the same way: .*{says}.*; on_error="continue" goes on anyway', result.stopped
    )
    assert re.search(f"last error   trial 4: .*{says}", repr(result))
    assert len(quiet(memory(7), objective, on_error="continue").trials) == 7


def test_failures_that_differ_or_come_later_do_not_stop_a_run() -> None:
    def two_ways(x: float, y: float) -> float:  # noqa: ARG001
        if x > 0.5:
            raise ValueError("one")
        raise ValueError("the other")

    assert {t.params["x"] > 0.5 for t in quiet(memory(5), two_ways).trials} == {True, False}
    assert len(quiet(memory(9), two_ways).trials) == 9
    calls = itertools.count()

    def good_once(x: float, y: float) -> float:
        if next(calls):
            raise ValueError("never again")
        return f(x, y)

    assert len(quiet(memory(9), good_once).trials) == 9
    assert len(quiet(memory(9), lambda x, y: math.nan).trials) == 9  # a value that says: not here  # noqa: ARG005


def test_the_first_failure_is_printed_with_its_traceback_and_only_the_first(capsys: pytest.CaptureFixture[str]) -> None:
    result = run(memory(12), bad)
    err = capsys.readouterr().err
    assert sum(t.state == "failed" for t in result.trials) > 1
    assert err.count("Traceback (most recent call last)") == 1
    assert "trial 0 failed (of further failures only the number is shown):" in err
    assert f"ValueError: x is too large: {result.trials[0].params['x']}" in err
    assert "evaluation.py" not in err, "the traceback begins with the user's own code"


@pytest.mark.parametrize("n_workers", [1, 2])
def test_a_coroutine_is_awaited(n_workers: int) -> None:
    async def slowly(x: float, y: float) -> float:
        await asyncio.sleep(0.001)
        return f(x, y)

    async def broken(x: float, y: float) -> float:  # noqa: ARG001
        raise ValueError("asynchronously")

    result = quiet(memory(6), slowly, n_workers=n_workers)
    assert all(t.value == f(**t.params) for t in result.trials)
    assert "ValueError: asynchronously" in quiet(memory(6), broken, n_workers=n_workers).stopped


def test_a_coroutine_is_awaited_where_a_loop_is_running_already() -> None:
    async def slowly(x: float, y: float) -> float:
        await asyncio.sleep(0.001)
        return f(x, y)

    async def notebook() -> ccgbo.Result:
        return quiet(memory(6), slowly)

    assert [t.state for t in asyncio.run(notebook()).trials] == ["complete"] * 6


def test_a_function_that_cannot_be_sent_to_a_process_is_refused_before_anything_is_spent() -> None:
    source = memory(6)
    with ProcessPoolExecutor(1) as executor:
        with pytest.raises(ccgbo.SettingError, match=r"f must be a function that can be sent .*got <function .*lambda"):
            quiet(source, lambda x, y: x + y, executor=executor)
        executor.shutdown()
        with pytest.raises(ccgbo.SettingError, match="executor must be open: cannot schedule new futures"):
            quiet(source, f, executor=executor)
    assert source.owner.trials == ()
    with pytest.raises(ccgbo.SettingError, match=r"executor must be None or a concurrent\.futures\.Executor, got"):
        quiet(source, f, executor="pool")


@pytest.mark.heavy
def test_a_script_without_a_main_guard_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import ccgbo, multiprocessing\n"
        "from concurrent.futures import ProcessPoolExecutor\n"
        "def f(x):\n    return x\n"
        "pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context('spawn'))\n"
        "ccgbo.maximize(f, {'x': (0.0, 1.0)}, 4, executor=pool, progress=False)\n"
    )
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "SettingError: executor must be able to start its processes, but they died at the start" in done.stderr
    assert 'keeps what it runs under `if __name__ == "__main__":`' in done.stderr.splitlines()[-1]


def test_an_error_with_a_lone_surrogate_is_recorded_and_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def boom(x: float, y: float) -> float:
        if x > 0.5:
            raise ValueError("cannot open 'caf\udce9.csv' \x1b[31m")
        return f(x, y)

    with ccgbo.Study(tmp_path / "s.db", SPACE, seed=0) as study:
        result = study.run(boom, 8)
    assert any("caf\\udce9.csv" in (t.error or "") for t in result.trials)
    assert {t.state for t in result.trials} == {"complete", "failed"}
    json.dumps(repr(result)).encode("ascii")
    err = capsys.readouterr().err
    assert "caf\\udce9.csv" in err and "\x1b" not in err
    assert "\x1b" not in repr(result)


def test_a_parameter_may_be_called_self() -> None:
    source = MemorySource(ccgbo.Optimizer({"self": (0.0, 1.0), "f": (0.0, 1.0)}, seed=0), 4)
    assert [t.state for t in quiet(source, lambda **params: params["self"]).trials] == ["complete"] * 4


# -- a pool that breaks


@pytest.mark.heavy
@pytest.mark.parametrize("kept", [False, True])
def test_a_trial_that_kills_its_process_is_failed_and_the_run_goes_on(tmp_path: Path, kept: bool) -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        if kept:
            with ccgbo.Study(tmp_path / "s.db", SPACE, seed=0) as study:
                result = study.run(suicidal, 6, executor=executor, progress=False)
        else:
            result = quiet(memory(6), suicidal, executor=executor)
    assert [t.id for t in result.trials] == list(range(6))
    for trial in result.trials:  # the innocent that ran beside a guilty one have their values
        assert trial.state == ("failed" if trial.params["x"] > 0.5 else "complete")
        assert (trial.state == "failed") == ("ended before it gave a value, twice" in (trial.error or ""))
    assert {t.state for t in result.trials} == {"failed", "complete"}
    assert result.stopped == "all trials done"


@pytest.mark.heavy
def test_a_process_that_a_broken_pool_left_behind_is_ended() -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        pool.submit(os.getpid).result()
        (process,) = vars(pool)["_processes"].values()
        end_processes(pool)
        process.join(60)
        assert not process.is_alive()
    end_processes(pool)  # of one that is closed there are none
    with ThreadPoolExecutor(1) as threads:
        end_processes(threads)
        assert threads.submit(int).result() == 0


def processes_of(pool: Any) -> set[int]:
    return set(vars(pool)["_processes"])


@pytest.mark.heavy
def test_all_processes_of_a_pool_are_there_before_one_can_break_it() -> None:
    with ProcessPoolExecutor(3, mp_context=get_context("spawn")) as pool:
        check_processes(pool, f)
        started = processes_of(pool)
        assert len(started) == 3
        quiet(memory(8), f, executor=pool)
        assert processes_of(pool) == started  # none was started while another might have died
        again = rebuild(pool)
        assert isinstance(again, ProcessPoolExecutor)
        with again:
            assert len(processes_of(again)) == 3


class Breaking(ProcessPoolExecutor):
    """One of a kind that nobody knows how to make again."""


@pytest.mark.heavy
def test_a_pool_that_cannot_be_rebuilt_releases_its_trials_and_says_so(tmp_path: Path) -> None:
    with ccgbo.Study(tmp_path / "s.db", SPACE, seed=0) as study:
        with (
            Breaking(2, mp_context=get_context("spawn")) as executor,
            pytest.raises(
                ccgbo.ObjectiveError, match=r"a process died while trials \[.*the trials were released"
            ) as info,
        ):
            study.run(suicidal, 12, executor=executor, progress=False)
        assert isinstance(info.value.__cause__, BrokenProcessPool)
        done = study.run(f, 12, progress=False)
    assert [t.state for t in done.trials] == ["complete"] * 12


class Diverged(Exception):
    def __init__(self, step: int, loss: float) -> None:
        super().__init__(f"diverged at step {step}: {loss}")


def diverging(x: float, y: float) -> float:
    if x > 0.5:
        raise Diverged(3, 1e9)
    return f(x, y)


@pytest.mark.heavy
def test_an_exception_that_cannot_be_unpickled_breaks_no_pool() -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        result = quiet(memory(8), diverging, executor=executor)
    failed = [t for t in result.trials if t.state == "failed"]
    assert failed and len(failed) < 8
    assert all("Diverged: diverged at step 3" in (t.error or "") and "in diverging" in (t.error or "") for t in failed)


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


def test_a_trial_that_is_abandoned_while_it_runs_does_not_count() -> None:
    source = memory(6)

    def give_up_the_next(opt: ccgbo.Optimizer, trial: ccgbo.Trial) -> None:
        if trial.id == 2:
            opt.abandon(next(t for t in opt.pending if t.id > 2))

    result = quiet(source, f, n_workers=2, callback=give_up_the_next)
    states = [t.state for t in result.trials]
    assert (states.count("complete"), states.count("abandoned"), len(states)) == (6, 1, 7)
    assert source.tally().done == 6


def test_what_a_callback_drops_is_not_the_best_any_more() -> None:
    def drop_the_first(opt: ccgbo.Optimizer, trial: ccgbo.Trial) -> None:
        if trial.id == 0:
            opt.drop(trial)

    first = iter([5.0])
    source = memory(4)
    result = quiet(source, lambda x, y: next(first, f(x, y)), callback=drop_the_first)
    assert result.best_value < 5.0
    assert source.tally().best == result.best_value
    assert repr(result).startswith("Result: 3 trials, 1 dropped (all trials done)")


def test_a_study_that_has_its_target_does_nothing(tmp_path: Path) -> None:
    with ccgbo.Study(tmp_path / "s.db", SPACE, seed=0) as study:
        study.tell({"x": 0.3, "y": 0.7}, 0.0)
        assert study.run(f, 10, target=-0.1, progress=False).stopped == "target reached"
        assert len(study.trials) == 1


def test_a_run_stops_without_progress() -> None:
    result = quiet(memory(50), lambda x, y: 1.0, patience=5)  # noqa: ARG005
    assert result.stopped == "no progress in 5 trials"
    assert len(result.trials) == 6


def test_a_run_stops_when_little_is_left_to_gain(tmp_path: Path) -> None:
    result = quiet(memory(60), f, stop_when_gain_below=0.05)
    assert result.stopped.startswith("another 10 trials are expected to gain") and 8 < len(result.trials) < 60
    with ccgbo.Study(tmp_path / "s.db", SPACE, seed=0) as study:
        again = study.run(f, 60, stop_when_gain_below=0.05, progress=False)
        assert again.stopped.startswith("another 10 trials are expected to gain")
    assert quiet(memory(12), f, stop_when_gain_below=1e-12).stopped == "all trials done"


def test_the_initial_design_is_never_cut_short_for_want_of_gain() -> None:
    opt = ccgbo.Optimizer(SPACE, seed=0, n_initial=8)
    result = quiet(MemorySource(opt, 30), lambda x, y: 1.0 + 1e-9 * x, stop_when_gain_below=1.0)  # noqa: ARG005
    assert len(result.trials) == 8 + 5


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
    process = start(tmp_path / "s.db", workers=2, seconds=600.0)  # nor are the threads waited for at the exit
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    while "waiting for 2" not in process.stderr.readline():
        pass
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, "interrupted 0\n")
    assert "Traceback" not in err
    assert "2 evaluations may still run on, but will not be recorded. Run the same line again to go on." in err
    with ccgbo.Study(tmp_path / "s.db") as study:
        assert [t.id for t in study.ask(2)] == [0, 1]


PRESSES = """
import os, signal, sys, threading, time, ccgbo
from concurrent.futures import ProcessPoolExecutor

def f(x, y):
    os.write(1, b"started\\n")
    time.sleep(600.0)

if __name__ == "__main__":
    study, kind = sys.argv[1], sys.argv[2]
    options = {"n_workers": int(kind)} if kind.isdigit() else {"executor": ProcessPoolExecutor(2)}
    result = ccgbo.maximize(
        f, {"x": (0.0, 1.0), "y": (0.0, 1.0)}, 20, seed=0, study=study or None, progress=False, **options
    )
    print(result.stopped, [t.state for t in result.trials], flush=True)
"""


@pytest.mark.heavy
@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("kind", ["1", "2", "processes"])
def test_ctrl_c_pressed_again_and_again_returns_the_result(tmp_path: Path, kind: str, kept: bool) -> None:
    (tmp_path / "script.py").write_text(PRESSES)
    study, n = (str(tmp_path / "s.db") if kept else ""), 1 if kind == "1" else 2
    process = subprocess.Popen(
        [sys.executable, "script.py", study, kind],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a terminal sends Ctrl-C to the whole group
    )
    assert process.stdout is not None
    for _ in range(n):
        assert process.stdout.readline() == "started\n"
    os.killpg(process.pid, signal.SIGINT)
    if kind != "1":
        time.sleep(1.0)
        assert process.poll() is None, "the first press waits for what is running"
        os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, f"interrupted {['pending'] * n}\n", "")


def test_ctrl_c_while_the_result_is_on_its_way_does_not_take_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Pressed(MemorySource):
        def result(self, stopped: str) -> ccgbo.Result:
            signal.raise_signal(signal.SIGINT)
            return super().result(stopped)

    assert len(quiet(Pressed(ccgbo.Optimizer(SPACE, seed=0), 2), f).trials) == 2
    close = ccgbo.Study.close

    def pressed(study: ccgbo.Study) -> None:
        monkeypatch.undo()
        signal.raise_signal(signal.SIGINT)
        close(study)

    monkeypatch.setattr(ccgbo.Study, "close", pressed)
    assert len(ccgbo.maximize(f, SPACE, 2, seed=0, study=tmp_path / "s.db", progress=False).trials) == 2
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# -- what is printed


class Screen:
    """A program in a terminal of our own."""

    def __init__(self, code: str, columns: int, *arguments: str) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self.process = subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=theirs, stderr=theirs)
        os.close(theirs)

    def read(self) -> str:
        drawn = b""
        while select.select([self._ours], [], [], 60)[0]:
            try:
                chunk = os.read(self._ours, 4096)
            except OSError:  # the other end is closed
                break
            drawn += chunk
        assert self.process.wait() == 0
        os.close(self._ours)
        return drawn.decode()


def lines_on_screen(drawn: str) -> list[str]:
    """What stands there in the end, of a program that draws with carriage returns and erases to the end of a line."""
    lines: list[list[str]] = [[]]
    row = column = 0
    for token in re.findall(r"\x1b\[[0-9;]*[A-Za-z]|.|\n", drawn.replace("\r\n", "\r\n")):
        if token == "\n":
            row += 1
            if row == len(lines):
                lines.append([])
        elif token == "\r":
            column = 0
        elif token == "\x1b[A":
            row -= 1
        elif token == "\x1b[K":
            del lines[row][column:]
        elif not token.startswith("\x1b"):
            lines[row][column:] = [*lines[row][column:column], token, *lines[row][column + 1 :]]
            column += 1
    return ["".join(line).rstrip() for line in lines if "".join(line).strip()]


def test_lines_are_printed_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    run(memory(12), bad)
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert any(line.startswith("maximize: 1/12 trials") for line in lines)
    assert lines[-1].startswith("maximize: 12/12 trials, ")
    assert re.search(r", best -\d.*, \d failed, ", lines[-1])
    assert lines[-1].endswith("ms per suggestion")
    assert "\x1b" not in err
    assert "\r" not in err


def test_a_live_line_is_drawn_in_a_terminal() -> None:
    code = (
        "import ccgbo; ccgbo.maximize(lambda x: -x, {'x': (0.0, 1.0)}, 12, seed=0, n_workers=2,"
        " callback=lambda *_: __import__('time').sleep(0.1))"
    )
    text = Screen(code, 160).read()
    assert text.count("\r") > 3
    assert "12/12" in text
    assert "running" in text
    assert "ms per suggestion" in text


def test_what_an_objective_prints_stands_above_the_line() -> None:
    code = (
        "import ccgbo, sys\n"
        "def f(x):\n"
        "    print('out', end=' '); print(round(x, 2)); print('err', round(x, 2), file=sys.stderr)\n"
        "    return x\n"
        "result = ccgbo.maximize(f, {'x': (0.0, 1.0)}, 5, seed=0)\n"
        "print([round(t.params['x'], 2) for t in result.trials])"
    )
    *lines, bar, last = lines_on_screen(Screen(code, 100).read())
    expected = [f"{name} {x}" for x in json.loads(last) for name in ("out", "err")]
    assert lines == expected
    assert re.fullmatch(r"maximize █+ 5/5 \[00:0\d, best 0\.\d+, \d+ ms per suggestion\]", bar)


@pytest.mark.heavy
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_what_another_process_prints_does_not_run_into_the_line(tmp_path: Path, method: str) -> None:
    (tmp_path / "objective.py").write_text("def f(x):\n    print('out', round(x, 2))\n    return x\n")
    code = (
        "import ccgbo, sys, multiprocessing; sys.path.insert(0, sys.argv[1]); from objective import f\n"
        "from concurrent.futures import ProcessPoolExecutor\n"
        "with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(sys.argv[2])) as executor:\n"
        "    result = ccgbo.maximize(f, {'x': (0.0, 1.0)}, 6, seed=0, executor=executor)\n"
        "print([round(t.params['x'], 2) for t in result.trials])"
    )
    *lines, bar, last = lines_on_screen(Screen(code, 100, str(tmp_path), method).read())
    assert sorted(lines) == sorted(f"out {x}" for x in json.loads(last))
    assert " 6/6 [" in bar


@pytest.mark.parametrize("n_workers", [1, 2])
def test_a_clock_ticks_while_evaluations_run_and_sixty_columns_are_enough(n_workers: int) -> None:
    code = (
        "import ccgbo, time, sys\n"
        "def f(x):\n    time.sleep(5.0)\n    return x\n"
        "ccgbo.minimize(f, {'x': (0.0, 1.0)}, 2, seed=0, n_workers=int(sys.argv[1]))"
    )
    drawn = Screen(code, 60, str(n_workers)).read()
    states = [part.strip() for part in re.split(r"[\r\n]+|\x1b\[\w", drawn) if part.strip()]
    assert all(len(state) < 60 for state in states)
    ticks = [state for state in states if f"{n_workers} running" in state and " 0/2 [00:" in state]
    assert len(set(ticks)) >= 2, states
    assert ("2 running, oldest " if n_workers == 2 else "1 running for ") in ticks[-1]
    assert re.fullmatch(r"minimize █+ 2/2 \[00:\d\d, best 0\.\d+\]", lines_on_screen(drawn)[-1])


def test_a_bar_of_the_objectives_own_is_left_alone() -> None:
    code = (
        "import ccgbo, time\nfrom tqdm import tqdm\n"
        "def f(x):\n    for _ in tqdm(range(3), leave=False): time.sleep(0.15)\n    return x\n"
        "ccgbo.maximize(f, {'x': (0.0, 1.0)}, 3, seed=0)"
    )
    lines = lines_on_screen(Screen(code, 100).read())
    assert len(lines) == 1
    assert " 3/3 [" in lines[0]


def test_a_run_that_is_over_has_no_time_left() -> None:
    code = (
        "import ccgbo, time\n"
        "ccgbo.maximize(lambda x: time.sleep(0.1) or x, {'x': (0.0, 1.0)}, 9, seed=0, callback=lambda *_: True)"
    )
    lines = lines_on_screen(Screen(code, 100).read())
    assert re.search(r" 1/9 \[00:\d\d, best", lines[-1])


def test_a_notebook_has_one_bar_that_is_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    from IPython.core.displaypub import CapturingDisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell

    class Kernel(InteractiveShell):  # type: ignore[misc]
        kernel = object()  # what tells a notebook's shell from one in a terminal

    shell = Kernel.instance()
    try:
        shell.display_pub = CapturingDisplayPublisher()
        run(memory(6), f)
        outputs = shell.display_pub.outputs
    finally:
        Kernel.clear_instance()
    assert capsys.readouterr().err == ""
    assert len({output["transient"]["display_id"] for output in outputs}) == 1
    assert [output["update"] for output in outputs] == [False] + [True] * (len(outputs) - 1)
    assert '<progress value="6" max="6"></progress> <code>maximize 6/6 [' in outputs[-1]["data"]["text/html"]
    assert outputs[-1]["data"]["text/plain"].startswith("maximize 6/6 [00:0")


def test_lines_come_less_often_as_time_goes_on_and_never_stop(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = itertools.count(1000.0, 30.0)
    monkeypatch.setattr("ccgbo.running.display.time", SimpleNamespace(monotonic=lambda: next(now)))
    lines = Lines(Tally(total=9, done=0, failed=0, best=None), "maximize")
    lines._open()
    lines.running([1000.0])
    for _ in range(60):
        lines._draw(ticked=True)
    printed = capsys.readouterr().err.splitlines()
    assert 1 <= len(printed) <= 6
    assert re.fullmatch(r"maximize: 0/9 trials, 1 running for \d+ min", printed[0])


def test_a_terminal_of_another_encoding_is_no_reason_to_fail() -> None:
    code = (
        "import ccgbo\n"
        "def f(x):\n    if x > 0.5: raise ValueError('π \\udce9')\n    return x\n"
        "ccgbo.maximize(f, {'x': (0.0, 1.0)}, 5, seed=0)"
    )
    environment = os.environ | {"PYTHONIOENCODING": "ascii:strict", "PYTHONUTF8": "0"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "5/5 trials" in done.stderr
    assert r"ValueError: \u03c0 \udce9" in done.stderr
