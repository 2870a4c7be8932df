"""What the theorems speak of is computed as they define it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ccgbo.bench.experiment import Cell, load_experiment, parse_experiment
from ccgbo.bench.illustration import TOY
from ccgbo.bench.report import make_report, write_report
from ccgbo.bench.runner import run_cell, run_experiment, start
from ccgbo.bench.theory import group_means, growth_exponent, posterior, proxy_errors, weight_bounds
from ccgbo.credit.field import CreditSettings, regret_factor
from ccgbo.errors import SettingError
from ccgbo.surrogate.gp.kernels import get_kernel
from ccgbo.surrogate.gp.posterior import GP, Hyper


def test_the_information_gain_is_half_a_log_determinant() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((8, 2)), rng.standard_normal(8)
    gp = GP.from_data(get_kernel("matern52"), Hyper(lengthscales=np.full(2, 0.4), signal=1.2, noise=0.05), X, y)
    K = gp.cross(X)
    for n in (1, 4, 8):
        exact = 0.5 * np.linalg.slogdet(np.eye(n) + K[:n, :n] / 0.05)[1]
        assert gp.information_gain()[n - 1] == pytest.approx(exact, rel=1e-9)


def test_the_worst_factor_is_at_the_first_iteration_and_fades_to_one() -> None:
    credit = CreditSettings(strength=0.5, tau=5.0, half_life=20.0)
    lower, upper = weight_bounds(2000, credit)
    ratio = upper / lower
    assert ratio[0] == pytest.approx(regret_factor(100, strength=0.5, tau=5.0, half_life=20.0))
    assert (np.diff(ratio) < 0).all()
    assert ratio[-1] == pytest.approx(1.0, abs=0.06)
    assert lower[19] == pytest.approx(0.5 + 0.5 * 0.1 ** (5.0 / 2.0))  # at t = M the exponent is halved


def test_the_proxy_of_more_paths_is_nearer_to_its_mean() -> None:
    maxima = np.random.default_rng(0).gumbel(size=4000)
    spread = [group_means(maxima, k).std() for k in (1, 4, 25)]
    assert spread[0] / spread[1] == pytest.approx(2.0, rel=0.1)
    assert spread[0] / spread[2] == pytest.approx(5.0, rel=0.15)
    assert group_means(np.arange(7.0), 3).tolist() == [1.0, 4.0]


def test_a_square_root_grows_with_slope_one_half_and_a_line_with_one() -> None:
    n = np.arange(1.0, 101.0)
    assert growth_exponent(np.sqrt(n)) == pytest.approx(0.5)
    assert growth_exponent(3.0 * n) == pytest.approx(1.0)


def test_the_proxy_comes_near_the_optimum_as_observations_come_in() -> None:
    experiment = parse_experiment({"name": "t", "title": "t", "kind": "theory", "problems": ["Branin2"],
                                   "methods": ["ucb", "ccgbo"], "iterations": 30})  # fmt: skip
    row, _ = run_cell(experiment, Cell(problem="Branin2", method="ccgbo", seed=0))
    errors = [point["error"]["25"] for point in row["proxy"]]
    assert [point["t"] for point in row["proxy"]] == [0, 5, 10, 20]
    assert errors[-1] < 0.5 * errors[0]
    assert len(row["gain"]) == len(row["regret"]) == 30
    assert (np.diff(row["gain"]) > 0).all()


def test_the_error_with_all_paths_is_the_bias() -> None:
    experiment = load_experiment("theory")
    problem, _, searcher = start(experiment, Cell(problem="Langermann2", method="ccgbo", seed=0))
    found = proxy_errors(posterior(searcher.optimizer), searcher, problem.optimum, np.random.default_rng(0))  # type: ignore[attr-defined, arg-type]
    assert found["error"]["100"] >= abs(found["mean"]) - 1e-12
    assert found["error"]["1"] <= abs(found["mean"]) + found["sd"] + 1e-12
    assert found["S"] > 0


def test_a_theory_experiment_refuses_a_method_without_the_optimizer() -> None:
    experiment = parse_experiment({"name": "t", "title": "t", "kind": "theory", "problems": ["Branin2"],
                                   "methods": ["ucb", "random"]})  # fmt: skip
    with pytest.raises(SettingError, match="needs methods of the optimizer itself, got 'random'"):
        run_cell(experiment, Cell(problem="Branin2", method="random", seed=0))


def test_the_toy_has_its_stated_maximum() -> None:
    x = np.linspace(0.0, 1.0, 200_001)
    assert TOY.optimum >= TOY.values(x[:, None]).max()
    assert TOY.optimum == pytest.approx(TOY.values(x[:, None]).max(), abs=1e-8)
    assert TOY.argmax is not None
    assert TOY.regret(TOY.argmax) == pytest.approx(0.0, abs=1e-9)


def test_the_illustration_and_the_theory_are_drawn_from_their_files(tmp_path: Path) -> None:
    short = {"title": "t", "methods": ["ucb", "ccgbo"], "seeds": 2}
    toy = {**short, "name": "illustration", "kind": "illustration", "problems": ["Forrester1"], "iterations": 2}
    theory = {**short, "name": "theory", "kind": "theory", "problems": ["Branin2"], "iterations": 24}
    for spec in (toy, theory):
        path = tmp_path / f"{spec['name']}.jsonl"
        run_experiment(parse_experiment(spec), path)
        write_report(make_report(path), table_dir=None, figure_dir=tmp_path)
    assert {path.stem for path in tmp_path.glob("*.png")} == {
        "illustration",
        "theory_proxy",
        "theory_growth",
        "theory_weights",
    }
