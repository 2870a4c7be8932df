"""Benchmark problems: their values against BoTorch, their optima re-derived, and the real tasks by their facts."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ccgbo.bench.problems import GROUPS, PROBLEMS, Problem, formulas, get_problem, problem_names
from ccgbo.bench.problems.base import params_of, point_of, row_of
from ccgbo.bench.problems.gp_draw import matern_features
from ccgbo.bench.problems.mlp import error_rate
from ccgbo.bench.problems.portfolio import RISK_AVERSION, moments, weights
from ccgbo.bench.problems.robot import goal_of, push
from ccgbo.bench.problems.search import maximise_box, search_space
from ccgbo.errors import MissingExtraError, ParamsError, SettingError
from ccgbo.space import Categorical, Float, Int, Space

EMBEDDED = problem_names("embedded")
FORMULAS = ("Langermann2", "Hartmann6", "Griewank6", "Levy8", "Rosenbrock10", "Rosenbrock2")
ENGINEERING = (
    "Hartmann3",
    "Shekel4",
    "Colville4",
    "Borehole8",
    "WingWeight10",
    "PistonCycle7",
    "OTLCircuit6",
)
TUNING = ("SVRDiabetes", "GBTDiabetes", "KNNWine", "SGDCancer", "KernelDigits", "MLPDigits", "SVCCancer")
UNEVEN = ("Forrester1", "GoldsteinPrice2", "Ishigami3", "Hartmann4", "DettePepelyshev8", "Welch20")
CORNERED = ("Currin2", "Park4", "Friedman5", "Loeppky7")
CHOOSING = tuple(
    name for name in problem_names("choosing") if name not in ("TreeFriedman5", *TUNING)
)  # whose optimum is the best known
DIMENSION = problem_names("dimension")
CHEAP = (*FORMULAS, "Portfolio5", "Levy4_25", "Hartmann6_100", *CHOOSING, *ENGINEERING, *DIMENSION)


def uniform_rows(problem: Problem, n: int, seed: int = 0) -> np.ndarray[Any, Any]:
    space = problem.space
    return np.array([row_of(space, space.decode(u)) for u in space.sample(n, np.random.default_rng(seed))])


def ends_of(space: Space) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:  # low (d,), high (d,)
    """Both ends of a space of numbers."""
    numbers = [p for p in space.parameters if not isinstance(p, Categorical)]
    return np.array([p.low for p in numbers], dtype=float), np.array([p.high for p in numbers], dtype=float)


# -- the registry


def test_the_registry_has_every_task_of_the_paper() -> None:
    tasks = {*FORMULAS, "MLP4", "Robot4", "Portfolio5"}
    assert set(problem_names("paper")) == tasks
    assert set(EMBEDDED) == {f"{base}_{D}" for base in ("Levy4", "Hartmann6") for D in (25, 100, 300, 1000)}
    assert problem_names() == tuple(PROBLEMS)
    assert set(PROBLEMS) == {name for group in GROUPS.values() for name in group}


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(SettingError, match=r"'Hartmann6'.*got 'Hartman6'"):
        get_problem("Hartman6")
    with pytest.raises(SettingError, match=r"'paper'.*got 'papers'"):
        problem_names("papers")
    with pytest.raises(SettingError, match=r"seed must be >= 0"):
        get_problem("Hartmann6", seed=-1)


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_problem_has_its_name_and_dimension_and_survives_pickling(name: str) -> None:
    problem = get_problem(name)
    assert problem.name == name
    digits = "".join(c if c.isdigit() else " " for c in name).split()
    if digits:
        assert problem.space.d == int(digits[-1])
    copy = pickle.loads(pickle.dumps(problem))
    params = problem.space.decode(np.full(problem.space.d, 0.4))
    assert copy(params) == problem(params)
    assert math.isfinite(problem(params))


@pytest.mark.parametrize("name", problem_names("paper"))
def test_tasks_of_the_paper_have_noise_of_standard_deviation_one_tenth(name: str) -> None:
    assert get_problem(name).noise_std == 0.1


def test_noise_has_the_stated_standard_deviation_and_comes_from_the_generator() -> None:
    problem = get_problem("Hartmann6")
    params = problem.space.decode(np.full(6, 0.3))
    rng = np.random.default_rng(0)
    noise = np.array([problem.noisy(params, rng) for _ in range(2000)]) - problem(params)
    assert abs(noise.mean()) < 4 * 0.1 / math.sqrt(2000)
    assert noise.std() == pytest.approx(0.1, rel=0.06)
    assert problem.noisy(params, np.random.default_rng(7)) == problem.noisy(params, np.random.default_rng(7))


def test_the_noise_can_be_replaced() -> None:
    quiet = get_problem("Hartmann6", noise_std=0.0)
    params = quiet.space.decode(np.full(6, 0.3))
    assert quiet.noisy(params, np.random.default_rng(0)) == quiet(params)
    with pytest.raises(SettingError, match=r"noise_std must be >= 0"):
        get_problem("Hartmann6", noise_std=-1.0)


def test_a_point_outside_the_space_is_refused() -> None:
    problem = get_problem("Branin2")
    with pytest.raises(ParamsError, match="x1"):
        problem({"x1": 11.0, "x2": 0.0})
    with pytest.raises(ParamsError, match="x3"):
        problem({"x1": 0.0, "x2": 0.0, "x3": 0.0})
    with pytest.raises(SettingError, match=r"shape \(n, 2\)"):
        problem.values(np.zeros((4, 3)))


@pytest.mark.parametrize("name", CHEAP)
def test_values_of_rows_equal_values_of_points(name: str) -> None:
    problem = get_problem(name)
    X = uniform_rows(problem, 5)
    one_by_one = [problem(point_of(problem.space, x)) for x in X]
    np.testing.assert_allclose(problem.values(X), one_by_one, rtol=1e-12, atol=1e-12)


def test_rows_and_points_convert_into_each_other() -> None:
    space = get_problem("KNNWine").space
    for u in space.sample(20, np.random.default_rng(0)):
        params = space.decode(u)
        assert params_of(space, row_of(space, params)) == params


# -- values and optima of the formulas


def botorch_function(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*torch.jit", category=DeprecationWarning)  # gpytorch's import
        from botorch.test_functions import synthetic

    return {
        "Hartmann6": lambda: synthetic.Hartmann(6),
        "Griewank6": lambda: synthetic.Griewank(6),
        "Levy8": lambda: synthetic.Levy(8),
        "Rosenbrock10": lambda: synthetic.Rosenbrock(10),
        "Rosenbrock2": lambda: synthetic.Rosenbrock(2),
        "Branin2": lambda: synthetic.Branin(),
        "Ackley5": lambda: synthetic.Ackley(5),
        "Michalewicz5": lambda: synthetic.Michalewicz(5),
        "StyblinskiTang4": lambda: synthetic.StyblinskiTang(4),
        "Rastrigin5": lambda: synthetic.Rastrigin(5),
        "DixonPrice5": lambda: synthetic.DixonPrice(5),
        "Hartmann3": lambda: synthetic.Hartmann(3),
        "Hartmann4": lambda: synthetic.Hartmann(4),
        "Shekel4": lambda: synthetic.Shekel(m=10),
    }[name]()


@pytest.mark.parametrize(
    "name",
    [
        "Hartmann6",
        "Griewank6",
        "Levy8",
        "Rosenbrock10",
        "Rosenbrock2",
        "Branin2",
        "Ackley5",
        "Michalewicz5",
        "StyblinskiTang4",
        "Rastrigin5",
        "DixonPrice5",
        "Hartmann3",
        "Shekel4",
    ],
)
def test_formulas_are_minus_those_of_botorch(name: str) -> None:
    import torch

    problem, theirs = get_problem(name), botorch_function(name)
    X = uniform_rows(problem, 64)
    expected = -theirs.evaluate_true(torch.tensor(X, dtype=torch.float64)).numpy()
    np.testing.assert_allclose(problem.values(X), expected, rtol=1e-5)  # their tables are float32 in places
    assert problem.optimum == pytest.approx(-theirs.optimal_value, abs=1e-3)


def test_hartmann_in_four_dimensions_is_botorchs_before_it_is_shifted_and_scaled() -> None:
    import torch

    problem, theirs = get_problem("Hartmann4"), botorch_function("Hartmann4")
    X = uniform_rows(problem, 64)
    shifted = theirs.evaluate_true(torch.tensor(X, dtype=torch.float64)).numpy()
    np.testing.assert_allclose(problem.values(X), 1.1 - 0.839 * shifted, rtol=1e-5)


@pytest.mark.parametrize(
    "name", ["Griewank6", "Levy8", "Rosenbrock10", "Rosenbrock2", "Hartmann6", "Branin2", "Shekel4"]
)
def test_domains_are_those_of_botorch(name: str) -> None:
    low, high = ends_of(get_problem(name).space)
    np.testing.assert_allclose(np.stack([low, high]), botorch_function(name).bounds.numpy())


def test_langermann_at_its_deepest_centre_is_the_sum_written_out() -> None:
    a = [(3, 5), (5, 2), (2, 1), (1, 4), (7, 9)]
    total = 0.0
    for (u, v), c in zip(a, (1, 2, 5, 2, 3), strict=True):
        sq = (2.2 - u) ** 2 + (1.7 - v) ** 2
        total += c * math.exp(-sq / math.pi) * math.cos(math.pi * sq)
    assert get_problem("Langermann2")({"x1": 2.2, "x2": 1.7}) == pytest.approx(-total, rel=1e-13)


def test_the_uneven_functions_are_their_formulas_written_out() -> None:
    X = np.random.default_rng(6).random((5, 20))
    for row in X:
        x, z = 4.0 * row[0] - 2.0, 4.0 * row[1] - 2.0
        first = 1 + (x + z + 1) ** 2 * (19 - 14 * x + 3 * x**2 - 14 * z + 6 * x * z + 3 * z**2)
        second = 30 + (2 * x - 3 * z) ** 2 * (18 - 32 * x + 12 * x**2 + 48 * z - 36 * x * z + 27 * z**2)
        assert formulas.goldstein_price(np.array([[x, z]]))[0] == pytest.approx(first * second, rel=1e-12)
        tail = sum(i * math.log(1 + row[2:i].sum()) for i in range(4, 9))
        head = 4 * (row[0] - 2 + 8 * row[1] - 8 * row[1] ** 2) ** 2 + (3 - 4 * row[1]) ** 2
        head += 16 * math.sqrt(row[2] + 1) * (2 * row[2] - 1) ** 2
        assert formulas.dette_pepelyshev(row[None, :8])[0] == pytest.approx(head + tail, rel=1e-12)
        w = np.append(np.nan, row - 0.5)
        flow = 5 * w[12] / (1 + w[1]) + 5 * (w[4] - w[20]) ** 2 + w[5] + 40 * w[19] ** 3 - 5 * w[19]
        flow += 0.05 * w[2] + 0.08 * w[3] - 0.03 * w[6] + 0.03 * w[7] - 0.09 * w[9] - 0.01 * w[10] - 0.07 * w[11]
        flow += 0.25 * w[13] ** 2 - 0.04 * w[14] + 0.06 * w[15] - 0.01 * w[17] - 0.03 * w[18]
        assert formulas.welch(row[None, :] - 0.5)[0] == pytest.approx(flow, rel=1e-10)


def test_the_cornered_functions_are_their_formulas_written_out() -> None:
    for a, b, c, d, e, f, g in np.random.default_rng(7).uniform(0.1, 1.0, (5, 7)):
        ratio = (2300 * a**3 + 1900 * a**2 + 2092 * a + 60) / (100 * a**3 + 500 * a**2 + 4 * a + 20)
        assert formulas.currin(np.array([[a, b]]))[0] == pytest.approx((1 - math.exp(-1 / (2 * b))) * ratio, rel=1e-12)
        park = a / 2 * (math.sqrt(1 + (b + c**2) * d / a**2) - 1) + (a + 3 * d) * math.exp(1 + math.sin(c))
        assert formulas.park(np.array([[a, b, c, d]]))[0] == pytest.approx(park, rel=1e-12)
        friedman = 10 * math.sin(math.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e
        assert formulas.friedman(np.array([[a, b, c, d, e]]))[0] == pytest.approx(friedman, rel=1e-12)
        loeppky = 6 * a + 4 * b + 5.5 * c + 3 * a * b + 2.2 * a * c + 1.4 * b * c + d + e / 2 + f / 5 + g / 10
        assert formulas.loeppky(np.array([[a, b, c, d, e, f, g]]))[0] == pytest.approx(loeppky, rel=1e-12)
    assert formulas.currin(np.zeros((1, 2)))[0] == pytest.approx(3.0)  # the edge itself needs no special case


def test_the_families_of_every_dimension_are_their_formulas_written_out() -> None:
    for a, b, c in np.random.default_rng(8).uniform(-5.0, 10.0, (5, 3)):
        s = (a + 2 * b + 3 * c) / 2
        zakharov = a * a + b * b + c * c + s**2 + s**4
        assert formulas.zakharov(np.array([[a, b, c]]))[0] == pytest.approx(zakharov, rel=1e-12)
        valley = (a - 1) ** 2 + 2 * (2 * b * b - a) ** 2 + 3 * (2 * c * c - b) ** 2
        assert formulas.dixon_price(np.array([[a, b, c]]))[0] == pytest.approx(valley, rel=1e-12)
        wells = sum(418.982887272434 - 40 * x * math.sin(math.sqrt(abs(40 * x))) for x in (a, b, c))
        assert formulas.schwefel(40 * np.array([[a, b, c]]))[0] == pytest.approx(wells, rel=1e-12)


def test_borehole_flow_is_the_formula_written_out() -> None:
    rw, r, Tu, Hu, Tl, Hl, L, Kw = x = (0.1, 2e4, 9e4, 1050.0, 90.0, 750.0, 1400.0, 1e4)
    log = math.log(r / rw)
    below = log * (1 + 2 * L * Tu / (log * rw * rw * Kw) + Tu / Tl)
    problem = get_problem("Borehole8")
    assert problem(point_of(problem.space, x)) == pytest.approx(2 * math.pi * Tu * (Hu - Hl) / below, rel=1e-12)


def test_the_wing_of_a_light_aircraft_weighs_about_234_pounds_before_paint() -> None:
    problem = get_problem("WingWeight10")
    cessna = (174.0, 252.0, 7.52, 0.0, 34.0, 0.672, 0.12, 3.8, 2000.0, 0.064)
    structure = -problem(point_of(problem.space, cessna)) - 174.0 * 0.064
    lines = 0.036 * 174**0.758 * 252**0.0035 * 7.52**0.6 * 34**0.006 * 0.672**0.04 * 12**-0.3 * (3.8 * 2000) ** 0.49
    assert structure == pytest.approx(lines, rel=1e-12)
    assert structure == pytest.approx(234.0, abs=0.5)


def test_the_piston_volume_balances_the_forces_and_gives_the_cycle_time() -> None:
    M, S, V0, k, P0, Ta, T0 = x = (45.0, 0.0125, 0.006, 3000.0, 1e5, 293.0, 350.0)
    V = V0
    for _ in range(200):  # fixed point of k (V/S)^2 + A V/S = P0 V0 Ta/T0, the quadratic behind the closed form
        V = S * (P0 * V0 * Ta / T0) / (k * V / S + P0 * S + 19.62 * M - k * V0 / S)
    expected = -2 * math.pi * math.sqrt(M / (k + S**2 * P0 * V0 * Ta / (T0 * V**2)))
    problem = get_problem("PistonCycle7")
    assert problem(point_of(problem.space, x)) == pytest.approx(expected, rel=1e-9)


def test_the_circuit_voltage_is_the_three_terms_written_out() -> None:
    Rb1, Rb2, Rf, Rc1, Rc2, beta = x = (100.0, 50.0, 1.5, 2.0, 0.8, 150.0)
    g = beta * (Rc2 + 9)
    first = (12 * Rb2 / (Rb1 + Rb2) + 0.74) * g / (g + Rf)
    expected = first + 11.35 * Rf / (g + Rf) + 0.74 * Rf * g / ((g + Rf) * Rc1)
    problem = get_problem("OTLCircuit6")
    assert problem(point_of(problem.space, x)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", [*CHEAP, *EMBEDDED])
def test_the_stored_optimum_is_attained_at_the_stored_argmax(name: str) -> None:
    problem = get_problem(name)
    assert problem.argmax is not None
    assert not problem.best_known
    assert 0.0 <= problem.regret(problem.argmax) + 1e-14 < 1e-10


@pytest.mark.parametrize(
    "name",
    [
        "Langermann2",
        "Hartmann6",
        "Branin2",
        "Michalewicz5",
        "StyblinskiTang4",
        "Schwefel2",
        *ENGINEERING,
        *UNEVEN,
        *CORNERED,
    ],
)
def test_multi_start_search_finds_the_stored_optimum_and_nothing_above(name: str) -> None:
    problem = get_problem(name)
    found, where = maximise_box(problem.values, *ends_of(problem.space), screen=20_000, starts=40, seed=3)
    assert problem.optimum - 1e-9 * max(1.0, abs(problem.optimum)) < found <= problem.optimum
    assert problem(point_of(problem.space, where)) == pytest.approx(found)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_the_regret_of_any_point_is_not_negative(data: st.DataObject) -> None:
    problem = get_problem(data.draw(st.sampled_from(CHEAP)))
    u = data.draw(st.lists(st.floats(0.0, 1.0), min_size=problem.space.d, max_size=problem.space.d))
    assert problem.regret(problem.space.decode(np.array(u))) >= -1e-12


@pytest.mark.parametrize("name", EMBEDDED)
def test_an_embedded_problem_ignores_the_extra_dimensions(name: str) -> None:
    problem = get_problem(name)
    effective = 4 if name.startswith("Levy4") else 6
    X = uniform_rows(problem, 8)
    Y = uniform_rows(problem, 8, seed=1)
    Y[:, :effective] = X[:, :effective]
    np.testing.assert_array_equal(problem.values(X), problem.values(Y))
    Y[:, effective - 1] += 0.01 * (0.5 - Y[:, effective - 1])
    assert np.all(problem.values(X) != problem.values(Y))


def test_an_embedded_hartmann_is_hartmann6() -> None:
    X = uniform_rows(get_problem("Hartmann6_25"), 16)
    np.testing.assert_array_equal(get_problem("Hartmann6_25").values(X), get_problem("Hartmann6").values(X[:, :6]))


# -- draws from a Gaussian process


def test_gp_draws_differ_by_seed_and_repeat_for_one() -> None:
    params = {f"x{j + 1}": 0.3 for j in range(4)}
    assert get_problem("GPDraw4", 1)(params) == get_problem("GPDraw4", 1)(params)
    assert get_problem("GPDraw4", 1)(params) != get_problem("GPDraw4", 2)(params)


@pytest.mark.parametrize("name", ["GPDraw4", "ARDDraw6"])
def test_another_search_finds_nothing_above_the_optimum_of_a_gp_draw(name: str) -> None:
    problem = get_problem(name, 1)
    found, _ = maximise_box(problem.values, *ends_of(problem.space), screen=40_000, starts=40, seed=99)
    assert found == pytest.approx(problem.optimum, abs=1e-8)


def test_random_features_have_the_matern_covariance() -> None:
    scale = np.array([0.5, 1.0])
    frequencies, _ = matern_features(2, 200_000, scale, np.random.default_rng(0))
    gap = np.array([0.3, -0.4])
    r = math.sqrt(5.0 * float(((gap / scale) ** 2).sum()))
    exact = (1.0 + r + r**2 / 3.0) * math.exp(-r)
    assert float(np.cos(frequencies @ gap).mean()) == pytest.approx(exact, abs=0.006)


# -- Robot4


def test_robot_pushes_are_deterministic() -> None:
    assert push(-2.0, 1.0, 0.4, 12.3) == push(-2.0, 1.0, 0.4, 12.3)


def test_a_robot_that_starts_on_the_object_divides_by_nothing() -> None:
    assert all(math.isfinite(v) for v in push(0.0, 0.0, 0.0, 30.0))


def test_a_push_from_the_left_moves_the_object_to_the_right_and_from_above_down() -> None:
    x, y = push(-3.0, 0.0, 0.0, 10.0)
    assert x > 1.0
    assert abs(y) < 1e-6
    x, y = push(0.0, 3.0, 0.5 * math.pi, 10.0)
    assert y < -1.0
    assert abs(x) < 1e-3


def test_more_steps_push_farther() -> None:
    reach = [push(-3.0, 0.0, 0.0, steps)[0] for steps in (1.0, 5.0, 10.0, 20.0, 30.0)]
    assert reach == sorted(reach)
    assert reach[-1] > 4 * reach[1]


def test_steps_count_in_tenths_and_fractions_of_a_tenth_change_nothing() -> None:
    assert push(-2.0, 0.0, 0.0, 5.0) == push(-2.0, 0.0, 0.0, 5.09)
    assert push(-2.0, 0.0, 0.0, 5.0) != push(-2.0, 0.0, 0.0, 5.11)


def test_a_hand_that_does_not_reach_the_object_leaves_it() -> None:
    assert push(-5.0, 5.0, 0.0, 1.0) == (0.0, 0.0)
    problem = get_problem("Robot4", 5)
    value = problem({"rx": -5.0, "ry": 5.0, "angle": 0.0, "steps": 1.0})
    assert value == pytest.approx(-math.hypot(*goal_of(5)))


def test_the_goal_of_the_robot_is_drawn_per_seed_inside_the_table() -> None:
    goals = {goal_of(seed) for seed in range(50)}
    assert len(goals) == 50
    assert all(abs(v) <= 5.0 for goal in goals for v in goal)


def test_a_search_brings_the_object_near_the_goal() -> None:
    value, _ = search_space(get_problem("Robot4", 0), n_random=300, n_local=300)
    assert -0.5 < value <= 0.0


# -- Portfolio5


def test_the_portfolio_optimum_equals_a_convex_solver() -> None:
    import cvxpy

    problem = get_problem("Portfolio5")
    mean, covariance = moments()
    w = cvxpy.Variable(5)
    risk = cvxpy.quad_form(w, cvxpy.psd_wrap(covariance))
    objective = cvxpy.Maximize(100.0 * (mean @ w - 0.5 * RISK_AVERSION * risk))
    best = cvxpy.Problem(objective, [w >= 0, cvxpy.sum(w) == 1]).solve(solver=cvxpy.CLARABEL)
    assert problem.optimum == pytest.approx(best, abs=1e-6)


def test_portfolio_moments_are_those_of_the_real_prices() -> None:
    from skfolio.datasets import load_sp500_dataset

    returns = load_sp500_dataset()[["AAPL", "JPM", "UNH", "WMT", "XOM"]].pct_change().iloc[1:]
    mean, covariance = moments()
    np.testing.assert_allclose(mean, 252 * returns.mean().to_numpy(), rtol=1e-10)
    np.testing.assert_allclose(covariance, 252 * returns.cov().to_numpy(), rtol=1e-10)


def test_portfolio_weights_sum_to_one_and_scale_does_not_matter() -> None:
    X = np.random.default_rng(0).random((10, 5))
    np.testing.assert_allclose(weights(X).sum(-1), 1.0)
    problem = get_problem("Portfolio5")
    np.testing.assert_allclose(problem.values(X), problem.values(0.3 * X))


def test_a_portfolio_of_zeros_is_split_equally() -> None:
    problem = get_problem("Portfolio5")
    zeros, ones = problem.values(np.array([[0.0] * 5, [1.0] * 5]))
    assert zeros == pytest.approx(ones, rel=1e-14)


# -- MLP4 and the tuning problems

GOOD = {"batch_size": 32, "lr": 0.3, "lr_decay": 1e-4, "hidden": 8}


def test_the_network_learns_at_a_good_setting_and_not_at_a_tiny_learning_rate() -> None:
    assert error_rate(GOOD) < 0.06
    assert error_rate(GOOD | {"lr": 1e-6}) > 0.15
    assert error_rate(GOOD | {"lr": 0.3, "lr_decay": 1.0}) > error_rate(GOOD)


def test_the_network_is_deterministic_and_counts_errors_of_171_patients() -> None:
    problem = get_problem("MLP4")
    value = problem(GOOD)
    assert value == problem(GOOD) == get_problem("MLP4", 5)(GOOD)
    assert (value * 171) == pytest.approx(round(value * 171), abs=1e-9)


@pytest.mark.parametrize("name", ["MLP4", "TreeFriedman5", *TUNING])
def test_the_best_known_value_is_attained_and_beats_random_points(name: str) -> None:
    problem = get_problem(name)
    assert problem.best_known
    assert problem.argmax is not None
    assert problem(problem.argmax) == pytest.approx(problem.optimum, rel=1e-6)
    sample = problem.space.sample(8, np.random.default_rng(1))
    values = [problem(problem.space.decode(u)) for u in sample]
    assert max(values) <= problem.optimum
    assert len(set(values)) > 3


@pytest.mark.parametrize("name", [*TUNING, "TreeFriedman5"])
def test_tuning_problems_are_mixed_and_deterministic(name: str) -> None:
    problem = get_problem(name)
    kinds = {type(p) for p in problem.space.parameters}
    assert {Float, Categorical} <= kinds <= {Float, Int, Categorical}
    assert 3 <= problem.space.d <= 8
    params = problem.space.decode(np.full(problem.space.d, 0.45))
    assert problem(params) == problem(params)


# -- optional libraries


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("Robot4", "Box2D"),
        ("Portfolio5", "skfolio.datasets"),
        ("MLP4", "sklearn.datasets"),
        ("TreeFriedman5", "sklearn.tree"),
    ]
    + [(name, "sklearn.datasets") for name in TUNING],
)
def test_a_missing_library_is_named_and_the_other_problems_work(
    name: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"{name}.*ccgbo\[bench\]"):
        get_problem(name)
    assert get_problem("Hartmann6").optimum == pytest.approx(3.32237, abs=1e-5)


def test_importing_the_problems_imports_no_optional_library() -> None:
    code = (
        "import sys, ccgbo.bench.problems\n"
        "print([m for m in ('sklearn', 'skfolio', 'Box2D', 'pandas', 'torch', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
