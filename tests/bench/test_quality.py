"""Experiments against other libraries: paired runs, peers as methods, and result files that read back the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from ccgbo.bench import files
from ccgbo.bench.cli import bench
from ccgbo.bench.experiment import Cell, Experiment, experiment_names, load_experiment, parse_experiment
from ccgbo.bench.methods import METHODS, get_method
from ccgbo.bench.metrics import ausr, overall_ratio, simple_regret
from ccgbo.bench.peers import PEERS, Peer
from ccgbo.bench.problems import GROUPS, get_problem
from ccgbo.bench.quality import paired_noise, spread
from ccgbo.bench.results import read_results
from ccgbo.bench.runner import run_cell, run_experiment
from ccgbo.errors import MissingExtraError, SettingError, StorageError

RESULTS = Path(__file__).parents[2] / "results"
SPEC: dict[str, Any] = {
    "name": "tiny",
    "title": "A small comparison",
    "kind": "quality",
    "problems": ["Branin2"],
    "methods": ["default", "random"],
    "reference": "random",
    "iterations": 3,
    "seeds": 2,
}


def tiny(**changes: Any) -> Experiment:
    return parse_experiment({**SPEC, **changes})


def row(experiment: Experiment, method: str, seed: int = 0) -> dict[str, Any]:
    return run_cell(experiment, Cell(problem=experiment.problems[0], method=method, seed=seed))[0]


def test_every_method_of_a_seed_starts_from_the_same_points() -> None:
    ours, random = (row(tiny(), method) for method in ("default", "random"))
    assert ours["n_initial"] == 10 and ours["initial"] == random["initial"]
    assert row(tiny(), "random", seed=1)["initial"] != random["initial"]


def test_the_optimizer_itself_says_what_it_recommends_and_a_peer_does_not() -> None:
    ours, random = (row(tiny(noise=0.5), method) for method in ("default", "random"))
    assert {"recommended", "seen"} <= ours.keys() and not {"recommended", "seen"} & random.keys()
    assert ours["seen"] >= simple_regret(ours)[-1]  # the best seen need not be the best


def test_noise_is_relative_to_the_spread_and_the_same_for_every_method(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[dict[str, Any], float]] = []
    make = type(get_method("random")).make

    def listening(self: Any, space: Any, seed: int, initial: Any) -> Any:
        told.extend(initial)
        return make(self, space, seed, initial)

    monkeypatch.setattr(type(get_method("random")), "make", listening)
    row(tiny(noise=0.5), "random", seed=3)
    problem = get_problem("Branin2")
    errors = [value - problem(point) for point, value in told]
    assert errors == pytest.approx([0.5 * spread(problem) * paired_noise(3, i) for i in range(10)])


def test_without_a_design_a_method_makes_its_own_and_every_evaluation_counts() -> None:
    experiment = tiny(design=False, methods=["start-5", "start-2d"], reference="start-2d", iterations=7)
    found = row(experiment, "start-5")
    assert found["n_initial"] == 0 and len(found["regret"]) == 7
    assert simple_regret(found)[1] == found["regret"][0]  # not cut by a point that nobody was shown


def test_noise_and_design_belong_to_the_quality_kind() -> None:
    for wrong in ({"noise": 0.5}, {"design": False}):
        with pytest.raises(SettingError, match="'quality'"):
            tiny(kind="regret", methods=["random"], **wrong)
    with pytest.raises(SettingError, match="noise must be >= 0"):
        tiny(noise=-1.0)


def test_a_file_with_other_noise_is_not_carried_on(tmp_path: Path) -> None:
    run_experiment(tiny(seeds=1, methods=["random"]), tmp_path / "a.jsonl.gz")
    with pytest.raises(StorageError, match="noise"):
        run_experiment(tiny(seeds=1, methods=["random"], noise=0.1), tmp_path / "a.jsonl.gz")


@pytest.mark.parametrize("end", [".jsonl", ".jsonl.gz"])
def test_interrupted_anywhere_and_resumed_the_file_is_the_same_byte_for_byte(tmp_path: Path, end: str) -> None:
    whole, cut = tmp_path / f"whole{end}", tmp_path / f"cut{end}"
    experiment = tiny(methods=["random"], seeds=3)
    run_experiment(experiment, whole)
    rows = files.read_text(whole).splitlines(keepends=True)
    for line in rows[:3]:
        files.append(cut, line)
    data = cut.read_bytes()
    cut.write_bytes(data[:-40])  # a crash in the middle of the third line
    assert len(read_results(cut).rows) == 1
    run_experiment(experiment, cut)
    assert cut.read_bytes() == whole.read_bytes()


def test_a_compressed_file_says_what_the_plain_one_says(tmp_path: Path) -> None:
    for end in (".jsonl", ".jsonl.gz"):
        run_experiment(tiny(methods=["random"]), tmp_path / f"a{end}")
    plain, compressed = (read_results(tmp_path / f"a{end}") for end in (".jsonl", ".jsonl.gz"))
    assert plain.rows == compressed.rows and plain.header == compressed.header
    assert compressed.cpu.keys() == plain.cpu.keys() == plain.rows.keys()


def test_a_missing_library_leaves_its_peer_out_and_runs_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(self: Peer) -> Any:
        raise MissingExtraError(f"the peer {self.module}", "peers")

    monkeypatch.setattr(Peer, "load", missing)
    said: list[str] = []
    found = run_experiment(tiny(seeds=1, methods=["random", "optuna-gp"]), tmp_path / "a.jsonl", report=said.append)
    assert {cell.method for cell in found.rows} == {"random"}
    assert said == ["optuna-gp is left out: the peer optuna needs an optional dependency: pip install 'ccgbo[peers]'"]


def test_making_an_experiment_or_listing_the_methods_loads_no_library_of_a_peer() -> None:
    import subprocess
    import sys

    code = "import sys; from ccgbo.bench.experiment import load_experiment; load_experiment('quality'); "
    code += "print([m for m in ('torch', 'optuna', 'ax', 'botorch', 'bayes_opt') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.heavy
@pytest.mark.parametrize("name", [name for name, peer in PEERS.items() if peer.environment is None])
def test_a_peer_searches_numbers_and_choices(name: str) -> None:
    problem = get_problem("Func3C")
    rng = np.random.default_rng(0)
    points = [problem.space.decode(u) for u in problem.space.sample(6, rng)]
    searcher = get_method(name).make(problem.space, 0, [(point, problem(point)) for point in points])
    for _ in range(2):
        point = searcher.ask()
        searcher.tell(point, problem(point))  # refuses a point outside the space


def test_two_methods_that_have_arrived_are_equal() -> None:
    path = RESULTS / "quality.jsonl.gz"
    results = read_results(path).chosen(problems=["OTLCircuit6"])
    assert overall_ratio(results, "default", "gp-logei", "final")[0] == pytest.approx(1.0, abs=1e-3)


def test_ratios_can_be_taken_to_another_method_and_of_the_first_evaluations() -> None:
    results = read_results(RESULTS / "quality_long.jsonl.gz")
    head = results.chosen(iterations=20, reference="default", methods=["optuna-gp"])
    assert head.methods == ["default", "optuna-gp"] and head.reference_of("optuna-gp") == "default"
    assert {len(r["regret"]) for r in head.rows.values()} == {20}
    with pytest.raises(SettingError, match="methods must be among"):
        results.chosen(methods=["nobody"])
    with pytest.raises(SettingError, match="problems must be among"):
        results.chosen(problems=["Branin2"])


KEPT = [n for n in experiment_names() if (RESULTS / f"{n}.jsonl.gz").is_file() and load_experiment(n).kind == "quality"]


@pytest.mark.parametrize("name", KEPT)
def test_the_kept_rows_of_an_experiment_belong_to_it(name: str) -> None:
    experiment, results = load_experiment(name), read_results(RESULTS / f"{name}.jsonl.gz")
    assert results.header["iterations"] == experiment.iterations and results.header["noise"] == experiment.noise
    assert {c.problem for c in results.rows} <= set(experiment.problems)
    assert {c.method for c in results.rows} <= set(experiment.labels) <= set(METHODS)
    assert all(np.isfinite(ausr(r)) for r in results.rows.values())
    assert results.cpu.keys() == results.rows.keys()


@pytest.mark.parametrize(
    ("experiment", "problem", "method", "seed"),
    [("choosing", "Branin2", "tight-prior", 700), ("choosing_noise_05", "Currin2", "no-middle", 701)],
)
def test_a_kept_row_can_be_run_again(experiment: str, problem: str, method: str, seed: int) -> None:
    kept = read_results(RESULTS / f"{experiment}.jsonl.gz").row(problem, method, seed)
    short = parse_experiment(
        {**SPEC, "problems": [problem], "methods": [method], "reference": method, "iterations": 4}
        | ({"noise": 0.5} if experiment.endswith("05") else {})
    )
    again = run_cell(short, Cell(problem=problem, method=method, seed=seed))[0]
    assert json.loads(json.dumps(again["initial"])) == pytest.approx(kept["initial"], rel=1e-5)
    assert simple_regret(again)[1:] == pytest.approx(simple_regret(kept)[1:5], rel=1e-3)


def test_no_problem_is_both_chosen_on_and_reported_on() -> None:
    assert not set(GROUPS["choosing"]) & set(GROUPS["reporting"])
    assert (len(GROUPS["choosing"]), len(GROUPS["reporting"])) == (27, 15)
    assert set(GROUPS["numbers"]) | set(GROUPS["mixed"]) == set(GROUPS["choosing"]) | set(GROUPS["reporting"])
    for name in (*GROUPS["mixed"], *GROUPS["numbers"]):
        assert (name in GROUPS["mixed"]) == get_problem(name).space.mixed, name


def test_the_command_prints_the_tables_of_a_quality_experiment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(RESULTS.parent)
    arguments = ["report", "quality", "--problems", "mixed", "--methods", "default,optuna-tpe,random"]
    out = CliRunner().invoke(bench, arguments, catch_exceptions=False).output
    assert "| default |" in out and "KNNWine" in out and "Hartmann3" not in out and "BoTorch" not in out
    named = CliRunner().invoke(bench, ["report", "quality", "--methods", "paper"]).output  # a group of problems, too
    assert "| paper preset |" in named
    wrong = CliRunner().invoke(bench, ["report", "quality", "--reference", "nobody"])
    assert wrong.exit_code == 1 and "reference must be among" in wrong.output
