"""Each baseline does what its source says, on the loop that all of them share."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import stdtrit

from ccgbo.acquisition import Context
from ccgbo.bench.baselines import METHODS, get_method
from ccgbo.bench.baselines.base import Initial
from ccgbo.bench.baselines.belief import GaussianBelief
from ccgbo.bench.baselines.colabo import belief_weights, monte_carlo_ucb
from ccgbo.bench.baselines.forgetting import FadingGP
from ccgbo.bench.baselines.outlier import NU, WithoutOutliers, find_outliers, robust_posterior
from ccgbo.bench.baselines.pibo import pibo
from ccgbo.bench.baselines.resetting import ResettingUCB, block_length
from ccgbo.bench.baselines.wgp import weighted_posteriors
from ccgbo.engine.history import Data
from ccgbo.engine.settings import PAPER, resolve
from ccgbo.errors import SettingError
from ccgbo.space import Float, Space
from ccgbo.surrogate.gp.kernels import get_kernel
from ccgbo.surrogate.gp.paths import draw_paths
from ccgbo.surrogate.gp.posterior import GP, Hyper

Array = NDArray[np.float64]

SPACE = Space({"a": Float(0.0, 1.0), "b": Float(0.0, 1.0)})
SMALL = resolve(PAPER, tuning={"n_candidates": 200})


def bump(point: Any) -> float:
    """One smooth hill with its top, 1, at (0.7, 0.3)."""
    return math.exp(-6.0 * ((point["a"] - 0.7) ** 2 + (point["b"] - 0.3) ** 2))


def design(n: int = 10, seed: int = 0, f: Any = bump) -> Initial:
    points = [SPACE.decode(u) for u in np.random.default_rng(seed).random((n, 2))]
    return [(point, f(point)) for point in points]


def run(searcher: Any, steps: int, f: Any = bump) -> list[dict[str, float]]:
    points = []
    for _ in range(steps):
        point = searcher.ask()
        searcher.tell(point, f(point))
        points.append(dict(point))
    return points


def searcher(name: str, seed: int, **options: Any) -> Any:
    return get_method(name, tuning={"n_candidates": 200}, **options).make(SPACE, seed, design())


def posterior_of(n: int = 12, noise: float = 0.01, seed: int = 3) -> GP:
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    y = np.sin(5.0 * X[:, 0]) + X[:, 1]
    hyper = Hyper(lengthscales=np.array([0.3, 0.5]), signal=1.3, noise=noise)
    return GP.from_data(get_kernel("matern52"), hyper, X, y)


# -- the protocol and the shared loop


@pytest.mark.parametrize("name", METHODS)
def test_every_method_asks_inside_the_space_and_takes_an_answer(name: str) -> None:
    small = {} if name == "random" else {"tuning": {"n_candidates": 50}}
    points = run(get_method(name, **small).make(SPACE, 1, design()), 4)
    for point in points:
        SPACE.encode(point)
    assert len({tuple(point.values()) for point in points}) == 4


@pytest.mark.parametrize("name", METHODS)
def test_the_same_seed_asks_for_the_same_points(name: str) -> None:
    small = {} if name == "random" else {"tuning": {"n_candidates": 50}}
    first, second = (run(get_method(name, **small).make(SPACE, 5, design()), 3) for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("wgp", {"eta": 1.0}),
        ("rgp", {"eps": 0.0}),
        ("tvgp", {"eps": 0.0}),
        ("outlier", {"every": 1000}),
        ("pibo", {"strength": 0.0}),
    ],
)
def test_each_baseline_without_its_own_idea_is_gp_ucb(name: str, options: dict[str, Any]) -> None:
    assert run(searcher(name, 7, **options), 8) == run(searcher("ucb", 7), 8)


def test_unknown_names_and_options_are_refused_by_name() -> None:
    with pytest.raises(SettingError, match=r"method must be one of .* got 'ubc'"):
        get_method("ubc")
    with pytest.raises(SettingError, match="'ucb' has no option 'eta'"):
        get_method("ucb", eta=0.9)
    with pytest.raises(SettingError, match="eta must be in"):
        get_method("wgp", eta=1.5).make(SPACE, 0, design())


def test_credit_is_on_for_ccgbo_and_off_for_the_others() -> None:
    strength = {name: get_method(name).settings.credit.strength for name in METHODS if name != "random"}  # type: ignore[attr-defined]
    assert {name for name, value in strength.items() if value > 0} == {n for n in METHODS if n.startswith("ccgbo")}


# -- wgp


def test_the_weighted_posterior_is_the_one_of_its_paper() -> None:
    gp, eta = posterior_of(), 0.9
    by_mean, by_variance = weighted_posteriors(gp, eta)
    x = np.random.default_rng(0).random((5, 2))
    n = len(gp.y)
    w, lam = eta ** -np.arange(1.0, n + 1.0), gp.hyper.noise
    K, k = gp.cross(gp.X), gp.cross(x).T  # (n, n), (n, m)
    W = np.diag(np.sqrt(w))
    mean = (W @ k).T @ np.linalg.solve(W @ K @ W + lam * eta**-n * np.eye(n), W @ gp.y)
    W2 = np.diag(w)
    A = W2 @ K @ W2 + lam * eta ** (-2 * n) * np.eye(n)
    var = gp.hyper.signal - np.einsum("nm,nm->m", W2 @ k, np.linalg.solve(A, W2 @ k))
    np.testing.assert_allclose(by_mean.predict(x)[0], mean, atol=1e-8)
    np.testing.assert_allclose(by_variance.predict(x)[1] ** 2, var, atol=1e-8)


def test_wgp_forgets_an_old_observation_and_trusts_a_new_one() -> None:
    X, y = np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([1.0, -1.0])
    hyper = Hyper(lengthscales=np.ones(2), signal=1.0, noise=0.1)
    gp = GP.from_data(get_kernel("matern52"), hyper, X, y)
    plain, forgetful = (weighted_posteriors(gp, eta)[0].predict(X[:1])[0][0] for eta in (1.0, 0.2))
    assert abs(plain) < 1e-12
    assert forgetful < -0.5


# -- rgp


def test_the_block_length_follows_the_rate_of_change() -> None:
    assert [block_length(eps) for eps in (0.0, 0.001, 0.01, 1.0)] == [100, 68, 38, 12]


def test_rgp_resets_at_the_end_of_each_block() -> None:
    ucb = ResettingUCB(beta=2.0, block=4)
    assert [ucb.start(t, 10 + t) for t in range(10)] == [0] * 4 + [14] * 4 + [18] * 2


def test_rgp_after_a_reset_does_not_know_what_it_saw() -> None:
    ucb, gp = ResettingUCB(beta=2.0, block=4), posterior_of(14)
    context = Context(gp, 0.0, None, np.random.default_rng(0), t=4)
    np.testing.assert_array_equal(ucb.bind(context)(gp.X), np.full(14, 2.0 * math.sqrt(gp.hyper.signal)))
    later = gp.condition(np.array([[0.5, 0.5]]), np.array([-1.0]))
    after = ucb.bind(replace(context, posterior=later, t=5))(later.X)
    assert after[-1] < after[:10].max()  # only the one point of the new block is known


# -- tvgp


def test_the_fading_posterior_is_the_one_of_its_paper() -> None:
    gp, eps = posterior_of(), 0.05
    x = np.random.default_rng(0).random((4, 2))
    n = len(gp.y)
    i = np.arange(1, n + 1)
    K = gp.cross(gp.X) * (1 - eps) ** (np.abs(i[:, None] - i[None, :]) / 2)
    k = gp.cross(x) * (1 - eps) ** ((n + 1 - i) / 2)
    A = np.linalg.inv(K + gp.hyper.noise * np.eye(n))
    mean, std = FadingGP.build(gp, eps).predict(x)
    np.testing.assert_allclose(mean, k @ A @ gp.y, atol=1e-9)
    np.testing.assert_allclose(std**2, gp.hyper.signal - np.einsum("mi,ij,mj->m", k, A, k), atol=1e-9)


def test_tvgp_is_less_sure_of_old_points_than_of_new_ones() -> None:
    X = np.linspace(0.0, 1.0, 12)[:, None] * np.ones(2)  # too far from each other to tell of each other
    hyper = Hyper(lengthscales=np.full(2, 0.01), signal=1.0, noise=0.01)
    gp = GP.from_data(get_kernel("matern52"), hyper, X, np.zeros(12))
    _, std = FadingGP.build(gp, 0.1).predict(X)
    assert (np.diff(std) < 0.0).all()
    assert std[0] > 2.0 * std[-1]


# -- outlier


def clean_run(n: int = 30) -> tuple[Array, Array]:
    rng = np.random.default_rng(4)
    X = rng.random((n, 2))
    return X, np.sin(4.0 * X[:, 0]) + X[:, 1] ** 2 + 0.05 * rng.standard_normal(n)


def test_outlier_drops_a_planted_outlier_and_nothing_else() -> None:
    X, y = clean_run()
    y[11] -= 8.0
    np.testing.assert_array_equal(find_outliers(X, y), [11])


@pytest.mark.parametrize("seed", range(5))
def test_outlier_drops_nothing_from_clean_data(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.random((40, 2))
    y = np.sin(4.0 * X[:, 0]) + X[:, 1] ** 2 + 0.05 * rng.standard_normal(40)
    assert len(find_outliers(X, y)) == 0


def test_the_gaussian_model_of_the_outlier_loop_is_without_the_outlier() -> None:
    X, y = clean_run()
    y[11] += 8.0
    data = Data(X, X, y, np.full(30, np.nan))
    model = WithoutOutliers(n_initial=20, every=10).build(data, (), SMALL)
    assert sorted(set(range(30)) - set(model.rows.tolist())) == [11]
    assert len(model.posterior.y) == 29
    assert not (X[11] == model.posterior.X).all(axis=1).any()


def test_the_robust_mode_is_a_stationary_point_of_the_posterior() -> None:
    X, y = clean_run(15)
    y[3] += 6.0
    K = get_kernel("matern52").rho(((X[:, None] - X[None]) ** 2).sum(-1) / 0.4**2)
    scale = 0.2
    f = robust_posterior(K, y, scale, steps=2000, tolerance=1e-12).mode
    likelihood_slope = (NU + 1.0) * (y - f) / (NU * scale**2 + (y - f) ** 2)
    np.testing.assert_allclose(likelihood_slope, np.linalg.solve(K, f), rtol=1e-5, atol=1e-6)


def test_the_laplace_approximation_is_close_to_the_exact_posterior_of_one_point() -> None:
    K, y, scale = np.array([[1.0]]), np.array([0.4]), 0.5
    found = robust_posterior(K, y, scale, steps=500, tolerance=1e-12)
    f = np.linspace(-8.0, 8.0, 20001)
    log_t = math.lgamma((NU + 1) / 2) - math.lgamma(NU / 2) - 0.5 * math.log(NU * math.pi * scale**2)
    log_t = log_t - (NU + 1) / 2 * np.log1p((y[0] - f) ** 2 / (NU * scale**2))
    density = np.exp(log_t - 0.5 * f**2 - 0.5 * math.log(2 * math.pi))
    assert found.evidence == pytest.approx(math.log(np.trapezoid(density, f)), abs=0.15)
    assert found.mode[0] == pytest.approx(f[density.argmax()], abs=1e-3)
    assert float(stdtrit(NU, 0.975)) > 2.0  # the tails that make it robust


# -- pibo


def test_pibo_follows_a_good_prior() -> None:
    good = GaussianBelief.at(SPACE, {"a": 0.7, "b": 0.3}, 0.1)
    first = run(searcher("pibo", 3, belief=good), 3)
    plain = run(searcher("ucb", 3), 3)
    far = [max(abs(p["a"] - 0.7), abs(p["b"] - 0.3)) for p in first]
    assert max(far) < 0.15
    assert sum(bump(p) for p in first) > sum(bump(p) for p in plain)


def test_pibo_recovers_from_a_bad_prior() -> None:
    bad = GaussianBelief.at(SPACE, {"a": 0.0, "b": 1.0}, 0.25)
    points = run(searcher("pibo", 3, belief=bad), 80)
    assert max(abs(points[0]["a"]), abs(points[0]["b"] - 1.0)) < 0.2  # it was believed at first
    assert max(bump(p) for p in points[:10]) < 0.3
    assert max(bump(p) for p in points) > 0.9


def test_the_prior_of_the_reproduction_sits_at_the_best_initial_point() -> None:
    initial = design()
    best = max(initial, key=lambda pair: pair[1])[0]
    belief = pibo(SPACE, initial, 2.0)["acquisition"].belief
    at = SPACE.features(SPACE.encode(best)[None, :])
    assert belief(at)[0] == 0.0
    assert belief(at + 0.25)[0] == pytest.approx(-1.0)  # one standard deviation in each of two coordinates


# -- colabo


def test_colabos_samples_respect_the_prior() -> None:
    gp = posterior_of(4, noise=0.1)
    paths = draw_paths(gp, 400, np.random.default_rng(0))
    points = np.random.default_rng(1).random((300, 2))
    belief = GaussianBelief(np.array([0.2, 0.8]), 0.15)
    weights = belief_weights(paths, points, belief)
    where = points[paths(points).argmax(axis=0)]
    distance = np.linalg.norm(where - belief.centre, axis=1)
    assert weights.sum() == pytest.approx(1.0)
    assert weights @ distance < 0.5 * distance.mean()
    np.testing.assert_allclose(weights / weights.max(), np.exp(belief(where) - belief(where).max()))


def test_a_flat_belief_leaves_colabo_with_plain_ucb() -> None:
    gp = posterior_of(8)
    paths = draw_paths(gp, 4000, np.random.default_rng(0), n_features=1024)
    x = np.random.default_rng(2).random((6, 2))
    weights = belief_weights(paths, x, lambda x: np.zeros(len(x)))
    mean, std = gp.predict(x)
    np.testing.assert_allclose(monte_carlo_ucb(paths, weights, 2.576)(x), mean + 2.576 * std, atol=0.2)


def test_colabo_looks_where_the_belief_says_and_still_finds_the_top() -> None:
    good = GaussianBelief.at(SPACE, {"a": 0.7, "b": 0.3}, 0.1)
    points = run(searcher("colabo", 3, belief=good, n_paths=64), 3)
    assert max(bump(p) for p in points) > 0.9
    bad = GaussianBelief.at(SPACE, {"a": 0.0, "b": 1.0}, 0.3)
    points = run(searcher("colabo", 3, belief=bad, n_paths=64), 30)
    assert max(bump(p) for p in points) > 0.95
