"""The benchmarks of the Optuna sampler, with tiny budgets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .pages import ROOT

pytestmark = pytest.mark.heavy


def run(script: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / script), *arguments],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_pruned_trials_are_compared_with_leaving_them_out(tmp_path: Path) -> None:
    out = tmp_path / "pruning.json"
    options = ["--problems", "linear", "--pruners", "median", "--seeds", "2", "--budget", "4", "--out", str(out)]
    shown = run("optuna_pruning.py", *options)
    assert "| linear | median |" in shown and "| all |" in shown
    (row,) = json.loads(out.read_text(encoding="utf-8"))["rows"]
    assert set(row["runs"]) == {"ignore", "fail", "bound", "extrapolate", "TPESampler"}
    assert all(len(runs) == 2 and all(r["pruned"] < r["trials"] for r in runs) for runs in row["runs"].values())


def test_the_table_of_support_says_what_was_tried(tmp_path: Path) -> None:
    out = tmp_path / "swap.json"
    run("optuna_swap.py", "--problems", "Branin2=12", "--seeds", "1", "--out", str(out))
    kept = json.loads(out.read_text(encoding="utf-8"))
    support = kept["support"]
    ours = {feature for feature, who in support.items() if who["CCGBOSampler"]}
    assert ours >= {"pruned trials count", "failed trials are avoided", "running trials count"}
    assert support["pruned trials count"]["TPESampler"] and not support["pruned trials count"]["GPSampler"]
    again = run("optuna_swap.py", "--kept", "--out", str(out))
    assert "| median regret, Branin2, 12 trials |" in again
    assert json.loads(out.read_text(encoding="utf-8")) == kept
