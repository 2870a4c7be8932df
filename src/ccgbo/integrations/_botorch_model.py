"""What counterfactual credit needs of a BoTorch model: moments at the observations, the proxy, and fields over inputs.

n  observations, d  inputs, k  posterior paths, m  points
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.acquisition.objective import IdentityMCObjective
from botorch.models.model import Model
from botorch.models.model_list_gp_regression import ModelListGP
from botorch.sampling.normal import SobolQMCNormalSampler
from botorch.sampling.pathwise import draw_kernel_feature_paths, draw_matheron_paths
from botorch.sampling.pathwise.utils import get_train_inputs, get_train_targets
from botorch.utils.transforms import is_ensemble, normalize, unnormalize
from torch import Tensor

from ccgbo.arrays import Array
from ccgbo.credit.field import CreditSettings
from ccgbo.credit.scores import Scores, score
from ccgbo.errors import SettingError, UnsupportedError
from ccgbo.integrations._botorch_bridge import as_numpy
from ccgbo.surrogate.ascent import ascend
from ccgbo.surrogate.outcome_transform import Standardize
from ccgbo.tuning import EngineTuning

N_JOINT = 256  # points of a joint draw, which costs the cube of their number
N_MOMENTS = 256  # samples for the moments of a nonlinear objective
KAPPA = 0.05  # of the smooth field, as in ccgbo.credit.field


def only(model: Model) -> Model:
    """The model in a list of one."""
    inner: Model = model.models[0] if isinstance(model, ModelListGP) else model  # type: ignore[assignment]
    return inner


def kernel_of(model: Model) -> Any:
    """The prior covariance of a model that has a single one, else None."""
    if model.num_outputs != 1:
        return None
    model = only(model)
    kernel = getattr(model if hasattr(model, "covar_module") else getattr(model, "model", None), "covar_module", None)
    return None if kernel is None or len(kernel.batch_shape) else kernel


@dataclass(frozen=True, slots=True)
class Credited:
    """Scores of the observations, and what they were compared with."""

    scores: Scores
    proxy: float  # in the units of what is maximised; NaN of a front
    fronts: Sequence[Array] | None = None  # (q_j, m) of each draw


def draw_paths(model: Model, n_paths: int, tuning: EngineTuning) -> Callable[[Tensor], Tensor] | None:
    """Joint posterior functions of a model with one output; None where BoTorch has no sampler for it."""
    sampler = partial(draw_kernel_feature_paths, num_features=2 * tuning.n_features)
    try:
        # an ensemble has as many priors as members, which the sampler does not take together
        paths = None if is_ensemble(model) else draw_matheron_paths(model, torch.Size([n_paths]), prior_sampler=sampler)
    except NotImplementedError:  # no random features for this kernel or model
        paths = None
    return paths


def inputs_of(model: Model) -> Tensor:  # n x d
    """The training inputs, which an ensemble repeats, and one output taken out of several with an input transform."""
    X: Tensor
    (X,) = get_train_inputs(model, transformed=False)
    while X.ndim > 2:
        X = X[0]
    return X.detach()


def joint_points(candidates: Tensor, X: Tensor) -> Tensor:
    """Points of a joint draw, the observations last."""
    return torch.cat([candidates[:N_JOINT], X])


class Outcome:
    """The number that is maximised: the model's output through the acquisition's transform, objective and sign."""

    def __init__(self, model: Model, acq_function: AcquisitionFunction) -> None:
        self.model = only(model)
        self.transform = getattr(acq_function, "posterior_transform", None)
        objective = getattr(acq_function, "objective", None)
        self.objective = None if isinstance(objective, IdentityMCObjective) else objective
        self.sign = 1.0 if getattr(acq_function, "maximize", True) else -1.0

    def __call__(self, Y: Tensor, X: Tensor) -> Tensor:  # ... x n x 1, n x d -> ... x n
        if self.transform is not None:
            Y = self.transform.evaluate(Y, X)
            Y = Y.unsqueeze(-1) if self.transform.scalarize else Y
        return self.sign * (Y.squeeze(-1) if self.objective is None else self.objective(Y, X=X))

    def train_inputs(self) -> Tensor:  # n x d
        try:
            return inputs_of(self.model)
        except (AttributeError, NotImplementedError, TypeError, ValueError):
            raise SettingError(f"X_observed must be given: {type(self.model).__name__} keeps no inputs.") from None

    def unit(self, X: Tensor, mean: Array) -> float:
        """The size of a unit of the observed values, as the core standardises them."""
        try:
            Y = get_train_targets(self.model, transformed=False).detach()
        except (AttributeError, NotImplementedError):
            return Standardize.fitted(mean).scale
        while Y.ndim > 1:
            Y = Y[0]
        if len(Y) != len(X):
            return Standardize.fitted(mean).scale
        return Standardize.fitted(as_numpy(self(Y.unsqueeze(-1), X))).scale

    def moments(self, X: Tensor) -> tuple[Array, Array]:
        """Posterior mean (n,) and standard deviation (n,) at the observations."""
        posterior = self.model.posterior(X, posterior_transform=self.transform)
        if self.objective is not None:
            samples = SobolQMCNormalSampler(torch.Size([N_MOMENTS]), seed=0)(posterior)
            values = self.sign * self.objective(samples, X=X)
            values = values.flatten(end_dim=-2) if is_ensemble(self.model) else values
            mean, variance = values.mean(dim=0), values.var(dim=0)
        else:
            kind = "mixture_" if is_ensemble(self.model) else ""
            mean = self.sign * getattr(posterior, f"{kind}mean").squeeze(-1)
            variance = getattr(posterior, f"{kind}variance").squeeze(-1)
        if mean.ndim != 1:
            raise UnsupportedError(
                f"acq_function.model must not be batched, got posterior means of {tuple(mean.shape)}."
            )
        return as_numpy(mean), np.sqrt(np.maximum(as_numpy(variance), 0.0))

    def credit(
        self, X: Tensor, candidates: Tensor, bounds: Tensor, settings: CreditSettings, tuning: EngineTuning
    ) -> Credited:
        """The scores of the observations for the proxy of the optimum."""
        mean, std = self.moments(X)
        z = self.proxy(candidates[: tuning.path_candidates], X, bounds, settings.n_paths, tuning)
        unit = self.unit(X, mean)  # eps_c is meant for standardised values
        scores = score(mean / unit, std / unit, z / unit, floor=settings.floor, eps=tuning.score_eps)
        return Credited(scores, z)

    def proxy(self, candidates: Tensor, X: Tensor, bounds: Tensor, n_paths: int, tuning: EngineTuning) -> float:
        """Z: the mean over paths of their maxima over candidates and observations."""
        paths = draw_paths(self.model, n_paths, tuning)
        if paths is None:  # draws at finitely many points are joint as well
            some = joint_points(candidates, X)
            draws = self.model.posterior(some).rsample(torch.Size([n_paths]))
            return float(self(draws, some).amax(dim=-1).mean())
        points = torch.cat([candidates, X])
        maxima, best = self(paths(points).unsqueeze(-1), points).max(dim=-1)  # (k,)
        if tuning.path_steps == 0:
            return float(maxima.mean())
        return self._climb(paths, normalize(points[best], bounds), bounds, tuning.path_steps)

    def _climb(self, paths: Callable[[Tensor], Tensor], start: Tensor, bounds: Tensor, steps: int) -> float:
        """The mean of the maxima after gradient steps of each path from its own start."""

        def own(u: Array) -> tuple[Array, Array]:
            x = torch.as_tensor(u).to(start).requires_grad_()
            with torch.enable_grad():
                X = unnormalize(x, bounds).unsqueeze(-2)  # k x 1 x d: every path at its own point
                value = self(paths(X).unsqueeze(-1), X).squeeze(-1)
                (gradient,) = torch.autograd.grad(value.sum(), x)
            return as_numpy(value), as_numpy(gradient)

        u = np.clip(as_numpy(start), 0.0, 1.0)
        _, maxima = ascend(own, u, np.ones(u.shape, dtype=bool), unit=np.full(u.shape[1], 0.3), steps=steps)
        return float(maxima.mean())


# -- fields of credit


class KNNField(torch.nn.Module):
    """Mean share of the H nearest observations in the unit cube: piecewise constant, so without a gradient."""

    bounds: Tensor
    U: Tensor  # n x d in the unit cube
    share: Tensor  # (n,) credit over the largest credit

    def __init__(self, X: Tensor, share: Tensor, bounds: Tensor, n_neighbours: int) -> None:
        super().__init__()
        self.register_buffer("bounds", bounds)
        self.register_buffer("U", normalize(X, bounds))
        self.register_buffer("share", share)
        self.h = n_neighbours

    def forward(self, X: Tensor) -> Tensor:  # ... x d -> ...
        u = normalize(X.detach(), self.bounds).flatten(end_dim=-2)
        distance = torch.cdist(u, self.U, compute_mode="donot_use_mm_for_euclid_dist")
        nearest = distance.topk(self.h, largest=False).indices
        return self.share[nearest].mean(dim=-1).reshape(X.shape[:-1])


class SmoothField(torch.nn.Module):
    """Average of the shares weighted by the model's own prior correlation, drawn to their mean far from the data."""

    X: Tensor
    share: Tensor

    def __init__(self, model: Model, X: Tensor, share: Tensor) -> None:
        super().__init__()
        self.model: Model = only(model)
        self.kernel: Any = kernel_of(model)
        if self.kernel is None:
            name = type(model).__name__
            raise UnsupportedError(f"settings.field='smooth' needs a model with one kernel, got {name}; use 'knn'.")
        self.register_buffer("X", X)
        self.register_buffer("share", share)

    def forward(self, X: Tensor) -> Tensor:  # ... x d -> ...
        x, observed = (self.model.transform_inputs(A) for A in (X.flatten(end_dim=-2), self.X))
        size = self.kernel(x, diag=True).sqrt().unsqueeze(-1) * self.kernel(observed, diag=True).sqrt()
        rho = self.kernel(x, observed).to_dense() / size
        top = rho @ self.share + KAPPA * self.share.mean()
        pi: Tensor = top / (rho.sum(dim=-1) + KAPPA)
        return pi.reshape(X.shape[:-1])
