"""A large batch in one ask: rounds of points, drawn from the weighted acquisition and thinned for diversity."""

from __future__ import annotations

import json
import math
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ccgbo import (
    UCB,
    Categorical,
    EngineTuning,
    Float,
    LinearConstraint,
    NormalPrior,
    Optimizer,
    SettingError,
    SpaceExhaustedError,
    Study,
    Trial,
)
from ccgbo.engine.batch import covariance, draw, round_size, thin
from ccgbo.surrogate.forest import Forest

BOX = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
FAST = {"n_candidates": 128, "n_local": 32, "n_starts": 2, "search_steps": 10}
AT_ONCE = {**FAST, "batch_at_once": 16}


def bowl(params: Any) -> float:
    return -((params["x"] - 0.3) ** 2) - (params["y"] - 0.6) ** 2


def with_data(n: int = 12, *, tuning: dict[str, Any] | None = None, space: Any = None, **settings: Any) -> Optimizer:
    opt = Optimizer(BOX if space is None else space, seed=0, n_initial=5, tuning=tuning or AT_ONCE, **settings)
    for _ in range(n):
        trial = opt.ask()
        opt.tell(trial, bowl(trial.params))
    return opt


def points(trials: Any) -> list[tuple[Any, ...]]:
    return [tuple(sorted(trial.params.items())) for trial in trials]


def nearest_pair(trials: Any) -> float:
    """Smallest distance in the larger coordinate between two points."""
    return min(max(abs(a.params[k] - b.params[k]) for k in BOX) for a, b in combinations(trials, 2))


# -- the parts


def test_a_batch_below_the_switch_is_one_by_one_bit_for_bit() -> None:
    one, other = (with_data(tuning={**FAST, "batch_at_once": at}) for at in (17, None))
    assert one.ask(16) == other.ask(16)
    assert one.state_dict() == other.state_dict()


def test_a_batch_at_once_is_a_few_rounds_of_several_points() -> None:
    rounds = Counter(trial.explanation.t for trial in with_data().ask(64))
    assert max(rounds.values()) == 10 and 7 <= len(rounds) <= 9
    assert round_size(256, EngineTuning()) == 20
    assert round_size(EngineTuning().batch_at_once - 1, EngineTuning()) == 1
    assert round_size(10**6, EngineTuning(batch_at_once=None)) == 1


def test_the_rounds_take_turns_as_the_schedule_says() -> None:
    used = Counter(trial.explanation.acquisition for trial in with_data().ask(64))
    assert set(used) == {"LogEI", "JES"} and min(used.values()) >= 20


@pytest.mark.parametrize("value", [1, 0, 2.5, True])
def test_a_switch_that_cannot_be_says_why(value: Any) -> None:
    with pytest.raises(SettingError, match="batch_at_once must be"):
        EngineTuning(batch_at_once=value)


def test_candidates_are_drawn_in_proportion_to_their_quality_and_the_best_always() -> None:
    rng, quality = np.random.default_rng(0), np.array([4.0, 1.0, 2.0, 1.0])
    drawn = np.array([draw(np.log(quality), 2, rng) for _ in range(4000)])
    assert (drawn[:, 0] == 0).all()
    assert np.bincount(drawn[:, 1], minlength=4) / 4000 == pytest.approx([0.0, 0.25, 0.5, 0.25], abs=0.03)
    assert sorted(draw(np.log(quality), 9, rng)) == [0, 1, 2, 3]


def test_thinning_takes_the_best_by_quality_times_the_variance_that_is_left() -> None:
    rng = np.random.default_rng(0)
    A, log_quality, F = rng.normal(size=(30, 12)), rng.normal(size=30), rng.random((30, 2))
    K = A @ A.T / 12 + 0.1 * np.eye(30)
    chosen: list[int] = []
    for _ in range(6):
        S = K[np.ix_(chosen, chosen)]
        left = np.diag(K) - np.einsum("ij,ij->j", K[chosen], np.linalg.solve(S, K[chosen])) if chosen else np.diag(K)
        score = log_quality + np.log(np.maximum(left, 1e-12) / np.diag(K))
        score[chosen] = -np.inf
        chosen.append(int(score.argmax()))
    assert thin(K, log_quality, F, np.zeros(2), 6).tolist() == chosen


def test_thinning_stops_when_nothing_keeps_its_distance() -> None:
    F = np.linspace(0.0, 1.0, 11)[:, None]
    rows = thin(np.eye(11), np.zeros(11), F, np.array([0.25]), 11)
    assert len(rows) == 4 and min(np.diff(np.sort(F[rows, 0]))) > 0.25


def test_without_a_joint_posterior_covariances_fall_with_the_distance() -> None:
    X = np.random.default_rng(0).random((20, 2))
    forest = Forest.from_data(X, X[:, 0])
    F = np.array([[0.5, 0.5], [0.51, 0.5], [0.9, 0.1]])
    K, std = covariance(forest, F), forest.predict(F)[1]
    assert np.sqrt(K.diagonal()) == pytest.approx(std)
    correlation = K / np.outer(std, std)
    assert correlation[0, 1] > 0.9 > 0.2 > correlation[0, 2]
    assert np.linalg.eigvalsh(K).min() > -1e-12


# -- what is promised of any batch


@pytest.mark.parametrize("acquisition", ["default", "ucb", "ei", "logei", "ts", "mes", "jes"])
def test_the_points_are_distinct_and_keep_their_distance(acquisition: str) -> None:
    opt = with_data(**({} if acquisition == "default" else {"acquisition": acquisition}))
    pending = opt.ask(3)
    batch = opt.ask(49)
    assert nearest_pair([*pending, *batch]) > 0.05 / math.sqrt(52)
    assert not set(points(batch)) & set(points(opt.observations))


def test_a_batch_looks_where_the_model_expects_the_optimum_and_elsewhere() -> None:
    batch = with_data(20).ask(64)
    X = np.array([[t.params["x"], t.params["y"]] for t in batch])
    near = np.abs(X - [0.3, 0.6]).max(axis=1) < 0.2
    assert 0.3 < near.mean() < 1.0  # 0.16 of a uniform batch


def test_an_optimizer_that_is_resumed_asks_the_same_batch() -> None:
    opt = with_data()
    opt.ask(20)
    state = json.loads(json.dumps(opt.state_dict()))
    resumed = Optimizer(BOX, seed=99, n_initial=5, tuning=AT_ONCE)
    resumed.load_state_dict(state)
    assert points(resumed.ask(40)) == points(opt.ask(40))
    for one in (opt, resumed):
        for trial in one.pending:
            one.tell(trial, bowl(trial.params))
    assert resumed.ask(40) == opt.ask(40)


def test_a_study_asks_the_batch_that_an_optimizer_asks(tmp_path: Path) -> None:
    opt = with_data()
    with Study(tmp_path / "s.db", BOX, seed=0, n_initial=5, tuning=AT_ONCE) as study:
        for _ in range(12):
            trial = study.ask()
            study.tell(trial, bowl(trial.params))
        assert points(study.ask(36)) == points(opt.ask(36))
    with Study(tmp_path / "s.db") as again:
        assert points(again.ask(25)) == points(opt.ask(25))


def test_every_point_says_why_as_it_would_alone() -> None:
    opt = with_data(acquisition="ucb", credit={"strength": 0.5, "tau": 5.0})
    state = opt.snapshot()
    batch = opt.ask(36)
    for trial in batch[:6]:
        why = trial.explanation
        f = state.space.features(state.space.encode(trial.params)[None])
        mean, std = state.model.in_user_units(*state.model.posterior.predict(f))
        assert why.mean == pytest.approx(float(mean[0])) and why.std == pytest.approx(float(std[0]))
        assert why.reason == "suggested by the model" and why.t == 7
        assert 0.0 < why.weight <= 1.0 and len(why.neighbours) == 5
    assert len({trial.explanation.mean for trial in batch}) == 36


# -- kinds of spaces and of data


def test_mixed_conditional_and_constrained_spaces_give_points_of_the_space() -> None:
    space = {
        "x": (0.0, 1.0),
        "y": (0.0, 1.0),
        "n": (1, 40),
        "kind": ["a", "b", "c"],
        "z": Float(1e-3, 1.0, log=True, active_if={"kind": ["a", "b"]}),
    }
    opt = with_data(space=space, constraint=LinearConstraint({"x": 1.0, "y": 1.0}, upper=1.2))
    batch = opt.ask(49)
    assert len(set(points(batch))) == 49
    assert all(t.params["x"] + t.params["y"] <= 1.2 + 1e-9 for t in batch)
    assert all(("z" in t.params) == (t.params["kind"] != "c") for t in batch)
    assert len({t.params["kind"] for t in batch}) > 1


def test_a_mixture_stays_a_mixture() -> None:
    whole = LinearConstraint({"x": 1.0, "y": 1.0, "z": 1.0}, lower=1.0, upper=1.0)
    opt = with_data(space={**BOX, "z": (0.0, 1.0)}, constraint=whole)
    batch = opt.ask(36)
    assert len(set(points(batch))) == 36
    assert [sum(t.params.values()) for t in batch] == pytest.approx([1.0] * 36)


def test_fixed_values_hold_in_every_point() -> None:
    opt = with_data(space={**BOX, "c": ["a", "b"]})
    batch = opt.ask(36, fixed={"c": "b", "x": 0.25})
    assert {(t.params["c"], t.params["x"]) for t in batch} == {("b", 0.25)}
    assert len({t.params["y"] for t in batch}) == 36


def test_what_was_enqueued_comes_first_and_counts() -> None:
    opt = with_data()
    queued = opt.enqueue([{"x": 0.9, "y": 0.9}, {"x": 0.1, "y": 0.1}])
    batch = opt.ask(25)
    assert [t.id for t in batch[:2]] == [t.id for t in queued]
    assert len(batch) == 25 and len(set(points(batch))) == 25


def test_a_prior_draws_the_batch_and_failures_repel_it() -> None:
    def share(near: tuple[float, float], **settings: Any) -> float:
        opt = Optimizer(BOX, seed=0, n_initial=4, tuning=AT_ONCE, acquisition="ucb", **settings)
        for u in np.random.default_rng(1).random((8, 2)):
            opt.tell({"x": float(u[0]), "y": float(u[1])}, 0.01 * float(u[0]))
        for x in np.linspace(0.7, 1.0, 4):
            for y in np.linspace(0.7, 1.0, 4):
                opt.tell({"x": float(x), "y": float(y)}, failed=True)
        X = np.array([[t.params["x"], t.params["y"]] for t in opt.ask(36)])
        return float((np.abs(X - near).max(axis=1) < 0.15).mean())

    prior = {"x": NormalPrior(0.2, 0.1), "y": NormalPrior(0.8, 0.1)}
    assert share((0.2, 0.8), prior=prior) > 2.0 * share((0.2, 0.8))
    assert share((0.85, 0.85)) < 0.09  # its share of the square


def test_the_whole_rest_of_a_small_grid_is_asked_and_not_one_more() -> None:
    space = {"n": (1, 6), "c": Categorical(["a", "b", "z"]), "x": Float(0.0, 1.0, step=0.5)}
    opt = Optimizer(space, seed=0, n_initial=3, tuning=AT_ONCE)
    for _ in range(4):
        trial = opt.ask()
        opt.tell(trial, float(trial.params["n"]))
    before = opt.state_dict()
    with pytest.raises(SpaceExhaustedError, match="only 50 of the 51 points asked for are free"):
        opt.ask(51)
    assert opt.state_dict() == before
    assert len(set(points([*opt.ask(50), *opt.observations]))) == 54


def test_a_forest_asks_a_batch_that_is_spread() -> None:
    opt = with_data(surrogate="forest")
    batch = opt.ask(25)
    assert nearest_pair(batch) > 0.05 / 5.0
    assert np.ptp([t.params["x"] for t in batch]) > 0.3


class HalfBlind:
    """An acquisition of a user's own that is not finite in half of the space."""

    codomain = "real"
    needs_optima = False

    def __init__(self, blind_below: float) -> None:
        self.blind_below = blind_below

    def bind(self, context: Any) -> Any:  # noqa: ARG002
        return lambda x: np.where(x[:, 0] < self.blind_below, np.nan, -x[:, 1])


def test_points_where_the_acquisition_is_not_finite_are_passed_over() -> None:
    batch = with_data(acquisition=HalfBlind(0.5)).ask(25)
    assert len(set(points(batch))) == 25
    assert min(t.params["x"] for t in batch) >= 0.5


def test_the_gate_of_credit_holds_for_a_batch() -> None:
    """Where the plain choice expects no less than the best observation, credit leaves a batch alone, too."""
    gated = with_data(acquisition=UCB(beta=0.0))  # the posterior mean
    assert gated.settings.credit.credit_when == "base_mean_below_incumbent"
    trials: list[Trial] = gated.ask(16)
    assert {trial.explanation.weight for trial in trials[:4]} == {1.0}


def test_a_model_that_is_sure_of_everything_still_gives_a_diverse_batch() -> None:
    """Variances of the size of rounding errors must not blow up the thinning."""
    opt = Optimizer({"x": (0.0, 1.0)}, seed=0, n_initial=4, tuning={**AT_ONCE, "min_pending_distance": 0.0})
    xs = np.linspace(0.0, 1.0, 60)
    opt.tell_many([{"x": float(x)} for x in xs], [float(x - x**2) for x in xs])
    batch = sorted(t.params["x"] for t in opt.ask(36))
    assert len(set(batch)) == 36
    state = opt.snapshot()
    F = np.repeat(np.linspace(0.4, 0.6, 40), 2)[:, None]  # every point twice
    with np.errstate(all="raise"):
        rows = thin(covariance(state.model.posterior, F), np.zeros(80), F, np.zeros(1), 40)
    assert len(np.unique(F[rows])) == 40
