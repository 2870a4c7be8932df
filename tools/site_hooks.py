"""What the site needs beyond Markdown: mathematics as MathML, and a page for each file of ``examples/``.

MathML is part of every current browser, so formulas need neither a script nor a font of ours.
"""

from __future__ import annotations

import ast
import html
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files, InclusionLevel

EXAMPLES = Path(__file__).parent.parent / "examples"
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
EXAMPLE_LINK = re.compile(r"\]\((?:\.\./)+examples/(\w+)\.py\)")


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """A page for each example."""
    for path in sorted(EXAMPLES.glob("*.py")):
        page = example_page(path)
        name = f"examples/{path.stem}.md"
        files.append(File.generated(config, name, content=page, inclusion=InclusionLevel.NOT_IN_NAV))
    return files


def example_page(path: Path) -> str:
    """The module's docstring as text, the rest as code."""
    text = path.read_text(encoding="utf-8")
    about = ast.get_docstring(ast.parse(text)) or ""
    code = text.split('"""', 2)[-1].strip()
    return f"# examples/{path.name}\n\n{about}\n\n```python\n{code}\n```\n"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links to a file of the examples lead to its page; in the repository they lead to the file."""
    up = "../" * page.file.src_uri.count("/")
    return EXAMPLE_LINK.sub(rf"]({up}examples/\1.md)", markdown)


def on_page_content(content: str, **_: Any) -> str:
    return FORMULA.sub(_mathml, content)


def _mathml(found: re.Match[str]) -> str:
    shape = "inline" if found[2] == "(" else "block"
    return str(convert(html.unescape(found[3].strip()), display=shape))
