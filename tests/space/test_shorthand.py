"""Shorthand: what users write, and which reading of it is taken."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from scipy import stats
from space_strategies import spaces

import ccgbo
from ccgbo import Bool, Categorical, Fixed, Float, Int, LinearConstraint, Optimizer, Space, SpaceError, SpaceWarning
from ccgbo.space import as_space


def test_shorthand_becomes_parameters() -> None:
    space = Space({"x": (0.0, 1), "n": (1, 8), "act": ["relu", "tanh"], "opt": Fixed("adam"), "seed": 3, "none": None})
    expected = [Float(0.0, 1.0), Int(1, 8), Categorical(["relu", "tanh"]), Fixed("adam"), Fixed(3), Fixed(None)]
    assert list(space.values()) == expected


@pytest.mark.parametrize(
    ("spec", "parameter"),
    [
        (range(1, 5), Int(1, 4)),
        (range(10, 0, -3), Int(1, 10, step=3)),
        (range(4, 5), Int(4, 4)),
        (np.array([16, 32, 64]), Categorical([16, 32, 64])),
        (np.array(["a", "b"]), Categorical(["a", "b"])),
        (np.array([True, False]), Categorical([True, False])),
        (np.array([16, 32]), Categorical([16, 32])),
        (np.geomspace(1.0, 100.0, 3), Categorical([1.0, 10.0, 100.0])),
        (np.array([3.0, 1.0, 2.0]), Categorical([3.0, 1.0, 2.0])),
        (np.linspace(0.0, 1.0, 11), Float(0.0, 1.0, step=0.1)),
        (np.linspace(0.1, 0.7, 4), Float(0.1, 0.7, step=0.2)),
        (np.linspace(1.0, 0.0, 4), Float(0.0, 1.0, step=1.0 / 3.0)),
        (np.linspace(0.0, 1.0, 5, dtype=np.float32), Float(0.0, 1.0, step=0.25)),
        (np.arange(10, 60, 10), Int(10, 50, step=10)),
        (np.arange(3, dtype=np.uint8), Int(0, 2)),
        (np.float32(0.5), Fixed(0.5)),
        (np.int64(3), Fixed(3)),
        (np.bool_(True), Fixed(True)),
        (stats.uniform(-1.0, 3.0), Float(-1.0, 2.0)),
        (stats.loguniform(1e-4, 1.0), Float(1e-4, 1.0, log=True)),
        (stats.randint(2, 9), Int(2, 8)),
        (stats.randint(2, 9, loc=10), Int(12, 18)),
    ],
)
def test_ranges_arrays_and_scipys_flat_distributions_become_parameters(spec: Any, parameter: Any) -> None:
    made = Space({"p": spec})["p"]
    assert made == parameter and type(made) is type(parameter)


def test_the_grid_of_an_array_has_the_values_of_the_array() -> None:
    for n in (3, 4, 7, 11, 50):
        values = np.linspace(0.1, 0.7, n)
        p = Space({"x": values})["x"]
        assert p.size == n
        assert p.values(p.unit_of_index(np.arange(n))).tolist() == pytest.approx(values.tolist(), rel=1e-14)


def test_optunas_distributions_become_parameters() -> None:
    optuna = pytest.importorskip("optuna").distributions
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # Optuna's own, about its older kinds
        table = {
            "float": optuna.FloatDistribution(0.0, 1.0, step=0.25),
            "log": optuna.FloatDistribution(1e-3, 1.0, log=True),
            "int": optuna.IntDistribution(1, 64, log=True),
            "choice": optuna.CategoricalDistribution(["a", None]),
            "older": optuna.IntUniformDistribution(1, 9, step=2),
        }
    assert dict(Space(table)) == {
        "float": Float(0.0, 1.0, step=0.25),
        "log": Float(1e-3, 1.0, log=True),
        "int": Int(1, 64, log=True),
        "choice": Categorical(["a", None]),
        "older": Int(1, 9, step=2),
    }


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ((3, 1), "low must be <= high, got low=3, high=1"),
        ((0.0, float("inf")), "high must be a finite number, got inf"),
        ((1.0, 1.0 + 1e-12), "too narrow for its size"),
        ((0, 2**60), "bounds must be at most"),
        (np.linspace(1.0, np.nan, 3), "choices must be finite"),
        (np.zeros(3), "choices must be distinct, got 0.0 twice"),
        (stats.norm(0.0, 1.0), r"SciPy's norm is a belief, not a range; give the range here, such as \(low, high\)"),
        (stats.beta(2.0, 2.0), r"SciPy's beta is a belief.*such as \(0.0, 1.0\), and the distribution as prior="),
        (stats.uniform, "a distribution of SciPy must be given its numbers"),
        ({"low": 0.0}, "must be a Float, Int"),
    ],
)
def test_an_error_about_shorthand_names_the_parameter(spec: Any, told: str) -> None:
    with pytest.raises(SpaceError, match=f"^parameter 'speed'.*{told}"):
        Space({"x": (0.0, 1.0), "speed": spec})


@pytest.mark.parametrize("spec", [[0.0, 1.0], [0, 1.5], [1.0, 0.0], np.array([0.0, 1.0])])
def test_a_list_that_looks_like_a_range_is_warned_of_at_the_users_line(spec: Any) -> None:
    with pytest.warns(SpaceWarning, match=r"'x': \[.*\] is read as two choices; for a range write \(0") as caught:
        space = Optimizer({"x": spec}, seed=0).space
    assert space["x"].size == 2 and isinstance(space["x"], Categorical)
    assert [w.filename for w in caught] == [__file__]


def test_lists_that_are_choices_to_everybody_pass_without_a_word() -> None:
    Space({"a": [16, 32], "b": [0, 1], "c": ["a", "b"], "d": [0.1, 0.2, 0.3], "e": [True, False], "f": [None, 1.0]})
    Space({"g": Categorical([0.0, 1.0]), "h": [0.5], "i": (0.0, 1.0)})


def test_a_space_shows_a_line_for_each_parameter_and_what_it_was_read_from() -> None:
    space = Space(
        {
            "temperature": (20, 100),
            "rate": (0.5, 2),
            "act": ["relu", "tanh"],
            "steps": range(10, 60, 10),
            "grid": np.linspace(0.0, 1.0, 5),
            "lr": stats.loguniform(1e-4, 1.0),
            "folds": 5,
            "width": Int(8, 64, log=True),
            "lamp": Bool(),
            "power": Float(1.0, 9.0, step=2.0, active_if={"lamp": True, "folds": [5]}),
        }
    )
    expected = """Space({
    'temperature': Int(20, 100),  # from (20, 100)
    'rate': Float(0.5, 2.0),  # from (0.5, 2)
    'act': Categorical(['relu', 'tanh']),  # from a list
    'steps': Int(10, 50, step=10),  # from range(10, 60, 10)
    'grid': Float(0.0, 1.0, step=0.25),  # from an array
    'lr': Float(0.0001, 1.0, log=True),  # from SciPy's loguniform
    'folds': Fixed(5),
    'width': Int(8, 64, log=True),
    'lamp': Bool(),
    'power': Float(1.0, 9.0, step=2.0, active_if={'lamp': True, 'folds': 5}),
})"""
    assert repr(space) == expected
    limited = as_space(space, LinearConstraint({"rate": 1.0}, upper=1.0))
    assert repr(limited).startswith(expected[:-1] + ", constraints=[LinearConstraint(")
    assert eval(repr(space), vars(ccgbo)) == space


@given(spaces())
def test_what_a_space_shows_reads_back_as_the_space(space: Space) -> None:
    assert eval(repr(space), vars(ccgbo)) == space
