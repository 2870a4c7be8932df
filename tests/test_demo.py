"""What `make demo` runs."""

from __future__ import annotations

import importlib.util
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import ccgbo
from ccgbo.bench.problems.mixed import arrhenius, net_yield, share_of_product
from ccgbo.demo import run_demo


@pytest.mark.parametrize(("k1", "k2"), [(0.05, 0.01), (0.01, 0.2), (0.03, 0.03)])
def test_the_share_of_product_solves_the_rate_equations(k1: float, k2: float) -> None:
    solution = solve_ivp(
        lambda _, y: [-k1 * y[0], k1 * y[0] - k2 * y[1]], (0.0, 60.0), [1.0, 0.0], rtol=1e-10, atol=1e-12
    )
    assert math.isclose(share_of_product(k1, k2, 60.0), solution.y[1, -1], rel_tol=1e-6)


def test_rates_follow_arrhenius() -> None:
    slope = math.log(arrhenius(1e7, 6e4, 300.0) / arrhenius(1e7, 6e4, 310.0)) / (1 / 300.0 - 1 / 310.0)
    assert math.isclose(slope, -6e4 / 8.314, rel_tol=1e-9)


def test_the_best_reaction_is_neither_the_hottest_nor_the_longest() -> None:
    rng = np.random.default_rng(0)
    points = zip(rng.uniform(280, 420, 5000), rng.uniform(1, 600, 5000), rng.uniform(0.1, 10, 5000), strict=True)
    _, t, minutes, catalyst = max((net_yield(*p, "toluene"), *p) for p in points)
    assert 290 < t < 410
    assert 5 < minutes < 500
    assert 0.5 < catalyst < 9.5


def test_the_demo_optimises_and_writes_its_report(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "ccgbo", "demo", "-n", "14"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "14/14 trials" in done.stderr
    assert done.stdout.splitlines()[-1] == f"report: {(tmp_path / 'demo' / 'report.html').resolve().as_uri()}"
    assert "<html" in (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")[:500].lower()
    assert ccgbo.list_studies(tmp_path / "demo" / "demo.db")[0].n_complete == 14


def test_the_demo_works_without_scikit_learn_and_starts_anew_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "sklearn" else find_spec(name, *a)
    )
    for _ in range(2):
        said: list[str] = []
        run_demo(tmp_path, 6, said.append)
        assert said[0].startswith("reaction yield: 6 trials over temperature, minutes, catalyst, solvent")
        assert said[-1].startswith("report: file://")
    assert [(info.name, info.n_trials) for info in ccgbo.list_studies(tmp_path / "demo.db")] == [("reaction yield", 6)]


def test_the_demo_says_what_a_report_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any) -> None:
        raise ccgbo.MissingExtraError("the report", "plot")

    monkeypatch.setattr("ccgbo.viz.report.write_report", missing)
    said: list[str] = []
    assert run_demo(tmp_path, 3, said.append) is None
    assert said[-1] == "no report: the report needs an optional dependency: pip install 'ccgbo[plot]'"
