"""A module imports only from what stands to its left: the order below is the way data flows."""

from __future__ import annotations

import ast
from pathlib import Path

import ccgbo

ROOT = Path(ccgbo.__file__).parent
ORDER = [
    "arrays", "errors", "field_docs", "validation", "keywords",
    "versions", "text", "records", "space", "design", "surrogate", "ascent", "threads", "credit", "acquisition",
    "search", "presets", "options", "settings_io", "model", "history", "ground", "explain", "optimizer",
    "storage", "running", "study", "api", "integrations", "bench", "viz", "demo", "cli", "__main__",
]  # fmt: skip
LEAVES = {"integrations"}  # nobody imports these, nor one of them another


def room(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """Every ccgbo module that a file imports at its top level or inside functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "ccgbo":
            names = [f"{node.module}.{a.name}" for a in node.names] if node.module == "ccgbo" else [str(node.module)]
            found.update(names)
        elif isinstance(node, ast.Import):
            found.update(a.name for a in node.names if a.name.split(".")[0] == "ccgbo")
    return found


def test_every_room_is_known_to_the_order() -> None:
    rooms = {room(p) for p in ROOT.rglob("*.py")} - {"__init__"}
    assert rooms <= set(ORDER), sorted(rooms - set(ORDER))


def test_no_module_imports_from_its_right() -> None:
    wrong = []
    for path in ROOT.rglob("*.py"):
        here = room(path)
        if here == "__init__":
            continue
        for name in imports(path):
            there = name.split(".")[1] if "." in name else "__init__"
            late = there == "__init__" or ORDER.index(there) > ORDER.index(here)
            if late or (there in LEAVES and here not in LEAVES):
                wrong.append(f"{path.relative_to(ROOT)} imports {name}")
    assert not wrong, wrong


def test_integrations_do_not_import_each_other() -> None:
    def family(module: str) -> str:  # _botorch_model belongs to botorch
        return module.lstrip("_").split("_")[0]

    for path in (ROOT / "integrations").glob("*.py"):
        for name in imports(path):
            if name.startswith("ccgbo.integrations."):
                assert family(name.split(".")[2]) == family(path.stem), (path, name)
