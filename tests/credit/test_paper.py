"""One test per equation of the paper (arXiv 2510.04676v2) and per trap of a plain transcription."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from conftest import covariance, make_gp

from ccgbo import Optimizer, lower_weight, regret_factor, upper_weight
from ccgbo.acquisition import UCB, Context, LogEI, weigh
from ccgbo.credit.field import KNNField, credit_factor, exponent
from ccgbo.credit.scores import credits, log_likelihood, ranks, raw_scores, score
from ccgbo.engine.candidates import global_candidates
from ccgbo.engine.settings import PAPER
from ccgbo.surrogate.distance import Metric
from ccgbo.surrogate.gp.paths import draw_paths
from ccgbo.surrogate.optima import maximise_paths

BOX = {"x": (0.0, 1.0), "y": (0.0, 1.0), "z": (0.0, 1.0)}


def f(x: float, y: float, z: float) -> float:
    return math.sin(5 * x) + math.cos(4 * y) - (z - 0.3) ** 2


def told(n: int, **settings: object) -> Optimizer:
    opt = Optimizer(BOX, seed=1, **settings)  # type: ignore[arg-type]
    rng = np.random.default_rng(7)
    for row in rng.random((n, 3)):
        params = dict(zip("xyz", map(float, row), strict=True))
        opt.tell(params, f(**params))
    return opt


# -- Sec. 4.2: proxy, likelihood, score, rank, credit


def test_z_is_the_mean_of_the_maxima_of_k_paths(rng: np.random.Generator) -> None:
    gp = make_gp()
    paths = draw_paths(gp, 25, rng)
    candidates = rng.random((200, 3))
    optima = maximise_paths(paths, candidates, np.ones((220, 3), dtype=bool))
    everywhere = np.concatenate([paths(candidates), paths(gp.X)])
    np.testing.assert_allclose(optima.maxima, everywhere.max(axis=0), atol=1e-6)
    assert optima.z == pytest.approx(everywhere.max(axis=0).mean(), abs=1e-6)


def test_paths_climb_to_at_least_the_best_candidate(rng: np.random.Generator) -> None:
    gp = make_gp()
    paths, candidates = draw_paths(gp, 25, rng), rng.random((50, 3))
    free = np.ones((70, 3), dtype=bool)
    flat, climbed = (maximise_paths(paths, candidates, free, steps=s) for s in (0, 20))
    assert np.all(climbed.maxima >= flat.maxima - 1e-6)
    assert climbed.z > flat.z
    np.testing.assert_allclose(paths.value_and_gradient_each(climbed.argmax)[0], climbed.maxima, atol=1e-6)
    assert climbed.argmax.min() >= 0.0 and climbed.argmax.max() <= 1.0


def test_eq_3_is_a_gaussian_density_with_variance_sigma_squared_plus_eps() -> None:
    mean, std, z, eps = np.array([0.0, 1.0]), np.array([0.5, 0.1]), 1.2, 1e-3
    var = std**2 + eps
    expected = np.exp(-((z - mean) ** 2) / (2 * var)) / np.sqrt(2 * np.pi * var)
    np.testing.assert_allclose(np.exp(log_likelihood(mean, std, z, eps=eps)), expected, rtol=1e-12)


def test_the_raw_score_is_likelihood_over_baseline_minus_one() -> None:
    lik = np.array([0.5, 1.0, 2.5])
    np.testing.assert_allclose(raw_scores(np.log(lik), eps=1e-6), lik / (lik.mean() + 1e-6) - 1.0)


def test_the_rank_counts_scores_not_above_its_own() -> None:
    s = np.array([0.3, -0.2, 0.3, 1.0, -1.0])
    expected = [(np.sum(s <= si) - 1) / (len(s) - 1) for si in s]
    np.testing.assert_array_equal(ranks(s), expected)


def test_credits_map_ranks_linearly_onto_floor_to_one() -> None:
    np.testing.assert_allclose(credits(np.array([0.0, 0.5, 1.0]), floor=0.1), [0.1, 0.55, 1.0])


def test_trap_1_underflow_makes_false_ties_in_the_naive_form_and_none_in_ours() -> None:
    mean, std = np.linspace(-3.0, 1.0, 12), np.full(12, 1e-3)
    naive = np.exp(-((2.0 - mean) ** 2) / (2 * (std**2 + 1e-6))) / np.sqrt(2 * np.pi * (std**2 + 1e-6))
    assert np.sum(naive == 0.0) == 12, "the naive likelihood underflows everywhere"
    assert len(set(ranks(naive))) == 1, "so that its ranks are all tied"
    ours = score(mean, std, 2.0)
    assert len(set(ours.rank)) == 12
    assert np.all(np.diff(ours.credit) > 0), "nearer to the proxy is more credit"


# -- Sec. 4.3: field, weight, shifted product


def test_the_field_is_the_mean_credit_of_the_h_nearest_over_the_largest(rng: np.random.Generator) -> None:
    X, c, x = rng.random((40, 3)), rng.uniform(0.1, 0.9, 40), rng.random((15, 3))
    nearest = np.argsort(((x[:, None] - X[None]) ** 2).sum(axis=2), axis=1)[:, :5]
    np.testing.assert_allclose(KNNField(X, c, 5)(x), c[nearest].mean(axis=1) / c.max(), rtol=1e-12)


def test_the_scaled_field_finds_its_neighbours_in_units_of_the_lengthscales(rng: np.random.Generator) -> None:
    X, c, x = rng.random((40, 3)), rng.uniform(0.1, 0.9, 40), rng.random((15, 3))
    scale = np.array([0.05, 1.0, 20.0])
    field = KNNField(X, c, 5, Metric(scale))
    nearest = np.argsort((((x[:, None] - X[None]) / scale) ** 2).sum(axis=2), axis=1)[:, :5]
    np.testing.assert_allclose(field(x), c[nearest].mean(axis=1) / c.max(), rtol=1e-12)
    far = x + np.array([0.0, 0.0, 0.5])  # along a parameter that hardly matters
    assert np.mean(field(far) == field(x)) > np.mean(KNNField(X, c, 5)(far) == KNNField(X, c, 5)(x))


def test_the_kd_tree_and_the_table_of_distances_find_the_same_neighbours(rng: np.random.Generator) -> None:
    X, c = rng.random((300, 4)), rng.uniform(0.1, 1.0, 300)
    field = KNNField(X, c, 5)
    x = rng.random((200, 4))  # 200 x 300 distances: the tree
    np.testing.assert_allclose(field(x), np.concatenate([field(row[None]) for row in x]), rtol=1e-12)


def test_eq_5_the_exponent_halves_at_t_equal_m() -> None:
    assert exponent(0, 3.0, 20.0) == 3.0
    assert exponent(20, 3.0, 20.0) == 1.5


def test_as_t_grows_the_weight_tends_to_one(rng: np.random.Generator) -> None:
    gp = make_gp()
    c, x = rng.uniform(0.1, 1.0, 20), rng.random((50, 3))
    weights = []
    for t in (0, 10, 1000, 10**7):
        factor = credit_factor(gp, c, replace(PAPER.credit, tau=3.0), t)
        assert factor is not None
        weights.append(factor.weight(x))
    assert np.all(np.diff(weights, axis=0) >= 0)
    np.testing.assert_allclose(weights[-1], 1.0, atol=1e-4)


def test_eq_4_multiplies_the_shifted_ucb_by_the_blend(rng: np.random.Generator) -> None:
    gp = make_gp()
    c, x = rng.uniform(0.1, 1.0, 20), rng.random((100, 3))
    settings = replace(PAPER.credit, tau=2.0)
    factor = credit_factor(gp, c, settings, 5)
    assert factor is not None
    base = UCB().bind(Context(gp, 0.0, None, rng))
    _, values = weigh(base, base(x), "real", [factor], x)
    mean, std = gp.predict(x)
    alpha = mean + 2.576 * std
    w = KNNField(gp.X, c, 5)(x) ** (2.0 / (1 + 5 / 20))
    np.testing.assert_allclose(values, (0.5 + 0.5 * w) * (alpha - alpha.min()), rtol=1e-12)
    assert values.min() == 0.0


def test_trap_2_degenerate_credits_give_the_base_acquisition_itself(rng: np.random.Generator) -> None:
    gp = make_gp()
    settings = PAPER.credit
    assert credit_factor(gp, np.full(20, 0.55), settings, 0) is None, "equal credits"
    assert credit_factor(make_gp(n=4), np.array([0.1, 0.4, 0.7, 1.0]), settings, 0) is None, "n < H"
    assert credit_factor(make_gp(n=1), np.ones(1), settings, 0) is None, "n = 1"
    lost = score(*gp.at_observations(), math.nan)
    assert credit_factor(gp, lost.credit, settings, 0) is None, "no proxy"
    base = UCB().bind(Context(gp, 0.0, None, rng))
    weighted, values = weigh(base, base(gp.X), "real", [None], gp.X)
    assert weighted is base
    np.testing.assert_array_equal(values, base(gp.X))


def test_trap_3_the_weight_is_never_applied_to_a_negative_surplus(rng: np.random.Generator) -> None:
    gp = make_gp()
    factor = credit_factor(gp, np.linspace(0.1, 1.0, 20), PAPER.credit, 0)
    assert factor is not None
    base = UCB().bind(Context(gp, 0.0, None, rng))
    x = rng.random((200, 3))
    top_half = x[np.argsort(base(x))[100:]]
    weighted, _ = weigh(base, base(top_half), "real", [factor], top_half)
    low = x[np.argsort(base(x))[:50]]
    np.testing.assert_array_equal(weighted(low), base(low) - base(top_half).min())


def test_trap_3_a_log_scale_acquisition_has_the_log_of_the_blend_added(rng: np.random.Generator) -> None:
    gp = make_gp()
    factor = credit_factor(gp, np.linspace(0.1, 1.0, 20), replace(PAPER.credit, tau=2.0), 3)
    assert factor is not None
    base = LogEI().bind(Context(gp, 0.5, None, rng))
    x = rng.random((50, 3))
    _, values = weigh(base, base(x), LogEI().codomain, [factor], x)
    np.testing.assert_allclose(values, base(x) + np.log(factor(x)), rtol=1e-12)


def test_trap_4_a_gradient_search_over_the_knn_field_sees_the_product(rng: np.random.Generator) -> None:
    gp = make_gp()
    factor = credit_factor(gp, np.linspace(0.1, 1.0, 20), PAPER.credit, 0)
    base = UCB().bind(Context(gp, 0.0, None, rng))
    candidates = rng.random((100, 3))
    weighted, _ = weigh(base, base(candidates), "real", [factor], candidates)
    x = rng.random((30, 3))
    np.testing.assert_allclose(weighted.gradient(x)[0], weighted(x), rtol=1e-9)  # type: ignore[attr-defined]


def test_trap_5_paths_are_joint_and_independent_draws_would_inflate_z(rng: np.random.Generator) -> None:
    gp = make_gp(noise=1e-4)
    x = rng.random((300, 3))
    z_joint = np.mean([draw_paths(gp, 50, rng)(x).max(axis=0).mean() for _ in range(4)])
    mean, std = gp.predict(x)
    z_independent = (mean[:, None] + std[:, None] * rng.standard_normal((300, 200))).max(axis=0).mean()
    exact = np.linalg.cholesky(covariance(gp, x, x) + 1e-8 * np.eye(300)) @ rng.standard_normal((300, 200))
    z_exact = (mean[:, None] + exact).max(axis=0).mean()
    assert abs(z_joint - z_exact) < 0.05
    assert z_independent > z_exact + 0.05


def test_trap_6_the_paper_preset_states_every_setting_of_the_paper() -> None:
    c = PAPER.credit
    assert (c.strength, c.half_life, c.n_paths, c.n_neighbours, c.floor) == (0.5, 20.0, 25, 5, 0.1)
    assert (c.field, c.credit_when) == ("knn", "always")
    assert UCB(beta=2.576) == PAPER.acquisition
    assert PAPER.initial_size(2) == 10 and PAPER.initial_size(8) == 16
    assert PAPER.fit.kernel == "matern52" and PAPER.fit.lengthscale_prior is None
    assert (PAPER.tuning.n_starts, PAPER.tuning.path_steps, PAPER.tuning.path_candidates) == (0, 0, None)
    assert not PAPER.tuning.quasi_random


# -- the whole loop


def test_lambda_zero_is_exactly_gp_ucb() -> None:
    opt = told(12, preset="paper", credit={"strength": 0.0})
    gp, rng = opt.snapshot().model.posterior, opt.generator()
    candidates = global_candidates(opt.space, opt.settings.tuning, rng)
    mean, std = gp.predict(candidates)
    best = candidates[np.argmax(mean + 2.576 * std)]
    assert opt.ask().params == opt.space.decode(best)


@pytest.mark.parametrize("preset", ["paper", "default"])
def test_tau_zero_weighs_everything_by_exactly_one(preset: str) -> None:
    opt = told(12, preset=preset, credit={"tau": 0.0}, acquisition="ucb")
    why = opt.explain(opt.ask())
    assert why.factor == 1.0 and why.weight == 1.0


def test_ask_maximises_the_credited_ucb_over_the_candidates() -> None:
    opt = told(15, preset="paper")
    trial = opt.ask()
    why = opt.explain(trial)
    assert why.t == 0 and why.acquisition == "UCB" and why.weight is not None and why.weight < 1.0
    assert len(why.neighbours) == 5
    shares = [n.credit for n in why.neighbours]
    assert why.weight == pytest.approx((np.mean(shares) / 1.0) ** PAPER.credit.tau, rel=1e-9)


def test_credits_are_those_that_the_next_ask_uses() -> None:
    opt = told(15, acquisition="ucb", credit={"credit_when": "always"})
    by_id = {row.trial_id: row.credit for row in opt.credits()}
    near = opt.explain(opt.ask()).neighbours
    assert len(near) == 5
    for neighbour in near:
        assert neighbour.credit == by_id[neighbour.trial_id]


def test_looking_at_credits_and_recommendations_does_not_change_what_is_asked() -> None:
    quiet, curious = told(14), told(14)
    curious.credits()
    curious.recommend()
    assert quiet.ask().params == curious.ask().params


def test_the_iteration_counts_suggestions_since_the_initial_design() -> None:
    opt = Optimizer(BOX, seed=0, n_initial=5)
    for _ in range(8):
        trial = opt.ask()
        opt.tell(trial, f(**trial.params))
    assert [opt.explain(t).t for t in opt.trials] == [None] * 5 + [0, 1, 2]


# -- Sec. 5: theory


def test_theorem_5_2_factor_is_largest_at_t_one_and_tends_to_one() -> None:
    kw = {"strength": 0.5, "tau": 5.0, "half_life": 20.0}
    ratio = [upper_weight(t, **kw) / lower_weight(t, **kw) for t in range(1, 400)]
    assert np.all(np.diff(ratio) < 0)
    assert regret_factor(399, **kw) == ratio[0]
    assert upper_weight(10**9, **kw) / lower_weight(10**9, **kw) == pytest.approx(1.0, abs=1e-6)
    assert regret_factor(10, strength=0.0, tau=5.0, half_life=20.0) == 1.0


def test_theorem_5_2_weights_bound_the_blend_everywhere(rng: np.random.Generator) -> None:
    gp = make_gp()
    settings = replace(PAPER.credit, strength=0.7, tau=3.0, half_life=15.0)
    scores = score(*gp.at_observations(), 2.0)
    for t in (1, 7, 50):
        factor = credit_factor(gp, scores.credit, settings, t)
        assert factor is not None
        blend = factor(rng.random((500, 3)))
        kw = {"strength": 0.7, "tau": 3.0, "half_life": 15.0}
        assert np.all(blend >= lower_weight(t, **kw) - 1e-12) and np.all(blend <= upper_weight(t, **kw) + 1e-12)


def test_theorem_5_1_more_paths_estimate_the_same_proxy_with_less_scatter(rng: np.random.Generator) -> None:
    gp, x = make_gp(), rng.random((100, 3))
    free = np.ones((120, 3), dtype=bool)

    def scatter_of(k: int) -> float:
        return float(np.std([maximise_paths(draw_paths(gp, k, rng), x, free).z for _ in range(30)]))

    assert scatter_of(64) < 0.5 * scatter_of(4)
