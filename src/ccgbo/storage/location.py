"""Where a study file lies: what a path must be, which file stands there now, and whether the disk is shared.

Nothing here opens the file. POSIX locks belong to the process, and closing any descriptor of a file drops every lock
that the process holds on it: a mere look at the first bytes would take SQLite's locks away and let another process
delete the journal in use. ``stat`` needs no descriptor; what is no database, SQLite says itself.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from ccgbo.errors import StorageError, StudyNotFoundError

ANYWAY = "CCGBO_ALLOW_NETWORK_DISK"

# file systems between machines: SQLite's WAL keeps its index in memory that all processes must share
NETWORK = re.compile(
    r"9p|acfs|afs|beegfs|ceph|cifs|coda|davfs|gpfs|glusterfs|lustre|ncpfs|nfs\d?|orangefs|panfs|pvfs2|smb\d?|smbfs|vboxsf"
    r"|fuse\.(ceph|ceph-fuse|davfs2|glusterfs|juicefs|mfs|nfs|rclone|s3fs|smbnetfs|sshfs|vmhgfs-fuse)"
)


def check_path(path: Path, *, create: bool) -> None:
    """Refuses what cannot be a study file, before anything is created."""
    text = str(path)
    if text == ".":  # what an empty text becomes
        raise StorageError("path must be the name of a file, got an empty one.")
    if "\0" in text:
        raise StorageError(f"path must not contain a NUL character, got {text!r}.")
    try:
        is_folder, exists, has_folder = path.is_dir(), path.exists(), path.parent.is_dir()
    except OSError as error:
        raise StorageError(f"cannot open {_short(text)}: {error.strerror}.") from None
    except ValueError as error:  # a text that no file system takes
        raise StorageError(f"cannot open {_short(text)}: {error}.") from None
    if is_folder:
        raise StorageError(f"path must be a file, got the folder {text!r}.")
    if not exists and not create:
        raise StudyNotFoundError(f"there is no study file {text!r}.")
    if exists and not os.access(path, os.R_OK):
        raise StorageError(f"cannot read {text!r}: permission denied.")
    if not has_folder:
        raise StorageError(f"cannot create {text!r}: the folder {str(path.parent)!r} does not exist.")
    check_disk(path)


def _short(text: str) -> str:
    return repr(text if len(text) <= 200 else text[:200] + "...")


# -- disks


def check_disk(path: Path) -> None:
    """Refuses a disk between machines, where it can be known."""
    if os.environ.get(ANYWAY) == "1":
        return
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return  # not Linux: nobody here can tell
    kind = disk_type(mounts, os.path.realpath(path.absolute().parent))
    if kind is not None and NETWORK.fullmatch(kind):
        raise StorageError(
            f"{str(path)!r} lies on a network disk ({kind}), where SQLite's locks and shared memory do not work and "
            "values would be lost: use a local disk, or a PostgreSQL database for several machines "
            f"(see docs/cluster.md). {ANYWAY}=1 opens it anyway: only for a disk that reports "
            "a network type and is used by this machine alone."
        )


def disk_type(mountinfo: str, folder: str) -> str | None:
    """The file system type of the mount that holds ``folder``, from the text of ``/proc/self/mountinfo``."""
    best, kind = "", None
    for line in mountinfo.splitlines():
        before, separator, after = line.partition(" - ")
        fields, rest = before.split(" "), after.split(" ")
        if not separator or len(fields) < 5:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), fields[4])  # a space is written \040
        inside = folder == point or folder.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):  # of several mounts on one folder the last one counts
            best, kind = point, rest[0]
    return kind


# -- which file it is


@dataclass(frozen=True, slots=True)
class Identity:
    """The file behind a path, the journal beside it and its index, by device and inode, and how large the file was."""

    file: tuple[int, int]
    journal: tuple[int, int] | None
    index: tuple[int, int] | None
    size: int

    @classmethod
    def of(cls, path: Path) -> Identity | None:
        """None where there is no file."""
        try:
            file = os.stat(path)
        except OSError:
            return None
        return cls((file.st_dev, file.st_ino), _inode(f"{path}-wal"), _inode(f"{path}-shm"), file.st_size)

    def difference(self, now: Identity | None) -> str | None:
        """What happened to the file since, in words; None where it is still the one that was opened.

        An open file keeps its inode, so the numbers cannot come back for another one. The journal and its index are
        there as long as anybody has the study open; a file that SQLite uses never shrinks by itself.
        """
        if now is None:
            return "was deleted or moved away"
        if now.file != self.file:
            return "was replaced by another file"
        if now.size < self.size:
            return "was truncated or overwritten"
        if (now.journal, now.index) != (self.journal, self.index):
            return "lost its journal"
        return None


def _inode(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
