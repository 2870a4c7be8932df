"""Averages at the rows that are kept: the formula, and what they leave alone."""

from __future__ import annotations

import numpy as np
import pytest

from ccgbo.arrays import Array
from ccgbo.surrogate.gp import pooling
from ccgbo.surrogate.gp.cross import Hyper
from ccgbo.surrogate.gp.kernels import get_kernel
from ccgbo.surrogate.gp.posterior import GP


def points(n: int, *, noise: float = 0.0) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    X = rng.random((n, 2))
    return X, np.sin(5.0 * X).sum(axis=1) + noise * rng.standard_normal(n)


def kept_of(X: Array, y: Array, m: int, *, noise: float = 0.1) -> GP:
    hyper = Hyper(lengthscales=np.array([0.3, 0.7]), signal=1.5, noise=noise, trend=0.4)
    return GP.from_data(get_kernel("matern52"), hyper, X[:m], y[:m])


def test_averages_are_those_of_the_formula() -> None:
    (X, y), m = points(60, noise=0.3), 12
    gp, noise = kept_of(X, y, m), np.linspace(0.05, 0.5, 60)
    values, variances = pooling.averaged(gp, X, y, noise, np.arange(m))
    r2, g = gp.metric.between(X, X[:m]), gp.predict(X)[0]
    for i in range(m):
        cell = np.flatnonzero(r2.argmin(axis=1) == i)
        w = 1.0 / (noise[cell] + 2.0 * 1.5 * (1.0 - gp.kernel.rho(r2[cell, i])))
        assert values[i] == pytest.approx(g[i] + (w * (y[cell] - g[cell])).sum() / w.sum())
        assert variances[i] == pytest.approx(1.0 / w.sum())


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = points(60, noise=0.3)
    gp, args = kept_of(X, y, 12), (X, y, np.full(60, 0.1), np.arange(12))
    whole = pooling.averaged(gp, *args)
    monkeypatch.setattr(pooling, "BLOCK", 7)
    assert np.allclose(whole, pooling.averaged(gp, *args), rtol=1e-12)


def test_exact_values_are_kept_as_they_are() -> None:
    X, y = points(300)
    values, noise = pooling.averaged(kept_of(X, y, 50, noise=1e-8), X, y, np.full(300, 1e-8), np.arange(50))
    assert values == pytest.approx(y[:50], abs=1e-5) and (noise <= 1e-8).all()


def test_a_row_alone_in_its_cell_is_not_touched_to_the_last_bit() -> None:
    X, y = points(20)
    gp = kept_of(X, y, 20)
    made = pooling.pooled(gp, X, y, np.full(20, 0.1), np.arange(20))
    assert made.y.tobytes() == y.tobytes() and made.noise == pytest.approx(gp.noise)


def test_of_several_rows_at_one_place_each_keeps_its_own_value_and_one_has_the_others_too() -> None:
    X, y = np.full((10, 2), 0.5), np.arange(10.0)
    values, noise = pooling.averaged(kept_of(X, y, 3), X, y, np.full(10, 0.1), np.arange(3))
    assert values[1:].tolist() == [1.0, 2.0] and noise[1:] == pytest.approx(0.1)
    assert values[0] == pytest.approx(np.mean([0.0, *range(3, 10)])) and noise[0] == pytest.approx(0.1 / 8)


def test_a_row_that_is_told_with_much_noise_hardly_counts() -> None:
    X, y = points(200, noise=0.1)
    noise = np.where(np.arange(200) < 100, 0.01, 1e6)
    wild = np.where(noise > 1.0, 50.0, y)
    gp, own = kept_of(X, y, 20), np.arange(20)
    without = pooling.averaged(gp, X[:100], y[:100], noise[:100], own)[0]
    assert pooling.averaged(gp, X, wild, noise, own)[0] == pytest.approx(without, abs=1e-2)
