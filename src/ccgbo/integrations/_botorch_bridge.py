"""Fitted models between the core and BoTorch, with the same posterior on both sides.

    core      y = standardised value, zero prior mean, features in the unit cube
    BoTorch   value = offset + scale * y, constant prior mean, raw inputs

An affine input transform is folded into the lengthscales, an affine outcome transform and a constant mean into
``offset`` and ``scale``; nothing is refitted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from botorch.models import SingleTaskGP
from botorch.models.transforms.input import Normalize
from botorch.models.transforms.outcome import Standardize
from botorch.sampling.pathwise.utils import get_train_inputs
from gpytorch.constraints import Positive
from gpytorch.kernels import AdditiveKernel, Kernel, MaternKernel, RBFKernel, ScaleKernel
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood, GaussianLikelihood
from gpytorch.means import ConstantMean, ZeroMean
from torch import Tensor

from ccgbo.arrays import Array
from ccgbo.errors import UnsupportedError
from ccgbo.surrogate.distance import ONE_HOT
from ccgbo.surrogate.gp.cross import Hyper
from ccgbo.surrogate.gp.kernels import get_kernel
from ccgbo.surrogate.gp.posterior import GP
from ccgbo.surrogate.gp.trend import LINEAR, SQUARE
from ccgbo.validation import check


@dataclass(frozen=True, slots=True)
class CoreModel:
    """A core GP with the units of the BoTorch model it came from: value = offset + scale * y."""

    gp: GP
    offset: float
    scale: float

    def predict(self, x: Array) -> tuple[Array, Array]:  # (m, p) -> (m,), (m,)
        """Mean and standard deviation in the BoTorch model's units."""
        mean, std = self.gp.predict(x)
        return self.offset + self.scale * mean, self.scale * std


def to_botorch(gp: GP) -> SingleTaskGP:
    """The same posterior as a ``SingleTaskGP`` in double precision, over the core's features and standardised values.

    One noise level for all observations becomes a Gaussian likelihood, several become known variances. A categorical
    has one column for each choice, with sqrt(1/2) in the choice's own.
    """
    check("gp", gp, GP)
    layout, lengthscales = gp.sites.metric.layout, gp.sites.metric.embedded_unit
    if len(layout.many):
        raise UnsupportedError(
            f"the model must have at most {ONE_HOT} choices in each categorical, got {gp.kernel.choices}."
        )
    X, Y = torch.tensor(layout.embed(gp.X)), torch.tensor(gp.y).unsqueeze(-1)
    p = X.shape[-1]
    nu = {"matern52": 2.5, "matern32": 1.5}.get(gp.kernel.name)
    base = RBFKernel(ard_num_dims=p) if nu is None else MaternKernel(nu=nu, ard_num_dims=p)
    covar = ScaleKernel(base).double()
    base.lengthscale = torch.tensor(lengthscales)
    covar.outputscale = torch.tensor(gp.hyper.signal, dtype=torch.double)
    whole = covar + TrendKernel(gp.hyper.trend) if gp.hyper.trend else covar
    parts = {"covar_module": whole, "mean_module": ZeroMean(), "outcome_transform": None}
    if not _one_level(gp.noise):
        return SingleTaskGP(X, Y, torch.tensor(gp.noise).unsqueeze(-1), **parts).eval()
    likelihood = GaussianLikelihood(noise_constraint=Positive()).double()
    likelihood.noise = torch.tensor(gp.noise[0])
    return SingleTaskGP(X, Y, likelihood=likelihood, **parts).eval()


class TrendKernel(Kernel):  # type: ignore[misc]
    """The quadratic trend of the core, trend * phi(x) . phi(x'), over inputs in the unit cube."""

    is_stationary = False

    def __init__(self, trend: float) -> None:
        super().__init__()
        self.register_buffer("trend", torch.tensor(trend, dtype=torch.double))

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **_: Any) -> Tensor:
        phi1, phi2 = self._basis(x1), self._basis(x2)
        together = (phi1 * phi2).sum(-1) if diag else phi1 @ phi2.transpose(-1, -2)
        scaled: Tensor = self.trend * together
        return scaled

    @staticmethod
    def _basis(x: Tensor) -> Tensor:
        linear, square = LINEAR * (2.0 * x - 1.0), SQUARE * (6.0 * x * (x - 1.0) + 1.0)
        phi: Tensor = torch.cat([linear, square], dim=-1) / (2.0 * x.shape[-1]) ** 0.5
        return phi


def from_botorch(model: SingleTaskGP) -> CoreModel:
    """A fitted ``SingleTaskGP`` as a core GP with the same posterior, over the model's own (raw) inputs.

    Taken: a Matern-5/2, Matern-3/2 or RBF kernel with or without a ``ScaleKernel``, a constant or zero mean, a
    Gaussian or fixed-noise likelihood, ``Normalize`` on the inputs, ``Standardize`` on the outcome; and what
    ``to_botorch`` makes.
    """
    if not isinstance(model, SingleTaskGP):
        raise UnsupportedError(f"model must be a SingleTaskGP, got {type(model).__name__}.")
    model.eval()
    likelihood, mean = model.likelihood, model.mean_module
    covar, trend = _without_trend(model.covar_module)
    scaled = isinstance(covar, ScaleKernel)
    base = covar.base_kernel if scaled else covar
    kernel = get_kernel(_kernel_name(base))
    refusals = (
        (model.num_outputs != 1 or len(model.batch_shape), "be unbatched with one output", model),
        (not isinstance(mean, ConstantMean | ZeroMean), "have a constant or zero mean", mean),
        (type(likelihood) not in (GaussianLikelihood, FixedNoiseGaussianLikelihood), "have Gaussian noise", likelihood),
        (base.active_dims is not None, "use every input in its kernel", base),
    )
    for broken, rule, what in refusals:
        if broken:
            raise UnsupportedError(f"model must {rule}, got {type(what).__name__}.")
    (X,) = get_train_inputs(model, transformed=False)
    lengthscales = base.lengthscale.expand(1, X.shape[-1])[0] * _input_range(model)
    constant = mean.constant.item() if isinstance(mean, ConstantMean) else 0.0
    offset, scale = _outcome_units(model)
    y, noise = as_numpy(model.train_targets) - constant, as_numpy(likelihood.noise).reshape(-1)
    signal = covar.outputscale.item() if scaled else 1.0
    hyper = Hyper(lengthscales=as_numpy(lengthscales), signal=signal, noise=float(noise.mean()), trend=trend)
    gp = GP.from_data(kernel, hyper, as_numpy(X), y, None if _one_level(noise) else noise)
    return CoreModel(gp, offset + scale * constant, scale)


def _without_trend(covar: Any) -> tuple[Any, float]:
    """The stationary kernel, and the variance of the trend that ``to_botorch`` added to it."""
    if isinstance(covar, AdditiveKernel) and isinstance(covar.kernels[-1], TrendKernel) and len(covar.kernels) == 2:
        return covar.kernels[0], covar.kernels[1].trend.item()
    return covar, 0.0


def _one_level(noise: Array) -> bool:
    return bool(np.allclose(noise, noise[0], rtol=1e-12, atol=0.0))


def _kernel_name(base: Any) -> str:
    names = {2.5: "matern52", 1.5: "matern32"}
    if isinstance(base, MaternKernel) and base.nu in names:
        return names[base.nu]
    if isinstance(base, RBFKernel):
        return "rbf"
    raise UnsupportedError(f"model must have a Matern-5/2, Matern-3/2 or RBF kernel, got {type(base).__name__}.")


def _input_range(model: SingleTaskGP) -> Tensor | float:
    """What one unit of each transformed input is in raw units."""
    transform = getattr(model, "input_transform", None)
    if transform is None:
        return 1.0
    if type(transform) is not Normalize or hasattr(transform, "indices"):
        raise UnsupportedError(f"model.input_transform must be None or Normalize, got {type(transform).__name__}.")
    coefficient: Tensor = transform.coefficient.reshape(-1)
    return coefficient


def _outcome_units(model: SingleTaskGP) -> tuple[float, float]:
    transform = getattr(model, "outcome_transform", None)
    if transform is None:
        return 0.0, 1.0
    if type(transform) is not Standardize:
        raise UnsupportedError(f"model.outcome_transform must be None or Standardize, got {type(transform).__name__}.")
    return transform.means.item(), transform.stdvs.item()


def as_numpy(x: Tensor) -> Array:
    result: Array = x.detach().cpu().double().numpy()
    return result
