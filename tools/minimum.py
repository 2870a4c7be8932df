"""The oldest versions that pyproject.toml allows, one pin a line: ``minimum.py numpy scipy`` or all that it needs."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def pins(requirements: list[str]) -> list[str]:
    """``numpy>=1.26`` becomes ``numpy==1.26``."""
    found = []
    for requirement in requirements:
        match = re.fullmatch(r"([\w-]+(?:\[[\w,]+\])?)>=([\d.]+)", requirement)
        if match is None:
            raise SystemExit(f"a requirement must be a name and a lower bound, got {requirement!r}.")
        found.append(f"{match[1]}=={match[2]}")
    return found


if __name__ == "__main__":
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = project["dependencies"] + [line for extra in sys.argv[1:] for line in extras[extra]]
    print("\n".join(dict.fromkeys(pins(wanted))))
