"""Record what the presets suggest, to the last bit: ``python tools/golden.py`` writes the file of tests/test_golden.py.

Twelve spaces, two presets, thirty trials each with an objective made of sums and products, so that nothing but the
optimizer decides what is suggested. The test runs the same and compares. Record it again only where a
change of the suggestions is meant, in a commit of its own that says why.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import scipy.linalg
import scipy.special
from threadpoolctl import threadpool_info

from ccgbo import Categorical, Float, Int, LinearConstraint, Optimizer, Space

FILE = Path(__file__).parent.parent / "tests" / "data" / "golden_suggestions.json.gz"
PRESETS = ("default", "paper")
N_TRIALS = 30

UNIT = Float(0.0, 1.0)
SPACES: dict[str, Space] = {
    "float 1": Space({"x": Float(-2.0, 3.0)}),
    "float 2": Space({"x": UNIT, "y": Float(-5.0, 10.0)}),
    "float 6": Space({f"x{i}": UNIT for i in range(6)}),
    "float 20": Space({f"x{i}": UNIT for i in range(20)}),
    "log": Space({"rate": Float(1e-6, 1.0, log=True), "decay": Float(1e-3, 1e3, log=True), "share": UNIT}),
    "int": Space({"layers": Int(1, 12), "width": Int(8, 4096, log=True), "seed": Int(0, 100_000)}),
    "step": Space({"x": Float(0.0, 1.0, step=0.05), "y": Float(0.0, 10.0, step=0.25), "z": UNIT}),
    "categorical": Space({"kind": Categorical(["a", "b", "c"]), "x": UNIT, "y": Float(-1.0, 1.0)}),
    "categoricals": Space({f"c{i}": Categorical([f"v{j}" for j in range(2 + i)]) for i in range(7)}),
    "conditional": Space(
        {
            "kind": Categorical(["linear", "tree", "net"]),
            "depth": Int(1, 20, active_if={"kind": "tree"}),
            "rate": Float(1e-5, 1.0, log=True, active_if={"kind": "net"}),
            "act": Categorical(["relu", "tanh", "gelu"], active_if={"kind": "net"}),
            "x": UNIT,
        }
    ),
    "constrained": Space(
        {"x": UNIT, "y": UNIT, "z": UNIT}, constraints=LinearConstraint({"x": 1.0, "y": 1.0, "z": 1.0}, upper=1.2)
    ),
    "batches": Space({"x": UNIT, "y": Float(0.0, 4.0), "n": Int(1, 9)}),  # minimised, with failures
}


def objective(space: Space, params: Mapping[str, Any]) -> float:
    """A bowl with a ripple, and a constant of its own for each choice."""
    total = 0.0
    for j, (name, value) in enumerate(params.items()):
        if isinstance(space[name], Categorical):
            total += (zlib.crc32(f"{name} {value}".encode()) % 1000) / 1000.0
            continue
        z = float(space[name].to_unit(name, value))
        off = z - (0.15 + (0.37 * j) % 0.7)
        total -= off * off * (1.0 + 0.5 * j) + 0.3 * off * off * off * (z - 0.5)
    return total


def suggestions(name: str, preset: str) -> list[dict[str, Any]]:
    """The thirty suggestions for one space; numbers as hexadecimal text."""
    space = SPACES[name]
    if name == "batches":
        return _in_batches(space, preset)
    opt = Optimizer(space, preset=preset, seed=7, n_initial=10)
    out = []
    for _ in range(N_TRIALS):
        trial = opt.ask()
        out.append(exact(trial.params))
        opt.tell(trial, objective(space, trial.params))
    return out


def _in_batches(space: Space, preset: str) -> list[dict[str, Any]]:
    """Three points at a time, of which one stays pending for a round and some fail."""
    opt = Optimizer(space, direction="minimize", preset=preset, seed=11, n_initial=9)
    asked = []
    for _ in range(N_TRIALS // 3):
        waiting = opt.pending
        asked += opt.ask(3)
        for trial in (*waiting, *asked[-2:]):
            failed = trial.params["x"] > 0.8 and trial.params["y"] > 2.0
            value = -objective(space, trial.params)
            opt.tell(trial, failed=True) if failed else opt.tell(trial, value)
    return [exact(trial.params) for trial in asked]


def exact(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value.hex() if isinstance(value, float) else value for name, value in params.items()}


def libraries() -> dict[str, Any]:
    """What the last bits depend on beside this library."""
    blas = [library for library in threadpool_info() if library["user_api"] == "blas"]
    names = sorted({f"{library['internal_api']} {library.get('architecture')}" for library in blas})
    return {"numpy": np.__version__, "scipy": scipy.__version__, "blas": names, "arithmetic": arithmetic()}


def arithmetic() -> list[str]:
    """Checksums of what elementary functions and matrices come to here: two processors may disagree in the last bit."""
    x = np.linspace(0.01, 7.0, 480)
    K = np.exp(-np.abs(x[:60, None] - x[None, :60])) + 1e-3 * np.eye(60)
    L = np.linalg.cholesky(K)
    results = {
        "functions": np.concatenate([f(x) for f in (np.exp, np.log, np.log1p, np.sqrt, np.tanh, np.cos)]),
        "reductions": np.array([x.sum(), x.std(), x @ x]),
        "products": K @ np.outer(x[:60], x[:8]),
        "factors": L,
        "solutions": scipy.linalg.solve_triangular(L, K[:, :7], lower=True),
        "special": scipy.special.log_ndtr(-x),
    }
    return [f"{name} {zlib.crc32(np.ascontiguousarray(values).tobytes()):08x}" for name, values in results.items()]


def record() -> dict[str, Any]:
    runs = {f"{name}/{preset}": suggestions(name, preset) for name in SPACES for preset in PRESETS}
    return {"libraries": libraries(), "suggestions": runs}


def load() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(gzip.decompress(FILE.read_bytes()))
    return data


if __name__ == "__main__":
    FILE.write_bytes(gzip.compress(json.dumps(record(), indent=1).encode(), mtime=0))
    print(f"wrote {FILE}")
