"""Construction of the credit-weighted acquisition from BoTorch's common arguments, for Ax and others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.acquisition.input_constructors import get_acqf_input_constructor
from botorch.acquisition.logei import qLogNoisyExpectedImprovement
from botorch.models.model import Model
from torch import Tensor

from ccgbo.acquisition.base import Codomain
from ccgbo.credit.field import CreditSettings
from ccgbo.tuning import EngineTuning


def construct_inputs_credit_weighted(
    model: Model,
    bounds: Sequence[tuple[float, float]],  # d pairs
    base_acqf_class: type[AcquisitionFunction] = qLogNoisyExpectedImprovement,
    base_acqf_options: Mapping[str, Any] | None = None,
    training_data: Any = None,
    X_baseline: Tensor | None = None,
    X_pending: Tensor | None = None,
    objective: Any = None,
    posterior_transform: Any = None,
    constraints: Any = None,
    t: int | None = None,
    settings: CreditSettings | None = None,
    tuning: EngineTuning | None = None,
    codomain: Codomain | None = None,
    candidates: Tensor | None = None,
    X_observed: Tensor | None = None,
    seed: int | None = None,
) -> dict[str, Any]:
    """Arguments of ``CreditWeightedAcquisitionFunction`` around a base that is built by its own constructor."""
    common = {
        "training_data": training_data,
        "bounds": bounds,
        "X_baseline": X_baseline,
        "objective": objective,
        "posterior_transform": posterior_transform,
        "constraints": constraints,
    }
    given = {name: value for name, value in common.items() if value is not None}
    inputs = get_acqf_input_constructor(base_acqf_class)(model=model, **given, **(base_acqf_options or {}))
    limits = torch.as_tensor(bounds, dtype=torch.double).t().contiguous()
    return {
        "acq_function": base_acqf_class(**inputs),
        "bounds": limits,
        "t": t,
        "settings": settings,
        "tuning": tuning,
        "codomain": codomain,
        "candidates": candidates,
        "X_observed": X_observed,
        "X_pending": X_pending,
        "seed": seed,
    }
