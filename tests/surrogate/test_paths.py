"""Paths are joint draws of the exact posterior, up to the random features."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import covariance, make_gp

from ccgbo.surrogate.gp.kernels import KERNELS
from ccgbo.surrogate.gp.paths import cos_sin, draw_paths


@pytest.mark.parametrize("trend", [0.0, 0.8])
@pytest.mark.parametrize("kernel", KERNELS)
def test_mean_and_covariance_of_the_paths_are_the_posteriors(
    kernel: str, trend: float, rng: np.random.Generator
) -> None:
    gp, x = make_gp(kernel=kernel, trend=trend), rng.random((6, 3))
    values = np.concatenate([draw_paths(gp, 50, rng)(x) for _ in range(200)], axis=1)
    np.testing.assert_allclose(values.mean(axis=1), gp.predict(x)[0], atol=0.02)
    np.testing.assert_allclose(np.cov(values), covariance(gp, x, x), atol=0.02)


@pytest.mark.parametrize("trend", [0.0, 0.8])
def test_a_path_at_its_own_point_is_the_path_there_and_its_gradient_is_right(
    trend: float, rng: np.random.Generator
) -> None:
    gp, x, h = make_gp(trend=trend), rng.random((7, 3)), 1e-3
    paths = draw_paths(gp, 7, rng)
    value, gradient = paths.value_and_gradient_each(x)
    np.testing.assert_allclose(value, np.diag(paths(x)), atol=1e-5)
    for c in range(3):
        e = h * np.eye(3)[c]
        numeric = (paths.value_and_gradient_each(x + e)[0] - paths.value_and_gradient_each(x - e)[0]) / (2 * h)
        np.testing.assert_allclose(gradient[:, c], numeric, atol=2e-3)


@pytest.mark.parametrize("trend", [0.0, 0.8])
def test_values_at_the_data_need_no_kernel_and_equal_the_paths_there(trend: float, rng: np.random.Generator) -> None:
    gp = make_gp(trend=trend)
    paths = draw_paths(gp, 5, rng)
    np.testing.assert_allclose(paths.at_data, paths(gp.X), atol=1e-5)


def test_without_noise_every_path_passes_through_the_data(rng: np.random.Generator) -> None:
    gp = make_gp(noise=1e-6)
    paths = draw_paths(gp, 10, rng)
    np.testing.assert_allclose(paths(gp.X), np.repeat(gp.y[:, None], 10, axis=1), atol=0.02)


def test_the_same_generator_gives_the_same_paths() -> None:
    gp, x = make_gp(), np.random.default_rng(3).random((4, 3))
    a, b = (draw_paths(gp, 3, np.random.default_rng(5))(x) for _ in range(2))
    np.testing.assert_array_equal(a, b)


def test_single_precision_trigonometry_is_good_to_a_millionth() -> None:
    angle = np.random.default_rng(0).normal(scale=1e3, size=(50, 50))
    cos, sin = cos_sin(angle)
    np.testing.assert_allclose(cos, np.cos(angle), atol=1e-6)
    np.testing.assert_allclose(sin, np.sin(angle), atol=1e-6)
