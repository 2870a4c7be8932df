"""Files and databases that were written before metrics had names: they open, and nothing in them is lost."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

import ccgbo
from ccgbo import AtMost, Study
from ccgbo.storage import list_studies
from ccgbo.storage.opening import open_snapshot
from ccgbo.storage.postgres_schema import TABLES

from .test_readers import Reader

OLD = Path(__file__).resolve().parents[1] / "data" / "study_version_4.sqlite"  # with two studies, by version 4
NEXT = {"x": 0.6453732699133814, "kind": "a"}  # what the version that wrote it would have suggested next


@pytest.fixture
def path(tmp_path: Path) -> Path:
    shutil.copy(OLD, tmp_path / "old.db")
    return tmp_path / "old.db"


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def test_an_old_file_opens_has_all_that_was_told_and_suggests_what_it_would_have(path: Path) -> None:
    assert version(path) == 4
    with Study(path, name="plain", direction="minimize") as study:
        assert study.metrics.plain
        assert [t.state for t in study.trials].count("complete") == 6
        assert study.trials[4].readings == (0.5, 0.75)
        assert study.trials[5].noise_variance == 0.25
        assert [e.action for e in study.log()] == ["drop", "amend"]
        assert study.ask().params == NEXT
    assert version(path) == 5
    assert [(i.name, i.best_value, i.metrics) for i in list_studies(path)] == [
        ("plain", 0.06434299515168065, None),
        ("other", 2.0, None),
    ]


def test_an_old_study_takes_names_and_constraints(path: Path) -> None:
    with Study(path, name="plain") as study:
        study.change_metrics(objective="loss", outcome_constraints={"t": AtMost(1.0)})
        study.amend(4, {"t": 0.5})
        assert study.best_trial.values == {"loss": 0.625, "t": 0.5}


def test_an_old_file_that_may_only_be_read_is_read_as_it_is(path: Path) -> None:
    copy, _ = open_snapshot(path, str(path))
    assert copy.execute("SELECT metrics FROM studies").fetchall() == [("null",), ("null",)]
    copy.close()
    assert version(path) == 4


def test_an_old_file_that_its_owner_has_open_is_read_beside_it(path: Path) -> None:
    for folder in path.parents:  # pytest's own folders are closed to other users
        if folder.name.startswith(("pytest-", "popen-", "test_")):
            folder.chmod(0o755)
    path.chmod(0o644)
    with closing(sqlite3.connect(path)) as owner:  # as a process of the older version has it
        owner.execute("DELETE FROM studies WHERE name = 'other'")
        owner.commit()
        for beside in path.parent.glob("old.db-*"):
            beside.chmod(0o644)
        reader = Reader(path)
        try:
            assert reader.sees() == 8
        finally:
            reader.close()
        assert version(path) == 4


def test_a_file_of_a_new_and_of_an_upgraded_version_have_the_same_tables(path: Path, tmp_path: Path) -> None:
    def tables(file: Path) -> set[tuple[str, str]]:
        with closing(sqlite3.connect(file)) as connection:
            return set(connection.execute("SELECT name, sql FROM sqlite_master"))

    Study(path, name="plain").close()
    Study(tmp_path / "new.db", {"x": (0.0, 1.0)}).close()
    assert tables(path) == tables(tmp_path / "new.db")


@pytest.mark.heavy
def test_tables_of_an_older_database_are_brought_up_to_date(database: str, tmp_path: Path) -> None:
    def made(path: Path | str) -> Study:
        study = Study(path, {"x": (0.0, 1.0)}, seed=1)
        for _ in range(3):
            study.tell(study.ask(), 1.0)
        return study

    made(database).close()
    with psycopg.connect(database, autocommit=True) as connection:  # as the first version of the tables had it
        assert all("metrics" not in statement for statement in TABLES)
        connection.execute("DROP TABLE ccgbo_steps")
        for table in ("ccgbo_studies", "ccgbo_trials"):
            connection.execute(f"ALTER TABLE {table} DROP COLUMN metrics")
        connection.execute("UPDATE ccgbo_version SET version = 1")
    with Study(database) as study, made(tmp_path / "s.db") as same:
        assert study.trials == same.trials
        assert study.ask() == same.ask()
        study.change_metrics(objective="yield", outcome_constraints={"ph": AtMost(7.0)})
        study.amend(0, {"ph": 6.0})
        assert study.best_trial.id == 0
    assert [info.best_value for info in ccgbo.list_studies(database)] == [1.0]
