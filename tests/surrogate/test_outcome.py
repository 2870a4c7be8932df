"""The map between the user's values and the model's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from space_strategies import CHOICES  # noqa: F401 - loads the profile

from ccgbo import Optimizer, SettingError
from ccgbo.engine.explain import in_user_units
from ccgbo.engine.settings import PAPER
from ccgbo.surrogate.outcome_transform import OUTCOMES, Robust, Standardize, fit_outcome

any_value = st.floats(allow_nan=False, allow_infinity=False)
values = st.lists(any_value, min_size=1, max_size=40)


@pytest.mark.parametrize("name", sorted(OUTCOMES))
@given(values, values)
def test_any_finite_values_become_finite_numbers_in_the_same_order(
    name: str, seen: list[float], later: list[float]
) -> None:
    outcome = fit_outcome(name, np.array(seen))
    y = outcome.forward(np.array(seen))
    assert np.abs(y).max() < 1e3
    for told in (np.array(seen), np.array(later)):
        forward = outcome.forward(told)
        assert np.isfinite(forward).all()
        assert (np.diff(forward[np.argsort(told, kind="stable")]) >= 0).all()
        back = outcome.inverse(forward)
        assert np.isfinite(back).all()
        slope = outcome.slope(forward)
        assert np.isfinite(slope).all()
        assert (slope > 0).all()


@pytest.mark.parametrize("name", sorted(OUTCOMES))
@given(st.lists(st.floats(-1e6, 1e6).map(lambda v: round(v, 3)), min_size=3, max_size=30))
def test_the_way_back_ends_where_it_began(name: str, seen: list[float]) -> None:
    told = np.array(seen)
    outcome = fit_outcome(name, told)
    assert outcome.inverse(outcome.forward(told)) == pytest.approx(told, rel=1e-6, abs=1e-6 * max(np.ptp(told), 1e-300))


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12, 1e300, 1e-290])
def test_standardised_values_have_mean_zero_and_deviation_one(scale: float) -> None:
    told = scale * np.random.default_rng(0).standard_normal(50)
    y = Standardize.fitted(told).forward(told)
    assert y.mean() == pytest.approx(0.0, abs=1e-9)
    assert y.std() == pytest.approx(1.0)


@pytest.mark.parametrize("constant", [0.0, 5.0, -1e300, 1e-300, 5e-324])
def test_equal_values_become_zeros(constant: float) -> None:
    for name in OUTCOMES:
        assert fit_outcome(name, np.full(5, constant)).forward(np.full(5, constant)) == pytest.approx(
            np.zeros(5), abs=1e-12
        )


def test_the_slope_is_the_derivative_of_the_inverse() -> None:
    told = np.random.default_rng(0).standard_t(1.5, size=60)
    for name in OUTCOMES:
        outcome = fit_outcome(name, told)
        y = np.linspace(-2.0, 2.0, 41)
        numeric = (outcome.inverse(y + 1e-6) - outcome.inverse(y - 1e-6)) / 2e-6
        assert outcome.slope(y) == pytest.approx(numeric, rel=1e-4)


def test_the_robust_formula_is_as_documented() -> None:
    robust = Robust(Standardize(1.0, 2.0), Standardize(0.0, 1.0), knee=2.0)
    z = np.array([-1.5, 0.0, 1.9, 2.0, 10.0, -1e6])
    bent = np.where(np.abs(z) <= 2.0, z, np.sign(z) * (2.0 + np.log1p(np.log1p(np.maximum(np.abs(z) - 2.0, 0.0)))))
    assert robust.forward(1.0 + 2.0 * z) == pytest.approx(bent)


def test_a_wild_value_leaves_the_others_as_they_were() -> None:
    """Standardised by mean and deviation the others become one number; the robust map keeps their spread."""
    calm = np.random.default_rng(0).standard_normal(49)
    told = np.append(calm, -1e12)
    assert np.ptp(Standardize.fitted(told).forward(told)[:-1]) < 1e-9
    alone, together = Robust.fitted(calm).forward(calm), Robust.fitted(told).forward(told)[:-1]
    assert np.ptp(together) > 0.7 * np.ptp(alone)


def test_wild_values_mislead_the_robust_optimizer_less() -> None:
    """One value in ten is off by ten thousand, up or down: the regret of the best mean, over seeds."""

    def mean_regret(outcome: str, recommended: bool = False) -> float:
        regrets = []
        for seed in range(56):
            rng = np.random.default_rng(seed)
            X = rng.random((60, 2))
            wild = (rng.random(60) < 0.1) * 1e4 * rng.choice([-1.0, 1.0], 60)
            opt = Optimizer({"x": (0.0, 1.0), "y": (0.0, 1.0)}, seed=seed, outcome_transform=outcome)
            opt.tell_many([{"x": x, "y": y} for x, y in X], wild - ((X - [0.3, 0.7]) ** 2).sum(axis=1))
            best = opt.recommend().params if recommended else opt.observations[opt.snapshot().best].params
            regrets.append((best["x"] - 0.3) ** 2 + (best["y"] - 0.7) ** 2)
        return float(np.mean(regrets))

    assert mean_regret("robust") < 0.5 * mean_regret("standardize")
    assert mean_regret("robust", recommended=True) < mean_regret("robust")


def test_the_robust_map_is_off_unless_asked_for_in_the_paper_preset() -> None:
    assert PAPER.outcome_transform == "standardize"
    with pytest.raises(SettingError, match="outcome_transform must be one of"):
        Optimizer({"x": (0.0, 1.0)}, outcome_transform="log")


@pytest.mark.parametrize("outcome", ["adaptive", "robust", "standardize"])
def test_a_deviation_in_user_units_is_finite_for_the_largest_values(outcome: Any) -> None:
    opt = Optimizer({f"x{i}": (0.0, 1.0) for i in range(8)}, seed=0, n_initial=2, outcome_transform=outcome)
    for x, value in ((0.1, 1.7e308), (0.5, -1.7e308), (0.9, 1.0)):
        opt.tell({f"x{i}": x for i in range(8)}, value)
    best = opt.recommend()
    assert math.isfinite(best.mean)
    assert math.isfinite(best.std)
    model = opt.snapshot().model
    assert all(math.isfinite(v) for v in in_user_units(model, 30.0, 1000.0, -1.0))
