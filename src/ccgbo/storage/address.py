"""The address of a database, which opens it and never shows its password.

An ``Address`` is a path to everything that opens it (``os.fspath``) and a text without secrets to everybody who reads
it (``str``, ``repr``, an f-string, a log, a page).
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote

from ccgbo.errors import StorageError

SCHEMES = ("postgresql://", "postgres://")
# as strict as an address needs: what is left open could be a part of a password
_CLEAN = r"[\w.~!$&'()*+,;=%-]*"
_WHO = rf"(?:({_CLEAN})(?::{_CLEAN})?@)?"
_HOST = r"(?:\[[\w:.%]*\]|[\w.%~-]*)(?::\d*)?"
_QUERY = r"[\w%.-]+=[^#@&]*"
_PARTS = re.compile(
    rf"(postgres(?:ql)?://){_WHO}({_HOST}(?:,{_HOST})*)(/[^?#@:]*)?(?:\?({_QUERY}(?:&{_QUERY})*))?",
    re.ASCII | re.IGNORECASE,
)
_SECRET = re.compile(r"passw|secret", re.IGNORECASE)  # password, sslpassword, oauth_client_secret


class Address(os.PathLike[str]):
    """Where a database is: ``postgresql://user@host:5432/db``."""

    __slots__ = ("_full",)

    def __init__(self, full: str) -> None:
        self._full = full

    def __fspath__(self) -> str:
        return self._full

    def __str__(self) -> str:
        return without_secrets(self._full)

    def __repr__(self) -> str:
        return f"Address({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Address) and other._full == self._full

    def __hash__(self) -> int:
        return hash(self._full)

    @property
    def name(self) -> str:
        """What stands for a file's name."""
        return str(self)


Place = Path | Address


def place_at(given: str | os.PathLike[str]) -> Place:
    """The file or the database that a text means."""
    text = os.fspath(given)
    if isinstance(text, str) and text.lower().startswith(SCHEMES):
        return Address(text)
    if isinstance(text, str) and re.match(r"postgres(ql)?:/", text):
        raise StorageError(
            "path must be a text where it is the address of a database: a Path drops one of its slashes."
        )
    return Path(text)


def is_well_formed(full: str) -> bool:
    """Whether it is clear what is a password: libpq takes the first @ for the end of it, a user may mean the last."""
    return _PARTS.fullmatch(full) is not None


def without_secrets(full: str) -> str:
    """The address without passwords; of one that is not well formed, without anything that might be one."""
    match = _PARTS.fullmatch(full)
    if match is None:
        scheme, _, rest = full.partition("://")
        _, at, after = rest.rpartition("@")
        return f"{scheme}://{re.split('[:/?#@]', rest)[0]}{at}{after.partition('?')[0] if at else ''}"
    scheme, user, hosts, database, query = match.groups()
    kept = [pair for pair in (query or "").split("&") if pair and not _SECRET.search(unquote(pair.partition("=")[0]))]
    who = f"{user}@" if user is not None else ""
    return f"{scheme}{who}{hosts}{database or ''}" + (f"?{'&'.join(kept)}" if kept else "")
