"""Credit over BoTorch models with several outputs: that of the core for a front and for a feasible optimum."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from ccgbo import AtMost, CreditSettings, Optimizer
from ccgbo.acquisition.feasibility import log_within
from ccgbo.credit.fronts import front_log_likelihood
from ccgbo.credit.scores import log_likelihood, scores_of
from ccgbo.errors import SettingError, UnsupportedError
from ccgbo.pareto import non_dominated

from .test_botorch import KNN, SMOOTH, UNIT, core_gp, points

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", message="`torch.jit.script", category=DeprecationWarning)
    import torch
    from botorch.acquisition import analytic, logei
    from botorch.acquisition.multi_objective import logei as front_logei
    from botorch.acquisition.multi_objective import monte_carlo as front_mc
    from botorch.acquisition.multi_objective.analytic import ExpectedHypervolumeImprovement
    from botorch.acquisition.multi_objective.objective import (
        GenericMCMultiOutputObjective,
        WeightedMCMultiOutputObjective,
    )
    from botorch.acquisition.objective import LinearMCObjective
    from botorch.models import ModelListGP, SingleTaskGP
    from botorch.models.multitask import KroneckerMultiTaskGP
    from botorch.models.transforms import Normalize
    from botorch.optim import optimize_acqf
    from botorch.utils.multi_objective.box_decompositions import FastNondominatedPartitioning

    from ccgbo.integrations.botorch import CreditWeightedAcquisitionFunction, to_botorch

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.filterwarnings("ignore:A not p.d., added jitter"),
    pytest.mark.filterwarnings("ignore:Data .outcome observations. is not standardized"),  # it divides by n - 1
    pytest.mark.filterwarnings("ignore:.*has known numerical issues"),  # BoTorch on its own plain EI and EHVI
    pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled"),  # torch, in qLogNEHVI
]

REFERENCE = torch.tensor([-2.0, -2.0], dtype=torch.double)
GP = core_gp()


def second_values(X: np.ndarray) -> np.ndarray:
    """A metric that runs against the first."""
    return np.asarray(np.cos(4.0 * X[:, 0]) - X[:, 1] + 0.5 * X[:, 2])


def pair(**options: Any) -> Any:
    """Two outputs in one model."""
    Y = np.column_stack([GP.y, second_values(GP.X)])
    return SingleTaskGP(torch.tensor(GP.X), torch.tensor(Y), **options).eval()


def listed() -> Any:
    """The same as a list of models."""
    parts = [torch.tensor(y)[:, None] for y in (GP.y, second_values(GP.X))]
    return ModelListGP(*[SingleTaskGP(torch.tensor(GP.X), y) for y in parts]).eval()


def boxes(model: Any) -> Any:
    return FastNondominatedPartitioning(REFERENCE, model.posterior(torch.tensor(GP.X)).mean.detach())


def ehvi(model: Any, **options: Any) -> Any:
    return front_logei.qLogExpectedHypervolumeImprovement(model, REFERENCE, boxes(model), **options)


def nehvi(model: Any, **options: Any) -> Any:
    return front_logei.qLogNoisyExpectedHypervolumeImprovement(model, REFERENCE, torch.tensor(GP.X), **options)


def constrained(model: Any, upper: float = 0.0, **options: Any) -> Any:
    return analytic.LogConstrainedExpectedImprovement(model, 0.5, 0, {1: (None, upper)}, **options)


def credited(base: Any, **options: Any) -> Any:
    return CreditWeightedAcquisitionFunction(base, UNIT, **{"settings": KNN, "t": 0, "seed": 0, **options})


def moments(model: Any) -> tuple[np.ndarray, np.ndarray]:
    posterior = model.posterior(torch.tensor(GP.X))
    return posterior.mean.detach().numpy(), posterior.variance.detach().sqrt().numpy()


# -- the same numbers as the core


@pytest.mark.parametrize("make", [pair, listed])
def test_the_credits_of_a_front_are_those_of_the_core_for_the_fronts_that_were_drawn(make: Any) -> None:
    model = make()
    acqf = credited(ehvi(model))
    mean, std = moments(model)
    unit = mean.std(axis=0)
    fronts = [front / unit for front in acqf.fronts]
    expected = scores_of(front_log_likelihood(mean / unit, std / unit, fronts), float("nan"))
    np.testing.assert_allclose(acqf.scores.credit, expected.credit, atol=1e-6)
    assert len(fronts) == KNN.n_paths
    assert all(non_dominated(front).all() for front in fronts)
    assert np.mean([len(front) for front in fronts]) > 1.5


def test_the_credits_of_a_feasible_optimum_are_those_of_the_core_with_the_probability_of_feasibility() -> None:
    model = pair()
    acqf = credited(constrained(model))
    mean, std = moments(model)
    unit = mean[:, 0].std()
    log_lik = log_likelihood(mean[:, 0] / unit, std[:, 0] / unit, acqf.proxy / unit)
    log_lik += log_within(mean[:, 1], std[:, 1], -np.inf, 0.0)[0]
    np.testing.assert_allclose(acqf.scores.credit, scores_of(log_lik, acqf.proxy).credit, atol=1e-6)
    assert acqf.fronts is None


def test_what_the_bound_forbids_loses_its_credit() -> None:
    model = pair()
    Y = second_values(GP.X)
    free, bound = (credited(constrained(model, upper)).scores.credit for upper in (100.0, 0.0))
    broken = Y > 0.3
    assert 3 <= broken.sum() <= len(Y) - 3
    assert np.all(bound[broken] <= free[broken])
    assert bound[broken].mean() < free[broken].mean() - 0.02
    assert credited(constrained(model, 0.0)).proxy < credited(constrained(model, 100.0)).proxy


def engine(n: int, credit: CreditSettings, **goals: Any) -> Any:
    """Our own optimizer, told as many points, and its models as BoTorch's."""
    box = {"x": (0.0, 1.0), "y": (0.0, 1.0), "z": (0.0, 1.0)}
    opt = Optimizer(box, seed=0, credit=credit, **goals)
    for x, y, z in np.random.default_rng(5).random((n, 3)):
        a, b = float(np.sin(5.0 * x) + y**2 - abs(z - 0.4)), float(np.cos(4.0 * x) - y + 0.5 * z)
        opt.tell({"x": x, "y": y, "z": z}, {"a": a, "b": b})
    models = opt.snapshot().models
    return opt, models, ModelListGP(*[to_botorch(models[name].posterior) for name in ("a", "b")])


def test_a_front_has_the_credits_that_our_own_engine_gives_on_the_same_data() -> None:
    credit = CreditSettings(field="knn", n_paths=400, strength=0.5, tau=5.0)
    opt, _, model = engine(24, credit, objectives={"a": "maximize", "b": "maximize"})
    X = model.models[0].train_inputs[0]
    base = front_logei.qLogNoisyExpectedHypervolumeImprovement(model, REFERENCE, X)
    ours = [row.credit for row in sorted(opt.credits(), key=lambda row: row.trial_id)]
    assert (
        spearmanr(credited(base, settings=credit).scores.credit, ours).statistic > 0.9
    )  # two seeds of the engine: 0.93


def test_a_feasible_optimum_has_the_credits_that_our_own_engine_gives_on_the_same_data() -> None:
    credit = CreditSettings(field="knn", n_paths=400, strength=0.5, tau=5.0)
    opt, models, model = engine(24, credit, objective="a", outcome_constraints={"b": AtMost(0.0)})
    upper = float(models["b"].outcome.forward(np.array([0.0]))[0])
    ours = [row.credit for row in sorted(opt.credits(), key=lambda row: row.trial_id)]
    theirs = credited(constrained(model, upper), settings=credit).scores.credit
    assert spearmanr(theirs, ours).statistic > 0.95


# -- objectives and constraints of the acquisition


def test_weights_of_the_objective_turn_the_front() -> None:
    model = pair()
    turned = credited(ehvi(model, objective=WeightedMCMultiOutputObjective(torch.tensor([1.0, -1.0]).double())))
    mean, std = moments(model)
    unit, sign = mean.std(axis=0), np.array([1.0, -1.0])
    expected = scores_of(
        front_log_likelihood(sign * mean / unit, std / unit, [front / unit for front in turned.fronts]), float("nan")
    )
    np.testing.assert_allclose(turned.scores.credit, expected.credit, atol=1e-6)
    assert not np.allclose(turned.scores.credit, credited(ehvi(model)).scores.credit)


def test_a_constraint_of_a_front_multiplies_the_likelihood_by_the_probability_of_keeping_it() -> None:
    Y = np.column_stack([GP.y, second_values(GP.X), GP.X[:, 0]])
    model = SingleTaskGP(torch.tensor(GP.X), torch.tensor(Y)).eval()
    only_two = WeightedMCMultiOutputObjective(torch.ones(2).double(), outcomes=[0, 1], num_outcomes=3)
    acqf = credited(nehvi(model, objective=only_two, constraints=[lambda Z: Z[..., 2] - 0.5]))
    mean, std = moments(model)
    unit = mean[:, :2].std(axis=0)
    log_lik = front_log_likelihood(mean[:, :2] / unit, std[:, :2] / unit, [front / unit for front in acqf.fronts])
    log_lik += log_within(mean[:, 2], std[:, 2], -np.inf, 0.5)[0]
    np.testing.assert_allclose(acqf.scores.credit, scores_of(log_lik, float("nan")).credit, atol=1e-6)
    broken = GP.X[:, 0] > 0.55
    assert acqf.scores.credit[broken].max() < acqf.scores.credit[~broken].max()


def test_a_model_in_single_precision_keeps_its_precision() -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The model inputs are of type torch.float32")
        Y = np.column_stack([GP.y, second_values(GP.X)])
        model = SingleTaskGP(torch.tensor(GP.X).float(), torch.tensor(Y).float()).eval()
        weights = torch.tensor([1.0, 0.5])
        base = front_logei.qLogNoisyExpectedHypervolumeImprovement(
            model, REFERENCE.float(), torch.tensor(GP.X).float(), constraints=[lambda Z: Z @ weights - 0.2]
        )
        acqf = credited(base)
        assert acqf(points(4, 1).float()).dtype == torch.float32
    assert acqf.scores.informative


@pytest.mark.filterwarnings("ignore:.*not contained to the unit cube")
def test_several_outputs_behind_an_input_transform_have_the_credits_of_the_same_without() -> None:
    bounds = torch.stack([torch.zeros(3), torch.full((3,), 1.0)]).double()
    plain, moved = pair(), pair(input_transform=Normalize(3, bounds=bounds))
    moved.load_state_dict(plain.state_dict(), strict=False)
    assert torch.equal(credited(ehvi(moved)).credit, credited(ehvi(plain)).credit)
    base = constrained(moved)
    assert torch.equal(credited(base).credit, credited(constrained(plain)).credit)


def test_minimising_under_a_constraint_mirrors_maximising() -> None:
    Y = np.column_stack([-GP.y, second_values(GP.X)])
    mirrored = SingleTaskGP(torch.tensor(GP.X), torch.tensor(Y)).eval()
    lowest = credited(constrained(mirrored, maximize=False), settings=CreditSettings(field="knn", n_paths=400))
    highest = credited(constrained(pair()), settings=CreditSettings(field="knn", n_paths=400))
    assert lowest.proxy == pytest.approx(highest.proxy, abs=0.05)
    assert spearmanr(lowest.scores.credit, highest.scores.credit).statistic > 0.95


# -- values

BASES: dict[str, tuple[str, Any]] = {
    "qLogEHVI": ("log", ehvi),
    "qLogNEHVI": ("log", nehvi),
    "qEHVI": ("nonnegative", lambda m: front_mc.qExpectedHypervolumeImprovement(m, REFERENCE, boxes(m))),
    "qNEHVI": (
        "nonnegative",
        lambda m: front_mc.qNoisyExpectedHypervolumeImprovement(m, REFERENCE, torch.tensor(GP.X)),
    ),
    "EHVI": ("nonnegative", lambda m: ExpectedHypervolumeImprovement(m, REFERENCE.tolist(), boxes(m))),
    "LogCEI": ("log", constrained),
    "CEI": ("nonnegative", lambda m: analytic.ConstrainedExpectedImprovement(m, 0.5, 0, {1: (None, 0.0)})),
}


@pytest.mark.parametrize("name", list(BASES))
def test_a_point_is_weighted_on_the_scale_of_its_acquisition(name: str) -> None:
    scale, make = BASES[name]
    base = make(pair())
    acqf = credited(base)
    assert acqf.codomain == scale
    x = points(5, 1, seed=9)
    with torch.no_grad():
        alpha, factor, value = base(x), acqf.factor(x).squeeze(-1), acqf(x)
    assert 0.1 < factor.min() < factor.max() <= 1.0
    torch.testing.assert_close(value, alpha + factor.log() if scale == "log" else alpha * factor)


def test_without_strength_the_acquisition_is_untouched_bit_for_bit() -> None:
    base = nehvi(listed())
    x = points(6, 1)
    assert torch.equal(credited(base, settings=CreditSettings(field="knn", strength=0.0))(x), base(x))


@pytest.mark.filterwarnings("ignore:Optimization failed")  # at a jump of the kNN field
def test_a_sequential_batch_of_noisy_hypervolume_improvement_is_spread_out() -> None:
    acqf = credited(nehvi(listed()))
    x, _ = optimize_acqf(acqf, UNIT, q=2, num_restarts=2, raw_samples=32, sequential=True)
    assert torch.pdist(x).min() > 1e-3
    with pytest.raises(UnsupportedError, match="q must be 1 for qLogNoisyExpectedHypervolumeImprovement, got 2"):
        acqf(points(3, 2))


def test_outputs_observed_at_different_inputs_need_to_be_told_the_observations() -> None:
    X, Y = torch.tensor(GP.X), torch.tensor(GP.y)[:, None]
    model = ModelListGP(SingleTaskGP(X, Y), SingleTaskGP(X[:20], -Y[:20])).eval()
    with pytest.raises(SettingError, match="X_observed must be given: the outputs of the model were observed at"):
        credited(constrained(model))
    assert credited(constrained(model), X_observed=X).credit.shape == (24,)


# -- refusals


def test_what_has_no_credit_over_several_outputs_is_refused_by_name() -> None:
    model, X = pair(), torch.tensor(GP.X)
    both = LinearMCObjective(torch.ones(2).double())
    for base in (
        logei.qLogExpectedImprovement(model, best_f=1.0, objective=both),
        analytic.LogProbabilityOfFeasibility(model, {1: (None, 0.0)}),
    ):
        name = type(base).__name__
        with pytest.raises(UnsupportedError, match=rf"a model with 2 outputs must be one of qExp.*, got {name}"):
            credited(base)
    curved = GenericMCMultiOutputObjective(lambda Z, X=None: Z**2)  # noqa: ARG005 - BoTorch's signature
    with pytest.raises(UnsupportedError, match=r"acq_function\.objective must be linear in the outputs"):
        credited(nehvi(model, objective=curved))
    with pytest.raises(UnsupportedError, match=r"acq_function\.constraints must be linear in the outputs"):
        credited(nehvi(model, constraints=[lambda Z: Z[..., 0].abs() - 1.0]))
    joint = KroneckerMultiTaskGP(X, torch.tensor(np.column_stack([GP.y, second_values(GP.X)]))).eval()
    with pytest.raises(UnsupportedError, match="must be a SingleTaskGP or a ModelListGP of them, got Kronecker"):
        credited(constrained(joint))
    with pytest.raises(UnsupportedError, match="'smooth' needs a model with one kernel"):
        credited(constrained(model), settings=SMOOTH)


def test_the_default_field_of_several_outputs_is_that_of_neighbours() -> None:
    acqf = CreditWeightedAcquisitionFunction(constrained(listed()), UNIT, seed=0)
    assert acqf.settings.field == "knn"
