"""Several objectives and outcome constraints: what is told, what is sought, what is refused."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import ccgbo
from ccgbo import AtLeast, AtMost, Between, Optimizer, SettingError, TellError
from ccgbo.engine.model import ExactGP
from ccgbo.engine.proposal import aim_of
from ccgbo.surrogate.gp.priors import BOUNDED_NOISE, NOISE

BOX = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
FAST: Any = {"n_initial": 5, "tuning": {"n_candidates": 64, "n_local": 32, "n_starts": 2, "search_steps": 10}}
TWO: Any = {"objectives": {"a": "maximize", "b": "minimize"}}
BOUND: Any = {"objective": "f", "direction": "minimize", "outcome_constraints": {"c": AtLeast(0.75)}}


def two(p: dict[str, Any]) -> dict[str, float]:
    return {"a": p["x"] - p["y"] ** 2, "b": (p["x"] - 0.2) ** 2 + (p["y"] - 0.4) ** 2}


def bounded(p: dict[str, Any]) -> dict[str, float]:
    """Least f where x + y >= 0.75: 0.75 on the edge."""
    return {"f": p["x"] + p["y"], "c": p["x"] + p["y"]}


def played(f: Any, n: int, **options: Any) -> Optimizer:
    opt = Optimizer(BOX, seed=0, **{**FAST, **options})
    for _ in range(n):
        trial = opt.ask()
        opt.tell(trial, f(trial.params))
    return opt


# -- what is told


def test_a_metric_may_be_missing_or_nan_and_the_others_count() -> None:
    opt = Optimizer(BOX, **TWO)
    first = opt.tell({"x": 0.1, "y": 0.2}, {"a": 1.0, "b": math.nan})
    second = opt.tell({"x": 0.3, "y": 0.2}, {"b": 2.0})
    assert (first.state, first.values, second.values) == ("complete", {"a": 1.0}, {"b": 2.0})
    assert len(opt.data.values) == 1
    assert opt.tell({"x": 0.5, "y": 0.2}, {"a": None, "b": math.inf}).state == "failed"


def test_each_metric_takes_readings_standard_errors_and_known_noise() -> None:
    opt = Optimizer(BOX, **TWO)
    trial = opt.tell({"x": 0.1, "y": 0.2}, {"a": [1.0, 3.0], "b": (0.5, 0.1)})
    assert trial.metrics["a"].readings == (1.0, 3.0)
    assert trial.metrics["b"].noise_variance == pytest.approx(0.01)
    other = opt.tell({"x": 0.2, "y": 0.2}, {"a": 1.0, "b": 2.0}, noise_variance={"b": 0.3})
    assert (other.metrics["a"].noise_variance, other.metrics["b"].noise_variance) == (None, 0.3)


def test_with_one_objective_a_number_is_its_value() -> None:
    opt = Optimizer(BOX, **BOUND)
    trial = opt.tell({"x": 0.1, "y": 0.2}, 3.0)
    assert (trial.value, trial.values) == (3.0, {"f": 3.0})


def test_a_name_that_was_mistyped_is_guessed() -> None:
    opt = Optimizer(BOX, objectives={"yield": "maximize", "cost": "minimize"})
    with pytest.raises(TellError, match="there is no metric 'yeild': did you mean 'yield'"):
        opt.tell({"x": 0.1, "y": 0.2}, {"yeild": 1.0})


def test_an_amended_metric_leaves_the_others_as_they_were() -> None:
    opt = Optimizer(BOX, **TWO)
    trial = opt.tell({"x": 0.1, "y": 0.2}, {"a": 1.0, "b": 2.0})
    assert opt.amend(trial, {"b": 5.0}).values == {"a": 1.0, "b": 5.0}
    assert opt.amend(trial, {"a": None}).values == {"b": 5.0}
    assert [entry.action for entry in opt.log()] == ["amend", "amend"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"aaa": 1.0, "b": 1.0}, r"there is no metric 'aaa'. There are 'a', 'b'. .* goes into attributes="),
        (1.0, r"value must be a mapping of the metrics \['a', 'b'\], got 1.0"),
        ({"a": "1"}, "a must be a number, got '1'"),
        ({"a": [1.0, math.nan]}, r"a\[1\], a reading, must be a finite number"),
        ({}, None),
    ],
)
def test_what_cannot_be_told_is_refused_by_name_and_changes_nothing(value: Any, message: str | None) -> None:
    opt = Optimizer(BOX, **TWO)
    trial = opt.ask()
    if message is None:
        assert opt.tell(trial, value).state == "failed"
        return
    with pytest.raises(TellError, match=message):
        opt.tell(trial, value)
    assert opt.trial(trial.id).state == "pending"


# -- what is asked for


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objectives": {}}, "objectives must be a mapping of 1 to 5 names"),
        ({"objectives": {"a": "up"}}, r"objectives\['a'\] must be one of"),
        ({"objectives": {"a": "maximize"}, "direction": "minimize"}, "direction must be left out"),
        ({"objectives": {"a": "maximize"}, "objective": "a"}, "objective must be left out"),
        ({"objectives": {"a=b": "maximize"}}, "a name in objectives must be a text without '='"),
        (
            {"outcome_constraints": {"c": 0.5}},
            r"outcome_constraints\['c'\] must be AtMost, AtLeast or Between, got 0.5",
        ),
        ({**TWO, "acquisition": "logei"}, "acquisition must be 'ehvi', 'scalarized'"),
        ({"acquisition": "ehvi"}, "acquisition must be one for a single objective"),
        ({**TWO, "noise": 0.1}, "noise must be 'unknown' or 'none' where several things are measured"),
        ({**BOUND, "credit": {"field": "smooth"}}, "field must be 'knn' or 'knn-scaled' for named metrics"),
    ],
)
def test_metrics_that_cannot_be_meant_are_refused(options: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Optimizer(BOX, **options)


@pytest.mark.parametrize(
    "make", [lambda: AtMost(math.inf), lambda: AtLeast(-math.inf), lambda: Between(2.0, 1.0), lambda: AtMost(math.nan)]
)
def test_bounds_that_bound_nothing_or_contradict_each_other_are_refused(make: Any) -> None:
    with pytest.raises(SettingError):
        make()


def test_bounds_print_as_they_are_written() -> None:
    assert [repr(AtMost(0.5)), repr(AtLeast(1)), repr(Between(1, 2))] == [
        "AtMost(0.5)",
        "AtLeast(1.0)",
        "Between(1.0, 2.0)",
    ]
    assert str(AtMost(0.5)) == "<= 0.5"


# -- what is found


def test_the_best_feasible_point_is_found_on_the_edge_of_what_is_allowed() -> None:
    opt = played(bounded, 22, **BOUND)
    assert 0.75 <= opt.best_value < 0.76
    found = opt.recommend()
    assert isinstance(found, ccgbo.Recommendation)
    assert found.mean == pytest.approx(0.75, abs=0.02) and found.feasibility is not None and found.feasibility > 0.1


def test_while_nothing_is_feasible_feasibility_is_searched_for() -> None:
    def narrow(p: dict[str, Any]) -> dict[str, float]:
        return {"f": p["x"], "c": math.hypot(p["x"] - 0.83, p["y"] - 0.17)}

    opt = played(narrow, 18, objective="f", outcome_constraints={"c": AtMost(0.05)})
    kinds = [t.explanation.acquisition for t in opt.trials if t.explanation and t.explanation.acquisition]
    assert kinds[0] == "Feasibility"
    assert opt.best_trial.values["c"] <= 0.05


class Counting:
    """The default's model, which keeps of each fit the largest value it was made of."""

    def __init__(self) -> None:
        self.fitted: list[float] = []

    def build(self, data: Any, *args: Any, **kwargs: Any) -> Any:
        self.fitted.append(float(data.values.max()))
        return ExactGP().build(data, *args, **kwargs)


@pytest.mark.parametrize("failed", [False, True])
def test_while_nothing_is_feasible_objectives_are_not_fitted(failed: bool) -> None:
    fits, bound = Counting(), {"c": AtMost(0.2)}
    opt = Optimizer(BOX, objectives={"a": "maximize", "b": "maximize"}, outcome_constraints=bound, seed=0,
                    surrogate=fits, **{**FAST, "n_initial": 3})  # fmt: skip
    for x, c in ((0.1, 0.9), (0.4, 0.6), (0.9, 0.3)):
        opt.tell({"x": x, "y": x}, {"a": 100.0 + x, "b": 200.0 + x, "c": c})
    if failed:
        opt.tell({"x": 0.6, "y": 0.1}, failed=True)
    opt.ask()
    assert fits.fitted == [0.9]
    opt.tell({"x": 1.0, "y": 1.0}, {"a": 101.0, "b": 201.0, "c": 0.1})
    opt.ask()
    assert sorted(fits.fitted[1:]) == [0.9, 101.0, 201.0]


def test_the_front_of_two_objectives_is_covered() -> None:
    opt = played(two, 25, **TWO)
    front = opt.pareto_front()
    values = [t.values for t in front]
    assert len(front) >= 8
    assert not any(
        o["a"] >= v["a"] and o["b"] <= v["b"] and o != v for v in values for o in [t.values for t in opt.trials]
    )
    random = Optimizer(BOX, seed=1, n_initial=25, **TWO)
    for _ in range(25):
        trial = random.ask()
        random.tell(trial, two(trial.params))
    r = {"a": -1.0, "b": 1.0}
    assert float(opt.hypervolume(r)) > 1.03 * float(random.hypervolume(r))


def trade(x: float) -> dict[str, float]:
    return {"a": x**2, "b": (1.0 - x) ** 2}


def middle_of_a_front() -> Optimizer:
    """Trials that know a third of a front, whose ends are at x = 0 and x = 1."""
    opt = Optimizer(BOX, objectives={"a": "maximize", "b": "maximize"}, seed=0, **FAST)
    for x in (0.35, 0.45, 0.5, 0.55, 0.65):
        opt.tell({"x": x, "y": 0.5 + (x - 0.5) ** 2}, trade(x))
    return opt


def test_improvements_are_measured_from_beyond_the_ends_that_the_model_expects(rng: np.random.Generator) -> None:
    state = middle_of_a_front().snapshot()
    assert state.goals is not None
    posteriors = {name: state.models[name].posterior for name in ("a", "b")}
    x = np.linspace(0.0, 1.0, 21)
    points = np.stack([x, np.full(21, 0.5)], axis=1)
    near, far = (state.goals.front(posteriors, state.pending, F, rng) for F in (points[:0], points))
    known = state.goals.levels()
    extent = np.ptp(known, axis=0)
    np.testing.assert_allclose(near.reference, known.min(axis=0) - 0.1 * extent)
    assert (far.reference < known.min(axis=0) - 0.3 * extent).all()
    assert all(np.array_equal(one, other) for one, other in zip(near.draws, far.draws, strict=True))


def test_ends_that_cannot_be_feasible_are_not_expected() -> None:
    opt = Optimizer(BOX, objectives={"a": "maximize", "b": "maximize"}, outcome_constraints={"c": AtMost(0.7)},
                    seed=0, noise="none", **FAST)  # fmt: skip
    for x in np.linspace(0.0, 1.0, 9):
        opt.tell({"x": x, "y": 0.5}, {**trade(x), "c": x})
    state = opt.snapshot()
    assert state.goals is not None
    posteriors = {name: state.models[name].posterior for name in ("a", "b", "c")}
    x = np.array([0.1, 0.6, 0.75, 0.9])
    found = state.goals.expected(posteriors, np.stack([x, np.full(4, 0.5)], axis=1))
    known = state.models["a"].outcome.inverse(found[:, 0])
    assert known == pytest.approx(x[:2] ** 2, abs=0.02)


def test_candidates_lie_around_every_point_of_a_front(rng: np.random.Generator) -> None:
    state = middle_of_a_front().snapshot()
    U = aim_of(state).nearby(None, rng)
    for x in (0.35, 0.45, 0.5, 0.55, 0.65):
        assert ((U[:, 0] == x) & (U[:, 1] != 0.5 + (x - 0.5) ** 2)).any()


def test_recommendations_span_the_front_or_meet_an_aspiration() -> None:
    opt = played(two, 20, **TWO)
    several = opt.recommend()
    assert isinstance(several, tuple) and 2 <= len(several) <= 5
    ids = {t.id for t in opt.pareto_front(by="model")} | {t.id for t in opt.pareto_front()}
    assert {r.trial_id for r in several} <= ids
    front = [t.values for t in opt.pareto_front()]
    ends = max(v["a"] for v in front), min(v["b"] for v in front)
    assert (several[0].mean, several[-1].metrics["b"][0]) == pytest.approx(ends, abs=0.02)  # both ends are shown
    one = opt.recommend({"a": 1.0, "b": 0.5})
    other = opt.recommend({"a": 0.0, "b": 0.0})
    assert isinstance(one, ccgbo.Recommendation) and isinstance(other, ccgbo.Recommendation)
    assert one.metrics["a"][0] > other.metrics["a"][0]
    with pytest.raises(SettingError, match=r"aspiration must be a mapping with the objectives \['a', 'b'\]"):
        opt.recommend({"a": 1.0})


def test_several_objectives_have_no_best_trial() -> None:
    with pytest.raises(ccgbo.UnsupportedError, match="pareto_front"):
        _ = played(two, 6, **TWO).best_trial


def test_no_feasible_trial_is_said() -> None:
    opt = played(lambda p: {"f": p["x"], "c": -1.0}, 8, **BOUND)
    with pytest.raises(ccgbo.NoObservationsError, match="outcome constraint"):
        _ = opt.best_trial
    assert isinstance(opt.recommend(), ccgbo.Recommendation)


def test_a_choice_says_what_is_expected_of_each_metric_and_which_decided() -> None:
    opt = played(bounded, 12, **BOUND)
    why = opt.explain(opt.trials[-1])
    assert set(why.metrics) == {"f", "c"} and why.feasibility is not None and why.decided_by in ("f", "c")
    assert "outcome constraint" in str(why)
    rows = opt.credits()
    assert len(rows) == 12
    assert {row.feasibility for row in rows} != {None}
    best = opt.best_trial.id
    assert next(row.credit for row in rows if row.trial_id == best) > 0.8


# -- the same as ever


@pytest.mark.parametrize(("f", "options"), [(two, TWO), (bounded, BOUND)], ids=["front", "feasible"])
def test_a_resumed_run_goes_on_bit_for_bit(f: Any, options: Any) -> None:
    whole, cut = played(f, 14, **options), played(f, 9, **options)
    cut.ask()
    resumed = Optimizer(BOX, seed=99, **{**FAST, **options})
    resumed.load_state_dict(json.loads(json.dumps(cut.state_dict())))
    resumed.tell(resumed.pending[0], f(resumed.pending[0].params))
    for _ in range(4):
        trial = resumed.ask()
        resumed.tell(trial, f(trial.params))
    assert [t.params for t in resumed.trials] == [t.params for t in whole.trials]


def test_looking_changes_nothing() -> None:
    one, other = played(two, 9, **TWO), played(two, 9, **TWO)
    one.recommend(), one.credits(), one.pareto_front(by="model"), one.diagnose("b"), repr(one.result())
    assert one.ask().params == other.ask().params


def test_points_of_a_batch_differ() -> None:
    opt = played(two, 8, **TWO)
    points = np.array([[t.params["x"], t.params["y"]] for t in opt.ask(4)])
    assert np.abs(points[:, None] - points[None])[~np.eye(4, dtype=bool)].max(axis=1).min() > 1e-3


def test_a_metric_that_appears_after_many_trials_is_taken_in() -> None:
    opt = Optimizer(BOX, seed=0, **{**FAST, **BOUND})
    rng = np.random.default_rng(0)
    for i in range(30):
        p = {"x": float(rng.random()), "y": float(rng.random())}
        opt.tell(p, bounded(p) if i >= 20 else {"f": bounded(p)["f"]})
    trial = opt.ask()
    assert trial.explanation is not None and trial.explanation.feasibility is not None


@pytest.mark.parametrize("size", [1e300, 1e-300])
@pytest.mark.parametrize("options", [TWO, BOUND], ids=["front", "feasible"])
def test_metrics_of_any_size_are_modelled(size: float, options: Any) -> None:
    f = two if options is TWO else bounded
    opt = played(lambda p: {k: size * v for k, v in f(p).items()}, 9, **options)
    assert opt.ask().explanation is not None
    opt.credits(), opt.recommend()


def test_a_constant_metric_is_no_obstacle() -> None:
    assert played(lambda p: {"a": 1.0, "b": p["x"]}, 9, **TWO).pareto_front()
    assert played(lambda p: {"f": p["x"], "c": 1.0}, 9, **BOUND).best_value < 0.1


def test_mixed_and_conditional_spaces_with_failures_take_metrics() -> None:
    space = {
        "kind": ["a", "b"],
        "n": (1, 9),
        "x": ccgbo.Float(0.0, 1.0, active_if={"kind": "a"}),
    }
    opt = Optimizer(space, seed=0, **{**FAST, **TWO}, outcome_constraints={"c": AtMost(6.0)})
    for i in range(14):
        trial = opt.ask()
        p = trial.params
        if i % 5 == 4:
            opt.tell(trial, failed=True)
        else:
            opt.tell(trial, {"a": p.get("x", 0.3), "b": float(p["n"]), "c": float(p["n"])})
    assert len(opt.pareto_front()) >= 1


def test_one_named_objective_without_constraints_is_suggested_for_as_one_without_a_name() -> None:
    def f(p: dict[str, Any]) -> float:
        return -((p["x"] - 0.3) ** 2) - p["y"]

    named, plain = played(lambda p: {"f": f(p)}, 12, objective="f"), played(f, 12)
    assert [t.params for t in named.trials] == [t.params for t in plain.trials]
    assert named.expected_gain() == plain.expected_gain()


def test_each_metric_has_a_diagnosis_of_its_own() -> None:
    opt = played(bounded, 10, **BOUND)
    first, second = opt.diagnose(), opt.diagnose("c")
    assert [row.value for row in second.left_out] == [t.values["c"] for t in opt.trials]
    assert first.gains == second.gains and [gain.n for gain in first.gains] == [10, 25]
    with pytest.raises(SettingError, match=r"metric must be one that was measured, \['f', 'c'\], got 'd'"):
        opt.diagnose("d")


@pytest.mark.parametrize("options", [TWO, BOUND], ids=["front", "feasible"])
def test_credit_is_off_unless_it_is_asked_for_and_acts_as_it_is_asked_for(options: Any) -> None:
    assert Optimizer(BOX, **options).settings.credit.strength == 0.0
    assert Optimizer(BOX, **options, credit=True).settings.credit.strength == 0.5
    asked = Optimizer(BOX, **options, credit={"strength": 0.9, "tau": 7.0}).settings.credit
    assert (asked.strength, asked.tau) == (0.9, 7.0)
    opt = played(two if options is TWO else bounded, 9, **options, credit=True)
    assert any(t.explanation and t.explanation.neighbours for t in opt.trials)


def test_what_is_of_one_objective_only_says_so() -> None:
    opt = played(two, 7, **TWO)
    with pytest.raises(ccgbo.UnsupportedError, match="influence is for one objective"):
        opt.influence()


# -- noise


def test_one_objective_under_constraints_may_be_all_but_exact_unless_the_fit_is_given() -> None:
    def prior(**options: Any) -> Any:
        return Optimizer(BOX, **options).settings.fit.noise_prior

    assert prior(**BOUND) == BOUNDED_NOISE
    assert prior() == prior(**TWO) == prior(**TWO, outcome_constraints={"c": AtMost(1.0)}) == NOISE
    assert prior(**BOUND, fit={"relevance": 0.1}) == NOISE


def test_the_noise_prior_follows_when_constraints_come_and_go() -> None:
    opt = played(bounded, 6, **BOUND)
    opt.change_metrics(outcome_constraints={})
    assert opt.settings.fit.noise_prior == NOISE


def test_a_forest_takes_several_objectives_without_a_word_about_the_acquisition() -> None:
    opt = played(two, 8, **TWO, surrogate="forest")
    assert opt.settings.acquisition == ccgbo.acquisition.EHVI()
    plain = Optimizer(BOX, surrogate="forest")
    plain.change_metrics(**TWO)
    assert plain.settings.acquisition == opt.settings.acquisition
