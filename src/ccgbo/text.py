"""Text from elsewhere made safe to show: names, errors and values can hold anything, a terminal obeys what it reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# C0 and C1 control characters, line and paragraph separators, what turns the direction of text, and lone surrogates
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
FRAME = '  File "'  # how a traceback begins each of its frames


def valid(text: str) -> str:
    """Text that can be stored and sent: lone surrogates, as in names of files that are no UTF-8, written as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def printable(text: str, *, keep: str = "") -> str:
    """Text that moves no cursor, sets no title and hides nothing; the characters of ``keep`` stay as they are."""
    return CONTROL.sub(lambda found: found[0] if found[0] in keep else _escape(found[0]), text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def shorten(text: str, width: int) -> str:
    """At most ``width`` characters."""
    return text if len(text) <= width else text[: width - 1] + "…"


def reason(error: str | None) -> str:
    """Why a trial failed, in one line: of a traceback the exception itself, else the first and the last line."""
    lines = [line for line in (error or "").splitlines() if line.strip()]
    if not lines:
        return "no reason given"
    last_frame = max((i for i, line in enumerate(lines) if line.startswith(FRAME)), default=None)
    if last_frame is not None:
        after = [line for line in lines[last_frame + 1 :] if not line.startswith(" ")]
        return printable(after[0] if after else lines[-1])
    return printable(lines[0] if len(lines) == 1 else f"{lines[0].rstrip(':')}: {lines[-1].strip()}")


def count(n: int, what: str) -> str:
    """``1 trial``, ``2 trials``."""
    return f"{n} {what}" + ("" if n == 1 else "s")


def differences(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> list[str]:
    """What changed from one mapping to the other, of mappings in them only what differs: ``value 9.3 -> 0.93``."""
    old, new = before or {}, after or {}
    said = []
    for name in dict.fromkeys([*old, *new]):
        a, b = old.get(name), new.get(name)
        if isinstance(a, Mapping) or isinstance(b, Mapping):
            said += differences(a if isinstance(a, Mapping) else None, b if isinstance(b, Mapping) else None)
        elif not same(a, b):
            now = _worded(False if a is True and b is None else b)
            said.append(f"{name} {now}" if is_nothing(a) else f"{name} {_worded(a)} -> {now}")
    return said


def same(a: Any, b: Any) -> bool:
    """Whether two pieces of plain data are equal; True is no 1, and nothing is nothing however it is written."""
    return (a == b and isinstance(a, bool) == isinstance(b, bool)) or (is_nothing(a) and is_nothing(b))


def is_nothing(value: Any) -> bool:
    """Whether a field that has it says nothing: None, no, an empty text or an empty list."""
    return value is None or value is False or value in ("", [], {}, ())


def _worded(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_worded, value)) or "none"
    return "none" if value is None else "yes" if value is True else "no" if value is False else str(value)
