"""The result file of an experiment: one JSON line of settings and versions, then one line for each finished run.

Rows are appended as runs finish, each by a single write, and put in the experiment's order at the end. They hold
nothing that differs between two runs of the same seed; times are kept beside them in ``<name>.cpu.csv``. A line that
was cut by a crash is dropped when the file is opened again. Several processes may run slices of an experiment into one
file: each keeps what it finds there. A row that two of them lose by putting the file in order at the same instant is
missing, and run when the experiment is run again.

    row   {"problem", "method", "seed", "n_initial", "initial", "regret": [...]}
          initial   regret of the best point of the initial design
          regret    of each later point, optimum minus noise-free value, rounded to six digits
          A run that was shown no design has n_initial 0 and counts from its first evaluation.

A name that ends in ``.gz`` is compressed, the times beside it too (files.py).
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ccgbo.bench import files
from ccgbo.bench.experiment import PEER_KINDS, Cell, Experiment
from ccgbo.bench.problems import METRIC_PROBLEMS, PROBLEMS
from ccgbo.errors import SettingError, StorageError
from ccgbo.versions import versions

Row = dict[str, Any]
DEPENDS_ON = ("python", "ccgbo", "numpy", "scipy", "scikit-learn", "skfolio", "Box2D", "gymnasium", "mujoco")
PEERS_DEPEND_ON = ("optuna", "torch", "gpytorch", "botorch", "bayesian-optimization", "ax-platform", "cmaes")
MUST_AGREE = ("experiment", "kind", "iterations")
MAY_AGREE = ("noise", "design", "initial")  # of the kinds that have them
NOW_TUNING = {  # where files from before EngineTuning have its fields that were called otherwise
    ("credit", "eps"): "score_eps",
    ("search", "steps"): "search_steps",
    ("search", "separation"): "min_pending_distance",
}
NOW_CALLED = {"outcome": "outcome_transform", "revisit": "allow_repeats"}
OF_NO_EFFECT = {"pending"}  # a run asks for one point at a time


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

    def chosen(
        self,
        *,
        problems: Iterable[str] | None = None,
        methods: Iterable[str] | None = None,
        reference: str | None = None,
        iterations: int | None = None,
    ) -> Results:
        """Some of the problems and methods, the first iterations only, ratios to another reference."""
        to = reference or self.header["reference"]
        kept_p = _known("problems", problems, self.header["problems"], (*PROBLEMS, *METRIC_PROBLEMS))
        kept_m = _known("methods", methods, self.header["methods"])
        _known("reference", [to], self.header["methods"])
        T = int(self.header["iterations"]) if iterations is None else min(iterations, int(self.header["iterations"]))
        cells = [c for c in self.rows if c.problem in kept_p and (c.method in kept_m or c.method == to)]
        header = {
            **self.header,
            "problems": kept_p,
            "methods": {m: record for m, record in self.header["methods"].items() if m in (*kept_m, to)},
            "reference": to,
            "against": {} if reference else self.header.get("against", {}),
            "iterations": T,
        }
        share = T / int(self.header["iterations"])
        rows = {c: {**self.rows[c], "regret": self.rows[c]["regret"][:T]} for c in cells}
        return replace(self, header=header, rows=rows, cpu={c: share * self.cpu[c] for c in cells if c in self.cpu})

    def cpu_hours(self) -> float:
        return sum(self.cpu.values()) / 3600.0


def _known(what: str, wanted: Iterable[str] | None, here: Iterable[str], anywhere: Iterable[str] = ()) -> list[str]:
    """Those wanted that a file has, in the order of the file; refuses a name that nobody has."""
    names, chosen = list(here), list(here if wanted is None else wanted)
    wrong = [name for name in chosen if name not in names and name not in set(anywhere)]
    kept = [name for name in names if name in chosen]
    if wrong or not kept:
        raise SettingError(f"{what} must be among {names}, got {(wrong or chosen)[0]!r}.")
    return kept


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
    """The path itself, the result files in a directory that have a run, or that of an experiment in results/."""
    path = Path(path)
    if not path.exists() and len(path.parts) == 1:
        named = [Path("results") / f"{path.name}{end}" for end in (".jsonl.gz", ".jsonl")]
        path = next((file for file in named if file.is_file()), path)
    if not path.is_dir():
        return [path]
    return [file for file in sorted([*path.glob("*.jsonl"), *path.glob("*.jsonl.gz")]) if _is_result(file)]


def _is_result(path: Path) -> bool:
    first, *rest = files.read_text(path).split("\n", 2)
    try:
        header = json.loads(first)
    except json.JSONDecodeError:
        return False
    return len(rest) == 2 and isinstance(header, dict) and set(MUST_AGREE) <= header.keys()


def _whole_lines(path: Path) -> list[dict[str, Any]]:
    rows = []
    for number, line in enumerate(files.read_text(path).splitlines(keepends=True), start=1):
        if not line.endswith("\n"):
            break  # cut by a crash
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            raise StorageError(f"{str(path)!r}, line {number}, is not JSON.") from None
    return rows


def _beside(path: Path) -> Path:
    end = ".gz" if files.is_compressed(path) else ""
    return path.with_name(path.name.removesuffix(end).removesuffix(".jsonl") + ".cpu.csv" + end)


def _read_cpu(path: Path) -> dict[Cell, float]:
    if not path.is_file():
        return {}
    lines = csv.reader(files.read_text(path).splitlines())
    rows = [row for row in lines if len(row) == 4 and row[2].isdigit()]
    return {Cell(problem=p, method=m, seed=int(s)): float(cpu) for p, m, s, cpu in rows}


class ResultFile:
    """A result file that an experiment is written to, new or resumed."""

    def __init__(self, path: str | Path, experiment: Experiment) -> None:
        self.path, self._experiment = Path(path), experiment
        self.path.parent.mkdir(parents=True, exist_ok=True)
        asked = (*DEPENDS_ON, *(PEERS_DEPEND_ON if experiment.kind in PEER_KINDS else ()))
        known = {name: number for name, number in versions().items() if name in asked}
        self._header = json.loads(_line({**experiment.record(), "versions": [known]}))
        self._rows: dict[Cell, Row] = {}
        self._cpu: dict[Cell, float] = {}
        self.finish()

    @property
    def done(self) -> frozenset[Cell]:
        return frozenset(self._rows)

    def append(self, row: Row, cpu: float) -> None:
        """Keep a finished run, in one write each for the row and its time."""
        cell = key_of(row)
        self._rows[cell], self._cpu[cell] = rounded(row), cpu
        files.append(self.path, _line(self._rows[cell]))
        files.append(_beside(self.path), _cpu_line(cell, cpu))

    def finish(self) -> None:
        """Rows in the experiment's order, whatever order they came in and whichever process they came from."""
        if self.path.is_file() and self.path.stat().st_size:
            found = read_results(self.path)
            self._header = _joined(found, self._header, self.path)
            self._rows, self._cpu = {**found.rows, **self._rows}, {**found.cpu, **self._cpu}
        self._rewrite()

    def _rewrite(self) -> None:
        problems, methods = self._header["problems"], list(self._header["methods"])

        def order(cell: Cell) -> tuple[int, int, int]:
            return problems.index(cell.problem), methods.index(cell.method), cell.seed

        cells = sorted(self._rows, key=order)
        files.replace(self.path, [_line(self._header), *(_line(self._rows[cell]) for cell in cells)])
        times = [_cpu_line(cell, self._cpu[cell]) for cell in cells if cell in self._cpu]
        files.replace(_beside(self.path), ["problem,method,seed,cpu_seconds\n", *times])


def _cpu_line(cell: Cell, cpu: float) -> str:
    values = [*asdict(cell).values(), f"{cpu:.4f}"]
    return ",".join(f'"{v}"' if "," in str(v) else str(v) for v in values) + "\n"


def _joined(results: Results, mine: dict[str, Any], path: Path) -> dict[str, Any]:
    """The header of a file that is carried on; refuses to mix runs of different settings."""
    found = results.header
    for key in (*MUST_AGREE, *(key for key in MAY_AGREE if key in mine)):
        if found.get(key) != mine[key]:
            here = found.get(key)
            raise StorageError(f"{str(path)!r} has {key} = {here!r}, not {mine[key]!r}: choose another output.")
    for label in results.methods:  # those with a run
        record = mine["methods"].get(label, found["methods"][label])
        if not _agree(_in_current_terms(found["methods"][label]), record):
            raise StorageError(f"{str(path)!r} has other settings for {label!r}: choose another output.")
    known = found["versions"]
    return {
        **{key: found[key] for key in ("note",) if key in found},
        **mine,
        "problems": _union(mine["problems"], found["problems"]),
        "against": {**found.get("against", {}), **mine["against"]},
        "methods": {**mine["methods"], **{k: v for k, v in found["methods"].items() if k not in mine["methods"]}},
        "versions": [*known, *(each for each in mine["versions"] if each not in known)],
    }


def _agree(found: Any, mine: Any) -> bool:
    """Whether two records mean the same runs; a setting that only one version of the library knows is not compared."""
    if isinstance(found, dict) and isinstance(mine, dict):
        return all(_agree(found[key], mine[key]) for key in (found.keys() & mine.keys()) - OF_NO_EFFECT)
    return bool(found == mine)


def _in_current_terms(record: dict[str, Any]) -> dict[str, Any]:
    """A method's record with the settings of an older file under the names that they have now."""
    settings = record.get("settings")
    if settings is None or "tuning" in settings:
        return record
    groups = {name: settings.get(name, {}) for name in ("fit", "credit", "search")}
    tuning = {NOW_TUNING.get((group, k), k): v for group, values in groups.items() for k, v in values.items()}
    renamed = {NOW_CALLED.get(name, name): value for name, value in settings.items()}
    return {**record, "settings": {**renamed, "tuning": tuning}}


def _union(first: Iterable[str], second: Iterable[str]) -> list[str]:
    return list(dict.fromkeys([*first, *second]))
