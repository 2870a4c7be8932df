"""Which observations the model is made of beyond ``max_points``, and that it stays one model whatever happens."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ccgbo import Categorical, Float, Int, Optimizer
from ccgbo.engine.fit_state import FitState
from ccgbo.engine.history import Data
from ccgbo.engine.model import ExactGP, build_model
from ccgbo.engine.rows import FOCUS, NearOptimum, around_best, best_first, n_kept, thinned, without_copies
from ccgbo.engine.settings import Settings, resolve
from ccgbo.surrogate.gp.posterior import GP
from ccgbo.tuning import EngineTuning

TUNING = {"max_points": 200, "kept_points": 120, "n_candidates": 64, "n_local": 16, "n_starts": 2, "search_steps": 8}
BOX = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
PEAK = np.array([0.3, 0.6])


def settings(**tuning: Any) -> Settings:
    return resolve("default", 2, tuning=TUNING | tuning)


def bowl(n: int, seed: int = 0, *, noise: float = 0.01) -> Data:
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    y = -((X - PEAK) ** 2).sum(axis=1) + noise * rng.standard_normal(n)
    return Data(X, X, y, np.full(n, np.nan))


def optimizer(data: Data, **options: Any) -> Optimizer:
    opt = Optimizer(BOX, seed=0, **{"tuning": TUNING} | options)
    opt.tell_many([{"x": a, "y": b} for a, b in data.U], data.values)
    return opt


def resumed(opt: Optimizer) -> Optimizer:
    new = Optimizer(opt.space, seed=9, preset=opt.settings)
    new.load_state_dict(json.loads(json.dumps(opt.state_dict())))
    return new


def same(one: Optimizer, other: Optimizer) -> bool:
    a, b = one.snapshot().model, other.snapshot().model
    return (
        a.fit == b.fit
        and np.array_equal(a.rows, b.rows)
        and a.mean.tobytes() == b.mean.tobytes()
        and a.std.tobytes() == b.std.tobytes()
    )


# -- the order


@pytest.mark.parametrize(("n", "m"), [(50_000, 1000), (3001, 1000), (1001, 1000), (10, 3), (5, 1), (5, 0)])
def test_a_thinned_order_has_m_distinct_rows_the_first_without_a_gap(n: int, m: int) -> None:
    order = np.random.default_rng(0).permutation(n)
    kept = thinned(order, m)
    assert len(kept) == len(set(kept.tolist())) == m
    ranks = np.argsort(order)[kept]
    assert ranks[:1].tolist() == [0][:m] and (np.diff(ranks) >= 1).all()
    assert n < 100 or ranks[-1] > n / 2


def test_the_share_of_rows_that_a_thinned_order_keeps_falls_with_a_power_of_the_rank() -> None:
    ranks = thinned(np.arange(50_000), 1000)
    shares = [((ranks >= low) & (ranks < 1.5 * low)).sum() / low for low in (2000, 8000, 32_000)]
    assert shares[0] / shares[1] == pytest.approx(4.0**FOCUS, rel=0.05)
    assert shares[1] / shares[2] == pytest.approx(4.0**FOCUS, rel=0.05)


def test_an_order_that_is_no_longer_than_asked_for_is_kept_whole() -> None:
    assert thinned(np.array([2, 0, 1]), 3).tolist() == [2, 0, 1]


def test_rows_beyond_the_bounds_come_last_however_good() -> None:
    U = np.array([[0.5], [1.5], [0.2]])
    assert best_first(Data(U, U, np.array([1.0, 9.0, 2.0]), np.full(3, np.nan))).tolist() == [2, 0, 1]


def test_around_the_best_are_the_best_the_latest_and_rows_near_them_and_far_from_them() -> None:
    data = bowl(2000)
    rows = around_best(data, 100)
    order = best_first(data)
    assert len(set(rows.tolist())) == 100
    assert set(order[:5]) <= set(rows) and set(range(1990, 2000)) <= set(rows)
    assert set(order[-500:]) & set(rows)


# -- rows at one place


def test_of_a_heap_at_one_place_rows_with_the_mean_of_all_are_candidates() -> None:
    data = bowl(1500)
    heap = np.random.default_rng(1).permutation(1500)[:900]
    data.U[heap] = PEAK
    data.values[heap] = np.random.default_rng(2).standard_normal(900)
    rows = without_copies(data, 100)
    of_heap = np.intersect1d(rows, heap)
    assert len(of_heap) == 4 and len(rows) == 604
    assert data.values[of_heap].mean() == pytest.approx(data.values[heap].mean(), abs=0.1)


def test_of_few_places_as_many_rows_as_fit_are_candidates() -> None:
    U = np.repeat(np.linspace(0.0, 1.0, 20)[:, None], 50, axis=0)
    data = Data(U, U, np.arange(1000.0), np.full(1000, np.nan))
    assert len(without_copies(data, 400)) == 20 * 16
    assert len(np.unique(U[without_copies(data, 400)])) == 20


def test_a_log_of_one_place_and_one_value_is_modelled() -> None:
    U = np.full((500, 2), 0.5)
    model = build_model(Data(U, U, np.full(500, 3.0), np.full(500, np.nan)), (), settings())
    assert len(model.rows) <= 120 and np.isfinite(model.mean).all()
    assert model.in_user_units(model.mean, model.std)[0] == pytest.approx(np.full(len(model.rows), 3.0))


# -- the model


def test_up_to_max_points_all_rows_are_in_the_model_whatever_the_rule() -> None:
    class Never(NearOptimum):
        def to_fit(self, *_: Any) -> Any:
            raise AssertionError("nothing is to be chosen")

    data = bowl(200)
    one, other = (ExactGP(rows=rule).build(data, (), settings()) for rule in (NearOptimum(), Never()))
    assert one.rows.tolist() == other.rows.tolist() == list(range(200))
    assert one.mean.tobytes() == other.mean.tobytes()


def test_beyond_it_the_model_has_the_best_the_latest_and_mostly_rows_near_the_optimum() -> None:
    data = bowl(3000)
    rows = build_model(data, (), settings()).rows
    assert len(rows) == 120 and (np.diff(rows) > 0).all()
    assert set(best_first(data)[:6]) <= set(rows) and set(range(2988, 3000)) <= set(rows)
    distance = np.hypot(*(data.U - PEAK).T)
    assert np.median(distance[rows]) < 0.6 * np.median(distance)
    assert distance[rows].max() > 0.8 * distance.max()  # and some of the rest of the space


def test_the_rows_near_the_optimum_are_not_the_lucky_ones() -> None:
    data = bowl(4000, noise=0.3)
    luck = data.values + ((data.U - PEAK) ** 2).sum(axis=1)
    lucky = luck[best_first(data)[:120]].mean()
    assert lucky > 0.5
    assert abs(luck[build_model(data, (), settings()).rows].mean()) < 0.25 * lucky


def test_the_model_of_some_rows_knows_a_narrow_optimum_better_than_that_of_a_random_subset() -> None:
    ours, theirs = [], []
    for seed in range(5):
        data = bowl(3000, seed)
        data.values[:] = np.exp(-50.0 * ((data.U - PEAK) ** 2).sum(axis=1)) + 0.1 * np.sin(9.0 * data.U).sum(axis=1)
        peak = 1.0 + 0.1 * float(np.sin(9.0 * PEAK).sum())
        subset = data[np.random.default_rng(seed).permutation(3000)[:120]]
        for found, told in ((ours, data), (theirs, subset)):
            made = build_model(told, (), settings())
            mean, std = made.posterior.predict(PEAK[None, :])
            found.append(abs(float(made.in_user_units(mean, std)[0][0]) - peak))
    assert np.mean(ours) < 0.5 * np.mean(theirs)


def test_kept_points_is_never_more_than_max_points() -> None:
    assert n_kept(EngineTuning(max_points=50, kept_points=100)) == 50
    assert len(build_model(bowl(300), (), settings(max_points=50)).rows) == 50


@pytest.mark.parametrize("size", [2, 3, 4, 11])
def test_a_model_of_very_few_rows_can_be_made(size: int) -> None:
    assert len(build_model(bowl(30), (), settings(max_points=size)).rows) == size


def test_values_without_measure_and_noise_that_is_known_are_taken() -> None:
    data = bowl(600)
    data.values[::50] = [1e300, -1e300] * 6
    data.noise[::3] = 0.01
    data.noise[1::3] = 100.0
    model = build_model(data, (), settings())
    assert np.isfinite(model.mean).all() and np.isfinite(model.std).all()
    assert isinstance(model.posterior, GP) and model.own_noise is not None
    unsure = model.own_noise[(model.rows % 3 == 1) & (model.rows % 50 != 0)]
    assert len(unsure) and unsure.min() > 100.0


def mixed(n: int) -> tuple[Optimizer, list[dict[str, Any]], list[float]]:
    space = {"c": Categorical(["a", "b", "z"]), "x": Float(0.0, 1.0), "k": Int(1, 5, active_if={"c": ["a"]})}
    opt = Optimizer(space, seed=0, tuning=TUNING)
    rng = np.random.default_rng(0)
    points = [opt.space.decode(u) for u in opt.space.sample(n, rng)]
    return opt, points, [p["x"] + (p["c"] == "b") - 0.1 * p.get("k", 0) for p in points]


def test_choices_and_conditional_parameters_are_kept_by_their_distance_too() -> None:
    opt, points, values = mixed(700)
    opt.tell_many(points, values)
    trial = opt.ask()
    assert trial.origin == "model" and trial.params["c"] == "b"
    kept = [points[row]["c"] for row in opt.snapshot().model.rows]
    assert kept.count("b") > 60 and {"a", "z"} <= set(kept)


def test_a_forest_takes_the_rows_around_the_best() -> None:
    data = bowl(500)
    model = build_model(data, (), resolve("default", 2, surrogate="forest", tuning=TUNING))
    assert model.rows.tolist() == around_best(data, 200).tolist()


# -- one model whatever happens


def test_a_run_that_was_cut_equals_one_that_was_not() -> None:
    one = optimizer(bowl(400))
    other = resumed(one)
    for i in range(8):  # across appended rows and a refit
        a, b = one.ask(), other.ask()
        assert a.params == b.params
        one.tell(a, -(math.hypot(*(np.array(list(a.params.values())) - PEAK)) ** 2))
        other.tell(b, -(math.hypot(*(np.array(list(b.params.values())) - PEAK)) ** 2))
        assert same(one, other)
        if i % 3 == 2:
            other = resumed(other)


def test_later_rows_are_appended_to_those_that_were_kept_and_time_is_bounded() -> None:
    data, s = bowl(400, noise=0.05), settings(refit_growth=0.05)
    first = build_model(data[:300], (), s)
    later = build_model(data[:309], (), s, first, first.fit)
    assert later.fit == first.fit
    assert later.rows.tolist() == [*first.rows, *range(300, 309)]
    assert build_model(data[:310], (), s, first, first.fit).fit.n == 310  # 0.05 of max_points, not of all rows


def test_far_too_many_rows_to_append_are_chosen_from_with_the_same_hyperparameters() -> None:
    data, s = bowl(3000), settings(refit_growth=math.inf)
    first = build_model(data[:150], (), s)
    later = build_model(data, (), s, first, first.fit)
    assert later.fit.theta == first.fit.theta and later.fit.n == 3000 and len(later.rows) == 120


def test_a_model_with_given_hyperparameters_has_the_same_rows_with_and_without_the_last_model() -> None:
    data = bowl(500)
    made = build_model(data, (), settings())
    again = build_model(data, (), settings(), None, FitState(made.fit.theta, 500), refit=False)
    assert again.rows.tolist() == made.rows.tolist() and again.mean.tobytes() == made.mean.tobytes()


@pytest.mark.parametrize(
    "change",
    [
        lambda opt: opt.amend(int(opt.snapshot().model.rows[50]), value=-0.5),
        lambda opt: opt.drop(int(opt.snapshot().model.rows[50])),
        lambda opt: opt.drop(0),
    ],
    ids=["amended", "dropped", "dropped one of the first"],
)
def test_a_changed_row_asks_for_a_refit_and_the_model_is_that_of_the_data(change: Callable[[Optimizer], Any]) -> None:
    opt = optimizer(bowl(400))
    opt.ask()
    before = opt.snapshot().model.fit
    change(opt)
    assert opt.snapshot().model.fit != before
    assert same(opt, resumed(opt))


def test_every_question_is_answered_for_the_rows_that_are_kept() -> None:
    data = bowl(600, noise=0.0)
    opt = optimizer(data)
    opt.tell(opt.ask(), -0.001)
    rows = opt.snapshot().model.rows
    ids = {opt.observations[row].id for row in rows}
    assert {row.trial_id for row in opt.credits()} == ids
    assert opt.recommend().trial_id in ids
    assert {row.trial_id for row in opt.influence(top=2, refit=True, n_paths=4)} == ids
    assert {row.trial_id for row in opt.diagnose().left_out} == ids
    assert opt.influence_on({"x": 0.3, "y": 0.6}).supports


def test_the_best_row_can_be_recommended_wherever_it_stands_in_the_log() -> None:
    for place in (0, 137, 599):
        data = bowl(600, noise=0.0)
        data.U[place] = PEAK
        data.values[place] = 0.0
        recommended = optimizer(data).recommend()
        assert math.hypot(recommended.params["x"] - 0.3, recommended.params["y"] - 0.6) < 0.03
        assert place in optimizer(data).snapshot().model.rows
