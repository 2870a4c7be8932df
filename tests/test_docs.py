"""Every Python block of the README and of the user pages runs, page by page, in an empty folder."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import matplotlib
import pytest

from ccgbo.proposal import prepare, propose

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[str]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=lambda p: p.name)
def test_the_code_on_the_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    namespace: dict[str, object] = {"__name__": "__main__"}
    for number, code in enumerate(blocks(page), 1):
        exec(compile(code, f"{page.name}, block {number}", "exec"), namespace)


def test_the_readme_shows_both_set_up_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make demo" in text and "make test" in text


def test_the_algorithm_printed_in_the_readme_is_the_code() -> None:
    printed = re.findall(
        r"^```py\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    assert printed == [inspect.getsource(f) for f in (propose, prepare)]


def test_every_page_of_the_site_exists_and_every_page_is_on_the_site() -> None:
    nav = re.findall(r"([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    pages = {str(p.relative_to(ROOT / "docs")) for p in (ROOT / "docs").rglob("*.md")}
    assert set(nav) == pages
