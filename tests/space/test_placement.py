"""Where points lie that were really evaluated, inside the space or not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from space_strategies import spaces

from ccgbo import Bool, Categorical, Fixed, Float, Int, LinearConstraint, Space
from ccgbo.surrogate.distance import Metric

WIDE = Space(
    {
        "t": Float(20.0, 100.0),
        "lr": Float(1e-4, 1e-2, log=True),
        "n": Int(1, 9, step=2),
        "width": Int(8, 64, log=True),
        "rate": Float(0.0, 0.5, step=0.1),
        "c": Categorical(["a", "b"]),
    }
)
POINT: dict[str, Any] = {"t": 60.0, "lr": 1e-3, "n": 3, "width": 16, "rate": 0.2, "c": "a"}


def placed(space: Space, params: dict[str, Any]) -> tuple[dict[str, float], str | None]:
    U, problems = space.place_rows([params])
    return dict(zip(space.names, U[0].tolist(), strict=True)), problems[0]


@given(spaces(), st.integers(0, 2**32))
def test_points_of_the_space_are_placed_as_they_are_encoded_to_the_last_bit(space: Space, seed: int) -> None:
    rows = space.decode_rows(space.sample(20, np.random.default_rng(seed)))
    U, problems = space.place_rows(rows)
    assert U.tobytes() == space.encode_rows(rows).tobytes() and problems == [None] * len(rows)
    beside, _ = space.place_rows([*rows, {"nowhere": 1}])  # one stranger changes nothing for the others
    assert beside[:-1].tobytes() == U.tobytes()
    assert all(space.outside(params) is None for params in rows)


def test_no_rows_are_placed_as_an_empty_table() -> None:
    U, problems = WIDE.place_rows([])
    assert U.shape == (0, 6) and problems == []


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("t", 140.0, 1.5),
        ("t", 0.0, -0.25),
        ("t", 140, 1.5),
        ("lr", 1e-1, 1.5),
        ("lr", 1e-5, -0.5),
        ("n", 11, 1.1),
        ("n", -1, -0.1),
        ("n", 4, 0.4),  # off the grid: halfway between the positions of 3 and 5
        ("n", 3.5, 0.35),
        ("width", 7.5, 0.0),  # the edge of the cell of 8
        ("width", 64.5, 1.0),
        ("rate", 0.25, 0.5),
        ("rate", 0.6, 6.5 / 6.0),
    ],
)
def test_numbers_out_of_bounds_or_off_the_grid_are_placed_on_their_scale(
    name: str, value: Any, expected: float
) -> None:
    u, problem = placed(WIDE, POINT | {name: value})
    assert problem is None and u[name] == pytest.approx(expected, abs=1e-12)
    inside, _ = placed(WIDE, POINT)
    assert {k: v for k, v in u.items() if k != name} == {k: v for k, v in inside.items() if k != name}
    assert name in str(WIDE.outside(POINT | {name: value}))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"c": "z"}, r"c must be one of \['a', 'b'\], got 'z'"),
        ({"lr": 0.0}, "lr must be > 0 on a log scale, got 0.0"),
        ({"width": -3}, "width must be > 0 on a log scale, got -3"),
        ({"t": math.nan}, "t must be a finite number, got nan"),
        ({"t": "hot"}, "t must be a finite number, got 'hot'"),
        ({"t": 1e9}, r"t = 1000000000.0 lies too far from \[20.0, 100.0\]"),
        ({"t": 1e308}, "lies too far"),
        ({"extra": 1}, "unknown parameter 'extra'"),
    ],
)
def test_a_point_that_cannot_be_placed_has_a_reason_and_no_position(change: dict[str, Any], reason: str) -> None:
    U, problems = WIDE.place_rows([POINT, POINT | change, POINT])
    assert np.isnan(U[1]).all() and not np.isnan(U[[0, 2]]).any()
    assert problems[0] is None and problems[2] is None
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(problems[1])


def test_a_missing_value_and_a_row_that_is_none_are_named() -> None:
    without = {name: value for name, value in POINT.items() if name != "t"}
    rows: list[Any] = [without, [1.0, 2.0]]
    _, problems = WIDE.place_rows(rows)
    assert "must have a value for 't'" in str(problems[0]) and "must be a mapping" in str(problems[1])


def test_another_value_of_a_parameter_that_has_only_one_cannot_be_told_apart() -> None:
    space = Space({"x": (0.0, 1.0), "stir": Float(300.0, 300.0), "n": Int(2, 2), "data": Fixed("a")})
    point = {"x": 0.5, "stir": 300.0, "n": 2, "data": "a"}
    assert placed(space, point)[1] is None
    assert placed(space, point | {"stir": 300.0 * (1 + 1e-12)})[0]["stir"] == 0.5
    assert placed(space, point | {"stir": 310.0})[1] == "stir is fixed at 300.0, got 310.0."
    assert placed(space, point | {"n": 3})[1] == "n is fixed at 2, got 3."
    assert placed(space, point | {"data": "b"})[1] == "data must be one of ['a'], got 'b'."


def test_constraints_are_not_asked_where_a_point_lies_but_say_that_it_is_outside() -> None:
    def dry(params: dict[str, Any]) -> bool:
        return bool(params["a"] < 0.9)

    limit = LinearConstraint({"a": 1.0, "b": 1.0}, upper=1.0)
    space = Space({"a": (0.0, 1.0), "b": (0.0, 1.0)}, constraints=[limit, dry])
    assert placed(space, {"a": 0.75, "b": 0.5}) == ({"a": 0.75, "b": 0.5}, None)
    assert space.outside({"a": 0.75, "b": 0.5}) == f"breaks {limit!r}."
    assert "dry" in str(space.outside({"a": 0.95, "b": 0.0}))
    assert space.outside({"a": 0.4, "b": 0.6}) is None  # on the boundary is inside


TREE = Space(
    {
        "layers": Int(1, 3),
        "skip": Bool(active_if={"layers": 3}),
        "solo": Categorical(["p", "q", "r"], active_if={"layers": 1}),
    }
)


def test_a_value_out_of_range_or_off_the_grid_meets_no_condition() -> None:
    for layers in (4, 0, 2.6, 3.4):
        u, problem = placed(TREE, {"layers": layers})
        assert problem is None and u["skip"] == u["solo"] == 0.5
        assert TREE.features(np.array([list(u.values())]))[0, 1:].tolist() == [-1.0, -1.0]


def test_the_value_of_an_inactive_parameter_is_passed_over_and_shown_as_outside() -> None:
    point = {"layers": 2, "skip": True, "solo": "nonsense"}
    assert placed(TREE, point) == placed(TREE, {"layers": 2})
    assert TREE.outside(point) == "solo must be one of ['p', 'q', 'r'], got 'nonsense'."
    assert "'skip' is inactive" in str(TREE.outside({"layers": 2, "skip": True}))
    assert "must have a value for 'skip'" in str(placed(TREE, {"layers": 3})[1])
    assert "must have a value for 'skip'" in str(placed(TREE, {"layers": 3, "solo": "p"})[1])


def test_distances_to_a_point_outside_continue_those_inside() -> None:
    rows = [POINT, POINT | {"t": 100.0}, POINT | {"t": 140.0}, POINT | {"t": 140.0, "c": "b", "n": 4}]
    F = WIDE.features(WIDE.place_rows(rows)[0])
    r2 = Metric(np.ones(WIDE.p), WIDE.choices).between(F, F)
    assert r2[0, 1:].tolist() == pytest.approx([0.25, 1.0, 1.0 + 1.0 + 0.1**2])
    assert r2[1, 2] == pytest.approx(0.25)


def test_the_position_of_a_point_outside_decodes_to_the_nearest_point_of_the_space() -> None:
    U, _ = WIDE.place_rows([POINT | {"t": 140.0, "lr": 1.0, "n": 99, "rate": -0.3}])
    assert WIDE.decode(U[0]) == POINT | {"t": 100.0, "lr": 1e-2, "n": 9, "rate": 0.0}
    assert WIDE.decode_rows(U) == [WIDE.decode(U[0])]


def test_plain_values_of_a_point_outside_are_kept_as_they_are() -> None:
    point = POINT | {"t": np.float64(140.0), "n": np.float64(3.5), "width": 71.0}
    plain = WIDE.canonical(point)
    assert plain == POINT | {"t": 140.0, "n": 3.5, "width": 71}
    assert [type(plain[name]) for name in ("t", "n", "width")] == [float, float, int]
