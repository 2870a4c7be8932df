"""A user's belief about the optimum, as piBO weighs it, alone and together with credit."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta, norm

from ccgbo import Float, NormalPrior, Optimizer, SettingError, Space
from ccgbo.acquisition.factors import PriorFactor, UserPrior
from ccgbo.engine.proposal import prior_factor

SPACE = Space({"x": (0.0, 1.0), "lr": Float(1e-5, 1e-1, log=True), "c": ["a", "b", "z"], "n": (1, 9)})
POINT = {"x": 0.5, "lr": 1e-3, "c": "a", "n": 5}


def log_ratio(prior: Any, better: dict[str, Any], worse: dict[str, Any]) -> float:
    belief = UserPrior(SPACE, prior)
    high, low = belief.log_density(np.array([SPACE.encode({**POINT, **p}) for p in (better, worse)]))
    return float(high - low)


@pytest.mark.parametrize(
    ("prior", "better", "worse", "expected"),
    [
        ({"x": NormalPrior(0.2, 0.1)}, {"x": 0.2}, {"x": 0.4}, 2.0),
        ({"lr": NormalPrior(-3.0, 0.5)}, {"lr": 1e-3}, {"lr": 1e-4}, 2.0),
        ({"n": NormalPrior(5, 2)}, {"n": 5}, {"n": 9}, 2.0),
        ({"c": {"a": 0.6, "b": 0.3}}, {"c": "a"}, {"c": "b"}, math.log(2.0)),
        ({"x": norm(0.2, 0.1)}, {"x": 0.2}, {"x": 0.4}, 2.0),
        ({"x": beta(2, 2)}, {"x": 0.5}, {"x": 0.25}, math.log(4 / 3)),
        ({"x": NormalPrior(0.2, 0.1), "n": NormalPrior(5, 2)}, {"x": 0.2, "n": 5}, {"x": 0.4, "n": 9}, 4.0),
        (lambda p: 3.0 if p["c"] == "a" else 1.0, {"c": "a"}, {"c": "z"}, math.log(3.0)),
    ],
)
def test_ratios_of_the_density_are_the_users(prior: Any, better: Any, worse: Any, expected: float) -> None:
    assert log_ratio(prior, better, worse) == pytest.approx(expected)


@pytest.mark.parametrize(
    "prior",
    [
        {"c": {"a": 1.0}},  # the others are impossible
        {"x": norm(0.5, 1e-300)},
        {"x": beta(0.5, 0.5)},  # infinite at both ends
        lambda _: 0.0,
        lambda _: 1e308,
        lambda p: math.inf if p["x"] > 0.5 else math.nan,
        lambda p: 5e-324 if p["x"] > 0.5 else 1e300,
        {"x": NormalPrior(1e300, 1e-300)},
    ],
)
def test_any_belief_leaves_a_positive_finite_weight_everywhere(prior: Any) -> None:
    belief = UserPrior(SPACE, prior)
    U = SPACE.sample(50, np.random.default_rng(0))
    U[:2, 0] = [0.0, 1.0]
    for power in (1e-3, 1.0, 1e4):
        factor = PriorFactor(belief, SPACE, power)
        weight, slope = factor.log_gradient(SPACE.features(U))
        assert (weight > 0).all()
        assert np.isfinite(weight).all()
        assert np.isfinite(slope).all()


def test_a_sharp_belief_in_many_dimensions_still_tells_places_apart() -> None:
    names = [f"x{i}" for i in range(12)]
    space = Space(dict.fromkeys(names, (0.0, 1.0)))
    for prior in ({n: NormalPrior(0.3, 0.02) for n in names}, {n: norm(0.3, 0.02) for n in names}):
        factor = PriorFactor(UserPrior(space, prior), space, 10.0)
        near, nearer, at = factor(np.array([[0.33] * 12, [0.31] * 12, [0.3] * 12]))
        assert near < nearer < at


def test_the_weight_is_the_density_to_the_power_strength_over_t() -> None:
    opt = Optimizer(SPACE, prior={"x": NormalPrior(0.2, 0.1)}, prior_strength=6.0, seed=0)
    opt.tell(POINT, 0.0)
    state, F = opt.snapshot(), SPACE.features(np.array([SPACE.encode({**POINT, "x": 0.4})]))
    for t, power in ((0, 6.0), (1, 6.0), (2, 3.0), (60, 0.1)):
        factor = prior_factor(replace(state, t=t))
        assert factor is not None
        assert math.log(factor(F)[0]) == pytest.approx(-2.0 * power, rel=1e-3)


def test_the_gradient_of_the_weight_is_that_of_its_logarithm() -> None:
    space = Space({"x": (0.0, 2.0), "y": (0.0, 1.0)})
    factor = PriorFactor(UserPrior(space, {"x": NormalPrior(0.5, 0.3)}), space, 2.0)
    _, slope = factor.log_gradient(np.array([[0.6, 0.5]]))
    assert slope[0] == pytest.approx([-2.0 * (1.2 - 0.5) / 0.3**2 * 2.0, 0.0], rel=1e-4)  # x = 2 u


def run(prior: Any, *, credit: bool = True, trials: int = 12, seed: int = 0, **settings: Any) -> Optimizer:
    opt = Optimizer({"x": (0.0, 1.0), "y": (0.0, 1.0)}, prior=prior, seed=seed, n_initial=3, credit=credit, **settings)
    for _ in range(trials):
        trial = opt.ask()
        opt.tell(trial, -((trial.params["x"] - 0.8) ** 2) - (trial.params["y"] - 0.15) ** 2)
    return opt


GOOD = {"x": NormalPrior(0.8, 0.05), "y": NormalPrior(0.15, 0.05)}
BAD = {"x": NormalPrior(0.1, 0.05), "y": NormalPrior(0.9, 0.05)}


@pytest.mark.parametrize("acquisition", ["ucb", "logei", "ts", "jes"])
@pytest.mark.parametrize("credit", [True, False])
def test_the_first_suggestions_follow_the_belief(acquisition: str, credit: bool) -> None:
    opt = run(GOOD, credit=credit, trials=4, acquisition=acquisition)
    first = opt.trials[3].params
    assert abs(first["x"] - 0.8) < 0.2
    assert abs(first["y"] - 0.15) < 0.2


def test_a_wrong_belief_is_overcome() -> None:
    opt = run(BAD, trials=40, prior_strength=2.0)
    assert opt.best_value == pytest.approx(0.0, abs=0.01)


def test_credit_and_belief_multiply() -> None:
    opt = run(GOOD, trials=20)
    factors = [(t.explanation.weight, t.explanation.factor) for t in opt.trials[8:] if t.explanation is not None]
    strength = opt.settings.credit.strength
    for (weight, factor), trial in zip(factors, opt.trials[8:], strict=True):
        u = opt.space.features(opt.space.encode(trial.params)[None])
        belief = prior_factor(replace(opt.snapshot(), t=trial.explanation.t))(u)[0]  # type: ignore[misc, union-attr, arg-type]
        assert factor == pytest.approx((1.0 - strength + strength * weight) * belief, rel=1e-6)  # type: ignore[operator]


def test_a_conditional_parameter_has_no_say_while_inactive() -> None:
    space = Space({"on": [False, True], "x": Float(0.0, 1.0, active_if={"on": True})})
    belief = UserPrior(space, {"x": NormalPrior(0.5, 0.1)})
    logs = belief.log_density(np.array([space.encode({"on": False}), space.encode({"on": True, "x": 0.5})]))
    assert logs == pytest.approx([0.0, 0.0], abs=1e-3)


@pytest.mark.parametrize(
    ("prior", "told"),
    [
        (3, "must be a mapping of parameters to distributions or a callable"),
        ({"q": NormalPrior(0, 1)}, "unknown parameter 'q'"),
        ({"x": 3}, r"prior\['x'\] must be a NormalPrior or have logpdf or pdf, got 3"),
        ({"c": NormalPrior(0, 1)}, r"prior\['c'\] must map choices to probabilities"),
        ({"c": {"q": 1.0}}, r"prior\['c'\] must name choices of 'c', got 'q'"),
        ({"c": {"a": -1.0}}, "probabilities >= 0"),
        ({"c": {"a": "much"}}, "probabilities >= 0"),
        ({"c": {"a": 0.0}}, "some choice a probability > 0"),
    ],
)
def test_a_belief_that_cannot_be_says_why(prior: Any, told: str) -> None:
    with pytest.raises(SettingError, match=told):
        Optimizer(SPACE, prior=prior)


@pytest.mark.parametrize("returned", [-1.0, "much", None, True])
def test_a_density_that_is_no_number_says_so(returned: Any) -> None:
    opt = Optimizer({"x": (0.0, 1.0)}, prior=lambda _: returned, seed=0, n_initial=1)
    opt.tell(opt.ask(), 1.0)
    with pytest.raises(SettingError, match="prior must return a number >= 0"):
        opt.ask()


def test_a_gaussian_needs_a_width() -> None:
    for mean, sd in ((math.nan, 1.0), (0.0, 0.0), (0.0, math.inf), ("a", 1.0)):
        with pytest.raises(SettingError, match=r"NormalPrior\.(mean|sd) must be"):
            NormalPrior(mean, sd)  # type: ignore[arg-type]
