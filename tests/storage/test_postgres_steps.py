"""Steps whose commit was not answered: each is kept once, whatever became of the server and of the commit."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import psycopg
import pytest

import ccgbo
from ccgbo import StorageError
from ccgbo.storage import open_store, postgres_link, postgres_steps

from .conformance import definition
from .postgres_proxy import Line, Proxy
from .postgres_server import PostgresServer

pytestmark = pytest.mark.heavy
SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
CHANGE = b"UPDATE ccgbo_trials"  # of a tell, which begins with looks that have commits of their own
TOKENS = "SELECT token::text, kept FROM ccgbo_steps"


def told(server: PostgresServer, database: str) -> list[tuple[float, int]]:
    query = "SELECT value, completion_order FROM ccgbo_trials WHERE state = 'complete' ORDER BY id"
    return [tuple(row) for row in server.sql(database, query)]


def wait_for(server: PostgresServer, database: str, query: str) -> int:
    """The first number that a query gives, as soon as there is one."""
    for _ in range(3000):
        if rows := server.sql(database, query):
            return int(rows[0][0])
        threading.Event().wait(0.01)
    raise AssertionError(query)


# -- a server that crashes


@pytest.mark.parametrize("sent", [False, True])
def test_a_value_is_told_once_when_a_crash_gives_the_number_of_its_transaction_to_another(
    far_database: str, proxy: Proxy, database: str, server: PostgresServer, sent: bool
) -> None:
    name = server.sql(database, "SELECT current_database()")[0][0]
    server.sql(
        database, f"ALTER DATABASE {name} SET synchronous_commit = off"
    )  # a commit waits for its way to the disk
    numbers = []

    def take_a_number() -> None:
        numbers.append(server.sql(database, "SELECT txid_current()")[0][0])

    def crash(line: Line) -> None:
        if sent:
            line.pass_on()
            line.answered.wait()
        server.restart("immediate")
        take_a_number()

    with ccgbo.Study(far_database, SPACE, seed=1) as study:
        for tries in range(1, 6):
            trial = study.ask()
            take_a_number()
            server.sql(database, "CHECKPOINT")
            proxy.at(b"COMMIT", crash, after=CHANGE)
            assert study.tell(trial, 0.25).value == 0.25
            assert told(server, database) == [(0.25, n + 1) for n in range(tries)]
            before, after = numbers[-2:]
            if after == before + 1:  # else something else made the server write what it had, and nothing was lost
                break
        else:
            pytest.fail("no number of a transaction was given twice")
    assert proxy.cuts == tries


# -- a commit that is under way


@pytest.fixture
def gate(database: str, far: ccgbo.Study, server: PostgresServer) -> Iterator[psycopg.Connection]:
    """Holds up every commit of a step until it lets go of a lock."""
    assert far.trials == ()
    server.sql(
        database,
        """
        CREATE FUNCTION hold_up() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_advisory_xact_lock_shared(42); RETURN NULL; END $$;
        CREATE CONSTRAINT TRIGGER hold_up AFTER INSERT ON ccgbo_steps DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW WHEN (NEW.kept) EXECUTE FUNCTION hold_up();
        """,
    )
    with psycopg.connect(database, autocommit=True) as connection:
        yield connection


COMMITTING = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = 42 AND NOT granted"
ASKING = "SELECT pid FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted"


@pytest.mark.parametrize("ends", [False, True])
def test_who_asks_while_the_commit_is_under_way_waits_for_its_end(
    far: ccgbo.Study,
    gate: psycopg.Connection,
    proxy: Proxy,
    database: str,
    server: PostgresServer,
    monkeypatch: pytest.MonkeyPatch,
    ends: bool,
) -> None:
    monkeypatch.setattr(postgres_steps, "CLAIM_SECONDS", 0.2)
    trial = far.ask()
    tokens: list[list[tuple[str, bool]]] = []

    def ask_meanwhile(line: Line) -> None:
        gate.execute("SELECT pg_advisory_lock(42)")
        line.pass_on()
        committing = wait_for(server, database, COMMITTING)
        line.cut()
        first = wait_for(server, database, ASKING)
        wait_for(server, database, f"{ASKING} AND pid <> {first}")  # it was patient, and asks again
        tokens.append(server.sql(database, TOKENS))
        if not ends:
            server.sql(database, f"SELECT pg_terminate_backend({committing})")
        gate.execute("SELECT pg_advisory_unlock(42)")

    proxy.at(b"COMMIT", ask_meanwhile, after=CHANGE)
    assert far.tell(trial, 0.25).value == 0.25
    assert proxy.cuts == 1
    assert told(server, database) == [(0.25, 1)]
    (((_, kept_before),),) = tokens
    assert kept_before
    assert sorted(kept for _, kept in server.sql(database, TOKENS)) == ([True] if ends else [False, True])


def test_a_commit_that_arrives_after_its_step_was_given_up_is_refused(
    far: ccgbo.Study, proxy: Proxy, database: str, server: PostgresServer
) -> None:
    trial = far.ask()

    def arrive_late(line: Line) -> None:
        line.cut()
        wait_for(server, database, "SELECT 1 FROM ccgbo_steps WHERE NOT kept")
        line.pass_on()
        line.answered.wait()

    proxy.at(b"COMMIT", arrive_late, after=CHANGE)
    assert far.tell(trial, 0.25).value == 0.25
    assert far.tell(far.ask(), 0.5).value == 0.5
    assert proxy.cuts == 1
    assert told(server, database) == [(0.25, 1), (0.5, 2)]


@pytest.mark.parametrize("sent", [False, True])
def test_a_value_is_told_once_when_the_answer_to_the_question_is_lost_too(
    far: ccgbo.Study, proxy: Proxy, database: str, server: PostgresServer, sent: bool
) -> None:
    trial = far.ask()

    def cut_again(line: Line) -> None:
        if sent:
            line.pass_on()
            line.answered.wait()
        proxy.cut_at(b"ON CONFLICT", sent=True)

    proxy.at(b"COMMIT", cut_again, after=CHANGE)
    assert far.tell(trial, 0.25).value == 0.25
    assert proxy.cuts == 2
    assert told(server, database) == [(0.25, 1)]


def test_a_commit_that_does_not_end_is_an_error_that_says_so(
    far: ccgbo.Study, gate: psycopg.Connection, proxy: Proxy, database: str, server: PostgresServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(postgres_steps, "CLAIM_SECONDS", 0.1)
    monkeypatch.setattr(postgres_link, "PATIENCE", 0.3)
    trial = far.ask()

    def hang(line: Line) -> None:
        gate.execute("SELECT pg_advisory_lock(42)")
        line.pass_on()
        wait_for(server, database, COMMITTING)

    proxy.at(b"COMMIT", hang, after=CHANGE)
    with pytest.raises(StorageError, match="whether it was kept is not known"):
        far.tell(trial, 0.25)
    gate.execute("SELECT pg_advisory_unlock(42)")
    wait_for(server, database, "SELECT 1 FROM ccgbo_trials WHERE value = 0.25")


def test_nobody_asks_after_a_sleep_in_which_the_token_may_have_gone(
    far: ccgbo.Study, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = far.ask()
    monkeypatch.setattr(postgres_link, "STAY_HOURS", 0)
    proxy.cut_at(b"COMMIT", sent=True, after=CHANGE)
    with pytest.raises(StorageError, match="whether it was kept is not known"):
        far.tell(trial, 0.25)


# -- the table


def test_a_process_leaves_one_token_and_the_next_one_takes_those_of_the_day_before(
    database: str, server: PostgresServer
) -> None:
    with ccgbo.Study(database, SPACE, seed=1) as study:
        for _ in range(20):
            study.tell(study.ask(), 0.5)
        assert len(server.sql(database, TOKENS)) == 1
    for n in range(3):
        with ccgbo.Study(database) as study:
            study.ask()
        assert len(server.sql(database, TOKENS)) == n + 2
    server.sql(database, "UPDATE ccgbo_steps SET at = at - interval '2 days'")
    server.sql(database, "INSERT INTO ccgbo_steps VALUES (gen_random_uuid(), false)")
    with ccgbo.Study(database) as study:
        study.ask()
        assert sorted(kept for _, kept in server.sql(database, TOKENS)) == [False, True]


def test_looks_and_heartbeats_and_steps_that_fail_leave_no_token(database: str, server: PostgresServer) -> None:
    store = open_store(database, create=True)
    study = store.create(definition("s")).id
    before = server.sql(database, TOKENS)
    store.read(study, lambda view: view.row())
    store.write(study, lambda unit: unit.beat("w/1/1"), scope="heartbeat")
    with pytest.raises(ZeroDivisionError):
        store.write(study, lambda _: 1 // 0)
    assert server.sql(database, TOKENS) == before
    store.close()
