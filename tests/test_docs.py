"""Every Python block of the README and of the user pages runs, page by page, in an empty folder."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import matplotlib
import pytest
from check_links import dead_links
from doc_outputs import agree, refreshed, run_page
from docstrings import fence_sessions

from ccgbo.engine.proposal import prepare, propose

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", [p for p in PAGES if "```python" in p.read_text("utf-8")], ids=lambda p: p.name)
def test_the_code_on_the_page_runs_and_prints_what_the_page_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    for block in run_page(page.read_text(encoding="utf-8"), page.name):
        assert block.shown is None or agree(block.shown, block.printed), block.printed


def test_an_output_agrees_in_words_to_the_letter_and_in_numbers_to_two_digits() -> None:
    assert agree("best 0.12345  (trial 7)\n", "best 0.12346 (trial 7)\n")
    assert agree("regret 1.2e-09", "regret -3e-11")
    assert not agree("best 0.12 (trial 7)", "best 0.12 (trial 8)")
    assert not agree("best 0.12", "worst 0.12")
    assert not agree("best 0.12", "best 0.12\nagain")


def test_what_a_block_prints_is_written_below_it_and_an_output_that_agrees_is_left_alone() -> None:
    page = "Text\n\n```python\nprint(1 / 3)\n```\n\nMore\n\n```python\nprint('b')\n```\n\n```text\na\n```\n"
    new = refreshed(page, run_page(page, "page"))
    assert new == page.replace("```\n\nMore", f"```\n\n```text\n{1 / 3}\n```\n\nMore").replace("\na\n", "\nb\n")
    rounded = new.replace(str(1 / 3), "0.333")
    assert refreshed(rounded, run_page(rounded, "page")) == rounded


def test_a_dead_link_and_a_dead_anchor_are_found(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "index.html").write_text('<h1 id="top"><a href="sub/"></a><a href="sub/#here"></a><a href="gone/">')
    (tmp_path / "sub" / "index.html").write_text(
        '<p id="here"><a href="../#top"></a><a href="#not"></a><img src="x.png">'
    )
    assert dead_links(tmp_path) == ["index.html: gone/", "sub/index.html: #not", "sub/index.html: x.png"]


def test_a_session_in_a_docstring_is_fenced_for_the_site() -> None:
    text = "Says.\n\n>>> f(\n...     1)\n2\n\nMore."
    assert fence_sessions(text) == "Says.\n\n```pycon\n>>> f(\n...     1)\n2\n```\n\nMore."
    assert fence_sessions(fence_sessions(text)) == fence_sessions(text)


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
