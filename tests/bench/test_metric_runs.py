"""Experiments with several metrics: paired runs, peers and the optimizer as methods, measures and tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from ccgbo.bench import tables
from ccgbo.bench.cli import bench
from ccgbo.bench.experiment import Cell, Experiment, load_experiment, parse_experiment
from ccgbo.bench.metric_methods import METRIC_METHODS, METRIC_PEERS, get_metric_method
from ccgbo.bench.metrics import compare, log_area, overall_ratio
from ccgbo.bench.problems import get_metric_problem
from ccgbo.bench.quality import design_of
from ccgbo.bench.report import make_report
from ccgbo.bench.results import Results, read_results
from ccgbo.bench.runner import run_cell, run_experiment
from ccgbo.errors import SettingError, StorageError

CONSTRAINED: dict[str, Any] = {
    "name": "bounded",
    "title": "A small grid with constraints",
    "kind": "constrained",
    "problems": ["Gramacy2"],
    "methods": ["default", "default-credit", "optuna-tpe", "random"],
    "reference": "random",
    "initial": 4,
    "iterations": 3,
    "seeds": 2,
}
PARETO: dict[str, Any] = {
    **CONSTRAINED,
    "name": "fronts",
    "title": "A small grid with fronts",
    "kind": "pareto",
    "problems": ["BraninCurrin2x2", "C2DTLZ2_4x2"],
    "methods": ["default", "scalarized", "optuna-tpe", "random"],
}


def tiny(spec: dict[str, Any], **changes: Any) -> Experiment:
    return parse_experiment({**spec, **changes})


# -- experiments


def test_kinds_have_their_own_problems_and_methods() -> None:
    for wrong, message in (
        ({"problems": ["Branin2"]}, "problems must be among"),
        ({"problems": ["ZDT1_6x2"]}, "problems must be among"),
        ({"methods": ["random", "gp-ts"]}, "method must be one of"),
        ({"methods": ["random", {"method": "default", "beta": 2.0}]}, "has no option 'beta'"),
        ({"noise": 0.5}, "belong to the kind 'quality'"),
        ({"initial": 0}, "initial must be"),
    ):
        with pytest.raises(SettingError, match=message):
            tiny(CONSTRAINED, **wrong)


def test_making_an_experiment_of_several_metrics_loads_no_library_of_a_peer() -> None:
    import subprocess
    import sys

    code = "import sys; from ccgbo.bench.experiment import load_experiment; load_experiment('pareto'); "
    code += "load_experiment('constrained'); "
    code += "print([m for m in ('torch', 'optuna', 'ax', 'botorch') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_file_says_which_settings_were_in_force_with_these_metrics() -> None:
    records = {kind: load_experiment(kind).record()["methods"] for kind in ("constrained", "pareto")}
    assert records["constrained"]["default"]["settings"]["acquisition"] == "LogEI()"
    assert records["pareto"]["default"]["settings"]["acquisition"] == "EHVI()"
    assert records["pareto"]["default-credit"]["settings"]["credit"]["strength"] == 0.5
    assert records["pareto"]["optuna-gp"]["settings"] is None


def test_the_command_lists_problems_and_methods_of_several_metrics() -> None:
    out = CliRunner().invoke(bench, ["list"], catch_exceptions=False).output
    assert "problems, pareto_reporting" in out and "WeldedBeam4" in out and "botorch-nehvi" in out


# -- measures


def results_of(kind: str, regret: dict[str, list[list[float]]]) -> Results:
    """Made-up runs: for each method the regrets of each seed, the first of them at the start."""
    rows = {
        Cell(problem="ZDT3_6x2", method=method, seed=seed): {"n_initial": 4, "initial": each[0], "regret": each[1:]}
        for method, runs in regret.items()
        for seed, each in enumerate(runs)
    }
    header = {
        "experiment": "made",
        "title": "Made up",
        "kind": kind,
        "iterations": len(next(iter(regret.values()))[0]) - 1,
        "reference": "optuna-gp",
        "problems": ["ZDT3_6x2"],
        "methods": {method: {} for method in regret},
    }
    return Results(header, rows, dict.fromkeys(rows, 2.0))


def test_the_area_under_the_log_is_a_geometric_mean_over_iterations() -> None:
    row = {"n_initial": 4, "initial": 1.0, "regret": [0.1, 0.01, 0.001]}
    assert log_area(row) == pytest.approx(np.exp(np.mean(np.log(np.array([0.1, 0.01, 0.001]) + 1e-4))))
    arrived = {"n_initial": 4, "initial": 1.0, "regret": [-0.1, -0.2]}  # beyond the best known
    assert log_area(arrived) == pytest.approx(1e-4)


def test_ratios_of_hypervolume_differences_are_geometric_over_seeds_too() -> None:
    theirs = [[8.0, 4.0, 2.0], [800.0, 400.0, 200.0]]
    ours = [[8.0, 2.0, 1.0], [800.0, 800.0, 400.0]]  # half of theirs, then twice
    results = results_of("pareto", {"optuna-gp": theirs, "default": ours})
    assert overall_ratio(results, "default", "optuna-gp")[0] == pytest.approx(1.0, abs=1e-3)
    found = compare(results, "ZDT3_6x2", "default", "optuna-gp")
    assert found.ratio == pytest.approx(1.0, abs=1e-3) and (found.wins, found.losses) == (1, 1)
    assert found.low == pytest.approx(0.5, abs=1e-3) and found.high == pytest.approx(2.0, abs=1e-3)
    arithmetic = overall_ratio(
        results_of("constrained", {"optuna-gp": theirs, "default": ours}), "default", "optuna-gp"
    )
    assert arithmetic[0] > 1.9  # the second seed is a hundred times larger


def test_tables_name_what_they_compare() -> None:
    runs = {"optuna-gp": [[8.0, 4.0, 2.0]] * 2, "default": [[8.0, 2.0, 1.0]] * 2}
    fronts = tables.quality_table(results_of("pareto", runs))
    assert fronts.columns[1:3] == ("Area under log hypervolume difference", "Final hypervolume difference")
    assert tables.quality_table(results_of("constrained", runs)).columns[1:3] == ("AUSR", "Final regret")
    assert "0.500" in next(row for row in fronts.rows if row[0] == "default")[1]


# -- runs


@pytest.mark.heavy
@pytest.mark.parametrize("spec", [CONSTRAINED, PARETO], ids=["constrained", "pareto"])
def test_every_method_starts_from_the_same_points_and_follows_its_seed(spec: dict[str, Any]) -> None:
    grid = tiny(spec)
    rows = {
        label: [run_cell(grid, Cell(problem=grid.problems[0], method=label, seed=0))[0] for _ in range(2)]
        for label in grid.labels
    }
    assert len({row["initial"] for both in rows.values() for row in both}) == 1
    for first, second in rows.values():
        assert first == second and len(first["regret"]) == 3 and 0 <= first["feasible"] <= 3


@pytest.mark.heavy
def test_methods_can_be_added_to_a_file_later_and_a_changed_one_that_has_run_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ccgbo.bench import metric_methods
    from ccgbo.bench.metric_methods import OptimizerMethod

    path, grid = tmp_path / "a.jsonl.gz", tiny(CONSTRAINED, seeds=1)
    run_experiment(grid, path, methods=["optuna-tpe", "random"])
    before = read_results(path).rows
    changed = {**METRIC_METHODS, "default": OptimizerMethod(changes={"acquisition": "ei"})}
    monkeypatch.setattr(metric_methods, "METRIC_METHODS", changed)  # nobody has run it yet
    found = run_experiment(grid, path, methods=["default"])
    assert before.items() <= found.rows.items() and found.methods == ["default", "optuna-tpe", "random"]
    monkeypatch.undo()
    with pytest.raises(StorageError, match="other settings for 'default'"):
        run_experiment(grid, path)


@pytest.mark.heavy
@pytest.mark.parametrize("spec", [CONSTRAINED, PARETO], ids=["constrained", "pareto"])
def test_a_grid_becomes_tables_and_figures(spec: dict[str, Any], tmp_path: Path) -> None:
    from ccgbo.bench.report import write_report

    run_experiment(tiny(spec), tmp_path / "a.jsonl.gz")
    report = make_report(tmp_path / "a.jsonl.gz")
    names = {table.name for table in report.tables}
    assert {f"{spec['name']}_overall", f"{spec['name']}_rivals", f"{spec['name']}_each"} <= names
    write_report(report, table_dir=tmp_path, figure_dir=tmp_path)
    assert (tmp_path / f"{spec['name']}_simple.png").stat().st_size > 1000


TRIED = [
    *(("Gramacy2", name) for name in METRIC_METHODS if name not in ("scalarized", "botorch-nehvi")),
    *(("C2DTLZ2_4x2", name) for name in METRIC_METHODS if not name.startswith(("logei", "botorch-logei"))),
    ("DTLZ2_6x3", "optuna-gp"),
    ("DTLZ2_6x3", "botorch-nehvi"),
]


@pytest.mark.heavy
@pytest.mark.parametrize(("problem", "name"), TRIED)
def test_a_method_searches_with_several_metrics(problem: str, name: str) -> None:
    task = get_metric_problem(problem)
    points = design_of(task.space, 0, 6)
    searcher = get_metric_method(name).make(task.task, 0, [(point, task(point)) for point in points])
    for _ in range(2):
        point = searcher.ask()
        searcher.tell(point, task(point))  # refuses a point outside the space


@pytest.mark.heavy
def test_constrained_logei_of_botorch_finds_feasible_points_where_random_search_has_none() -> None:
    problem = get_metric_problem("WeldedBeam4")  # 15 in 10,000 uniform points are feasible
    initial = [(point, problem(point)) for point in design_of(problem.space, 0)]
    assert not any(max(list(values.values())[1:]) <= 0.0 for _, values in initial)
    searcher = get_metric_method("botorch-logei").make(problem.task, 0, initial)
    least = []
    for _ in range(6):
        point = searcher.ask()
        values = problem(point)
        searcher.tell(point, values)
        least.append(sum(v > 0.0 for v in list(values.values())[1:]))
    assert min(least) <= 1  # of six constraints


@pytest.mark.heavy
def test_nsga2_breeds_from_the_points_that_it_was_given() -> None:
    """Uniform crossover: with ten given points nearly every coordinate of a child is one of theirs."""
    problem = get_metric_problem("DTLZ2_6x2")
    points = design_of(problem.space, 0, 10)
    searcher = get_metric_method("optuna-nsga2").make(problem.task, 0, [(p, problem(p)) for p in points])
    children = []
    for _ in range(5):
        children.append(searcher.ask())
        searcher.tell(children[-1], problem(children[-1]))
    taken = [any(child[name] == p[name] for p in points) for child in children for name in problem.space]
    assert np.mean(taken) > 0.5


def test_every_peer_has_a_library_of_its_own_behind_it() -> None:
    assert {peer.peer.module for peer in METRIC_PEERS.values()} == {"optuna_metrics", "botorch_metrics", "ax_metrics"}
