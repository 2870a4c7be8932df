"""Readers without the permission to write see the study as it is now."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

import ccgbo

SPACE = {"x": (0.0, 1.0)}


@pytest.fixture
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp())  # pytest's own folders are closed to other users
    path.chmod(0o755)
    yield path
    path.chmod(0o755)
    shutil.rmtree(path)


def read_on_demand(connection: Connection, path: str) -> None:
    """A reader that keeps one study open and answers what it sees, or its error."""
    if os.getuid() == 0:
        os.setuid(65534)  # root may write everywhere
    else:  # nobody else to be: this process believes that it may not write
        access = os.access
        os.access = lambda path, mode: mode != os.W_OK and access(path, mode)  # type: ignore[assignment,misc]
    study = None
    while connection.recv():
        try:
            study = study or ccgbo.Study(path)
            connection.send(len(study.trials))
        except ccgbo.StorageError as error:
            connection.send(str(error))


class Reader:
    """Another user's process."""

    def __init__(self, path: Path) -> None:
        context = get_context("forkserver")
        self._connection, there = context.Pipe()
        self._process = context.Process(target=read_on_demand, args=(there, str(path)))
        self._process.start()

    def sees(self) -> Any:
        self._connection.send(True)
        return self._connection.recv() if self._connection.poll(60) else "no answer"

    def close(self) -> None:
        self._connection.send(False)
        self._process.join()


@pytest.fixture
def path(folder: Path) -> Path:
    path = folder / "s.db"
    with ccgbo.Study(path, SPACE, seed=0) as study:
        study.tell({"x": 0.5}, 0.0)
    path.chmod(0o644)
    return path


@pytest.fixture
def reader(path: Path) -> Iterator[Reader]:
    reader = Reader(path)
    yield reader
    reader.close()


def test_a_reader_sees_a_study_that_grows_while_it_is_open_and_after(path: Path, reader: Reader) -> None:
    assert reader.sees() == 1
    told = 1
    for _ in range(3):
        with ccgbo.Study(path) as study:
            for _ in range(2):
                study.tell_many([{"x": 0.5}] * 100, [1.0] * 100)
                told += 100
                assert reader.sees() == told
        assert reader.sees() == told


def test_a_reader_that_comes_before_and_between_writers_sees_each_of_them(path: Path, reader: Reader) -> None:
    for told in range(1, 5):
        assert reader.sees() == told
        with ccgbo.Study(path) as study:
            study.tell({"x": 0.5}, 1.0)  # the file is closed again when the reader looks


def test_a_reader_leaves_no_file_that_would_keep_the_owner_out(path: Path, folder: Path) -> None:
    folder.chmod(0o777)
    reader = Reader(path)
    assert reader.sees() == 1
    assert list(folder.iterdir()) == [path]
    with ccgbo.Study(path) as study:
        study.tell({"x": 0.5}, 1.0)
        assert reader.sees() == 2
    reader.close()


def test_a_reader_is_told_that_the_newest_values_are_out_of_its_reach(path: Path, reader: Reader) -> None:
    with ccgbo.Study(path) as study:
        study.tell({"x": 0.5}, 1.0)
        for ending in ("-wal", "-shm"):
            Path(f"{path}{ending}").chmod(0o000)
        assert "the newest values of" in reader.sees()
        assert "cannot be read from here" in reader.sees()
    assert reader.sees() == 2


def test_a_file_that_may_not_be_read_says_so(path: Path, reader: Reader) -> None:
    path.chmod(0o000)
    assert reader.sees() == f"cannot read {str(path)!r}: permission denied."
