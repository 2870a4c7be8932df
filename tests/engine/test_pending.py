"""Several evaluations at once: batches, workers, and points under evaluation."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from ccgbo import Float, Optimizer, SettingError, Trial
from ccgbo.engine.step import OneObjective
from ccgbo.metrics import VALUE

BOX = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
ACQUISITIONS = ["ucb", "ei", "logei", "ts", "mes", "jes"]
FAST = {"tuning": {"n_candidates": 64, "n_local": 32, "n_starts": 2, "search_steps": 10}}


def bowl(params: Any) -> float:
    return -((params["x"] - 0.3) ** 2) - (params["y"] - 0.6) ** 2


def with_data(n: int = 12, **settings: Any) -> Optimizer:
    opt = Optimizer(BOX, seed=0, n_initial=5, **{**FAST, **settings})
    for _ in range(n):
        trial = opt.ask()
        opt.tell(trial, bowl(trial.params))
    return opt


def nearest_pair(trials: list[Trial]) -> float:
    """Smallest distance in the larger coordinate between two points."""
    return min(max(abs(a.params[k] - b.params[k]) for k in BOX) for a, b in combinations(trials, 2))


@pytest.mark.parametrize("pending", ["kriging_believer", "fantasy"])
@pytest.mark.parametrize("acquisition", ACQUISITIONS)
def test_a_batch_is_diverse(acquisition: str, pending: str) -> None:
    """Even where the model is sure of the optimum, points asked together keep their distance."""
    batch = with_data(20, acquisition=acquisition, pending=pending).ask(8)
    assert nearest_pair(batch) > 0.05 / math.sqrt(8)


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_fifty_pending_points_never_repeat(preset: str) -> None:
    opt = with_data(preset=preset)
    told = {(t.params["x"], t.params["y"]) for t in opt.trials}
    batch = opt.ask(50)
    points = {(t.params["x"], t.params["y"]) for t in batch}
    assert len(points) == 50
    assert not points & told
    assert nearest_pair(batch) > 0.05 / math.sqrt(50)
    assert [t.id for t in opt.pending] == [t.id for t in batch]
    for trial in reversed(batch):
        opt.tell(trial, bowl(trial.params))
    assert opt.pending == ()
    assert len(opt.credits()) == 62


def test_fifty_asks_before_any_answer_fill_the_space() -> None:
    batch = Optimizer(BOX, seed=0).ask(50)
    assert nearest_pair(batch) > 1e-3
    X = np.array([[t.params["x"], t.params["y"]] for t in batch])
    assert np.histogram2d(X[:, 0], X[:, 1], bins=3, range=[[0, 1], [0, 1]])[0].min() >= 2


def test_fifty_pending_points_of_one_parameter_never_repeat() -> None:
    opt = Optimizer({"x": (0.0, 1.0)}, seed=0, n_initial=2, **FAST)
    opt.tell_many([{"x": 0.2}, {"x": 0.8}], [0.0, 1.0])
    xs = sorted(t.params["x"] for t in opt.ask(50))
    assert min(np.diff(xs)) > 0.05 / 50


def test_a_pending_point_lowers_the_interest_around_itself() -> None:
    opt = with_data(acquisition="ucb", credit=False, pending="kriging_believer")
    trial = opt.ask()
    f = opt.space.features(opt.space.encode(trial.params)[None])
    gp = opt.snapshot().model.posterior
    believed = OneObjective(opt.snapshot()).with_pending(np.random.default_rng(0))[VALUE]
    assert believed.predict(f)[1] < gp.predict(f)[1]
    assert believed.predict(f)[0] == pytest.approx(gp.predict(f)[0])  # the believer's fantasy is the mean itself


def test_joint_samples_are_drawn_from_the_posterior() -> None:
    opt = with_data(pending="fantasy")
    opt.ask(3)
    gp = opt.snapshot().model.posterior
    state = opt.snapshot()
    F = state.pending
    rng = np.random.default_rng(0)
    draws = np.array([OneObjective(state).with_pending(rng)[VALUE].y[-3:] for _ in range(150)])
    mean, std = gp.predict(F)
    assert np.abs((draws.mean(axis=0) - mean) / std).max() < 0.35
    assert draws.std(axis=0) == pytest.approx(std, rel=0.25)


def test_pending_points_are_no_observations() -> None:
    opt = with_data()
    before = opt.recommend(), [row.credit for row in opt.credits()]
    opt.ask(5)
    assert len(opt.snapshot().model.rows) == 12
    assert opt.recommend() == before[0]
    assert len(opt.credits()) == len(before[1])


def test_workers_that_finish_in_any_order_are_served() -> None:
    opt = Optimizer(BOX, seed=0, n_initial=4, **FAST)
    rng = np.random.default_rng(0)
    running = opt.ask(4)
    for _ in range(30):
        done = running.pop(int(rng.integers(len(running))))
        opt.tell(done, bowl(done.params))
        running.append(opt.ask())
    assert len({tuple(t.params.values()) for t in opt.trials}) == 34
    assert opt.best_value == pytest.approx(0.0, abs=0.01)


def test_a_batch_on_a_mixed_space_never_repeats() -> None:
    opt = Optimizer({"n": (1, 6), "c": ["a", "b", "z"], "x": Float(0.0, 1.0, step=0.5)}, seed=0, n_initial=3, **FAST)
    for _ in range(4):
        trial = opt.ask()
        opt.tell(trial, float(trial.params["n"]))
    batch = opt.ask(50)  # the whole rest of the grid
    assert len({tuple(t.params.values()) for t in opt.trials}) == 54
    assert len(batch) == 50


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "3"])
def test_a_batch_size_that_cannot_be_says_why(n: Any) -> None:
    with pytest.raises(SettingError, match="n must be a whole number >= 1"):
        Optimizer(BOX, seed=0).ask(n)


def test_a_batch_of_one_is_a_list() -> None:
    assert isinstance(Optimizer(BOX, seed=0).ask(1), list)
    assert isinstance(Optimizer(BOX, seed=0).ask(), Trial)
