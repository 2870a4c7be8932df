"""Many processes on one study: everything that was asked and told is there once, and nobody waits for who is gone."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import ccgbo
from ccgbo.storage import Unit, View, open_store

from .conformance import definition, pending

SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
PROCESSES, TRIALS, BATCH = 16, 200, 4
MODELLED = 40  # suggestions that the model makes; all before it are of the initial design


def value_of(x: float, y: float) -> float:
    return (x - 0.3) ** 2 + (y - 0.6) ** 2


def work(path: str) -> None:
    with ccgbo.Study(path) as study:
        for _ in range(TRIALS // BATCH):
            for trial in study.ask(BATCH):
                study.tell(trial, value_of(**trial.params))


def check_crowd(path: str) -> None:
    total = PROCESSES * TRIALS
    tuning = {"max_points": 50, "n_candidates": 32, "n_local": 8, "search_steps": 2}
    settings: dict[str, Any] = {"n_initial": total - MODELLED, "tuning": tuning}
    ccgbo.Study(path, SPACE, direction="minimize", seed=0, **settings).close()
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=work, args=(path,)) for _ in range(PROCESSES)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * PROCESSES
    with ccgbo.Study(path) as study:
        trials = study.trials
    assert [trial.id for trial in trials] == list(range(total))
    assert [trial.value for trial in trials] == [value_of(**trial.params) for trial in trials]
    assert len({tuple(trial.params.values()) for trial in trials}) == total
    assert {trial.origin for trial in trials} == {"design", "model"}


@pytest.mark.heavy
def test_sixteen_processes_lose_nothing_on_a_file(tmp_path: Path) -> None:
    check_crowd(str(tmp_path / "s.db"))


@pytest.mark.heavy
def test_sixteen_processes_lose_nothing_on_a_database(database: str) -> None:
    check_crowd(database)


# -- turns


def hold_turn(path: str, study: int, there: Any) -> None:
    """Another process that suggests until it is told to go on."""

    def suggest(unit: Unit) -> None:
        there.send("suggests")
        there.recv()
        unit.add([pending(0.1)], None)

    store = open_store(path)
    store.write(study, suggest, scope="suggestion", while_next=View.row)
    store.close()


def stop_while_next(path: str, study: int, there: Any) -> None:
    """Another process that is suspended in the place next to the turn."""

    def stop(_: View) -> None:
        there.send("stops")
        os.kill(os.getpid(), signal.SIGSTOP)

    store = open_store(path)
    store.write(study, lambda unit: unit.add([pending(0.2)], None), scope="suggestion", while_next=stop)
    store.close()


class Crowd:
    """A study, what happens to it, and other processes."""

    def __init__(self, path: str) -> None:
        self.path, self.store = path, open_store(path, create=True)
        self.study = self.store.create(definition("s")).id
        self.others: list[tuple[Any, Any]] = []
        self.order: list[str] = []

    def other(self, work: Callable[..., None]) -> Any:
        """Another process at ``work``, and the line to it."""
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        process = context.Process(target=work, args=(self.path, self.study, there))
        process.start()
        assert here.poll(60)
        here.recv()
        self.others.append((process, here))
        return process, here

    def suggest(self) -> None:
        def look(view: View) -> None:
            self.order.append(f"looks at {view.row().n_asked}")

        def step(unit: Unit) -> None:
            self.order.append(f"suggests after {unit.row().n_asked}")
            unit.add([pending(0.5)], None)

        self.store.write(self.study, step, scope="suggestion", while_next=look)

    def suggest_behind(self, line: Any) -> None:
        """A suggestion of this process, which has come as far as it can before the other one goes on."""
        thread = threading.Thread(target=self.suggest)
        thread.start()
        wait_until(lambda: bool(self.order))
        line.send("go on")
        thread.join(60)

    def n_asked(self) -> int:
        return self.store.read(self.study, lambda view: view.row().n_asked)

    def close(self) -> None:
        for process, _ in self.others:
            process.join(60)
            assert process.exitcode == 0
        self.store.close()


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert condition()


@pytest.fixture
def on_file(tmp_path: Path) -> Iterator[Crowd]:
    crowd = Crowd(str(tmp_path / "s.db"))
    yield crowd
    crowd.close()


@pytest.fixture
def on_database(database: str) -> Iterator[Crowd]:
    crowd = Crowd(database)
    yield crowd
    crowd.close()


LOOKS_THEN_SUGGESTS = ["looks at 0", "suggests after 1"]


def test_who_comes_next_on_a_file_looks_at_the_study_while_another_process_suggests(on_file: Crowd) -> None:
    _, line = on_file.other(hold_turn)
    on_file.suggest_behind(line)
    assert on_file.order == LOOKS_THEN_SUGGESTS
    on_file.suggest()
    assert on_file.order[2:] == ["suggests after 2"]  # nobody was before it


@pytest.mark.heavy
def test_who_comes_next_on_a_database_looks_at_the_study_while_another_process_suggests(on_database: Crowd) -> None:
    _, line = on_database.other(hold_turn)
    on_database.suggest_behind(line)
    assert on_database.order == LOOKS_THEN_SUGGESTS
    on_database.suggest()
    assert on_database.order[2:] == ["suggests after 2"]


def check_suspended(crowd: Crowd) -> None:
    """A process that was suspended in the place next to the turn; whoever comes after it."""
    _, line = crowd.other(hold_turn)
    stopped, _ = crowd.other(stop_while_next)
    line.send("go on")
    wait_until(lambda: crowd.n_asked() == 1)
    began = time.monotonic()
    crowd.suggest()
    crowd.suggest()
    assert time.monotonic() - began < 30

    def went_on() -> bool:
        os.kill(stopped.pid, signal.SIGCONT)  # until it has: it may say that it stops before it does
        return crowd.n_asked() == 4

    wait_until(went_on)


def test_a_process_suspended_while_it_comes_next_on_a_file_stops_nobody(on_file: Crowd) -> None:
    check_suspended(on_file)


@pytest.mark.heavy
def test_a_process_suspended_while_it_comes_next_on_a_database_stops_nobody(on_database: Crowd) -> None:
    check_suspended(on_database)


def check_broken_off(crowd: Crowd) -> None:
    """Somebody gives up in the place next to the turn, and leaves it."""

    def give_up(_: View) -> None:
        raise KeyboardInterrupt

    _, line = crowd.other(hold_turn)
    with pytest.raises(KeyboardInterrupt):
        crowd.store.write(crowd.study, Unit.row, scope="suggestion", while_next=give_up)
    other, crowd.store = crowd.store, open_store(crowd.path)
    crowd.suggest_behind(line)
    other.close()
    assert crowd.order == LOOKS_THEN_SUGGESTS


def test_an_interrupt_while_it_comes_next_on_a_file_leaves_the_place_to_others(on_file: Crowd) -> None:
    check_broken_off(on_file)


@pytest.mark.heavy
def test_an_interrupt_while_it_comes_next_on_a_database_leaves_the_place_to_others(on_database: Crowd) -> None:
    check_broken_off(on_database)


# -- what a process that catches up computes


def test_a_study_that_caught_up_suggests_what_one_process_in_sequence_does(tmp_path: Path) -> None:
    """Two handles that take turns, and catch up outside of them, against one that does everything."""
    shared, alone = tmp_path / "shared.db", tmp_path / "alone.db"
    with (
        ccgbo.Study(shared, SPACE, seed=3) as one,
        ccgbo.Study(shared) as two,
        ccgbo.Study(alone, SPACE, seed=3) as all,
    ):
        for i in range(24):
            study = (one, two)[i % 3 == 0]
            study._read(study._catch_up)
            asked, same = study.ask(), all.ask()
            assert asked == same
            study.tell(asked, value_of(**asked.params))
            all.tell(same, value_of(**same.params))
