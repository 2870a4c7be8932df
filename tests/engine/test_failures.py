"""Evaluations that fail, values that are none, and data as people have them."""

from __future__ import annotations

import json
import logging
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import make_gp

import ccgbo
from ccgbo import (
    Float,
    Int,
    Optimizer,
    ParamsError,
    SettingError,
    SpaceExhaustedError,
    TellError,
    UnsupportedError,
    log,
)
from ccgbo.acquisition.factors import SuccessFactor
from ccgbo.surrogate.distance import squared_distances

BOX = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
FAST: dict[str, Any] = {
    "n_initial": 4,
    "tuning": {"n_candidates": 64, "n_local": 32, "n_starts": 2, "search_steps": 10},
}


# -- failed evaluations


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float32("nan"), np.array([np.inf]), 10**400])
def test_a_value_that_is_not_finite_is_a_failure(value: Any) -> None:
    opt = Optimizer(BOX, seed=0)
    told = opt.tell(opt.ask(), value)
    assert (told.state, told.value) == ("failed", None)
    assert told.error in ("the value was nan", "the value was inf", "the value was -inf")


def test_a_failed_evaluation_is_recorded_and_kept_out_of_the_model() -> None:
    opt = Optimizer(BOX, seed=0, **FAST)
    for i in range(8):
        opt.tell(opt.ask(), float(i))
    trial = opt.ask()
    opt.tell(trial, failed=True, error="the oven broke")
    assert opt.trials[-1].state == "failed"
    assert opt.trials[-1].error == "the oven broke"
    assert len(opt.snapshot().model.rows) == 8
    assert len(opt.credits()) == 8
    with pytest.raises(TellError, match="already failed"):
        opt.tell(trial, 1.0)


def test_a_failure_with_a_value_is_refused() -> None:
    opt = Optimizer(BOX, seed=0)
    with pytest.raises(TellError, match="value must be None when failed=True, got 3"):
        opt.tell(opt.ask(), 3, failed=True)


def test_the_chance_of_success_is_as_documented() -> None:
    gp = make_gp(n=10, p=2)
    failed = np.array([[0.2, 0.9], [0.25, 0.85]])
    x = np.random.default_rng(0).random((7, 2))
    scale = 12 ** (-1 / 2)

    def rho(points: Any) -> Any:
        return gp.kernel.rho(squared_distances(x / scale, points / scale)).sum(axis=1)

    factor = SuccessFactor.build(gp, failed)
    assert factor is not None
    p = (0.1 * 10 / 12 + rho(gp.X)) / (0.1 + rho(gp.X) + rho(failed))
    assert factor(x) == pytest.approx(p**4)
    value, slope = factor.log_gradient(x)
    step = 1e-6 * np.eye(2)
    numeric = np.array([[np.log(factor(q + e)[0] / factor(q - e)[0]) / 2e-6 for e in step] for q in x[:, None]])
    assert value == pytest.approx(factor(x))
    assert slope == pytest.approx(numeric, rel=1e-4, abs=1e-7)


def test_without_failures_nothing_is_weighed() -> None:
    assert SuccessFactor.build(make_gp(p=2), np.empty((0, 2))) is None


@pytest.mark.parametrize("acquisition", ["ucb", "logei", "jes"])
def test_a_region_that_fails_is_avoided(acquisition: str) -> None:
    """A quarter of the space fails, right beside the top of a cone: after the first few, the suggestions know."""
    failed = []
    for seed in range(3):
        opt = Optimizer(BOX, seed=seed, acquisition=acquisition, **FAST)
        for _ in range(30):
            x, y = opt.ask().params.values()
            opt.tell(opt.pending[0], math.nan if x < 0.5 and y < 0.5 else -math.hypot(x - 0.45, y - 0.7))
        failed.append(sum(t.state == "failed" for t in opt.trials[10:]))
        assert opt.best_value == pytest.approx(0.0, abs=0.03)
    assert sum(failed) <= 15, f"of 20 suggestions of each seed {failed} failed"


def test_a_failed_point_is_never_suggested_again() -> None:
    opt = Optimizer({"n": (0, 9)}, seed=0, n_initial=2, allow_repeats=True)
    for _ in range(25):
        trial = opt.ask()
        opt.tell(trial, math.nan if trial.params["n"] in (4, 5) else -abs(trial.params["n"] - 4.4))
    suggested = [t.params["n"] for t in opt.trials]
    assert suggested.count(4) == 1
    assert suggested.count(5) == 1


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_all_of_the_first_evaluations_failing_is_survived(preset: str) -> None:
    opt = Optimizer(BOX, seed=0, preset=preset, **FAST)
    for trial in opt.ask(40):
        opt.tell(trial, failed=True)
    assert len({tuple(t.params.values()) for t in opt.trials}) == 40
    with pytest.raises(ccgbo.NoObservationsError, match="no trial has a value"):
        _ = opt.best_trial
    assert opt.result().recommended is None
    for i in range(7):
        opt.tell(opt.ask(), float(i))
    assert opt.explain(opt.trials[-1]).mean is not None


# -- the objective's own exceptions


def unreliable(x: float, y: float) -> float:
    if x > 0.7:
        raise RuntimeError(f"no convergence at {x}")
    return math.nan if y > 0.9 else -((x - 0.5) ** 2) - (y - 0.5) ** 2


def test_exceptions_inside_maximize_are_recorded_and_not_fatal() -> None:
    result = ccgbo.maximize(unreliable, BOX, n_trials=25, seed=0, progress=False, **FAST)
    failed = [t for t in result.trials if t.state == "failed"]
    assert len(result.trials) == 25
    assert any("no convergence" in (t.error or "") for t in failed)
    assert all(t.params["x"] > 0.7 or t.params["y"] > 0.9 for t in failed)
    assert result.best_value == pytest.approx(0.0, abs=0.05)


def test_an_exception_is_fatal_if_the_user_asks() -> None:
    with pytest.raises(ccgbo.ObjectiveError, match="no convergence"):
        ccgbo.maximize(unreliable, BOX, n_trials=25, seed=0, progress=False, on_error="raise", **FAST)


def test_an_objective_that_always_fails_ends_without_a_value() -> None:
    def broken(**params: float) -> float:
        raise ValueError(f"never, and not at {params}")

    result = ccgbo.minimize(broken, BOX, n_trials=15, seed=0, progress=False, on_error="continue", **FAST)
    assert [t.state for t in result.trials] == ["failed"] * 15
    with pytest.raises(ccgbo.NoObservationsError):
        _ = result.best_value


# -- values that are refused


@pytest.mark.parametrize(
    ("value", "error", "told"),
    [
        ("0.5", TellError, "value must be a number, got '0.5'"),
        (None, TellError, "value must be a number, got None"),
        (True, TellError, "value must be a number, got True"),
        (b"1", TellError, "value must be a number, got b'1'"),
        (1j, TellError, "value must be a number"),
        (object(), TellError, "value must be a number"),
        ([1.0, "a"], TellError, r"value\[1\], a reading, must be a finite number"),
        ((1.0, -2.0), TellError, r"value\[1\], a standard error, must be a finite number >= 0"),
        ((1.0, 2.0, 3.0), TellError, "value must be a number, a list of readings or a tuple"),
        (np.ones((2, 2)), UnsupportedError, "value must be one number: several are told"),
        ({"loss": 1.0, "time": 2.0}, UnsupportedError, "value must be one number: several are told"),
    ],
)
def test_a_value_that_is_no_number_is_refused_and_nothing_changes(
    value: Any, error: type[Exception], told: str
) -> None:
    opt = Optimizer(BOX, seed=0)
    trial = opt.ask()
    before = json.dumps(opt.state_dict())
    with pytest.raises(error, match=told):
        opt.tell(trial, value)
    with pytest.raises(error, match=told):
        opt.tell({"x": 0.5, "y": 0.5}, value)
    with pytest.raises(error, match=told):
        opt.tell_many([{"x": 0.5, "y": 0.5}] * 2, [1.0, value])
    assert json.dumps(opt.state_dict()) == before


@pytest.mark.parametrize("value", [1, 2.5, np.float32(2.5), np.int8(3), np.array(2.5), Fraction(1, 3), Decimal("0.1")])
def test_any_single_number_is_a_value(value: Any) -> None:
    opt = Optimizer(BOX, seed=0)
    assert opt.tell(opt.ask(), value).value == float(value)


@pytest.mark.parametrize(
    "asked",
    [{"direction": ["maximize", "minimize"]}, {"directions": ["maximize"]}, {"outcome_constraints": ["a <= 1"]}],
)
def test_several_objectives_and_outcome_constraints_are_mappings_of_names(asked: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match=r"objectives|outcome_constraints must be a mapping"):
        Optimizer(BOX, **asked)


# -- prior data


def smooth(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    return X, -((X - [0.3, 0.6]) ** 2).sum(axis=1) + 0.01 * rng.standard_normal(n)


def test_three_thousand_rows_are_taken_in_at_once() -> None:
    X, y = smooth(3000)
    opt = Optimizer(BOX, seed=0, **FAST | {"tuning": FAST["tuning"] | {"fit_points": 100}})
    told = opt.tell_many([{"x": a, "y": b} for a, b in X], y)
    assert [t.value for t in told] == y.tolist()
    trial = opt.ask()
    assert trial.origin == "model"
    assert math.hypot(trial.params["x"] - 0.3, trial.params["y"] - 0.6) < 0.3
    assert len(opt.snapshot().model.rows) == 3000


def test_beyond_max_points_the_model_keeps_some_observations_and_says_so(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "_reported", set())
    X, y = smooth(600)
    opt = Optimizer(BOX, seed=0, **FAST | {"tuning": FAST["tuning"] | {"max_points": 100}})
    opt.tell_many([{"x": a, "y": b} for a, b in X], y)
    with caplog.at_level(logging.WARNING, logger="ccgbo"):
        opt.ask(3)
    rows = opt.snapshot().model.rows
    assert set(np.argsort(-y)[:5]) <= set(rows)
    assert len(rows) == 100
    assert [r.getMessage() for r in caplog.records] == ["600 observations: the model keeps 100 of them"]
    assert len(opt.trials) == 603


def test_a_data_frame_is_prior_data() -> None:
    frame = pd.DataFrame({"x": [0.1, 0.5, 0.9], "y": [0.2, 0.6, 0.4], "score": [1.0, 2.0, float("nan")], "noise": 0.1})
    opt = Optimizer(BOX, seed=0)
    told = opt.tell_many(frame[["x", "y"]], frame["score"], noise_variance=frame["noise"])
    assert [t.state for t in told] == ["complete", "complete", "failed"]
    assert [t.noise_variance for t in told] == [0.1, 0.1, None]
    assert told[1].params == {"x": 0.5, "y": 0.6}
    json.dumps(opt.state_dict(), allow_nan=False)


def test_the_data_frame_of_a_run_is_prior_data_of_another() -> None:
    first = ccgbo.maximize(lambda x, n: x + n, {"x": (0.0, 1.0), "n": (1, 3)}, 6, seed=0, progress=False)
    frame = first.to_dataframe()
    second = ccgbo.Optimizer({"x": (0.0, 1.0), "n": (1, 3)}, seed=1)
    second.tell_many(frame, frame["value"])
    assert [(t.params, t.value) for t in second.trials] == [(t.params, t.value) for t in first.trials]


def test_an_inactive_parameter_is_a_missing_value_in_a_data_frame() -> None:
    space = {
        "kind": ["net", "tree", None],
        "layers": Int(1, 4, active_if={"kind": "net"}),
        "rate": Float(0.0, 1.0, active_if={"kind": "tree"}),
    }
    frame = pd.DataFrame({"kind": ["net", "tree", None], "layers": [3, None, None], "rate": [None, 0.5, None]})
    told = Optimizer(space, seed=0).tell_many(frame, [1.0, 2.0, 3.0])
    assert [dict(t.params) for t in told] == [
        {"kind": "net", "layers": 3},
        {"kind": "tree", "rate": 0.5},
        {"kind": None},
    ]
    assert isinstance(told[0].params["layers"], int)
    nullable = frame.astype({"layers": "Int64"})
    assert Optimizer(space, seed=0).tell_many(nullable, [1, 2, 3])[0].params["layers"] == 3


def test_a_missing_value_of_an_active_parameter_is_refused() -> None:
    with pytest.raises(ParamsError, match="must have a value for 'y'"):
        Optimizer(BOX, seed=0).tell_many(pd.DataFrame({"x": [0.1], "y": [None]}), [1.0])


@pytest.mark.parametrize(
    ("params", "values", "noise", "told"),
    [
        ([{"x": 0.5, "y": 0.5}], [1.0, 2.0], None, "must have one length, got 1, 2 and 1"),
        ([{"x": 0.5, "y": 0.5}], [1.0], [0.1, 0.1], "must have one length, got 1, 1 and 2"),
        ([{"x": 0.5, "y": 0.5}], [1.0], -1.0, "noise_variance must be None or a finite number >= 0, got -1.0"),
        ([{"x": 0.5, "y": 0.5}], [1.0], math.nan, "noise_variance must be"),
        ([{"x": 0.5, "y": 0.5}], 1.0, None, "must be lists"),
        ([{"x": 0.5, "y": 0.5}, {"x": 0.5, "y": -1.0}], [1.0, 2.0], None, r"y must be in \[0.0, 1.0\], got -1.0"),
    ],
)
def test_prior_data_that_do_not_fit_are_refused(params: Any, values: Any, noise: Any, told: str) -> None:
    opt = Optimizer(BOX, seed=0)
    with pytest.raises((TellError, ParamsError), match=told):
        opt.tell_many(params, values, noise_variance=noise)
    assert opt.trials == ()


# -- repeated and noisy observations


def test_repeated_observations_at_one_point_are_averaged() -> None:
    opt = Optimizer(BOX, seed=0, **FAST)
    rng = np.random.default_rng(0)
    for x in (0.1, 0.5, 0.9):
        for _ in range(15):
            opt.tell({"x": x, "y": 0.5}, x + 0.3 * rng.standard_normal())
    values = {x: [t.value for t in opt.trials if t.params["x"] == x] for x in (0.1, 0.5, 0.9)}
    model = opt.snapshot().model
    for x, seen in values.items():
        f = opt.space.features(opt.space.encode({"x": x, "y": 0.5})[None])
        mean = model.outcome.inverse(model.posterior.predict(f)[0])[0]
        assert mean == pytest.approx(np.mean(seen), abs=0.15)
    assert opt.ask().params not in [t.params for t in opt.trials[:-1]]


def test_a_known_noise_makes_an_observation_count_for_what_it_is_worth() -> None:
    points = [{"x": x, "y": 0.5} for x in (0.1, 0.3, 0.5, 0.7, 0.9)]
    values = [0.0, 0.1, 5.0, 0.1, 0.0]

    def belief(noise: list[float | None]) -> float:
        opt = Optimizer(BOX, seed=0, fit={"trend_prior": None})  # a parabola would bridge the doubted point
        for params, value, q in zip(points, values, noise, strict=True):
            opt.tell(params, value, noise_variance=q)
        model = opt.snapshot().model
        f = opt.space.features(opt.space.encode(points[2])[None])
        return float(model.outcome.inverse(model.posterior.predict(f)[0])[0])

    trusted, doubted = belief([1e-6] * 5), belief([1e-6, 1e-6, 100.0, 1e-6, 1e-6])
    assert trusted == pytest.approx(5.0, abs=0.1)
    assert doubted < 2.0


@pytest.mark.parametrize("noise", [0.0, 5e-324, 1e-300, 1e300])
def test_any_known_noise_is_survived(noise: float) -> None:
    opt = Optimizer(BOX, seed=0, **FAST)
    for i in range(6):
        opt.tell(opt.ask(), math.sin(i), noise_variance=noise)
    recommendation = opt.recommend()
    assert math.isfinite(recommendation.mean)


# -- used-up spaces


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_a_finished_grid_is_exhausted(preset: str) -> None:
    opt = Optimizer({"n": (1, 3), "c": ["a", "b"]}, seed=0, preset=preset, n_initial=3)
    seen = set()
    for i in range(6):
        trial = opt.ask()
        seen.add(tuple(trial.params.values()))
        opt.tell(trial, float(i))
    assert len(seen) == 6
    with pytest.raises(SpaceExhaustedError, match="allow_repeats=True"):
        opt.ask()


def test_a_grid_asked_for_at_once_is_exhausted_too() -> None:
    opt = Optimizer({"n": (1, 6)}, seed=0, n_initial=3)
    assert {t.params["n"] for t in opt.ask(6)} == {1, 2, 3, 4, 5, 6}
    with pytest.raises(SpaceExhaustedError):
        opt.ask()


def test_a_noisy_grid_is_revisited_if_the_user_says_so() -> None:
    rng = np.random.default_rng(0)
    opt = Optimizer({"n": (1, 6)}, seed=0, n_initial=3, allow_repeats=True)
    for _ in range(30):
        trial = opt.ask()
        opt.tell(trial, -abs(trial.params["n"] - 4) + 0.5 * rng.standard_normal())
    asked = [t.params["n"] for t in opt.trials]
    assert max(asked.count(n) for n in range(1, 7)) > 3
    assert opt.recommend().params == {"n": 4}


def test_a_space_of_one_point_is_exhausted_after_it() -> None:
    opt = Optimizer({"a": 3, "b": (2.0, 2.0)}, seed=0)
    opt.tell(opt.ask(), 1.0)
    with pytest.raises(SpaceExhaustedError):
        opt.ask()
    again = Optimizer({"a": 3, "b": (2.0, 2.0)}, seed=0, allow_repeats=True, n_initial=1)
    for i in range(5):
        again.tell(again.ask(), float(i))
    assert len(again.trials) == 5


def test_a_point_almost_equal_to_an_observation_is_not_suggested() -> None:
    """A noise-free function whose optimum has been found: no evaluation within a millionth of another."""
    opt = Optimizer({"x": (0.0, 1.0)}, seed=0, n_initial=3, **{k: v for k, v in FAST.items() if k != "n_initial"})
    for _ in range(30):
        trial = opt.ask()
        opt.tell(trial, -((trial.params["x"] - 0.3) ** 2), noise_variance=0.0)
    xs = sorted(t.params["x"] for t in opt.trials)
    assert min(np.diff(xs)) > 1e-6
