"""Mixtures and linear equations over continuous parameters: every point adds up, and nothing that does is left out."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from space_strategies import mixtures

from ccgbo import (
    Bool,
    Categorical,
    Float,
    InfeasibleSpaceError,
    Int,
    LinearConstraint,
    Mixture,
    Space,
    SpaceError,
    Study,
    load_space,
    save_space,
)
from ccgbo.space import space_from_dict, space_from_toml, space_to_dict
from ccgbo.space.affine import Affine


def mixture(d: int, low: float = 0.0, high: float = 1.0, total: float = 1.0, **more: Any) -> Space:
    names = [f"x{i}" for i in range(d)]
    return Space({name: Float(low, high) for name in names} | more, constraints=Mixture(names, total=total))


def points(space: Space, n: int = 200, seed: int = 0) -> list[dict[str, Any]]:
    U = space.sample(n, np.random.default_rng(seed))
    assert space.feasible(U).all()
    return space.decode_rows(U)


def adds_up(params: dict[str, Any], parts: Any, total: float) -> bool:
    """Within a few units in the last place, in whatever order the parts are added."""
    values = [params[name] for name in parts]
    return max(abs(sum(values) - total), abs(sum(values[::-1]) - total), abs(math.fsum(values) - total)) <= (
        4 * math.ulp(total) * max(1.0, sum(map(abs, values)) / total)
    )


# -- sampling


@pytest.mark.parametrize("d", [2, 3, 5, 10])
def test_a_mixture_is_sampled_evenly(d: int) -> None:
    """The parts of a uniform point of a simplex are Dirichlet: of mean 1/d and variance (d - 1) / (d^2 (d + 1))."""
    space = mixture(d)
    assert all(adds_up(p, space, 1.0) and min(p.values()) >= 0.0 for p in points(space, 2000))
    U = space.sample(2000, np.random.default_rng(0))
    assert U.mean(axis=0) == pytest.approx(np.full(d, 1 / d), rel=0.1)
    assert U.std(axis=0) == pytest.approx(np.full(d, math.sqrt((d - 1) / (d + 1)) / d), rel=0.1)


@pytest.mark.parametrize(("low", "high"), [(0.1, 0.4), (0.15, 1.0), (0.0, 0.3)])
def test_a_mixture_within_bounds_is_sampled_as_what_is_left_of_the_simplex(low: float, high: float) -> None:
    draws = np.random.default_rng(1).dirichlet(np.ones(4), 400_000)
    inside = draws[(draws >= low).all(axis=1) & (draws <= high).all(axis=1)]
    V = np.array([list(p.values()) for p in points(mixture(4, low, high), 3000)])
    assert V.min() >= low
    assert V.max() <= high
    assert np.sort(V, axis=1).mean(axis=0) == pytest.approx(np.sort(inside, axis=1).mean(axis=0), abs=0.01)
    assert V.std(axis=0) == pytest.approx(inside.std(axis=0), rel=0.1)


@pytest.mark.parametrize(
    ("table", "equation"),
    [
        ({"a": (0.0, 100.0), "b": (0.0, 100.0), "c": (0.0, 100.0)}, Mixture(["a", "b", "c"], total=100)),
        ({"a": (0.0, 1.0), "b": (0.0, 1.0), "c": (0.0, 1.0)}, Mixture(["a", "b", "c"], total=1e-6)),
        ({"a": (0.0, 1.0), "b": (0.0, 1.0), "c": (0.0, 1.0)}, Mixture(["a", "b", "c"], total=3 - 1e-6)),
        ({"a": (0.3, 0.3001), "b": (0.0, 1.0), "c": (0.699, 0.6999)}, Mixture(["a", "b", "c"])),
        (
            {"a": (0.0, 1e3), "b": (-50.0, 1e-3), "c": (0.0, 1e6)},
            LinearConstraint({"a": 1e-3, "b": 0.5, "c": 1e-6}, equals=1.0),
        ),
        ({"a": (-2.0, 3.0), "b": (-2.0, 3.0)}, LinearConstraint({"a": 1.0, "b": -1.0}, equals=0.0)),
    ],
)
def test_an_equation_holds_whatever_the_units(table: dict[str, Any], equation: LinearConstraint) -> None:
    space = Space(table, constraints=equation)
    found = points(space)
    assert len({tuple(p.values()) for p in found}) == len(found)
    for p in found:
        terms = [a * p[name] for name, a in equation.coefficients.items()]
        assert abs(math.fsum(terms) - equation.upper) <= 4 * 2.0**-52 * sum(map(abs, terms))
        assert all(space[name].low <= value <= space[name].high for name, value in p.items())  # type: ignore[union-attr]


def test_what_is_decoded_can_be_told_and_is_decoded_again() -> None:
    space = mixture(4, c=["x", "y"])
    U = space.sample(100, np.random.default_rng(0))
    rows = space.decode_rows(U)
    again = space.encode_rows(rows)
    assert np.abs(again - U).max() < 1e-14
    assert space.feasible(again).all()
    for one, two in zip(rows, space.decode_rows(again), strict=True):
        assert one["c"] == two["c"]
        assert all(abs(one[f"x{i}"] - two[f"x{i}"]) <= 1e-15 for i in range(4))


def test_a_part_at_its_bound_is_decoded_as_the_bound() -> None:
    space = mixture(4)
    assert space.decode(np.array([0.0, 0.3, 0.0, 0.7])) == {"x0": 0.0, "x1": 0.3, "x2": 0.0, "x3": 0.7}
    u = np.array([0.0, 0.1 + 1e-13, 0.2, 0.7])
    assert space.decode(u)["x0"] == 0.0
    assert adds_up(space.decode(u), space, 1.0)


# -- with other constraints


def test_mixtures_may_share_parts() -> None:
    space = Space(
        dict.fromkeys("abcd", (0.0, 1.0)), constraints=[Mixture(["a", "b", "c"]), Mixture(["b", "c", "d"], total=0.8)]
    )
    found = points(space)
    assert all(adds_up(p, "abc", 1.0) and adds_up(p, "bcd", 0.8) for p in found)
    assert space.dimension == 2
    # a = d + 0.2, so what is left is b + c <= 0.8: a triangle
    assert np.mean([p["b"] for p in found]) == pytest.approx(0.8 / 3, abs=0.05)


def test_inequalities_and_predicates_hold_within_a_mixture() -> None:
    constraints: list[Any] = [
        Mixture(["a", "b", "c"]),
        LinearConstraint({"a": 1, "b": 2, "c": 3}, upper=1.5),
        lambda p: p["b"] > 2 * p["c"],
    ]
    space = Space(dict.fromkeys("abc", (0.0, 1.0)) | {"t": (20.0, 100.0)}, constraints=constraints)
    found = points(space)
    for p in found:
        assert adds_up(p, "abc", 1.0)
        assert p["a"] + 2 * p["b"] + 3 * p["c"] <= 1.5
        assert p["b"] > 2 * p["c"]
    assert np.mean([p["t"] for p in found]) == pytest.approx(60.0, abs=6.0)


def test_a_predicate_that_only_the_middle_of_a_mixture_satisfies_is_found() -> None:
    names = [f"x{i}" for i in range(8)]
    constraints: list[Any] = [Mixture(names), lambda p: p["x0"] + p["x1"] > 0.5 and min(p.values()) > 0.03]
    space = Space(dict.fromkeys(names, (0.0, 1.0)), constraints=constraints)
    assert all(adds_up(p, names, 1.0) and min(p.values()) > 0.03 for p in points(space, 20))


def test_two_mixtures_and_conditional_parameters_stand_side_by_side() -> None:
    table = dict.fromkeys("abxyz", (0.0, 1.0)) | {
        "oven": Bool(),
        "heat": Float(20.0, 250.0, active_if={"oven": True}),
        "n": Int(1, 3),
    }
    space = Space(table, constraints=[Mixture(["a", "b"], total=0.5), Mixture(["x", "y", "z"])])
    found = points(space)
    assert all(adds_up(p, "ab", 0.5) and adds_up(p, "xyz", 1.0) for p in found)
    assert np.mean([p["oven"] for p in found]) == pytest.approx(0.5, abs=0.1)
    assert np.mean([p["x"] for p in found]) == pytest.approx(1 / 3, abs=0.06)


def test_a_mixture_of_whole_percents_is_one_too() -> None:
    space = Space(dict.fromkeys("abc", (0, 100)), constraints=Mixture(["a", "b", "c"], total=100))
    assert {sum(p.values()) for p in points(space, 50)} == {100}
    steps = Space(dict.fromkeys("abc", Float(0.0, 1.0, step=0.05)), constraints=Mixture(["a", "b", "c"]))
    assert all(sum(p.values()) == pytest.approx(1.0, abs=1e-12) for p in points(steps, 50))


# -- with fixed parts


def test_the_other_parts_make_up_for_a_fixed_one() -> None:
    space = mixture(4).restricted({"x0": 0.3})
    found = points(space, 1000)
    assert {p["x0"] for p in found} == {0.3}
    assert all(adds_up(p, space, 1.0) for p in found)
    assert np.mean([p["x1"] for p in found]) == pytest.approx(0.7 / 3, abs=0.02)


def test_a_part_that_is_left_no_choice_has_its_value() -> None:
    space = mixture(3, t=(0.0, 1.0)).restricted({"x0": 0.3, "x1": 0.1})
    assert {tuple(p.values())[:3] for p in points(space)} == {(0.3, 0.1, 0.6)}
    assert space.dimension == 1
    assert mixture(3).restricted({"x0": 0.3, "x1": 0.1}).cardinality == 1


@pytest.mark.parametrize(
    ("table", "constraints", "held"),
    [
        (dict.fromkeys("abc", (0.2, 0.5)), Mixture(["a", "b", "c"], total=0.2 + 0.2 + 0.2), dict.fromkeys("abc", 0.2)),
        (dict.fromkeys("ab", (0.0, 0.5)), Mixture(["a", "b"]), dict.fromkeys("ab", 0.5)),
        (
            dict.fromkeys("abc", (0.0, 1.0)),
            [Mixture(["a", "b"]), Mixture(["b", "c"]), Mixture(["a", "c"])],
            dict.fromkeys("abc", 0.5),
        ),
        (
            dict.fromkeys("abc", (0.0, 1.0)),
            [Mixture(["a", "b", "c"]), LinearConstraint({"a": 1, "b": 2, "c": 3}, equals=3)],
            {"a": 0.0, "b": 0.0, "c": 1.0},
        ),
        (dict.fromkeys("abcd", (0.0, 1.0)), [Mixture(["a", "b", "c"]), Mixture(["b", "c"])], {"a": 0.0}),
    ],
)
def test_what_the_equations_leave_no_choice_of_is_known(
    table: dict[str, Any], constraints: Any, held: dict[str, float]
) -> None:
    space = Space(table, constraints=constraints)
    for params in points(space, 10):
        assert {name: params[name] for name in held} == pytest.approx(held, abs=1e-15)
    assert space.held == pytest.approx(held, abs=1e-15)


# -- what cannot be


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (
            lambda: mixture(3, 0.4, 0.5),
            r"no point satisfies Mixture\(\['x0', 'x1', 'x2'\], total=1\.0\): .*1\.2 and 1\.5",
        ),
        (lambda: mixture(3, 0.0, 0.3), r"the bounds allow a sum between 0 and 0\.9"),
        (lambda: mixture(3).restricted({"x0": 0.7, "x1": 0.6}), r"contradicts Mixture\(.*the bounds then allow a sum"),
        (
            lambda: mixture(3).restricted({"x0": 0.3, "x1": 0.3, "x2": 0.3}),
            r"fixed=\{'x0': 0\.3, 'x1': 0\.3, 'x2': 0\.3\} contradicts Mixture",
        ),
        (
            lambda: Space(
                dict.fromkeys("abc", (0.0, 1.0)), constraints=[Mixture(["a", "b", "c"]), Mixture(["a", "b"], total=1.5)]
            ).sample(1, np.random.default_rng(0)),
            r"no point satisfies the linear constraints of the space \(proven\)",
        ),
    ],
)
def test_a_mixture_without_points_says_what_the_bounds_allow(make: Any, told: str) -> None:
    with pytest.raises(InfeasibleSpaceError, match=told):
        make()


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (Int(0, 3), "'y' is a whole number"),
        (Float(0.0, 1.0, step=0.1), "'y' has a step"),
        (Float(1e-3, 1.0, log=True), "'y' is searched on a log scale"),
        (Float(0.0, 1.0, active_if={"on": True}), "'y' is conditional, and counts as zero where it is inactive"),
    ],
)
def test_an_equation_names_the_parameter_that_it_cannot_be_over(spec: Any, reason: str) -> None:
    with pytest.raises(SpaceError, match=rf"must be over continuous parameters alone, .* but {reason}"):
        Space({"x": (0.0, 1.0), "on": Bool(), "y": spec}, constraints=Mixture(["x", "y"]))


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Mixture("abc"), "Mixture.parts must be a list of two names or more, got 'abc'"),
        (lambda: Mixture(["a"]), "Mixture.parts must be a list of two names or more"),
        (lambda: Mixture(["a", 3]), "Mixture.parts must be names of parameters, got 3"),  # type: ignore[list-item]
        (lambda: Mixture(["a", "b", "a"]), "Mixture.parts must be distinct, got 'a' twice"),
        (lambda: Mixture(["a", "b"], total=0), "Mixture.total must be a finite number > 0, got 0"),
        (lambda: Mixture(["a", "b"], total=math.nan), "Mixture.total must be a finite number > 0, got nan"),
        (lambda: Space({"a": (0.0, 1.0)}, constraints=Mixture(["a", "b"])), "names an unknown parameter: 'b'"),
        (
            lambda: Space({"a": (0.0, 1.0), "b": Categorical([1, 2])}, constraints=Mixture(["a", "b"])),
            "must name numbers only, got the categorical 'b'",
        ),
        (lambda: LinearConstraint({"a": 1}, equals=math.inf), "LinearConstraint.equals must be a finite number"),
        (lambda: LinearConstraint({"a": 1}, equals=1, upper=2), "takes equals, or lower and upper, got both"),
    ],
)
def test_a_mixture_that_cannot_be_says_why(make: Any, told: str) -> None:
    with pytest.raises(SpaceError, match=told):
        make()


# -- spelling and files


def test_a_mixture_is_short_for_an_equation() -> None:
    short = Mixture(["a", "b"], total=2)
    assert short == LinearConstraint({"a": 1, "b": 1}, equals=2) == LinearConstraint({"b": 1, "a": 1}, lower=2, upper=2)
    assert short != Mixture(["a", "b"])
    assert (short.parts, short.total, short.equals) == (("a", "b"), 2.0, 2.0)
    assert repr(short) == "Mixture(['a', 'b'], total=2.0)"
    assert repr(LinearConstraint({"a": 1}, equals=3)) == "LinearConstraint({'a': 1.0}, equals=3.0)"
    assert repr(LinearConstraint({"a": 1}, upper=3)) == "LinearConstraint({'a': 1.0}, upper=3.0)"
    assert pickle.loads(pickle.dumps(short)) == short


def test_a_mixture_is_written_as_it_is_read(tmp_path: Path) -> None:
    text = """
[parameters]
water = { type = "float", low = 0.0, high = 1.0 }
ethanol = { type = "float", low = 0.0, high = 0.5 }
salt = { type = "float", low = 0.0, high = 1.0 }

[[constraints]]
mixture = ["water", "ethanol"]

[[constraints]]
coefficients = { water = 1.0, salt = -2.0 }
equals = 0.25
"""
    space = space_from_toml(text)
    assert list(space.constraints) == [
        Mixture(["water", "ethanol"]),
        LinearConstraint({"water": 1, "salt": -2}, equals=0.25),
    ]
    for file in ("space.toml", "space.json"):
        save_space(space, tmp_path / file)
        again = load_space(tmp_path / file)
        assert again == space
        assert isinstance(again.constraints[0], Mixture)
    assert space_to_dict(space)["constraints"][0] == {"mixture": ["water", "ethanol"], "total": 1.0}
    with pytest.raises(SpaceError, match=r"^constraints\[0\]: Mixture.total must be a finite number > 0"):
        space_from_dict(space_to_dict(space) | {"constraints": [{"mixture": ["water", "salt"], "total": -1}]})


def test_a_study_remembers_its_mixture(tmp_path: Path) -> None:
    with Study(tmp_path / "s.db", mixture(3), seed=0) as study:
        first = study.ask(2)
    with Study(tmp_path / "s.db") as study:
        assert study.space == mixture(3)
        assert all(adds_up(t.params, study.space, 1.0) for t in [*first, *study.ask(2)])  # type: ignore[arg-type]


# -- the set itself


@st.composite
def affine_sets(draw: st.DrawFn) -> tuple[Affine, np.random.Generator]:
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    m, k = draw(st.integers(1, 2)), draw(st.integers(3, 7))
    A = rng.choice([-1.0, 0.0, 0.5, 1.0, 2.0], (m, k))
    A[:, :2] = 1.0 + rng.random((m, 2))
    return Affine(A, A @ rng.uniform(0.2, 0.8, k), np.zeros(k), np.ones(k)), rng


@settings(max_examples=40)
@given(affine_sets())
def test_a_tangent_climbs_and_keeps_the_equations(drawn: tuple[Affine, np.random.Generator]) -> None:
    """It is the projection of the gradient in the metric: no other direction of its length climbs faster."""
    surface, rng = drawn
    k = surface.A.shape[1]
    x, gradient, weights = rng.uniform(0.3, 0.7, (5, k)), rng.standard_normal((5, k)), rng.uniform(0.1, 1.0, (5, k))
    d = surface.tangent(x, gradient, weights)
    assert np.abs(d @ surface.A.T).max() < 1e-12
    slope = (d * gradient).sum(axis=1)
    assert slope == pytest.approx((d**2 / weights).sum(axis=1))
    null = np.linalg.svd(surface.A)[2][np.linalg.matrix_rank(surface.A) :]
    for _ in range(5):
        other = rng.standard_normal((5, len(null))) @ null
        other *= (np.sqrt(slope) / np.sqrt((other**2 / weights).sum(axis=1)))[:, None]
        assert ((other * gradient).sum(axis=1) <= slope + 1e-9).all()


@settings(max_examples=40)
@given(affine_sets())
def test_points_are_moved_onto_the_set_and_those_on_it_stay(drawn: tuple[Affine, np.random.Generator]) -> None:
    surface, rng = drawn
    x = rng.uniform(-0.5, 1.5, (20, surface.A.shape[1]))
    there, ok = surface.onto(x, np.ones(x.shape))
    assert ok.mean() > 0.9
    assert np.abs(there[ok] @ surface.A.T - surface.b).max() < 1e-13
    assert there[ok].min() >= 0.0
    assert there[ok].max() <= 1.0
    assert np.array_equal(surface.onto(there[ok], np.ones(there[ok].shape))[0], there[ok])


def test_other_parts_keep_their_proportions_when_one_is_moved() -> None:
    space = mixture(3)
    moved = space.complete(np.array([[0.4, 0.4, 0.2], [0.9, 0.4, 0.2], [0.1, 0.0, 0.0]]), [0])
    assert moved == pytest.approx(np.array([[0.4, 0.4, 0.2], [0.9, 1 / 15, 1 / 30], [0.1, 0.45, 0.45]]))


@settings(max_examples=25)
@given(mixtures(), st.integers(0, 2**31))
def test_any_mixture_with_a_point_in_it_is_sampled(space: Space, seed: int) -> None:
    for params in points(space, 16, seed):
        space.encode(params)
        for equation in space.constraints:
            assert isinstance(equation, LinearConstraint)
            terms = [a * params[name] for name, a in equation.coefficients.items()]
            rounding = 8 * 2.0**-52 * sum(map(abs, terms))
            assert equation.lower - rounding <= sum(terms) <= equation.upper + rounding
