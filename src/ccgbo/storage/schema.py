"""Tables of a study file, its version, and the way from older versions to this one.

``application_id`` marks the file as ours; ``user_version`` is the version of the tables. Reading never changes a file
that is not ours or that a newer ccgbo wrote.

    1   studies and trials
    2   several workers: revision numbers, claims and heartbeats; the seed and the preset's name
"""

from __future__ import annotations

import sqlite3

from ccgbo.errors import StorageError

APPLICATION_ID = 0x43434742  # "CCGB"
SCHEMA_VERSION = 2

# cursor: the optimizer's state beside the trials; withheld: what a file cannot hold and the user passes on opening
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
        cursor TEXT NOT NULL,
        created REAL NOT NULL,
        n_asked INTEGER NOT NULL DEFAULT 0,
        n_told INTEGER NOT NULL DEFAULT 0,
        revision INTEGER NOT NULL DEFAULT 0,
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
        asked REAL NOT NULL,
        told REAL,
        told_as INTEGER,
        revision INTEGER NOT NULL DEFAULT 0,
        queued INTEGER NOT NULL DEFAULT 0,
        worker TEXT,
        heartbeat REAL,
        PRIMARY KEY (study, id)
    ) WITHOUT ROWID
    """,
)
INDEXES = (
    "CREATE INDEX trials_by_revision ON trials (study, revision)",
    "CREATE INDEX trials_pending ON trials (study, id) WHERE state = 'pending'",
)
MIGRATIONS = {
    1: (
        "ALTER TABLE studies ADD COLUMN revision INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE studies ADD COLUMN seed TEXT NOT NULL DEFAULT 'null'",
        "ALTER TABLE studies ADD COLUMN preset TEXT",
        "ALTER TABLE trials ADD COLUMN revision INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE trials ADD COLUMN queued INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE trials ADD COLUMN worker TEXT",
        "ALTER TABLE trials ADD COLUMN heartbeat REAL",
        *INDEXES,
    ),
}


def version_of(connection: sqlite3.Connection, path: str) -> int:
    """The version of the tables, 0 for an empty file; refuses what is not ours or too new."""
    marked = connection.execute("PRAGMA application_id").fetchone()[0]
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if marked != APPLICATION_ID:
        if tables or marked or version:
            raise StorageError(f"{path!r} is an SQLite file of another program, not a study file.")
        return 0
    if version > SCHEMA_VERSION:
        raise StorageError(
            f"{path!r} was written by a newer ccgbo (file version {version}, this one reads up to {SCHEMA_VERSION}): "
            "upgrade with pip install -U ccgbo."
        )
    return version


def bring_up_to_date(connection: sqlite3.Connection, version: int) -> None:
    """Create the tables, or migrate them; runs inside a transaction of the caller."""
    if version == 0:
        for statement in (*TABLES, *INDEXES):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    else:
        for old in range(version, SCHEMA_VERSION):
            for statement in MIGRATIONS[old]:
                connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
