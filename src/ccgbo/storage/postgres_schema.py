"""Tables of studies in PostgreSQL and their version.

They carry a name of ours each and stand where the connection's search_path says, beside whatever else a database has.
JSON is kept as text, as it was written: to the last bit of a number, in the order of its keys. A text of the user's
(an error, a note) is JSON too, because PostgreSQL's own texts cannot hold a zero byte.
"""

from __future__ import annotations

from typing import Any

import psycopg

from ccgbo.errors import StorageError, StudyNotFoundError
from ccgbo.storage.postgres_link import said

SCHEMA_VERSION = 3
OLDEST_VERSION = 1  # that is brought up to date on opening
READABLE_VERSION = 2  # and later: read as they are by who may not bring them up to date
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
STEPS = """
    DO $$
    DECLARE
        trials pg_class;
        who TEXT;
    BEGIN  -- in the schema of the other tables, which need not be the first of the search_path
        SELECT * FROM pg_class WHERE oid = 'ccgbo_trials'::regclass INTO trials;
        EXECUTE format('CREATE TABLE %s.ccgbo_steps (
            token UUID PRIMARY KEY,
            kept BOOLEAN NOT NULL,
            at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
        )', trials.relnamespace::regnamespace);
        FOR who IN  -- may change trials, and so writes steps
            SELECT trials.relowner::regrole::text
            UNION
            SELECT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END
            FROM aclexplode(trials.relacl) WHERE privilege_type = 'UPDATE'
        LOOP
            EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON ccgbo_steps TO %s', who);
        END LOOP;
    END $$
"""  # see postgres_steps.py
UPGRADES = {  # by the version that they lead to
    2: (
        "ALTER TABLE ccgbo_studies ADD COLUMN metrics TEXT NOT NULL DEFAULT 'null'",
        "ALTER TABLE ccgbo_trials ADD COLUMN metrics TEXT NOT NULL DEFAULT '{}'",
        "UPDATE ccgbo_version SET version = 2",
    ),
    3: (STEPS, "UPDATE ccgbo_version SET version = 3"),
}
_DENIED = (psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction)


def prepare(connection: psycopg.Connection[dict[str, Any]], address: str, *, create: bool) -> str | None:
    """Tables of this version, made where there are none and ``create`` says so; older ones are brought up to date.

    Who may not do that reads older ones as they are, where that is possible, and the answer is why it cannot write.
    """
    with connection.transaction():
        if not _has_tables(connection):
            if not create:
                raise StudyNotFoundError(f"{address!r} has no study yet.")
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_CREATING,))
            if not _has_tables(connection):
                _make(connection, address)
        versions = _versions(connection)
        if len(versions) == 1 and OLDEST_VERSION <= versions[0] < SCHEMA_VERSION:
            try:
                with connection.transaction():
                    versions = _upgrade(connection)
            except _DENIED as error:
                why = (
                    f"{address!r} has tables of version {versions[0]}, and this user may not bring them up to date "
                    f"({said(error)}) Let their owner open it once with this ccgbo, for instance with ccgbo list."
                )
                if versions[0] < READABLE_VERSION:
                    raise StorageError(why) from error
                return f"cannot write: {why}"
    if versions == [SCHEMA_VERSION]:
        return None
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


def _make(connection: psycopg.Connection[dict[str, Any]], address: str) -> None:
    try:
        for statement in TABLES:
            connection.execute(statement)
    except _DENIED as error:
        raise StorageError(
            f"{address!r} has no study yet, and this user may not make the tables for one ({said(error)}) Let somebody "
            "who may open it once, for instance with ccgbo init, and grant SELECT, INSERT, UPDATE and DELETE on them."
        ) from error


def _upgrade(connection: psycopg.Connection[dict[str, Any]]) -> list[int]:
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_CREATING,))
    (version,) = _versions(connection)
    for later in range(version + 1, SCHEMA_VERSION + 1):
        for statement in UPGRADES[later]:
            connection.execute(statement)
    return _versions(connection)


def _versions(connection: psycopg.Connection[dict[str, Any]]) -> list[int]:
    return [row["version"] for row in connection.execute("SELECT version FROM ccgbo_version").fetchall()]


def _has_tables(connection: psycopg.Connection[dict[str, Any]]) -> bool:
    # to_regclass would remember, after the wait for somebody else's tables, that there were none
    query = "SELECT 1 FROM pg_catalog.pg_class WHERE relname = 'ccgbo_version' AND pg_catalog.pg_table_is_visible(oid)"
    return connection.execute(query).fetchone() is not None
