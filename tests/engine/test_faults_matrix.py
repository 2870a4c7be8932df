"""Every kind of bad day, for every number of observations, acquisition and preset: a valid suggestion each time."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ccgbo import Float, Optimizer, SpaceExhaustedError, Trial

ACQUISITIONS = ["ucb", "ei", "logei", "ts", "mes", "jes"]
PRESETS = ["default", "paper"]
SIZES = [0, 1, 2, 50]
BOX = {"x": (-5.0, 10.0), "y": Float(1e-3, 1e3, log=True)}
SMALL: dict[str, Any] = {
    "n_initial": 1,
    "seed": 0,
    "tuning": {"n_candidates": 32, "n_local": 8, "n_starts": 1, "search_steps": 4, "max_iterations": 15},
}


def points(n: int) -> list[dict[str, float]]:
    u = (np.arange(1, n + 1)[:, None] * [0.7548776662466927, 0.5698402909980532]) % 1.0  # evenly spread
    return [{"x": -5.0 + 15.0 * a, "y": 10.0 ** (-3.0 + 6.0 * b)} for a, b in u]


def values(n: int) -> list[float]:
    return np.sin(np.arange(n)).tolist()


def box(n: int, make: Callable[..., Optimizer]) -> Optimizer:
    opt = make(BOX)
    opt.tell_many(points(n), values(n))
    return opt


def identical_x(n: int, make: Callable[..., Optimizer]) -> Optimizer:
    opt = make(BOX)
    opt.tell_many([{"x": 1.0, "y": 1.0}] * n, values(n))
    return opt


def constant_y(n: int, make: Callable[..., Optimizer]) -> Optimizer:
    opt = make(BOX)
    opt.tell_many(points(n), [3.25] * n)
    return opt


def tiny_and_huge_y(n: int, make: Callable[..., Optimizer]) -> Optimizer:
    opt = make(BOX)
    opt.tell_many(points(n), [1e300 if i % 2 else 1e-300 for i in range(n)])
    return opt


def one_outlier(n: int, make: Callable[..., Optimizer]) -> Optimizer:
    opt = make(BOX)
    opt.tell_many(points(n), [*values(n)[:-1], 1e12][:n])
    return opt


def single_valued_dimension(n: int, make: Callable[..., Optimizer]) -> Optimizer:
    opt = make(BOX | {"z": (2.0, 2.0), "k": 7})
    opt.tell_many([p | {"z": 2.0, "k": 7} for p in points(n)], values(n))
    return opt


def all_failed(n: int, make: Callable[..., Optimizer]) -> Optimizer:
    opt = make(BOX)
    opt.tell_many(points(n), [math.nan] * n)
    return opt


CASES = [identical_x, constant_y, tiny_and_huge_y, one_outlier, single_valued_dimension, all_failed]


def check(opt: Optimizer, trial: Trial) -> None:
    u = opt.space.encode(trial.params)
    assert np.isfinite(u).all()
    assert [t.id for t in opt.trials if t.params == trial.params] == [trial.id]
    json.dumps(trial.to_dict(), allow_nan=False)  # the explanation is finite


@pytest.fixture(params=[(a, p) for p in PRESETS for a in ACQUISITIONS], ids=lambda pair: f"{pair[1]}-{pair[0]}")
def make(request: pytest.FixtureRequest) -> Callable[..., Optimizer]:
    acquisition, preset = request.param
    return lambda space, **more: Optimizer(space, acquisition=acquisition, preset=preset, **{**SMALL, **more})


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_a_bad_day_ends_in_valid_suggestions(
    case: Callable[..., Optimizer], n: int, make: Callable[..., Optimizer]
) -> None:
    opt = case(n, make)
    for value in (0.5, math.nan):
        trial = opt.ask()
        check(opt, trial)
        opt.tell(trial, value)
    check(opt, opt.ask())
    best = opt.recommend()
    assert math.isfinite(best.mean)
    assert math.isfinite(best.std)
    observed = sum(t.state == "complete" for t in opt.trials)
    assert observed == 1 + (0 if case is all_failed else n)
    assert all(0.1 <= row.credit <= 1.0 and math.isfinite(row.score) for row in opt.credits())


@pytest.mark.parametrize("n", SIZES)
def test_fifty_pending_points_end_in_valid_suggestions(n: int, make: Callable[..., Optimizer]) -> None:
    opt = box(n, make)
    for trial in opt.ask(50):
        opt.space.encode(trial.params)
    check(opt, opt.ask())
    assert len({tuple(t.params.values()) for t in opt.trials}) == n + 51
    assert len(opt.pending) == 51


@pytest.mark.parametrize("n", SIZES)
def test_an_exhausted_grid_says_so_or_is_revisited(n: int, make: Callable[..., Optimizer]) -> None:
    grid = {"k": (1, max(n, 1))}
    opt, again = make(grid), make(grid, allow_repeats=True)
    for o in (opt, again):
        o.tell_many([{"k": k} for k in range(1, n + 1)], values(n))
    if n == 0:
        assert opt.ask().params == {"k": 1}
        opt.tell(0, 1.0)
    with pytest.raises(SpaceExhaustedError, match="allow_repeats=True"):
        opt.ask()
    assert 1 <= again.ask().params["k"] <= max(n, 1)
