"""Connections that break, servers that go away, and who waits for whom."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

import ccgbo
from ccgbo import StorageError, StudyNotFoundError
from ccgbo.storage import Store, Unit, open_store, postgres_link

from .conformance import definition, pending
from .postgres_proxy import Proxy
from .postgres_server import PostgresServer

pytestmark = pytest.mark.heavy
SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


@pytest.mark.parametrize("sent", [False, True])
def test_a_value_is_told_once_when_the_connection_breaks_at_its_commit(
    far: ccgbo.Study, proxy: Proxy, database: str, sent: bool
) -> None:
    trial = far.ask()
    proxy.cut_at(b"COMMIT", sent=sent, after=b"UPDATE ccgbo_trials")
    assert far.tell(trial, 0.25).value == 0.25
    assert proxy.cuts == 1
    with ccgbo.Study(database) as near:
        (row,) = near.records()
        assert (row.trial.value, row.completion_order) == (0.25, 1)
        assert near.log() == []


@pytest.mark.parametrize("word", [b"BEGIN", b"FOR NO KEY UPDATE", b"UPDATE ccgbo_trials"])
def test_a_value_is_told_once_when_the_connection_breaks_before(far: ccgbo.Study, proxy: Proxy, word: bytes) -> None:
    trial = far.ask()
    for sent in (False, True):
        proxy.cut_at(word, sent=sent)
        told = far.tell(trial, 1.0) if not sent else far.tell(far.ask(), 2.0)
        assert told.state == "complete"
    assert proxy.cuts == 2
    assert [row.completion_order for row in far.records()] == [1, 2]


@pytest.mark.parametrize("sent", [False, True])
def test_an_ask_whose_commit_broke_gives_the_point_that_it_would_have_given(
    far: ccgbo.Study, proxy: Proxy, sent: bool
) -> None:
    twin = ccgbo.Optimizer(SPACE, seed=1)
    proxy.cut_at(b"COMMIT", sent=sent)  # of the look before the step
    assert far.ask().params == twin.ask().params
    proxy.cut_at(b"INSERT INTO ccgbo_trials", sent=sent)
    assert far.ask().params == twin.ask().params
    assert [trial.id for trial in far.trials] == [0, 1]
    assert proxy.cuts == 2


def test_a_step_that_computed_for_longer_than_the_patience_with_a_server_is_done_again_all_the_same(
    open: Callable[[], Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open()
    study, tries = store.create(definition("a")), []

    def work(unit: Unit) -> int:
        tries.append(time.monotonic())
        if len(tries) == 1:
            time.sleep(0.3)  # the model is computed, then the connection breaks
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        return unit.suggested()

    monkeypatch.setattr(postgres_link, "PATIENCE", 0.2)
    assert store.write(study.id, work) == 0
    assert len(tries) == 2


def test_a_server_that_stays_away_is_an_error_with_its_reason(
    far: ccgbo.Study, proxy: Proxy, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = far.ask()
    monkeypatch.setattr(postgres_link, "PATIENCE", 0.5)
    proxy.close()
    with pytest.raises(StorageError, match=r"cannot connect to .* Nothing of this step was kept"):
        far.tell(trial, 1.0)
    with ccgbo.Study(database) as near:
        assert [trial.state for trial in near.trials] == ["pending"]


# -- who waits for whom


@pytest.fixture
def open(database: str) -> Iterator[Callable[[], Store]]:
    opened = []

    def open() -> Store:
        opened.append(open_store(database, create=True))
        return opened[-1]

    yield open
    for store in opened:
        store.close()


def test_tells_and_heartbeats_pass_a_suggestion_and_another_suggestion_waits(open: Callable[[], Store]) -> None:
    one, two, three = open(), open(), open()
    study = one.create(definition("s")).id
    (trial,) = one.write(study, lambda unit: unit.add([pending(0.1)], "w/1/1"))
    computing, go_on = threading.Event(), threading.Event()
    order: list[str] = []

    def suggest(unit: Unit) -> None:
        seen = unit.changes(-1)
        computing.set()
        assert go_on.wait(60)
        order.append("first")
        assert [row.trial.state for row in seen] == ["pending"]
        unit.add([pending(0.2)], None)
        unit.save_state({"version": 1})

    def suggest_again(unit: Unit) -> None:
        order.append("second")
        unit.add([pending(0.3)], None)

    threads = [threading.Thread(target=one.write, args=(study, suggest), kwargs={"scope": "suggestion"})]
    threads[0].start()
    assert computing.wait(60)
    two.write(study, lambda unit: unit.revise(trial.with_outcome(state="complete", value=1.0)), scope="trials")
    two.write(study, lambda unit: unit.beat("w/1/1"), scope="heartbeat")
    one.write(study, lambda unit: unit.beat("w/1/1"), scope="heartbeat")  # also of the process that suggests
    order.append("told")
    threads.append(threading.Thread(target=three.write, args=(study, suggest_again), kwargs={"scope": "suggestion"}))
    threads[1].start()
    go_on.set()
    for thread in threads:
        thread.join(60)
    assert order == ["told", "first", "second"]
    rows = one.read(study, lambda view: view.changes(-1))
    assert sorted((row.trial.id, row.trial.params["x"]) for row in rows) == [(0, 0.1), (1, 0.2), (2, 0.3)]


def test_a_worker_is_gone_when_it_is_silent_whatever_this_machine_knows_of_it(open: Callable[[], Store]) -> None:
    from ccgbo.storage.workers import this_worker

    store = open()
    study = store.create(definition("s")).id
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    place = this_worker().rsplit("/", 2)[0]
    store.write(study, lambda unit: unit.add([pending(0.1)], f"{place}/{ended.pid}/1"))
    assert store.read(study, lambda view: view.lost(3600.0)) == []
    store.write(study, lambda unit: unit.add([pending(0.2)], this_worker()))
    threading.Event().wait(0.05)
    assert [lost.crashed for lost in store.read(study, lambda view: view.lost(0.01))] == [True, True]
    (row, _) = store.read(study, lambda view: view.changes(-1))
    assert row.clock == "server"


def test_a_study_that_is_deleted_while_somebody_suggests_takes_nothing(open: Callable[[], Store]) -> None:
    one, two = open(), open()
    study = one.create(definition("s")).id

    def suggest(unit: Unit) -> None:
        two.delete("s")
        unit.add([pending(0.2)], None)

    with pytest.raises(StudyNotFoundError, match="was deleted"):
        one.write(study, suggest, scope="suggestion")


# -- many processes

WORKER = """
import sys, ccgbo
with ccgbo.Study(sys.argv[1], name="s", heartbeat=5.0) as study:
    study.run(lambda x, y: (x - 0.3) ** 2 + (y - 0.6) ** 2, int(sys.argv[2]), progress=False)
"""


def start_workers(database: str, n: int, total: int) -> list[subprocess.Popen[str]]:
    options: dict[str, Any] = {"stderr": subprocess.PIPE, "text": True, "env": os.environ | {"OMP_NUM_THREADS": "1"}}
    return [subprocess.Popen([sys.executable, "-c", WORKER, database, str(total)], **options) for _ in range(n)]


def test_eight_processes_share_one_study_and_no_id_is_given_twice(database: str) -> None:
    with ccgbo.Study(database, SPACE, name="s", direction="minimize", seed=1) as study:
        for worker in start_workers(database, 8, 200):
            assert worker.communicate(timeout=500)[1] == ""
        rows = study.records()
    assert [row.trial.id for row in rows] == list(range(200))
    assert {row.trial.state for row in rows} == {"complete"}
    assert sorted(row.completion_order or 0 for row in rows) == list(range(1, 201))
    assert len({tuple(row.trial.params.values()) for row in rows}) == 200


def test_a_run_goes_on_while_its_server_is_restarted_and_a_worker_is_killed(
    database: str, server: PostgresServer
) -> None:
    with ccgbo.Study(database, SPACE, name="s", direction="minimize", seed=1) as study:
        workers = start_workers(database, 3, 60)
        try:
            for mode, n in (("fast", 8), ("immediate", 25)):
                while sum(trial.state == "complete" for trial in study.trials) < n:
                    threading.Event().wait(0.05)
                server.restart(mode)
            workers[0].send_signal(signal.SIGKILL)
            for worker in workers[1:]:
                assert worker.communicate(timeout=300)[1] == ""
        finally:
            for worker in workers:
                worker.kill()
                worker.communicate()
        rows = study.records()
    assert [row.trial.id for row in rows] == list(range(60))
    assert {row.trial.state for row in rows} == {"complete"}
