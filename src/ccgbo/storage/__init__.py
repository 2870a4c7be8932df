"""Studies in a store: an SQLite file (WAL) or a PostgreSQL database, with many studies in it.

base.py         what any store must do
rows.py         what is read and written: a study's definition, a trial with its times and its worker, an event
columns.py      what a column may hold
workers.py      who holds a trial, and whether that process still lives
address.py      where a database is, without its password
sqlite.py       studies by name in an SQLite file
sqlite_unit.py  the statements on one study
database.py     one connection, its transactions, forks
opening.py      to write, to read, as a copy
schema.py       tables and their version
location.py     paths, disks, and which file stands at a path
postgres.py     studies by name in a PostgreSQL database; beside it its unit, its schema, and its link to the server
"""

from __future__ import annotations

import os

from ccgbo.errors import MissingExtraError
from ccgbo.storage.address import Address, Place, place_at
from ccgbo.storage.base import Store, StudyInfo, Unit, View
from ccgbo.storage.rows import StudyRow, TrialRow
from ccgbo.storage.schema import SCHEMA_VERSION
from ccgbo.storage.sqlite import SQLiteStore

__all__ = [
    "SCHEMA_VERSION",
    "Address",
    "Place",
    "SQLiteStore",
    "Store",
    "StudyInfo",
    "StudyRow",
    "TrialRow",
    "Unit",
    "View",
    "delete_study",
    "list_studies",
    "open_store",
    "place_at",
]


def open_store(address: str | os.PathLike[str], *, create: bool = False) -> Store:
    """The store at an address: the path of an SQLite file, or ``postgresql://user@host/database``.

    The file, or the tables in the database, are made if they are missing and ``create`` says so.
    """
    place = place_at(address)
    if not isinstance(place, Address):
        return SQLiteStore(address, create=create)
    try:
        from ccgbo.storage.postgres import PostgresStore
    except ImportError:
        raise MissingExtraError("a study in PostgreSQL", "postgres") from None
    return PostgresStore(place, create=create)


def list_studies(path: str | os.PathLike[str]) -> list[StudyInfo]:
    """Every study of a file or a database, oldest first."""
    store = open_store(path)
    try:
        return store.infos()
    finally:
        store.close()


def delete_study(path: str | os.PathLike[str], name: str) -> None:
    """Remove a study and its trials from a file or a database."""
    store = open_store(path)
    try:
        store.delete(name)
    finally:
        store.close()
