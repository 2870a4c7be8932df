"""What is said while a metric was never measured, and of trials that break a bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ccgbo import AtMost, NoObservationsError, Optimizer
from ccgbo.diagnosis import Gain
from ccgbo.viz import ModelView

BOX = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
LAB: dict[str, Any] = {
    "objectives": {"yield": "maximize", "cost": "minimize"},
    "outcome_constraints": {"impurity": AtMost(0.5)},
}


def told(opt: Optimizer, n: int, f: Callable[..., dict[str, float]]) -> Optimizer:
    rng = np.random.default_rng(0)
    for _ in range(n):
        params = {"x": float(rng.random()), "y": float(rng.random())}
        opt.tell(params, f(**params))
    return opt


def test_an_objective_that_nobody_measured_is_named_and_not_called_no_value() -> None:
    opt = told(Optimizer(BOX, **LAB, seed=0), 4, lambda x, y: {"yield": x + y, "impurity": x * y})
    for ask in (opt.recommend, opt.credits, opt.hypervolume, opt.diagnose, opt.result().recommend):
        with pytest.raises(NoObservationsError, match="no observation of 'cost' yet, only of other metrics"):
            ask()
    assert "no observation of 'cost' yet" in repr(opt.result())


def test_objectives_that_no_trial_has_together_make_no_front_and_that_is_said() -> None:
    opt = Optimizer(BOX, **LAB, seed=0)
    opt.tell({"x": 0.1, "y": 0.2}, {"yield": 1.0})
    opt.tell({"x": 0.3, "y": 0.2}, {"cost": 1.0})
    with pytest.raises(NoObservationsError, match=r"no trial has a value of every objective yet, \['yield', 'cost'\]"):
        opt.hypervolume()


def test_a_bound_of_what_was_never_measured_is_not_kept_with_probability_one() -> None:
    opt = told(Optimizer(BOX, **LAB, seed=0), 6, lambda x, y: {"yield": x + y, "cost": x})
    found = opt.recommend()
    assert isinstance(found, tuple) and all(point.feasibility is None for point in found)
    assert all(row.feasibility is None for row in opt.credits())
    assert np.isnan(ModelView(opt).at([{"x": 0.5, "y": 0.5}]).feasibility).all()
    concerns = [str(concern) for concern in opt.diagnose().concerns]
    assert "'impurity' was never measured: whether any trial keeps it <= 0.5 is unknown." in concerns
    opt.amend(opt.trials[0], {"impurity": 0.1})
    assert all(row.feasibility is not None for row in opt.credits())
    assert not any(concern.kind == "never measured" for concern in opt.diagnose().concerns)


def test_only_a_feasible_trial_at_a_bound_speaks_for_a_wider_range() -> None:
    """The highest yield stands at the upper end of x, where it is impure; the best feasible one within."""
    given: dict[str, Any] = {"objective": "yield", "outcome_constraints": {"impurity": AtMost(0.5)}}
    opt = Optimizer(BOX, **given, seed=0)
    for x in (0.05, 0.2, 0.35, 0.45, 0.6, 0.8, 1.0):
        opt.tell({"x": x, "y": 0.5 + 0.3 * (x - 0.5) ** 2}, {"yield": x, "impurity": x})
    assert not [concern for concern in opt.diagnose().concerns if concern.kind == "bound"]
    free = Optimizer(BOX, objective="yield", seed=0)
    for trial in opt.trials:
        free.tell(trial.params, trial.values["yield"])
    (concern,) = [concern for concern in free.diagnose().concerns if concern.kind == "bound"]
    assert str(concern).startswith("the best yield lies at the upper bound of 'x', 1:")


def test_a_gain_beyond_a_hundred_per_cent_has_no_power_of_ten() -> None:
    gain = Gain(n=10, mean=4.1234, low=0.0, high=12.5, error=0.1, unit="hypervolume")
    assert gain.words() == ("410 % of the hypervolume", "1200 %")


def test_one_observation_is_one() -> None:
    opt = told(Optimizer(BOX, **LAB, seed=0), 1, lambda x, y: {"yield": x, "cost": y, "impurity": x})
    assert "1 observation, 0 pending" in repr(opt)
    assert str(opt.diagnose().concerns[0]).startswith("there is only 1 observation of 2 parameters")
