"""What is said of the noise of an evaluation, and what model, incumbent and recommendation make of it."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern, WhiteKernel

import ccgbo
from ccgbo import Optimizer, SettingError
from ccgbo.cli import main
from ccgbo.engine.model import build_model
from ccgbo.engine.noise import EXACT_VARIANCE
from ccgbo.engine.recommend import _log_posterior, speaks_of_noise
from ccgbo.engine.step import OneObjective
from ccgbo.surrogate.gp.fit import hyper_of
from ccgbo.surrogate.gp.posterior import GP

BOX = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


def rough(x: float, y: float) -> float:
    """Steep and wavy, so that a model which allows for noise smooths it."""
    return math.sin(9.0 * x) * math.cos(7.0 * y) + 0.3 * math.sin(40.0 * x * y)


def told(seed: int = 0, n: int = 30, scatter: float = 0.3, **options: Any) -> Optimizer:
    """An optimizer that was told a fixed set of values, scattered by something that no model can see."""
    opt = Optimizer(BOX, seed=seed, **options)
    rng = np.random.default_rng(seed)
    points = [{"x": float(x), "y": float(y)} for x, y in rng.random((n, 2))]
    opt.tell_many(points, [rough(**p) + scatter * float(rng.standard_normal()) for p in points])
    return opt


def posterior_of(opt: Optimizer) -> GP:
    posterior = opt.snapshot().model.posterior
    assert isinstance(posterior, GP)
    return posterior


def test_unknown_noise_is_the_default_and_changes_nothing() -> None:
    assert told(noise="unknown").ask().params == told().ask().params
    assert Optimizer(BOX).settings.noise == "unknown"


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_exact_evaluations_are_never_recommended_below_the_best_seen(seed: int, direction: Any) -> None:
    opt = told(seed, direction=direction, noise="none")
    found = opt.recommend()
    assert (found.trial_id, found.mean, found.std) == (opt.best_trial.id, opt.best_value, 0.0)


def test_with_unknown_noise_the_recommendation_may_be_another_point_than_the_best_seen() -> None:
    """Of the same values: or the test above would show nothing."""
    unknown, exact = ([told(seed, scatter=1.0, noise=noise) for seed in range(4)] for noise in ("unknown", "none"))
    assert any(opt.recommend().trial_id != opt.best_trial.id for opt in unknown)
    assert all(opt.recommend().trial_id == opt.best_trial.id for opt in exact)


def searched(seed: int, n_trials: int = 20) -> Optimizer:
    """After a search of a smooth function that has no noise, of which nobody said so."""
    opt = Optimizer(BOX, direction="minimize", seed=seed)
    for _ in range(n_trials):
        trial = opt.ask()
        opt.tell(trial, smooth(**trial.params))
    return opt


def smooth(x: float, y: float) -> float:
    """Branin's function over the unit square, in tens."""
    x, y = 15.0 * x - 5.0, 15.0 * y
    valley = (y - 5.1 / (4.0 * math.pi**2) * x * x + 5.0 / math.pi * x - 6.0) ** 2
    return (valley + 10.0 * (1.0 - 1.0 / (8.0 * math.pi)) * math.cos(x) + 10.0) / 10.0


def test_where_values_show_no_noise_the_best_seen_is_recommended() -> None:
    searches = [searched(seed) for seed in range(6)]
    by_mean = [opt.observations[opt.snapshot().best].id for opt in searches]
    assert any(i != opt.best_trial.id for i, opt in zip(by_mean, searches, strict=True))  # or this would show nothing
    for opt in searches:
        found = opt.recommend()
        assert not speaks_of_noise(opt.snapshot(), opt._history.data())
        assert found.trial_id == opt.best_trial.id
        assert found.std > 0.0  # by the model, which was not told that they are exact
        assert opt.influence().recommended == found.trial_id


def test_without_the_recommended_trial_the_next_best_value_is_recommended_where_there_is_no_noise() -> None:
    opt = searched(0)
    ranked = sorted(opt.observations, key=lambda trial: float(trial.value or 0.0))
    instead = {row.trial_id: row.recommended for row in opt.influence()}
    assert instead.pop(ranked[0].id) == ranked[1].id
    assert set(instead.values()) == {ranked[0].id}


@pytest.mark.parametrize("seed", range(4))
def test_scattered_values_show_their_noise(seed: int) -> None:
    opt = Optimizer(BOX, seed=seed)
    rng = np.random.default_rng(seed)
    points = [{"x": float(x), "y": float(y)} for x, y in rng.random((40, 2))]
    opt.tell_many(points, [-smooth(**p) + 0.3 * float(rng.standard_normal()) for p in points])
    state = opt.snapshot()
    assert speaks_of_noise(state, opt._history.data())
    assert opt.recommend().trial_id == opt.observations[state.best].id


def test_a_point_that_was_measured_twice_shows_the_noise_of_its_two_values() -> None:
    opt = searched(1)
    assert not speaks_of_noise(opt.snapshot(), opt._history.data())
    for trial in opt.observations[:4]:
        opt.tell(trial.params, float(trial.value or 0.0) + 0.4)
    assert speaks_of_noise(opt.snapshot(), opt._history.data())


def test_a_slip_of_the_pen_is_not_recommended_unless_evaluations_are_exact() -> None:
    for options, slip_wins in (({}, False), ({"noise": "none"}, True)):
        opt = Optimizer({"x": (0.0, 1.0)}, seed=0, **options)
        for i in range(40):
            x = i / 39
            opt.tell({"x": x}, (100.0 if i == 33 else -1.0) * (x - 0.4) ** 2)  # of one the sign and two zeros are wrong
        slip = 33 if slip_wins else 16
        assert opt.best_trial.id == 33
        assert abs(opt.recommend().trial_id - slip) <= (0 if slip_wins else 2)


def test_noise_that_was_said_or_told_is_not_asked_for() -> None:
    opt = told(noise=0.3)
    assert speaks_of_noise(opt.snapshot(), opt._history.data())
    exact = told(noise="none")
    assert not speaks_of_noise(exact.snapshot(), exact._history.data())
    readings = searched(0)
    readings.tell({"x": 0.5, "y": 0.5}, [0.3, 0.31, 0.29])
    assert speaks_of_noise(readings.snapshot(), readings._history.data())


def test_with_and_without_noise_differ_by_what_an_independent_library_says() -> None:
    """Of a plain model: no trend, no priors, no drawn-in tails."""
    opt = told(n=25, preset="paper")
    state, data = opt.snapshot(), opt._history.data()
    y = (data.values - data.values.mean()) / data.values.std()
    for noise in ("unknown", "none"):
        settings = replace(state.settings, noise=noise)
        hyper = hyper_of(np.array(build_model(data, (), settings, None, state.model.fit, refit=True).fit.theta), 2)
        kernel = hyper.signal * Matern(hyper.lengthscales, nu=2.5) + WhiteKernel(hyper.noise)
        peer = GaussianProcessRegressor(kernel, optimizer=None, alpha=0.0).fit(data.F, y)
        theirs = peer.log_marginal_likelihood_value_ - len(y) * math.log(data.values.std())
        assert _log_posterior(settings, state, data) == pytest.approx(theirs, rel=1e-5)


def test_a_model_of_exact_evaluations_goes_through_every_value() -> None:
    gp = posterior_of(told(noise="none"))
    mean, _ = gp.at_observations()
    assert gp.noise_variance == pytest.approx(EXACT_VARIANCE)
    assert np.abs(mean - gp.y).max() < 1e-3
    assert np.abs(posterior_of(told()).at_observations()[0] - gp.y).max() > 1e-2


def test_the_incumbent_of_exact_evaluations_is_the_best_value() -> None:
    opt = told(noise="none")
    state = opt.snapshot()
    assert state.model.outcome.inverse(np.array([OneObjective(state).incumbent()]))[0] == pytest.approx(
        opt.best_value, rel=1e-9
    )


def test_a_known_standard_deviation_is_taken_in_the_units_of_the_values() -> None:
    opt = told(noise=0.3, outcome_transform="standardize")
    sd = float(np.std([trial.value for trial in opt.trials]))
    assert posterior_of(opt).noise == pytest.approx(np.full(30, (0.3 / sd) ** 2), rel=1e-6)
    assert posterior_of(opt).noise_variance == pytest.approx((0.3 / sd) ** 2, rel=1e-6)


def test_known_noise_does_not_depend_on_the_units() -> None:
    one, other = told(noise=0.3), Optimizer(BOX, seed=0, noise=300.0)
    other.tell_many([dict(t.params) for t in one.trials], [1000.0 * float(t.value or 0.0) for t in one.trials])
    a, b = one.ask().params, other.ask().params
    assert [a["x"], a["y"]] == pytest.approx([b["x"], b["y"]], abs=1e-5)


def test_what_an_evaluation_tells_of_its_noise_goes_before() -> None:
    opt = told(noise="none", outcome_transform="standardize")
    opt.tell({"x": 0.5, "y": 0.5}, (100.0, 50.0))
    noise = posterior_of(opt).noise
    assert noise[-1] > 1e3 * noise[:-1].max()
    assert opt.recommend().std > 0.0, "not every value is exact, so the model is asked"


def test_zero_is_none() -> None:
    assert told(noise=0).ask().params == told(noise="none").ask().params
    assert told(noise=0).recommend() == told(noise="none").recommend()


@pytest.mark.parametrize("noise", [-0.1, math.nan, math.inf, "some", True, [0.1]])
def test_what_cannot_be_a_noise_is_refused_by_its_name(noise: Any) -> None:
    with pytest.raises(
        SettingError, match=r"Settings.noise must be one of \['unknown', 'none'\] or a number >= 0, got"
    ):
        Optimizer(BOX, noise=noise)


@pytest.mark.parametrize("noise", ["none", 0.05, 1e-200, 1e200])
def test_any_noise_leads_through_a_run_and_into_a_study(noise: Any, tmp_path: Path) -> None:
    result = ccgbo.maximize(rough, BOX, 14, noise=noise, seed=0, progress=False, study=tmp_path / "s.db")
    assert len(result.trials) == 14
    with ccgbo.Study(tmp_path / "s.db") as study:
        assert study.settings.noise == noise
        if noise == "none":
            assert study.recommend().mean == study.best_value


def test_a_forest_of_exact_evaluations_recommends_the_best_seen() -> None:
    opt = told(noise="none", surrogate="forest")
    assert opt.recommend().trial_id == opt.best_trial.id


def command(*arguments: Any) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return int(ended.value.code or 0)


@pytest.mark.parametrize(("text", "noise"), [("none", "none"), ("0,1", 0.1), ("2.5", 2.5)])
def test_the_command_line_takes_the_noise(text: str, noise: Any, tmp_path: Path) -> None:
    space = tmp_path / "space.toml"
    space.write_text('[parameters.x]\ntype = "float"\nlow = 0.0\nhigh = 1.0\n')
    assert command("init", tmp_path / "s.db", "--space", space, "--noise", text) == 0
    with ccgbo.Study(tmp_path / "s.db") as study:
        assert study.settings.noise == noise


def test_the_command_line_refuses_a_noise_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("init", tmp_path / "s.db", "--space", "x.toml", "--noise", "much") == 2
    assert "'much' is neither 'unknown' nor 'none' nor a standard deviation." in capsys.readouterr().err
