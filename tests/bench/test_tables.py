"""Metrics by hand, tables in three formats, figures and the page that shows them."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ccgbo.bench import figures, tables
from ccgbo.bench.experiment import Cell
from ccgbo.bench.metrics import (
    ausr,
    compare,
    cumulative_regret,
    final_regret,
    overall_ratio,
    ratio_interval,
    simple_regret,
)
from ccgbo.bench.published import AUSR, published, published_ratio
from ccgbo.bench.report import make_report, refresh_page, write_report
from ccgbo.bench.results import Results, rounded

ROW: dict[str, Any] = {"initial": 4.0, "regret": [5.0, 2.0, 3.0, 1.0]}


def results_of(name: str = "ausr", methods: tuple[str, ...] = ("ucb", "ccgbo"), n: int = 6) -> Results:
    """Made-up runs in which the second method has exactly half the regret of the first, by seed."""
    rows, rng = {}, np.random.default_rng(0)
    for problem in ("Hartmann6", "Levy8"):
        for seed in range(n):
            base = np.sort(rng.random(5))[::-1] + seed
            for i, method in enumerate(methods):
                cell = Cell(problem=problem, method=method, seed=seed)
                scaled = base * 0.5**i
                rows[cell] = {
                    "problem": problem,
                    "method": method,
                    "seed": seed,
                    "n_initial": 12,
                    "initial": float(scaled[0]),
                    "regret": [float(r) for r in scaled[1:]],
                }
    header = {
        "experiment": name,
        "title": "Made up",
        "kind": "regret",
        "iterations": 4,
        "reference": methods[0],
        "problems": ["Hartmann6", "Levy8"],
        "methods": {m: {} for m in methods},
    }
    return Results(header, rows, dict.fromkeys(rows, 2.0))


# -- metrics


def test_simple_regret_is_the_best_so_far_and_starts_at_the_initial_design() -> None:
    np.testing.assert_array_equal(simple_regret(ROW), [4.0, 4.0, 2.0, 2.0, 1.0])
    np.testing.assert_array_equal(cumulative_regret(ROW), [5.0, 7.0, 10.0, 11.0])
    assert final_regret(ROW) == 1.0


def test_ausr_is_the_formula_of_the_paper() -> None:
    r = simple_regret(ROW)[1:]  # r_1 ... r_T
    T = len(r)
    assert ausr(ROW) == pytest.approx(sum((r[t - 1] + r[t]) / 2 for t in range(1, T)) / (T - 1))
    assert ausr(ROW) == pytest.approx((3.0 + 2.0 + 1.5) / 3)


def test_a_method_with_half_the_regret_has_a_ratio_of_one_half_with_no_doubt() -> None:
    c = compare(results_of(), "Levy8", "ccgbo", "ucb")
    assert (c.ratio, c.low, c.high) == pytest.approx((0.5, 0.5, 0.5))
    assert (c.wins, c.losses, c.n) == (6, 0, 6)
    assert overall_ratio(results_of(), "ccgbo", "ucb") == pytest.approx((0.5, 0.5, 0.5))


def test_the_interval_is_paired_and_covers_a_known_ratio() -> None:
    rng = np.random.default_rng(1)
    hits, paired, unpaired = 0, [], []
    for i in range(60):
        shared = rng.gamma(4.0, 1.0, size=25)
        mine, theirs = 0.8 * shared * rng.uniform(0.9, 1.1, 25), shared
        low, high = ratio_interval(mine, theirs, seed=i)
        hits += low <= 0.8 <= high
        paired.append(high - low)
        unpaired.append(np.subtract(*ratio_interval(rng.permutation(mine), theirs, seed=i)[::-1]))
    assert hits >= 50  # 95 % of 60 is 57
    assert np.mean(paired) < 0.3 * np.mean(unpaired)


def test_two_regrets_of_zero_are_equal() -> None:
    assert ratio_interval(np.zeros(4), np.zeros(4)) == (1.0, 1.0)
    assert ratio_interval(np.ones(4), np.array([0.0, 0.0, 0.0, 2.0]))[1] == np.inf


def test_seeds_that_only_one_method_has_finished_are_left_out_of_a_comparison() -> None:
    results = results_of()
    del results.rows[Cell(problem="Levy8", method="ccgbo", seed=5)]
    assert compare(results, "Levy8", "ccgbo", "ucb").n == 5


def test_rounding_keeps_six_digits_everywhere() -> None:
    assert rounded({"a": [1.23456789, 123456789.0], "b": 3}) == {"a": [1.23457, 123457000.0], "b": 3}


# -- the paper's numbers


def test_the_papers_ratios_are_those_of_its_table() -> None:
    ratios = {p: published_ratio("ausr", "ausr", p, "ccgbo", "ucb") for p in AUSR}
    expected = {"Hartmann6": 0.84, "Levy8": 0.71, "Griewank6": 0.87, "Rosenbrock10": 0.89}
    for problem, value in expected.items():
        assert ratios[problem] == pytest.approx(value, abs=0.006)
    assert published("beta", "final", "Levy8", "ccgbo") == (11.0, 6.38)
    assert published("ablation_lambda", "final", "Hartmann6", "lambda = 0.5") == (1.03, 0.33)
    assert published("tau", "ausr", "Levy8", "ccgbo") is None


# -- tables


def test_the_ratio_table_has_ours_and_the_papers_side_by_side() -> None:
    table = tables.ratio_table(results_of())
    assert table.rows[0] == ("Hartmann6", "CCGBO", "0.500 [0.500, 0.500]", "0.84", "6–0")


def test_a_ratio_of_one_seed_has_no_interval_and_is_off_one_for_nobody() -> None:
    one = results_of(n=1)
    assert tables.ratio_table(one).rows[0][2] == "0.500"
    assert tables.quality_table(one).rows[1][1:3] == ("0.500", "0.500")
    assert tables.overall_table(one).rows[0][1::2] == ("0.500", "0 better, 0 worse of 2")
    assert tables.overall_table(results_of(n=2)).rows[0][1::2] == ("0.500 [0.500, 0.500]", "2 better, 0 worse of 2")


def test_the_value_table_prints_the_smallest_mean_in_bold() -> None:
    table = tables.value_table(results_of(), scale=3.0)
    assert table.columns == ("Task", "GP-UCB", "CCGBO")
    assert not table.rows[0][1].startswith("**")
    assert table.rows[0][2].startswith("**")


def test_the_overall_table_counts_clear_wins() -> None:
    row = tables.overall_table(results_of()).rows[0]
    assert row[:2] == ("CCGBO", "0.500 [0.500, 0.500]")
    assert row[3] == "2 better, 0 worse of 2"


def test_a_method_is_compared_with_the_one_it_is_against() -> None:
    results = results_of(methods=("ucb", "ccgbo", "ucb, few", "ccgbo, few"))
    results.header["against"] = {"ccgbo, few": "ucb, few"}
    ratios = {(row[0], row[1]): row[2] for row in tables.ratio_table(results).rows}
    assert ratios["Levy8", "ccgbo, few"].startswith("0.500")
    assert ratios["Levy8", "ucb, few"].startswith("0.250")
    assert tables.ratio_table(results).columns[2] == "Ratio to its own reference"


def test_the_variant_table_shows_the_papers_final_regret() -> None:
    results = results_of("ablation_lambda", ("ucb", "lambda = 0.5"))
    table = tables.variant_table(results)
    assert table.rows[1][0] == "lambda = 0.5"
    assert table.rows[1][2] == "1.03 ± 0.33"
    assert table.rows[1][3] == "0.500 [0.500, 0.500]"


def test_markdown_csv_and_latex_say_the_same() -> None:
    table = tables.ratio_table(results_of())
    assert table.markdown().splitlines()[2] == "| " + " | ".join(table.rows[0]) + " |"
    parsed = list(csv.reader(io.StringIO(table.csv())))
    assert tuple(parsed[0]) == table.columns
    assert tuple(parsed[1]) == table.rows[0]
    latex = table.latex()
    assert r"Hartmann6 & CCGBO & 0.500 [0.500, 0.500] & 0.84 & 6--0 \\" in latex
    assert latex.count(r"\\") == len(table.rows) + 1


def test_the_cost_table_sums_cpu_hours() -> None:
    assert results_of().cpu_hours() == pytest.approx(24 * 2.0 / 3600.0)
    assert tables.cost_table(results_of()).rows[0] == ("Hartmann6", "2.00", "2.00")


# -- figures and the page


def test_a_curve_is_the_mean_and_its_band_one_standard_error() -> None:
    figure = figures.regret_curves(results_of(), "simple")
    ax = figure.axes[0]
    results = results_of()
    curves = np.array([simple_regret(results.row("Hartmann6", "ucb", seed)) for seed in range(6)])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), curves.mean(axis=0))
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    error = curves.std(axis=0, ddof=1) / np.sqrt(6)
    assert band.max() == pytest.approx((curves.mean(axis=0) + error).max())
    assert band.min() == pytest.approx((curves.mean(axis=0) - error).min())
    assert [ax.get_title() for ax in figure.axes[:2]] == ["Hartmann6", "Levy8"]


def test_a_report_writes_its_tables_figures_and_page(tmp_path: Path) -> None:
    from ccgbo.bench.experiment import parse_experiment
    from ccgbo.bench.runner import run_experiment

    spec = {"name": "tiny", "title": "Tiny", "problems": ["Rosenbrock2"], "methods": ["random"], "seeds": 2}
    run_experiment(parse_experiment({**spec, "reference": "random", "iterations": 3}), tmp_path / "tiny.jsonl")
    report = make_report(tmp_path / "tiny.jsonl")
    write_report(report, table_dir=tmp_path / "tables", figure_dir=tmp_path / "img")
    assert {path.suffix for path in (tmp_path / "tables").iterdir()} == {".md", ".csv", ".tex"}
    assert (tmp_path / "img" / "tiny_simple.png").read_bytes().startswith(b"\x89PNG")
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- begin tiny -->\nstale\n<!-- end tiny -->\nafter\n")
    assert refresh_page(page, [report], "img") == ["tiny"]
    once = page.read_text()
    assert refresh_page(page, [report], "img") == ["tiny"]
    assert page.read_text() == once
    assert "stale" not in once
    assert "img/tiny_simple.png" in once
    assert once.startswith("before\n")
    assert once.endswith("after\n")
