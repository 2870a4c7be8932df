"""The result file of an experiment: one JSON line of settings and versions, then one line for each finished run.

Rows are appended as runs finish, each by a single write, and put in the experiment's order at the end. They hold
nothing that differs between two runs of the same seed; times are kept beside them in ``<name>.cpu.csv``. A line that
was cut by a crash is dropped when the file is opened again.

    row   {"problem", "method", "seed", "n_initial", "initial", "regret": [...]}
          initial   regret of the best point of the initial design
          regret    of each later point, optimum minus noise-free value, rounded to six digits
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ccgbo.bench.experiment import Cell, Experiment
from ccgbo.errors import StorageError
from ccgbo.versions import versions

Row = dict[str, Any]
DEPENDS_ON = ("python", "ccgbo", "numpy", "scipy", "scikit-learn", "skfolio", "Box2D")
MUST_AGREE = ("experiment", "kind", "iterations")


def key_of(row: Mapping[str, Any]) -> Cell:
    return Cell(problem=row["problem"], method=row["method"], seed=row["seed"])


def rounded(value: Any) -> Any:
    """Floats to six significant digits, inside lists and mappings too."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    if isinstance(value, Mapping):
        return {key: rounded(item) for key, item in value.items()}
    return value


def _line(data: Mapping[str, Any]) -> str:
    return json.dumps(data, separators=(",", ":")) + "\n"


@dataclass(frozen=True, slots=True)
class Results:
    """What a result file says."""

    header: dict[str, Any]
    rows: dict[Cell, Row]
    cpu: dict[Cell, float]  # seconds, where known

    @property
    def name(self) -> str:
        return str(self.header["experiment"])

    @property
    def kind(self) -> str:
        return str(self.header["kind"])

    @property
    def problems(self) -> list[str]:
        """Those with a row, in the experiment's order."""
        present = {cell.problem for cell in self.rows}
        return [problem for problem in self.header["problems"] if problem in present]

    @property
    def methods(self) -> list[str]:
        present = {cell.method for cell in self.rows}
        return [label for label in self.header["methods"] if label in present]

    def reference_of(self, method: str) -> str:
        """The label that a method's ratios are taken to."""
        return str(self.header.get("against", {}).get(method, self.header["reference"]))

    def seeds(self, problem: str, *methods: str) -> list[int]:
        """Seeds that every one of the methods has finished on the problem."""
        sets = [{c.seed for c in self.rows if c.problem == problem and c.method == m} for m in methods]
        return sorted(set.intersection(*sets)) if sets else []

    def row(self, problem: str, method: str, seed: int) -> Row:
        return self.rows[Cell(problem=problem, method=method, seed=seed)]

    def cpu_hours(self) -> float:
        return sum(self.cpu.values()) / 3600.0


def read_results(path: str | Path) -> Results:
    """A finished or unfinished result file."""
    path = Path(path)
    if not path.is_file():
        raise StorageError(f"no result file {str(path)!r}.")
    lines = _whole_lines(path)
    if not lines or "experiment" not in lines[0]:
        raise StorageError(f"{str(path)!r} is not a result file of ccgbo bench.")
    return Results(lines[0], {key_of(row): row for row in lines[1:]}, _read_cpu(_beside(path)))


def result_files(path: str | Path) -> list[Path]:
    """The path itself, or the result files in a directory that have a run; other files there are passed over."""
    path = Path(path)
    if not path.is_dir():
        return [path]
    return [file for file in sorted(path.glob("*.jsonl")) if _is_result(file)]


def _is_result(path: Path) -> bool:
    with path.open(encoding="utf-8") as file:
        try:
            header, begun = json.loads(file.readline()), file.readline().endswith("\n")
        except json.JSONDecodeError:
            return False
    return begun and isinstance(header, dict) and set(MUST_AGREE) <= header.keys()


def _whole_lines(path: Path) -> list[dict[str, Any]]:
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(keepends=True), start=1):
        if not line.endswith("\n"):
            break  # cut by a crash
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            raise StorageError(f"{str(path)!r}, line {number}, is not JSON.") from None
    return rows


def _beside(path: Path) -> Path:
    return path.with_suffix(".cpu.csv")


def _read_cpu(path: Path) -> dict[Cell, float]:
    if not path.is_file():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if len(row) == 4 and row[2].isdigit()]
    return {Cell(problem=p, method=m, seed=int(s)): float(cpu) for p, m, s, cpu in rows}


class ResultFile:
    """A result file that an experiment is written to, new or resumed."""

    def __init__(self, path: str | Path, experiment: Experiment) -> None:
        self.path, self._experiment = Path(path), experiment
        self.path.parent.mkdir(parents=True, exist_ok=True)
        known = {name: number for name, number in versions().items() if name in DEPENDS_ON}
        mine = json.loads(_line({**experiment.record(), "versions": [known]}))
        if self.path.is_file() and self.path.stat().st_size:
            found = read_results(self.path)
            self._header, self._rows, self._cpu = _joined(found.header, mine, self.path), found.rows, found.cpu
        else:
            self._header, self._rows, self._cpu = mine, {}, {}
        self._rewrite()

    @property
    def done(self) -> frozenset[Cell]:
        return frozenset(self._rows)

    def append(self, row: Row, cpu: float) -> None:
        """Keep a finished run, in one write each for the row and its time."""
        cell = key_of(row)
        self._rows[cell], self._cpu[cell] = rounded(row), cpu
        _append(self.path, _line(self._rows[cell]))
        _append(_beside(self.path), _cpu_line(cell, cpu))

    def finish(self) -> None:
        """Rows in the experiment's order, whatever order they came in."""
        self._rewrite()

    def _rewrite(self) -> None:
        problems, methods = self._header["problems"], list(self._header["methods"])

        def order(cell: Cell) -> tuple[int, int, int]:
            return problems.index(cell.problem), methods.index(cell.method), cell.seed

        cells = sorted(self._rows, key=order)
        _replace(self.path, [_line(self._header), *(_line(self._rows[cell]) for cell in cells)])
        times = [_cpu_line(cell, self._cpu[cell]) for cell in cells if cell in self._cpu]
        _replace(_beside(self.path), ["problem,method,seed,cpu_seconds\n", *times])


def _cpu_line(cell: Cell, cpu: float) -> str:
    values = [*asdict(cell).values(), f"{cpu:.2f}"]
    return ",".join(f'"{v}"' if "," in str(v) else str(v) for v in values) + "\n"


def _joined(found: dict[str, Any], mine: dict[str, Any], path: Path) -> dict[str, Any]:
    """The header of a file that is carried on; refuses to mix runs of different settings."""
    for key in MUST_AGREE:
        if found[key] != mine[key]:
            raise StorageError(f"{str(path)!r} has {key} = {found[key]!r}, not {mine[key]!r}: choose another output.")
    for label, record in mine["methods"].items():
        if not _agree(found["methods"].get(label, record), record):
            raise StorageError(f"{str(path)!r} has other settings for {label!r}: choose another output.")
    here = mine["versions"][0]
    known = found["versions"]
    return {
        **mine,
        "problems": _union(mine["problems"], found["problems"]),
        "against": {**found.get("against", {}), **mine["against"]},
        "methods": {**mine["methods"], **{k: v for k, v in found["methods"].items() if k not in mine["methods"]}},
        "versions": known if here in known else [*known, here],
    }


def _agree(found: Any, mine: Any) -> bool:
    """Whether two records say the same; a setting that only one version of the library knows is not compared."""
    if isinstance(found, dict) and isinstance(mine, dict):
        return all(_agree(found[key], mine[key]) for key in found.keys() & mine.keys())
    return bool(found == mine)


def _union(first: Iterable[str], second: Iterable[str]) -> list[str]:
    return list(dict.fromkeys([*first, *second]))


def _append(path: Path, line: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(fd, line.encode())
    finally:
        os.close(fd)


def _replace(path: Path, lines: Iterable[str]) -> None:
    draft = path.with_name(path.name + ".new")
    draft.write_text("".join(lines), encoding="utf-8")
    os.replace(draft, path)
