"""Every method on every kind of task for a few iterations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ccgbo.bench.baselines import METHODS
from ccgbo.bench.experiment import Cell, Experiment, load_experiment
from ccgbo.bench.problems import problem_names
from ccgbo.bench.report import make_report
from ccgbo.bench.results import ResultFile, rounded
from ccgbo.bench.runner import run_cell

SMOKE = load_experiment("smoke")


@pytest.mark.parametrize("problem", SMOKE.problems)
def test_every_method_runs_on(problem: str, tmp_path: Path) -> None:
    file = ResultFile(tmp_path / "smoke.jsonl", SMOKE)
    for method in SMOKE.labels:
        row, cpu = run_cell(SMOKE, Cell(problem=problem, method=method, seed=0))
        assert len(row["regret"]) == SMOKE.iterations
        assert np.isfinite(row["regret"]).all()
        assert min(row["initial"], *row["regret"]) >= -1e-9
        file.append(rounded(row), cpu)
    file.finish()
    tables = make_report(tmp_path / "smoke.jsonl").tables
    assert all(problem in table.markdown() for table in tables[1:])


def test_the_smoke_experiment_leaves_no_method_and_no_task_of_the_paper_out() -> None:
    assert set(SMOKE.labels) == set(METHODS)
    assert set(SMOKE.problems) >= set(problem_names("paper"))
    assert isinstance(SMOKE, Experiment)
