"""Griffe extension: an interpreter session in a docstring is code on the site, not a quotation of a quotation."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

SESSION = re.compile(r"^(?P<indent> *)>>> .*(?:\n(?P=indent)\S.*)*", re.MULTILINE)


def fence_sessions(text: str) -> str:
    """Each run of lines that begins with ``>>>`` in a fence of its own; those in a fence already stay."""
    parts = re.split(r"(^ *```.*?^ *```)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.lstrip().startswith("```") else SESSION.sub(_fence, part) for part in parts)


def _fence(found: re.Match[str]) -> str:
    indent = found["indent"]
    return f"{indent}```pycon\n{found[0]}\n{indent}```"


class Sessions(Extension):
    def on_object(self, *, obj: Object, **_: Any) -> None:
        docstring = obj.docstring
        if docstring is not None and not re.search(r"^ *Examples?\n *-+$", docstring.value, re.MULTILINE):
            docstring.value = fence_sessions(docstring.value)
