"""Input constraints: suggestions satisfy them, and a space without points is reported."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from space_strategies import bounded_numbers, numbers

from ccgbo import (
    Bool,
    Categorical,
    Float,
    InfeasibleSpaceError,
    Int,
    LinearConstraint,
    Optimizer,
    Space,
    SpaceError,
    SpaceExhaustedError,
    Study,
)

FAST = {"n_initial": 3, "tuning": {"n_candidates": 32, "n_local": 16, "n_starts": 2, "search_steps": 5}}


def total(constraint: LinearConstraint, params: dict[str, Any]) -> float:
    return math.fsum(a * float(params.get(name, 0.0)) for name, a in constraint.coefficients.items())


@st.composite
def constrained(draw: st.DrawFn) -> tuple[Space, LinearConstraint]:
    """Up to three numbers and an inequality that some point of the space satisfies."""
    table = {f"p{i}": p for i, p in enumerate(draw(st.lists(numbers(), min_size=1, max_size=3)))}
    largest = max(max(abs(p.low), abs(p.high)) for p in table.values())
    assume(largest < 1e100)
    a = {
        name: draw(st.sampled_from([-2.0, -1.0, 0.5, 1.0])) / max(abs(p.low), abs(p.high), 1.0)
        for name, p in table.items()
    }
    space = Space(table)
    inside = space.decode(space.sample(1, np.random.default_rng(draw(st.integers(0, 99))))[0])
    probe = LinearConstraint(a, upper=0.0)
    bound = total(probe, inside) + draw(st.sampled_from([1e-3, 0.1]))
    constraint = LinearConstraint(a, upper=bound) if draw(st.booleans()) else LinearConstraint(a, lower=bound - 0.2)
    return Space(table, constraints=constraint), constraint


@settings(max_examples=40)
@given(constrained(), st.integers(0, 2**31))
def test_every_suggestion_satisfies_the_linear_constraint(drawn: tuple[Space, LinearConstraint], seed: int) -> None:
    space, constraint = drawn
    opt = Optimizer(space, seed=seed, allow_repeats=True, **FAST)
    touches_a_continuum = any(space[name].size == 0 for name in constraint.coefficients)
    for i in range(6):
        trial = opt.ask()
        size = sum(abs(a * float(trial.params[name])) for name, a in constraint.coefficients.items())
        slack = 0.0 if touches_a_continuum else 1e-12 * size  # only a sum of grid values may exceed by its rounding
        assert constraint.lower - slack <= total(constraint, trial.params) <= constraint.upper + slack
        opt.tell(trial, math.sin(i))


@settings(max_examples=25)
@given(st.integers(0, 2**31), st.floats(0.02, 0.9), st.sampled_from(["default", "paper"]))
def test_every_suggestion_satisfies_the_predicate(seed: int, width: float, preset: str) -> None:
    def ring(params: dict[str, Any]) -> bool:
        return abs(math.hypot(params["x"], params["n"] / 10) - 1.0) < width and params["c"] != "never"

    table = {"x": (-1.5, 1.5), "n": (-15, 15), "c": ["a", "never", "b"]}
    opt = Optimizer(table, constraint=ring, preset=preset, seed=seed, **FAST)
    for i in range(6):
        trial = opt.ask()
        assert ring(dict(trial.params))
        opt.tell(trial, math.sin(i))


def test_several_constraints_of_both_kinds_hold_together() -> None:
    opt = Optimizer(
        {"x": (0.0, 1.0), "y": (0.0, 1.0), "z": (0.0, 1.0)},
        constraint=[LinearConstraint({"x": 1, "y": 1, "z": 1}, lower=0.9, upper=1.1), lambda p: p["x"] >= p["y"]],
        seed=0,
        **FAST,
    )
    for trial in opt.ask(10):
        assert 0.9 <= sum(trial.params.values()) <= 1.1
        assert trial.params["x"] >= trial.params["y"]


def test_the_constrained_optimum_on_the_boundary_is_found() -> None:
    def f(x: float, y: float) -> float:
        return x + 2 * y

    opt = Optimizer({"x": (0.0, 1.0), "y": (0.0, 1.0)}, constraint=LinearConstraint({"x": 1, "y": 1}, upper=1), seed=0)
    for _ in range(25):
        trial = opt.ask()
        opt.tell(trial, f(**trial.params))
    assert opt.best_value == pytest.approx(2.0, abs=0.03)


# -- sampling


def test_a_thin_simplex_in_many_dimensions_is_sampled_evenly() -> None:
    """Its share of the cube is 0.5^20 / 20!; a uniform point of it has coordinates of mean and deviation 0.5 / 21."""
    names = [f"x{i}" for i in range(20)]
    space = Space(dict.fromkeys(names, (0.0, 1.0)), constraints=LinearConstraint(dict.fromkeys(names, 1.0), upper=0.5))
    U = space.sample(2000, np.random.default_rng(0))
    assert U.sum(axis=1).max() <= 0.5
    assert len(np.unique(U, axis=0)) > 1990
    assert U.mean() == pytest.approx(0.5 / 21, rel=0.15)
    assert U.std() == pytest.approx(0.5 / 21, rel=0.3)


def test_a_rare_predicate_never_becomes_infeasible_by_bad_luck() -> None:
    """One uniform point in 20,000 is feasible; whoever found one keeps finding them."""
    side = 0.05 ** (1 / 3) / 10
    space = Space(
        dict.fromkeys("xyz", (0.0, 1.0)), constraints=lambda p: all(abs(v - 0.6) < side / 2 for v in p.values())
    )
    for seed in range(20):
        U = space.sample(8, np.random.default_rng(seed))
        assert space.feasible(U).all()


def test_half_the_space_is_sampled_like_half_the_space() -> None:
    space = Space({"x": (0.0, 1.0), "y": (0.0, 1.0)}, constraints=lambda p: p["x"] < p["y"])
    U = space.sample(4000, np.random.default_rng(0))
    assert U.mean(axis=0) == pytest.approx([1 / 3, 2 / 3], abs=0.02)


# -- narrow bands


def mixture(d: int, width: float, **parameter: Any) -> Space:
    """``d`` shares that add up to one, give or take ``width``."""
    names = [f"x{i}" for i in range(d)]
    low = parameter.pop("low", 0.0)
    return Space(
        {name: Float(low, 1.0, **parameter) for name in names},
        constraints=LinearConstraint(dict.fromkeys(names, 1.0), lower=1.0, upper=1.0 + width),
    )


@pytest.mark.parametrize("width", [1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("d", [2, 5])
def test_a_narrow_band_is_sampled_evenly_along_and_across(d: int, width: float) -> None:
    """The shares of a uniform point of a simplex are Dirichlet: of mean 1/d and variance (d - 1) / (d^2 (d + 1))."""
    U = mixture(d, width).sample(2000, np.random.default_rng(0))
    total = U.sum(axis=1)
    assert 1.0 <= total.min() <= total.max() <= 1.0 + width
    assert U.mean(axis=0) == pytest.approx(np.full(d, 1 / d), rel=0.1)
    assert U.std(axis=0) == pytest.approx(np.full(d, math.sqrt((d - 1) / (d + 1)) / d), rel=0.1)
    assert np.mean((total - 1.0) / width) == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(("d", "width"), [(2, 1e-4), (2, 1e-7), (5, 1e-5), (5, 1e-9), (5, 1e-12)])
def test_the_search_of_a_narrow_band_covers_it_and_finds_the_optimum(d: int, width: float) -> None:
    opt = Optimizer(mixture(d, width), seed=0)
    shares = []
    for _ in range(30):
        trial = opt.ask()
        assert 1.0 <= sum(trial.params.values()) <= 1.0 + width
        shares.append(trial.params["x0"])
        opt.tell(trial, -((shares[-1] - 0.3) ** 2))
    assert min(shares) < 0.1
    assert max(shares) > 0.6
    assert min(abs(x - 0.3) for x in shares) < 0.01


def test_a_narrow_band_of_logarithms_is_sampled_as_the_cube_is() -> None:
    """Against draws of the cube that fell into a band a hundred thousand times as wide."""
    space = mixture(3, 1e-7, low=1e-4, log=True)
    U = space.sample(4000, np.random.default_rng(0))
    draws = np.random.default_rng(1).random((1_000_000, 3))
    inside = draws[np.abs((10.0 ** (-4.0 + 4.0 * draws)).sum(axis=1) - 1.0) < 5e-3]
    assert U.mean() == pytest.approx(inside.mean(), abs=0.02)
    assert U.std() == pytest.approx(inside.std(), abs=0.02)


def test_whole_numbers_in_a_narrow_band_are_made_up_for_by_the_others() -> None:
    table = {"n": (0, 5), "m": (0, 3), "x": (0.0, 4.0), "y": (0.0, 4.0), "c": ["a", "b"]}
    a = dict.fromkeys("nmxy", 1.0)
    space = Space(table, constraints=LinearConstraint(a, lower=6.0, upper=6.0 + 1e-9))
    V = space.numbers(space.sample(4000, np.random.default_rng(0)))
    # x + y = s leaves a segment whose length is that of s to the nearer end of [0, 8]
    length = [[max(min(s, 8 - s), 0) for s in (6 - n - m for m in range(4))] for n in range(6)]
    share = np.array(length) / np.sum(length)
    for n, m in np.ndindex(share.shape):
        assert np.mean((V[:, 0] == n) & (V[:, 1] == m)) == pytest.approx(share[n, m], abs=0.03)


def test_a_large_equation_over_integers_is_sampled_evenly() -> None:
    """Four parts of 1000: each of mean 250 and deviation 194."""
    space = Space(
        dict.fromkeys("abcd", (0, 1000)),
        constraints=LinearConstraint(dict.fromkeys("abcd", 1), lower=1000, upper=1000),
    )
    V = space.numbers(space.sample(2000, np.random.default_rng(0)))
    assert set(V.sum(axis=1)) == {1000.0}
    assert V.mean(axis=0) == pytest.approx(np.full(4, 250.0), abs=20.0)
    assert V.std(axis=0) == pytest.approx(np.full(4, 194.0), abs=15.0)


@pytest.mark.parametrize("width", [1e-2, 1e-4, 1e-6])
def test_a_wedge_between_two_constraints_is_sampled_to_its_end(width: float) -> None:
    """Between x + y <= 1 and x + (1 + width) y >= 1 the density of y grows as y does."""
    space = Space(
        {"x": (0.0, 1.0), "y": (0.0, 1.0)},
        constraints=[
            LinearConstraint({"x": 1, "y": 1}, upper=1),
            LinearConstraint({"x": 1, "y": 1 + width}, lower=1),
        ],
    )
    U = space.sample(2000, np.random.default_rng(0))
    assert U.mean(axis=0) == pytest.approx([1 / 3, 2 / 3], abs=0.03)


@pytest.mark.parametrize("extra", [[], [LinearConstraint({"x": 1.0}, upper=900.0)]])
def test_a_narrow_band_is_sampled_evenly_whatever_the_units(extra: list[LinearConstraint]) -> None:
    band = LinearConstraint({"x": 1e-3, "y": 0.5, "z": 1e3}, lower=-0.49, upper=-0.49 + 1e-9)
    table = {"x": (10.0, 1010.0), "y": (-3.0, -1.0), "z": (0.0, 1e-3)}
    U = Space(table, constraints=[band, *extra]).sample(2000, np.random.default_rng(0))
    assert U.mean(axis=0) == pytest.approx(np.full(3, 1 / 3), abs=0.03)
    assert U.std(axis=0) == pytest.approx(np.full(3, math.sqrt(0.5) / 3), abs=0.02)


def test_two_halves_of_a_band_are_one_band() -> None:
    names = ["x", "y", "z"]
    space = Space(
        dict.fromkeys(names, (0.0, 1.0)),
        constraints=[
            LinearConstraint(dict.fromkeys(names, 1.0), lower=1.0),
            LinearConstraint(dict.fromkeys(names, -2.0), lower=-2.0 - 1e-8),
        ],
    )
    U = space.sample(2000, np.random.default_rng(0))
    assert U.mean(axis=0) == pytest.approx(np.full(3, 1 / 3), abs=0.03)


def test_a_predicate_and_a_condition_hold_within_a_narrow_band() -> None:
    table = {"on": Bool(), "x": (0.0, 1.0), "y": (0.0, 1.0), "z": Float(0.0, 1.0, active_if={"on": True})}
    band = LinearConstraint({"x": 1, "y": 1, "z": 1}, lower=1.0, upper=1.0 + 1e-8)
    space = Space(table, constraints=[band, lambda p: p["x"] > p["y"]])
    points = space.decode_rows(space.sample(1000, np.random.default_rng(0)))
    assert all(1.0 <= p["x"] + p["y"] + p.get("z", 0.0) <= 1.0 + 1e-8 and p["x"] > p["y"] for p in points)
    # half of the draws are on, and there the simplex has half the measure that it has without z
    assert np.mean([p["on"] for p in points]) == pytest.approx(1 / 3, abs=0.06)


def test_a_tiny_corner_is_sampled_evenly() -> None:
    names = [f"x{i}" for i in range(5)]
    corner = LinearConstraint(dict.fromkeys(names, 1.0), upper=1e-9)
    U = Space(dict.fromkeys(names, (0.0, 1.0)), constraints=corner).sample(2000, np.random.default_rng(0))
    assert U.mean(axis=0) == pytest.approx(np.full(5, 1e-9 / 6), rel=0.1)


@st.composite
def banded(draw: st.DrawFn) -> Space:
    """A float and up to three more numbers in one or two narrow bands around a point of the space."""
    table = {f"p{i}": p for i, p in enumerate(draw(st.lists(bounded_numbers(), min_size=0, max_size=3)))}
    table |= {"x": Float(-1.0, 2.0)}
    inside = Space(table).sample(1, np.random.default_rng(draw(st.integers(0, 99))))
    values = dict(zip(table, Space(table).numbers(inside)[0], strict=True))
    bands = []
    for _ in range(draw(st.integers(1, 2))):
        a = {
            name: draw(st.sampled_from([-2.0, -1.0, 0.5, 1.0])) / max(abs(p.low), abs(p.high))
            for name, p in table.items()
        }
        middle, width = math.fsum(a[name] * v for name, v in values.items()), draw(st.sampled_from([1e-3, 1e-6, 1e-8]))
        bands.append(LinearConstraint(a, lower=middle - width, upper=middle + width))
    return Space(table, constraints=bands)


@settings(max_examples=60)
@given(banded())
def test_any_narrow_band_with_a_point_in_it_is_found_and_kept_to(space: Space) -> None:
    U = space.sample(8, np.random.default_rng(0))
    assert space.feasible(U).all()
    for params in space.decode_rows(U):
        assert all(c.lower <= total(c, params) <= c.upper for c in space.constraints)  # type: ignore[arg-type, union-attr]


def test_a_band_within_rounding_is_no_band_and_says_so() -> None:
    with pytest.raises(SpaceError, match=r"must be < upper by more than sums are rounded, or equals= must be given"):
        mixture(3, 5e-16)


# -- spaces without points


@pytest.mark.parametrize(
    ("table", "constraint", "told"),
    [
        ({"x": (0.0, 1.0), "y": (0.0, 1.0)}, LinearConstraint({"x": 1, "y": 1}, lower=3), "proven"),
        ({"n": (0, 5), "m": (0, 5)}, LinearConstraint({"n": 2, "m": 2}, lower=3, upper=3), "proven"),
        ({"x": (0.0, 1.0), "c": ["a", "b"]}, lambda _: False, "random points were tried"),
        ({"n": (0, 50), "m": (0, 50)}, lambda p: p["n"] > 99, "the whole grid was tried"),
    ],
)
def test_an_infeasible_space_is_reported_within_seconds(table: dict[str, Any], constraint: Any, told: str) -> None:
    start = time.perf_counter()
    with pytest.raises(InfeasibleSpaceError, match=told):
        Optimizer(table, constraint=constraint, seed=0).ask()
    assert time.perf_counter() - start < 20.0


def test_a_single_feasible_grid_point_is_found() -> None:
    opt = Optimizer({"n": (0, 200), "m": (0, 200)}, constraint=lambda p: p == {"n": 123, "m": 45}, seed=0)
    assert opt.ask().params == {"n": 123, "m": 45}


def test_an_equation_over_integers_is_a_constraint() -> None:
    opt = Optimizer(
        {"a": (0, 10), "b": (0, 10)}, constraint=LinearConstraint({"a": 1, "b": 1}, lower=10, upper=10), seed=0
    )
    assert {t.params["a"] + t.params["b"] for t in opt.ask(11)} == {10}


def test_tenths_add_up_as_they_do_on_paper() -> None:
    table = {"a": Float(0.0, 0.3, step=0.1), "b": Float(0.0, 0.3, step=0.1)}
    space = Space(table, constraints=LinearConstraint({"a": 1, "b": 1}, lower=0.3, upper=0.3))
    grid = space.grid(limit=100)
    assert grid is not None
    assert len(grid) == 4  # 0.1 + 0.2 is 0.30000000000000004


def test_a_conditional_parameter_counts_as_zero_while_inactive() -> None:
    table = {"on": Categorical([False, True]), "x": Float(1.0, 2.0, active_if={"on": True})}
    opt = Optimizer(table, constraint=LinearConstraint({"x": 1}, upper=0.5), seed=0, allow_repeats=True, n_initial=1)
    assert opt.ask().params == {"on": False}


# -- constraints that cannot be


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: LinearConstraint({}, upper=1), "must map parameter names to numbers"),
        (lambda: LinearConstraint(["x"], upper=1), "must map parameter names to numbers"),
        (lambda: LinearConstraint({"x": math.nan}, upper=1), "must be a finite number, got nan"),
        (lambda: LinearConstraint({"x": True}, upper=1), "must be a finite number, got True"),
        (lambda: LinearConstraint({"x": 1}), "finite lower or upper"),
        (lambda: LinearConstraint({"x": 1}, upper="a"), "LinearConstraint.upper must be a number, got 'a'"),
        (lambda: LinearConstraint({"x": 1}, upper=math.nan), "LinearConstraint.upper must be a number, got nan"),
        (lambda: LinearConstraint({"x": 1}, lower=2, upper=1), "lower must be <= upper"),
        (lambda: Space({"x": (0.0, 1.0)}, constraints=[3]), "must be LinearConstraint or callable, got 3"),
        (lambda: Space({"x": (0.0, 1.0)}, constraints=3), "must be LinearConstraint or callable, got 3"),
        (lambda: Optimizer({"x": (0.0, 1.0)}, constraint=3), "must be LinearConstraint or callable, got 3"),
        (lambda: Space({"x": (0.0, 1.0)}, constraints=LinearConstraint({"y": 1}, upper=1)), "unknown parameter: 'y'"),
        (lambda: Space({"x": ["a", "b"]}, constraints=LinearConstraint({"x": 1}, upper=1)), "the categorical 'x'"),
        (
            lambda: Space(
                {"x": (0.0, 1.0), "n": (0, 1)}, constraints=LinearConstraint({"x": 1, "n": 1}, lower=1, upper=1)
            ),
            "must be over continuous parameters alone, linear and active everywhere, but 'n' is a whole number",
        ),
    ],
)
def test_a_constraint_that_cannot_be_says_why(make: Any, told: str) -> None:
    with pytest.raises(SpaceError, match=told):
        make()


def test_an_error_inside_a_predicate_names_the_constraint_and_the_params() -> None:
    def warm(params: dict[str, Any]) -> bool:
        return bool(params["nowhere"] > 0)

    with pytest.raises(SpaceError, match=r"constraint warm raised KeyError: 'nowhere' at the params \{'x': ") as caught:
        Optimizer({"x": (0.0, 1.0)}, constraint=warm, seed=0).ask()
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (None, r"must return True or False, got None at the params \{'x': .*\}; is a return missing\?"),
        ("yes", "must return True or False, got 'yes' at the params"),
        (0.25, r"must return True or False, got 0\.25 at the params"),
        (np.array([True, False]), "must return True or False, got array"),
    ],
)
def test_a_predicate_that_returns_no_truth_value_is_refused(answer: Any, told: str) -> None:
    with pytest.raises(SpaceError, match=told):
        Optimizer({"x": (0.0, 1.0)}, constraint=lambda _: answer, seed=0).ask()


@pytest.mark.parametrize("answer", [True, 1, np.True_, np.array(True)])
def test_a_predicate_may_answer_in_the_words_of_numpy(answer: Any) -> None:
    assert Optimizer({"x": (0.0, 1.0)}, constraint=lambda _: answer, seed=0).ask().id == 0


def test_a_predicate_cannot_change_what_is_suggested() -> None:
    def vandal(params: dict[str, Any]) -> bool:
        params.clear()
        return True

    assert set(Optimizer({"x": (0.0, 1.0), "n": Int(1, 3)}, constraint=[vandal, vandal], seed=0).ask().params) == {
        "x",
        "n",
    }


def test_data_from_elsewhere_may_break_a_constraint() -> None:
    """They were measured; the model learns from them all the same."""
    opt = Optimizer({"x": (0.0, 1.0)}, constraint=lambda p: p["x"] < 0.5, seed=0, n_initial=1)
    opt.tell({"x": 0.9}, 1.0)
    assert all(trial.params["x"] < 0.5 for trial in opt.ask(3))


def test_what_was_told_of_an_infeasible_space_still_has_its_credit() -> None:
    opt = Optimizer({"x": (0.0, 1.0)}, constraint=lambda _: False, seed=0)
    for x in (0.1, 0.5, 0.9):
        opt.tell({"x": x}, x)
    assert [row.credit for row in opt.credits()] == pytest.approx([0.1, 0.55, 1.0])
    with pytest.raises(InfeasibleSpaceError):
        opt.ask()


# -- all or nothing


def test_an_ask_for_more_points_than_are_free_gives_none_and_changes_nothing() -> None:
    opt, other = (Optimizer({"a": (1, 3)}, seed=0) for _ in range(2))
    before = json.dumps(opt.state_dict())
    with pytest.raises(SpaceExhaustedError, match=r"only 3 of the 5 points asked for are free"):
        opt.ask(5)
    assert json.dumps(opt.state_dict()) == before
    assert opt.pending == ()
    assert [t.params for t in opt.ask(3)] == [t.params for t in other.ask(3)]
    before = json.dumps(opt.state_dict())
    with pytest.raises(SpaceExhaustedError, match="every point of the space"):
        opt.ask(2)
    assert json.dumps(opt.state_dict()) == before


def test_an_ask_that_fails_in_a_predicate_changes_nothing() -> None:
    down = False

    def up(params: dict[str, Any]) -> bool:
        if down:
            raise RuntimeError("service down")
        return bool(params["x"] < 0.9)

    opt, other = (Optimizer({"x": (0.0, 1.0), "y": (0.0, 1.0)}, constraint=up, seed=0, **FAST) for _ in range(2))
    for _ in range(5):
        for each in (opt, other):
            trial = each.ask()
            each.tell(trial, trial.params["x"])
    before = json.dumps(opt.state_dict())
    down = True
    with pytest.raises(SpaceError, match="service down"):
        opt.ask(2)
    down = False
    assert json.dumps(opt.state_dict()) == before
    assert opt.ask().params == other.ask().params


def test_a_study_that_cannot_give_all_points_gives_none(tmp_path: Path) -> None:
    with Study(tmp_path / "s.db", {"a": (1, 3)}, seed=0) as study:
        with pytest.raises(SpaceExhaustedError, match=r"only 3 of the 5 points asked for are free"):
            study.ask(5)
        assert study.trials == ()
        assert {t.params["a"] for t in study.ask(3)} == {1, 2, 3}
