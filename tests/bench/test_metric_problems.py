"""Problems with several metrics: BoTorch's own values, signs and reference points, and what counts as regret."""

from __future__ import annotations

import contextlib
import itertools
import math
import warnings
from typing import Any

import numpy as np
import pytest

from ccgbo.bench.experiment import load_experiment
from ccgbo.bench.metric_runs import hypervolumes, regrets
from ccgbo.bench.problems.base import row_of
from ccgbo.bench.problems.designs import DESIGNS
from ccgbo.bench.problems.several import METRIC_GROUPS, METRIC_PROBLEMS, get_metric_problem, metric_problem_names
from ccgbo.errors import SettingError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # gpytorch uses torch.jit
    import torch
    from botorch import test_functions
    from botorch.test_functions import synthetic

pytestmark = pytest.mark.heavy

THEIRS: dict[str, Any] = {
    "Gramacy2": synthetic.ConstrainedGramacy,
    "TensionCompression3": test_functions.TensionCompressionString,
    "WeldedBeam4": test_functions.WeldedBeamSO,
    "ConstrainedHartmann6": lambda **k: synthetic.ConstrainedHartmann(dim=6, **k),
    "PressureVessel4": test_functions.PressureVessel,
    "SpeedReducer7": test_functions.SpeedReducer,
    "ZDT1_6x2": lambda **k: test_functions.ZDT1(dim=6, **k),
    "ZDT2_6x2": lambda **k: test_functions.ZDT2(dim=6, **k),
    "DTLZ2_6x2": lambda **k: test_functions.DTLZ2(dim=6, num_objectives=2, **k),
    "C2DTLZ2_4x2": lambda **k: test_functions.C2DTLZ2(dim=4, num_objectives=2, **k),
    "CarSideImpact7x4": test_functions.CarSideImpact,
    "DTLZ5_6x3": lambda **k: test_functions.DTLZ5(dim=6, num_objectives=3, **k),
    "DTLZ7_6x3": lambda **k: test_functions.DTLZ7(dim=6, num_objectives=3, **k),
    "CONSTR2x2": test_functions.CONSTR,
    "DiscBrake4x2": test_functions.DiscBrake,
    "MW7_4x2": lambda **k: test_functions.MW7(dim=4, **k),
    "BraninCurrin2x2": test_functions.BraninCurrin,
    "ZDT3_6x2": lambda **k: test_functions.ZDT3(dim=6, **k),
    "DTLZ2_6x3": lambda **k: test_functions.DTLZ2(dim=6, num_objectives=3, **k),
    "VehicleSafety5x3": test_functions.VehicleSafety,
    "Penicillin7x3": test_functions.Penicillin,
}


def test_every_problem_but_the_designs_is_compared_with_botorch() -> None:
    assert {*THEIRS, *DESIGNS} == set(METRIC_PROBLEMS)


@pytest.mark.parametrize("name", list(THEIRS))
def test_a_problem_is_botorchs_maximised_form_negated_and_its_slack_negated(name: str) -> None:
    problem, theirs = get_metric_problem(name), THEIRS[name](negate=True)
    points = [problem.space.decode(u) for u in problem.space.sample(20, np.random.default_rng(0))]
    X = torch.tensor(np.array([row_of(problem.space, point) for point in points]))
    m = len(problem.task.objectives)
    told = np.array([list(problem(point).values()) for point in points])
    assert told[:, :m] == pytest.approx(-theirs(X, noise=False).reshape(20, m).numpy(), rel=1e-12)
    if problem.task.constraints:
        assert told[:, m:] == pytest.approx(-theirs.evaluate_slack(X, noise=False).numpy(), rel=1e-12)
        assert ((told[:, m:] <= 0.0).all(axis=1) == theirs.is_feasible(X, noise=False).numpy()).all()
    if m > 1:
        assert problem.task.reference == tuple((-theirs.ref_point).tolist())
        with contextlib.suppress(NotImplementedError):  # of some BoTorch knows none
            assert problem.best >= theirs.max_hv
        assert problem.best > 0.0
    else:
        assert theirs.is_minimization_problem is False  # negated, so that ours is the minimised form
        assert problem.best <= -theirs.optimal_value and problem.worst == -theirs.worst_feasible_value


@pytest.mark.parametrize(
    ("name", "shares", "values"),
    [  # as the suite's own code has them
        ("FourBarTruss4x2", (0.0, 0.0, 0.0, 0.0), (1237.84142, 0.04)),
        ("FourBarTruss4x2", (0.1, 0.3, 0.6, 0.9), (1882.17414, 0.026819089)),
        ("RocketInjector4x3", (1.0, 1.0, 1.0, 1.0), (0.20514, 0.8774, 0.2838)),
        ("RocketInjector4x3", (0.1, 0.3, 0.6, 0.9), (0.4670544, 0.598254, 0.929667)),
    ],
)
def test_a_design_is_that_of_the_suite(name: str, shares: tuple[float, ...], values: tuple[float, ...]) -> None:
    problem = get_metric_problem(name)
    told = problem(problem.space.decode(np.array(shares)))
    assert list(told.values()) == pytest.approx(values, rel=1e-6)


@pytest.mark.parametrize("name", list(DESIGNS))
def test_the_front_of_a_design_lies_between_its_ends_and_fills_less_than_their_box(name: str) -> None:
    problem, design = get_metric_problem(name), DESIGNS[name]
    corners = np.array(list(itertools.product(*zip(design.low, design.high, strict=True))))
    inside = np.random.default_rng(0).uniform(design.low, design.high, size=(2000, len(design.low)))
    Y = problem.values(np.concatenate([corners, inside]))
    assert (Y.min(axis=0) >= np.array(design.ideal) - 1e-9).all()
    box = np.prod(np.subtract(problem.task.reference, design.ideal))
    assert 0.5 * box < problem.best < box


@pytest.mark.parametrize("name", metric_problem_names("constrained"))
def test_the_best_value_is_attained_at_a_feasible_point(name: str) -> None:
    import json
    from importlib import resources

    stored = json.loads(resources.files("ccgbo.bench.problems").joinpath("best_metrics.json").read_text())
    problem = get_metric_problem(name)
    optimizers = THEIRS[name]()._optimizers
    where = stored[name]["point"] if name in stored else optimizers[0]
    value, *excess = problem.values(np.array([where]))[0]
    assert value == pytest.approx(problem.best, rel=1e-5) and max(excess) <= 0.0


def test_no_metric_problem_is_both_chosen_on_and_reported_on() -> None:
    for kind in ("constrained", "pareto"):
        assert not set(METRIC_GROUPS[f"{kind}_choosing"]) & set(METRIC_GROUPS[f"{kind}_reporting"])
        choosing, reporting = load_experiment(f"{kind}_choosing"), load_experiment(kind)
        assert set(choosing.problems) == set(METRIC_GROUPS[f"{kind}_choosing"])
        assert set(reporting.problems) == set(METRIC_GROUPS[f"{kind}_reporting"])
        assert not {c.seed for c in choosing.cells()} & {c.seed for c in reporting.cells()}
        assert min(choosing.seeds, reporting.seeds) >= 10


def test_an_unknown_problem_and_a_point_outside_are_refused() -> None:
    with pytest.raises(SettingError, match="name must be one of"):
        get_metric_problem("Hartmann6")
    with pytest.raises(Exception, match="x1"):
        get_metric_problem("Gramacy2")({"x1": 1.5, "x2": 0.5})


# -- what counts


def test_an_infeasible_point_counts_as_the_worst_feasible_value() -> None:
    problem = get_metric_problem("Gramacy2")
    rows = np.array([[0.5, 0.1, -1.0], [1.2, -0.1, 0.0], [9.0, -1.0, -1.0]])  # infeasible, feasible, beyond the worst
    worst = problem.worst - problem.best
    assert regrets(problem, rows) == pytest.approx([worst, 1.2 - problem.best, worst])


def test_hypervolume_counts_feasible_points_below_the_reference_and_never_falls() -> None:
    Y = np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 1.0], [5.0, 0.5], [2.5, 2.5], [0.5, 0.5], [1.5, 1.5]])
    feasible = [True, True, True, True, True, False, True]
    reference = np.array([4.0, 4.0])
    assert hypervolumes(Y, feasible, reference) == pytest.approx([3.0, 5.0, 6.0, 6.0, 6.0, 6.0, 7.25])


def test_the_whole_front_has_the_largest_hypervolume() -> None:
    """ZDT1: f1 = 1 - sqrt(f0) at x2 = ... = x6 = 0."""
    problem = get_metric_problem("ZDT1_6x2")
    X = np.zeros((400, 6))
    X[:, 0] = np.linspace(0.0, 1.0, 400) ** 2
    left = regrets(problem, problem.values(X))[-1]
    assert 0.0 < left < 2e-3 and math.isclose(problem.best, 120.0 + 2.0 / 3.0)
