"""What would be believed and suggested without an observation, in the user's units, for every kind of study."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import ccgbo
from ccgbo import Float, Influence, Int, LinearConstraint, Optimizer
from ccgbo.engine.reasons import without

BOX = {"x": (-5.0, 10.0), "y": (0.0, 15.0)}
SMALL = {"n_features": 32, "n_candidates": 64, "n_local": 16}


def branin(p: Mapping[str, float]) -> float:
    x, y = p["x"], p["y"]
    bowl = (y - 5.1 / (4.0 * math.pi**2) * x * x + 5.0 / math.pi * x - 6.0) ** 2
    return bowl + 10.0 * (1.0 - 1.0 / (8.0 * math.pi)) * math.cos(x) + 10.0


def told(n: int = 16, direction: Any = "minimize", sign: float = 1.0, **options: Any) -> Optimizer:
    """An optimizer that was told values of Branin at seeded points, and asked nothing."""
    opt = Optimizer(BOX, direction=direction, seed=3, n_initial=4, **options)
    points = np.random.default_rng(0).random((n, 2)) * 15.0 - [5.0, 0.0]
    rows = [{"x": float(x), "y": float(y)} for x, y in points]
    opt.tell_many(rows, [sign * branin(row) for row in rows])
    return opt


def test_every_observation_has_a_worth_that_is_never_negative() -> None:
    opt = told()
    found = opt.influence()
    assert [row.trial_id for row in found] == [trial.id for trial in opt.observations]
    assert all(row.worth >= 0.0 and (row.worth_error or 0.0) >= 0.0 and 0.0 <= row.doubt <= 1.0 for row in found)
    assert max(row.worth for row in found) > 1.0
    assert [row.credit for row in found] == [row.credit for row in opt.credits()]
    assert found.recommended == opt.recommend().trial_id
    assert found.ranked()[0].worth == max(row.worth for row in found)


def with_a_wild_value(last: float) -> Optimizer:
    """Twelve small values, one far off, and a best one."""
    opt = Optimizer({f"x{i}": (0.0, 1.0) for i in range(9)}, direction="minimize", seed=0, n_initial=12)
    for _ in range(12):
        trial = opt.ask()
        opt.tell(trial, sum((x - 0.4) ** 2 for x in trial.params.values()))
    opt.tell(opt.ask(), 99.0)
    opt.tell(opt.ask(), last)
    return opt


def test_worth_stays_of_the_size_of_the_values_where_one_of_them_is_wild() -> None:
    found = with_a_wild_value(0.2).influence()
    assert 0.0 < max(row.worth for row in found) < 99.0
    assert all(abs(row.hope) < 99.0 and (row.worth_error or 0.0) < 99.0 for row in found)


def test_looking_changes_nothing() -> None:
    looked, other = told(), told()
    looked.influence({"some": [1, 2]}, suggestion=True, refit=True, shapley=2, top=2)
    looked.influence_on(3)
    assert looked.state_dict() == other.state_dict()
    assert looked.ask().params == other.ask().params


def test_minimising_and_maximising_the_negative_are_the_same() -> None:
    down, up = told().influence(), told(direction="maximize", sign=-1.0).influence()
    for a, b in zip(down, up, strict=True):
        assert (a.worth, a.hope, a.doubt) == pytest.approx((b.worth, b.hope, b.doubt), rel=1e-6, abs=1e-9)
        assert a.optimum is not None and b.optimum is not None
        assert a.optimum.proxy == pytest.approx(-b.optimum.proxy)


def test_what_would_be_recommended_is_what_a_model_without_the_observation_recommends() -> None:
    opt = told(20)
    state, found = opt.snapshot(), opt.influence({"half": range(10)})
    ids = [trial.id for trial in opt.observations]
    changed = 0
    for row in (*found.rows, *found.groups):
        left = without(state, np.array(row.trial_ids))
        expected = [i for i in ids if i not in row.trial_ids][int(left.model.mean.argmax())]
        assert row.recommended == expected
        changed += row.recommended != found.recommended
    assert changed >= 1


def test_where_the_optimum_would_be_thought_is_the_best_mean_of_the_model_without_the_observation() -> None:
    opt = told(20)
    state, found = opt.snapshot(), opt.influence({"half": range(10)})
    everywhere = state.space.features(state.space.sample(4000, np.random.default_rng(1)))
    for row in (*found.groups, *found.ranked()[:3]):
        left = without(state, np.array(row.trial_ids)).model
        assert row.optimum is not None
        f = state.space.features(state.space.encode(row.optimum.params)[None])
        there = float(left.posterior.predict_mean(f)[0])
        assert there >= left.posterior.predict_mean(everywhere).max() - 1e-3
        assert row.optimum.mean == pytest.approx(-float(left.outcome.inverse(np.array([there]))[0]), rel=1e-2, abs=0.1)


@pytest.mark.parametrize("acquisition", [None, "ts", "ucb", "logei"])
def test_the_suggestion_shown_is_the_one_that_comes(acquisition: str | None) -> None:
    opt = told(acquisition=acquisition)
    why = opt.influence(suggestion=True, top=2).suggestion
    assert why is not None and len(why.changes) == 2
    assert opt.ask().params == why.params


@pytest.mark.parametrize("acquisition", ["ts", "jes"])
def test_without_one_of_two_twins_the_same_is_suggested(acquisition: str) -> None:
    """The random draws are the same with and without it, so nothing but the observation could change the step."""
    opt = Optimizer({"x": (0.0, 1.0), "y": (0.0, 1.0)}, seed=0, n_initial=4, acquisition=acquisition, credit=False)
    for x, y in np.random.default_rng(1).random((9, 2)).tolist():
        opt.tell({"x": x, "y": y}, math.sin(6.0 * x) + y, noise_variance=0.0)
    twin = opt.tell(opt.trials[4].params, opt.trials[4].value, noise_variance=0.0)
    why = opt.influence({"twin": [twin.id], "half": range(5)}, suggestion=True, top=1).suggestion
    assert why is not None
    moved = {change.name: change.moved for change in why.changes}
    assert moved["twin"] < 0.01 < moved["half"]


def test_a_place_that_was_never_evaluated_may_be_suggested() -> None:
    opt = Optimizer({"a": Int(0, 5)}, seed=0, n_initial=2)
    for a in (0, 1, 2, 4, 5):
        opt.tell({"a": a}, float(a))
    found = opt.influence({"the last": [4]}, suggestion=True)
    assert found.suggestion is not None and found.suggestion.params == {"a": 3}
    change = next(c for c in found.suggestion.changes if c.name == "the last")
    assert change.params == {"a": 5}
    assert "without the last it would have been a = 5" in str(found.suggestion)


def test_in_the_initial_design_the_next_suggestion_rests_on_nothing() -> None:
    opt = Optimizer(BOX, seed=0)
    opt.tell({"x": 1.0, "y": 2.0}, 3.0)
    assert opt.influence(suggestion=True).suggestion is None


def test_groups_are_ids_predicates_or_what_trials_have_in_common() -> None:
    opt = Optimizer({"x": (0.0, 1.0), "site": ["north", "south"]}, seed=0, n_initial=3)
    for i in range(12):
        opt.tell({"x": i / 11, "site": "north" if i % 3 else "south"}, math.sin(i))
    pending = opt.ask()
    found = opt.influence({"ids": [1, 2, pending.id], "late": lambda trial: trial.id >= 9}, by="site")
    members = {group.name: group.trial_ids for group in found.groups}
    assert members["ids"] == (1, 2) and members["late"] == (9, 10, 11)
    assert members["site = south"] == (0, 3, 6, 9) and len(members["site = north"]) == 8
    for wrong in ([99], ["1"], [1.5]):
        with pytest.raises(ccgbo.UnknownTrialError, match=r"groups\['no'\]: .* no trial is known as"):
            opt.influence({"no": wrong})
    for wrong in (3, "12"):
        with pytest.raises(ccgbo.SettingError, match=r"groups\['no'\] must be trial ids or a predicate of a trial"):
            opt.influence({"no": wrong})  # type: ignore[dict-item]
    with pytest.raises(ccgbo.SettingError, match="groups must be a mapping of names"):
        opt.influence([1, 2])  # type: ignore[arg-type]
    assert opt.influence({"trials": [opt.trials[2]]}).groups[0].trial_ids == (2,)
    with pytest.raises(ccgbo.SettingError, match="by must be an attribute of the trials or a parameter, got 'colour'"):
        opt.influence(by="colour")


def test_a_group_of_one_is_that_observation() -> None:
    found = told().influence({"one": [5]})
    row, group = found.rows[5], found.groups[0]
    assert (group.worth, group.hope) == pytest.approx((row.worth, row.hope), rel=0.05, abs=1e-6)


def test_refitted_hyperparameters_are_compared_for_the_most_valuable_and_the_groups() -> None:
    found = told().influence({"half": range(8)}, refit=True, top=2)
    assert [row.refitted is not None for row in found.ranked()] == [True, True] + [False] * 14
    assert found.groups[0].refitted is not None and found.groups[0].optimum is not None
    assert found.groups[0].refitted.proxy != found.groups[0].optimum.proxy


def test_refitting_to_the_same_observations_changes_nothing() -> None:
    (group,) = told().influence({"nobody": []}, refit=True, top=1).groups
    assert group.refitted is not None and group.optimum is not None
    assert group.refitted.proxy == pytest.approx(group.optimum.proxy, rel=1e-2)
    assert group.refitted.params == pytest.approx(group.optimum.params, abs=0.1)


def test_shares_add_up_to_what_knowing_all_is_worth() -> None:
    found = told(10).influence({"all": range(10)}, shapley=30)
    total = sum(row.share or 0.0 for row in found)
    assert total == pytest.approx(found.groups[0].worth, rel=0.3)
    assert all(row.share_error is not None and row.share_error > 0.0 for row in found)


def test_more_posterior_functions_give_a_smaller_error() -> None:
    few, many = told().influence(n_paths=8), told().influence(n_paths=200)
    assert (few.n_paths, many.n_paths) == (8, 200)
    assert np.mean([row.worth_error for row in many]) < 0.5 * np.mean([row.worth_error for row in few])  # type: ignore[arg-type]


def test_a_single_function_or_order_has_no_error() -> None:
    row = told().influence(n_paths=1, shapley=1).rows[0]
    assert row.worth_error is None and row.share is not None and row.share_error is None


def test_what_a_prediction_rests_on_is_what_deleting_it_would_change() -> None:
    opt = told()
    state = opt.snapshot()
    why = opt.influence_on({"x": 2.0, "y": 3.0}, top=16)
    f = state.space.features(state.space.encode({"x": 2.0, "y": 3.0})[None])
    for support in why.supports:
        left = without(state, np.array([support.trial_id])).model
        mean, std = (float(v[0]) for v in left.posterior.predict(f))
        user = left.in_user_units(np.array([mean]), np.array([std]))
        assert (support.mean, support.std) == pytest.approx((-user[0][0], user[1][0]), rel=1e-6)
    changes = [abs(s.mean - why.mean) + abs(s.std - why.std) for s in why.supports]
    assert changes[0] > changes[-1]
    trial = opt.ask()
    assert opt.influence_on(trial).params == dict(trial.params) == opt.influence_on(trial.id).params


MIXED: dict[str, Any] = {
    "lr": Float(1e-5, 1e-1, log=True),
    "layers": (1, 8),
    "optimizer": ["adam", "sgd"],
    "momentum": Float(0.0, 0.99, active_if={"optimizer": "sgd"}),
}
KINDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "conditional": (MIXED, {}),
    "grid": ({"a": (1, 6), "b": ["u", "v", "w"]}, {}),
    "linear constraint": (BOX, {"constraint": LinearConstraint({"x": 1.0, "y": 1.0}, upper=8.0)}),
    "predicate": (BOX, {"constraint": lambda p: p["x"] < p["y"]}),
    "paper": (BOX, {"preset": "paper"}),
    "prior": (BOX, {"prior": {"x": ccgbo.NormalPrior(1.0, 2.0)}}),
}


def worth_of(params: Mapping[str, Any]) -> float:
    return sum(len(v) if isinstance(v, str) else math.cos(v) for v in params.values())


@pytest.mark.parametrize("kind", KINDS)
def test_it_works_in_every_kind_of_space(kind: str) -> None:
    space, options = KINDS[kind]
    opt = Optimizer(space, seed=1, n_initial=7, tuning=SMALL, **options)
    for _ in range(9):
        trial = opt.ask()
        opt.tell(trial, worth_of(trial.params))
    opt.ask(2)
    found = opt.influence({"half": range(4)}, suggestion=True, refit=True, shapley=2, top=2)
    check(opt, found)
    for row in (*found.rows, *found.groups):
        assert row.optimum is not None
        for params in (row.optimum.params, row.elsewhere, row.refitted.params if row.refitted else None):
            assert params is None or opt.space.feasible(opt.space.encode(params)[None])[0]


@pytest.mark.parametrize(
    ("values", "noise"),
    [([1.0], None), ([2.0] * 6, None), ([1.0, 5.0], None), ([1.0, 2.0, 0.0, 4.0], 0.3), ([1e300, -1e300, 0.0], None)],
    ids=["one observation", "constant", "two", "noise given", "huge"],
)
def test_it_works_with_little_and_odd_data(values: list[float], noise: float | None) -> None:
    opt = Optimizer({"x": (0.0, 1.0), "y": (0.0, 1.0)}, seed=0, n_initial=1, tuning=SMALL)
    for i, value in enumerate(values):
        opt.tell({"x": (0.37 * i) % 1.0, "y": (0.61 * i) % 1.0}, value, noise_variance=noise)
    found = opt.influence({"all": lambda _: True, "none": []}, suggestion=True, refit=True, shapley=3)
    check(opt, found)
    everything, nothing = found.groups
    assert everything.optimum is None and everything.recommended is None and "nothing would be known" in str(everything)
    assert nothing.worth == pytest.approx(0.0, abs=1e-9 * max(map(abs, values)))
    assert nothing.recommended == found.recommended


def test_repeats_of_one_point_are_worth_little_each() -> None:
    opt = Optimizer({"x": (0.0, 1.0)}, seed=0, n_initial=2)
    opt.tell_many([{"x": 0.5}] * 5 + [{"x": 0.05}, {"x": 0.95}], [1.0] * 5 + [0.0, 0.2])
    found = opt.influence({"repeats": range(5)})
    assert max(row.worth for row in found.rows[:5]) < 0.1 * found.groups[0].worth


def check(opt: Optimizer, found: Influence) -> None:
    """What holds of any influence."""
    rows = (*found.rows, *found.groups)
    assert all(row.worth >= 0.0 and math.isfinite(row.worth) and math.isfinite(row.hope) for row in rows)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["recommended"] == opt.recommend().trial_id
    assert str(found).startswith("The optimum is probably near ")
    for row in rows:
        assert str(row).startswith("without ")
    if found.suggestion is not None:
        assert dict(opt.ask().params) == dict(found.suggestion.params)


def test_a_forest_is_refused_by_name() -> None:
    opt = Optimizer(BOX, surrogate="forest", seed=0)
    opt.tell_many([{"x": 1.0, "y": 2.0}, {"x": 2.0, "y": 2.0}], [1.0, 2.0])
    for ask in (opt.influence, lambda: opt.influence_on(0)):
        with pytest.raises(ccgbo.UnsupportedError, match=r"such as surrogate='gp', got surrogate='forest' with a Fore"):
            ask()


def test_wrong_arguments_are_refused_by_name_and_no_observation_is_said() -> None:
    opt = told()
    for arguments in ({"top": 0}, {"shapley": -1}, {"n_paths": 1.5}, {"refit": 1}, {"suggestion": "yes"}):
        with pytest.raises(ccgbo.SettingError, match=next(iter(arguments))):
            opt.influence(**arguments)  # type: ignore[arg-type]
    with pytest.raises(ccgbo.NoObservationsError):
        Optimizer(BOX).influence()


def test_a_result_and_a_study_answer_the_same(tmp_path: Any) -> None:
    result = ccgbo.minimize(lambda x, y: branin({"x": x, "y": y}), BOX, n_trials=12, seed=1, progress=False)
    opt = result.optimizer()
    assert result.influence({"a": [1]}, top=1) == opt.influence({"a": [1]}, top=1)
    assert result.influence_on(3) == opt.influence_on(3)
    with ccgbo.Study(tmp_path / "s.db", BOX, direction="minimize", seed=1) as study:
        study.run(lambda x, y: branin({"x": x, "y": y}), 12, progress=False)
        assert study.influence(shapley=2, n_paths=9) == study.optimizer().influence(shapley=2, n_paths=9)
        assert study.influence_on(2, top=1) == study.optimizer().influence_on(2, top=1)


def test_the_two_stories_are_told_in_plain_sentences() -> None:
    text = str(told().influence({"the first half": range(8)}, suggestion=True))
    assert "That rests on\n  trial " in text and "It is probably not elsewhere." in text
    assert "without it the best would be sought elsewhere, as at x = " in text
    assert "\nWithout the first half (8 observations) the optimum would be thought " in text
    assert "\nNext x = " in text and "suggested because of trial" in text and "it would have been x = " in text


def test_shares_add_up_on_a_logarithmic_scale_too() -> None:
    names = [f"x{i}" for i in range(8)]
    opt = Optimizer(dict.fromkeys(names, (-2.0, 2.0)), direction="minimize", seed=0, n_initial=5)
    X = 4.0 * np.random.default_rng(1).random((24, 8)) - 2.0
    values = (100.0 * (X[:, 1:] - X[:, :-1] ** 2) ** 2 + (1.0 - X[:, :-1]) ** 2).sum(axis=1)
    opt.tell_many([dict(zip(names, map(float, x))) for x in X], values.tolist())
    assert opt.snapshot().model.on_log_scale
    found = opt.influence({"all": range(24)}, shapley=30)
    assert sum(row.share or 0.0 for row in found) == pytest.approx(found.groups[0].worth, rel=0.3)
    assert 0.0 < found.groups[0].worth < 10.0 * np.ptp(values)


def test_the_optimum_is_estimated_near_the_values_where_one_of_them_is_wild() -> None:
    """The tails of a robust scale are drawn in on the good side too; beyond the best nobody has seen them."""
    opt = with_a_wild_value(0.01)
    assert all(-10.0 < row.optimum.proxy < 0.5 for row in opt.influence() if row.optimum is not None)
    model = opt.snapshot().model
    y = np.array([model.mean.max(), model.mean.max() + 1.0, model.mean.max() + 2.0])
    values, std = model.in_user_units(y, np.ones(3))
    assert np.diff(values) == pytest.approx(np.full(2, std[0])) and (std == std[0]).all()
