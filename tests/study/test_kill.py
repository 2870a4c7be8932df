"""Several processes on one study, and what is left when they are killed."""

from __future__ import annotations

import contextlib
import json
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
from typing import Any

import pytest

import ccgbo
from ccgbo.space import space_to_dict

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
                target, *arguments = job
                target(*arguments)
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
        told = str(self._folder / f"told-{self._hired}")
        return self.start_one(work, str(self._folder / "study.db"), told, n_trials)

    def start_one(self, *job: Any) -> int:
        """A process that calls a function with its arguments."""
        self._connection.send(job)
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


# -- what is changed by hand

ROUNDS = 12
WEEK: list[Any] = [  # each of them changes something, whichever round it is
    lambda study, _: study.ask(3),
    lambda study, i: study.tell(i, [0.1, 0.2], params={"x": 1.5}, note="hot"),
    lambda study, i: study.tell(i + 1, failed=True, error="spilled"),
    lambda study, i: study.amend(i, 0.3),
    lambda study, i: study.amend(i + 1, (0.4, 0.1), tags=["late"]),
    lambda study, i: study.drop(i + 1),
    lambda study, i: study.abandon(i + 2, note="no flask"),
    lambda study, _: study.enqueue([{"x": 0.5, "y": 0.25}, {"x": 0.75, "y": 0.25}], note="known"),
    lambda study, i: study.restore(i + 1),
    lambda study, _: study.ask(fixed={"x": 0.75}),
    lambda study, i: study.change_space({"x": (0.0, 2.0), "y": (0.0, 1.0), "n": (1, 2 + i)}, defaults={"n": 2}),
    lambda study, i: study.annotate(i + 2, operator="kim"),
    lambda study, _: study.change_space(SPACE, marginal=["n"]),
    lambda study, i: study.tell(i + 4, 0.1),
    lambda study, i: study.abandon(i + 3),
]
PER_ROUND = 5  # trials


def do_from(path: str, log: str, first: int) -> None:
    """The rest of the weeks, from one of their steps on; a letter in the log for each."""
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    with ccgbo.Study(path) as study:
        for step in range(first, ROUNDS * len(WEEK)):
            WEEK[step % len(WEEK)](study, step // len(WEEK) * PER_ROUND)
            os.write(file, b".")


def all_of(study: ccgbo.Study) -> str:
    """Everything that is known of a study, but who changed it when."""
    waiting = [row.trial.id for row in study.records() if row.released]
    state = study.optimizer().state_dict() | {"log": None, "space": space_to_dict(study.space), "waiting": waiting}
    return json.dumps([state, [(e.action, e.trial_id, e.before, e.after, e.note) for e in study.log()]])


def test_a_process_killed_between_and_inside_changes_leaves_the_state_before_or_after_each(tmp_path: Path) -> None:
    moments, settings = random.Random(0), {"seed": 0, "n_initial": 1000}
    with ccgbo.Study(tmp_path / "uncut.db", SPACE, **settings) as study:
        states = [all_of(study)]
        for step in range(ROUNDS * len(WEEK)):
            WEEK[step % len(WEEK)](study, step // len(WEEK) * PER_ROUND)
            states.append(all_of(study))
    assert len(set(states)) == len(states)
    path, log = tmp_path / "study.db", tmp_path / "log"
    ccgbo.Study(path, SPACE, **settings).close()
    crew, at, kills = Crew(tmp_path), 0, 0
    try:
        while at < ROUNDS * len(WEEK):
            log.write_bytes(b"")
            worker = crew.start_one(do_from, str(path), str(log), at)
            steps = moments.randint(0, 9)
            while log.stat().st_size < steps and is_alive(worker):
                time.sleep(0.0005)
            time.sleep(moments.uniform(0.0, 0.01))
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
                kills += 1
            while is_alive(worker):
                time.sleep(0.001)
            with ccgbo.Study(path) as study:
                now = states.index(all_of(study))  # a state of the uncut weeks
            assert now in (at + log.stat().st_size, at + log.stat().st_size + 1)
            at = now
    finally:
        crew.close()
    assert kills > 10
