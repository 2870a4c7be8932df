"""Spaces that change under trials that stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from space_strategies import spaces

from ccgbo import Bool, Categorical, Fixed, Float, Int, LinearConstraint, Space, SpaceError
from ccgbo.space import Change, change_space

OLD = Space(
    {
        "temperature": Float(20.0, 100.0),
        "stir": Int(100, 500, step=100),
        "solvent": Categorical(["water", "ethanol", "acetone"]),
        "lamp": Bool(),
        "power": Float(1.0, 10.0, active_if={"lamp": True}),
    }
)
TRIAL: dict[str, Any] = {"temperature": 73.5, "stir": 300, "solvent": "acetone", "lamp": False}


def with_(name: str, parameter: Any) -> Space:
    return Space({**OLD, name: parameter})


def without(*names: str) -> Space:
    return Space({name: p for name, p in OLD.items() if name not in names})


@pytest.mark.parametrize(
    ("new", "told"),
    [
        (with_("temperature", (20.0, 120.0)), ["temperature: widened from [20.0, 100.0] to [20.0, 120.0]."]),
        (
            with_("temperature", (30.0, 60.0)),
            [
                "temperature: narrowed from [20.0, 100.0] to [30.0, 60.0]; trials beyond stay in the model, "
                "shown as outside."
            ],
        ),
        (
            with_("temperature", (50.0, 150.0)),
            ["temperature: moved from [20.0, 100.0] to [50.0, 150.0]; trials beyond stay in the model, "
             "shown as outside."],
        ),
        (
            with_("temperature", (60.0, 60.0)),
            ["temperature: narrowed from [20.0, 100.0] to [60.0, 60.0], one value; trials elsewhere stay on record "
             "and leave the model."],
        ),
        (
            with_("temperature", Float(20.0, 100.0, log=True)),
            ["temperature: on a log scale, before on a linear one."],
        ),
        (with_("temperature", Int(20, 100)), ["temperature: whole numbers instead of real ones."]),
        (with_("temperature", Float(20.0, 100.0, step=5)), ["temperature: steps of 5.0 instead of no step."]),
        (
            with_("stir", Float(100, 500)),
            ["stir: real numbers, not only whole.", "stir: no step instead of steps of 100."],
        ),
        (with_("stir", Int(100, 500)), ["stir: steps of 1 instead of steps of 100."]),
        (with_("stir", [100, 300]), [
            "stir: one of [100, 300] instead of a number in [100, 500]; trials elsewhere stay on record and leave "
            "the model."
        ]),
        (with_("stir", 300), [
            "stir: fixed at 300 instead of a number in [100, 500]; trials elsewhere stay on record and leave the model."
        ]),
        (with_("solvent", ["water", "ethanol", "acetone", "hexane"]), ["solvent: 'hexane' added to the choices."]),
        (
            with_("solvent", ["water", "ethanol"]),
            ["solvent: 'acetone' removed from the choices; trials there stay on record and leave the model."],
        ),
        (
            with_("solvent", ["acetone", "ethanol", "water"]),
            ["solvent: the choices stand in another order: 'acetone', 'ethanol', 'water'."],
        ),
        (with_("power", Float(1.0, 10.0)), ["power: always active, before active if lamp is True."]),
        (
            Space(dict(OLD), constraints=LinearConstraint({"stir": 1.0}, upper=400.0)),
            [
                f"constraint added: {LinearConstraint({'stir': 1.0}, upper=400.0)!r}; trials that break it stay in "
                "the model, shown as outside."
            ],
        ),
        (
            Space({name: OLD[name] for name in ("stir", "temperature", "solvent", "lamp", "power")}),
            ["the parameters stand in another order: stir, temperature, solvent, lamp, power."],
        ),
        (Space(dict(OLD)), []),
    ],
)  # fmt: skip
def test_a_change_says_what_it_changes(new: Space, told: list[str]) -> None:
    change = change_space(OLD, new)
    assert change.describe() == told
    assert change.nothing == (not told)
    assert change.apply(TRIAL) == TRIAL  # whatever the bounds are, nothing on record is clipped


def test_a_log_scale_has_no_place_for_trials_below_zero() -> None:
    change = change_space(Space({"x": (-1.0, 1.0)}), Space({"x": Float(0.1, 1.0, log=True)}))
    assert "on a log scale, before on a linear one; trials at or below zero" in change.describe()[1]
    assert change.space.place_rows([change.apply({"x": -0.5})])[1] == ["x must be > 0 on a log scale, got -0.5."]


def test_a_narrowed_and_rewidened_bound_leaves_every_trial_as_it_was() -> None:
    narrow = with_("temperature", (60.0, 70.0))
    there, back = change_space(OLD, narrow), change_space(narrow, OLD)
    params = there.apply(TRIAL)
    assert "temperature must be in [60.0, 70.0], got 73.5" in str(there.space.outside(params))
    U, problems = there.space.place_rows([params])
    assert problems == [None] and U[0, 0] == pytest.approx(1.35)
    assert OLD.place_rows([back.apply(params)])[0].tobytes() == OLD.encode_rows([TRIAL]).tobytes()


def test_real_numbers_become_whole_ones_and_keep_what_was_really_used() -> None:
    whole = with_("temperature", Int(20, 100))
    change = change_space(OLD, whole)
    params = change.apply(TRIAL)
    assert params["temperature"] == 73.5 and whole.place_rows([params])[1] == [None]
    assert type(change.apply(TRIAL | {"temperature": 73.0})["temperature"]) is int
    assert change_space(whole, OLD).apply(params) == TRIAL


# -- added


def test_an_added_parameter_has_its_default_in_trials_so_far() -> None:
    change = change_space(OLD, with_("ph", (5.0, 9.0)), defaults={"ph": 7})
    assert change.describe() == ["ph: added; trials so far get 7.0."]
    assert change.apply(TRIAL) == TRIAL | {"ph": 7.0}
    outside = change_space(OLD, with_("ph", (5.0, 9.0)), defaults={"ph": 4.0})  # what was really used
    assert outside.space.place_rows([outside.apply(TRIAL)])[1] == [None]


def test_a_conditional_parameter_is_added_only_where_it_is_active() -> None:
    change = change_space(OLD, with_("colour", Categorical(["red", "blue"], active_if={"lamp": True})),
                          defaults={"colour": "red"})  # fmt: skip
    assert "where it is active" in change.describe()[0]
    assert "colour" not in change.apply(TRIAL)
    assert change.apply(TRIAL | {"lamp": True, "power": 2.0})["colour"] == "red"


def test_an_added_constant_needs_no_default() -> None:
    change = change_space(OLD, with_("site", Fixed("north")))
    assert change.apply(TRIAL) == TRIAL | {"site": "north"}
    assert change.describe() == ["site: added; trials so far get 'north'."]


def test_a_parameter_that_is_active_in_more_places_takes_a_default_there() -> None:
    always = with_("power", Float(1.0, 10.0))
    bare = change_space(OLD, always)
    assert "must have a value for 'power'" in str(always.place_rows([bare.apply(TRIAL)])[1][0])
    change = change_space(OLD, always, defaults={"power": 1.0})
    assert change.apply(TRIAL) == TRIAL | {"power": 1.0}
    assert change.apply(TRIAL | {"lamp": True, "power": 2.0})["power"] == 2.0
    assert change.describe()[1] == "power: trials without a value get 1.0."


def test_a_parameter_that_becomes_conditional_keeps_its_values_on_record() -> None:
    was = Space({"lamp": Bool(), "power": (1.0, 10.0)})
    now = Space({"lamp": Bool(), "power": Float(1.0, 10.0, active_if={"lamp": True})})
    params = change_space(was, now).apply({"lamp": False, "power": 3.0})
    assert params == {"lamp": False, "power": 3.0}  # and the way back still knows it
    assert now.place_rows([params])[0].tobytes() == now.encode_rows([{"lamp": False}]).tobytes()


# -- removed


def test_a_fixed_parameter_leaves_only_trials_at_its_value_in_the_model() -> None:
    for new in (without("stir"), OLD):
        change = change_space(OLD, new, fixed={"stir": 300})
        assert change.describe() == ["stir: fixed at 300 from now on; trials elsewhere leave the model."]
        assert change.space["stir"] == Int(300, 300)
        rows = [change.apply(TRIAL), change.apply(TRIAL | {"stir": 400})]
        assert change.space.place_rows(rows)[1] == [None, "stir is fixed at 300, got 400."]
        back = change_space(change.space, OLD)
        assert [back.apply(row) for row in rows] == [TRIAL, TRIAL | {"stir": 400}]


def test_a_conditional_parameter_is_fixed_where_it_is_active() -> None:
    change = change_space(OLD, OLD, fixed={"power": 2.0})
    assert change.space["power"] == Float(2.0, 2.0, active_if={"lamp": True})
    assert change.space.place_rows([change.apply(TRIAL)])[1] == [None]


def test_a_marginal_parameter_is_out_of_sight_and_its_trials_stay() -> None:
    change = change_space(OLD, without("stir"), marginal=["stir"])
    assert change.describe() == ["stir: removed; what it did to the trials so far counts as noise from now on."]
    rest = {name: value for name, value in TRIAL.items() if name != "stir"}
    assert change.apply(TRIAL) == change.apply(TRIAL | {"stir": 400}) == rest
    assert change.removed(TRIAL) == {"stir": 300}
    back = change_space(change.space, OLD, defaults={"stir": 100})
    assert back.apply(rest) == TRIAL | {"stir": 100}
    assert back.apply(rest | change.removed(TRIAL)) == TRIAL  # what was kept on record goes before a default


# -- renamed


def test_a_renamed_parameter_takes_its_conditions_and_constraints_along() -> None:
    limit = LinearConstraint({"stir": 1.0, "power": 10.0}, upper=500.0)
    was = Space(dict(OLD), constraints=limit)
    now = Space(
        {
            "temperature": OLD["temperature"],
            "speed": OLD["stir"],
            "solvent": OLD["solvent"],
            "light": Bool(),
            "power": Float(1.0, 10.0, active_if={"light": True}),
        },
        constraints=LinearConstraint({"speed": 1.0, "power": 10.0}, upper=500.0),
    )
    change = change_space(was, now, rename={"stir": "speed", "lamp": "light"})
    assert change.describe() == ["stir: renamed to speed.", "lamp: renamed to light."]
    assert change.apply(TRIAL) == {"temperature": 73.5, "speed": 300, "solvent": "acetone", "light": False}


def test_two_parameters_swap_their_names() -> None:
    was = Space({"a": (0.0, 1.0), "b": (0, 9)})
    change = change_space(was, Space({"b": (0.0, 1.0), "a": (0, 9)}), rename={"a": "b", "b": "a"})
    assert change.apply({"a": 0.5, "b": 3}) == {"b": 0.5, "a": 3}
    assert change.describe() == ["a: renamed to b.", "b: renamed to a."]


def test_a_name_that_became_free_can_be_given_again() -> None:
    change = change_space(
        Space({"a": (0.0, 1.0)}), Space({"b": (0.0, 1.0), "a": (0, 9)}), rename={"a": "b"}, defaults={"a": 2}
    )
    assert change.apply({"a": 0.5}) == {"b": 0.5, "a": 2}


# -- refused


@pytest.mark.parametrize(
    ("new", "arguments", "told"),
    [
        (with_("ph", (5.0, 9.0)), {}, r"'ph' is new: which value had the trials so far\? Say defaults=\{'ph': value\}"),
        (with_("ph", (5.0, 9.0)), {"defaults": {"ph": "sour"}}, r"defaults\['ph'\]: ph must be a finite number"),
        (with_("gas", ["N2", "Ar"]), {"defaults": {"gas": "air"}}, r"defaults\['gas'\]: gas must be one of"),
        (OLD, {"defaults": {"ph": 7.0}}, "defaults names an unknown parameter 'ph'"),
        (without("stir"), {}, r"'stir' is missing in the new space: say fixed=\{'stir': value\}.*marginal=\['stir'\]"),
        (OLD, {"marginal": ["stir"]}, "marginal names 'stir', which is still in the new space"),
        (without("stir"), {"marginal": ["sti"]}, "marginal names an unknown parameter 'sti'"),
        (OLD, {"fixed": {"speed": 3}}, "fixed names an unknown parameter 'speed'"),
        (OLD, {"fixed": {"stir": "fast"}}, r"fixed\['stir'\]: Float.low must be a finite number, got 'fast'"),
        (OLD, {"rename": {"speed": "stir"}}, "rename names an unknown parameter 'speed'"),
        (OLD, {"rename": {"stir": "speed"}}, r"rename\['stir'\]: the new space has no 'speed'"),
        (without("stir"), {"rename": {"stir": "temperature"}}, "two parameters would be called 'temperature'"),
        (3, {"fixed": {"stir": 300}}, "space must be a non-empty mapping of names to parameters"),
        (OLD, {"rename": ["stir"]}, "rename must be a mapping of parameter names"),
        (with_("solvent", (0.0, 1.0)), {}, "'solvent' is a choice between .* and 'water' has no place in a range"),
        (
            Space({name: p for name, p in OLD.items() if name != "power"} | {"lamp": Int(0, 1)}),
            {"marginal": ["power"]},
            "'lamp' is a choice between .* and False has no place in a range",
        ),
        (with_("stir", ["slow", "fast"]), {}, r"'stir' is a number in \[100, 500\], and none of the choices"),
        (with_("temperature", Bool()), {}, "'temperature' is a number"),
    ],
)  # fmt: skip
def test_a_change_that_cannot_be_meant_is_refused_by_name(new: Any, arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(SpaceError, match=told):
        change_space(OLD, new, **arguments)


def test_choices_that_are_numbers_become_a_range() -> None:
    change = change_space(Space({"width": [16, 32, 64]}), Space({"width": Int(8, 128, log=True)}))
    assert change.describe()[0] == "width: a whole number in [8, 128] instead of one of [16, 32, 64]."
    assert change.apply({"width": 32}) == {"width": 32}


# -- any pair of spaces


def some_value(space: Space, name: str, rng: np.random.Generator) -> Any:
    return space[name].from_unit(float(rng.random()))


def any_change(old: Space, new: Space, seed: int) -> Change | str:
    """A change with whatever it takes to be meant, or why a parameter cannot become another kind."""
    rng = np.random.default_rng(seed)
    gone = [name for name in old if name not in new]
    fixed = {name: some_value(old, name, rng) for name in gone if rng.random() < 0.5 and old[name].active_if is None}
    defaults = {name: some_value(new, name, rng) for name in new if name not in old}
    marginal = [name for name in gone if name not in fixed]
    try:
        return change_space(old, new, fixed=fixed, defaults=defaults, marginal=marginal)
    except SpaceError as refused:
        return str(refused)


def is_meant(old: Space, new: Space, change: Change | str) -> bool:
    """Whether there is a change; where there is none, the reason must name a parameter of another kind."""
    if not isinstance(change, str):
        return True
    name = change.split("'")[1]
    assert isinstance(old[name], Categorical) != isinstance(new[name], Categorical)
    return False


@settings(max_examples=200)
@given(spaces(), spaces(), st.integers(0, 2**32))
def test_every_trial_has_a_place_after_a_change_or_a_reason(old: Space, new: Space, seed: int) -> None:
    change = any_change(old, new, seed)
    assume(is_meant(old, new, change))
    assert isinstance(change, Change)
    rows = old.decode_rows(old.sample(8, np.random.default_rng(seed)))
    mapped = [change.apply(params) for params in rows]
    U, problems = change.space.place_rows(mapped)
    for params, row, u, problem in zip(rows, mapped, U, problems, strict=True):
        assert set(row) <= set(change.space)
        assert all(row[name] == params[name] for name in params if name in row)
        if problem is None:
            assert np.isfinite(u).all()
        else:
            assert np.isnan(u).all() and any(name in problem for name in change.space)


@settings(max_examples=200)
@given(spaces(), spaces(), st.integers(0, 2**32))
def test_every_difference_is_described(old: Space, new: Space, seed: int) -> None:
    change = any_change(old, new, seed)
    assume(is_meant(old, new, change))
    assert isinstance(change, Change)
    told = change.describe()
    for name in {*old, *new}:
        if name not in old or name not in change.space or old[name] != change.space[name]:
            assert any(line.startswith(f"{name}: ") for line in told), (name, told)
    assert change.nothing == (not told)
    assert old != new or change.nothing


def under_other_names(space: Space, rename: dict[str, str]) -> Space:
    def moved(p: Any) -> Any:
        condition = p.active_if and {rename[parent]: values for parent, values in p.active_if.items()}
        if isinstance(p, Categorical):
            return Categorical(p.choices, active_if=condition)
        return type(p)(p.low, p.high, log=p.log, step=p.step, active_if=condition)

    return Space({rename[name]: moved(p) for name, p in space.items()})


@given(spaces(), st.integers(0, 2**32))
def test_renaming_and_back_is_the_identity(space: Space, seed: int) -> None:
    rename = {name: f"{name} of the week" for name in space}
    other = under_other_names(space, rename)
    there = change_space(space, other, rename=rename)
    back = change_space(other, space, rename={now: was for was, now in rename.items()})
    assert len(there.describe()) == space.d and back.space == space
    for params in space.decode_rows(space.sample(5, np.random.default_rng(seed))):
        assert back.apply(there.apply(params)) == params
        assert other.encode_rows([there.apply(params)]).tobytes() == space.encode_rows([params]).tobytes()
