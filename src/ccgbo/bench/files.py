"""Text files that may be compressed: a name that ends in ``.gz`` is.

Lines are appended by one write each. A compressed file is then a sequence of gzip members, one for each write, which
any reader takes for one file. What a crash cut off at the end is left out.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterable
from pathlib import Path


def is_compressed(path: Path) -> bool:
    return path.suffix == ".gz"


def read_text(path: Path) -> str:
    """Everything up to where the file is cut."""
    data = path.read_bytes()
    if not is_compressed(path):
        return data.decode("utf-8")
    text = b""
    while data:
        member = zlib.decompressobj(wbits=31)
        try:
            text += member.decompress(data)
        except zlib.error:
            break
        data = member.unused_data
    return text.decode("utf-8", errors="ignore")


def append(path: Path, line: str) -> None:
    """One line in one write."""
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(fd, _encoded(path, line))
    finally:
        os.close(fd)


def replace(path: Path, lines: Iterable[str]) -> None:
    """The whole file anew, or the old one if this is interrupted."""
    draft = path.with_name(path.name + ".new")
    draft.write_bytes(_encoded(path, "".join(lines)))
    os.replace(draft, path)


def _encoded(path: Path, text: str) -> bytes:
    """The bytes of a text; without a time, so that equal texts give equal files."""
    data = text.encode()
    return gzip.compress(data, mtime=0) if is_compressed(path) else data
