"""What went wrong with a study file, in plain words."""

from __future__ import annotations


def explain(path: str, name: str, text: str, committing: bool, waited: float) -> str:
    """SQLite's errors in plain words. A commit that the disk broke off may have reached it."""
    kept = (
        "whether this step was kept is not known: look before you repeat it"
        if committing
        else "nothing of this step was kept"
    )
    for prefix, words in (
        ("SQLITE_BUSY", f"another process has held {path!r} for more than {waited:.0f} s."),
        ("SQLITE_READONLY", f"cannot write {path!r}: the file or its folder is read-only."),
        ("SQLITE_CANTOPEN", f"cannot open {path!r}: the folder is missing or read-only."),
        ("SQLITE_FULL", f"cannot write {path!r}: the disk is full; nothing of this step was kept."),
        ("SQLITE_NOTADB", f"{path!r} is not a study file."),
        ("SQLITE_CORRUPT", f"{path!r} is damaged: restore it from a copy."),
        ("SQLITE_IOERR", f"cannot read or write {path!r}: {text}; {kept}."),
    ):
        if name.startswith(prefix):
            return words
    return f"{path!r}: {text}."


def gone(path: str, what: str, kept: str) -> str:
    """That the file is no longer the one that was opened, and what to do."""
    advice = (
        "Leave the files beside it that end in -wal and -shm alone while anybody uses it."
        if "journal" in what
        else "Before a copy is put in its place, end everything that uses it and delete the files beside it that end "
        "in -wal and -shm."
    )
    story = f"the study file {path!r} {what} while it was in use; {kept}."
    return f"{story} {advice} Open it again to go on with what is there."
