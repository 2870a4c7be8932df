"""What strangers may read: messages without the folder that the study file lies in."""

from __future__ import annotations

from ccgbo.storage import Place


def without_folder(text: str, path: Place) -> str:
    """The file's name in place of its whole path, as it stands and as Python quotes it."""
    for written, name in ((repr(str(path))[1:-1], repr(path.name)[1:-1]), (str(path), path.name)):
        text = text.replace(written, name)
    return text
