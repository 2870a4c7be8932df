"""The inner maximiser on mixed spaces, and what it may not suggest."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from space_strategies import spaces

from ccgbo import Categorical, EngineTuning, Float, Int, Optimizer, SettingError, Space, SpaceExhaustedError, log
from ccgbo.credit.scores import score
from ccgbo.engine.candidates import global_candidates, line_candidates, local_candidates
from ccgbo.engine.search import Excluded, any_new, movable, optimize_acquisition

Array = NDArray[np.float64]
SETTINGS = EngineTuning(n_candidates=64, n_starts=3, search_steps=30)


def by_params(space: Space, f: Callable[[dict[str, Any]], float]) -> Callable[[Array], Array]:
    """A score given by a function of the params."""
    return lambda F: np.array([f(params) for params in space.decode_rows(space.from_features(F))])


def test_local_candidates_change_few_of_many_coordinates(rng: np.random.Generator) -> None:
    for d, most in ((10, 10.0), (400, 30.0)):
        space = Space({f"x{i}": Float(0.0, 1.0) for i in range(d)})
        centre = np.full((1, d), 0.5)
        changed = (local_candidates(space, centre, 500, rng) != centre).sum(axis=1)
        assert 0.4 * min(d, 40) < changed.mean() < most and changed.max() <= d


def test_line_candidates_leave_a_centre_in_one_coordinate_and_reach_the_bounds(rng: np.random.Generator) -> None:
    space, centres = Space({"x": (0.0, 1.0), "y": (-5.0, 5.0), "z": (0.0, 1.0)}), rng.uniform(0.2, 0.8, size=(4, 3))
    U = line_candidates(space, centres, 600, rng)
    apart = (U[:, None] != centres).sum(axis=2)  # (m, c)
    assert apart.min(axis=1).tolist() == [1] * 600 and set(apart.argmin(axis=1)) == {0, 1, 2, 3}
    assert {(j, end) for j in range(3) for end in (0.0, 1.0) if (U[:, j] == end).any()} == {
        (j, end) for j in range(3) for end in (0.0, 1.0)
    }


@given(space=spaces(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_line_candidates_are_points_of_any_space(space: Space, seed: int) -> None:
    rng = np.random.default_rng(seed)
    U = line_candidates(space, space.sample(3, rng), 40, rng)
    assert np.array_equal(space.snap(U), U) and space.feasible(U).all()


class Needle:
    """A wide hill of height 0 in the corner and a needle of height 5 that no candidate of many hits."""

    top = np.array([0.7, 0.6])

    def __call__(self, F: Array) -> Array:
        return self.gradient(F)[0]

    def gradient(self, F: Array) -> tuple[Array, Array]:
        sharp, hill = 5.0 - 1e6 * ((F - self.top) ** 2).sum(axis=1), -(F**2).sum(axis=1)
        on_needle = (sharp > hill)[:, None]
        return np.maximum(sharp, hill), np.where(on_needle, -2e6 * (F - self.top), -2.0 * F)


def test_a_search_starts_from_its_first_candidates_in_any_case_if_it_is_told_to(rng: np.random.Generator) -> None:
    space, needle = Space({"x": (0.0, 1.0), "y": (0.0, 1.0)}), Needle()
    U = np.concatenate([needle.top[None, :] + 1.65e-3, space.sample(64, rng)])
    assert (needle(U) > needle(U)[0]).sum() > SETTINGS.n_starts  # low on the needle: not among the best
    excluded, unit = Excluded(np.empty((0, 2)), space), np.full(2, 0.5)
    args: Any = (needle, space, U, needle(U), SETTINGS, excluded)
    assert optimize_acquisition(*args, unit=unit, rng=rng) == pytest.approx([0.0, 0.0], abs=1e-3)
    found = optimize_acquisition(*args, unit=unit, rng=rng, surely=1)
    assert found == pytest.approx(needle.top, abs=1e-6)


def find(
    space: Space, f: Callable[[dict[str, Any]], float], seed: int = 0, taken: Array | None = None
) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    U = global_candidates(space, SETTINGS, rng)
    value = by_params(space, f)
    used = Excluded(np.empty((0, space.p)) if taken is None else space.features(taken), space)
    scale = np.full(space.p, 0.5)
    return space.decode(
        optimize_acquisition(value, space, U, value(space.features(U)), SETTINGS, used, unit=scale, rng=rng)
    )


# -- the optimum of a mixed score


@pytest.mark.parametrize("seed", range(3))
def test_gradient_steps_and_discrete_moves_together_find_a_mixed_optimum(seed: int) -> None:
    space = Space({"x": (-1.0, 1.0), "y": (-1.0, 1.0), "n": (0, 30), "c": list("abcdef"), "b": [False, True]})

    def f(p: dict[str, Any]) -> float:
        bonus = {"a": 0.0, "b": -1.0, "c": 0.5, "d": 2.0, "e": -2.0, "f": 1.0}[p["c"]]
        return bonus - (p["x"] - 0.3) ** 2 - (p["y"] + 0.4) ** 2 - ((p["n"] - 17) / 10) ** 2 + 0.5 * p["b"]

    found = find(space, f, seed)
    assert (found["n"], found["c"], found["b"]) == (17, "d", True)
    assert found["x"] == pytest.approx(0.3, abs=1e-2)
    assert found["y"] == pytest.approx(-0.4, abs=1e-2)


def test_a_large_integer_is_walked_to_its_best_value() -> None:
    space = Space({"n": Int(1, 1_000_000), "m": Int(1, 10**9, log=True), "x": (0.0, 1.0)})
    found = find(space, lambda p: -(((p["n"] - 271_828) / 1e6) ** 2) - math.log10(p["m"] / 31_416) ** 2 - p["x"])
    assert found["n"] == pytest.approx(271_828, rel=0.05)
    assert found["m"] == pytest.approx(31_416, rel=0.5)


def test_a_small_grid_is_searched_whole() -> None:
    space = Space({"a": (0, 30), "b": (0, 30)})
    needle = {"a": 23, "b": 4}
    assert find(space, lambda p: float(p == needle)) == needle


def test_the_best_branch_of_a_conditional_space_is_found() -> None:
    space = Space(
        {
            "model": ["svm", "net"],
            "gamma": Float(1e-3, 1e1, log=True, active_if={"model": "svm"}),
            "width": Int(8, 256, active_if={"model": "net"}),
            "rate": Float(0.0, 1.0, active_if={"model": "net"}),
        }
    )

    def f(p: dict[str, Any]) -> float:
        if p["model"] == "svm":
            return 0.5
        return 1.0 - ((p["width"] - 100) / 200) ** 2 - (p["rate"] - 0.8) ** 2

    found = find(space, f)
    assert found["model"] == "net"
    assert found["width"] == pytest.approx(100, abs=10)
    assert found["rate"] == pytest.approx(0.8, abs=0.02)


@pytest.mark.parametrize("acquisition", ["ucb", "logei", "ts"])
def test_a_mixed_objective_is_optimised(acquisition: str) -> None:
    """4 x 12 cells and a continuum; one in 48 cells holds the optimum."""
    opt = Optimizer({"x": (0.0, 1.0), "n": (1, 12), "c": list("wxyz")}, seed=1, n_initial=10, acquisition=acquisition)
    bonus = {"w": 0.0, "x": 0.8, "y": -0.5, "z": 0.3}
    for _ in range(40):
        trial = opt.ask()
        x, n, c = trial.params["x"], trial.params["n"], trial.params["c"]
        opt.tell(trial, bonus[c] - ((n - 9) / 4) ** 2 - 2 * (x - 0.25) ** 2)
    assert (opt.best_params["n"], opt.best_params["c"]) == (9, "x")
    assert opt.best_params["x"] == pytest.approx(0.25, abs=0.1)


# -- categories are not ordinals


def model_of(choices: list[str], values: dict[str, list[float]]) -> Callable[[str], float]:
    """The posterior mean at each choice, for data at some of them."""
    opt = Optimizer({"c": choices, "x": (0.0, 1.0)}, seed=0)
    xs = np.linspace(0.05, 0.95, 4)
    opt.tell_many(
        [{"c": c, "x": x} for c, ys in values.items() for x, _ in zip(xs, ys, strict=True)],
        [y for ys in values.values() for y in ys],
    )
    gp = opt.snapshot().model.posterior
    return lambda c: float(gp.predict(opt.space.features(opt.space.encode({"c": c, "x": 0.5})[None]))[0][0])


BAD, GOOD = [-1.0, -1.1, -0.9, -1.0], [1.0, 1.1, 0.9, 1.0]


def test_a_category_between_two_bad_ones_is_thought_no_worse_than_any_other() -> None:
    """An ordinal model would put c between its bad neighbours b and d, and far f near the good e."""
    mean = model_of(list("abcdef"), {"a": GOOD, "b": BAD, "d": BAD, "e": GOOD})
    assert mean("c") == pytest.approx(mean("f"), abs=1e-9)
    assert mean("b") < mean("c") < mean("a")


def test_the_order_of_the_choices_changes_nothing() -> None:
    data = {"a": GOOD, "b": BAD, "d": [0.3, 0.2, 0.1, 0.0]}
    one, other = model_of(list("abcd"), data), model_of(list("dbca"), data)
    for choice in "abcd":
        assert one(choice) == pytest.approx(other(choice), abs=1e-3)


def test_a_good_category_among_bad_neighbours_is_found() -> None:
    """The values jump up and down along the list, so that no smooth function of the index fits them."""
    value = dict(zip("abcdefghij", [0.2, -1, 0.1, -1, 2.0, -1, 0.3, -1, 0.15, -1], strict=True))
    opt = Optimizer({"c": list(value), "x": (0.0, 1.0)}, seed=0, n_initial=6)
    for _ in range(25):
        trial = opt.ask()
        opt.tell(trial, value[trial.params["c"]] - (trial.params["x"] - 0.5) ** 2)
    assert opt.best_params["c"] == "e"


def test_the_credit_field_measures_distance_as_the_model_does() -> None:
    """A category that differs counts one, numbers by their place in the range, inactive parameters not at all."""
    space = {
        "c": ["a", "b", "z"],
        "n": Int(1, 10),
        "x": Float(0.0, 2.0, active_if={"c": "a"}),
        "y": (0.0, 1.0),
    }
    credit = {"n_neighbours": 3, "field": "knn", "credit_when": "always"}
    opt = Optimizer(space, seed=0, n_initial=2, acquisition="ucb", credit=credit)
    opt.tell({"c": "b", "n": 1, "y": 0.5}, 0.0)
    opt.tell({"c": "z", "n": 4, "y": 0.5}, 0.5)
    opt.tell({"c": "b", "n": 10, "y": 0.0}, 1.0)
    trial = opt.ask()
    while trial.params["c"] == "a":
        opt.tell(trial, -1.0)
        trial = opt.ask()
    here = trial.params
    near = {n.trial_id: n.distance for n in opt.explain(trial).neighbours}
    for t in opt.trials[:3]:
        if t.id in near:
            numbers = ((here["n"] - t.params["n"]) / 10) ** 2 + (here["y"] - t.params["y"]) ** 2
            assert near[t.id] == pytest.approx(math.sqrt(numbers + (here["c"] != t.params["c"])))
    assert set(near) & {0, 1, 2}


# -- the model sees what will be evaluated


def test_the_model_sees_the_rounded_value() -> None:
    """Whatever position is drawn inside a cell, the features are those of the value that is evaluated."""
    space = Space({"n": (1, 4), "s": Float(0.0, 1.0, step=0.25), "m": Int(1, 100, log=True)})
    rng = np.random.default_rng(0)
    U = space.snap(rng.random((200, 3)))
    told = np.array([space.encode(params) for params in space.decode_rows(U)])
    assert np.allclose(space.features(U), space.features(told), atol=1e-15)
    assert len(np.unique(space.features(U)[:, 0])) == 4
    assert len(np.unique(space.features(U)[:, 1])) == 5


@settings(max_examples=20)
@given(spaces(), st.integers(0, 2**31))
def test_candidates_are_points_that_can_be_evaluated(space: Space, seed: int) -> None:
    rng = np.random.default_rng(seed)
    U = global_candidates(space, EngineTuning(n_candidates=20), rng)
    U = np.concatenate([U, local_candidates(space, U[:3], 20, rng)])
    for u in U[:60]:
        again = space.encode(space.decode(u))
        assert np.allclose(again, u, atol=1e-7)


@given(spaces(), st.integers(0, 2**31))
def test_gradients_move_only_what_is_continuous_and_active(space: Space, seed: int) -> None:
    U = space.sample(10, np.random.default_rng(seed))
    mask, active = movable(space, U), space.active(U)
    expected = np.zeros_like(mask)
    for j in space.continuous:
        expected[:, space._columns[j]] = active[:, j]
    assert (mask == expected).all()


# -- points that are taken


def test_a_millionth_of_the_range_beside_an_observation_is_taken() -> None:
    space = Space({"x": (0.0, 1.0), "y": (0.0, 1.0)})
    taken = Excluded(np.array([[0.5, 0.5]]), space)
    assert not taken.is_new(np.array([0.5, 0.5 + 9e-7]))
    assert taken.is_new(np.array([0.5, 0.5 + 2e-6]))


def test_neighbours_in_a_fine_grid_are_not_taken() -> None:
    space = Space({"n": Int(0, 10**9)})
    taken = Excluded(space.features(space.encode({"n": 500})[None]), space)
    assert not taken.is_new(space.features(space.encode({"n": 500})[None])[0])
    assert taken.is_new(space.features(space.encode({"n": 501})[None])[0])


@settings(max_examples=20)
@given(spaces(), st.integers(0, 2**31))
def test_many_points_are_judged_as_one_by_one(space: Space, seed: int) -> None:
    rng = np.random.default_rng(seed)
    used, asked = space.features(space.sample(15, rng)), space.features(space.sample(15, rng))
    asked = np.concatenate([asked, used[:5]])
    taken = Excluded(used, space)
    assert taken.new_rows(asked).tolist() == [taken.is_new(f) for f in asked]
    assert not taken.new_rows(asked)[-5:].any()


@pytest.mark.parametrize("k", [1, 5, 50])
@pytest.mark.parametrize("d", [1, 2, 6])
def test_boxes_around_pending_points_cover_a_bounded_share_of_the_space(k: int, d: int) -> None:
    space = Space({f"x{i}": (0.0, 1.0) for i in range(d)})
    rng = np.random.default_rng(0)
    pending = rng.random((k, d))
    taken = Excluded(pending, space, pending, min_distance=0.05)
    share = np.mean([not taken.keeps_distance(f) for f in rng.random((4000, d))])
    assert share <= 0.1**d + 0.02
    assert not taken.keeps_distance(pending[0] + 0.9 * 0.05 * k ** (-1.0 / d))


def test_what_is_too_near_to_a_pending_point_is_suggested_only_if_nothing_else_is_left() -> None:
    space = Space({"x": (0.0, 1.0)})
    F = np.array([[0.5]])
    taken = Excluded(F, space, F, min_distance=0.1)
    U, scale, rng = np.array([[0.45], [0.55], [0.9]]), np.ones(1), np.random.default_rng(0)
    settings = EngineTuning(n_starts=0)
    value = -np.abs(U[:, 0] - 0.46)
    assert (
        optimize_acquisition(by_params(space, lambda _: 0.0), space, U, value, settings, taken, unit=scale, rng=rng)
        == 0.9
    )
    U, value = U[:2], value[:2]
    assert (
        optimize_acquisition(by_params(space, lambda _: 0.0), space, U, value, settings, taken, unit=scale, rng=rng)
        == 0.45
    )


def test_a_taken_optimum_gives_way_to_the_next_best() -> None:
    space = Space({"n": (0, 20)})
    assert find(space, lambda p: -abs(p["n"] - 7.2), taken=np.array([space.encode({"n": 7})])) == {"n": 8}


def test_an_exhausted_space_is_named_and_the_last_free_point_found() -> None:
    space = Space({"n": (0, 3000), "m": (0, 20)})  # beyond what is searched whole
    rng = np.random.default_rng(0)
    grid = space.grid(limit=200_000)
    assert grid is not None
    F = space.features(grid)
    free = any_new(grid[:5], space, Excluded(np.delete(F, 12_345, axis=0), space), rng)
    assert space.decode(free) == space.decode(grid[12_345])
    with pytest.raises(SpaceExhaustedError, match="evaluated, pending or failed; allow_repeats=True"):
        any_new(grid[:5], space, Excluded(F, space), rng)


# -- scores that are not finite


def test_points_with_an_infinite_or_missing_score_are_passed_over_and_reported_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "_reported", set())
    space = Space({"n": (0, 9)})
    strange = {3: math.nan, 4: math.inf, 5: -math.inf}
    with caplog.at_level(logging.WARNING, logger="ccgbo"):
        for _ in range(3):
            assert find(space, lambda p: strange.get(p["n"], -float(p["n"]))) == {"n": 0}
    assert [r.getMessage() for r in caplog.records] == [
        "the acquisition is not finite at 3 of 10 points: they are passed over"
    ]


def test_a_proxy_that_is_not_finite_gives_no_credit_and_is_reported_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "_reported", set())
    with caplog.at_level(logging.WARNING, logger="ccgbo"):
        for z in (math.nan, math.inf):
            assert not score(np.arange(4.0), np.ones(4), z).informative
    assert [r.getMessage() for r in caplog.records] == ["the proxy of the optimum is nan: no credit is given"]


class Nonsense:
    """A user's acquisition that is never a number."""

    codomain = "real"
    needs_optima = False

    def bind(self, context: Any) -> Callable[[Array], Array]:  # noqa: ARG002
        return lambda x: np.full(len(x), math.nan)


def test_an_acquisition_that_is_never_a_number_still_ends_in_valid_suggestions() -> None:
    opt = Optimizer({"x": (0.0, 1.0), "c": ["a", "b"]}, seed=0, n_initial=2, acquisition=Nonsense(), credit=False)
    for i in range(5):
        trial = opt.ask()
        opt.space.encode(trial.params)
        opt.tell(trial, float(i))
    assert len({tuple(t.params.values()) for t in opt.trials}) == 5


@pytest.mark.parametrize(
    ("field", "value"),
    [("n_candidates", 0), ("n_local", -1), ("n_starts", -1), ("search_steps", -1), ("min_pending_distance", 0.5)],
)
def test_a_search_that_cannot_be_says_why(field: str, value: Any) -> None:
    with pytest.raises(SettingError, match=f"EngineTuning.{field} must be"):
        EngineTuning(**{field: value})


def test_a_categorical_with_one_choice_costs_nothing() -> None:
    assert Space({"c": Categorical(["only"]), "x": (0.0, 1.0)}).p == 1
