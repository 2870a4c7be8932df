"""Peers for many dimensions, and peers that are asked over a pipe."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from ccgbo.bench.cli import bench
from ccgbo.bench.experiment import parse_experiment
from ccgbo.bench.methods import get_method
from ccgbo.bench.peers import PEERS, environments
from ccgbo.bench.peers.remote import PeerError, RemoteSearch, short_run
from ccgbo.bench.problems import get_problem
from ccgbo.bench.results import read_results
from ccgbo.bench.runner import run_experiment
from ccgbo.bench.trust_region import LEAST_SIDE, TrustRegion
from ccgbo.errors import MissingExtraError, SettingError

SPEC: dict[str, Any] = {
    "name": "wide",
    "title": "A small grid in 25 dimensions",
    "kind": "quality",
    "problems": ["ShiftedLevy25", "ShiftedAckley25"],
    "methods": ["default", "default-nocredit", "cmaes", "random"],
    "reference": "random",
    "initial": 6,
    "iterations": 2,
    "seeds": 2,
}


def some(name: str, n: int = 8) -> tuple[Any, list[Any]]:
    problem = get_problem(name)
    points = [problem.space.decode(u) for u in problem.space.sample(n, np.random.default_rng(0))]
    return problem, [(point, problem(point)) for point in points]


def suggestions(searcher: Any, problem: Any, n: int) -> list[Any]:
    found = []
    for _ in range(n):
        found.append(searcher.ask())
        searcher.tell(found[-1], problem(found[-1]))
    return found


# -- the pipe


def test_a_peer_over_the_pipe_suggests_what_it_suggests_in_this_process() -> None:
    problem, initial = some("ShiftedLevy25")
    here = get_method("cmaes").make(problem.space, 3, initial)
    there = RemoteSearch(problem.space, 3, peer="cmaes", python=sys.executable)
    for point, value in initial:
        there.tell(point, value)
    assert suggestions(there, problem, 30) == suggestions(here, problem, 30)
    assert 0.0 < there.cpu_seconds < 60.0


def test_a_peer_that_fails_says_why_and_one_that_dies_says_so() -> None:
    space = get_problem("Branin2").space
    with pytest.raises(PeerError, match="KeyError: 'nobody'"):
        RemoteSearch(space, 0, peer="nobody", python=sys.executable)
    with pytest.raises(PeerError, match="the peer cmaes ended, with code 1"):
        RemoteSearch(space, 0, peer="cmaes", python="/bin/false")


def test_the_other_process_ends_with_its_searcher() -> None:
    space = get_problem("Branin2").space
    searcher = RemoteSearch(space, 0, peer="cmaes", python=sys.executable)
    process = searcher._process
    assert process.poll() is None
    del searcher
    assert process.wait(timeout=30) == 0


def test_a_short_run_over_the_pipe_gets_nearer_than_the_corner() -> None:
    regret, milliseconds = short_run("cmaes", python=sys.executable)
    assert 0.0 <= regret < 0.3**2 + 0.62**2 and milliseconds > 0.0


@pytest.mark.heavy
def test_an_environment_is_made_by_one_command_and_a_peer_runs_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CCGBO_PEERS", str(tmp_path))
    cli = CliRunner()
    assert "ccgbo bench peers setup cmaes" in cli.invoke(bench, ["peers"]).output
    made = cli.invoke(bench, ["peers", "setup", "cmaes"])
    assert made.exit_code == 0, made.output
    assert environments.interpreter("cmaes").is_file()
    tried = cli.invoke(bench, ["peers", "try", "cmaes"])
    assert tried.exit_code == 0 and "CPU ms each" in tried.output


def test_a_peer_without_its_environment_names_the_command_and_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CCGBO_PEERS", str(tmp_path))
    with pytest.raises(MissingExtraError, match="ccgbo bench peers setup hebo"):
        PEERS["hebo"].load()
    said: list[str] = []
    grid = parse_experiment({**SPEC, "methods": ["random", "saasbo"], "seeds": 1})
    found = run_experiment(grid, tmp_path / "a.jsonl", report=said.append)
    assert found.methods == ["random"] and "saasbo is left out" in said[0]
    refused = CliRunner().invoke(bench, ["peers", "setup", "nobody"])
    assert refused.exit_code == 1 and "peer must be one of" in refused.output


def test_a_line_of_pip_that_fails_stops_the_setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CCGBO_PEERS", str(tmp_path))
    monkeypatch.setitem(environments.ENVIRONMENTS, "cmaes", (("install", "--no-index", "there-is-no-such-thing"),))
    with pytest.raises(SettingError, match="there-is-no-such-thing failed"):
        environments.set_up("cmaes")
    assert not environments.is_there("cmaes")


def test_the_served_file_needs_nothing_of_ours() -> None:
    from ccgbo.bench.peers import served

    code = f"import runpy, sys; runpy.run_path({served.__file__!r}); "
    code += "print([m for m in sys.modules if m.split('.')[0] in ('ccgbo', 'torch', 'cmaes')])"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# -- the trust region


def test_a_trust_region_doubles_after_three_successes_and_halves_after_d_failures() -> None:
    region = TrustRegion(d=6)
    for value in (1.0, 2.0, 3.0):
        region = region.after(value, value - 1.0)
    assert (region.side, region.successes) == (1.6, 0)
    for _ in range(5):
        region = region.after(0.0, 3.0)
    assert (region.side, region.failures) == (1.6, 5)
    region = region.after(0.0, 3.0)
    assert (region.side, region.failures) == (0.8, 0)
    assert TrustRegion(d=6, side=LEAST_SIDE / 1.01).collapsed and not region.collapsed


def test_a_gain_of_less_than_a_thousandth_is_no_success() -> None:
    assert TrustRegion(d=5).after(10.009, 10.0).failures == 1
    assert TrustRegion(d=5).after(10.011, 10.0).successes == 1


def test_candidates_lie_in_the_box_and_move_about_twenty_coordinates() -> None:
    rng = np.random.default_rng(0)
    centre, unit = np.full(100, 0.5), np.repeat([0.5, 2.0], 50)
    U = TrustRegion(d=100, side=0.2).candidates(centre, unit, rng)
    assert U.shape == (5000, 100)
    moved = centre != U
    assert moved.any(axis=1).all() and 15.0 < moved.sum(axis=1).mean() < 25.0
    reach = np.abs(U - centre).max(axis=0)
    assert reach[:50].max() <= 0.05 + 1e-12 and 0.15 < reach[50:].max() <= 0.2 + 1e-12  # as the lengthscales are
    small = TrustRegion(d=2).candidates(np.array([0.0, 1.0]), np.ones(2), rng)
    assert len(small) == 200 and small.min() >= 0.0 and small.max() <= 1.0


def test_a_collapsed_turbo_forgets_and_begins_with_a_design_of_2_d_points() -> None:
    problem, initial = some("Branin2", 5)
    searcher: Any = get_method("turbo1").make(problem.space, 0, initial)
    searcher._region = TrustRegion(d=2, side=LEAST_SIDE * 1.01, failures=3)
    point = searcher.ask()
    searcher.tell(point, -1e9)  # a failure, the fourth
    assert len(searcher._design) == 4 and searcher._region == TrustRegion(d=2)
    suggestions(searcher, problem, 5)  # the design, then one from a model of the design alone
    assert not searcher._design and len(searcher.y) - searcher._first == 5


# -- searches


@pytest.mark.parametrize("name", ["turbo1", "cmaes", "turbo-box", "botorch-vanilla"])
def test_a_search_in_25_dimensions_follows_its_seed_and_stays_inside(name: str) -> None:
    problem, initial = some("ShiftedLevy25", 20)
    runs = [suggestions(get_method(name).make(problem.space, 1, initial), problem, 2) for _ in range(2)]
    assert runs[0] == runs[1]
    for point in runs[0]:
        problem.space.encode(point)  # refuses a point outside


def test_turbo_box_refuses_choices_and_a_missing_design() -> None:
    problem, initial = some("Func3C")
    with pytest.raises(SettingError, match="turbo-box needs numbers only"):
        get_method("turbo-box").make(problem.space, 0, initial)
    with pytest.raises(SettingError, match="initial design"):
        get_method("turbo-box").make(get_problem("Branin2").space, 0, [])


# -- the experiment


def test_the_size_of_the_design_is_that_of_the_file_and_agrees_with_the_rows(tmp_path: Path) -> None:
    found = run_experiment(parse_experiment({**SPEC, "methods": ["random"], "seeds": 1}), tmp_path / "a.jsonl")
    assert {row["n_initial"] for row in found.rows.values()} == {6}
    with pytest.raises(Exception, match="initial = 6, not 7"):
        run_experiment(parse_experiment({**SPEC, "methods": ["random"], "initial": 7}), tmp_path / "a.jsonl")
    for wrong, message in (({"initial": 0}, "initial must be"), ({"kind": "theory"}, "must belong to one of")):
        with pytest.raises(SettingError, match=message):
            parse_experiment({**SPEC, "methods": ["random"], **wrong})


def test_slices_run_one_by_one_give_the_file_of_the_whole(tmp_path: Path) -> None:
    spec = {**SPEC, "methods": ["cmaes", "random"]}
    run_experiment(parse_experiment(spec), tmp_path / "whole.jsonl")
    grid, file = parse_experiment(spec), tmp_path / "sliced.jsonl"
    run_experiment(grid, file, methods=["random"])
    assert {cell.method for cell in read_results(file).rows} == {"random"}
    run_experiment(grid, file, problems=["ShiftedAckley25"])
    assert len(read_results(file).rows) == 6
    run_experiment(grid, file)
    assert file.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    with pytest.raises(SettingError, match="methods must be among"):
        run_experiment(grid, file, methods=["turbo1"])


def test_rows_that_another_process_added_meanwhile_are_kept(tmp_path: Path) -> None:
    from ccgbo.bench.experiment import Cell
    from ccgbo.bench.results import ResultFile
    from ccgbo.bench.runner import run_cell

    grid, path = parse_experiment({**SPEC, "methods": ["random"]}), tmp_path / "a.jsonl"
    ours, theirs = ResultFile(path, grid), ResultFile(path, grid)
    for file, seed in ((ours, 0), (theirs, 1)):
        file.append(*run_cell(grid, Cell(problem="ShiftedLevy25", method="random", seed=seed)))
        file.finish()
    ours.finish()
    results = read_results(path)
    assert {cell.seed for cell in results.rows} == {0, 1} and results.cpu.keys() == results.rows.keys()


def test_the_report_has_the_ratio_to_each_peer_on_each_task_and_over_all(tmp_path: Path) -> None:
    out = tmp_path / "wide.jsonl"
    (tmp_path / "wide.toml").write_text(
        "\n".join(f"{key} = {value!r}".replace("'", '"') for key, value in SPEC.items()), encoding="utf-8"
    )
    cli = CliRunner()
    slices = [["--methods", "default,default-nocredit"], ["--methods", "cmaes,random", "--problems", "highdim_20_200"]]
    for options in slices:
        ran = cli.invoke(bench, ["run", str(tmp_path / "wide.toml"), "-o", str(out), "--no-progress", *options])
        assert ran.exit_code == 0, ran.output
    shown = cli.invoke(bench, ["report", str(out)], catch_exceptions=False).output
    assert "| Task | to default without credit | to CMA-ES | to Random |" in shown
    rivals = shown[shown.index("default to each peer") :]
    for peer in ("CMA-ES", "Random", "default without credit"):
        line = next(each for each in rivals.splitlines() if each.startswith(f"| {peer} |"))
        assert line.count("[") >= 3  # AUSR, final regret, worst task
    tasks = [line for line in shown.splitlines() if line.startswith("| ShiftedLevy25 |") and line.count("[") == 3]
    assert len(tasks) == 1
