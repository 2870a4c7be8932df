"""Several processes on one study, and what is left when they are killed."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sqlite3
import time
import traceback
from collections import Counter
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

import ccgbo

pytestmark = pytest.mark.heavy

SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
N_KILLS = 200

context = get_context("spawn")


def value_of(x: float, y: float) -> float:
    return -((x - 0.3) ** 2) - (y - 0.7) ** 2


def slow(x: float, y: float) -> float:
    time.sleep(random.uniform(0.0, 0.02))
    return value_of(x, y)


def work(path: str, log: str, n_trials: int) -> None:
    """A worker that writes down what it told, after it told it."""
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(_study: object, trial: ccgbo.Trial) -> None:
        os.write(file, f"{trial.id} {trial.value!r}\n".encode())

    try:
        with ccgbo.Study(path, SPACE, seed=0, n_initial=30) as study:
            study.run(slow, n_trials, progress=False, callback=note)
    except BaseException:
        Path(f"{log}.error").write_text(traceback.format_exc())
        raise


def nursery(connection: Connection) -> None:
    """Forks workers on demand from a process that has everything loaded, so that a new one is at work at once."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies
    warm = ccgbo.Optimizer(SPACE, seed=0, n_initial=2)
    for _ in range(4):
        warm.tell(warm.ask(), 0.0)
    connection.send(0)
    while (job := connection.recv()) is not None:
        child = os.fork()
        if child == 0:
            try:
                work(*job)
            finally:
                os._exit(0)
        connection.send(child)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


class Crew:
    """Four workers; one that is killed is replaced."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._hired = folder, 0
        self._connection, there = context.Pipe()
        self._nursery = context.Process(target=nursery, args=(there,))
        self._nursery.start()
        self._connection.recv()
        self.workers: list[int] = []

    def hire(self, n_trials: int) -> int:
        self._hired += 1
        self._connection.send((str(self._folder / "study.db"), str(self._folder / f"told-{self._hired}"), n_trials))
        child: int = self._connection.recv()
        return child

    def start(self, n_trials: int) -> None:
        self.workers = [self.hire(n_trials) for _ in range(4)]

    def kill(self, i: int) -> None:
        os.kill(self.workers[i], signal.SIGKILL)

    def finish(self, seconds: float = 90.0) -> bool:
        """Wait until every worker has ended."""
        deadline = time.monotonic() + seconds
        while any(is_alive(worker) for worker in self.workers):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def close(self) -> None:
        for worker in self.workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
        self._connection.send(None)
        self._nursery.join()


def test_nothing_told_is_lost_in_200_kills_and_the_study_finishes(tmp_path: Path) -> None:
    moments = random.Random(0)
    crew = Crew(tmp_path)
    try:
        crew.start(n_trials=1_000_000)
        while not (tmp_path / "told-4").exists():
            time.sleep(0.01)
        for _ in range(N_KILLS):
            time.sleep(moments.uniform(0.0, 0.1))
            i = moments.randrange(4)
            crew.kill(i)
            crew.workers[i] = crew.hire(n_trials=1_000_000)
        for i in range(4):
            crew.kill(i)
        assert crew.finish()
        with ccgbo.Study(tmp_path / "study.db") as study:
            cut = study.trials
        crew.start(n_trials=len(cut) + 8)
        assert crew.finish()
    finally:
        crew.close()

    assert [p.read_text() for p in tmp_path.glob("*.error")] == []
    noted = [
        line.split()
        for p in tmp_path.glob("told-*")
        for line in p.read_text().splitlines(keepends=True)
        if "\n" in line
    ]
    with ccgbo.Study(tmp_path / "study.db") as study:
        rows = study.records()
    stored = {row.trial.id: row.trial for row in rows}
    assert max(Counter(i for i, _ in noted).values()) == 1, "a trial was told twice"
    assert all(stored[int(i)].value == float(value) for i, value in noted), "a told value was lost"
    for row in rows:  # a trial whose process was killed twice is not tried a third time
        if row.trial.state == "failed":
            assert row.attempts == 2
            assert "ended before it gave a value, twice" in str(row.trial.error)
        else:
            assert row.trial.value == value_of(**row.trial.params)
    assert {t.id: t.params for t in cut}.items() <= {t.id: t.params for t in stored.values()}.items()
    assert list(stored) == list(range(len(cut) + 8)), "the study did not finish"
    assert sorted(row.completion_order or 0 for row in rows) == list(range(1, len(rows) + 1))
    assert len(noted) > N_KILLS // 4, "the workers hardly got to work"
    with sqlite3.connect(tmp_path / "study.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def ask_and_tell(path: str, n: int) -> None:
    with ccgbo.Study(path, SPACE, seed=0, n_initial=1600) as study:
        for _ in range(n):
            trial = study.ask()
            study.tell(trial, value_of(**trial.params))


def test_eight_processes_record_1600_trials_without_a_duplicate(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    workers = [context.Process(target=ask_and_tell, args=(str(path), 200)) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(300)
    assert [worker.exitcode for worker in workers] == [0] * 8
    with ccgbo.Study(path) as study:
        trials = study.trials
    assert [t.id for t in trials] == list(range(1600))
    assert all(t.value == value_of(**t.params) for t in trials)
    assert len({(t.params["x"], t.params["y"]) for t in trials}) == 1600
