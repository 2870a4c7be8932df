"""Trials that live: corrected, dropped, given up, enqueued and described, and a model of what holds."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ccgbo
from ccgbo import Categorical, Float, Int, LinearConstraint, NormalPrior, Optimizer, ParamsError, TellError
from ccgbo.engine.step import OneObjective

FAST: dict[str, Any] = {
    "seed": 3, "n_initial": 5,
    "tuning": {"n_candidates": 64, "n_local": 16, "n_starts": 2, "search_steps": 8, "refit_growth": 0.5},
}  # fmt: skip
SPACE: dict[str, Any] = {
    "x": (0.0, 10.0),
    "oven": (100.0, 200.0),
    "kind": ["a", "b", "c"],
    "depth": Int(1, 4, active_if={"kind": ["a", "b"]}),
}


def value_of(params: Mapping[str, Any]) -> float:
    return -((params["x"] - 3.0) ** 2) - ((params["oven"] - 150.0) / 30.0) ** 2 + (params["kind"] == "a")


def told(n: int = 9, **settings: Any) -> Optimizer:
    """An optimizer with a model: the first trial has failed, the others have values."""
    opt = Optimizer(SPACE, **{**FAST, **settings})
    for i in range(n):
        trial = opt.ask()
        if i == 0:
            opt.tell(trial, failed=True, error="broke")
        else:
            opt.tell(trial, value_of(trial.params))
    return opt


def fresh(opt: Optimizer, **settings: Any) -> Optimizer:
    """A new optimizer with the same trials and state, and nothing else of the old one."""
    new = Optimizer(opt.space, **{**FAST, **settings})
    order = {trial_id: i for i, trial_id in enumerate(opt.state_dict()["outcomes"])}
    new.sync(sorted(opt.trials, key=lambda trial: order.get(trial.id, -1)), opt.state())
    return new


def reloaded(opt: Optimizer, **settings: Any) -> Optimizer:
    new = Optimizer(opt.space, **{**FAST, **settings})
    new.load_state_dict(json.loads(json.dumps(opt.state_dict(), allow_nan=False)))
    return new


def assert_same(one: Optimizer, other: Optimizer) -> None:
    """The same model, bit for bit, and the same next suggestion."""
    ours, theirs = one.snapshot(), other.snapshot()
    assert np.array_equal(ours.model.mean, theirs.model.mean) and np.array_equal(ours.model.std, theirs.model.std)
    assert np.array_equal(ours.failed, theirs.failed) and np.array_equal(ours.pending, theirs.pending)
    assert one.ask() == other.ask()


# -- the model is that of what holds


CHANGES: dict[str, Callable[[Optimizer], Any]] = {
    "amend": lambda opt: opt.amend(4, 2.5),
    "amend to a failure": lambda opt: opt.amend(4, failed=True),
    "amend a failure": lambda opt: opt.amend(0, 1.0),
    "amend to readings": lambda opt: opt.amend(4, [2.0, 3.0]),
    "amend settings": lambda opt: opt.amend(4, params={"x": 12.5}),
    "drop": lambda opt: opt.drop(4),
    "drop a failure": lambda opt: opt.drop(0),
    "drop most": lambda opt: [opt.drop(i) for i in range(1, 8)],
    "drop and restore": lambda opt: (opt.drop(4), opt.restore(4)),
    "abandon": lambda opt: opt.abandon(opt.ask()),
    "abandon and bring back": lambda opt: opt.amend(opt.abandon(opt.ask()), 1.5),
    "drop one that is amended": lambda opt: (opt.drop(4), opt.amend(4, 0.5), opt.restore(4)),
    "annotate": lambda opt: opt.annotate(4, note="a"),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("surrogate", ["gp", "forest"])
def test_after_a_change_model_and_suggestion_are_those_of_a_new_optimizer(change: str, surrogate: str) -> None:
    opt = told(surrogate=surrogate)
    opt.ask()  # the model of before is at hand
    CHANGES[change](opt)
    assert_same(fresh(opt, surrogate=surrogate), opt)
    assert_same(reloaded(opt, surrogate=surrogate), opt)


def test_dropping_and_restoring_leave_the_model_as_it_was() -> None:
    opt, other = told(), told()
    opt.drop(4)
    opt.restore(4)
    assert_same(opt, other)


def test_a_corrected_value_is_as_if_it_had_never_been_wrong() -> None:
    right, wrong = told(5), told(5)
    trial = right.ask()
    assert trial == wrong.ask()
    right.tell(trial, 1.0)
    wrong.tell(trial, 1e6)
    wrong.amend(trial, 1.0)
    assert_same(right, wrong)


def test_hyperparameters_learned_from_a_wrong_value_are_learned_anew() -> None:
    opt = told()
    opt.ask()
    before = opt.state().fit
    opt.amend(4, 1e6)
    opt.ask()
    spoilt = opt.state().fit
    opt.amend(4, value_of(opt.trial(4).params))
    opt.ask()
    assert before is not None and spoilt is not None and opt.state().fit is not None
    assert spoilt.theta != before.theta
    assert np.allclose(opt.state().fit.theta, before.theta, atol=0.2)  # type: ignore[union-attr]


def test_a_trial_keeps_its_place_in_the_order_of_outcomes() -> None:
    opt = told()
    before = [trial.id for trial in opt.observations]
    opt.amend(4, failed=True)
    opt.drop(6)
    assert [trial.id for trial in opt.observations] == [i for i in before if i not in (4, 6)]
    opt.restore(6)
    opt.amend(4, 1.0)
    opt.amend(0, 1.0)
    assert [trial.id for trial in opt.observations] == [0, *before]


# -- what is seen


def test_a_dropped_trial_is_on_record_and_nowhere_else() -> None:
    opt = told()
    best = opt.best_trial
    opt.drop(best, note="contaminated")
    assert opt.best_trial.id != best.id and opt.result().best_trial == opt.best_trial
    assert opt.recommend().trial_id != best.id
    assert best.id not in {row.trial_id for row in opt.credits()}
    assert best.id not in {trial.id for trial in opt.observations}
    assert opt.trial(best.id).dropped and opt.trial(best.id).value == best.value
    assert "7 observations, 0 pending, 1 dropped" in repr(opt)
    assert "Result: 7 trials, 1 failed, 1 dropped" in repr(opt.result())
    assert str(opt.log()[-1]).endswith(f"drop trial {best.id}: dropped yes (contaminated)")


def test_without_a_value_left_there_is_no_best_and_no_model() -> None:
    opt = told(3)
    for trial in opt.observations:
        opt.drop(trial)
    for ask in (opt.recommend, opt.credits, lambda: opt.best_value):
        with pytest.raises(ccgbo.NoObservationsError):
            ask()
    assert opt.result().recommended is None
    assert opt.ask().origin == "design"


def test_a_dropped_point_and_a_dropped_failure_can_be_suggested_again() -> None:
    opt = Optimizer({"k": ["a", "b"]}, seed=0)
    first, second = opt.ask(2)
    opt.tell(first, 1.0)
    opt.tell(second, failed=True)
    with pytest.raises(ccgbo.SpaceExhaustedError):
        opt.ask()
    opt.drop(second)
    assert opt.ask().params == second.params
    opt.drop(first)
    assert opt.ask().params == first.params


def test_an_abandoned_trial_leaves_no_trace_and_its_id_is_not_given_again() -> None:
    opt = Optimizer({"k": ["a", "b"]}, seed=0)
    first, second = opt.ask(2)
    opt.abandon(first.id)
    assert opt.pending == (second,)
    again = opt.ask()
    assert again.params == first.params and again.id == 2
    assert "1 abandoned" in repr(opt)
    with pytest.raises(TellError, match="trial 0 was abandoned: amend brings it back"):
        opt.tell(first, 1.0)
    opt.amend(first, 1.0)
    assert opt.best_trial.id == 0


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (lambda opt: opt.amend(9, 1.0), TellError, "trial 9 is pending .* tell it"),
        (lambda opt: opt.amend(4), TellError, "value must be a number, got None"),
        (lambda opt: opt.amend(4, [1.0, math.nan]), TellError, "a reading, must be a finite number"),
        (lambda opt: opt.amend(4, 1.0, params={"x": "far"}), ParamsError, "trial 4: x must be .* got 'far'"),
        (lambda opt: opt.amend(4, 1.0, note=3), TellError, "note must be a text"),
        (lambda opt: opt.drop(9), TellError, "complete or failed to be dropped, but trial 9 is pending"),
        (lambda opt: opt.restore(4), TellError, "must be dropped to be restored"),
        (lambda opt: opt.abandon(4), TellError, "must be pending to be abandoned"),
        (lambda opt: opt.annotate(4, tags="a"), TellError, "tags must be a list of texts"),
        (lambda opt: opt.drop(99), ccgbo.UnknownTrialError, "no trial is known as 99"),
        (lambda opt: opt.tell(9, 1.0, params={"kind": "z"}), ParamsError, "kind must be one of .* got 'z'"),
        (lambda opt: opt.tell(9, 1.0, params={"no such": 1}), ParamsError, "unknown parameter 'no such'"),
        (lambda opt: opt.tell(9, 1.0, params=3), ParamsError, "params must be a mapping"),
        (lambda opt: opt.tell(9, 1.0, attributes={"f": len}), TellError, "attribute 'f' must be plain data"),
        (lambda opt: opt.enqueue({"x": 1.0}), ParamsError, "must have a value for 'oven'"),
        (lambda opt: opt.enqueue([dict(opt.trial(4).params), {"x": 99.0}]), ParamsError, "point of the space"),
        (lambda opt: opt.ask(fixed={"no such": 1}), ParamsError, "unknown parameter 'no such'"),
        (lambda opt: opt.ask(fixed={"x": 99.0}), ParamsError, "fixed: x must be .* got 99.0"),
        (lambda opt: opt.change_space({"x": (0.0, 1.0)}), ccgbo.SpaceError, "'oven' is missing in the new space"),
    ],
)
def test_what_is_refused_says_why_and_changes_nothing(
    act: Callable[[Optimizer], Any], error: type[Exception], message: str
) -> None:
    opt = told()
    opt.ask()
    before = json.dumps(opt.state_dict())
    with pytest.raises(error, match=message):
        act(opt)
    assert json.dumps(opt.state_dict()) == before


# -- the settings that were really used


def test_a_value_is_told_at_the_settings_that_were_really_used() -> None:
    opt = told()
    asked = opt.ask(fixed={"kind": "a"})
    done = opt.tell(asked, 1.0, params={"oven": 231.5}, note="hot", tags=["x"], attributes={"operator": "kim"})
    assert done.params == {**asked.params, "oven": 231.5}
    assert done.attributes == {"note": "hot", "tags": ["x"], "operator": "kim"}
    assert opt.data.U[-1, 1] == pytest.approx(1.315)
    (entry,) = opt.log()
    assert (entry.action, entry.before, entry.after) == ("tell", {"params": asked.params}, {"params": done.params})
    opt.amend(asked, 2.0)  # the trial as it was asked for still names it
    assert_same(fresh(opt), opt)
    assert_same(reloaded(opt), opt)
    assert reloaded(opt).amend(asked, 3.0).value == 3.0


def test_an_ordinary_tell_is_not_logged() -> None:
    opt = told()
    trial = opt.ask()
    opt.tell(trial, 1.0, params=dict(trial.params), note="as asked")
    assert opt.log() == []


def test_parameters_that_another_choice_makes_inactive_are_left_out() -> None:
    opt = told()
    trial = opt.ask(fixed={"kind": "a"})
    assert "depth" in trial.params
    assert "depth" not in opt.tell(trial, 1.0, params={"kind": "c"}).params
    with pytest.raises(ParamsError, match="'depth' is inactive"):
        opt.amend(trial, params={"depth": 2})


# -- readings


def test_readings_share_their_scatter_and_have_the_noise_of_their_mean() -> None:
    opt = Optimizer({"x": (0.0, 1.0)}, seed=0)
    opt.tell_many(
        [{"x": x} for x in (0.0, 0.2, 0.4, 0.6, 0.8)],
        [[1.0, 3.0], [4.0, 4.0, 4.0, 8.0], 5.0, (6.0, 0.5), [7.0]],
    )
    pooled = (2.0 + 12.0) / (1 + 3)
    assert np.array_equal(opt.data.noise, [pooled / 2, pooled / 4, math.nan, 0.25, math.nan], equal_nan=True)
    assert opt.data.values.tolist() == [2.0, 5.0, 5.0, 6.0, 7.0]
    opt.drop(1)
    assert opt.data.noise[0] == 2.0 / 2


def test_readings_that_are_all_alike_say_nothing_about_noise() -> None:
    opt = Optimizer({"x": (0.0, 1.0)}, seed=0)
    opt.tell({"x": 0.5}, [1.0, 1.0])
    assert math.isnan(opt.data.noise[0])


def test_the_largest_readings_do_no_harm() -> None:
    opt = told()
    for value in (1.7e308, -1.7e308):
        opt.tell(opt.ask(), [value, 0.0])
    assert np.isfinite(opt.data.noise[-1])
    assert math.isfinite(opt.recommend().mean)
    opt.ask()


def test_a_run_with_readings_that_is_cut_equals_one_that_is_not() -> None:
    whole, cut = told(), told()
    rng = np.random.default_rng(0)
    for _ in range(8):
        trial, same = whole.ask(), cut.ask()
        assert trial == same
        readings = (value_of(trial.params) + rng.standard_normal(3)).tolist()
        whole.tell(trial, readings)
        cut.tell(same, readings)
        cut = reloaded(cut)


# -- points of one's own


def test_what_is_enqueued_is_given_out_first_and_in_order() -> None:
    opt = told()
    points = [{"x": 1.0, "oven": 120.0, "kind": "c"}, {"x": 2.0, "oven": 180.0, "kind": "a", "depth": 2}]
    queued = opt.enqueue(points, note="mine")
    assert [trial.origin for trial in queued] == ["enqueued"] * 2 and opt.pending == tuple(queued)
    last = opt.enqueue({"x": 3.0, "oven": 180.0, "kind": "b", "depth": 1})
    copy = reloaded(opt)
    for one in (opt, copy):
        assert one.ask() == queued[0]
        assert one.ask(2, fixed={"kind": "b"})[0] == last
        assert one.ask(2)[0] == queued[1]
    assert opt.trials == copy.trials
    assert [entry.action for entry in opt.log()] == ["enqueue"] * 3
    assert opt.explain(queued[0]).reason == "enqueued"
    assert queued[0].attributes == {"note": "mine"}


def test_what_waits_in_line_counts_as_pending_and_what_is_told_or_abandoned_leaves_it() -> None:
    opt = Optimizer({"x": (0.0, 1.0)}, **FAST)
    queued = opt.enqueue([{"x": 0.1 * i} for i in range(5)])
    opt.tell(queued[0], 1.0)
    opt.abandon(queued[1])
    assert [opt.ask().id for _ in range(3)] == [2, 3, 4]
    assert opt.ask().origin == "design"  # one of the five was given up
    assert opt.ask().origin == "model"


def test_an_ask_that_raises_leaves_the_line_as_it_was() -> None:
    opt = Optimizer({"k": ["a", "b"]}, seed=0)
    queued = opt.enqueue({"k": "b"})
    with pytest.raises(ccgbo.SpaceExhaustedError, match="only 2 of the 3"):
        opt.ask(3)
    assert opt.pending == (queued,) and opt.ask() == queued


def test_a_registered_point_is_pending_and_not_given_out() -> None:
    opt = told()
    trial = opt.register({"x": 1.0, "oven": 120.0, "kind": "c"})
    assert trial.origin == "external" and opt.pending == (trial,)
    assert opt.ask().id == trial.id + 1
    assert opt.tell(trial, 1.0).state == "complete"


# -- asks with fixed values


@pytest.mark.parametrize(
    "fixed", [{"oven": 180}, {"kind": "c"}, {"x": 0.1, "kind": "a", "depth": 3}, {"oven": 123.456}]
)
def test_suggestions_have_exactly_the_values_that_are_fixed(fixed: dict[str, Any]) -> None:
    opt = Optimizer(SPACE, **FAST)
    for i in range(9):
        trial = opt.ask(fixed=fixed if i % 2 else None)
        if i % 2:
            assert {name: trial.params[name] for name in fixed} == fixed
        assert opt.space.outside(trial.params) is None
        opt.tell(trial, value_of(trial.params))
    assert {trial.origin for trial in opt.trials[1::2]} == {"design", "model"}


def test_asks_with_fixed_values_stay_within_constraints_and_learn_from_everything() -> None:
    space = ccgbo.Space(
        {"x": (0.0, 1.0), "y": (0.0, 1.0), "z": (0.0, 1.0)},
        constraints=[LinearConstraint({"x": 1, "y": 1, "z": 1}, upper=1.5), lambda p: p["x"] <= 0.9],
    )
    opt = Optimizer(space, **FAST)
    for i in range(12):
        trial = opt.ask(fixed={"z": 0.75 if i % 2 else 0.25})
        opt.tell(trial, -((trial.params["x"] - 0.5) ** 2) - trial.params["y"])
    assert [trial.params["z"] for trial in opt.trials] == [0.25, 0.75] * 6
    assert all(space.outside(trial.params) is None for trial in opt.trials)
    assert len(opt.data.values) == 12
    best = max((t for t in opt.trials if t.params["z"] == 0.75), key=lambda t: t.value or -9.0)
    assert best.value is not None and best.value > -0.1


def test_a_fixed_ask_resumes_exactly_and_says_when_all_is_used() -> None:
    opt = told()
    copy = reloaded(opt)
    assert opt.ask(3, fixed={"oven": 180}) == copy.ask(3, fixed={"oven": 180})
    small = Optimizer({"k": ["a", "b"], "j": ["c", "d"]}, seed=0)
    small.ask(2, fixed={"k": "a"})
    with pytest.raises(ccgbo.SpaceExhaustedError, match=r"every point of the space with fixed={'k': 'a'} is"):
        small.ask(fixed={"k": "a"})
    assert small.ask().params["k"] == "b"


def slice_loss(params: Mapping[str, Any]) -> float:
    """Worse the larger z is; at z = 1 the least loss is 5, at x = 0.8 and y = 0.4."""
    x, y, z = params["x"], params["y"], params["z"]
    return 10 * (x - 0.2 - 0.6 * z) ** 2 + 10 * (y - 0.7 + 0.3 * z) ** 2 + 5 * z


@pytest.mark.parametrize("acquisition", [None, "logei", "mes", "ucb"])
def test_a_fixed_value_that_is_worse_than_others_is_searched_for_its_own_optimum(acquisition: str | None) -> None:
    """What was found elsewhere is out of reach: measured against it no point would promise an improvement."""
    opt = Optimizer(dict.fromkeys("xyz", (0.0, 1.0)), direction="minimize", acquisition=acquisition, seed=0)
    for i in range(20):
        trial = opt.ask(fixed=None if i < 12 else {"z": 1.0})
        opt.tell(trial, slice_loss(trial.params))
    assert min(t.value for t in opt.trials[12:] if t.value is not None) < 5.05


def test_the_optima_and_the_incumbent_are_those_of_the_space_that_is_searched() -> None:
    opt = Optimizer(dict.fromkeys("xyz", (0.0, 1.0)), direction="minimize", seed=0)
    for _ in range(12):
        trial = opt.ask()
        opt.tell(trial, slice_loss(trial.params))
    whole = opt.snapshot()
    held = replace(whole, space=opt.space.restricted({"z": 1.0}))
    assert OneObjective(whole).incumbent() == whole.model.mean.max()
    assert OneObjective(held).incumbent() < whole.model.mean.max() - 1.0
    U = held.space.sample(64, np.random.default_rng(0))
    assert (OneObjective(held).sample_optima(U, np.random.default_rng(1)).argmax[:, 2] == 1.0).all()


# -- another space


WIDER: dict[str, Any] = {**SPACE, "x": (0.0, 30.0), "oven": (100.0, 140.0)}


def test_after_a_change_of_space_the_suggestion_is_that_of_a_new_optimizer() -> None:
    opt = told()
    opt.ask(2)
    change = opt.change_space(WIDER)
    assert change.describe() == [entry + "." for entry in str(opt.log()[-1]).split("(", 1)[1][:-2].split(". ")]
    assert opt.space == ccgbo.Space(WIDER)
    assert len(opt.data.values) == 8 and opt.outside == {}
    assert opt.data.U[:, 1].max() > 1.0  # narrowed: what lies beyond stays in the model
    assert_same(fresh(opt), opt)
    assert_same(reloaded(opt), opt)


def test_trials_that_have_no_place_in_the_new_space_are_out_of_the_model_with_the_reason() -> None:
    opt = told()
    n = sum(trial.params["kind"] == "c" for trial in opt.observations)
    assert 0 < n < 8
    opt.change_space({**SPACE, "kind": ["a", "b"]})
    assert len(opt.data.values) == len(opt.credits()) == 8 - n
    assert set(opt.outside) >= {trial.id for trial in opt.trials if trial.params["kind"] == "c"}
    assert all(why == "kind must be one of ['a', 'b'], got 'c'." for why in opt.outside.values())
    assert_same(reloaded(opt), opt)
    opt.change_space(SPACE)
    assert len(opt.data.values) == 8 and opt.outside == {}


def test_a_parameter_is_renamed_added_and_removed_and_comes_back() -> None:
    opt = told()
    waiting = opt.ask()
    new = {"x": (0.0, 10.0), "temperature": (100.0, 200.0), "speed": Float(1.0, 5.0, log=True)}
    opt.change_space(new, defaults={"speed": 2.0}, rename={"oven": "temperature"}, marginal=["kind", "depth"])
    assert len(opt.data.values) == 8
    kept = opt.trial(waiting.id)
    assert kept.params == {"x": waiting.params["x"], "temperature": waiting.params["oven"], "speed": 2.0}
    assert kept.attributes["removed"]["kind"] == waiting.params["kind"]
    assert_same(fresh(opt), opt)
    for one in (reloaded(opt), opt):
        assert one.tell(waiting, 1.0).value == 1.0  # whoever evaluates it holds the trial as it was asked for
    opt.change_space(SPACE, rename={"temperature": "oven"}, marginal=["speed"], defaults={"kind": "a", "depth": 1})
    assert opt.trial(4).params == {**told().trial(4).params}
    assert opt.trial(4).attributes == {"removed": {"speed": 2.0}}


def test_the_belief_about_the_optimum_goes_along() -> None:
    prior = {"oven": NormalPrior(150.0, 10.0), "kind": {"a": 0.5, "c": 0.5}, "x": NormalPrior(1.0, 1.0)}
    opt = told(prior=prior)
    opt.change_space(
        {"temperature": (100.0, 200.0), "kind": Categorical(["a", "b"])},
        rename={"oven": "temperature"}, marginal=["x", "depth"],
    )  # fmt: skip
    same = {"temperature": NormalPrior(150.0, 10.0), "kind": {"a": 0.5}}
    assert_same(fresh(opt, prior=same), opt)


def test_an_enqueued_point_that_is_none_any_more_is_given_up_with_the_reason() -> None:
    opt = told()
    gone = opt.enqueue({"x": 1.0, "oven": 190.0, "kind": "c"})
    stays = opt.enqueue({"x": 1.0, "oven": 130.0, "kind": "c"})
    opt.change_space(WIDER)
    assert opt.ask().id == stays.id
    assert opt.trial(gone.id).state == "abandoned"
    assert "no point of the space: oven must be" in str(opt.log()[-1])


# -- the log


def test_the_log_says_who_did_what_and_survives_being_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CCGBO_USER", "kim@bench-3")
    opt = told()
    opt.amend(4, 0.93, note="mistyped")
    opt.drop(5)
    opt.restore(5)
    opt.abandon(opt.ask())
    opt.annotate(6, operator="kim")
    opt.change_space(WIDER)
    assert [entry.action for entry in opt.log()] == ["amend", "drop", "restore", "abandon", "annotate", "change space"]
    assert {entry.who for entry in opt.log()} == {"kim@bench-3"}
    assert reloaded(opt).log() == opt.log()
    opt.log().clear()
    assert len(opt.log()) == 6


def test_a_frame_shows_what_became_of_the_trials_and_is_taken_back() -> None:
    opt = told(4)
    opt.drop(3)
    opt.tell(opt.ask(), [1.0, 2.0], note="two", tags=["x", "y"])
    frame = opt.to_dataframe()
    assert frame["dropped"].tolist() == [False, False, False, True, False]
    assert frame["readings"].tolist() == [None, None, None, None, [1.0, 2.0]]
    assert frame["note"].tolist()[-1] == "two" and frame["tags"].tolist()[-1] == ["x", "y"]
    other = Optimizer(SPACE, **FAST)
    other.tell_many(frame, frame["value"])
    assert [dict(trial.params) for trial in other.trials] == [dict(trial.params) for trial in opt.trials]


def test_a_point_beyond_narrowed_bounds_is_no_longer_recommended_nor_the_incumbent() -> None:
    opt = Optimizer({"x": (0.0, 10.0)}, seed=0)
    for x in (1.0, 3.0, 5.0, 7.0, 9.0):
        opt.tell({"x": x}, x)
    assert opt.recommend().params == {"x": 9.0}
    opt.change_space({"x": (0.0, 6.0)})
    assert opt.recommend().params == {"x": 5.0}
    assert opt.best_params == {"x": 9.0}  # what was seen stays seen
    state = opt.snapshot()
    assert opt.observations[state.model.rows[state.best]].params == {"x": 5.0}
    opt.change_space({"x": (0.0, 0.5)})
    assert opt.recommend().params == {"x": 9.0}  # nothing within: the best of all
