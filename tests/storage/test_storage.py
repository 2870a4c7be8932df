"""Study files: what happens to them when things go wrong."""

from __future__ import annotations

import contextlib
import itertools
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import ccgbo
from ccgbo.storage import SCHEMA_VERSION, delete_study
from ccgbo.storage.schema import create_tables
from ccgbo.storage.workers import is_alive, this_worker

SPACE = {"x": (0.0, 1.0), "n": (1, 9)}


def told_study(path: Path, n: int = 5, **options: Any) -> Path:
    with ccgbo.Study(path, SPACE, seed=0, **options) as study:
        for _ in range(n):
            trial = study.ask()
            study.tell(trial, trial.params["x"])
    return path


def raw(study: ccgbo.Study) -> sqlite3.Connection:
    """The connection behind a study."""
    link = study._store._database._link  # type: ignore[attr-defined]
    connection: sqlite3.Connection = link.connection
    return connection


# -- many studies in one file


def test_a_file_holds_many_studies_and_lists_them(tmp_path: Path) -> None:
    path = told_study(tmp_path / "s.db", name="up")
    told_study(path, 3, name="down", direction="minimize")
    with ccgbo.Study(path, name="down") as study:
        trial, best = study.ask(), study.best_trial
        study.tell(trial, failed=True)
        study.ask()
    up, down = ccgbo.list_studies(path)
    assert (up.name, up.direction, up.n_trials, up.n_complete) == ("up", "maximize", 5, 5)
    assert (down.name, down.n_trials, down.n_complete, down.n_failed, down.n_pending) == ("down", 5, 3, 1, 1)
    assert down.best_value == best.value
    assert abs(up.created - time.time()) < 600.0


def test_a_deleted_study_is_gone_and_the_others_stay(tmp_path: Path) -> None:
    path = told_study(told_study(tmp_path / "s.db", name="a"), name="b")
    delete_study(path, "a")
    assert [info.name for info in ccgbo.list_studies(path)] == ["b"]
    assert len(ccgbo.Study(path, name="b").trials) == 5
    with pytest.raises(ccgbo.StudyNotFoundError, match=r"has no study 'a'; it has \['b'\]"):
        delete_study(path, "a")


@pytest.mark.parametrize("again", [False, True], ids=["deleted", "deleted and made again"])
def test_a_handle_to_a_deleted_study_says_so_whatever_is_called(tmp_path: Path, again: bool) -> None:
    study = ccgbo.Study(told_study(tmp_path / "s.db"))
    trial = study.ask()
    source = study.source(20)
    delete_study(study.path, "default")
    if again:
        ccgbo.Study(study.path, {"y": (10.0, 20.0)}, seed=1).ask()
    for call in (
        study.ask,
        lambda: study.tell(trial, 1.0),
        lambda: study.tell(0, 1.0),
        lambda: study.tell({"x": 0.5, "n": 1}, 1.0),
        lambda: study.tell_many([{"x": 0.5, "n": 1}], [1.0]),
        lambda: study.trials,
        lambda: study.best_trial,
        study.records,
        study.recommend,
        study.credits,
        study.result,
        study.optimizer,
        study.release,
        lambda: study.release(0),
        lambda: study.run(lambda x, n: x + n, 20, progress=False),
        source.take,
        source.tally,
        source.more_to_come,
        lambda: source.tell(trial, 1.0),
        lambda: source.release(trial),
    ):
        with pytest.raises(ccgbo.StudyNotFoundError, match="was deleted"):
            call()
    if again:
        assert [t.params.keys() for t in ccgbo.Study(study.path).trials] == [{"y"}]


def test_a_transaction_is_on_disk_before_it_returns(tmp_path: Path) -> None:
    study = ccgbo.Study(tmp_path / "s.db", SPACE)
    connection = raw(study)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL


# -- files that are no study files


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ccgbo.StudyNotFoundError, match=r"there is no study file .*nowhere\.db"):
        ccgbo.Study(tmp_path / "nowhere.db")
    with pytest.raises(ccgbo.StorageError, match=r"folder .* does not exist"):
        ccgbo.Study(tmp_path / "nowhere" / "s.db", SPACE)
    with pytest.raises(ccgbo.StorageError, match="got the folder"):
        ccgbo.Study(tmp_path, SPACE)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("space", [None, SPACE], ids=["opening", "creating"])
def test_a_foreign_file_is_refused_and_unharmed(tmp_path: Path, space: Any) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("my precious notes\n" * 100)
    before = path.read_bytes()
    with pytest.raises(ccgbo.StorageError, match="is not a study file"):
        ccgbo.Study(path, space)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_database_of_another_program_is_refused_and_unharmed(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE trials (id INTEGER)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(ccgbo.StorageError, match="SQLite file of another program"):
        ccgbo.Study(path, SPACE)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_a_truncated_file_is_refused_and_unharmed(tmp_path: Path, share: float) -> None:
    path = told_study(tmp_path / "s.db", 40)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    before = path.read_bytes()
    with pytest.raises(ccgbo.StorageError, match="is damaged"):
        ccgbo.Study(path)
    assert path.read_bytes() == before


def test_wrong_arguments_leave_no_file_behind(tmp_path: Path) -> None:
    with pytest.raises(ccgbo.SettingError, match="preset must be one of"):
        ccgbo.Study(tmp_path / "s.db", SPACE, preset="nope")
    assert list(tmp_path.iterdir()) == []


# -- versions


def test_a_newer_file_is_refused_and_unharmed(tmp_path: Path) -> None:
    path = told_study(tmp_path / "s.db")
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(ccgbo.StorageError, match=rf"newer ccgbo \(file version {SCHEMA_VERSION + 1}.*upgrade"):
        ccgbo.Study(path)
    assert path.read_bytes() == before


def test_an_older_file_is_refused_unharmed_and_the_way_out_is_named(tmp_path: Path) -> None:
    path = told_study(tmp_path / "s.db")
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 2")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(ccgbo.StorageError, match=r"older ccgbo \(file version 2.*\(ccgbo export .*\(ccgbo import\)"):
        ccgbo.Study(path)
    assert path.read_bytes() == before


# -- disks


def as_nobody(connection: Any, path: str) -> None:
    """Try everything on a study in a folder that may only be read."""
    if os.getuid() == 0:
        os.setuid(65534)  # root may write everywhere
    answers = {}
    for name, action in (
        ("read", lambda: len(ccgbo.Study(path).trials)),
        ("list", lambda: ccgbo.list_studies(path)[0].n_complete),
        ("tell", lambda: ccgbo.Study(path).tell({"x": 0.5, "n": 1}, 1.0)),
        ("ask", lambda: ccgbo.Study(path).ask()),
        ("create", lambda: ccgbo.Study(f"{path}.new", SPACE)),
    ):
        try:
            answers[name] = action()
        except ccgbo.StorageError as error:
            answers[name] = str(error)
    connection.send(answers)


def test_a_read_only_folder_can_be_looked_at_and_writing_is_refused() -> None:
    folder = Path(tempfile.mkdtemp())  # pytest's own folders are closed to other users
    try:
        path = told_study(folder / "s.db")
        path.chmod(0o444)
        folder.chmod(0o555)
        before = path.read_bytes()
        context = get_context("forkserver")
        here, there = context.Pipe()
        process = context.Process(target=as_nobody, args=(there, str(path)))
        process.start()
        answers = here.recv() if here.poll(60) else {}
        process.join()
        assert answers["read"] == answers["list"] == 5
        for name in ("tell", "ask"):
            assert answers[name] == f"cannot write {str(path)!r}: the file or its folder is read-only."
        assert answers["create"] == f"cannot open '{path}.new': the folder is missing or read-only."
        assert path.read_bytes() == before
        assert list(folder.iterdir()) == [path]
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def tell_forever(study: ccgbo.Study) -> None:
    for i in itertools.count():
        study.tell({"x": 0.5, "n": 1}, float(i))


def tell_until_full(connection: Any, path: str) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
    study = ccgbo.Study(path)
    try:
        tell_forever(study)
    except ccgbo.StorageError as error:
        connection.send((len(study.trials), str(error)))


def test_a_full_disk_is_reported_and_every_told_value_is_kept(tmp_path: Path) -> None:
    path = told_study(tmp_path / "s.db", 0)
    context = get_context("forkserver")
    here, there = context.Pipe()
    process = context.Process(target=tell_until_full, args=(there, str(path)))
    process.start()
    told, message = here.recv() if here.poll(60) else (0, "")
    process.join()
    assert told > 10
    assert message.startswith(f"cannot read or write {str(path)!r}") or "disk is full" in message
    with ccgbo.Study(path) as study:
        assert [t.value for t in study.trials] == [float(i) for i in range(told)]
        study.tell({"x": 0.5, "n": 1}, -1.0)  # there is room again
        assert study.trials[-1].value == -1.0
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_a_page_limit_stops_an_ask_and_the_next_one_is_the_same(tmp_path: Path) -> None:
    study = ccgbo.Study(told_study(tmp_path / "s.db", 12))
    connection = raw(study)
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    full = "the disk is full; nothing of this step was kept"
    with pytest.raises(ccgbo.StorageError, match=full):
        tell_forever(study)
    assert [t.value for t in study.trials[12:]] == [float(i) for i in range(len(study.trials) - 12)]
    expected = study.optimizer().ask()
    with pytest.raises(ccgbo.StorageError, match=full):
        study.ask()
    connection.execute("PRAGMA max_page_count = 1000000")
    assert study.ask().params == expected.params


# -- waiting for others


def test_a_tell_waits_for_a_writer_instead_of_failing(tmp_path: Path) -> None:
    path = told_study(tmp_path / "s.db")
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.4, lambda: other.execute("COMMIT"))
    start = time.monotonic()
    release.start()
    with ccgbo.Study(path) as study:
        study.tell({"x": 0.1, "n": 2}, 7.0)
        waited = time.monotonic() - start
        assert study.trials[-1].value == 7.0
    release.join()
    other.close()
    assert waited >= 0.3


def test_readers_do_not_wait_for_a_writer(tmp_path: Path) -> None:
    path = told_study(tmp_path / "s.db")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert len(ccgbo.Study(path).trials) == 5
    other.execute("ROLLBACK")
    other.close()


def test_a_closed_study_refuses_to_work(tmp_path: Path) -> None:
    study = ccgbo.Study(told_study(tmp_path / "s.db"))
    study.close()
    study.close()
    with pytest.raises(ccgbo.StorageError, match="was closed"):
        study.ask()


# -- who is alive


def test_a_worker_is_dead_only_when_its_process_certainly_is() -> None:
    linux = sys.platform == "linux"
    assert is_alive(this_worker()) == (True if linux else None)
    assert is_alive("another-machine/1/boot/pid:[1]/123/456") is None
    assert is_alive("nonsense") is None
    code = "from ccgbo.storage.workers import this_worker; print(this_worker())"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert ended.rsplit("/", 2)[0] == this_worker().rsplit("/", 2)[0]
    assert is_alive(ended) == (False if linux else None)
    place, _, start = this_worker().rsplit("/", 2)
    assert is_alive(f"{place}/{os.getpid()}/{int(start) - 1}") == (False if linux else None)  # the id was used again


def test_opening_while_another_process_creates_the_file_sees_all_of_it_or_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, connect = tmp_path / "tune.db", sqlite3.connect
    raced: list[Any] = []

    class Racing(sqlite3.Connection):
        """Somebody else creates the tables right after this connection has looked at the mark of an empty file."""

        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            if sql != "PRAGMA application_id" or raced:
                return super().execute(sql, *values)
            mark = super().execute(sql).fetchone()
            raced.append(mark)
            other = connect(path, timeout=0, isolation_level=None)
            with (
                contextlib.closing(other),
                contextlib.suppress(sqlite3.OperationalError),
            ):  # busy: the view is protected
                other.execute("BEGIN IMMEDIATE")
                create_tables(other)
                other.execute("COMMIT")
            return super().execute("SELECT ?", mark)

    monkeypatch.setattr(sqlite3, "connect", lambda *a, **kw: connect(*a, **{"factory": Racing, **kw}))
    with ccgbo.Study(path, {"x": (0.0, 1.0)}, seed=0) as study:
        study.tell(study.ask(), 1.0)
    assert raced == [(0,)]
