"""Several processes on one study, and what is left when they are killed."""

from __future__ import annotations

import os
import random
import sqlite3
import time
import traceback
from collections import Counter
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

import ccgbo

pytestmark = pytest.mark.heavy

SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
N_KILLS = 200

context = get_context("forkserver")  # forks of a clean process that has the library loaded: no time lost on imports
context.set_forkserver_preload(["ccgbo"])


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


class Crew:
    """Four workers; one that is killed is replaced."""

    def __init__(self, folder: Path, n_trials: int) -> None:
        self._folder, self._n_trials, self._hired = folder, n_trials, 0
        self.workers = [self._hire() for _ in range(4)]

    def _hire(self) -> BaseProcess:
        self._hired += 1
        log = str(self._folder / f"told-{self._n_trials}-{self._hired}")
        worker = context.Process(target=work, args=(str(self._folder / "study.db"), log, self._n_trials))
        worker.start()
        return worker

    def kill(self, i: int) -> None:
        self.workers[i].kill()
        self.workers[i].join()
        self.workers[i] = self._hire()

    def stop(self) -> None:
        for worker in self.workers:
            worker.kill()
            worker.join()

    def finish(self) -> None:
        for worker in self.workers:
            worker.join(60)
        assert [worker.exitcode for worker in self.workers] == [0] * len(self.workers)


def test_nothing_told_is_lost_in_200_kills_and_the_study_finishes(tmp_path: Path) -> None:
    moments = random.Random(0)
    crew = Crew(tmp_path, n_trials=1_000_000)
    try:
        while not (tmp_path / "study.db").exists() or not ccgbo.list_studies(tmp_path / "study.db"):
            time.sleep(0.01)
        for _ in range(N_KILLS):
            time.sleep(moments.uniform(0.0, 0.08))
            crew.kill(moments.randrange(4))
    finally:
        crew.stop()
    with ccgbo.Study(tmp_path / "study.db") as study:
        cut = study.trials
    Crew(tmp_path, n_trials=len(cut) + 8).finish()

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
    assert all(t.value == value_of(**t.params) for t in stored.values())
    assert {t.id: t.params for t in cut}.items() <= {t.id: t.params for t in stored.values()}.items()
    assert list(stored) == list(range(len(cut) + 8)), "the study did not finish"
    assert sorted(row.told_as or 0 for row in rows) == list(range(1, len(rows) + 1))
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
