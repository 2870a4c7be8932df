"""Parameters, conditions and the map onto the unit cube."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from space_strategies import numbers, parameters, spaces

from ccgbo import Bool, Categorical, Fixed, Float, Int, Optimizer, ParamsError, Space, SpaceError
from ccgbo.space import as_space
from ccgbo.surrogate.distance import Metric

units = st.floats(0.0, 1.0)


# -- single parameters


@given(parameters(), units)
def test_a_snapped_position_survives_the_way_to_its_value_and_back(p: Any, u: float) -> None:
    snapped = float(p.snap(np.array([u]))[0])
    value = p.from_unit(snapped)
    back = p.to_unit("p", value)
    assert back == pytest.approx(snapped, abs=2e-8)
    if p.size > 0:
        assert p.from_unit(back) == value
        assert p.index_of_unit(np.array([back])) == p.index_of_unit(np.array([snapped]))
    else:
        assert p.from_unit(back) == pytest.approx(value, rel=1e-11, abs=1e-300)


@given(numbers(), units)
def test_a_value_never_leaves_its_range(p: Any, u: float) -> None:
    assert p.low <= p.from_unit(u) <= p.high


@pytest.mark.parametrize(
    ("p", "values"),
    [
        (Int(0, 10, step=3), [0, 3, 6, 9]),
        (Int(-1, 1), [-1, 0, 1]),
        (Float(0.0, 1.0, step=0.3), [0.0, 0.3, 0.6, 0.9]),
        (Float(0.1, 0.5, step=0.1), [0.1, 0.2, 0.3, 0.4, 0.5]),
        (Float(0.0, 1.0, step=5.0), [0.0]),
        (Int(1, 6, log=True), [1, 2, 3, 4, 5, 6]),
        (Bool(), [False, True]),
        (Float(2.5, 2.5), [2.5]),
    ],
)
def test_a_grid_has_exactly_its_values(p: Any, values: list[Any]) -> None:
    assert p.size == len(values)
    positions = p.unit_of_index(np.arange(p.size, dtype=float))
    assert [p.from_unit(u) for u in positions] == values
    assert [p.from_unit(u) for u in np.linspace(0, 1, 999)] == sorted(p.from_unit(u) for u in np.linspace(0, 1, 999))
    assert {p.from_unit(u) for u in np.linspace(0, 1, 999)} == set(values)


def test_every_integer_gets_an_even_share_of_uniform_draws() -> None:
    p = Int(1, 4)
    drawn = p.values(p.snap(np.random.default_rng(0).random(40_000)))
    assert np.bincount(drawn.astype(int))[1:] / 40_000 == pytest.approx([0.25] * 4, abs=0.01)


def test_a_log_range_spends_as_much_on_each_decade() -> None:
    p = Float(1e-5, 1e-1, log=True)
    assert p.from_unit(0.25) == pytest.approx(1e-4)
    assert p.from_unit(0.75) == pytest.approx(1e-2)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Float(1.0, 0.0), "Float.low must be <= Float.high"),
        (lambda: Float(0.0, math.inf), "Float.high must be a finite number, got inf"),
        (lambda: Float(math.nan, 1.0), "Float.low must be a finite number, got nan"),
        (lambda: Float("a", 1.0), "Float.low must be a finite number, got 'a'"),
        (lambda: Float(0.0, 10**400), "Float.high must be a finite number"),
        (lambda: Float(-1.7e308, 1.7e308), "must be a finite float"),
        (lambda: Float(0.0, 1.0, log=True), "Float.low must be > 0"),
        (lambda: Float(5e-324, 1.0, log=True), "no denormal"),
        (lambda: Float(0.0, 1.0, log="yes"), "Float.log must be True or False, got 'yes'"),
        (lambda: Float(1.0, 2.0, log=True, step=0.1), "Float.step must be None when log=True"),
        (lambda: Float(0.0, 1.0, step=0.0), "Float.step must be a finite number > 0"),
        (lambda: Float(1e6, 1e6 + 1, step=1e-9), "Float.step must be at least"),
        (lambda: Float(1.0, 1.0 + 1e-12), "too narrow"),
        (lambda: Float(0.0, 1e-320), "too narrow"),
        (lambda: Int(3, 1), "Int.low must be <= Int.high"),
        (lambda: Int(0.5, 3), "Int.low must be a whole number, got 0.5"),
        (lambda: Int(True, 3), "Int.low must be a whole number, got True"),
        (lambda: Int(0, 3, step=0), "Int.step must be >= 1"),
        (lambda: Int(0, 3, log=True), "Int.low must be >= 1 when log=True"),
        (lambda: Int(1, 9, log=True, step=2), "Int.step must be 1 when log=True"),
        (lambda: Int(0, 2**60), "at most 2\\*\\*48"),
        (lambda: Int(0, 10**400), "Int.high must be a finite number"),
        (lambda: Int(1, 10**13, log=True), "at most 10\\*\\*12"),
        (lambda: Categorical([]), "must not be empty"),
        (lambda: Categorical("abc"), "must be a list, got 'abc'"),
        (lambda: Categorical(["a", "a"]), "distinct, got 'a' twice"),
        (lambda: Categorical([1, 1.0]), "distinct"),
        (lambda: Categorical([[1]]), "text, numbers, booleans or None"),
        (lambda: Categorical([math.nan]), "finite"),
        (lambda: Float(0.0, 1.0, active_if={}), "active_if must map"),
        (lambda: Space({}), "non-empty mapping"),
        (lambda: Space({1: (0.0, 1.0)}), "names must be non-empty text, got 1"),
        (lambda: Space({"x": (0.0, 1.0, 2.0)}), "write choices as a list"),
        (lambda: Space({"x": object()}), "parameter 'x' must be"),
        (lambda: Space({"x": (1.0, 0.0)}), "parameter 'x': low must be <= high, got low=1.0, high=0.0"),
        (lambda: Space({"n": (3, 1)}), "parameter 'n': low must be <= high, got low=3, high=1"),
        (lambda: Space({"c": ["a", "a"]}), "parameter 'c': choices must be distinct, got 'a' twice"),
        (lambda: Space({"x": "0-1"}), r"parameter 'x': what does the text '0-1' mean\?.*Fixed\('0-1'\)"),
        (lambda: Space({"n": range(3, 3)}), r"parameter 'n': a range must not be empty, got range\(3, 3\)"),
        (lambda: Space({"n": np.ones((2, 2))}), "parameter 'n': an array of choices must have one axis, got 2"),
        (lambda: Space({"x": stats.norm(0.0, 1.0)}), "parameter 'x': SciPy's norm is a belief, not a range"),
        (lambda: Space([(0.0, 1.0), (1, 5)]), r"such as \{'x': \(0.0, 1.0\)\}, got \[\(0.0, 1.0\)"),
    ],
)
def test_a_space_that_cannot_be_says_why(make: Any, told: str) -> None:
    with pytest.raises(SpaceError, match=told):
        make()


def test_numpy_numbers_become_python_ones() -> None:
    space = Space({"x": Float(np.float32(0), np.float64(1)), "n": Int(np.int64(1), np.int32(4)), "c": [np.int64(1), 2]})
    assert [type(v) for v in (space["x"].low, space["n"].high, space["c"].choices[0])] == [float, int, int]
    opt = Optimizer(space, seed=0)
    trial = opt.tell({"x": np.float32(0.5), "n": np.int64(2), "c": np.int64(2)}, np.float32(1.0))
    assert {name: type(v) for name, v in trial.params.items()} == {"x": float, "n": int, "c": int}


def test_true_and_one_are_different_choices() -> None:
    p = Categorical([True, 1, "1"])
    assert [p.find(True), p.find(1), p.find(1.0), p.find("1"), p.find(False)] == [0, 1, 1, 2, None]


# -- points


@given(spaces(), st.integers(0, 2**32))
def test_points_encoded_together_are_encoded_as_each_alone_to_the_last_bit(space: Space, seed: int) -> None:
    rows = space.decode_rows(space.sample(40, np.random.default_rng(seed)))
    together = space.encode_rows(rows)
    assert together.tobytes() == np.array([space.encode(params) for params in rows]).tobytes()
    assert space.encode_rows([]).shape == (0, space.d)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"x": 2.0, "k": 1, "c": "a"}, r"x must be in \[0.0, 1.0\], got 2.0"),
        ({"x": math.nan, "k": 1, "c": "a"}, "x must be a finite number, got nan"),
        ({"x": True, "k": 1, "c": "a"}, "x must be a finite number, got True"),
        ({"x": 0.5, "k": 2, "c": "a"}, "k must be 1 plus a multiple of 2, got 2"),
        ({"x": 0.5, "k": 10**400, "c": "a"}, "k must be a finite number"),
        ({"x": 0.5, "k": 1, "c": "z"}, r"c must be one of \['a', 'b'\], got 'z'"),
        ({"x": 0.5, "k": 1}, "params must have a value for 'c'"),
        ({"x": 0.5, "k": 1, "c": "a", "extra": 1}, "params has an unknown parameter 'extra'"),
        ({"x": 0.5, "k": 1, "c": "a", "z": 0.5}, "'z' is inactive at this point"),
        ([0.5, 1, "a"], "params must be a mapping"),
    ],
)
def test_points_encoded_together_are_refused_as_one_alone_would_be(wrong: Any, message: str) -> None:
    space = Space(
        {"x": (0.0, 1.0), "k": Int(1, 9, step=2), "c": ["a", "b"], "z": Float(0.0, 1.0, active_if={"c": "b"})}
    )
    fine = {"x": 0.5, "k": 3, "c": "b", "z": 0.1}
    for refuse in (lambda: space.encode(wrong), lambda: space.encode_rows([fine, wrong, fine])):
        with pytest.raises(ParamsError, match=message):
            refuse()


@given(spaces(), st.integers(0, 2**32))
def test_a_drawn_point_belongs_to_its_space(space: Space, seed: int) -> None:
    U = space.sample(20, np.random.default_rng(seed))
    for u, params in zip(U, space.decode_rows(U), strict=True):
        assert params == space.decode(u)
        assert space.canonical(params) == params
        back = space.encode(params)
        assert np.abs(back - u).max() < 1e-7
        assert np.abs(space.features(back[None]) - space.features(u[None])).max() < 1e-7


@given(spaces(), st.integers(0, 2**32))
def test_features_give_the_point_back(space: Space, seed: int) -> None:
    U = space.sample(20, np.random.default_rng(seed))
    back = space.from_features(space.features(U))
    active = space.active(U) if space.d else None
    assert np.allclose(back[active], U[active], atol=1e-12)
    assert space.decode_rows(back) == space.decode_rows(U)


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"x": 2.0, "n": 1, "c": "a"}, r"x must be in \[0.0, 1.0\], got 2.0"),
        ({"x": math.nan, "n": 1, "c": "a"}, "x must be a finite number, got nan"),
        ({"x": True, "n": 1, "c": "a"}, "x must be a finite number, got True"),
        ({"x": 10**400, "n": 1, "c": "a"}, "x must be a finite number"),
        ({"x": 0.5, "n": 1.5, "c": "a"}, "n must be a whole number, got 1.5"),
        ({"x": 0.5, "n": 2, "c": "a"}, "n must be 1 plus a multiple of 2, got 2"),
        ({"x": 0.5, "n": 1, "c": "z"}, "c must be one of"),
        ({"x": 0.5, "n": 1, "c": [1]}, "c must be one of"),
        ({"x": 0.5, "n": 1, "c": np.array(["a", "b"])}, "c must be one of"),
        ({"x": 0.5, "n": 1}, "must have a value for 'c'"),
        ({"x": 0.5, "n": 1, "c": "a", "q": 1}, "unknown parameter 'q'"),
        ([0.5, 1, "a"], "must be a mapping"),
    ],
)
def test_a_point_outside_the_space_says_why(params: Any, told: str) -> None:
    with pytest.raises(ParamsError, match=told):
        Space({"x": (0.0, 1.0), "n": Int(1, 9, step=2), "c": ["a", "b"]}).encode(params)


def test_a_value_between_the_steps_is_refused_even_where_there_is_one_step() -> None:
    for p in (Float(0.0, 1.0, step=5.0), Float(0.0, 1.0, step=0.25)):
        with pytest.raises(ParamsError, match="multiple"):
            Space({"x": p}).encode({"x": 0.7})


# -- geometry


def test_categories_are_all_equally_far_apart() -> None:
    space = Space({"c": ["a", "b", "c", "d"], "x": (0.0, 1.0)})
    F = space.features(np.array([space.encode({"c": c, "x": 0.5}) for c in "abcd"]))
    assert np.allclose(Metric(np.ones(2), space.choices).between(F, F), 1.0 - np.eye(4))


def test_a_switch_is_as_far_apart_as_two_categories() -> None:
    space = Space({"b": Bool(), "x": (0.0, 1.0)})
    F = space.features(np.array([space.encode({"b": b, "x": 0.5}) for b in (False, True)]))
    assert Metric(np.ones(2), space.choices).between(F[:1], F[1:]) == pytest.approx(1.0)


def test_a_categorical_has_one_column_however_many_choices_it_has() -> None:
    space = Space({"x": (0.0, 1.0), "c": ["a", "b", "c"], "n": (1, 4), "fixed": 3})
    assert space.p == 3 and space.choices == ((1, 3),)
    assert space.features(space.encode({"x": 0.5, "c": "c", "n": 1, "fixed": 3})[None, :])[0, 1] == 2.0


def test_a_space_in_which_nothing_varies_has_one_point() -> None:
    space = Space({"a": Fixed(1), "b": Float(2.0, 2.0), "c": Int(3, 3)})
    assert space.cardinality == 1
    assert space.decode_rows(space.sample(3, np.random.default_rng(0))) == [{"a": 1, "b": 2.0, "c": 3}] * 3
    assert space.features(space.sample(3, np.random.default_rng(0))).tolist() == [[0.0]] * 3


# -- conditions

TREE = Space(
    {
        "model": Categorical(["svm", "net", "forest"]),
        "gamma": Float(1e-3, 1e1, log=True, active_if={"model": "svm"}),
        "layers": Int(1, 3, active_if={"model": "net"}),
        "width": Int(8, 64, active_if={"layers": [2, 3]}),
        "act": Categorical(["relu", "tanh", "elu"], active_if={"model": {"net"}}),
    }
)


def test_inactive_parameters_are_not_suggested() -> None:
    opt = Optimizer(TREE, seed=0, n_initial=4, tuning={"n_candidates": 64, "n_starts": 1})
    seen = set()
    for i in range(25):
        trial = opt.ask()
        seen.add(trial.params["model"])
        expected = {"model"}
        expected |= {"gamma"} if trial.params["model"] == "svm" else set()
        expected |= {"layers", "act"} if trial.params["model"] == "net" else set()
        expected |= {"width"} if trial.params.get("layers", 1) > 1 else set()
        assert set(trial.params) == expected
        opt.tell(trial, math.sin(i))
    assert seen == {"svm", "net", "forest"}


def test_an_inactive_parameter_counts_in_no_distance() -> None:
    rng = np.random.default_rng(0)
    U = rng.random((200, TREE.d))
    U[:, 0] = TREE["model"].to_unit("model", "forest")  # every other parameter is inactive, wherever it was drawn
    F = TREE.features(TREE.snap(U))
    assert np.ptp(F, axis=0).max() == 0.0


def test_telling_an_inactive_parameter_is_refused_and_omitting_an_active_one_too() -> None:
    with pytest.raises(ParamsError, match="'gamma' is inactive"):
        TREE.encode({"model": "forest", "gamma": 1.0})
    with pytest.raises(ParamsError, match="must have a value for 'gamma'"):
        TREE.encode({"model": "svm"})


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"x": Float(0.0, 1.0, active_if={"y": 1})}, "x.active_if names an unknown parameter: 'y'"),
        ({"x": Float(0.0, 1.0, active_if={"y": 0.5}), "y": (0.0, 1.0)}, "must depend on a discrete parameter"),
        ({"x": Float(0.0, 1.0, active_if={"y": 9}), "y": (1, 3)}, r"x.active_if: y must be in \[1, 3\], got 9"),
        ({"x": Int(0, 1, active_if={"y": 0}), "y": Int(0, 1, active_if={"x": 0})}, "must not form a cycle"),
    ],
)
def test_a_condition_that_cannot_be_says_why(table: dict[str, Any], told: str) -> None:
    with pytest.raises(SpaceError, match=told):
        Space(table)


# -- finite spaces


def test_a_grid_lists_each_point_once_and_skips_what_is_inactive() -> None:
    space = Space({"a": ["x", "y"], "n": Int(1, 3, active_if={"a": "x"})})
    grid = space.grid(limit=100)
    assert grid is not None
    assert sorted(space.decode_rows(grid), key=repr) == [
        {"a": "x", "n": 1},
        {"a": "x", "n": 2},
        {"a": "x", "n": 3},
        {"a": "y"},
    ]
    assert space.grid(limit=5) is None
    assert Space({"x": (0.0, 1.0)}).grid(limit=100) is None


@settings(max_examples=50)
@given(spaces())
def test_neighbouring_grid_values_are_different_points(space: Space) -> None:
    """The tolerance for "the same point" is smaller than any two cells, however fine the grid is."""
    for j, p in enumerate(space.parameters):
        if p.size < 2 or (p.active_if is not None):
            continue
        U = np.repeat(space.sample(1, np.random.default_rng(0)), 2, axis=0)
        top = p.size - 1.0
        U[:, j] = p.unit_of_index(np.array([top - 1.0, top]))
        U = space.snap(U)
        first, second = space.features(U)
        assert (np.abs(first - second) > space.tolerance).any()
        again = space.features(space.encode(space.decode(U[0]))[None])[0]
        assert not (np.abs(first - again) > space.tolerance).any()


def test_spaces_compare_by_content() -> None:
    assert Space({"x": (0.0, 1.0)}) == Space({"x": Float(0, 1)})
    assert Space({"x": (0.0, 1.0)}) != Space({"x": (0.0, 2.0)})
    assert hash(Space({"x": (0.0, 1.0)})) == hash(Space({"x": Float(0, 1)}))
    assert as_space(TREE) is TREE
