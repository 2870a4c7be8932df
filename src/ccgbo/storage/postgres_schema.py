"""Tables of studies in PostgreSQL and their version.

They carry a name of ours each and stand where the connection's search_path says, beside whatever else a database has.
JSON is kept as text, as it was written: to the last bit of a number, in the order of its keys. A text of the user's
(an error, a note) is JSON too, because PostgreSQL's own texts cannot hold a zero byte.
"""

from __future__ import annotations

from typing import Any

import psycopg

from ccgbo.errors import StorageError, StudyNotFoundError

SCHEMA_VERSION = 2
OLDEST_VERSION = 1  # that is brought up to date on opening
_CREATING = 0x4343474243524541  # key of the lock while tables are made or upgraded: two may come first

TABLES = (
    "CREATE TABLE ccgbo_version (version INTEGER NOT NULL)",
    """
    CREATE TABLE ccgbo_studies (
        id BIGINT PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        direction TEXT NOT NULL,
        space TEXT NOT NULL,
        settings TEXT NOT NULL,
        prior TEXT NOT NULL,
        withheld TEXT NOT NULL,
        optimizer_state TEXT NOT NULL,
        created DOUBLE PRECISION NOT NULL,
        n_asked BIGINT NOT NULL DEFAULT 0,
        n_told BIGINT NOT NULL DEFAULT 0,
        revision BIGINT NOT NULL DEFAULT 0,
        n_changes BIGINT NOT NULL DEFAULT 0,
        seed TEXT NOT NULL DEFAULT 'null',
        preset TEXT
    )
    """,
    """
    CREATE TABLE ccgbo_trials (
        study BIGINT NOT NULL REFERENCES ccgbo_studies (id) ON DELETE CASCADE,
        id BIGINT NOT NULL,
        params TEXT NOT NULL,
        state TEXT NOT NULL,
        value DOUBLE PRECISION,
        noise_variance DOUBLE PRECISION,
        error TEXT,
        origin TEXT NOT NULL,
        explanation TEXT,
        dropped INTEGER NOT NULL DEFAULT 0,
        readings TEXT NOT NULL DEFAULT '[]',
        attributes TEXT NOT NULL DEFAULT '{}',
        asked_at DOUBLE PRECISION NOT NULL,
        told_at DOUBLE PRECISION,
        completion_order BIGINT,
        revision BIGINT NOT NULL DEFAULT 0,
        released INTEGER NOT NULL DEFAULT 0,
        attempts INTEGER NOT NULL DEFAULT 0,
        worker TEXT,
        heartbeat DOUBLE PRECISION,
        clock TEXT,
        PRIMARY KEY (study, id)
    )
    """,
    """
    CREATE TABLE ccgbo_events (
        study BIGINT NOT NULL REFERENCES ccgbo_studies (id) ON DELETE CASCADE,
        seq BIGINT NOT NULL,
        at DOUBLE PRECISION NOT NULL,
        who TEXT NOT NULL,
        action TEXT NOT NULL,
        trial BIGINT,
        before TEXT,
        after TEXT,
        note TEXT,
        PRIMARY KEY (study, seq)
    )
    """,
    "CREATE INDEX ccgbo_trials_by_revision ON ccgbo_trials (study, revision)",
    "CREATE INDEX ccgbo_trials_pending ON ccgbo_trials (study, id) WHERE state = 'pending'",
    f"INSERT INTO ccgbo_version VALUES ({OLDEST_VERSION})",
)
UPGRADES = {  # by the version that they lead to
    2: (
        "ALTER TABLE ccgbo_studies ADD COLUMN metrics TEXT NOT NULL DEFAULT 'null'",
        "ALTER TABLE ccgbo_trials ADD COLUMN metrics TEXT NOT NULL DEFAULT '{}'",
        "UPDATE ccgbo_version SET version = 2",
    ),
}


def prepare(connection: psycopg.Connection[dict[str, Any]], address: str, *, create: bool) -> None:
    """Tables of this version, made where there are none and ``create`` says so; older ones are brought up to date."""
    with connection.transaction():
        if not _has_tables(connection):
            if not create:
                raise StudyNotFoundError(f"{address!r} has no study yet.")
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_CREATING,))
            if not _has_tables(connection):
                for statement in TABLES:
                    connection.execute(statement)
        versions = _versions(connection)
        if len(versions) == 1 and OLDEST_VERSION <= versions[0] < SCHEMA_VERSION:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_CREATING,))
            versions = _versions(connection)
            for later in range(versions[0] + 1, SCHEMA_VERSION + 1):
                for statement in UPGRADES[later]:
                    connection.execute(statement)
            versions = _versions(connection)
    if versions == [SCHEMA_VERSION]:
        return
    if len(versions) != 1:
        raise StorageError(f"{address!r}: the table ccgbo_version was changed by hand, it holds {versions!r}.")
    age, advice = (
        ("a newer", "upgrade with pip install -U ccgbo")
        if versions[0] > SCHEMA_VERSION
        else ("an older", "export its studies with the ccgbo that wrote them and import them into another database")
    )
    raise StorageError(
        f"{address!r} was written by {age} ccgbo (version {versions[0]} of its tables, this one reads "
        f"{SCHEMA_VERSION}): {advice}."
    )


def _versions(connection: psycopg.Connection[dict[str, Any]]) -> list[int]:
    return [row["version"] for row in connection.execute("SELECT version FROM ccgbo_version").fetchall()]


def _has_tables(connection: psycopg.Connection[dict[str, Any]]) -> bool:
    # to_regclass would remember, after the wait for somebody else's tables, that there were none
    query = "SELECT 1 FROM pg_catalog.pg_class WHERE relname = 'ccgbo_version' AND pg_catalog.pg_table_is_visible(oid)"
    return connection.execute(query).fetchone() is not None
