"""Whether to believe the model, against brute force and on data made to be doubted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ccgbo
from ccgbo.engine.model import build_model

BOX = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


def told(space: Any, f: Callable[..., float], points: list[dict[str, Any]], **options: Any) -> ccgbo.Optimizer:
    opt = ccgbo.Optimizer(space, seed=0, **options)
    opt.tell_many(points, [f(**p) for p in points])
    return opt


def scattered(n: int, seed: int = 0) -> list[dict[str, Any]]:
    return [{"x": float(x), "y": float(y)} for x, y in np.random.default_rng(seed).random((n, 2))]


def hill(x: float, y: float) -> float:
    return float(-((x - 0.3) ** 2) - 2.0 * (y - 0.6) ** 2)


def kinds(diagnosis: ccgbo.Diagnosis) -> set[str]:
    return {concern.kind for concern in diagnosis.concerns}


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_leaving_one_out_equals_building_the_model_without_it(direction: Any) -> None:
    opt = told(BOX, lambda x, y: hill(x, y) + 0.05 * np.sin(40.0 * x), scattered(12), direction=direction)
    state, data = opt.snapshot(), opt.data
    found = opt.diagnose().left_out
    y = state.model.outcome.forward(data.values)
    for i, row in enumerate(found):
        rest = np.delete(np.arange(12), i)
        gp: Any = state.model.posterior
        other = gp.restricted(rest)
        mean, std = other.predict(data.F[i : i + 1])
        value, deviation = state.model.in_user_units(mean, np.sqrt(std**2 + other.noise_variance))
        sign = 1.0 if direction == "maximize" else -1.0
        assert row.trial_id == i and row.value == opt.trials[i].value
        assert row.mean == pytest.approx(sign * float(value[0]), abs=1e-8)
        assert row.std == pytest.approx(float(deviation[0]), rel=1e-6)
        assert row.low < row.mean < row.high
    errors = (
        np.array(
            [state.model.outcome.forward(np.array([(1 if direction == "maximize" else -1) * r.mean]))[0] for r in found]
        )
        - y
    )
    others = np.array([np.delete(y, i).mean() for i in range(12)])
    assert opt.diagnose().r2 == pytest.approx(1.0 - (errors**2).sum() / ((y - others) ** 2).sum())


def test_bands_count_the_observations_inside_them() -> None:
    diagnosis = told(BOX, hill, scattered(25)).diagnose()
    assert set(diagnosis.coverage) == {50, 80, 95}
    assert diagnosis.coverage[95] == pytest.approx(np.mean([row.inside for row in diagnosis.left_out]))
    assert diagnosis.r2 is not None and diagnosis.r2 > 0.95
    assert "explains 9" in str(diagnosis) or "explains 100" in str(diagnosis)


def test_values_that_are_chance_are_no_better_predicted_than_by_their_mean() -> None:
    rng = np.random.default_rng(3)
    diagnosis = told(BOX, lambda **_: float(rng.standard_normal()), scattered(30)).diagnose()
    assert {"no better than the mean", "noise"} <= kinds(diagnosis)
    assert "no better than the mean of the values" in str(diagnosis)


def test_a_model_of_what_can_be_predicted_has_no_such_warning() -> None:
    assert not kinds(told(BOX, hill, scattered(25)).diagnose()) - {"too unsure"}


@pytest.mark.parametrize(("f", "side"), [(lambda x, y: x - y**2, "upper"), (lambda x, y: -x - y**2, "lower")])
def test_a_best_value_at_a_bound_is_told_with_the_name_of_the_parameter(f: Any, side: str) -> None:
    points = [*scattered(12), {"x": float(side == "upper"), "y": 0.0}]
    found = told({"x": (0.0, 1.0), "y": (-1.0, 1.0)}, f, points).diagnose().concerns
    (bound,) = [c for c in found if c.kind == "bound"]
    assert bound.parameters == ("x",) and f"the {side} bound of 'x', {float(side == 'upper'):g}" in bound.text


def test_a_bound_that_does_not_matter_is_not_told() -> None:
    points = [*scattered(14), {"x": 1.0, "y": 0.6}]
    assert "bound" not in kinds(told(BOX, lambda **p: -((p["y"] - 0.6) ** 2), points).diagnose())


def test_parameters_that_were_never_varied_apart_or_at_all_are_told() -> None:
    xs = np.random.default_rng(0).random(10)
    together = told(BOX, hill, [{"x": float(x), "y": float(1.0 - x)} for x in xs]).diagnose()
    (pair,) = [c for c in together.concerns if c.kind == "never apart"]
    assert pair.parameters == ("x", "y")
    fixed = told(BOX, hill, [{"x": float(x), "y": 0.5} for x in xs]).diagnose()
    (one,) = [c for c in fixed.concerns if c.kind == "never varied"]
    assert one.parameters == ("y",)


def test_choices_that_go_together_are_told() -> None:
    space = {"a": ["p", "q"], "b": [1, 2], "x": (0.0, 1.0)}
    points = [{"a": "pq"[i % 2], "b": 1 + i % 2, "x": i / 12} for i in range(12)]
    found = told(space, lambda **p: p["x"] + p["b"], points).diagnose().concerns
    assert [c.parameters for c in found if c.kind == "never apart"] == [("a", "b")]


def test_the_parts_of_a_mixture_are_not_said_to_be_never_varied_apart() -> None:
    space = ccgbo.Space({"p": (0.0, 1.0), "q": (0.0, 1.0)}, constraints=ccgbo.Mixture(["p", "q"]))
    points = [{"p": i / 10, "q": 1.0 - i / 10} for i in range(11)]
    assert "never apart" not in kinds(told(space, lambda p, q: p * q, points).diagnose())


def test_a_branch_that_was_hardly_tried_is_told() -> None:
    space = {"kernel": ["rbf", "poly", "linear"], "x": (0.0, 1.0)}
    points = [{"kernel": "rbf" if i else "poly", "x": i / 20} for i in range(20)]
    found = [c.text for c in told(space, lambda **p: p["x"], points).diagnose().concerns if c.kind == "hardly tried"]
    assert any("kernel = 'poly' was tried once in 20 trials" in text for text in found)
    assert any("kernel = 'linear' was never tried in 20 trials" in text for text in found)


def test_failures_and_few_observations_are_told() -> None:
    opt = told(
        {f"x{i}": (0.0, 1.0) for i in range(6)},
        lambda **p: p["x0"],
        [{f"x{i}": 0.1 * k for i in range(6)} for k in range(5)],
    )
    for _ in range(4):
        opt.tell(opt.ask(), failed=True)
    assert {"few observations", "failures"} <= kinds(opt.diagnose())


def test_looking_changes_nothing() -> None:
    one, other = (told(BOX, hill, scattered(12)) for _ in range(2))
    one.diagnose()
    one.expected_gain(5)
    assert one.ask().params == other.ask().params


def test_one_observation_and_equal_values_are_no_reason_to_fail() -> None:
    diagnosis = told(BOX, hill, scattered(1)).diagnose()
    assert diagnosis.r2 is None and not diagnosis.left_out and not diagnosis.gains
    assert "cannot be told from 1 observation" in str(diagnosis)
    assert told(BOX, lambda **_: 1.0, scattered(8)).diagnose().r2 is None
    with pytest.raises(ccgbo.NoObservationsError):
        ccgbo.Optimizer(BOX).diagnose()


def test_a_surrogate_that_cannot_leave_one_out_says_nothing_of_it() -> None:
    opt = told(BOX, hill, scattered(12), surrogate="forest")
    diagnosis = opt.diagnose()
    assert diagnosis.r2 is None and diagnosis.gains == () and opt.expected_gain() is None


def test_the_model_is_that_of_the_data_with_the_fit_held() -> None:
    """What the brute force above leans on: a model rebuilt with the same hyperparameters is the same."""
    opt = told(BOX, hill, scattered(12))
    state = opt.snapshot()
    again = build_model(opt.data, opt.space.choices, opt.settings, state=state.model.fit, refit=False)
    assert np.allclose(again.mean, state.model.mean)
