"""A grid runs, stops, goes on, and gives the same file."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from ccgbo.bench import runner
from ccgbo.bench.cli import bench
from ccgbo.bench.experiment import Cell, Experiment, experiment_names, load_experiment, parse_experiment
from ccgbo.bench.problems import get_problem
from ccgbo.bench.results import ResultFile, read_results
from ccgbo.bench.runner import initial_design, run_cell, run_experiment
from ccgbo.errors import SettingError, StorageError

SPEC: dict[str, Any] = {
    "name": "tiny",
    "title": "A small grid",
    "problems": ["Rosenbrock2", "Langermann2"],
    "methods": ["random", {"label": "plain", "method": "ucb", "tuning": {"n_candidates": 20}}],
    "reference": "random",
    "iterations": 3,
    "seeds": 2,
}


def tiny(**changes: Any) -> Experiment:
    return parse_experiment({**SPEC, **changes})


def test_a_second_run_gives_the_same_file_byte_for_byte(tmp_path: Path) -> None:
    for name in ("first", "second"):
        run_experiment(tiny(), tmp_path / f"{name}.jsonl")
    assert (tmp_path / "first.jsonl").read_bytes() == (tmp_path / "second.jsonl").read_bytes()


def test_an_experiment_may_say_how_many_points_every_method_is_shown_first(tmp_path: Path) -> None:
    few = run_experiment(tiny(initial=4), tmp_path / "few.jsonl")
    assert {row["n_initial"] for row in few.rows.values()} == {4}
    with pytest.raises(StorageError, match="has initial = 4, not None"):
        run_experiment(tiny(), tmp_path / "few.jsonl")
    with pytest.raises(SettingError, match="initial must belong to one of the kinds"):
        tiny(initial=4, kind="theory")


def test_two_workers_give_the_file_of_one(tmp_path: Path) -> None:
    run_experiment(tiny(), tmp_path / "one.jsonl")
    run_experiment(tiny(), tmp_path / "two.jsonl", jobs=2)
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()


def test_interrupting_and_resuming_gives_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    run_experiment(tiny(), whole)
    real, ran = runner._results, []

    def stops_after_three(*args: Any) -> Iterator[Any]:
        for i, row in enumerate(real(*args)):
            if i == 3:
                raise KeyboardInterrupt
            yield row

    monkeypatch.setattr(runner, "_results", stops_after_three)
    with pytest.raises(KeyboardInterrupt):
        run_experiment(tiny(), cut)
    assert len(read_results(cut).rows) == 3
    monkeypatch.setattr(runner, "_results", lambda *args: (ran.append(args[1]), real(*args))[1])
    run_experiment(tiny(), cut)
    assert [len(cells) for cells in ran] == [5]  # what was finished is not run again
    assert cut.read_bytes() == whole.read_bytes()


def test_a_line_cut_by_a_crash_is_dropped_and_run_again(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    run_experiment(tiny(), path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-25])
    assert len(read_results(path).rows) == 7
    run_experiment(tiny(), path)
    assert path.read_bytes() == whole


def test_more_seeds_extend_a_file_and_fewer_take_nothing_away(tmp_path: Path) -> None:
    path, direct = tmp_path / "out.jsonl", tmp_path / "direct.jsonl"
    run_experiment(tiny(seeds=1), path)
    run_experiment(tiny(), path)
    run_experiment(tiny(), direct)
    assert path.read_bytes() == direct.read_bytes()
    run_experiment(tiny(seeds=1), path)
    assert path.read_bytes() == direct.read_bytes()


def test_runs_of_other_settings_are_not_mixed_into_a_file(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    run_experiment(tiny(), path)
    other = ["random", {"label": "plain", "method": "ucb", "tuning": {"n_candidates": 30}}]
    with pytest.raises(StorageError, match="other settings for 'plain'"):
        run_experiment(tiny(methods=other), path)
    with pytest.raises(StorageError, match="iterations = 3, not 4"):
        run_experiment(tiny(iterations=4), path)


def test_a_setting_that_an_older_version_did_not_know_does_not_spoil_its_file(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    run_experiment(tiny(seeds=1), path)
    header, *rows = path.read_text().splitlines(keepends=True)
    older = json.loads(header)
    del older["methods"]["plain"]["settings"]["tuning"]["n_local"]
    path.write_text("".join([json.dumps(older) + "\n", *rows]))
    assert len(run_experiment(tiny(), path).rows) == 8


def test_a_file_from_before_the_tuning_was_one_object_is_carried_on_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    run_experiment(tiny(seeds=1), path)
    header, *rows = path.read_text().splitlines(keepends=True)
    older = json.loads(header)
    tuning = older["methods"]["plain"]["settings"].pop("tuning")
    older["methods"]["plain"]["settings"]["search"] = {"n_candidates": 20, "steps": tuning["search_steps"]}
    older["methods"]["plain"]["settings"]["pending"] = "believer"
    path.write_text("".join([json.dumps(older) + "\n", *rows]))
    assert len(run_experiment(tiny(), path).rows) == 8
    older["methods"]["plain"]["settings"]["search"]["steps"] = 7
    path.write_text("".join([json.dumps(older) + "\n", *rows]))
    with pytest.raises(StorageError, match="other settings for 'plain'"):
        run_experiment(tiny(), path)


def test_the_file_says_what_was_run_and_with_what(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    run_experiment(tiny(), path)
    header, *rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert header["versions"][0].keys() >= {"python", "ccgbo", "numpy", "scipy"}
    assert header["methods"]["plain"]["settings"]["tuning"]["n_candidates"] == 20
    assert header["methods"]["plain"]["settings"]["acquisition"] == "UCB(beta=2.576)"
    assert [(r["problem"], r["method"], r["seed"]) for r in rows] == [
        (p, m, s) for p in ("Rosenbrock2", "Langermann2") for m in ("random", "plain") for s in (0, 1)
    ]
    assert all(len(r["regret"]) == 3 and r["n_initial"] == 10 for r in rows)
    assert len(read_results(path).cpu) == 8


def test_every_method_of_a_seed_sees_the_same_initial_design_and_noise() -> None:
    rows = {m: run_cell(tiny(), Cell(problem="Langermann2", method=m, seed=4))[0] for m in ("random", "plain")}
    assert rows["random"]["initial"] == rows["plain"]["initial"]
    problem = get_problem("Langermann2", 4)
    first, second = initial_design(problem, 4), initial_design(problem, 4)
    assert first == second
    noise = [value - problem(point) for point, value in first]
    assert np.std(noise) == pytest.approx(0.1, rel=0.5)
    assert initial_design(problem, 5)[0] != first[0]


def test_regret_is_of_the_noise_free_value() -> None:
    row, _ = run_cell(tiny(), Cell(problem="Langermann2", method="random", seed=0))
    problem = get_problem("Langermann2", 0)
    assert row["initial"] == min(problem.regret(point) for point, _ in initial_design(problem, 0))
    assert min(row["regret"]) >= 0.0


def test_a_missing_extra_names_the_command_and_leaves_the_other_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "Box2D", None)  # as if it were not installed
    said: list[str] = []
    results = run_experiment(tiny(problems=["Rosenbrock2", "Robot4"]), tmp_path / "out.jsonl", report=said.append)
    assert results.problems == ["Rosenbrock2"]
    assert len(said) == 1
    assert said[0].startswith("Robot4 is left out")
    assert "pip install 'ccgbo[bench]'" in said[0]


def test_every_packaged_experiment_is_sound() -> None:
    names = experiment_names()
    assert {"ausr", "acquisitions_ts", "acquisitions_logei", "acquisitions_jes", "highdim", "beta", "tau", "theory",
            "illustration", "ablation_M", "ablation_K", "ablation_H", "ablation_lambda"} <= set(names)  # fmt: skip
    for name in names:
        experiment = load_experiment(name)
        assert experiment.name == name
        assert experiment.reference in experiment.labels
    ausr = load_experiment("ausr")
    assert (len(ausr.problems), len(ausr.labels), ausr.iterations) == (8, 8, 100)


def test_tau_is_chosen_on_seeds_that_no_table_uses() -> None:
    used = {cell.seed for name in experiment_names() if name != "tau" for cell in load_experiment(name).cells()}
    assert used.isdisjoint({cell.seed for cell in load_experiment("tau").cells()})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"problems": ["Hartman6"]}, "problems must be among"),
        ({"methods": ["random", "ubc"]}, "method must be one of"),
        ({"methods": ["ucb", "ucb"]}, "one label each"),
        ({"seeds": 0}, "seeds must be a whole number >= 1, got 0"),
        ({"budget": 10}, "no field 'budget'"),
        ({"kind": "speed"}, "kind must be one of"),
        ({"reference": "ucb"}, "must be labels of methods, got 'ucb'"),
    ],
)
def test_a_wrong_experiment_is_refused_by_the_field_as_typed(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        tiny(**changes)


def test_the_command_line_runs_lists_and_reports(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(
        'name = "tiny"\ntitle = "A small grid"\nproblems = ["Rosenbrock2"]\nmethods = ["random"]\n'
        'reference = "random"\niterations = 2\n'
    )
    out = tmp_path / "out.jsonl"
    cli = CliRunner()
    ran = cli.invoke(bench, ["run", str(tmp_path / "tiny.toml"), "--seeds", "2", "-o", str(out), "--no-progress"])
    assert ran.exit_code == 0, ran.output
    assert "2 runs" in ran.output
    listed = cli.invoke(bench, ["list"])
    assert "ausr" in listed.output
    assert "Portfolio5" in listed.output
    shown = cli.invoke(bench, ["report", str(out)])
    assert shown.exit_code == 0, shown.output
    assert "| Rosenbrock2 |" in shown.output


def test_a_directory_is_reported_without_its_other_files(tmp_path: Path) -> None:
    run_experiment(tiny(), tmp_path / "tiny.jsonl")
    (tmp_path / "other.jsonl").write_text('{"trial": 1}\n')
    (tmp_path / "broken.jsonl").write_text("{")
    shown = CliRunner().invoke(bench, ["report", str(tmp_path)])
    assert shown.exit_code == 0, shown.output
    assert "A small grid" in shown.output


def test_a_mistake_on_the_command_line_is_a_message_not_a_traceback(tmp_path: Path) -> None:
    cli = CliRunner()
    wrong = cli.invoke(bench, ["run", "asur"])
    assert wrong.exit_code == 1
    assert "experiment must be a .toml file or one of" in wrong.output
    missing = cli.invoke(bench, ["report", str(tmp_path / "nothing.jsonl")])
    assert missing.exit_code == 1
    assert "no result file" in missing.output


def test_a_file_that_is_no_result_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text('{"something": "else"}\n')
    with pytest.raises(StorageError, match="not a result file"):
        ResultFile(path, tiny())


@pytest.mark.heavy
@pytest.mark.parametrize("backend", ["dask", "ray"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning:ray")
@pytest.mark.filterwarnings("ignore::FutureWarning:ray")
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_cluster_gives_the_file_of_a_laptop(tmp_path: Path, backend: str) -> None:
    run_experiment(tiny(seeds=1), tmp_path / "laptop.jsonl")
    run_experiment(tiny(seeds=1), tmp_path / "cluster.jsonl", jobs=2, backend=backend)
    assert (tmp_path / "cluster.jsonl").read_bytes() == (tmp_path / "laptop.jsonl").read_bytes()
