"""``outcome_transform="adaptive"``: values as they are, or as logarithms of their gaps to the best."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from ccgbo import Optimizer
from ccgbo.arrays import Array
from ccgbo.engine.fit_state import FitState
from ccgbo.engine.history import Data
from ccgbo.engine.model import Model, build_model
from ccgbo.engine.scales import COMPARED, LEAST_D, evidence, scale_of, scales_to_compare
from ccgbo.engine.settings import DEFAULT, Settings, resolve
from ccgbo.engine.settings_io import settings_from_dict, settings_to_dict
from ccgbo.metrics import AtLeast
from ccgbo.surrogate.gp.posterior import GP
from ccgbo.surrogate.outcome_transform import LOG_GAP, LogGap, Standardize

BOX = {f"x{i}": (0.0, 1.0) for i in range(LEAST_D)}
SETTINGS = resolve("default", LEAST_D)


def data_of(U: Array, values: Array) -> Data:
    return Data(U, U, values, np.full(len(U), np.nan))


def steep(n: int, seed: int = 0) -> Data:
    """A bowl to the fourth power, along a bent valley: values over six orders of magnitude."""
    return along_valley(np.random.default_rng(seed).random((n, LEAST_D)))


def along_valley(U: Array) -> Data:
    off = (U[:, 0] - 0.3) ** 2 + 4.0 * (U[:, 1] - U[:, 0] ** 2) ** 2 + ((U[:, 2:] - 0.6) ** 2).sum(axis=1)
    return data_of(U, -1e4 * off**4)


def noisy(n: int) -> Data:
    rng = np.random.default_rng(0)
    U = rng.random((n, LEAST_D))
    return data_of(U, U.sum(axis=1) + 0.3 * rng.standard_normal(n))


def run(opt: Optimizer, n: int) -> list[dict[str, Any]]:
    asked = []
    for _ in range(n):
        trial = opt.ask()
        asked.append(dict(trial.params))
        x = np.array([trial.params[name] for name in BOX])
        opt.tell(trial, -float(1e4 * (x[0] - 0.3) ** 2 + (x[1] - 0.7 * x[0]) ** 2 + ((x[2:] - 0.5) ** 2).sum()))
    return asked


def test_the_logarithm_is_taken_of_values_over_orders_of_magnitude_and_not_of_noise() -> None:
    assert build_model(steep(40), (), SETTINGS).fit.scale == LOG_GAP
    assert build_model(noisy(40), (), SETTINGS).fit.scale == "robust"


def test_the_gap_is_drawn_as_documented() -> None:
    gap = LogGap(best=5.0, unit=0.5, last=Standardize(0.0, 1.0))
    expected = [-np.log1p(16.0), -np.log1p(1.0), 0.0, 2.0]
    assert gap.forward(np.array([-3.0, 4.5, 5.0, 6.0])) == pytest.approx(expected)
    assert LogGap.fitted(np.array([0.0, 2.0, 3.0, 9.0])).unit == pytest.approx(6.5)
    assert LogGap.fitted(np.array([9.0, 2.0, 9.0, 9.0])).unit == pytest.approx(7.0)


def density(model: Model, values: Array) -> float:
    """log density of the values as they were told: by scipy, and by differences of the transform."""
    assert isinstance(model.posterior, GP)
    y, K = model.outcome.forward(values), model.posterior.L @ model.posterior.L.T
    step = 1e-7 * np.abs(values)
    slopes = (model.outcome.forward(values + step) - model.outcome.forward(values - step)) / (2.0 * step)
    return float(multivariate_normal(cov=K, allow_singular=True).logpdf(y) + np.log(slopes).sum())


@pytest.mark.parametrize("data", [steep(25), steep(25, seed=3), noisy(25)])
def test_the_likeliest_scale_is_that_of_the_largest_density_of_the_values_themselves(data: Data) -> None:
    theta = build_model(data, (), SETTINGS).fit.theta
    fits = [FitState(theta, 25, None, scale) for scale in ("robust", LOG_GAP)]
    models = [build_model(data, (), SETTINGS, None, fit, refit=False) for fit in fits]
    assert len({type(model.outcome) for model in models}) == 2
    for model in models:  # ours leaves out what is the same for all
        known = 12.5 * np.log(2.0 * np.pi) + density(model, data.values)
        assert evidence(model.posterior, model.outcome, data.values) == pytest.approx(known, abs=1e-3)
    plain = build_model(data, (), replace(SETTINGS, outcome_transform="robust"))
    assert density(build_model(data, (), SETTINGS), data.values) >= density(plain, data.values) - 1e-6


def test_a_new_best_moves_the_gaps_of_all_without_learning_anew() -> None:
    lazy = resolve("default", LEAST_D, tuning={"refit_growth": 1.0})
    data = steep(30)
    first = build_model(data, (), lazy)
    more = np.repeat([[0.75], [0.1]], LEAST_D, axis=1)
    better = data_of(np.vstack([data.U, more]), np.append(data.values, [data.values.max() / 9.0, -2000.0]))
    later = build_model(better, (), lazy, first, first.fit)
    assert first.on_log_scale and later.fit == first.fit
    assert isinstance(later.outcome, LogGap) and later.outcome.best == better.values.max()
    at_once = build_model(better, (), lazy, None, replace(first.fit, n=32, checksum=None), refit=False)
    np.testing.assert_allclose(later.mean, at_once.mean, rtol=1e-9)
    np.testing.assert_allclose(later.std, at_once.std, rtol=1e-9)
    assert build_model(better, (), lazy, later, later.fit) is later  # nothing was told since


def test_values_that_are_not_the_best_are_appended_as_on_any_scale() -> None:
    lazy = resolve("default", LEAST_D, tuning={"refit_growth": 1.0})
    U = steep(30).U
    data = along_valley(np.vstack([U, U[3] + 0.01]))
    assert data.values[30] < data.values.max()
    first = build_model(data[:30], (), lazy)
    later = build_model(data, (), lazy, first, first.fit)
    assert later.base is not None and later.outcome == first.outcome
    rebuilt = build_model(data, (), lazy, None, first.fit)
    np.testing.assert_array_equal(later.mean, rebuilt.mean)


def test_beyond_some_hundreds_the_scale_stays() -> None:
    data = noisy(COMPARED + 30)
    state = build_model(data[:50], (), SETTINGS).fit
    quick = replace(SETTINGS, tuning=replace(SETTINGS.tuning, max_iterations=1))
    kept = build_model(data, (), quick, None, replace(state, scale=LOG_GAP), refit=True)
    assert kept.fit.scale == LOG_GAP and build_model(data, (), quick).fit.scale == "robust"
    few = replace(quick, tuning=replace(quick.tuning, max_points=500, kept_points=100))
    assert build_model(data, (), few, None, replace(state, scale=LOG_GAP), refit=True).fit.scale == "robust"


def test_beyond_some_hundreds_a_new_best_is_appended_too() -> None:
    quick = resolve("default", LEAST_D, tuning={"max_iterations": 1, "refit_growth": 1.0})
    data = steep(COMPARED + 1)
    state = replace(build_model(data[:60], (), quick).fit, n=COMPARED + 1, checksum=None)
    first = build_model(data, (), quick, None, state, refit=False)
    best = int(data.values.argmax())
    better = data_of(np.vstack([data.U, data.U[best] + 1e-4]), np.append(data.values, 0.999 * data.values[best]))
    later = build_model(better, (), quick, first, first.fit)
    assert first.on_log_scale and later.base is not None and later.outcome == first.outcome
    assert better.values[-1] > data.values.max()


def test_choices_metrics_and_few_parameters_stay_on_their_own_scale() -> None:
    data = steep(30)
    few = data_of(data.U[:, : LEAST_D - 1], data.values)
    assert build_model(data, (), SETTINGS).on_log_scale and not build_model(few, (), SETTINGS).on_log_scale
    with_choice = data_of(data.U, data.values)
    with_choice.F[:, 0] = np.arange(30) % 3
    assert build_model(with_choice, ((0, 3),), SETTINGS).fit.scale == "robust"
    named = Optimizer(BOX, objective="f", outcome_constraints={"c": AtLeast(0.75)})
    assert named.settings.outcome_transform == "robust"


def spent(n: int = 24, **options: Any) -> Optimizer:
    opt = Optimizer(BOX, seed=0, **options)
    run(opt, n)
    return opt


def test_a_restored_optimizer_goes_on_bit_for_bit() -> None:
    opt = spent()
    again = Optimizer(BOX, seed=1)
    again.load_state_dict(json.loads(json.dumps(opt.state_dict())))
    assert again.snapshot().model.fit == opt.snapshot().model.fit
    assert run(opt, 6) == run(again, 6)


def test_an_explanation_says_on_which_scale_values_were_told_apart() -> None:
    opt = spent()
    trial = opt.ask()
    assert trial.explanation is not None and trial.explanation.on_log_scale
    assert "logarithm of their gaps to the best" in str(trial.explanation)
    other = spent(outcome_transform="robust").ask()
    assert other.explanation is not None and "logarithm" not in str(other.explanation)


def test_what_is_expected_is_said_in_the_users_units() -> None:
    opt = spent(30)
    model, told = opt.snapshot().model, np.array([t.value for t in opt.trials])
    mean, std = model.in_user_units(model.mean, model.std)
    assert model.on_log_scale
    assert np.corrcoef(mean, told)[0, 1] > 0.99 and (std > 0).all() and np.isfinite(std).all()


def test_settings_stored_before_stay_on_their_own_scale() -> None:
    data = settings_to_dict(DEFAULT)
    data["outcome_transform"] = "robust"
    before = settings_from_dict(data)
    assert before.outcome_transform == "robust"
    assert scale_of(before, FitState((0.0,), 1).scale) == "robust"


@pytest.mark.parametrize("mixed", [False, True])
def test_a_transform_that_is_named_is_the_only_one(mixed: bool) -> None:
    for preset, named in (("paper", "standardize"), (replace(DEFAULT, outcome_transform="robust"), "robust")):
        settings = resolve(preset, LEAST_D)
        for n in (10, COMPARED + 1, settings.tuning.max_points + 1):
            assert scales_to_compare(settings, None, n, LEAST_D, mixed=mixed) == (named,)


def test_the_logarithm_alone_is_no_setting() -> None:
    with pytest.raises(ValueError, match="outcome_transform must be"):
        Settings(outcome_transform=LOG_GAP)  # type: ignore[arg-type]
