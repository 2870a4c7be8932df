"""Spaces with fixed parameters: the same coordinates, and every point at exactly the values that are held."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from space_strategies import spaces

from ccgbo import Bool, Categorical, Float, InfeasibleSpaceError, Int, LinearConstraint, ParamsError, Space
from ccgbo.engine.candidates import global_candidates, local_candidates
from ccgbo.engine.design import design_points
from ccgbo.engine.search import movable
from ccgbo.tuning import EngineTuning

TABLE = {
    "oven": (20.0, 250.0),
    "lr": Float(1e-5, 1e-1, log=True),
    "tenth": Float(0.0, 0.5, step=0.1),
    "n": (1, 9),
    "kind": ["a", "b", "c"],
    "model": ["svm", "net"],
    "gamma": Float(1e-4, 1e1, log=True, active_if={"model": "svm"}),
    "layers": Int(1, 4, active_if={"model": "net"}),
    "skip": Bool(active_if={"layers": [3, 4]}),
}


def every_point(space: Space, whole: Space) -> list[dict[str, Any]]:
    """Points by every way in which the engine makes them."""
    rng = np.random.default_rng(0)
    U = [
        space.sample(20, rng),
        *(design_points(space, kind, 0, 8, 8, 1) for kind in ("sobol", "lhs", "random")),
        global_candidates(space, EngineTuning(n_candidates=64), rng),
        local_candidates(space, whole.sample(4, rng), 20, rng),
    ]
    return [params for block in U for params in space.decode_rows(block)]


@pytest.mark.parametrize(
    ("fixed", "held"),
    [
        ({"oven": 180.1}, {"oven": 180.1}),
        ({"lr": 0.0033, "oven": 20}, {"lr": 0.0033, "oven": 20.0}),
        ({"tenth": 0.1 + 0.2}, {"tenth": 0.3}),
        ({"n": np.int64(7), "kind": "b"}, {"n": 7, "kind": "b"}),
        ({"model": "net", "layers": 3}, {"model": "net", "layers": 3}),
        ({"gamma": 0.123}, {"gamma": 0.123}),
        ({"skip": True}, {"skip": True}),
    ],
)
def test_every_point_of_a_restricted_space_has_exactly_the_fixed_values(
    fixed: dict[str, Any], held: dict[str, Any]
) -> None:
    whole = Space(TABLE)
    space, seen = whole.restricted(fixed), set()
    for params in every_point(space, whole):
        for name in held.keys() & params.keys():
            assert params[name] == held[name]
            assert type(params[name]) is type(held[name])
            seen.add(name)
        assert space.agrees(params)
        assert np.array_equal(space.features(space.encode(params)[None, :]), whole.features(whole.encode(params)[None]))
    assert seen == set(held)


def test_a_fixed_child_leaves_its_parent_free() -> None:
    """Where there is an oven it is at 180; points without one may still be suggested."""
    space = Space({"oven": Bool(), "heat": Float(20.0, 250.0, active_if={"oven": True})}).restricted({"heat": 180.0})
    points = space.decode_rows(space.sample(50, np.random.default_rng(0)))
    assert {tuple(p.items()) for p in points} == {(("oven", True), ("heat", 180.0)), (("oven", False),)}
    assert space.cardinality == 2


@settings(max_examples=60)
@given(spaces(), st.integers(0, 2**31), st.data())
def test_any_point_of_any_space_can_be_held_in_part(space: Space, seed: int, data: st.DataObject) -> None:
    rng = np.random.default_rng(seed)
    known = space.decode(space.sample(1, rng)[0])
    fixed = {name: known[name] for name in data.draw(st.sets(st.sampled_from(sorted(known)), min_size=1))}
    held = space.restricted(fixed)
    for params in every_point(held, space):
        space.encode(params)
        assert all(params[name] == value for name, value in fixed.items() if name in params)
        assert held.agrees(params)
    assert not movable(held, held.sample(3, rng))[:, [space.names.index(n) for n in fixed if space.p == space.d]].any()


def test_a_space_with_everything_fixed_has_one_point() -> None:
    point = {"x": 0.3, "c": "a", "n": 4}
    space = Space({"x": (0.0, 1.0), "c": ["a", "b"], "n": (1, 9)}).restricted(point)
    grid = space.grid(limit=1)
    assert grid is not None
    assert space.decode_rows(grid) == [point]
    assert space.decode_rows(space.sample(2, np.random.default_rng(0))) == [point, point]


def test_restrictions_add_up() -> None:
    whole = Space({"x": (0.0, 1.0), "y": (0.0, 1.0), "n": (1, 9)})
    assert whole.restricted({"x": 0.3}).restricted({"n": 2}) == whole.restricted({"n": 2, "x": 0.3})
    assert whole.restricted({}) == whole
    assert whole.restricted({"x": 0.3}) != whole
    assert whole.restricted({"x": 0.3}).restricted({"x": 0.3}).fixed == {"x": 0.3}
    with pytest.raises(ParamsError, match=r"fixed: 'x' is held at 0\.3 already, got 0\.4"):
        whole.restricted({"x": 0.3}).restricted({"x": 0.4})


@pytest.mark.parametrize(
    ("fixed", "told"),
    [
        ({"owen": 180}, r"fixed has an unknown parameter 'owen'; the space has \['oven'"),
        ({"oven": 300}, r"fixed: oven must be in \[20\.0, 250\.0\], got 300"),
        ({"oven": "hot"}, r"fixed: oven must be a finite number, got 'hot'"),
        ({"kind": "d"}, r"fixed: kind must be one of \['a', 'b', 'c'\], got 'd'"),
        ({"n": 2.5}, r"fixed: n must be a whole number, got 2\.5"),
        ({"tenth": 0.25}, r"fixed: tenth must be"),
        ({"model": "net", "gamma": 0.1}, r"fixed: 'gamma' is inactive where 'model' is 'net'"),
        ({"model": "svm", "skip": True}, r"fixed: 'skip' is inactive where 'model' is 'svm'"),
        ({"layers": 2, "skip": True}, r"fixed: 'skip' is inactive where 'layers' is 2"),
        ([("n", 2)], r"fixed must be a mapping of names to values"),
    ],
)
def test_a_value_that_no_point_has_is_refused_by_name(fixed: Any, told: str) -> None:
    with pytest.raises(ParamsError, match=told):
        Space(TABLE).restricted(fixed)


# -- with constraints


def test_linear_constraints_and_predicates_hold_around_the_fixed_values() -> None:
    names = ["x", "y", "z"]
    constraints = [LinearConstraint(dict.fromkeys(names, 1.0), upper=1.0), lambda p: p["y"] > p["z"]]
    space = Space(dict.fromkeys(names, (0.0, 1.0)), constraints=constraints).restricted({"x": 0.9})
    for p in every_point(space, Space(dict.fromkeys(names, (0.0, 1.0)))):
        assert p["x"] == 0.9
        assert sum(p.values()) <= 1.0
        assert p["y"] > p["z"]


def test_a_bound_is_reached_by_fixing_all_that_adds_up_to_it() -> None:
    table = {"x": (0.0, 1.0), "y": (0.0, 1.0), "z": (0.0, 1.0)}
    space = Space(table, constraints=LinearConstraint({"x": 1.0, "y": 1.0}, upper=0.3))
    held = space.restricted({"x": 0.1, "y": 0.2})  # 0.1 + 0.2 is 0.30000000000000004
    assert held.feasible(held.sample(5, np.random.default_rng(0))).all()


@pytest.mark.parametrize(
    ("table", "constraints", "fixed", "told"),
    [
        (
            {"x": (0.0, 1.0), "y": (0.0, 1.0)},
            LinearConstraint({"x": 1, "y": 1}, lower=1.5),
            {"x": 0.3},
            r"fixed=\{'x': 0\.3\} contradicts LinearConstraint\(.*the bounds then allow a sum between 0\.3 and 1\.3",
        ),
        (
            {"x": (0.0, 1.0), "n": (0, 4), "m": (0, 4)},
            [LinearConstraint({"x": 1, "n": 1}, lower=2.0), LinearConstraint({"n": 1, "m": 1}, upper=3)],
            {"x": 0.5, "m": 2},
            r"no point of the space with fixed=\{'x': 0\.5, 'm': 2\} satisfies the linear constraints \(proven\)",
        ),
    ],
)
def test_a_contradiction_with_the_linear_constraints_is_proven(
    table: dict[str, Any], constraints: Any, fixed: dict[str, Any], told: str
) -> None:
    with pytest.raises(InfeasibleSpaceError, match=told):
        Space(table, constraints=constraints).restricted(fixed)


def test_a_predicate_that_allows_nothing_there_says_so_with_the_values() -> None:
    space = Space({"n": (1, 9), "c": ["a", "b"]}, constraints=lambda p: p["n"] < 5).restricted({"n": 7})
    for make in (lambda: space.sample(1, np.random.default_rng(0)), lambda: every_point(space, space)):
        with pytest.raises(InfeasibleSpaceError, match=r"of the space with fixed=\{'n': 7\} was found"):
            make()


def test_a_child_that_is_inactive_counts_as_zero_in_a_sum_with_fixed_values() -> None:
    table = {"on": Categorical([False, True]), "x": Float(1.0, 2.0, active_if={"on": True}), "y": (0.0, 1.0)}
    space = Space(table, constraints=LinearConstraint({"x": 1, "y": 1}, upper=1.0)).restricted({"x": 1.5})
    assert {p["on"] for p in space.decode_rows(space.sample(20, np.random.default_rng(0)))} == {False}
