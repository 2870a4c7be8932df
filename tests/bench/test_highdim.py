"""Problems in many dimensions: their facts, their optima, and the two sets that share nothing."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from ccgbo.bench.experiment import load_experiment
from ccgbo.bench.problems import GROUPS, get_problem, problem_names
from ccgbo.bench.problems.base import row_of
from ccgbo.bench.problems.lasso import data, greatest_penalty
from ccgbo.bench.problems.policies import TASKS, mean_return
from ccgbo.bench.problems.rover import GOAL, SIDE, START, curve, obstacles, rover
from ccgbo.bench.problems.shifted import target
from ccgbo.bench.quality import design_of
from ccgbo.bench.results import ResultFile
from ccgbo.bench.variants import VARIANTS
from ccgbo.engine.settings import MANY
from ccgbo.errors import MissingExtraError, StorageError
from ccgbo.surrogate.gp.priors import HVARFNER, MANY_LENGTHSCALES

CHOOSING, REPORTING = problem_names("highdim_choosing"), problem_names("highdim_reporting")
SHIFTED = [name for name in (*CHOOSING, *REPORTING) if name.startswith("Shifted")]
LASSO = ["LassoMade100", "LassoMade300", "LassoDiabetes200"]


def test_what_is_chosen_on_and_what_is_reported_share_neither_problem_nor_seed() -> None:
    choosing, reporting = load_experiment("highdim-choosing"), load_experiment("highdim-peers")
    assert (choosing.problems, reporting.problems) == (CHOOSING, REPORTING)
    assert (len(CHOOSING), len(REPORTING)) == (15, 17) and not set(CHOOSING) & set(REPORTING)
    seeds = [{cell.seed for cell in experiment.cells()} for experiment in (choosing, reporting)]
    assert not seeds[0] & seeds[1] and min(len(each) for each in seeds) >= 8
    assert choosing.initial == reporting.initial == 20
    assert {"default", "default-nocredit", "botorch-vanilla", "turbo1", "cmaes", "random"} <= set(reporting.labels)


def test_every_shifted_problem_has_an_optimum_of_its_own() -> None:
    firsts = {
        tuple(target(family, d)[:25]) for family in ("Ackley", "Rosenbrock", "Levy", "Rastrigin") for d in (25, 50)
    }
    assert len(firsts) == 8


def test_the_group_of_20_to_200_dimensions_has_those() -> None:
    both = {name: get_problem(name).space.d for name in (*CHOOSING, *REPORTING)}
    assert set(GROUPS["highdim_20_200"]) == {name for name, d in both.items() if 20 <= d <= 200}


@pytest.mark.parametrize("name", SHIFTED)
def test_a_shifted_problem_has_its_optimum_inside_and_away_from_the_centre(name: str) -> None:
    problem = get_problem(name)
    assert problem.argmax is not None and not problem.best_known and problem.optimum == 0.0
    assert abs(problem.regret(problem.argmax)) < 1e-12
    u = problem.space.encode(problem.argmax)
    assert np.all((np.abs(u - 0.5) > 0.0999) & (np.abs(u - 0.5) < 0.4001))
    assert len(np.unique(u)) == len(u)  # each coordinate elsewhere
    centre = problem.regret(problem.space.decode(np.full(problem.space.d, 0.5)))
    rng = np.random.default_rng(0)
    step = np.clip(u + 1e-3 * rng.standard_normal((20, len(u))), 0.0, 1.0)
    near = [problem.regret(problem.space.decode(v)) for v in step]
    assert min(near) > 0.0 and max(near) < 0.5 * centre


def test_a_shifted_formula_is_the_formula_of_the_distance_to_its_optimum() -> None:
    problem = get_problem("ShiftedRastrigin25")
    assert problem.argmax is not None
    where = row_of(problem.space, problem.argmax)
    x = where + 0.1 * np.arange(25) / 25
    z = x - where
    expected = 250.0 + sum(v * v - 10.0 * math.cos(2.0 * math.pi * v) for v in z)
    assert problem.values(x[None, :])[0] == pytest.approx(-expected, rel=1e-9)


@pytest.mark.parametrize("name", ["Rover60", *LASSO])
def test_the_best_known_value_is_attained_at_its_point_and_above_random_ones(name: str) -> None:
    problem = get_problem(name)
    assert problem.best_known and problem.argmax is not None
    assert problem(problem.argmax) == pytest.approx(problem.optimum, rel=1e-4)
    rng = np.random.default_rng(1)
    assert min(problem.regret(problem.space.decode(u)) for u in problem.space.sample(5, rng)) > 0.05


@pytest.mark.parametrize("name", TASKS)
def test_the_best_known_policy_is_far_above_random_ones(name: str) -> None:
    """Contacts amplify rounding, so another version of the simulator may move the value itself."""
    problem = get_problem(name)
    assert problem.best_known and problem.argmax is not None
    found = problem(problem.argmax)
    others = [problem(problem.space.decode(u)) for u in problem.space.sample(3, np.random.default_rng(2))]
    assert found > max(others) and found > 0.5 * problem.optimum
    assert problem(problem.argmax) == found  # the same episodes again


def test_a_policy_is_a_matrix_times_the_observation() -> None:
    import gymnasium

    matrix = np.random.default_rng(0).uniform(-1.0, 1.0, (2, 8))
    environment = gymnasium.make("Swimmer-v5")
    seen, _ = environment.reset(seed=0)
    total = 0.0
    for _ in range(1000):
        action = np.clip(matrix @ seen, -1.0, 1.0).astype(np.float32)
        seen, reward, _, _, _ = environment.step(action)
        total += float(reward)
    environment.close()
    assert mean_return(matrix, name="Swimmer16") == pytest.approx(total, rel=1e-9)


def test_the_straight_way_of_the_rover_hits_obstacles_and_the_best_known_one_none() -> None:
    line = np.linspace(0.05, 0.95, 30)
    straight = np.column_stack([line, line]).ravel()
    assert np.allclose(curve(straight)[[0, -1]], [START, GOAL])
    free = 5.0 - 0.05 * math.sqrt(2.0) * 0.9  # what no obstacle would leave
    assert rover(straight) < free - 1.0
    problem = get_problem("Rover60")
    assert problem.argmax is not None
    way = curve(row_of(problem.space, problem.argmax))
    assert not (np.abs(way[:, None, :] - obstacles()) < SIDE / 2).all(-1).any()
    assert problem.optimum < free


def test_missing_start_and_goal_costs_ten_for_each_unit() -> None:
    assert rover(np.tile([0.05, 0.05], 30)) == pytest.approx(5.0 - 10.0 * 1.8)  # it stays at the start


@pytest.mark.parametrize("name", LASSO)
def test_with_the_greatest_penalty_everywhere_nothing_is_predicted_but_the_mean(name: str) -> None:
    problem = get_problem(name)
    X, y = data(name)
    assert X.shape[1] == problem.space.d and greatest_penalty(X, y) > 0.0
    nothing = problem.values(np.zeros((1, problem.space.d)))[0]
    some = problem.values(np.full((1, problem.space.d), -1.0))[0]
    assert nothing < some < problem.optimum < 0.0


def test_rescaled_columns_are_a_lasso_with_a_penalty_for_each_coefficient() -> None:
    from sklearn.linear_model import Lasso

    X, y = data("LassoMade100")
    p = greatest_penalty(X, y) * 10.0 ** np.random.default_rng(0).uniform(-1.5, 0.0, 100)
    b = Lasso(alpha=1.0, tol=1e-10, max_iter=100_000).fit(X / p, y).coef_ / p
    slope = X.T @ (y - X @ b) / len(y)  # of the smooth part, at the optimum p sign(b), or smaller where b is zero
    np.testing.assert_allclose(slope[b != 0.0], (p * np.sign(b))[b != 0.0], rtol=1e-4)
    assert np.all(np.abs(slope) <= p * (1.0 + 1e-6))


def test_a_trajectory_that_avoids_every_obstacle_would_cost_nothing() -> None:
    problem = get_problem("Trajectory30")
    values = problem.values(np.random.default_rng(0).random((8, 30)))
    assert problem.optimum == 0.0 and np.all(values <= 0.0) and values.std() > 0.1


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [("Hopper33", "gymnasium.envs.mujoco", "bench"), ("LassoMade100", "sklearn.linear_model", "bench"),
     ("Trajectory30", "botorch.test_functions.synthetic", "botorch")],
)  # fmt: skip
def test_a_problem_without_its_library_names_the_extra(
    name: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)  # as if it were not installed
    with pytest.raises(MissingExtraError, match=rf"{name}.*ccgbo\[{extra}\]"):
        get_problem(name)


def test_a_simulator_that_gymnasium_misses_is_a_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [m for m in sys.modules if m.startswith("gymnasium.envs.mujoco")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(MissingExtraError, match=r"Swimmer16.*ccgbo\[bench\]"):
        get_problem("Swimmer16")


def test_the_variant_without_the_middle_is_the_default_for_many_parameters_in_all_else() -> None:
    space = get_problem("ShiftedLevy25").space
    start = [(point, 0.0) for point in design_of(space, 0, 1)]
    made = [VARIANTS[name]().make(space, 0, start) for name in ("default", "no-middle")]
    default, without = (search.optimizer.settings for search in made)  # type: ignore[attr-defined]
    assert default.tuning.recombine_every == 10
    assert without == replace(default, tuning=replace(default.tuning, recombine_every=None))


def test_the_acquisitions_of_our_own_that_the_default_is_compared_with_do_without_the_middle() -> None:
    few, many = (get_problem(name).space for name in ("Hartmann6", "ShiftedLevy25"))
    for name in ("gp-logei", "gp-ts-credit", "draws"):
        made = [VARIANTS[name]().make(s, 0, [(p, 0.0) for p in design_of(s, 0, 1)]) for s in (few, many)]
        tunings = [search.optimizer.settings.tuning for search in made]  # type: ignore[attr-defined]
        assert [t.recombine_stalled for t in tunings] == [None, None]
        assert [t.recombine_every for t in tunings] == [None, 10]


def test_the_variant_with_the_wide_prior_is_the_default_for_many_parameters_in_all_else() -> None:
    space = get_problem("ShiftedLevy25").space
    start = [(point, 0.0) for point in design_of(space, 0, 1)]
    made = [VARIANTS[name]().make(space, 0, start) for name in ("default", "wide-prior")]
    default, wide = (search.optimizer.settings for search in made)  # type: ignore[attr-defined]
    assert default.fit.lengthscale_prior == MANY_LENGTHSCALES
    assert wide == replace(default, fit=replace(default.fit, lengthscale_prior=HVARFNER))


def test_a_result_file_says_what_the_default_was_beyond_twenty_parameters() -> None:
    many, few = (load_experiment(name).record()["methods"] for name in ("highdim_peers", "fresh"))
    prior = many["default"]["beyond"]["fit"]["lengthscale_prior"]
    assert prior == asdict(MANY_LENGTHSCALES) and "beyond" not in few["default"]
    assert many["plain-wide-prior"]["changes"]["fit"]["lengthscale_prior"] == asdict(HVARFNER)
    assert "beyond" not in many["botorch-vanilla"]
    assert many["plain-logei"]["beyond"]["acquisition"] == "LogEI()"  # what is named stays as it is
    assert many["default"]["beyond"]["acquisition"] == "UCB(beta=0.5)"
    json.dumps(many)


def test_runs_of_another_default_for_many_parameters_are_not_mixed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = load_experiment("highdim_peers")
    file = ResultFile(tmp_path / "rows.jsonl", experiment)
    row = {"problem": "Levy4_100", "method": "default", "seed": 400, "n_initial": 20, "initial": 1.0, "regret": [1.0]}
    file.append(row, 0.1)
    ResultFile(tmp_path / "rows.jsonl", experiment)
    another = replace(MANY, fit=replace(MANY.fit, lengthscale_prior=HVARFNER))
    monkeypatch.setattr("ccgbo.engine.settings.MANY", another)
    with pytest.raises(StorageError, match="other settings for 'default'"):
        ResultFile(tmp_path / "rows.jsonl", experiment)
