"""Studies in a store: one SQLite database (WAL) with many studies in it.

base.py         what any store must do
rows.py         what is read and written: a study's definition, a trial with its times and its worker, an event
columns.py      what a column may hold
workers.py      who holds a trial, and whether that process still lives
sqlite.py       studies by name in an SQLite file
sqlite_unit.py  the statements on one study
database.py     one connection, its transactions, forks
opening.py      to write, to read, as a copy
schema.py       tables and their version
location.py     paths, disks, and which file stands at a path
"""

from __future__ import annotations

import os

from ccgbo.storage.base import Store, StudyInfo, Unit, View
from ccgbo.storage.rows import StudyRow, TrialRow
from ccgbo.storage.schema import SCHEMA_VERSION
from ccgbo.storage.sqlite import SQLiteStore

__all__ = [
    "SCHEMA_VERSION",
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
]


def open_store(address: str | os.PathLike[str], *, create: bool = False) -> Store:
    """The store at an address: today the path of an SQLite file, made if it is missing and ``create`` says so."""
    return SQLiteStore(address, create=create)


def list_studies(path: str | os.PathLike[str]) -> list[StudyInfo]:
    """Every study of a file, oldest first."""
    store = open_store(path)
    try:
        return store.infos()
    finally:
        store.close()


def delete_study(path: str | os.PathLike[str], name: str) -> None:
    """Remove a study and its trials from a file."""
    store = open_store(path)
    try:
        store.delete(name)
    finally:
        store.close()
