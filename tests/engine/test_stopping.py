"""What more evaluations are expected to gain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ccgbo

BOX = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


def hill(x: float, y: float) -> float:
    return float(-((x - 0.3) ** 2) - 2.0 * (y - 0.6) ** 2)


def after(n: int, **options: Any) -> ccgbo.Optimizer:
    opt = ccgbo.Optimizer(BOX, seed=1, **options)
    for _ in range(n):
        trial = opt.ask()
        opt.tell(trial, hill(**trial.params) * (1.0 if opt.direction == "maximize" else -1.0))
    return opt


def gain_of(opt: ccgbo.Optimizer, n: int = 10) -> ccgbo.Gain:
    gain = opt.expected_gain(n)
    assert gain is not None
    return gain


def test_a_search_that_has_found_the_optimum_expects_to_gain_next_to_nothing() -> None:
    early, late = gain_of(after(6)), gain_of(after(30))
    assert early.mean > 0.0 and late.mean < 0.2 * early.mean
    assert early.low <= early.mean <= early.high


def test_more_evaluations_gain_no_less() -> None:
    opt = after(8)
    gains = [gain_of(opt, n).mean for n in (1, 5, 20)]
    assert gains == sorted(gains)


def test_a_gain_is_positive_in_either_direction() -> None:
    one, other = gain_of(after(7)), gain_of(after(7, direction="minimize"))
    assert one.mean > 0.0 and other.mean == pytest.approx(one.mean, rel=1e-6)


def test_the_gain_of_one_evaluation_is_the_expected_improvement_at_its_best() -> None:
    """On one path step the game is expected improvement itself, which the paths average to."""
    opt = after(8, outcome_transform="standardize")
    state = opt.snapshot()
    U = np.random.default_rng(0).random((4000, 2))
    mean, std = state.model.posterior.predict(opt.space.features(U))
    from scipy.stats import norm

    z = (mean - state.model.mean.max()) / std
    best = float((std * (z * norm.cdf(z) + norm.pdf(z))).max()) * float(state.model.outcome.slope(mean)[0])
    gain = gain_of(opt, 1)
    assert gain.mean == pytest.approx(best, abs=4.0 * gain.error + 0.1 * best)


@pytest.mark.parametrize(
    "space",
    [
        {"x": (0.0, 1.0), "kind": ["a", "b", "c"], "k": (1, 5)},
        ccgbo.Space({"x": (0.0, 1.0), "z": (0.0, 1.0)}, constraints=ccgbo.Mixture(["x", "z"])),
        ccgbo.Space({"x": (0.0, 1.0), "y": (0.0, 1.0)}, constraints=lambda p: p["x"] + p["y"] < 1.2),
    ],
    ids=["mixed", "mixture", "predicate"],
)
def test_every_kind_of_space_has_a_gain(space: Any) -> None:
    opt = ccgbo.Optimizer(space, seed=0)
    for _ in range(12):
        trial = opt.ask()
        opt.tell(trial, -((trial.params["x"] - 0.4) ** 2))
    assert np.isfinite(gain_of(opt).mean)


def test_a_gain_says_itself_in_words() -> None:
    said = str(gain_of(after(8)))
    assert said.startswith("another 10 evaluations are expected to gain") and "one of ten functions" in said


def test_the_number_of_evaluations_must_be_a_whole_number() -> None:
    with pytest.raises(ccgbo.SettingError, match="n must be a whole number"):
        after(3).expected_gain(2.5)  # type: ignore[arg-type]
