"""The text under each field of a class, for ``help()``.

Python drops it at run time, but help() shows the values of a ``__slots__`` that is a dict. This dict reads the source
when it is asked, so that importing costs nothing.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from functools import cache
from itertools import pairwise


class FieldDocs(dict[str, str]):
    """Field names with the text under each; behaves as the tuple of names otherwise."""

    def __init__(self, cls: type) -> None:
        super().__init__(dict.fromkeys(cls.__dict__["__slots__"], ""))
        self._cls = cls

    def __getitem__(self, name: str) -> str:
        return _texts(self._cls).get(name, "")


@cache
def _texts(cls: type) -> dict[str, str]:
    try:
        source = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    except (OSError, SyntaxError):  # no source at hand
        return {}
    assert isinstance(source, ast.ClassDef)
    found = {}
    for field, text in pairwise(source.body):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            found[ast.unparse(field.target)] = inspect.cleandoc(str(text.value.value))
    return found
