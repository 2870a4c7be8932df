"""Tables of a study file and their version.

``application_id`` marks the file as ours; ``user_version`` is the version of the tables. A file must have exactly these
tables and indexes: a view or a trigger in it would run somebody else's statements.

A new file is made as an old one is brought up to date, by the same statements: SQLite keeps their text, and both must
look alike.
"""

from __future__ import annotations

import sqlite3
from functools import cache

from ccgbo.errors import StorageError

APPLICATION_ID = 0x43434742  # "CCGB"
SCHEMA_VERSION = 5
OLDEST_VERSION = 4  # that is brought up to date on opening

# optimizer_state: what the trials do not say of it; withheld: what a file cannot hold and the user passes on opening;
# n_changes: of the space; events: what was changed by hand
TABLES = (
    """
    CREATE TABLE studies (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        direction TEXT NOT NULL,
        space TEXT NOT NULL,
        settings TEXT NOT NULL,
        prior TEXT NOT NULL,
        withheld TEXT NOT NULL,
        optimizer_state TEXT NOT NULL,
        created REAL NOT NULL,
        n_asked INTEGER NOT NULL DEFAULT 0,
        n_told INTEGER NOT NULL DEFAULT 0,
        revision INTEGER NOT NULL DEFAULT 0,
        n_changes INTEGER NOT NULL DEFAULT 0,
        seed TEXT NOT NULL DEFAULT 'null',
        preset TEXT
    )
    """,
    """
    CREATE TABLE trials (
        study INTEGER NOT NULL REFERENCES studies (id) ON DELETE CASCADE,
        id INTEGER NOT NULL,
        params TEXT NOT NULL,
        state TEXT NOT NULL,
        value REAL,
        noise_variance REAL,
        error TEXT,
        origin TEXT NOT NULL,
        explanation TEXT,
        dropped INTEGER NOT NULL DEFAULT 0,
        readings TEXT NOT NULL DEFAULT '[]',
        attributes TEXT NOT NULL DEFAULT '{}',
        asked_at REAL NOT NULL,
        told_at REAL,
        completion_order INTEGER,
        revision INTEGER NOT NULL DEFAULT 0,
        released INTEGER NOT NULL DEFAULT 0,
        attempts INTEGER NOT NULL DEFAULT 0,
        worker TEXT,
        heartbeat REAL,
        clock TEXT,
        PRIMARY KEY (study, id)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE events (
        study INTEGER NOT NULL REFERENCES studies (id) ON DELETE CASCADE,
        seq INTEGER NOT NULL,
        at REAL NOT NULL,
        who TEXT NOT NULL,
        action TEXT NOT NULL,
        trial INTEGER,
        before TEXT,
        after TEXT,
        note TEXT,
        PRIMARY KEY (study, seq)
    ) WITHOUT ROWID
    """,
)
INDEXES = (
    "CREATE INDEX trials_by_revision ON trials (study, revision)",
    "CREATE INDEX trials_pending ON trials (study, id) WHERE state = 'pending'",
)
UPGRADES = {  # by the version that they lead to
    5: (
        "ALTER TABLE studies ADD COLUMN metrics TEXT NOT NULL DEFAULT 'null'",
        "ALTER TABLE trials ADD COLUMN metrics TEXT NOT NULL DEFAULT '{}'",
    ),
}


def version_of(connection: sqlite3.Connection, path: str) -> int:
    """The version of the tables, 0 for an empty file; refuses what is not ours, too old, too new or tampered with."""
    marked = connection.execute("PRAGMA application_id").fetchone()[0]
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    things = _things(connection)
    if marked != APPLICATION_ID:
        if things or marked or version:
            raise StorageError(f"{path!r} is an SQLite file of another program, not a study file.")
        return 0
    if version > SCHEMA_VERSION:
        raise StorageError(
            f"{path!r} was written by a newer ccgbo (file version {version}, this one reads {SCHEMA_VERSION}): "
            "upgrade with pip install -U ccgbo."
        )
    if version < OLDEST_VERSION:
        raise StorageError(
            f"{path!r} was written by an older ccgbo (file version {version}, this one reads {SCHEMA_VERSION}): export "
            "its studies with the ccgbo that wrote it (ccgbo export FILE trials.json) and import them into a new file "
            "(ccgbo import). The file is left as it is."
        )
    expected = _expected(version)
    if things != expected:
        odd = sorted((f"{kind} {name}" for kind, name, _ in things ^ expected), reverse=True)  # views first
        raise StorageError(
            f"{path!r} has other tables, indexes, views or triggers than a study file: {', '.join(odd[:5])[:300]!r}. "
            "It was changed by another program and is not used."
        )
    return version


def create_tables(connection: sqlite3.Connection, version: int = SCHEMA_VERSION) -> None:
    """Make an empty file ours; runs inside a transaction of the caller."""
    for statement in (*TABLES, *INDEXES):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    upgrade_tables(connection, OLDEST_VERSION, version)


def upgrade_tables(connection: sqlite3.Connection, version: int, target: int = SCHEMA_VERSION) -> None:
    """Bring the tables of an older version up to date; runs inside a transaction of the caller."""
    for later in range(version + 1, target + 1):
        for statement in UPGRADES[later]:
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {target}")


def _things(connection: sqlite3.Connection) -> frozenset[tuple[str, str, str]]:
    """Everything a file has of its own; statistics of ANALYZE do no harm."""
    query = """
        SELECT type, name, coalesce(sql, '') FROM sqlite_master
        WHERE NOT (type = 'table' AND name IN ('sqlite_stat1', 'sqlite_stat4'))
    """
    return frozenset(connection.execute(query))


@cache
def _expected(version: int) -> frozenset[tuple[str, str, str]]:
    connection = sqlite3.connect(":memory:")
    try:
        create_tables(connection, version)
        return _things(connection)
    finally:
        connection.close()
