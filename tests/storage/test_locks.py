"""One file, several handles: what is told stays told, whoever opens, closes, forks, deletes or replaces the file."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

import ccgbo
from ccgbo.storage.location import disk_type

SPACE = {"x": (0.0, 1.0)}


def tell(study: ccgbo.Study, *values: float) -> None:
    for value in values:
        study.tell({"x": 0.5}, value)


def values(path: Path) -> list[float | None]:
    with ccgbo.Study(path) as study:
        return [trial.value for trial in study.trials]


def elsewhere(path: Path, code: str) -> str:
    """What another process prints, with ``path`` at hand."""
    text = f"import sys, ccgbo; path = sys.argv[1]\n{code}"
    return subprocess.run([sys.executable, "-c", text, str(path)], capture_output=True, text=True, check=True).stdout


def in_a_new_process(work: Callable[..., None], *args: Any) -> Any:
    """What ``work(connection, *args)`` sends from a process that has no threads, so that it may fork."""
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=work, args=(there, *args))
    process.start()
    answer = here.recv() if here.poll(60) else None
    process.join()
    return answer


# -- several handles of one process


def look_again(path: Path) -> None:
    ccgbo.Study(path).close()


def look_with_a_space(path: Path) -> None:
    ccgbo.Study(path, SPACE).close()


def look_at_what_is_no_study(path: Path) -> None:
    with pytest.raises(ccgbo.StorageError):
        ccgbo.Study(path, name="nobody")


LOOKS = [ccgbo.list_studies, look_again, look_with_a_space, look_at_what_is_no_study]


def look_tell_and_die(connection: Connection, path: Path, look: Callable[[Path], Any]) -> None:
    study = ccgbo.Study(path, SPACE, seed=0)
    tell(study, 0.0)
    look(path)
    elsewhere(path, "ccgbo.list_studies(path)")  # once deleted the journal that was in use
    tell(study, 1.0, 2.0, 3.0)
    connection.send("told")
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look.__name__)
def test_values_survive_a_kill_after_a_second_look_at_the_file(tmp_path: Path, look: Callable[[Path], Any]) -> None:
    assert in_a_new_process(look_tell_and_die, tmp_path / "s.db", look) == "told"
    assert values(tmp_path / "s.db") == [0.0, 1.0, 2.0, 3.0]


def test_no_descriptor_of_ours_is_closed_while_a_study_is_open(tmp_path: Path) -> None:
    code = """
        import os
        opened, closed, close = [], [], os.close
        sys.addaudithook(lambda event, args: event == "open" and str(args[0]).startswith(path) and opened.append(args))
        os.close = lambda fd: (closed.append(os.path.realpath(f"/proc/self/fd/{fd}")), close(fd))
        study = ccgbo.Study(path, {"x": (0.0, 1.0)}, seed=0)
        study.tell(study.ask(), 1.0)
        ccgbo.list_studies(path), ccgbo.Study(path).recommend(), study.optimizer(), study.to_dataframe()
        study.run(lambda x: x, 3, progress=False)
        print([mode for _, mode, _ in opened if mode is not None])  # by open(); os.open() has no mode
        print([name for name in closed if name.startswith(path)])
    """
    assert elsewhere(tmp_path / "s.db", textwrap.dedent(code)) == "[]\n[]\n"


# -- the user's own code opens and closes the file, which takes SQLite's locks away


def copy_the_file(path: Path) -> None:
    shutil.copy(path, path.with_suffix(".copy"))


def copy_the_folder(path: Path) -> None:
    shutil.copytree(path.parent, path.parent / "copy", dirs_exist_ok=True)


def copy_tell_and_die(connection: Connection, path: Path, copy: Callable[[Path], Any]) -> None:
    study, other = ccgbo.Study(path, SPACE, seed=0), ccgbo.Study(path)
    tell(study, 0.0)
    for i in range(1, 3):
        copy(path)
        elsewhere(path, f"ccgbo.Study(path).tell({{'x': 0.25}}, {i}.5)")  # ends as the only process with a lock
        tell(study, float(i))
    other.close()
    elsewhere(path, "ccgbo.list_studies(path)")
    tell(study, 3.0)
    connection.send("told")
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("copy", [copy_the_file, copy_the_folder], ids=lambda copy: copy.__name__)
def test_values_survive_a_copy_made_by_the_process_that_has_the_study_open(
    tmp_path: Path, copy: Callable[[Path], Any]
) -> None:
    (tmp_path / "folder").mkdir()
    path = tmp_path / "folder" / "s.db"
    assert in_a_new_process(copy_tell_and_die, path, copy) == "told"
    assert values(path) == [0.0, 1.5, 1.0, 2.5, 2.0, 3.0]


WITHOUT_TURNS = (
    "import ccgbo.storage.turns as turns; turns.Turns.wait = lambda *_: None\n"  # as somebody else's program
)


def test_a_step_whose_lock_is_taken_away_by_a_copy_is_done_again(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    path = tmp_path / "folder" / "s.db"
    times: list[str] = []

    def copy_and_let_another_write(_: object) -> None:
        times.append("once more")
        if len(times) == 1:
            copy_the_folder(path)
            elsewhere(path, WITHOUT_TURNS + "ccgbo.Study(path).tell({'x': 0.5}, 1.0)")

    with ccgbo.Study(path, SPACE, seed=0) as study:
        tell(study, 0.0)
        study._write(copy_and_let_another_write)
        tell(study, 2.0)
    assert len(times) == (2 if sys.platform == "linux" else 1)
    assert values(path) == [0.0, 1.0, 2.0]


def test_the_last_to_close_leaves_one_file_and_no_descriptor(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for _ in range(3):
        with ccgbo.Study(path, SPACE, seed=0) as one, ccgbo.Study(path) as other:
            tell(one, 1.0)
            tell(other, 2.0)
        assert [p.name for p in tmp_path.iterdir()] == ["s.db"]
    with pytest.raises(ccgbo.StorageError):
        ccgbo.Study(path, name="nobody")
    after = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert after == before


# -- forks


def fork_and_end(connection: Connection, path: Path, gate: Path) -> None:
    study = ccgbo.Study(path, SPACE, seed=0)
    tell(study, 0.0)
    if os.fork() > 0:
        study.close()
        os._exit(0)
    tell(study, 1.0)
    connection.send(os.getpid())
    while not gate.exists():
        time.sleep(0.01)
    tell(study, 2.0, 3.0)
    gate.rename(gate.with_suffix(".passed"))
    time.sleep(60)


def test_a_forked_child_has_locks_of_its_own(tmp_path: Path) -> None:
    path, gate = tmp_path / "s.db", tmp_path / "gate"
    child = in_a_new_process(fork_and_end, path, gate)
    assert elsewhere(path, "print(len(ccgbo.Study(path).trials))") == "2\n"  # ends as the only other process
    gate.touch()
    deadline = time.monotonic() + 60
    while gate.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    assert values(path) == [0.0, 1.0, 2.0, 3.0]


def in_a_fork(work: Callable[[], Any]) -> int:
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def fork_and_take_turns(connection: Connection, path: Path) -> None:
    study = ccgbo.Study(path, SPACE, seed=0)
    tell(study, 0.0)
    status = []
    for i in range(1, 4):
        status.append(in_a_fork(partial(tell, study, float(i))))
        tell(study, i + 0.5)
    status.append(in_a_fork(study.close))  # only the child's
    tell(study, 4.0)
    seen = elsewhere(path, "print(len(ccgbo.Study(path).trials))")
    connection.send((status, [t.value for t in study.trials], seen))


def test_parent_and_children_take_turns_on_a_study_opened_before_the_fork(tmp_path: Path) -> None:
    status, told, seen = in_a_new_process(fork_and_take_turns, tmp_path / "s.db")
    assert status == [0, 0, 0, 0]
    assert told == [0.0, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0]
    assert seen == "8\n"


# -- files that are deleted, moved, replaced or overwritten while in use


def deleted(path: Path) -> str:
    path.unlink()
    return "was deleted or moved away"


def all_deleted(path: Path) -> str:
    for ending in ("", "-wal", "-shm"):
        Path(f"{path}{ending}").unlink()
    return "was deleted or moved away"


def moved(path: Path) -> str:
    path.rename(path.with_suffix(".moved"))
    return "was deleted or moved away"


def made_again(path: Path) -> str:
    all_deleted(path)
    with ccgbo.Study(path, SPACE, seed=1) as study:
        tell(study, 99.0)
    return "was replaced by another file"


def replaced(path: Path) -> str:
    shutil.copy(path, path.with_suffix(".copy"))
    path.with_suffix(".copy").rename(path)
    return "was replaced by another file"


def truncated(path: Path) -> str:
    os.truncate(path, 0)
    return "was truncated or overwritten"


def journal_deleted(path: Path) -> str:
    Path(f"{path}-wal").unlink()
    return "lost its journal"


def index_deleted(path: Path) -> str:
    Path(f"{path}-shm").unlink()
    return "lost its journal"


ACCIDENTS = [deleted, all_deleted, moved, made_again, replaced, truncated, journal_deleted, index_deleted]


@pytest.mark.parametrize("accident", ACCIDENTS, ids=lambda a: a.__name__)
def test_a_file_that_is_gone_stops_every_call_and_nothing_more_is_written(
    tmp_path: Path, accident: Callable[[Path], str]
) -> None:
    path = tmp_path / "s.db"
    study = ccgbo.Study(path, SPACE, seed=0)
    trial = study.ask()
    tell(study, 1.0)
    what = accident(path)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir() if not p.name.endswith("-shm")}
    for call in (
        lambda: study.tell(trial, 2.0),
        study.ask,
        lambda: study.trials,
        study.recommend,
        lambda: study.run(lambda x: x, 5, progress=False),
    ):
        with pytest.raises(ccgbo.StorageError, match=rf"{what} while it was in use; nothing of this step was kept"):
            call()
    study.close()
    if accident is journal_deleted:  # nobody else was there: what the journal held is rescued
        assert values(path) == [None, 1.0]
        return
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir() if not p.name.endswith("-shm")} == before
    if accident is made_again:
        assert values(path) == [99.0]


def test_the_values_of_others_survive_a_handle_whose_index_was_deleted(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    study = ccgbo.Study(path, SPACE, seed=0)
    tell(study, 0.0)
    index_deleted(path)
    elsewhere(path, "for i in range(1, 9): ccgbo.Study(path).tell({'x': 0.5}, float(i))")
    with pytest.raises(ccgbo.StorageError, match="lost its journal"):
        tell(study, 9.0)
    study.close()
    assert elsewhere(path, "print([t.value for t in ccgbo.Study(path).trials])") == f"{[float(i) for i in range(9)]}\n"


def test_a_study_opened_again_shares_nothing_with_a_handle_that_lost_its_journal(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    one, other = ccgbo.Study(path, SPACE, seed=0), ccgbo.Study(path)
    tell(one, 0.0)
    for ending in ("-wal", "-shm"):
        Path(f"{path}{ending}").unlink()
    with pytest.raises(ccgbo.StorageError, match="lost its journal"):
        tell(one, 1.0)
    with ccgbo.Study(path) as again:
        tell(again, 2.0)
        assert elsewhere(path, "s = ccgbo.Study(path); s.tell({'x': 0.5}, 3.0); print(len(s.trials))") == "3\n"
        tell(again, 4.0)
        with pytest.raises(ccgbo.StorageError, match="lost its journal"):
            tell(other, 5.0)
    assert values(path) == [0.0, 2.0, 3.0, 4.0]


def test_a_run_whose_file_is_deleted_half_way_raises_instead_of_ending_well(tmp_path: Path) -> None:
    path = tmp_path / "s.db"

    def f(x: float) -> float:
        if len(seen) == 3:
            path.unlink()
        seen.append(x)
        return x

    seen: list[float] = []
    with (
        ccgbo.Study(path, SPACE, seed=0) as study,
        pytest.raises(ccgbo.StorageError, match="was deleted or moved away while it was in use"),
    ):
        study.run(f, 10, progress=False)
    assert len(seen) == 4


def test_a_file_overwritten_under_a_process_is_not_opened_there_again(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    study = ccgbo.Study(path, SPACE, seed=0)
    tell(study, 1.0)
    truncated(path)
    with pytest.raises(ccgbo.StorageError, match="truncated"):
        tell(study, 2.0)
    with pytest.raises(ccgbo.StorageError, match="start the process again"):
        ccgbo.Study(path)


def test_an_open_study_follows_neither_the_current_folder_nor_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "a")
    with ccgbo.Study("s.db", SPACE, seed=0) as study:
        monkeypatch.chdir(tmp_path / "b")
        tell(study, 1.0)
    (tmp_path / "link.db").symlink_to(tmp_path / "a" / "s.db")
    with ccgbo.Study(tmp_path / "link.db") as one, ccgbo.Study(tmp_path / "a" / "s.db") as other:
        tell(one, 2.0)
        tell(other, 3.0)
        assert [t.value for t in one.trials] == [1.0, 2.0, 3.0]


# -- network disks


MOUNTS = r"""
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 27 0:30 / /srv rw,relatime shared:1 - nfs4 server:/srv rw,vers=4.2
31 30 0:31 / /srv/ann/scratch rw - xfs /dev/sdb1 rw
32 27 0:32 / /my\040share rw,nosuid master:3 - cifs //nas/x rw
33 27 0:33 / /remote rw - fuse.sshfs ann@host: rw
34 27 0:34 / /over rw - ext4 /dev/vdc rw
35 27 0:35 / /over rw - lustre mds:/fs rw
36 27 0:36 / /odd
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/", "ext4"),
        ("/tmp/x", "ext4"),
        ("/srvother", "ext4"),
        ("/srv", "nfs4"),
        ("/srv/ann", "nfs4"),
        ("/srv/ann/scratch/deep", "xfs"),
        ("/my share/y", "cifs"),
        ("/remote", "fuse.sshfs"),
        ("/over/z", "lustre"),
        ("/odd", "ext4"),
    ],
)
def test_the_disk_of_a_folder_is_that_of_the_innermost_mount(folder: str, kind: str) -> None:
    assert disk_type(MOUNTS, folder) == kind


def test_a_network_disk_is_refused_before_anything_is_created(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = f"27 1 254:0 / / rw - ext4 /dev/vda rw\n30 27 0:30 / {tmp_path} rw - nfs4 server:/ rw\n"
    read = Path.read_text
    monkeypatch.setattr(
        Path, "read_text", lambda self, **kw: mounts if str(self) == "/proc/self/mountinfo" else read(self, **kw)
    )
    with pytest.raises(ccgbo.StorageError, match=r"network disk \(nfs4\).*local disk, .*PostgreSQL"):
        ccgbo.Study(tmp_path / "s.db", SPACE)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("CCGBO_ALLOW_NETWORK_DISK", "1")
    ccgbo.Study(tmp_path / "s.db", SPACE).close()
