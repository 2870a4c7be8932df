"""Tables without tokens of steps: they are brought up to date, and who may not do that is told what to do."""

from __future__ import annotations

import pytest

import ccgbo
from ccgbo import StorageError
from ccgbo.storage.postgres_schema import SCHEMA_VERSION

from .postgres_server import PASSWORD, USER, PostgresServer

pytestmark = pytest.mark.heavy
SPACE = {"x": (0.0, 1.0)}
OWN = "SELECT relnamespace::regnamespace::text, relname FROM pg_class WHERE relname LIKE 'ccgbo%' AND relkind = 'r'"


@pytest.fixture
def old(database: str, server: PostgresServer) -> str:
    """The address of a database with one study of three trials, as version 2 left it."""
    with ccgbo.Study(database, SPACE, seed=1) as study:
        for _ in range(3):
            study.tell(study.ask(), 1.0)
        study.ask()
    server.sql(database, "DROP TABLE ccgbo_steps; UPDATE ccgbo_version SET version = 2")
    return database


def role(server: PostgresServer, database: str, rights: str) -> str:
    """The address for a new user with these rights on all tables."""
    name = f"some_{server.sql(database, 'SELECT current_database()')[0][0]}"
    server.sql(database, f"CREATE ROLE \"{name} user\" LOGIN PASSWORD '{PASSWORD}'")
    server.sql(database, f'GRANT {rights} ON ALL TABLES IN SCHEMA public TO "{name} user"')
    return database.replace(f"{USER}:", f"{name}%20user:")


def version(server: PostgresServer, database: str) -> int:
    return int(server.sql(database, "SELECT version FROM ccgbo_version")[0][0])


def test_a_database_without_tokens_is_brought_up_to_date_and_goes_on(old: str, server: PostgresServer) -> None:
    with ccgbo.Study(old) as study:
        assert [trial.state for trial in study.trials] == ["complete"] * 3 + ["pending"]
        study.tell(3, 0.5)
    assert version(server, old) == SCHEMA_VERSION
    assert len(server.sql(old, "SELECT * FROM ccgbo_steps")) == 1


def test_the_new_table_stands_beside_the_others_whatever_schema_comes_first(old: str, server: PostgresServer) -> None:
    server.sql(old, f"CREATE SCHEMA {USER}")  # of the user's own name: new tables would go there
    ccgbo.Study(old).close()
    assert {schema for schema, _ in server.sql(old, OWN)} == {"public"}


def test_who_may_only_read_looks_at_older_tables_and_leaves_them(old: str, server: PostgresServer) -> None:
    with ccgbo.Study(role(server, old, "SELECT")) as study:
        assert len(study.trials) == 4
        with pytest.raises(StorageError, match=r"cannot write: .* version 2, .* Let their owner open it once"):
            study.tell(3, 1.0)
    assert version(server, old) == 2


def test_who_may_write_but_make_no_tables_goes_on_once_the_owner_has_opened_it(
    old: str, server: PostgresServer
) -> None:
    address = role(server, old, "SELECT, INSERT, UPDATE, DELETE")
    with ccgbo.Study(address) as study:
        assert len(study.trials) == 4
        with pytest.raises(StorageError, match="this user may not bring them up to date"):
            study.ask()
    ccgbo.Study(old).close()
    with ccgbo.Study(address) as study:
        study.tell(3, 0.5)
        assert study.ask().id == 4


def test_tables_that_cannot_be_read_as_they_are_are_refused_with_what_to_do(old: str, server: PostgresServer) -> None:
    server.sql(old, "UPDATE ccgbo_version SET version = 1")
    with pytest.raises(StorageError, match=r"version 1, .* Let their owner open it once"):
        ccgbo.Study(role(server, old, "SELECT"))


def test_who_may_make_no_tables_is_told_so(database: str, server: PostgresServer) -> None:
    address = role(server, database, "SELECT")
    server.sql(database, "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    with pytest.raises(StorageError, match=r"may not make the tables .*permission denied.* and grant SELECT, INSERT"):
        ccgbo.Study(address, SPACE)
