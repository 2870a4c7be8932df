"""Runs the Python blocks of a page and keeps what each prints below it, in a block marked ``text``.

    python tools/doc_outputs.py docs/index.md docs/credit.md      writes the outputs anew

The tests run every page and compare the outputs that it shows (tests/test_docs.py): numbers to two digits, because
the last digits depend on the machine, and everything else to the letter.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<shown>.*?)^```\n)?", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?", re.IGNORECASE)
SMALL = 1e-4  # a regret of 1e-9 on one machine is 3e-10 on another


@dataclass(frozen=True)
class Block:
    """A block of code, the output that the page shows, and what it printed now."""

    code: str
    shown: str | None
    printed: str


def run_page(text: str, name: str) -> list[Block]:
    """Every Python block in turn, in one namespace and in the current folder."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    blocks = []
    for number, found in enumerate(BLOCK.finditer(text), 1):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(found["code"], f"{name}, block {number}", "exec"), namespace)
        blocks.append(Block(found["code"], found["shown"], out.getvalue()))
    return blocks


def agree(shown: str, printed: str) -> bool:
    """Whether two outputs say the same; trailing blanks and the last digits of numbers may differ."""
    lines = [[line.rstrip() for line in text.strip().splitlines()] for text in (shown, printed)]
    if len(lines[0]) != len(lines[1]):
        return False
    return all(_agree(a, b) for a, b in zip(*lines, strict=True))


def _agree(a: str, b: str) -> bool:
    words = [re.sub(r"\s+", " ", NUMBER.sub("#", line)) for line in (a, b)]
    numbers = [[float(n) for n in NUMBER.findall(line)] for line in (a, b)]
    close = (math.isclose(x, y, rel_tol=1e-2, abs_tol=SMALL) for x, y in zip(*numbers, strict=False))
    return words[0] == words[1] and all(close)


def refreshed(text: str, blocks: list[Block]) -> str:
    """The page with the output of each block that prints something."""
    left = iter(blocks)

    def block(_: re.Match[str]) -> str:
        now = next(left)
        code = f"```python\n{now.code}```\n"
        if now.shown is not None and agree(now.shown, now.printed):
            return f"{code}\n```text\n{now.shown}```\n"
        lines = "\n".join(line.rstrip() for line in now.printed.strip("\n").splitlines())
        return f"{code}\n```text\n{lines}\n```\n" if lines else code

    return BLOCK.sub(block, text)


def main(pages: list[str]) -> None:
    os.environ.setdefault("MPLBACKEND", "Agg")
    paths = [Path(page).resolve() for page in pages]
    for path in paths:
        text = path.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            blocks = run_page(text, path.name)
        path.write_text(refreshed(text, blocks), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
