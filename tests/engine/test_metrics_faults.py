"""Faults that random histories with metrics brought to light, one each (benchmarks/fuzz.py)."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from ccgbo import AtMost, Optimizer, SettingError
from ccgbo.acquisition.feasibility import log_within
from ccgbo.pareto import hypervolume, reference_point
from ccgbo.viz.front_view import volumes

BOX = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
FAST: Any = {"n_initial": 3, "tuning": {"n_candidates": 64, "n_local": 16, "n_starts": 2, "search_steps": 8}}
TWO: Any = {"objectives": {"a": "maximize", "b": "minimize"}}


def told(opt: Optimizer, n: int, f: Any) -> Optimizer:
    """With the outcomes of ``f`` at random points."""
    rng = np.random.default_rng(0)
    for _ in range(n):
        params = {"x": float(rng.random()), "y": float(rng.random())}
        opt.tell(params, f(params))
    return opt


def two(p: Any) -> dict[str, float]:
    return {"a": p["x"] - p["y"] ** 2, "b": p["x"] ** 2 + p["y"]}


@pytest.mark.parametrize("acquisition", ["ehvi", "scalarized"])
def test_a_restored_optimizer_suggests_the_same_points_of_a_front(acquisition: str) -> None:
    """The quasi-random sample of a scalarisation was drawn by a generator that no state had."""
    first, second = (Optimizer(BOX, seed=s, **TWO, **FAST, acquisition=acquisition) for s in (0, 1))
    told(first, 8, two).ask()
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert first.ask(3) == second.ask(3)


def test_a_front_as_wide_as_numbers_go_has_a_reference_point_and_a_volume() -> None:
    opt = told(
        Optimizer(BOX, **TWO), 6, lambda p: {"a": 1.7e308 * (2.0 * p["x"] - 1.0), "b": 1.7e308 * (2.0 * p["y"] - 1.0)}
    )
    found = opt.hypervolume()
    assert math.isinf(found.value) and all(map(math.isfinite, found.reference.values()))
    assert found.value == volumes(opt.trials, opt.metrics)[0][-1]


def test_a_volume_that_fits_is_found_although_a_product_on_the_way_does_not() -> None:
    sides = np.array([[1e300, 1e300, 1e-300, 1e-290]])
    assert hypervolume(sides, np.zeros(4)) == pytest.approx(1e10)
    assert hypervolume(np.array([[1.5e308, 1.0]]), np.array([-1.5e308, 1.0 - 1e-9])) == pytest.approx(3e299)
    assert hypervolume(np.array([[1.5e308, 5e-324]]), np.array([-1.5e308, 0.0])) == pytest.approx(1.482e-15, rel=1e-3)


def test_the_reference_point_of_an_ordinary_front_is_a_tenth_below_it() -> None:
    Y = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert reference_point(Y, Y).tolist() == [-0.1, -0.1]


@pytest.mark.parametrize("mean", [-1e9, -1e3, 0.0, 1e3, 1e9])
@pytest.mark.parametrize("bounds", [(-math.inf, 0.0), (0.0, math.inf), (0.0, 1e-9), (-1e100, -1e99)])
def test_a_bound_any_number_of_deviations_away_has_a_slope(mean: float, bounds: tuple[float, float]) -> None:
    found = log_within(np.full(2, mean), np.array([1e-6, 1.0]), *bounds)
    assert all(np.isfinite(part).all() for part in found)


def test_what_values_near_the_largest_float_may_gain_is_finite() -> None:
    opt = told(Optimizer(BOX, **FAST), 12, lambda p: 1.6e308 * math.cos(6.0 * p["x"]) * p["y"])
    gain = opt.expected_gain(3)
    assert gain is not None
    assert all(map(math.isfinite, (gain.mean, gain.low, gain.high, gain.error)))
    assert str(opt.diagnose())


def test_infeasible_everywhere_at_any_scale_is_searched() -> None:
    opt = Optimizer(BOX, objective="f", outcome_constraints={"c": AtMost(-1e300)}, seed=0, **FAST)
    told(opt, 6, lambda p: {"f": p["x"], "c": p["y"]})
    why = opt.ask().explanation
    assert why is not None and why.feasibility is not None and 0.0 <= why.feasibility < 1.0


@pytest.mark.parametrize("surrogate", ["stacked", "forest"])
def test_a_field_that_a_surrogate_cannot_have_is_refused_before_anything_is_evaluated(surrogate: str) -> None:
    with pytest.raises(SettingError, match=f"must be 'knn' or 'knn-scaled' for surrogate='{surrogate}', got 'smooth'"):
        Optimizer(BOX, surrogate=surrogate, credit={"field": "smooth"})
