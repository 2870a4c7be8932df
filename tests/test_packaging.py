"""What pyproject.toml promises, and the tools that check it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from minimum import pins
from site_hooks import example_page, on_page_content

ROOT = Path(__file__).parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_every_requirement_has_a_lower_bound_and_a_pin_of_it() -> None:
    own = [line for line in PROJECT["dependencies"] if not line.startswith("ccgbo[")]
    assert len(pins(own)) == len(own) > 0
    assert pins(["numpy>=1.26", "ray[tune]>=2.40"]) == ["numpy==1.26", "ray[tune]==2.40"]
    with pytest.raises(SystemExit, match="lower bound"):
        pins(["numpy"])


def test_every_extra_that_an_error_names_can_be_installed() -> None:
    named = set()
    for path in (ROOT / "src").rglob("*.py"):
        named.update(re.findall(r'MissingExtraError\([^()]*?"(\w+)"\)', path.read_text(encoding="utf-8")))
    assert named and named <= PROJECT["optional-dependencies"].keys()


def test_an_example_becomes_a_page_with_its_code() -> None:
    for path in sorted((ROOT / "examples").glob("*.py")):
        page = example_page(path)
        assert page.startswith(f"# examples/{path.name}\n") and "```python\n" in page
        assert path.read_text(encoding="utf-8").rstrip().endswith(page.split("```python\n")[1][-200:-5].rstrip())


def test_a_formula_becomes_mathml() -> None:
    html = on_page_content('<p><span class="arithmatex">\\(a &lt; b_t\\)</span></p>')
    assert html.startswith("<p><math") and 'display="inline"' in html and "arithmatex" not in html
    assert 'display="block"' in on_page_content('<div class="arithmatex">\\[x\\]</div>')
