"""Who evaluates a trial: attempts, late answers, clocks and silence."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import ccgbo
from ccgbo.storage import workers
from ccgbo.storage.workers import end_run, is_silent, read_clock, start_run, this_worker

SPACE = {"x": (0.0, 1.0)}
FAR = "another-machine/4711/1"


@pytest.fixture
def study(tmp_path: Path) -> ccgbo.Study:
    return ccgbo.Study(tmp_path / "s.db", SPACE, seed=0, heartbeat=3600.0)


def lose(study: ccgbo.Study, trial_id: int) -> None:
    """The trial's worker is taken for gone, as another machine's is after a long silence."""
    study._write(lambda unit: unit.claim(trial_id, FAR))


# -- attempts


POISON = """
import os, signal, sys, ccgbo

def f(x):
    if x > 0.9:
        os.kill(os.getpid(), signal.SIGKILL)  # as the kernel does when memory runs out
    return x

with ccgbo.Study(sys.argv[1], {"x": (0.0, 1.0)}, seed=0) as study:
    study.run(f, 4, progress=False)
"""


def test_a_trial_that_kills_its_process_twice_is_failed_and_the_third_start_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    ends = [subprocess.run([sys.executable, "-c", POISON, str(path)], check=False).returncode for _ in range(3)]
    assert ends == [-signal.SIGKILL, -signal.SIGKILL, 0]
    with ccgbo.Study(path) as study:
        assert [t.state for t in study.trials] == ["failed", "complete", "complete", "complete"]
        assert "ended before it gave a value, twice" in str(study.trials[0].error)


def test_a_worker_that_died_costs_an_attempt_and_a_released_trial_does_not(study: ccgbo.Study) -> None:
    for _ in range(4):
        source = study.source(5)
        trial = source.take()
        assert trial is not None
        assert trial.id == 0
        source.release(trial)
    for expected in (1, 2):
        source = study.source(5)
        trial = source.take()
        assert trial is not None
        source.release(trial, crashed=True)
        assert study.records()[0].attempts == expected
    assert study.trials[0].state == "failed"
    assert "twice" in str(study.trials[0].error)
    assert study.ask().id == 1


def test_a_user_may_release_a_trial_as_often_as_needed(study: ccgbo.Study) -> None:
    study.ask()
    for _ in range(4):
        assert study.release(0) == [0]
        assert study.ask().id == 0


def test_trials_that_crashed_too_often_are_settled_even_in_a_space_that_is_used_up(tmp_path: Path) -> None:
    with ccgbo.Study(tmp_path / "s.db", {"k": ["a", "b"]}, seed=0, heartbeat=0.02) as study:
        for _ in range(2):
            assert len(study.take(2, worker=FAR)) == 2
            time.sleep(0.05)
        assert study.take(2, worker=FAR) == []
        assert [t.state for t in study.trials] == ["failed", "failed"]
        with pytest.raises(ccgbo.SpaceExhaustedError):
            study.ask()


# -- late answers


def test_a_late_failure_does_not_count_and_a_late_value_does(study: ccgbo.Study) -> None:
    late, other = study.source(2), study.source(2)
    first, second = late.take(), late.take()
    assert first is not None
    assert second is not None
    for trial in (first, second):
        lose(study, trial.id)
    assert late.tell(first, failed=True, error="late") is None
    assert late.tell(first, float("nan")) is None
    assert study.trials[0].state == "pending"
    told = late.tell(second, 5.0)  # the first value counts, whoever brings it
    assert told is not None
    assert told.value == 5.0
    assert other.tell(second, 6.0) is None
    assert [t.value for t in study.trials] == [None, 5.0]


def test_an_outcome_never_changes_not_even_a_failure_by_a_late_value(study: ccgbo.Study) -> None:
    late, holder = study.source(1), study.source(1)
    trial = late.take()
    assert trial is not None
    study.release(trial.id)
    assert holder.take() == trial
    told = holder.tell(trial, failed=True, error="diverged")
    assert told is not None
    assert told.state == "failed"
    assert late.tell(trial, 5.0) is None
    assert study.trials[0] == told


def test_a_failure_of_a_worker_whose_trial_was_released_does_not_count(study: ccgbo.Study) -> None:
    source = study.source(1)
    trial = source.take()
    assert trial is not None
    study.release(trial.id)
    assert source.tell(trial, failed=True) is None
    assert study.ask() == trial


def test_nobody_releases_a_trial_that_another_holds(study: ccgbo.Study) -> None:
    late, holder = study.source(1), study.source(1)
    trial = late.take()
    assert trial is not None
    study.release(trial.id)
    assert holder.take() == trial
    late.release(trial)
    late.release(trial, crashed=True)
    record = study.records()[0]
    assert (record.released, record.attempts) == (False, 0)
    assert study.source(1).take() is None
    assert study.release() == []


def test_a_run_that_ended_without_releasing_gives_its_trials_to_the_next_of_the_process(study: ccgbo.Study) -> None:
    source = study.source(5)
    with source:
        trial = source.take()
    again = study.source(5)
    assert again.take() == trial
    assert study.records()[0].attempts == 0


# -- silence and clocks


def test_a_living_process_of_this_machine_keeps_its_trials_however_silent_it_is() -> None:
    clock, now = read_clock()
    assert not is_silent(this_worker(), now - 1e6, clock, 60.0)
    assert not is_silent(this_worker(), now + 1e6, "another boot", 60.0)


def test_a_worker_elsewhere_is_silent_after_its_time_by_a_clock_that_nobody_sets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, now = read_clock()
    for wall in (0.0, 1e10):
        monkeypatch.setattr(time, "time", lambda wall=wall: wall)
        assert not is_silent(FAR, now, clock, 60.0)
        assert is_silent(FAR, now - 61.0, clock, 60.0)
    assert is_silent(FAR, now, "another boot", 60.0)  # the machine was restarted, or the file came from elsewhere


def test_a_clock_set_forward_takes_no_trial_from_a_living_worker(
    study: ccgbo.Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    study.source(2).take()
    study.take(1, worker=FAR)
    monkeypatch.setattr(time, "time", lambda: 1e10)
    assert study.release() == []
    assert study.ask().id == 2


def test_without_a_clock_of_the_machine_the_wall_clock_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_boot", lambda: None)
    clock, now = read_clock()
    assert clock == "wall"
    assert abs(now - time.time()) < 60.0


def test_a_process_hidden_from_us_is_not_taken_for_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: Any) -> None:
        raise PermissionError

    place = this_worker().rsplit("/", 2)[0]
    monkeypatch.setattr(os, "kill", denied)
    assert workers.is_alive(f"{place}/{2**22 + 5}/12") is None


def test_a_run_of_this_process_is_known_by_its_name_until_it_ends() -> None:
    worker = start_run()
    assert workers.is_alive(worker) is not False
    assert not workers.is_ended_here(worker)
    end_run(worker)
    assert workers.is_ended_here(worker)
    assert not workers.is_ended_here(this_worker())


# -- what an ask needs is loaded before others have to wait


def test_nothing_is_imported_while_the_file_is_locked(tmp_path: Path) -> None:
    code = """
import sys, ccgbo

class Watch:
    def find_spec(self, name, path=None, target=None):
        if connection.in_transaction:
            late.append(name)

late = []
study = ccgbo.Study(sys.argv[1], {"x": (0.0, 1.0)}, seed=0, n_initial=3)
connection = study._store._database._link.connection
sys.meta_path.insert(0, Watch())
for i in range(6):
    study.tell(study.ask(), float(i))
print(late)
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "s.db")], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
