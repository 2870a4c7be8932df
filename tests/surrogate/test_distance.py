"""One geometry for columns of choices, embedded or compared."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import covariance

from ccgbo import Categorical, Optimizer
from ccgbo.credit.field import KNNField
from ccgbo.surrogate.distance import ONE_HOT, Metric, layout_of
from ccgbo.surrogate.gp.kernels import get_kernel
from ccgbo.surrogate.gp.paths import draw_paths
from ccgbo.surrogate.gp.posterior import GP, Hyper

UNIT = np.array([0.4, 0.8, 1.3])
FEW, MANY = ((1, 3), (2, 4)), ((1, ONE_HOT + 1), (2, 10_000))  # the same columns, embedded and compared


def draw(n: int, seed: int = 0) -> np.ndarray:
    """A number and two categoricals, of which the second is inactive in some rows."""
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.random(n), rng.integers(0, 3, n), rng.integers(-1, 4, n)]).astype(float)


def posterior(choices: tuple[tuple[int, int], ...], n: int = 40) -> GP:
    X = draw(n)
    y = np.sin(5.0 * X[:, 0]) + 0.5 * (X[:, 1] == 1) - 0.3 * (X[:, 2] == 2)
    hyper = Hyper(lengthscales=UNIT, signal=1.2, noise=0.01)
    return GP.from_data(get_kernel("matern52", choices), hyper, X, y - y.mean())


@pytest.mark.parametrize("choices", [FEW, MANY])
def test_choices_that_differ_are_one_unit_apart_and_an_inactive_one_is_half_as_far(choices: object) -> None:
    metric = Metric(UNIT, choices)  # type: ignore[arg-type]
    points = np.array([[0.2, 0.0, 1.0], [0.2, 2.0, 1.0], [0.2, 0.0, 3.0], [0.2, 0.0, -1.0], [0.6, 0.0, 1.0]])
    expected = [0.0, 0.8**-2.0, 1.3**-2.0, 0.5 * 1.3**-2.0, 1.0]
    assert metric.between(points[:1], points)[0] == pytest.approx(expected)
    assert metric.between(points[3:4], points[3:4])[0, 0] == 0.0


def test_few_choices_are_embedded_and_many_are_compared() -> None:
    assert layout_of(3, FEW).owner.tolist() == [0, 1, 1, 1, 2, 2, 2, 2]
    assert layout_of(3, MANY).owner.tolist() == [0] and layout_of(3, MANY).many.tolist() == [1, 2]


def test_the_posterior_does_not_depend_on_how_distances_are_computed() -> None:
    few, many, x = posterior(FEW), posterior(MANY), draw(30, seed=1)
    np.testing.assert_allclose(few.predict(x), many.predict(x), rtol=1e-9)
    np.testing.assert_allclose(few.condition(x[:3], np.zeros(3)).alpha, many.condition(x[:3], np.zeros(3)).alpha)
    pairs = ((gp.sites, gp.sites.linearize(x)) for gp in (few, many))
    slopes = [sites.vjp(at, np.ones_like(at.k)) for sites, at in pairs]
    np.testing.assert_allclose(slopes[0], slopes[1], rtol=1e-9)
    assert not slopes[0][:, 1:].any()


@pytest.mark.parametrize("choices", [FEW, MANY])
def test_paths_over_choices_have_the_covariance_of_the_posterior(choices: object) -> None:
    gp, x = posterior(choices, n=6), draw(12, seed=2)  # type: ignore[arg-type]
    rng = np.random.default_rng(0)
    draws = np.concatenate([draw_paths(gp, 100, rng, n_features=64)(x) for _ in range(40)], axis=1)
    np.testing.assert_allclose(draws.mean(axis=1), gp.predict(x)[0], atol=0.08)
    np.testing.assert_allclose(np.cov(draws), covariance(gp, x, x), atol=0.12)


@pytest.mark.parametrize("choices", [FEW, MANY])
def test_a_path_and_its_gradient_agree_over_choices(choices: object) -> None:
    gp, x = posterior(choices), draw(5, seed=3)  # type: ignore[arg-type]
    paths = draw_paths(gp, 5, np.random.default_rng(0))
    value, gradient = paths.value_and_gradient_each(x)
    np.testing.assert_allclose(value, np.diag(paths(x)), atol=1e-5)
    step = np.array([1e-3, 0.0, 0.0])
    up, down = x + step, x - step
    np.testing.assert_allclose(gradient[:, 0], (np.diag(paths(up)) - np.diag(paths(down))) / 2e-3, atol=1e-2)
    assert not gradient[:, 1:].any()


def test_the_nearest_neighbours_are_the_same() -> None:
    X, x, credit = draw(60), draw(25, seed=1), np.linspace(0.1, 1.0, 60)
    X[:, 0], x[:, 0] = np.linspace(0, 1, 60), np.linspace(0.003, 0.97, 25)  # no ties
    few, many = (KNNField(X, credit, 5, Metric(UNIT, choices)) for choices in (FEW, MANY))
    np.testing.assert_allclose(few(x), many(x))


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_thousands_of_choices_are_searched_by_those_that_were_seen_to_be_good(preset: str) -> None:
    names = [f"v{i}" for i in range(1500)]
    opt = Optimizer({"c": Categorical(names), "x": (0.0, 1.0)}, preset=preset, seed=0)
    assert opt.space.p == 2
    for i in range(40):
        opt.tell({"c": names[37 * i], "x": (0.31 * i) % 1.0}, -(((0.31 * i) % 1.0 - 0.4) ** 2) + 3.0 * (i == 17))
    suggested = []
    for _ in range(6):
        trial = opt.ask()
        suggested.append(trial.params["c"])
        opt.tell(trial, -((trial.params["x"] - 0.4) ** 2) + 3.0 * (trial.params["c"] == names[37 * 17]))
    assert names[37 * 17] in suggested
