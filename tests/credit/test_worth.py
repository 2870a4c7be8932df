"""The worth of an observation, against maxima over a dense grid and against every subset."""

from __future__ import annotations

from itertools import combinations, permutations
from math import comb

import numpy as np
import pytest

from ccgbo.credit import influence
from ccgbo.credit.influence import Pool, find_optima
from ccgbo.credit.shapley import sampled_orders, shapley
from ccgbo.surrogate.gp.cross import Hyper
from ccgbo.surrogate.gp.kernels import get_kernel
from ccgbo.surrogate.gp.posterior import GP

GRID = np.linspace(0.0, 1.0, 4001)[:, None]


def line_gp(x: np.ndarray, noise: float = 1e-3) -> GP:
    """Observations of a wave on a line."""
    y = np.sin(9.0 * x) + 0.3 * x
    hyper = Hyper(lengthscales=np.array([0.2]), signal=1.0, noise=noise)
    return GP.from_data(get_kernel("matern52"), hyper, x[:, None], y)


def pool_of(gp: GP, m: int) -> Pool:
    F = np.linspace(0.0, 1.0, m)[:, None] if m else np.empty((0, 1))
    return Pool(F, np.ones((m + len(gp.y), 1), dtype=bool))


def singles(gp: GP) -> list[np.ndarray]:
    return [np.array([i]) for i in range(len(gp.y))]


def dense_worth(gp: GP, k: int) -> np.ndarray:
    """By brute force: paths of posteriors that never saw the observation, on a dense grid."""
    full = gp.paths(k, np.random.default_rng(7))(GRID)
    draws = np.arange(k)
    best = full.max(axis=0)
    worth = []
    for rows in singles(gp):
        there = gp.without(rows).paths(k, np.random.default_rng(7))(GRID).argmax(axis=0)
        worth.append((best - full[there, draws]).mean())
    return np.array(worth)


@pytest.mark.parametrize("m", [0, 8, 60])
def test_the_worth_is_that_of_deleting_rebuilding_and_maximising_whatever_the_candidates(m: int) -> None:
    gp = line_gp(np.random.default_rng(0).random(12))
    found = find_optima(gp.deletions(12, np.random.default_rng(7)), singles(gp), pool_of(gp, m))
    np.testing.assert_allclose(found.worth, dense_worth(gp, 12), atol=2e-3 if m >= 8 else 0.05)
    assert (found.loss >= 0.0).all()


def test_a_deletion_that_no_candidate_shows_is_seen_by_climbing() -> None:
    x = np.linspace(0.0, 1.0, 9)
    gp, worlds = line_gp(x), [np.array([i]) for i in range(9)]
    deletions = gp.deletions(8, np.random.default_rng(7))
    stays = [values.argmax(axis=1) for values in deletions.sweep(np.empty((0, 1)), worlds)]
    (own,) = (values.argmax(axis=1) for values in deletions.sweep(np.empty((0, 1)), [np.arange(0)]))
    unseen = [g for g in range(9) if (stays[g] == own).all()]
    worth = find_optima(deletions, worlds, pool_of(gp, 0)).worth
    assert len(unseen) > 3 and (worth[unseen] > 0.0).all()


def test_second_order_and_climbing_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    X = rng.random((25, 2))
    hyper = Hyper(lengthscales=np.array([0.4, 0.6]), signal=1.0, noise=1e-2)
    gp = GP.from_data(get_kernel("matern52"), hyper, X, np.sin(5.0 * X).sum(axis=1) - 1.0)
    pool = Pool(rng.random((200, 2)), np.ones((225, 2), dtype=bool))
    quick = find_optima(gp.deletions(10, np.random.default_rng(7)), singles(gp), pool)
    monkeypatch.setattr(influence, "SHORT", 0.0)
    monkeypatch.setattr(influence, "CHORDS", 30)
    slow = find_optima(gp.deletions(10, np.random.default_rng(7)), singles(gp), pool)
    np.testing.assert_allclose(quick.worth, slow.worth, atol=0.02 * slow.worth.max())
    np.testing.assert_allclose(quick.without.maxima, slow.without.maxima, atol=0.02)


def test_where_nothing_may_move_the_pool_decides() -> None:
    gp = line_gp(np.linspace(0.1, 0.9, 6))
    pool = Pool(GRID[::200], np.zeros((21 + 6, 1), dtype=bool))
    found = find_optima(gp.deletions(5, np.random.default_rng(7)), singles(gp), pool)
    everywhere = np.concatenate([GRID[::200], gp.X])
    assert np.isin(found.without.argmax[:, :, 0], everywhere[:, 0]).all()


def test_a_constraint_draws_every_climb_back() -> None:
    gp = line_gp(np.array([0.05, 0.1, 0.3, 0.45, 0.5]))
    pool = Pool(GRID[:2001:100], np.ones((21 + 5, 1), dtype=bool), lambda _, F: np.minimum(F, 0.5))
    found = find_optima(gp.deletions(5, np.random.default_rng(7)), singles(gp), pool)
    assert found.without.argmax.max() <= 0.5 and found.full.argmax.max() <= 0.5


def test_leaving_out_nothing_costs_nothing_and_leaving_out_all_costs_most() -> None:
    gp = line_gp(np.random.default_rng(0).random(8))
    worlds = [np.arange(0), *singles(gp), np.arange(8)]
    worth = find_optima(gp.deletions(20, np.random.default_rng(7)), worlds, pool_of(gp, 60)).worth
    assert worth[0] < 1e-9 and worth.argmax() == 9


def test_twins_are_worth_nothing_alone_and_share_what_they_are_worth_together() -> None:
    x = np.array([0.05, 0.3, 0.5, 0.5, 0.95])
    gp = line_gp(x, noise=1e-6)
    deletions, worlds = gp.deletions(40, np.random.default_rng(7)), [np.array([2]), np.array([3]), np.array([2, 3])]
    alone, other, together = find_optima(deletions, worlds, pool_of(gp, 200)).worth
    assert max(alone, other) < 1e-3 < 0.05 < together
    orders = [np.array(order) for order in permutations(range(5))]
    shares = shapley(deletions, GRID[::40], orders).value
    np.testing.assert_allclose(shares[2], shares[3], rtol=0.05)
    assert shares[2] > 0.02


def test_shares_over_every_order_are_shapley_values_and_add_up() -> None:
    gp, points, k = line_gp(np.array([0.1, 0.35, 0.6, 0.9])), GRID[::40], 6
    full = gp.paths(k, np.random.default_rng(7))(points)

    def value(known: tuple[int, ...]) -> float:
        """Of acting on paths that know some of the observations."""
        rows = np.setdiff1d(np.arange(4), known)
        (values,) = gp.deletions(k, np.random.default_rng(7)).sweep(points, [rows])
        return float(full[values[:-1, : len(points)].argmax(axis=1), np.arange(k)].mean())

    expected = np.zeros(4)
    for i in range(4):
        others = [j for j in range(4) if j != i]
        for size in range(4):
            for known in combinations(others, size):
                expected[i] += (value((*known, i)) - value(known)) / (4 * comb(3, size))
    orders = [np.array(order) for order in permutations(range(4))]
    shares = shapley(gp.deletions(k, np.random.default_rng(7)), points, orders)
    np.testing.assert_allclose(shares.value, expected, atol=1e-10)
    np.testing.assert_allclose(shares.value.sum(), value((0, 1, 2, 3)) - value(()), atol=1e-10)
    assert shares.total == pytest.approx(shares.value.sum())


def test_sampled_orders_come_with_their_reverse(rng: np.random.Generator) -> None:
    orders = sampled_orders(5, 3, rng)
    assert len(orders) == 3
    np.testing.assert_array_equal(orders[0], orders[1][::-1])
    assert sorted(orders[2]) == [0, 1, 2, 3, 4]
