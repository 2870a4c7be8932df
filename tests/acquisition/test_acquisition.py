"""Acquisition functions: gradients, stability, information, and one that a user writes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from conftest import make_gp
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import norm, truncnorm

import ccgbo
from ccgbo.acquisition import (
    ACQUISITIONS,
    EI,
    JES,
    MES,
    UCB,
    Context,
    LogEI,
    get_acquisition,
    value_and_gradient,
    weigh,
)
from ccgbo.acquisition.analytic import log_h
from ccgbo.credit.field import FIELDS, CreditSettings, credit_factor
from ccgbo.credit.scores import score
from ccgbo.errors import SettingError
from ccgbo.surrogate.gp.paths import draw_paths
from ccgbo.surrogate.gp.posterior import GP
from ccgbo.surrogate.optima import Optima, maximise_paths


def context(gp: GP, rng: np.random.Generator) -> Context:
    paths = draw_paths(gp, 8, rng)
    x = rng.random((100, gp.X.shape[1]))
    optima = maximise_paths(paths, x, np.ones((100 + len(gp.y), x.shape[1]), dtype=bool), steps=10)
    return Context(gp, float(gp.at_observations()[0].max()), optima, rng)


@pytest.mark.parametrize("trend", [0.0, 0.8])
@pytest.mark.parametrize("field", [None, *FIELDS])
@pytest.mark.parametrize("name", [n for n in ACQUISITIONS if n not in ("alternate", "ehvi", "scalarized")])
def test_gradients_match_finite_differences_plain_and_weighted(
    name: str, field: str | None, trend: float, rng: np.random.Generator
) -> None:
    gp = make_gp(trend=trend)
    ctx = context(gp, rng)
    acquisition = ACQUISITIONS[name]
    factor = None
    if field is not None:
        assert ctx.optima is not None
        credit = score(*gp.at_observations(), ctx.optima.z).credit
        factor = credit_factor(gp, credit, CreditSettings(strength=0.5, tau=3.0, field=field), 4)
    base, x = acquisition.bind(ctx), rng.random((100, 3))
    weighted, _ = weigh(base, base(x), acquisition.codomain, [factor], x)
    x, h = rng.random((6, 3)), 1e-3 if name == "ts" else 1e-5
    value, gradient = value_and_gradient(weighted, x)
    np.testing.assert_allclose(value, weighted(x), rtol=1e-6, atol=1e-6)
    for c in range(3):
        e = h * np.eye(3)[c]
        numeric = (weighted(x + e) - weighted(x - e)) / (2 * h)
        # a kNN field jumps where a neighbour changes, and has no slope there
        level = np.full(6, True) if factor is None or field == "smooth" else factor(x + e) == factor(x - e)
        assert level.sum() >= 5
        np.testing.assert_allclose(gradient[level, c], numeric[level], rtol=2e-3, atol=2e-3)


def test_log_ei_is_the_log_of_ei_where_ei_can_be_computed(rng: np.random.Generator) -> None:
    ctx = context(make_gp(), rng)
    x = rng.random((200, 3))
    ei, log_ei = EI().bind(ctx)(x), LogEI().bind(ctx)(x)
    usable = ei > 1e-280
    np.testing.assert_allclose(log_ei[usable], np.log(ei[usable]), rtol=1e-9)


def test_ei_is_the_expected_improvement_by_quadrature() -> None:
    for mean, std, best in ((0.3, 0.7, 0.5), (-1.0, 0.4, 0.2)):
        expected, _ = quad(lambda y, m=mean, s=std, b=best: max(y - b, 0) * norm.pdf(y, m, s), best, best + 12)
        assert std * math.exp(float(log_h(np.array((mean - best) / std)))) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("u", [5.0, 0.0, -0.999, -1.001, -8.0, -40.0, -999.0, -1001.0, -1e5, -1e9, -1e149])
def test_log_h_is_finite_and_increasing_for_any_argument(u: float) -> None:
    step = abs(u) * 1e-3 + 1e-6
    low, here, high = log_h(np.array([u - step, u, u + step]))
    assert np.isfinite(here)
    assert low < here < high


def test_log_h_matches_high_precision_reference_values() -> None:
    # log(phi(u) + u Phi(u)) by 50-digit arithmetic
    reference = {
        -2.0: -4.768783523917114,
        -10.0: -55.55312203612236,
        -40.0: -808.29856835662,
        -1e3: -500014.7344520912,
    }
    for u, expected in reference.items():
        assert float(log_h(np.array(u))) == pytest.approx(expected, rel=1e-12)


def test_log_h_is_continuous_where_its_forms_meet() -> None:
    for seam in (-1.0, -1e3):
        left, right = log_h(np.array([seam * (1 + 1e-12), seam * (1 - 1e-12)]))
        assert left == pytest.approx(right, rel=1e-9)


def test_mes_is_the_entropy_that_truncation_removes() -> None:
    gp = make_gp()
    x = np.array([[0.2, 0.4, 0.9]])
    mean, std = (float(v[0]) for v in gp.predict(x))
    z = mean + 1.3 * std
    ctx = Context(gp, 0.0, Optima(x, np.array([z])), np.random.default_rng(0))
    removed = norm(mean, std).entropy() - truncnorm(-40.0, 1.3, loc=mean, scale=std).entropy()
    assert MES().bind(ctx)(x)[0] == pytest.approx(float(removed), rel=1e-6)


@pytest.mark.parametrize("trend", [0.0, 0.8])
def test_jes_equals_conditioning_on_the_optimum_and_cutting_there(trend: float, rng: np.random.Generator) -> None:
    gp = make_gp(trend=trend)
    optimum, z, x = np.array([[0.7, 0.2, 0.5]]), 2.5, rng.random((6, 3))
    value = JES().bind(Context(gp, 0.0, Optima(optimum, np.array([z])), rng))(x)
    given_optimum = gp.condition(optimum, np.array([z]), np.array([1e-6]))
    mean, std = given_optimum.predict(x)
    cut = truncnorm(-np.inf, (z - mean) / std, loc=mean, scale=std).var()
    expected = 0.5 * np.log(gp.predict(x)[1] ** 2 + gp.hyper.noise) - 0.5 * np.log(cut + gp.hyper.noise)
    np.testing.assert_allclose(value, expected, atol=1e-4)


@pytest.mark.parametrize("acquisition", [EI(), MES(), JES()])
def test_nonnegative_acquisitions_are_nonnegative(acquisition: ccgbo.EI, rng: np.random.Generator) -> None:
    ctx = context(make_gp(), rng)
    assert acquisition.bind(ctx)(rng.random((300, 3))).min() >= 0.0


class ProbabilityOfImprovement:
    """The acquisition of the module's documentation, without a gradient."""

    codomain = "nonnegative"
    needs_optima = False

    def bind(self, context: Context):  # type: ignore[no-untyped-def]
        def probability(x: np.ndarray) -> np.ndarray:
            mean, std = context.posterior.predict(x)
            return ndtr((mean - context.incumbent) / std)

        return probability


def test_an_acquisition_that_a_user_writes_works_with_credit() -> None:
    opt = ccgbo.Optimizer({"x": (0.0, 1.0), "y": (0.0, 1.0)}, acquisition=ProbabilityOfImprovement(), seed=0)
    for _ in range(14):
        trial = opt.ask()
        opt.tell(trial, -((trial.params["x"] - 0.3) ** 2) - (trial.params["y"] - 0.6) ** 2)
    assert opt.explain(trial).acquisition == "ProbabilityOfImprovement"
    assert opt.best_value > -0.02


def test_central_differences_serve_a_score_without_gradient(rng: np.random.Generator) -> None:
    ctx = context(make_gp(), rng)
    bound, x = UCB().bind(ctx), np.concatenate([rng.random((4, 3)), [[0.0, 1.0, 0.5]]])
    np.testing.assert_allclose(value_and_gradient(lambda z: bound(z), x)[1][:4], bound.gradient(x)[1][:4], atol=1e-4)


def test_unknown_and_malformed_acquisitions_are_refused_by_name() -> None:
    with pytest.raises(SettingError, match=r"acquisition must be one of .* got 'pi'"):
        get_acquisition("pi")
    with pytest.raises(SettingError, match=r"must be a name or an acquisition: an object with .bind"):
        get_acquisition(3)
    with pytest.raises(SettingError, match=r"UCB.beta must be a number in \[0, 1000000\], got -1"):
        UCB(beta=-1)


def test_alternate_explores_with_credit_every_other_time_and_exploits_without() -> None:
    box, turns = {"x": (0.0, 1.0), "y": (0.0, 1.0)}, ccgbo.Alternate(explore=UCB())
    opt = ccgbo.Optimizer(box, acquisition=turns, credit={"credit_when": "always"}, seed=0)
    for _ in range(16):
        trial = opt.ask()
        opt.tell(trial, math.sin(7 * trial.params["x"]) - trial.params["y"] ** 2)
    made = [opt.explain(t) for t in opt.trials][10:]
    assert [why.acquisition for why in made] == ["LogEI", "UCB"] * 3
    assert all(why.weight == 1.0 for why in made[::2]) and all(why.weight < 1.0 for why in made[1::2])
    assert [len(why.neighbours) for why in made] == [0, 5] * 3, "credits are shown where they acted"


def test_the_default_exploits_at_every_turn_where_there_are_categoricals() -> None:
    opt = ccgbo.Optimizer({"x": (0.0, 1.0), "kind": ["a", "b"]}, seed=0)
    for _ in range(15):
        trial = opt.ask()
        opt.tell(trial, math.sin(7 * trial.params["x"]) - (trial.params["kind"] == "a"))
    made = [opt.explain(t) for t in opt.trials][10:]
    assert {(why.acquisition, why.weight) for why in made} == {("LogEI", 1.0)}


def test_alternate_needs_a_period_of_two_or_more() -> None:
    with pytest.raises(SettingError, match=r"Alternate.period must be None or a whole number >= 2, got 1"):
        ccgbo.Alternate(period=1)
