"""Projected gradient ascent on the unit box."""

from __future__ import annotations

import numpy as np

from ccgbo.surrogate.ascent import ascend

Array = np.ndarray


def bowl(x: Array) -> tuple[Array, Array]:
    """Highest at 0.3 in the first column and beyond the box, at 1.4, in the second."""
    top = np.array([0.3, 1.4])
    return -((x - top) ** 2).sum(axis=1), -2.0 * (x - top)


def test_each_row_climbs_to_the_top_or_to_the_edge_of_the_box(rng: np.random.Generator) -> None:
    starts = rng.random((6, 2))
    x, value = ascend(bowl, starts, np.ones((6, 2), dtype=bool), unit=np.ones(2), steps=30)
    np.testing.assert_allclose(x, np.tile([0.3, 1.0], (6, 1)), atol=1e-3)
    np.testing.assert_allclose(value, -0.16, atol=1e-5)


def test_a_column_that_is_not_movable_stays(rng: np.random.Generator) -> None:
    starts = rng.random((3, 2))
    x, _ = ascend(bowl, starts, np.tile([False, True], (3, 1)), unit=np.ones(2), steps=30)
    assert np.array_equal(x[:, 0], starts[:, 0])
    np.testing.assert_allclose(x[:, 1], 1.0)


def test_a_plain_of_almost_nothing_before_a_steep_slope_overflows_nothing() -> None:
    def cliff(x: Array) -> tuple[Array, Array]:
        value = 1e9 * np.exp(700.0 * (x[:, 0] - 1.0))
        return value, 700.0 * value[:, None] * np.ones_like(x)

    starts = np.array([[0.0], [0.2], [0.9]])
    x, value = ascend(cliff, starts, np.ones((3, 1), dtype=bool), unit=np.ones(1), steps=30)
    np.testing.assert_allclose(x, 1.0)
    np.testing.assert_allclose(value, 1e9)
