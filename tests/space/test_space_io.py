"""Spaces in TOML and JSON files."""

from __future__ import annotations

import copy
import json
import math
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from space_strategies import spaces

from ccgbo import Bool, Categorical, Fixed, Float, Int, LinearConstraint, Space, SpaceError, load_space, save_space
from ccgbo.space import space_from_dict, space_from_json, space_from_toml, space_to_json, space_to_toml

DOCUMENT = """
[parameters.lr]
type = "float"
low = 1e-5
high = 0.1
log = true

[parameters.layers]
type = "int"
low = 1
high = 8

[parameters.act]
type = "categorical"
choices = ["relu", "tanh"]

[parameters.dropout]
type = "bool"

[parameters.rate]
type = "float"
low = 0.0
high = 0.5
step = 0.1
active_if = { dropout = true }

[parameters.optimizer]
type = "fixed"
value = "adam"

[[constraints]]
coefficients = { layers = 1.0, rate = 2.0 }
upper = 8.0
"""
SPACE = Space(
    {
        "lr": Float(1e-5, 0.1, log=True),
        "layers": Int(1, 8),
        "act": Categorical(["relu", "tanh"]),
        "dropout": Bool(),
        "rate": Float(0.0, 0.5, step=0.1, active_if={"dropout": True}),
        "optimizer": Fixed("adam"),
    },
    constraints=LinearConstraint({"layers": 1.0, "rate": 2.0}, upper=8.0),
)


def test_a_toml_document_is_read_as_written() -> None:
    assert space_from_toml(DOCUMENT) == SPACE


def test_shorthand_of_a_document_is_read_as_people_mean_it() -> None:
    space = space_from_toml(
        """
        [parameters]
        temperature = [20.0, 100.0]
        pressure = [1, 2.5]
        runs = [20, 100]
        solvent = ["water", "ethanol"]
        grade = [1, "pure"]
        batch = { choices = [16, 32] }
        share = { choices = [0.0, 1.0], active_if = { solvent = "water" } }
        folds = 5
        lamp = true
        """
    )
    assert dict(space) == {
        "temperature": Float(20.0, 100.0),
        "pressure": Float(1.0, 2.5),
        "runs": Int(20, 100),
        "solvent": Categorical(["water", "ethanol"]),
        "grade": Categorical([1, "pure"]),
        "batch": Categorical([16, 32]),
        "share": Categorical([0.0, 1.0], active_if={"solvent": "water"}),
        "folds": Fixed(5),
        "lamp": Fixed(True),
    }
    assert space_from_toml(space_to_toml(space)) == space
    assert space_from_json('{"parameters": {"x": [0.0, 1.0], "c": [null, "a"], "none": null}}') == Space(
        {"x": (0.0, 1.0), "c": [None, "a"], "none": None}
    )


@pytest.mark.parametrize("suffix", [".toml", ".json"])
def test_a_saved_space_is_loaded_unchanged(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"space{suffix}"
    save_space(SPACE, path)
    assert load_space(path) == SPACE
    assert load_space(str(path)) == SPACE


def without_none(space: Space) -> bool:
    return not any(isinstance(p, Categorical) and None in p.choices for p in space.values())


@given(spaces())
def test_any_space_survives_json(space: Space) -> None:
    assert space_from_json(space_to_json(space)) == space


@given(spaces().filter(without_none))
def test_any_space_without_null_survives_toml(space: Space) -> None:
    assert space_from_toml(space_to_toml(space)) == space


@settings(max_examples=300)
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_name_and_any_text_survive_toml(text: str) -> None:
    space = Space({text: Categorical([text, text + "!"])})
    assert space_from_toml(space_to_toml(space)) == space


def test_toml_and_json_hold_the_same_data() -> None:
    assert tomllib.loads(space_to_toml(SPACE)) == json.loads(space_to_json(SPACE))


def test_none_has_no_place_in_toml() -> None:
    with pytest.raises(SpaceError, match="TOML has no null"):
        space_to_toml(Space({"x": [None, "a"]}))


def test_a_predicate_cannot_be_stored() -> None:
    with pytest.raises(SpaceError, match="cannot be stored"):
        space_to_json(Space({"x": (0.0, 1.0)}, constraints=lambda p: p["x"] > 0.5))


def test_a_condition_on_a_set_is_written_in_the_same_order_everywhere() -> None:
    space = Space({"c": ["a", "b", "z"], "x": Float(0.0, 1.0, active_if={"c": {"z", "a"}})})
    assert json.loads(space_to_json(space))["parameters"]["x"]["active_if"] == {"c": ["a", "z"]}


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ([], "must have a table 'parameters'"),
        ({}, "must have a table 'parameters', got nothing"),
        ({"x": [0.0, 1.0]}, r"got 'x' at the top: parameters stand below a line \[parameters\]"),
        ({"parameters": {}}, "non-empty mapping"),
        ({"parameters": {"x": {"type": "float"}, "y": {1, 2}}}, "parameters.x must have 'low'"),
        ({"parameters": {"x": {1, 2}}}, "parameters.x must be a table, a list or a value, got {1, 2}"),
        ({"parameters": {"x": "water"}}, r"parameters.x: what does the text 'water' mean\?.*type = \"fixed\""),
        ({"parameters": {"x": [16, 32, 64]}}, r"parameters.x: what does \[16, 32, 64\] mean\? Choices are { choices ="),
        ({"parameters": {"x": [7.0]}}, r"parameters.x: what does \[7.0\] mean"),
        ({"parameters": {"x": [3, 1]}}, "parameters.x: Int.low must be <= Int.high, got low=3, high=1"),
        ({"parameters": {"x": []}}, "parameters.x: Categorical.choices must not be empty"),
        ({"parameters": {"x": ["a", "a"]}}, "parameters.x: Categorical.choices must be distinct"),
        ({"parameters": {"x": {"low": 0, "high": 1}}}, "parameters.x.type must be one of"),
        ({"parameters": {"x": {"type": ["float"]}}}, "parameters.x.type must be one of"),
        ({"parameters": {"x": {"type": "real", "low": 0, "high": 1}}}, "got 'real'"),
        ({"parameters": {"x": {"type": "float", "low": 0}}}, "parameters.x must have 'high'"),
        ({"parameters": {"x": {"type": "float", "low": 0, "high": 1, "lo": 2}}}, "unknown field 'lo'"),
        ({"parameters": {"x": {"type": "float", "low": 1, "high": 0}}}, "parameters.x: Float.low must be <="),
        ({"parameters": {"x": {"type": "float", "low": "a", "high": 0}}}, "parameters.x: Float.low must be a finite"),
        ({"parameters": {"x": {"type": "int", "low": 0.5, "high": 1}}}, "parameters.x: Int.low must be a whole number"),
        ({"parameters": {"x": {"type": "categorical", "choices": "ab"}}}, "must be a list"),
        ({"parameters": {"x": {"type": "categorical", "choices": [[1]]}}}, "text, numbers"),
        ({"parameters": {"x": {"type": "bool", "active_if": 3}}}, "parameters.x: active_if must map"),
        ({"parameters": {"x": {"type": "bool"}}, "extra": 1}, "got 'extra'"),
        ({"parameters": {"x": {"type": "int", "low": 0, "high": 1}}, "constraints": 3}, "must be a list of tables"),
        ({"parameters": {"x": {"type": "int", "low": 0, "high": 1}}, "constraints": [{}]}, "must have 'coefficients'"),
        (
            {"parameters": {"x": {"type": "int", "low": 0, "high": 1}}, "constraints": [{"coefficients": {"x": 1}}]},
            "finite lower or upper",
        ),
        (
            {
                "parameters": {"x": {"type": "int", "low": 0, "high": 1}},
                "constraints": [{"coefficients": {"x": 1}, "upper": "3"}],
            },
            "LinearConstraint.upper must be a number, got '3'",
        ),
    ],
)
def test_a_document_that_is_no_space_says_where(data: Any, told: str) -> None:
    with pytest.raises(SpaceError, match=told):
        space_from_dict(data)


def test_a_file_that_is_no_document_says_so(tmp_path: Path) -> None:
    cases = {"a.toml": b"x = ", "a.json": b"{", "b.toml": b"\xff\xfe", "c.yaml": b""}
    for name, content in cases.items():
        (tmp_path / name).write_bytes(content)
    for name, told in {
        "a.toml": "not valid TOML",
        "a.json": "not valid JSON",
        "b.toml": "not UTF-8",
        "c.yaml": "must end in .toml or .json",
        "missing.toml": "cannot read the space file",
    }.items():
        with pytest.raises(SpaceError, match=told):
            load_space(tmp_path / name)


WHOLE: dict[str, Any] = {
    "parameters": {
        "x": {"type": "float", "low": 0.0, "high": 1.0, "log": False},
        "n": {"type": "int", "low": 1, "high": 8, "step": 1},
        "k": {"type": "categorical", "choices": ["a", 1, None]},
        "b": {"type": "bool"},
        "f": {"type": "fixed", "value": 3},
        "c": {"type": "float", "low": 0.0, "high": 1.0, "step": 0.1, "active_if": {"k": ["a"]}},
    },
    "constraints": [{"coefficients": {"x": 1.0, "n": 2.0}, "lower": 0.0, "upper": 9.0}],
}
WRONG = [
    None,
    True,
    -1,
    0,
    1e308,
    10**400,
    "x",
    "",
    [],
    {},
    [1, [2]],
    {"type": "ucb"},
    math.nan,
    math.inf,
    1e-320,
    [{}],
]


def paths(data: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for key in data if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ():
        yield (*at, key)
        yield from paths(data[key], (*at, key))


@pytest.mark.parametrize("path", list(paths(WHOLE)), ids=lambda path: ".".join(map(str, path)))
def test_a_wrong_cell_of_a_document_gives_a_space_or_the_librarys_own_error(path: tuple[Any, ...]) -> None:
    """Also when the point is used."""
    for wrong in WRONG:
        data = copy.deepcopy(WHOLE)
        cell = data
        for key in path[:-1]:
            cell = cell[key]
        cell[path[-1]] = wrong
        with suppress(SpaceError):
            space = space_from_dict(data)
            space.sample(2, np.random.default_rng(0))
            assert space_from_json(space_to_json(space)) == space


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("deep.json", '{"parameters":' + "[" * 100_000, "not valid JSON"),
        ("deep.toml", "parameters = " + "[" * 100_000, "not valid TOML"),
        ("digits.json", '{"parameters":{"x":{"type":"int","low":0,"high":' + "9" * 5000 + "}}}", "not valid JSON"),
        ("digits.toml", '[parameters.x]\ntype="int"\nlow=0\nhigh=' + "9" * 5000, "not valid TOML"),
    ],
)
def test_a_document_beyond_the_limits_of_its_reader_says_so(tmp_path: Path, name: str, text: str, told: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(SpaceError, match=told):
        load_space(tmp_path / name)


def test_a_constraint_of_a_document_is_named_by_its_place() -> None:
    data = copy.deepcopy(WHOLE)
    data["constraints"].append({"coefficients": {"x": 1.0}, "upper": 10**400})
    with pytest.raises(SpaceError, match=r"^constraints\[1\]: LinearConstraint.upper must be a number, got 1000"):
        space_from_dict(data)


def test_a_space_that_cannot_be_written_says_why(tmp_path: Path) -> None:
    with pytest.raises(SpaceError, match=r"cannot write the space file '.*nowhere.x\.toml'"):
        save_space(SPACE, tmp_path / "nowhere" / "x.toml")
    with pytest.raises(SpaceError, match="lone surrogate"):
        save_space(Space({"c": ["caf\udce9", "b"]}), tmp_path / "x.toml")
    save_space(Space({"c": ["caf\udce9", "b"]}), tmp_path / "x.json")
    assert load_space(tmp_path / "x.json")["c"].choices == ("caf\udce9", "b")  # type: ignore[union-attr]
