"""Ask and tell as a user meets them: answers, refusals, and odd data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import ccgbo
from ccgbo import Optimizer, SettingError, SpaceError, TellError, UnknownTrialError
from ccgbo.frames import COLUMNS

BOX = {"x": (-5.0, 10.0), "y": (0.0, 15.0)}


def branin(x: float, y: float) -> float:
    a = y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6
    return a * a + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def drive(opt: Optimizer, f: Any, n: int) -> Optimizer:
    for _ in range(n):
        trial = opt.ask()
        opt.tell(trial, f(**trial.params))
    return opt


@pytest.mark.parametrize("preset", ["default", "paper"])
@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_branin_is_solved_in_forty_evaluations(preset: str, direction: Any) -> None:
    sign = 1.0 if direction == "minimize" else -1.0
    opt = drive(Optimizer(BOX, direction=direction, preset=preset, seed=0), lambda **p: sign * branin(**p), 40)
    assert sign * opt.best_value < 0.398 + (0.1 if preset == "default" else 0.8)


def test_minimising_f_asks_what_maximising_minus_f_asks() -> None:
    down = drive(Optimizer(BOX, direction="minimize", seed=3), branin, 15)
    up = drive(Optimizer(BOX, direction="maximize", seed=3), lambda **p: -branin(**p), 15)
    assert [t.params for t in down.trials] == [t.params for t in up.trials]


@pytest.mark.parametrize("acquisition", ["ucb", "ei", "logei", "ts", "mes", "jes", "alternate"])
def test_every_acquisition_improves_on_its_initial_design(acquisition: str) -> None:
    opt = drive(Optimizer(BOX, direction="minimize", acquisition=acquisition, seed=1), branin, 25)
    values = [t.value for t in opt.trials]
    assert min(values[10:]) < min(values[:10])


def test_recommend_is_the_best_by_posterior_mean_not_the_luckiest_value() -> None:
    rng = np.random.default_rng(0)
    opt = Optimizer({"x": (0.0, 1.0)}, seed=0)
    for x in np.linspace(0, 1, 30):
        opt.tell({"x": float(x)}, -((x - 0.6) ** 2) * 4 + 0.05 * rng.standard_normal())
    opt.tell({"x": 0.05}, 0.4)  # a lucky outlier far from the optimum
    assert opt.best_params["x"] == 0.05
    advice = opt.recommend()
    assert abs(advice.params["x"] - 0.6) < 0.2
    assert advice.std > 0 and advice.mean < 0.4


def test_credits_have_one_row_per_observation_in_the_users_units() -> None:
    opt = drive(Optimizer(BOX, direction="minimize", seed=0), branin, 14)
    rows = opt.credits()
    assert [r.trial_id for r in rows] == [t.id for t in opt.trials]
    assert [r.value for r in rows] == [t.value for t in opt.trials]
    assert max(r.credit for r in rows) == 1.0 and min(r.credit for r in rows) == pytest.approx(0.1)
    for row in rows:
        assert row.credit == pytest.approx(0.1 + 0.9 * row.rank)
    best = min(rows, key=lambda r: r.value)
    assert best.credit > 0.8, "the best observation is among the most credited"


def test_explain_says_what_was_predicted_and_why() -> None:
    opt = drive(Optimizer(BOX, direction="minimize", acquisition="ucb", seed=0), branin, 14)
    assert opt.explain(0).reason == "initial design"
    trial = opt.ask()
    why = opt.explain(trial)
    assert why.mean is not None and why.std is not None and why.proxy is not None
    assert why.proxy < min(t.value for t in opt.trials if t.value is not None) + 5.0
    assert "credit of the trials around it" in str(why) and "UCB" in str(why)
    told = opt.tell({"x": 0.0, "y": 0.0}, branin(0.0, 0.0))
    assert opt.explain(told).reason == "told from elsewhere"


def test_data_from_elsewhere_counts_as_initial_design() -> None:
    opt = Optimizer(BOX, direction="minimize", seed=0)
    rng = np.random.default_rng(0)
    points = [
        {"x": float(x), "y": float(y)} for x, y in zip(rng.uniform(-5, 10, 12), rng.uniform(0, 15, 12), strict=True)
    ]
    opt.tell_many(points, [branin(**p) for p in points])
    assert opt.explain(opt.ask()).reason == "suggested by the model"


def test_repr_shows_settings_and_result_is_readable() -> None:
    opt = drive(Optimizer(BOX, direction="minimize", seed=0), branin, 12)
    assert "tau=20.0" in repr(opt) and "12 observations" in repr(opt)
    text = repr(opt.result())
    assert "12 trials" in text and "best value" in text and "x = " in text
    frame = opt.result().to_dataframe()
    assert list(frame.columns) == [*COLUMNS, "params_x", "params_y"] and len(frame) == 12
    assert frame.equals(opt.to_dataframe())


# -- refusals name the argument, the rule and the value, and change nothing


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ({}, "non-empty"),
        ({"x": (1.0, 0.0)}, r"low must be <= .*low=1.0, high=0.0"),
        ({"x": (0.0, math.inf)}, r"high must be a finite number, got inf"),
        ({"x": (0.0, math.nan)}, "finite number, got nan"),
        ({"x": []}, "must not be empty"),
        ({"x": (0.0, 1.0, 2.0)}, r"\(low, high\)"),
        ({"": (0.0, 1.0)}, "non-empty text"),
        ({"x": object()}, "must be a Float"),
        ({"x": (-1e308, 1.7e308)}, "finite"),
    ],
)
def test_impossible_spaces_are_refused(space: Any, message: str) -> None:
    with pytest.raises(SpaceError, match=message):
        Optimizer(space)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"preset": "best"}, r"preset must be one of \['default', 'paper'\] or a Settings, got 'best'"),
        ({"acquisition": "magic"}, r"acquisition must be one of .* got 'magic'"),
        ({"credit": {"strength": 1.5}}, r"CreditSettings.strength must be a number in \[0, 1\], got 1.5"),
        ({"credit": {"strength": -0.1}}, r"strength must be a number in \[0, 1\], got -0.1"),
        ({"credit": {"lambda": 0.5}}, r"credit has no setting 'lambda'"),
        ({"credit": {"half_life": 0.0}}, r"half_life must be a number > 0, got 0.0"),
        ({"direction": "up"}, r"direction must be one of \['maximize', 'minimize'\], got 'up'"),
        ({"seed": -1}, r"seed must be None or a whole number >= 0, got -1"),
        ({"n_initial": 0}, r"n_initial must be None or a whole number in \[1, 100000\], got 0"),
        ({"design": "grid"}, r"design must be one of .* got 'grid'"),
        ({"tuning": {"n_candidates": 0}}, r"n_candidates must be a whole number in \[1, 100000\], got 0"),
        ({"prior": 3}, "prior must be"),
    ],
)
def test_impossible_settings_are_refused(kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Optimizer(BOX, **kwargs)


@pytest.mark.parametrize("trial", [99, -1, "0", True, None, 1.5])
def test_telling_an_unknown_trial_is_refused(trial: Any) -> None:
    opt = Optimizer(BOX, seed=0)
    opt.ask()
    before = opt.state_dict()
    with pytest.raises(UnknownTrialError, match="no trial is known as"):
        opt.tell(trial, 1.0)
    assert opt.state_dict() == before


def test_telling_twice_and_telling_a_strangers_trial_are_refused() -> None:
    a, b = Optimizer(BOX, seed=0), Optimizer(BOX, seed=1)
    trial = a.ask()
    b.ask()
    a.tell(trial, 1.0)
    with pytest.raises(TellError, match="already complete"):
        a.tell(trial, 2.0)
    with pytest.raises(UnknownTrialError, match="another optimizer"):
        b.tell(trial, 1.0)
    assert a.trials[0].value == 1.0 and b.trials[0].state == "pending"


@pytest.mark.parametrize("noise", [-1.0, math.nan, math.inf, "0.1", True])
def test_impossible_noise_is_refused(noise: Any) -> None:
    opt = Optimizer(BOX, seed=0)
    with pytest.raises(TellError, match="noise_variance"):
        opt.tell(opt.ask(), 1.0, noise_variance=noise)
    assert opt.trials[0].state == "pending"


@pytest.mark.parametrize("n", [0, -3, 1.5, True, "2"])
def test_asking_for_no_whole_number_of_points_is_refused(n: Any) -> None:
    with pytest.raises(SettingError, match="n must be a whole number >= 1"):
        Optimizer(BOX, seed=0).ask(n)


def test_answers_before_any_observation_say_so() -> None:
    opt = Optimizer(BOX, seed=0)
    opt.ask()
    for question in (opt.recommend, opt.credits):
        with pytest.raises(ccgbo.NoObservationsError, match="no observation yet"):
            question()


# -- data of any size


@pytest.mark.parametrize("scale", [2.0**-40, 1024.0, 2.0**40])
def test_scaling_the_values_by_a_power_of_two_changes_no_bit_of_what_is_asked(scale: float) -> None:
    assert asked(scale, 0.0).tolist() == asked(1.0, 0.0).tolist()


@pytest.mark.parametrize(("scale", "shift"), [(3.0, 0.0), (1.0, 1000.0), (1.0, -1e6), (1024.0, -7e5), (1e-12, 5e-12)])
def test_scaling_and_shifting_the_values_does_not_change_what_is_asked(scale: float, shift: float) -> None:
    assert asked(scale, shift) == pytest.approx(asked(1.0, 0.0), abs=1e-4)


def asked(scale: float, shift: float) -> Any:  # (12, 2)
    opt = Optimizer(BOX, direction="minimize", seed=2, n_initial=6)
    drive(opt, lambda **p: scale * branin(**p) + shift, 12)
    return np.array([list(t.params.values()) for t in opt.trials])


def test_a_thousand_dimensions_work_without_a_setting() -> None:
    space = {f"x{i}": (0.0, 1.0) for i in range(1000)}
    opt = Optimizer(space, seed=0)
    assert opt.settings.initial_size(1000) == 40
    drive(opt, lambda **p: -sum((v - 0.3) ** 2 for v in list(p.values())[:4]), 42)
    assert [t.origin for t in opt.trials] == ["design"] * 40 + ["model"] * 2
    assert all(0.0 <= v <= 1.0 for v in opt.trials[-1].params.values())


def test_many_parameters_of_every_kind_work_without_a_setting() -> None:
    space = {f"x{i}": (0.0, 1.0) for i in range(18)} | {f"n{i}": (1, 9) for i in range(3)} | {"c": ["a", "b", "z"]}
    opt = Optimizer(space, seed=0, n_initial=6)
    drive(opt, lambda **p: -((p["x0"] - 0.3) ** 2) - 0.1 * p["n0"] + (p["c"] == "b"), 12)
    assert [t.origin for t in opt.trials[-6:]] == ["model"] * 6
    assert max(t.value for t in opt.trials[6:] if t.value is not None) > max(t.value for t in opt.trials[:6])


def test_an_acquisition_that_is_weighed_at_every_turn_has_moderate_credit() -> None:
    space = {"x": (0.0, 1.0)}
    alternating, always = Optimizer(space).settings.credit, Optimizer(space, acquisition="ucb").settings.credit
    assert (alternating.strength, always.strength, always.tau) == (1.0, 0.5, 5.0)
    assert Optimizer(space, acquisition="ucb", credit={"tau": 9.0}).settings.credit.tau == 9.0
    assert Optimizer(space, acquisition="ucb", credit=False).settings.credit.strength == 0.0
    sampling = Optimizer(space, acquisition="ts").settings.credit
    assert (sampling.strength, sampling.tau) == (1.0, alternating.tau), "the one that explores most keeps it all"


def in_the_middle(acquisition: str, value: Any, **credit: Any) -> Optimizer:
    """An optimizer that was told sixteen points of the middle of a square."""
    opt = Optimizer({"x": (0.0, 1.0), "z": (0.0, 1.0)}, seed=3, n_initial=1, acquisition=acquisition, credit=credit)
    for x, z in np.random.default_rng(5).uniform(0.25, 0.75, (16, 2)):
        opt.tell({"x": x, "z": z}, value(x, z))
    return opt


@pytest.mark.parametrize("acquisition", ["ucb", "ts"])
def test_credit_stands_back_where_the_model_expects_more_than_was_seen(acquisition: str) -> None:
    def slope(x: float, z: float) -> float:
        return x + z

    guided = in_the_middle(acquisition, slope, credit_when="base_mean_below_incumbent")
    trial, plain = guided.ask(), in_the_middle(acquisition, slope, strength=0.0).ask()
    why = guided.explain(trial)
    assert trial.params["x"] > 0.9 and trial.params["z"] > 0.9
    assert (why.weight, why.factor, why.neighbours) == (1.0, 1.0, ())
    if acquisition == "ucb":  # a sample depends on how many random numbers the credits took
        assert trial.params == plain.params


def test_credit_guides_where_the_base_would_leave_the_best_for_the_unknown() -> None:
    def waves(x: float, z: float) -> float:
        return math.sin(15.0 * x) + math.sin(15.0 * z)

    strong = {"strength": 1.0, "tau": 20.0}
    trials = [in_the_middle("ucb", waves, credit_when=g, **strong) for g in ("base_mean_below_incumbent", "always")]
    first, second = (opt.explain(opt.ask()) for opt in trials)
    assert first == second
    assert first.weight is not None and first.weight < 1.0 and len(first.neighbours) == 5
