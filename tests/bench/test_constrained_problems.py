"""Problems with constraints from published formulas: their optima are those published, and nothing is better."""

from __future__ import annotations

import re

import numpy as np
import pytest

from ccgbo.arrays import Array
from ccgbo.bench.problems.constrained import CHOOSING
from ccgbo.bench.problems.several import METRIC_GROUPS, get_metric_problem

PUBLISHED = {
    "DiscBranin2": 0.397887,
    "Mystery2": -1.1743,
    "G04_5": -30665.53867,
    "G06_2": -6961.81388,
    "G07_10": 24.30620906818,
    "G08_2": -0.0958250414,
    "G09_7": 680.630057374,
    "G10_8": 7049.24802053,
    "G24_2": -5.50801327160,
    "TubularColumn2": 26.4995,
    "IBeam4": 0.0130741,
    "CantileverBeam5": 1.33996,
    "ConstrainedAckley5": 0.0,
}


def rows(name: str, n: int) -> Array:  # (n, 1 + constraints) at uniform points
    low, high = np.array(CHOOSING[name].bounds).T
    return CHOOSING[name](low + (high - low) * np.random.default_rng(0).random((n, len(low))))


def test_every_formula_has_its_published_optimum_and_is_there_to_choose_on() -> None:
    assert set(PUBLISHED) == set(CHOOSING)
    assert set(CHOOSING) <= set(METRIC_GROUPS["constrained_choosing"])


@pytest.mark.parametrize("name", list(CHOOSING))
def test_the_published_optimum_is_attained_where_every_constraint_holds(name: str) -> None:
    formula = CHOOSING[name]
    value, *excess = formula(np.array([formula.point]))[0]
    assert formula.best == pytest.approx(PUBLISHED[name], rel=5e-5, abs=1e-9)
    assert value == pytest.approx(formula.best, rel=1e-9, abs=1e-9)
    assert max(excess) <= 1e-9 * np.abs(rows(name, 200)[:, 1:]).max()


@pytest.mark.parametrize("name", list(CHOOSING))
def test_no_feasible_point_of_many_is_better_and_the_worst_is_no_better(name: str) -> None:
    formula, values = CHOOSING[name], rows(name, 20_000)
    found = values[(values[:, 1:] <= 0.0).all(axis=1), 0]
    assert np.isfinite(values).all() and values.shape[1] == 1 + formula.constraints
    assert (found >= formula.best).all() and formula.worst > formula.best
    if name != "G09_7":  # whose largest values would drown all others
        assert (found <= formula.worst).all()


@pytest.mark.parametrize("name", list(CHOOSING))
def test_a_formula_is_a_problem_of_named_metrics_within_its_bounds(name: str) -> None:
    problem, formula = get_metric_problem(name), CHOOSING[name]
    assert int(re.findall(r"\d+$", name)[0]) == problem.space.d == len(formula.point)
    point = dict(zip(problem.space, map(float, formula.point), strict=True))
    told = problem(point)
    assert list(told) == ["f", *(f"c{i}" for i in range(formula.constraints))]
    assert told["f"] == pytest.approx(problem.best, rel=1e-9, abs=1e-9)


def test_a_corner_where_a_formula_divides_by_nothing_has_finite_values() -> None:
    assert np.isfinite(CHOOSING["G08_2"](np.array([[0.0, 0.0], [0.0, 5.0]]))).all()
