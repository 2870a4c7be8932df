"""Credit inside BoTorch: equal to the core's, honest about batches, pending points and gradients."""

from __future__ import annotations

import importlib
import inspect
import re
import runpy
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ccgbo import EngineTuning
from ccgbo.acquisition import EI, UCB, Context, LogEI
from ccgbo.acquisition.weighted import Weighted
from ccgbo.credit.field import CreditSettings, credit_factor
from ccgbo.credit.scores import score
from ccgbo.engine.settings import DEFAULT, at_every_turn
from ccgbo.errors import MissingExtraError, SettingError, UnsupportedError
from ccgbo.surrogate.gp.kernels import get_kernel
from ccgbo.surrogate.gp.posterior import GP, Hyper

from .pages import ROOT, run_page

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", message="`torch.jit.script", category=DeprecationWarning)
    import torch
    from botorch.acquisition import analytic, logei, monte_carlo
    from botorch.acquisition.fixed_feature import FixedFeatureAcquisitionFunction
    from botorch.acquisition.input_constructors import get_acqf_input_constructor
    from botorch.acquisition.joint_entropy_search import qJointEntropySearch
    from botorch.acquisition.knowledge_gradient import qKnowledgeGradient
    from botorch.acquisition.max_value_entropy_search import qLowerBoundMaxValueEntropy, qMaxValueEntropy
    from botorch.acquisition.objective import LinearMCObjective, ScalarizedPosteriorTransform
    from botorch.acquisition.thompson_sampling import PathwiseThompsonSampling
    from botorch.exceptions.errors import UnsupportedError as BotorchUnsupportedError
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import MixedSingleTaskGP, ModelListGP, SingleTaskGP, SingleTaskVariationalGP
    from botorch.models.map_saas import EnsembleMapSaasSingleTaskGP
    from botorch.models.transforms import Log, Normalize, Standardize, Warp
    from botorch.optim import optimize_acqf
    from botorch.sampling.normal import SobolQMCNormalSampler
    from botorch.utils.datasets import SupervisedDataset
    from gpytorch.kernels import LinearKernel, MaternKernel
    from gpytorch.mlls import ExactMarginalLogLikelihood
    from torch import Tensor

    from ccgbo.integrations.botorch import CreditWeightedAcquisitionFunction, from_botorch, to_botorch

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.filterwarnings("ignore:.*has known numerical issues"),  # BoTorch on its own plain EI
    pytest.mark.filterwarnings("ignore:A not p.d., added jitter"),  # two points of a batch that meet
    pytest.mark.filterwarnings("ignore:Data .outcome observations. is not standardized"),  # it divides by n - 1
]


KNN = replace(at_every_turn(DEFAULT.credit), field="knn")
SMOOTH = replace(at_every_turn(DEFAULT.credit), field="smooth")
UNIT = torch.tensor([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]], dtype=torch.double)


def core_gp(kernel: str = "matern52", given_noise: np.ndarray | None = None, trend: float = 0.0) -> GP:
    X = np.random.default_rng(3).random((24, 3))
    y = np.sin(5.0 * X[:, 0]) + X[:, 1] ** 2 - np.abs(X[:, 2] - 0.4)
    hyper = Hyper(lengthscales=np.array([0.3, 0.6, 0.5]), signal=1.4, noise=2e-3, trend=trend)
    return GP.from_data(get_kernel(kernel), hyper, X, (y - y.mean()) / y.std(), given_noise)


@pytest.fixture(scope="module")
def gp() -> GP:
    return core_gp()


@pytest.fixture(scope="module")
def model(gp: GP) -> SingleTaskGP:
    return to_botorch(gp)


def points(*shape: int, seed: int = 0) -> Tensor:
    return torch.tensor(np.random.default_rng(seed).random((*shape, 3)))


# -- the same numbers as the core


def test_a_field_in_lengthscales_of_our_own_model_is_refused_for_a_botorch_model() -> None:
    X, Y = torch.rand(12, 2, dtype=torch.double), torch.rand(12, 1, dtype=torch.double)
    bounds = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.double)
    acqf = analytic.UpperConfidenceBound(SingleTaskGP(X, Y).eval(), beta=4.0)
    with pytest.raises(SettingError, match=r"settings\.field must be .* for BoTorch, got 'knn-scaled'"):
        CreditWeightedAcquisitionFunction(acqf, bounds, settings=DEFAULT.credit, seed=0)


def test_settings_without_strength_and_tau_have_what_suits_an_acquisition_weighed_every_time(model: Any) -> None:
    base = analytic.UpperConfidenceBound(model, beta=4.0)
    acqf = CreditWeightedAcquisitionFunction(base, UNIT, settings=CreditSettings(field="knn"), seed=0)
    assert acqf.settings == KNN
    with pytest.raises(SettingError, match=r"settings must be .*CreditSettings, got 3"):
        CreditWeightedAcquisitionFunction(base, UNIT, settings=3, seed=0)  # type: ignore[arg-type]


@pytest.mark.parametrize("settings", [KNN, SMOOTH], ids=["knn", "smooth"])
def test_scores_and_weights_equal_the_cores_on_the_same_posterior(gp: GP, model: Any, settings: CreditSettings) -> None:
    acqf = CreditWeightedAcquisitionFunction(
        analytic.UpperConfidenceBound(model, beta=4.0), UNIT, t=7, settings=settings, seed=1
    )
    expected = score(*gp.at_observations(), acqf.proxy, floor=settings.floor, eps=DEFAULT.tuning.score_eps)
    np.testing.assert_allclose(acqf.scores.credit, expected.credit, atol=1e-6)
    np.testing.assert_allclose(acqf.scores.rank, expected.rank, atol=1e-6)
    np.testing.assert_allclose(acqf.scores.raw, expected.raw, atol=1e-6)
    factor = credit_factor(gp, expected.credit, settings, 7)
    assert factor is not None
    x = points(50)
    np.testing.assert_allclose(acqf.weight(x).detach(), factor.weight(x.numpy()), atol=1e-6)
    np.testing.assert_allclose(acqf.factor(x).detach(), factor(x.numpy()), atol=1e-6)
    assert acqf.weight(x).std() > 0.01


CORE = {
    "real": (UCB(beta=2.0), lambda m, _: analytic.UpperConfidenceBound(m, beta=4.0)),
    "nonnegative": (EI(), lambda m, best: analytic.ExpectedImprovement(m, best_f=best)),
    "log": (LogEI(), lambda m, best: analytic.LogExpectedImprovement(m, best_f=best)),
}


@pytest.mark.parametrize("scale", list(CORE))
def test_the_weighted_acquisition_equals_the_cores_on_every_scale(gp: GP, model: Any, scale: str) -> None:
    core, make = CORE[scale]
    best, candidates = float(gp.at_observations()[0].max()), points(64, seed=5)
    acqf = CreditWeightedAcquisitionFunction(make(model, best), UNIT, t=2, settings=KNN, candidates=candidates, seed=0)
    assert acqf.codomain == scale
    alpha = core.bind(Context(gp, best, None, np.random.default_rng(0)))
    factor = credit_factor(gp, acqf.scores.credit, KNN, 2)
    shift = float(alpha(candidates.numpy()).min()) if scale == "real" else 0.0
    expected = Weighted(alpha, core.codomain, [factor], shift)
    x = points(40, seed=6)
    np.testing.assert_allclose(acqf(x.unsqueeze(-2)).detach(), expected(x.numpy()), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "silent",
    [replace(KNN, strength=0.0), replace(KNN, tau=0.0), replace(KNN, floor=1.0), replace(SMOOTH, n_neighbours=25)],
    ids=["strength 0", "tau 0", "equal credits", "fewer observations than neighbours"],
)
def test_without_information_the_acquisition_is_untouched_bit_for_bit(model: Any, silent: CreditSettings) -> None:
    for base, q in (
        (analytic.UpperConfidenceBound(model, beta=4.0), 1),
        (monte_carlo.qUpperConfidenceBound(model, 4.0), 3),
    ):
        acqf = CreditWeightedAcquisitionFunction(base, UNIT, settings=silent, seed=0)
        x = points(6, q)
        assert torch.equal(acqf(x), base(x))
        assert torch.equal(acqf.weight(x), torch.ones(6, q, dtype=torch.double))


def test_t_counts_the_observations_beyond_the_usual_initial_design(model: Any) -> None:
    base = analytic.PosteriorMean(model)
    assert CreditWeightedAcquisitionFunction(base, UNIT, seed=0).t == 24 - 10
    sharp, blunt = (CreditWeightedAcquisitionFunction(base, UNIT, t=t, seed=0) for t in (0, 1000))
    x = points(30)
    assert blunt.weight(x).min() > sharp.weight(x).min()


# -- every acquisition

BASES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "UCB": ("real", lambda m: analytic.UpperConfidenceBound(m, beta=4.0)),
    "PosteriorMean": ("real", analytic.PosteriorMean),
    "PosteriorStandardDeviation": ("nonnegative", analytic.PosteriorStandardDeviation),
    "EI": ("nonnegative", lambda m: analytic.ExpectedImprovement(m, best_f=1.0)),
    "LogEI": ("log", lambda m: analytic.LogExpectedImprovement(m, best_f=1.0)),
    "PI": ("nonnegative", lambda m: analytic.ProbabilityOfImprovement(m, best_f=1.0)),
    "LogPI": ("log", lambda m: analytic.LogProbabilityOfImprovement(m, best_f=1.0)),
    "qEI": ("nonnegative", lambda m: monte_carlo.qExpectedImprovement(m, best_f=1.0)),
    "qNEI": ("nonnegative", lambda m: monte_carlo.qNoisyExpectedImprovement(m, m.train_inputs[0])),
    "qPI": ("nonnegative", lambda m: monte_carlo.qProbabilityOfImprovement(m, best_f=1.0)),
    "qUCB": ("real", lambda m: monte_carlo.qUpperConfidenceBound(m, beta=4.0)),
    "qSimpleRegret": ("real", monte_carlo.qSimpleRegret),
    "qLogEI": ("log", lambda m: logei.qLogExpectedImprovement(m, best_f=1.0)),
    "qLogNEI": ("log", lambda m: logei.qLogNoisyExpectedImprovement(m, m.train_inputs[0])),
    "qMES": ("nonnegative", lambda m: qMaxValueEntropy(m, points(64))),
    "qGIBBON": ("real", lambda m: qLowerBoundMaxValueEntropy(m, points(64))),
    "qJES": ("nonnegative", lambda m: qJointEntropySearch(m, points(4), torch.full((4, 1), 2.0).double())),
    "TS": ("real", PathwiseThompsonSampling),
}


@pytest.mark.parametrize("name", list(BASES))
def test_a_single_point_is_weighted_on_the_scale_of_its_acquisition(model: Any, name: str) -> None:
    scale, make = BASES[name]
    base = make(model)
    acqf = CreditWeightedAcquisitionFunction(base, UNIT, t=0, seed=0)
    assert acqf.codomain == scale
    x = points(5, 1, seed=9)
    with torch.no_grad():
        alpha, factor, value = base(x), acqf.factor(x).squeeze(-1), acqf(x)
    assert 0.1 < factor.min() < factor.max() <= 1.0
    expected = {"log": alpha + factor.log(), "real": factor * (alpha - acqf.shift), "nonnegative": factor * alpha}
    positive = (alpha > 0) | (scale != "nonnegative")  # an estimate of an entropy may fall below zero
    assert positive.sum() >= 2
    torch.testing.assert_close(value, torch.where(positive, expected[scale], alpha))
    assert value.shape == (5,)


def test_the_scale_can_be_told(model: Any) -> None:
    base = analytic.PosteriorStandardDeviation(model)
    acqf = CreditWeightedAcquisitionFunction(base, UNIT, codomain="real", seed=0)
    assert 0.0 < float(acqf.shift) < 1.0


def test_noisy_ei_takes_its_credits_from_the_model_it_was_made_from() -> None:
    gp = core_gp()
    model = SingleTaskGP(torch.tensor(gp.X), torch.tensor(gp.y)[:, None], torch.full((24, 1), 1e-2).double()).eval()
    base = analytic.LogNoisyExpectedImprovement(model, torch.tensor(gp.X), num_fantasies=4)
    with pytest.raises(UnsupportedError, match="must not be batched"):
        CreditWeightedAcquisitionFunction(base, UNIT, seed=0)
    acqf = CreditWeightedAcquisitionFunction(base, UNIT, model=model, seed=0)
    x = points(4, 1)
    torch.testing.assert_close(acqf(x), base(x) + acqf.factor(x).squeeze(-1).log())


def test_no_weight_is_put_on_a_value_below_the_candidates_minimum(model: Any) -> None:
    base = analytic.PosteriorMean(model)
    x = points(200, 1, seed=2)
    high = x.squeeze(-2)[base(x).argsort()[-20:]]
    acqf = CreditWeightedAcquisitionFunction(base, UNIT, candidates=high, seed=0)
    low = base(x) < acqf.shift
    assert low.sum() > 100
    torch.testing.assert_close(acqf(x)[low], (base(x) - acqf.shift)[low])


# -- batches and pending points


def test_t_batches_of_any_shape_equal_their_points_one_by_one(model: Any) -> None:
    x = points(2, 3, 1)
    for base in (analytic.LogExpectedImprovement(model, best_f=1.0), logei.qLogExpectedImprovement(model, best_f=1.0)):
        acqf = CreditWeightedAcquisitionFunction(base, UNIT, seed=0)
        one_by_one = torch.stack([torch.stack([acqf(x[i, j]).squeeze() for j in range(3)]) for i in range(2)])
        torch.testing.assert_close(acqf(x), one_by_one)


def test_each_point_of_a_batch_has_its_own_weight_inside_the_maximum(model: Any) -> None:
    base = monte_carlo.qUpperConfidenceBound(model, beta=4.0)
    acqf = CreditWeightedAcquisitionFunction(base, UNIT, seed=0)
    x = points(4, 3)
    surplus = base._non_reduced_forward(x) - acqf.shift  # samples x 4 x 3
    factor = acqf.factor(x)
    expected = torch.where(surplus > 0, factor * surplus, surplus).amax(dim=-1).mean(dim=0)
    torch.testing.assert_close(acqf(x), expected)
    assert acqf(x).shape == (4,)


def test_a_batch_of_an_acquisition_that_does_not_reduce_over_samples_is_refused(model: Any) -> None:
    acqf = CreditWeightedAcquisitionFunction(PathwiseThompsonSampling(model), UNIT, seed=0)
    with pytest.raises(UnsupportedError, match="q must be 1 for PathwiseThompsonSampling, got 2"):
        acqf(points(4, 2))


def test_pending_points_join_the_batch(model: Any) -> None:
    acqf = CreditWeightedAcquisitionFunction(logei.qLogExpectedImprovement(model, best_f=1.0), UNIT, seed=0)
    x, pending = points(3, 1), points(2, seed=8)
    joint = acqf(torch.cat([x, pending.expand(3, 2, 3)], dim=-2))
    acqf.set_X_pending(pending)
    assert torch.equal(acqf.X_pending, pending)
    torch.testing.assert_close(acqf(x), joint)
    acqf.set_X_pending(None)
    assert acqf.X_pending is None


def test_incremental_noisy_ei_counts_pending_points_as_observed(model: Any) -> None:
    base = logei.qLogNoisyExpectedImprovement(model, model.train_inputs[0])
    acqf = CreditWeightedAcquisitionFunction(base, UNIT, seed=0)
    x, _ = optimize_acqf(acqf, UNIT, q=1, num_restarts=2, raw_samples=32)
    before = acqf(x)
    acqf.set_X_pending(x)
    assert acqf(x) < before - 1.0  # nothing is left to gain there
    torch.testing.assert_close(acqf(x), base(x) + acqf.factor(x).log())


def test_entropy_searches_keep_their_own_treatment_of_pending_points(model: Any) -> None:
    base = qLowerBoundMaxValueEntropy(model, points(64))
    acqf = CreditWeightedAcquisitionFunction(base, UNIT, seed=0)
    x = points(3, 1)
    before = acqf(x).detach()
    acqf.set_X_pending(points(2, seed=8))
    assert float(acqf.shift) < 0.0  # GIBBON pushes away from pending points
    torch.testing.assert_close(acqf(x), acqf.factor(x).squeeze(-1) * (base(x) - acqf.shift))
    assert not torch.allclose(acqf(x), before)


def test_pending_points_can_be_given_at_the_start(model: Any) -> None:
    pending = points(2)
    sampler = SobolQMCNormalSampler(torch.Size([64]), seed=0)
    plain, early = (monte_carlo.qUpperConfidenceBound(model, beta=4.0, sampler=sampler) for _ in range(2))
    acqf = CreditWeightedAcquisitionFunction(early, UNIT, X_pending=pending, seed=0)
    assert torch.equal(acqf.X_pending, pending)
    later = CreditWeightedAcquisitionFunction(plain, UNIT, seed=0)
    later.set_X_pending(pending)
    x = points(3, 1, seed=1)
    torch.testing.assert_close(acqf(x), later(x))


def test_analytic_acquisitions_refuse_pending_points_as_they_do_in_botorch(model: Any) -> None:
    acqf = CreditWeightedAcquisitionFunction(analytic.UpperConfidenceBound(model, beta=4.0), UNIT, seed=0)
    with pytest.raises(BotorchUnsupportedError, match="do not account for X_pending"):
        acqf.set_X_pending(points(2))


def test_sequential_batches_of_optimize_acqf_are_spread_out(model: Any) -> None:
    acqf = CreditWeightedAcquisitionFunction(logei.qLogExpectedImprovement(model, best_f=1.0), UNIT, seed=0)
    x, _ = optimize_acqf(acqf, UNIT, q=3, num_restarts=2, raw_samples=32, sequential=True)
    assert x.shape == (3, 3)
    assert torch.pdist(x).min() > 1e-3
    assert acqf.X_pending is None


def test_fixed_features_wrap_around_credit(model: Any) -> None:
    acqf = CreditWeightedAcquisitionFunction(logei.qLogExpectedImprovement(model, best_f=1.0), UNIT, seed=0)
    fixed = FixedFeatureAcquisitionFunction(acqf, d=3, columns=[1], values=[0.5])
    x = points(4, 1)
    x[..., 1] = 0.5
    torch.testing.assert_close(fixed(x[..., [0, 2]]), acqf(x))
    fixed.set_X_pending(x[:2, 0][:, [0, 2]])
    assert torch.equal(acqf.X_pending, x[:2, 0])


# -- gradients


@pytest.mark.parametrize("name", ["UCB", "LogEI", "EI"])
def test_the_gradient_through_the_smooth_field_is_exact(model: Any, name: str) -> None:
    acqf = CreditWeightedAcquisitionFunction(BASES[name][1](model), UNIT, settings=SMOOTH, t=0, seed=0)
    x = points(3, 1, seed=4).requires_grad_()
    assert torch.autograd.gradcheck(acqf, (x,), eps=1e-6, atol=1e-5)


def test_the_knn_field_scales_the_gradient_and_adds_none_of_its_own(model: Any) -> None:
    base = analytic.UpperConfidenceBound(model, beta=4.0)
    acqf = CreditWeightedAcquisitionFunction(base, UNIT, settings=KNN, t=0, seed=0)
    x = points(3, 1).requires_grad_()
    (weighted,) = torch.autograd.grad(acqf(x).sum(), x)
    (plain,) = torch.autograd.grad(base(x).sum(), x)
    torch.testing.assert_close(weighted, acqf.factor(x).unsqueeze(-1) * plain)


@pytest.mark.filterwarnings("ignore:Optimization failed")  # L-BFGS at a jump of the kNN field
@pytest.mark.parametrize("settings", [KNN, SMOOTH], ids=["knn", "smooth"])
def test_optimize_acqf_climbs_the_product(model: Any, settings: CreditSettings) -> None:
    base = analytic.UpperConfidenceBound(model, beta=4.0)
    acqf = CreditWeightedAcquisitionFunction(base, UNIT, settings=settings, t=0, seed=0)
    torch.manual_seed(0)
    x, value = optimize_acqf(acqf, UNIT, q=1, num_restarts=4, raw_samples=128)
    torch.testing.assert_close(value, acqf(x).detach().squeeze())
    with torch.no_grad():
        assert value > acqf(points(2000, 1)).max() - 0.02


# -- models


def ensemble(X: Tensor, Y: Tensor) -> Any:
    return EnsembleMapSaasSingleTaskGP(X, Y, torch.full_like(Y, 1e-2), num_taus=3).eval()


def variational(X: Tensor, Y: Tensor) -> Any:
    return SingleTaskVariationalGP(X, Y, inducing_points=X[:12].clone()).double().eval()


MODELS: dict[str, tuple[str, Callable[[Tensor, Tensor], Any]]] = {
    "default": ("smooth", lambda X, Y: SingleTaskGP(X, Y).eval()),
    "list of one": ("smooth", lambda X, Y: ModelListGP(SingleTaskGP(X, Y)).eval()),
    "variational": ("smooth", variational),
    "kernel without random features": ("smooth", lambda X, Y: SingleTaskGP(X, Y, covar_module=LinearKernel()).eval()),
    "mixed": ("smooth", lambda X, Y: MixedSingleTaskGP(X.round(decimals=1), Y, cat_dims=[2]).eval()),
    "ensemble": ("knn", ensemble),
    "nonlinear outcome": ("smooth", lambda X, Y: SingleTaskGP(X, Y.exp(), outcome_transform=Log()).eval()),
    "warped inputs": ("smooth", lambda X, Y: SingleTaskGP(X, Y, input_transform=Warp(d=3, indices=[0, 1])).eval()),
}


@pytest.mark.parametrize("name", list(MODELS))
def test_single_output_models_of_every_kind_are_weighted(name: str) -> None:
    field, make = MODELS[name]
    gp = core_gp()
    model = make(torch.tensor(gp.X), torch.tensor(gp.y)[:, None])
    base = logei.qLogExpectedImprovement(model, best_f=1.0)
    acqf = CreditWeightedAcquisitionFunction(base, UNIT, t=0, seed=0)
    assert acqf.settings.field == field
    assert np.ptp(acqf.scores.credit) == pytest.approx(0.9)
    with torch.no_grad():
        x = points(4, 1, seed=7)
        torch.testing.assert_close(acqf(x), base(x) + acqf.factor(x).squeeze(-1).log())
        assert torch.isfinite(acqf(points(4, 2))).all()
        assert acqf(points(4, 2)).shape == (4,)


def test_the_proxy_of_joint_draws_agrees_with_that_of_paths() -> None:
    gp = core_gp()
    X, Y = torch.tensor(gp.X), torch.tensor(gp.y)[:, None]
    settings, tuning = replace(KNN, n_paths=2000), EngineTuning(path_steps=0, n_features=1024)
    candidates = points(128)
    matern = MaternKernel(nu=2.5, lengthscale_prior=None)
    matern.lengthscale = 0.4
    plain = SingleTaskGP(X, Y, torch.full_like(Y, 1e-2), covar_module=matern, outcome_transform=None).eval()

    class Unknown(MaternKernel):  # type: ignore[misc]
        """The same kernel, of which the path sampler has not heard."""

    from botorch.sampling.pathwise.features.generators import GenKernelFeatures

    other = Unknown(nu=2.5)
    other.lengthscale = 0.4
    unknown = SingleTaskGP(X, Y, torch.full_like(Y, 1e-2), covar_module=other, outcome_transform=None).eval()
    GenKernelFeatures.register(Unknown)(_no_features)
    proxies = [
        CreditWeightedAcquisitionFunction(
            analytic.PosteriorMean(m), UNIT, settings=settings, tuning=tuning, candidates=candidates, seed=0
        ).proxy
        for m in (plain, unknown)
    ]
    assert proxies[0] != proxies[1]
    assert proxies[0] == pytest.approx(proxies[1], abs=0.05)


def _no_features(kernel: Any, **_: Any) -> None:
    raise NotImplementedError(type(kernel).__name__)


def test_climbing_the_paths_raises_the_proxy(model: Any) -> None:
    base = analytic.PosteriorMean(model)
    flat, climbed = (
        CreditWeightedAcquisitionFunction(base, UNIT, settings=KNN, tuning=EngineTuning(path_steps=k), seed=0).proxy
        for k in (0, 20)
    )
    assert climbed > flat + 1e-3


def test_units_of_inputs_and_values_do_not_change_the_credits() -> None:
    gp = core_gp()
    X, Y = torch.tensor(gp.X), torch.tensor(gp.y)[:, None]
    low, high = torch.tensor([-5.0, 100.0, 0.0]).double(), torch.tensor([10.0, 4000.0, 1e-3]).double()
    bounds = torch.stack([low, high])
    plain = SingleTaskGP(X, Y, outcome_transform=Standardize(m=1)).eval()
    raw = SingleTaskGP(
        low + X * (high - low), 500.0 - 2000.0 * -Y, input_transform=Normalize(d=3, bounds=bounds)
    ).eval()
    first, second = (
        CreditWeightedAcquisitionFunction(analytic.UpperConfidenceBound(m, beta=4.0), b, seed=0)
        for m, b in ((plain, UNIT), (raw, bounds))
    )
    np.testing.assert_allclose(first.scores.raw, second.scores.raw, atol=1e-6)
    x = points(20)
    torch.testing.assert_close(first.weight(x), second.weight(low + x * (high - low)))


def test_minimising_asks_which_observations_tell_of_the_minimum() -> None:
    gp = core_gp()
    X, Y = torch.tensor(gp.X), torch.tensor(gp.y)[:, None]
    model, mirrored = SingleTaskGP(X, Y).eval(), SingleTaskGP(X, -Y).eval()
    flip = ScalarizedPosteriorTransform(weights=torch.tensor([-1.0]).double())
    minus = LinearMCObjective(weights=torch.tensor([-1.0]).double())
    expected = CreditWeightedAcquisitionFunction(analytic.LogExpectedImprovement(mirrored, best_f=1.0), UNIT, seed=0)
    for base in (
        analytic.LogExpectedImprovement(model, best_f=-1.0, maximize=False),
        analytic.UpperConfidenceBound(model, beta=4.0, posterior_transform=flip),
        logei.qLogExpectedImprovement(model, best_f=1.0, objective=minus),
    ):
        acqf = CreditWeightedAcquisitionFunction(base, UNIT, seed=0)
        assert acqf.proxy > 1.0
        best = set(np.argsort(expected.scores.credit)[-5:])
        assert len(best & set(np.argsort(acqf.scores.credit)[-5:])) >= 4  # the prior draws of the paths differ in sign
        assert int(acqf.scores.credit.argmax()) == int(expected.scores.credit.argmax())


def test_a_seed_fixes_the_credits_and_leaves_the_global_generator_alone(model: Any) -> None:
    base = analytic.UpperConfidenceBound(model, beta=4.0)
    torch.manual_seed(5)
    state = torch.get_rng_state()
    first, second = (CreditWeightedAcquisitionFunction(base, UNIT, seed=3) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), state)
    assert first.proxy == second.proxy
    other = [CreditWeightedAcquisitionFunction(base, UNIT) for _ in range(2)]
    assert other[0].proxy != other[1].proxy


def test_single_precision_is_kept(gp: GP) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The model inputs are of type torch.float32")
        model = SingleTaskGP(torch.tensor(gp.X).float(), torch.tensor(gp.y)[:, None].float()).eval()
        acqf = CreditWeightedAcquisitionFunction(analytic.UpperConfidenceBound(model, beta=4.0), UNIT, seed=0)
        assert acqf(points(4, 1).float()).dtype == torch.float32


# -- refusals


def test_what_cannot_be_weighted_is_refused_by_name(model: Any, gp: GP) -> None:
    base = analytic.PosteriorMean(model)
    two = SingleTaskGP(torch.tensor(gp.X), torch.tensor(np.column_stack([gp.y, gp.y]))).eval()
    flip = ScalarizedPosteriorTransform(weights=torch.ones(2).double())
    with pytest.raises(UnsupportedError, match=r"a model with 2 outputs must be one of .*, got PosteriorMean"):
        CreditWeightedAcquisitionFunction(analytic.PosteriorMean(two, posterior_transform=flip), UNIT)
    with pytest.raises(UnsupportedError, match="one-shot acquisitions"):
        CreditWeightedAcquisitionFunction(qKnowledgeGradient(model, num_fantasies=2), UNIT)
    with pytest.raises(SettingError, match="acq_function must be a BoTorch AcquisitionFunction"):
        CreditWeightedAcquisitionFunction(lambda x: x, UNIT)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="bounds must be a 2 x 3 tensor"):
        CreditWeightedAcquisitionFunction(base, UNIT[:, :2])
    with pytest.raises(SettingError, match="bounds must be a 2 x 3 tensor"):
        CreditWeightedAcquisitionFunction(base, UNIT.flip(0))
    with pytest.raises(SettingError, match="codomain must be None, 'real'"):
        CreditWeightedAcquisitionFunction(base, UNIT, codomain="linear")  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="t must be None or a whole number >= 0, got -1"):
        CreditWeightedAcquisitionFunction(base, UNIT, t=-1)
    with pytest.raises(SettingError, match=r"candidates must be None or a tensor of m x 3, got \(4, 1, 3\)"):
        CreditWeightedAcquisitionFunction(base, UNIT, candidates=points(4, 1))
    with pytest.raises(SettingError, match=r"candidates must be None or a tensor of m x 3, got \[1\]"):
        CreditWeightedAcquisitionFunction(base, UNIT, candidates=[1])  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="seed must be None or a whole number >= 0, got 'a'"):
        CreditWeightedAcquisitionFunction(base, UNIT, seed="a")  # type: ignore[arg-type]
    X, Y = torch.tensor(gp.X), torch.tensor(gp.y)[:, None]
    with pytest.raises(UnsupportedError, match=r"settings\.field='smooth' needs a model with one kernel"):
        CreditWeightedAcquisitionFunction(logei.qLogExpectedImprovement(ensemble(X, Y), 1.0), UNIT, settings=SMOOTH)


def test_without_botorch_the_pip_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("botorch", "_botorch_bridge", "_botorch_model"):
        monkeypatch.delitem(sys.modules, f"ccgbo.integrations.{name}")
    monkeypatch.setitem(sys.modules, "botorch.acquisition", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'ccgbo\[botorch\]'"):
        importlib.import_module("ccgbo.integrations.botorch")


# -- construction from common arguments


@pytest.mark.parametrize("name", ["default", "analytic"])
def test_the_registered_constructor_builds_the_base_by_its_own_constructor(gp: GP, model: Any, name: str) -> None:
    data = SupervisedDataset(
        torch.tensor(gp.X), torch.tensor(gp.y)[:, None], feature_names=["a", "b", "c"], outcome_names=["y"]
    )
    options = (
        {}
        if name == "default"
        else {"base_acqf_class": analytic.UpperConfidenceBound, "base_acqf_options": {"beta": 4.0}}
    )
    inputs = get_acqf_input_constructor(CreditWeightedAcquisitionFunction)(
        model=model,
        training_data=data,
        bounds=[(0.0, 1.0)] * 3,
        X_baseline=data.X,
        t=4,
        settings=KNN,
        seed=0,
        **options,
    )
    acqf = CreditWeightedAcquisitionFunction(**inputs)
    kind = logei.qLogNoisyExpectedImprovement if name == "default" else analytic.UpperConfidenceBound
    assert type(acqf.acq_func) is kind
    assert acqf.t == 4
    assert torch.isfinite(acqf(points(2, 1))).all()


# -- the bridge


@pytest.mark.parametrize("kernel", ["matern52", "matern32", "rbf"])
@pytest.mark.parametrize("noise", ["one level", "one per observation"])
@pytest.mark.parametrize("trend", [0.0, 0.8])
def test_a_core_gp_keeps_its_posterior_there_and_back(kernel: str, noise: str, trend: float) -> None:
    given = None if noise == "one level" else np.linspace(1e-3, 0.2, 24)
    gp = core_gp(kernel, given, trend)
    x = points(60)
    mean, std = gp.predict(x.numpy())
    with torch.no_grad():
        there = to_botorch(gp).posterior(x)
    np.testing.assert_allclose(there.mean.squeeze(-1), mean, atol=1e-9)
    np.testing.assert_allclose(there.variance.sqrt().squeeze(-1), std, atol=1e-9)
    back = from_botorch(to_botorch(gp))
    np.testing.assert_allclose(back.predict(x.numpy()), (mean, std), atol=1e-9)
    np.testing.assert_allclose(back.gp.hyper.lengthscales, gp.hyper.lengthscales)
    assert back.gp.hyper.trend == trend
    assert back.gp.kernel is gp.kernel
    assert (back.offset, back.scale) == (0.0, 1.0)


def test_a_fitted_botorch_model_in_its_own_units_comes_back_with_the_same_posterior() -> None:
    gp = core_gp()
    low, span = torch.tensor([-5.0, 100.0, 0.0]).double(), torch.tensor([15.0, 3900.0, 1e-3]).double()
    X, Y = low + torch.tensor(gp.X) * span, 40.0 + 7.0 * torch.tensor(gp.y)[:, None]
    model = SingleTaskGP(X, Y, input_transform=Normalize(d=3))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    core = from_botorch(model)
    x = low + points(60) * span
    with torch.no_grad():
        posterior = model.posterior(x)
    mean, std = core.predict(x.numpy())
    np.testing.assert_allclose(mean, posterior.mean.squeeze(-1), rtol=1e-7)
    np.testing.assert_allclose(std, posterior.variance.sqrt().squeeze(-1), rtol=1e-6)


def test_models_that_the_core_cannot_express_are_refused() -> None:
    gp = core_gp()
    X, Y = torch.tensor(gp.X), torch.tensor(gp.y)[:, None]
    cases: list[tuple[Any, str]] = [
        (SingleTaskGP(X, Y, covar_module=LinearKernel()), "RBF kernel, got LinearKernel"),
        (SingleTaskGP(X, Y, covar_module=MaternKernel(nu=0.5)), "RBF kernel, got MaternKernel"),
        (SingleTaskGP(X, torch.cat([Y, Y], dim=-1)), "one output, got SingleTaskGP"),
        (ModelListGP(SingleTaskGP(X, Y)), "model must be a SingleTaskGP, got ModelListGP"),
        (SingleTaskGP(X, Y, input_transform=Warp(d=3, indices=[0])), "None or Normalize, got Warp"),
        (SingleTaskGP(X, Y.exp(), outcome_transform=Log()), "None or Standardize, got Log"),
    ]
    for model, message in cases:
        with pytest.raises(UnsupportedError, match=message):
            from_botorch(model)
    with pytest.raises(SettingError, match="gp must be a GP, got None"):
        to_botorch(None)  # type: ignore[arg-type]


# -- what is printed


def test_the_page_names_every_argument_and_no_other() -> None:
    page = (ROOT / "docs/integrations/botorch.md").read_text()
    table = page.split("## Arguments")[1].split("## ")[0]
    named = re.findall(r"^\| `(\w+)`", table, flags=re.MULTILINE)
    taken = list(inspect.signature(CreditWeightedAcquisitionFunction).parameters)
    assert sorted(named) == sorted(taken)


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    example = runpy.run_path(str(ROOT / "examples/botorch_credit.py"), run_name="example")
    torch.manual_seed(0)
    best = example["main"](iterations=2)
    assert best > 0.4
    assert "most credited" in capsys.readouterr().out


def test_the_page_runs_and_prints_what_it_shows() -> None:
    names = run_page("botorch.md")
    assert names["candidate"].shape == (1, 2)
    assert names["batch"].shape == (3, 2)
