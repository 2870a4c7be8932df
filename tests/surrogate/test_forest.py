"""The forest is a posterior like any other: through the optimizer, with credit, in mixed spaces, resumed."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from ccgbo import Optimizer
from ccgbo.errors import SettingError
from ccgbo.surrogate.base import JointPosterior
from ccgbo.surrogate.forest import STD_FLOOR, Forest

MIXED = {"c": ["a", "b", "c"], "n": (1, 9), "x": (0.0, 1.0)}
SMALL = {"n_candidates": 64, "n_local": 16}


def draw(n: int = 40, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.random(n), rng.integers(-1, 3, n)])
    return X, np.where(X[:, 0] > 0.5, 1.0, -1.0) + 0.5 * (X[:, 1] == 2)


def value(params: Any) -> float:
    return float((params["c"] == "b") - (params["x"] - 0.7) ** 2 - 0.01 * (params["n"] - 4) ** 2)


def run(opt: Optimizer, n: int) -> list[dict[str, Any]]:
    asked = []
    for _ in range(n):
        trial = opt.ask()
        opt.tell(trial, value(trial.params))
        asked.append(dict(trial.params))
    return asked


@pytest.mark.parametrize("size", [3, 500])
def test_a_step_and_a_choice_are_learned(size: int) -> None:
    forest = Forest.from_data(*draw(120), choices=((1, size),))
    x = np.array([[0.2, 0.0], [0.8, 0.0], [0.8, 2.0], [0.8, -1.0]])
    mean, std = forest.predict(x)
    assert mean == pytest.approx([-1.0, 1.0, 1.5, 1.0], abs=0.2)
    assert (std >= STD_FLOOR).all() and np.array_equal(forest.predict_mean(x), mean)


def test_paths_are_trees_whose_mean_and_spread_are_the_prediction() -> None:
    X, y = draw()
    forest = Forest.from_data(X, y, ((1, 3),))
    paths = forest.paths(4000, np.random.default_rng(0))
    mean, std = forest.predict(X)
    np.testing.assert_allclose(paths.at_data.mean(axis=1), mean, atol=0.05)
    np.testing.assert_allclose(paths.at_data.std(axis=1), std, atol=0.05)
    few = paths.select(np.array([3, 3, 7]))
    values, slope = few.value_and_gradient_each(X[:3])
    assert np.array_equal(values, np.diag(few(X[:3]))) and not slope.any()


def test_a_fantasy_is_believed_and_the_same_data_grow_the_same_trees() -> None:
    X, y = draw()
    forest, again = (Forest.from_data(X, y, ((1, 3),)) for _ in range(2))
    assert np.array_equal(forest.predict(X), again.predict(X))
    more = forest.condition(np.tile([[0.1, 0.0]], (20, 1)), np.full(20, 3.0))
    assert more.predict(np.array([[0.1, 0.0]]))[0][0] > 2.0
    assert len(forest.y) == 40 and not isinstance(forest, JointPosterior)


@pytest.mark.parametrize("acquisition", ["ucb", "ei", "logei", "ts", "mes"])
@pytest.mark.parametrize("credit", [True, False])
def test_every_acquisition_of_mean_and_spread_finds_the_good_choice(acquisition: str, credit: bool) -> None:
    opt = Optimizer(MIXED, surrogate="forest", acquisition=acquisition, credit=credit, seed=0, tuning=SMALL)
    run(opt, 22)
    assert opt.recommend().params["c"] == "b"
    why = opt.explain(opt.trials[-1])
    assert (why.neighbours != ()) == credit and len(opt.credits()) == 22


def test_the_default_preset_explores_with_ucb_where_there_are_no_joint_predictions() -> None:
    opt = Optimizer({"x": (0.0, 1.0)}, surrogate="forest", seed=0, tuning=SMALL)
    names = []
    for _ in range(14):
        trial = opt.ask()
        opt.tell(trial, -((trial.params["x"] - 0.3) ** 2))
        names.append(opt.explain(trial).acquisition)
    assert names[10:] == ["LogEI", "UCB"] * 2


def test_a_resumed_forest_suggests_the_same() -> None:
    whole, cut = (Optimizer(MIXED, surrogate="forest", seed=5, tuning=SMALL) for _ in range(2))
    expected = run(whole, 16)
    first = run(cut, 12)
    fresh = Optimizer(MIXED, surrogate="forest", seed=1, tuning=SMALL)
    fresh.load_state_dict(json.loads(json.dumps(cut.state_dict())))
    assert first + run(fresh, 4) == expected


def test_a_batch_keeps_apart_and_failures_are_taken() -> None:
    opt = Optimizer(MIXED, surrogate="forest", seed=2, tuning=SMALL)
    run(opt, 12)
    opt.tell(opt.ask(), failed=True)
    assert len({tuple(trial.params.values()) for trial in opt.ask(3)}) == 3


def test_what_needs_joint_predictions_is_refused_at_construction() -> None:
    with pytest.raises(SettingError, match="without joint predictions for surrogate='forest', got JES"):
        Optimizer(MIXED, surrogate="forest", acquisition="jes")
    with pytest.raises(SettingError, match="must be 'knn' or 'knn-scaled' for surrogate='forest'"):
        Optimizer(MIXED, surrogate="forest", credit={"field": "smooth"})
    with pytest.raises(SettingError, match=r"surrogate must be one of .* got 'tree'"):
        Optimizer(MIXED, surrogate="tree")
