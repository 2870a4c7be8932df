"""A module imports only from what stands to its left: the order below is the way data flows."""

from __future__ import annotations

import ast
from pathlib import Path

import ccgbo

ROOT = Path(ccgbo.__file__).parent
ORDER = [
    "arrays", "errors", "field_docs", "validation", "keywords", "versions", "text", "markup", "files", "log",
    "plotting", "frames", "explanation", "influence", "diagnosis", "pareto", "metrics", "infinite", "records",
    "metric_change",
    "result", "space", "outcomes", "revisions", "tuning", "surrogate", "credit", "acquisition", "engine", "storage",
    "running", "study", "api", "integrations", "bench", "viz", "demo", "cli", "__main__",
]  # fmt: skip
ENGINE = [
    "threads", "design", "moves", "candidates", "search", "settings", "options", "settings_io", "scales",
    "metric_settings", "initial", "history", "fit_state", "table", "noise", "stacking", "rows", "pooling", "model",
    "models", "state", "goals", "step", "edge", "metric_aim", "recombination", "proposal", "batch", "explain",
    "recommend", "influence", "reasons", "stopping", "metric_stopping", "diagnostics", "core", "reader", "editor",
    "optimizer",
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


def test_inside_the_engine_the_order_is_that_of_the_step() -> None:
    files = {path.stem: path for path in (ROOT / "engine").glob("*.py") if path.stem != "__init__"}
    assert set(files) == set(ENGINE)
    for stem, path in files.items():
        inner = {name.split(".")[2] for name in imports(path) if name.startswith("ccgbo.engine.")}
        late = [name for name in inner if ENGINE.index(name) >= ENGINE.index(stem)]
        assert not late, (stem, late)


def test_integrations_do_not_import_each_other() -> None:
    def family(module: str) -> str:  # _botorch_model belongs to botorch
        return module.lstrip("_").split("_")[0]

    for path in (ROOT / "integrations").glob("*.py"):
        for name in imports(path):
            if name.startswith("ccgbo.integrations."):
                assert family(name.split(".")[2]) == family(path.stem), (path, name)


def private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def reaches(path: Path) -> set[str]:
    """Private names of other rooms that a file imports, and private attributes it reads of what it does not define."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    here = room(path)
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    own |= {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)}
    own |= {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ccgbo."):
            parts = str(node.module).split(".")[1:]
            names = [*parts[1:], *(alias.name for alias in node.names)]
            found.update(f"{node.module}.{name}" for name in names if private(name) and parts[0] != here)
        elif isinstance(node, ast.Attribute) and private(node.attr):
            of_self = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            found.update(() if of_self or node.attr in own else {f".{node.attr}"})
    return found


FOREIGN = {  # private names of other people's libraries, for which there is no public way
    "integrations": {"._log", "._non_reduced_forward", "._sample_reduction", "._q_reduction", "._checked_cv_orig"},
    "running": {"._instances", "._is_owned"},  # of tqdm: whether another bar is drawing
    "viz": {"._exit"},  # of os, public in all but its name
}


def test_no_file_reaches_for_the_private_names_of_another_room() -> None:
    reached = {str(p.relative_to(ROOT)): reaches(p) - FOREIGN.get(room(p), set()) for p in ROOT.rglob("*.py")}
    assert not {path: names for path, names in reached.items() if names}


def test_nobody_but_the_surrogates_sees_the_factors_of_a_gaussian_process() -> None:
    """Others see a posterior; the bridge to BoTorch translates one into another, which needs its parts."""
    seen = {}
    for path in ROOT.rglob("*.py"):
        if room(path) == "surrogate" or path.name == "_botorch_bridge.py":
            continue
        tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        names = {node.attr for node in tree if isinstance(node, ast.Attribute)} & {"hyper", "sites", "lengthscales"}
        if names:
            seen[str(path.relative_to(ROOT))] = names
    assert not seen


def test_every_file_can_be_read_in_one_sitting() -> None:
    lengths = {str(p.relative_to(ROOT)): len(p.read_text(encoding="utf-8").splitlines()) for p in ROOT.rglob("*.py")}
    assert not {path: n for path, n in lengths.items() if n >= 300}
