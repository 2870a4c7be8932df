"""Averages at the rows that are kept: what they gain under noise, and what they leave alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ccgbo import Categorical, Float, Optimizer
from ccgbo.arrays import Array
from ccgbo.engine import pooling
from ccgbo.engine.history import Data
from ccgbo.engine.model import ExactGP, Model, build_model
from ccgbo.engine.settings import Settings, resolve
from ccgbo.surrogate.gp.posterior import GP

TUNING = {"max_points": 200, "kept_points": 120, "n_candidates": 64, "n_local": 16, "n_starts": 2, "search_steps": 8}
PEAK = np.array([0.3, 0.6])


def settings(**options: Any) -> Settings:
    return resolve("default", 2, tuning=TUNING | {"refit_growth": 0.1}, **options)


def wave(X: Array) -> Array:
    values: Array = np.exp(-3.0 * ((X - PEAK) ** 2).sum(axis=1)) + 0.2 * np.sin(5.0 * X).sum(axis=1)
    return values


def told(n: int, seed: int = 0, *, noise: float = 0.0) -> Data:
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    return Data(X, X, wave(X) + noise * rng.standard_normal(n), np.full(n, np.nan))


def test_beyond_a_number_rows_of_the_whole_log_are_averaged_the_kept_ones_among_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = np.array([3, 500, 999])
    assert pooling.pool_of(1000, rows).tolist() == list(range(1000))
    monkeypatch.setattr(pooling, "MOST_POOLED", 100)
    pool = pooling.pool_of(1000, rows)
    assert set(rows) <= set(pool) and 100 <= len(pool) <= 103 and (np.diff(pool) > 0).all()
    assert np.diff(pool).max() <= 11
    model = build_model(told(1000, noise=0.3), (), settings())
    assert len(model.rows) == 120 and np.isfinite(model.mean).all()


# -- the model


def error_at_the_peak(model: Model, seed: int) -> float:
    X = np.clip(PEAK + 0.1 * np.random.default_rng(seed).standard_normal((100, 2)), 0.0, 1.0)
    mean = model.in_user_units(*model.posterior.predict(X))[0]
    return float(np.sqrt(((mean - wave(X)) ** 2).mean()))


def test_under_noise_averages_are_nearer_to_the_function_than_the_rows_by_themselves() -> None:
    pairs = []
    for seed in range(5):
        data = told(3000, seed, noise=0.5)
        models = [ExactGP(pooled=pooled).build(data, (), settings()) for pooled in (True, False)]
        assert models[0].rows.tolist() == models[1].rows.tolist()
        pairs.append([error_at_the_peak(model, seed) for model in models])
    ours, theirs = np.mean(pairs, axis=0)
    assert ours < 0.7 * theirs


def test_up_to_max_points_nothing_is_averaged() -> None:
    one, other = (ExactGP(pooled=pooled).build(told(200), (), settings()) for pooled in (True, False))
    assert one.own_noise is None and one.mean.tobytes() == other.mean.tobytes()


def test_later_rows_are_appended_with_the_noise_of_one_value() -> None:
    data = told(320, noise=0.3)
    first = build_model(data[:318], (), settings())
    later = build_model(data, (), settings(), first, first.fit)
    assert later.fit == first.fit and first.own_noise is not None and later.own_noise is not None
    assert isinstance(later.posterior, GP)
    assert later.own_noise.tolist()[:-2] == first.own_noise.tolist()
    assert later.posterior.noise[-2:] == pytest.approx(later.own_noise[-2:])
    assert np.median(later.posterior.noise[:-2]) < 0.8 * later.own_noise[-1]


def test_a_surprise_asks_for_a_refit_at_the_fifth_later_row_at_the_earliest() -> None:
    data = told(320, noise=0.01)
    data.values[314] += 50.0
    first = build_model(data[:314], (), settings(), refit=True)
    fits = [build_model(data[:n], (), settings(), first, first.fit).fit.n for n in (315, 318, 319)]
    assert fits == [314, 314, 319]


def test_the_noise_and_the_coverage_that_are_diagnosed_are_those_of_values_not_of_averages() -> None:
    data = told(1500, noise=0.5)
    opt = Optimizer({"x": (0.0, 1.0), "y": (0.0, 1.0)}, seed=0, tuning=TUNING)
    opt.tell_many([{"x": a, "y": b} for a, b in data.U], data.values)
    found = opt.diagnose()
    assert found.noise == pytest.approx(0.5, rel=0.25)
    assert 0.65 < found.coverage[80] < 0.92


def test_choices_have_averages_of_their_own() -> None:
    opt = Optimizer({"c": Categorical(["a", "b"]), "x": Float(0.0, 1.0)}, seed=0, tuning=TUNING)
    rng = np.random.default_rng(0)
    points = [opt.space.decode(u) for u in opt.space.sample(1000, rng)]
    opt.tell_many(points, [float(p["c"] == "b") + 0.3 * rng.standard_normal() for p in points])
    model = opt.snapshot().model
    at_b = np.array([points[row]["c"] == "b" for row in model.rows])
    mean = model.in_user_units(model.mean, model.std)[0]
    assert mean[at_b] == pytest.approx(np.ones(at_b.sum()), abs=0.2)
    assert mean[~at_b] == pytest.approx(np.zeros((~at_b).sum()), abs=0.2)
