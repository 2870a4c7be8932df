"""Runs what a user would run: the Python blocks of a page of docs/, and the files of examples/."""

import contextlib
import io
import re
import runpy
from pathlib import Path
from typing import Any

from doc_outputs import agree

ROOT = Path(__file__).resolve().parents[2]


def run_page(name: str) -> dict[str, Any]:
    """Names that the page's Python blocks define, run from top to bottom as one script."""
    page = ROOT / "docs" / "integrations" / name
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    assert blocks, f"{page} has no Python block"
    shown = re.findall(r"^```text\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    names: dict[str, Any] = {"__name__": "page"}
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile("\n".join(blocks), str(page), "exec"), names)
    assert not shown or agree("".join(shown), out.getvalue()), out.getvalue()
    return names


def run_example(name: str) -> dict[str, Any]:
    """Names that the example defines."""
    return runpy.run_path(str(ROOT / "examples" / name))
