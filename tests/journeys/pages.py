"""A page of the documentation that tells a story with commands, played at a desk.

```toml title="space.toml"      a file that is there from now on
```console                      commands behind "$ ", each with what it prints
<!-- step: words -->            something that is done by hand, by a function of the test
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from doc_outputs import agree

from .desk import Desk

PART = re.compile(
    r"^```(?:toml|text) title=\"(?P<file>[^\"]+)\"\n(?P<text>.*?)^```\n"
    r"|^```console\n(?P<lines>.*?)^```\n"
    r"|^<!-- step: (?P<step>.*?) -->$",
    re.MULTILINE | re.DOTALL,
)
TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")


def play(desk: Desk, page: Path, steps: Mapping[str, Callable[[], None]]) -> list[tuple[str, str, str]]:
    """Do all that the page says; every command with the output that the page shows and the one it had now."""
    said = []
    for part in PART.finditer(page.read_text(encoding="utf-8")):
        if part["file"]:
            desk.write(part["file"], part["text"])
        elif part["step"]:
            steps[part["step"]]()
        else:
            for block in re.split(r"^\$ ", part["lines"], flags=re.MULTILINE)[1:]:
                command, _, shown = block.partition("\n")
                said.append((command, shown, desk.does(command)))
    return said


def differing(said: list[tuple[str, str, str]]) -> list[tuple[str, str]]:
    """Commands that printed something else than the page shows, with what they printed."""
    return [
        (command, printed)
        for command, shown, printed in said
        if not agree(TIME.sub("TIME", shown), TIME.sub("TIME", printed))
    ]
