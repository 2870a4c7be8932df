"""Credit over a BoTorch model with several outputs: for a front of objectives, or for a feasible optimum.

    n  observations, m  outputs, r  objectives, k  joint posterior draws, c  points

Outputs are independent of one another, and objectives and constraints are linear in them:

    objectives    A y + b, to be maximised     of the acquisition's ``objective``, or its one output
    constraints   low <= a y + c <= high       of its ``constraints``

Each draw has a front (or an optimum) where its constraints hold, and where they hold nowhere the point of least
violation. The likelihood of an observation is multiplied by its probability of being feasible: what the core does with
metrics of these names (ccgbo.credit.fronts).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from botorch.acquisition import analytic
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.acquisition.multi_objective.analytic import ExpectedHypervolumeImprovement
from botorch.acquisition.multi_objective.logei import (
    qLogExpectedHypervolumeImprovement,
    qLogNoisyExpectedHypervolumeImprovement,
)
from botorch.acquisition.multi_objective.monte_carlo import (
    qExpectedHypervolumeImprovement,
    qNoisyExpectedHypervolumeImprovement,
)
from botorch.models import SingleTaskGP
from botorch.models.model import Model
from botorch.models.model_list_gp_regression import ModelListGP
from botorch.utils.transforms import is_ensemble
from numpy.typing import NDArray
from torch import Tensor

from ccgbo.acquisition.feasibility import log_within
from ccgbo.arrays import Array
from ccgbo.credit.field import CreditSettings
from ccgbo.credit.fronts import front_log_likelihood
from ccgbo.credit.scores import log_likelihood, scores_of
from ccgbo.errors import SettingError, UnsupportedError
from ccgbo.integrations._botorch_bridge import as_numpy
from ccgbo.integrations._botorch_model import Credited, draw_paths, inputs_of, joint_points
from ccgbo.pareto import non_dominated
from ccgbo.surrogate.outcome_transform import Standardize
from ccgbo.tuning import EngineTuning

N_POINTS = 192  # candidates over which the front of each draw is sought, beside the observations
N_PROBES = 4  # random outputs at which a function that should be linear is checked

FRONT = (
    qExpectedHypervolumeImprovement,
    qNoisyExpectedHypervolumeImprovement,
    qLogExpectedHypervolumeImprovement,
    qLogNoisyExpectedHypervolumeImprovement,
)
CONSTRAINED = (analytic.ConstrainedExpectedImprovement, analytic.LogConstrainedExpectedImprovement)


@dataclass(frozen=True, slots=True)
class Linear:
    """r linear functions of the outputs."""

    A: Array  # (r, m)
    b: Array  # (r,)

    @classmethod
    def probed(cls, name: str, function: Callable[[Tensor], Tensor], m: int, dtype: torch.dtype) -> Linear:
        """The coefficients of a function of samples, which must be linear."""
        rng = np.random.default_rng(0)
        Y = torch.tensor(np.concatenate([np.zeros((1, m)), np.eye(m), rng.normal(size=(N_PROBES, m))]), dtype=dtype)
        values = as_numpy(function(Y.unsqueeze(-2)).reshape(len(Y), -1))  # samples x q x m, with q = 1
        found = cls((values[1 : m + 1] - values[0]).T, values[0])
        close = 100.0 * torch.finfo(dtype).eps
        if not np.allclose(found(as_numpy(Y)), values, rtol=close, atol=close * (1.0 + np.abs(values).max())):
            raise UnsupportedError(f"{name} must be linear in the outputs of the model, got {function!r}.")
        return found

    def __call__(self, Y: Array) -> Array:  # (..., m) -> (..., r)
        result: Array = Y @ self.A.T + self.b
        return result

    def std(self, std: Array) -> Array:  # (n, m) -> (n, r)
        """The standard deviation of the functions of independent outputs."""
        result: Array = np.sqrt(std**2 @ (self.A**2).T)
        return result


@dataclass(frozen=True, slots=True)
class Outputs:
    """Models of the outputs, and what is sought of them."""

    models: Sequence[Model]  # one output each
    objectives: Linear
    constraints: Linear
    low: Array  # (constraints,)
    high: Array

    @classmethod
    def of(cls, model: Model, acq_function: AcquisitionFunction) -> Outputs:
        models = _single_outputs(model)
        return cls(models, *_sought(acq_function, len(models), inputs_of(models[0]).dtype))

    def train_inputs(self) -> Tensor:  # n x d
        inputs = [inputs_of(model) for model in self.models]
        if any(X.shape != inputs[0].shape or not bool(torch.equal(X, inputs[0])) for X in inputs):
            raise SettingError("X_observed must be given: the outputs of the model were observed at different inputs.")
        return inputs[0]

    def credit(
        self,
        X: Tensor,
        candidates: Tensor,
        bounds: Tensor,  # noqa: ARG002 - one signature with a single output
        settings: CreditSettings,
        tuning: EngineTuning,
    ) -> Credited:
        """The scores of the observations for the front, or for the feasible optimum."""
        mean, std = self._moments(X)
        goal, spread = self.objectives(mean), self.objectives.std(std)
        unit = np.array([Standardize.fitted(column).scale for column in goal.T])  # eps_c is meant for such values
        bounded, wide = self.constraints(mean), self.constraints.std(std)
        feasibility = np.zeros(len(mean))
        for column, error, low, high in zip(bounded.T, wide.T, self.low, self.high, strict=True):
            feasibility += log_within(column, error, float(low), float(high))[0]
        scale = np.array([Standardize.fitted(column).scale for column in bounded.T])
        Y = self._draw(candidates[:N_POINTS], X, settings.n_paths, tuning)
        violation = self._violation(Y, scale)
        eps, proxy, fronts = tuning.score_eps, math.nan, None
        if len(unit) == 1:
            proxy = float(np.mean([_best(y, beyond) for y, beyond in zip(self.objectives(Y), violation, strict=True)]))
            log_lik = log_likelihood(goal[:, 0] / unit[0], spread[:, 0] / unit[0], proxy / unit[0], eps=eps)
        else:
            fronts = [_front(y, beyond) for y, beyond in zip(self.objectives(Y), violation, strict=True)]
            log_lik = front_log_likelihood(goal / unit, spread / unit, [front / unit for front in fronts], eps=eps)
        scores = scores_of(log_lik + feasibility, float(proxy / unit[0]), floor=settings.floor, eps=eps)
        return Credited(scores, proxy, fronts)

    def _moments(self, X: Tensor) -> tuple[Array, Array]:  # (n, m), (n, m)
        posteriors: list[Any] = [model.posterior(X) for model in self.models]
        mean = torch.cat([posterior.mean for posterior in posteriors], dim=-1)
        variance = torch.cat([posterior.variance for posterior in posteriors], dim=-1)
        return as_numpy(mean), np.sqrt(np.maximum(as_numpy(variance), 1e-300))

    def _draw(self, candidates: Tensor, X: Tensor, k: int, tuning: EngineTuning) -> Array:  # (k, c, m)
        points, drawn = joint_points(candidates, X), []
        for model in self.models:
            paths = draw_paths(model, k, tuning)
            joint = model.posterior(points).rsample(torch.Size([k])).squeeze(-1) if paths is None else paths(points)
            drawn.append(as_numpy(joint))
        return np.stack(drawn, axis=2)

    def _violation(self, Y: Array, scale: Array) -> Array:  # (k, c, m) -> (k, c)
        values = self.constraints(Y)
        beyond: Array = np.maximum(np.maximum(self.low - values, values - self.high), 0.0) / scale
        result: Array = beyond.sum(axis=2)
        return result


def _allowed(violation: Array) -> NDArray[np.bool_]:  # (c,)
    """Where the constraints hold, else the point of least violation."""
    kept: NDArray[np.bool_] = violation <= violation.min()
    return kept


def _best(y: Array, violation: Array) -> float:  # (c, 1), (c,)
    return float(y[_allowed(violation), 0].max())


def _front(y: Array, violation: Array) -> Array:  # (c, r), (c,) -> (q, r)
    kept = y[_allowed(violation)]
    return kept[non_dominated(kept)]


# -- what is taken


def _single_outputs(model: Any) -> list[Model]:
    """A model for each output; they must be independent of one another."""
    if isinstance(model, ModelListGP):
        return [one for part in model.models for one in _single_outputs(part)]
    if not isinstance(model, SingleTaskGP) or is_ensemble(model):
        name = type(model).__name__
        raise UnsupportedError(
            f"a model of several outputs must be a SingleTaskGP or a ModelListGP of them, got {name}."
        )
    if model.num_outputs == 1:
        return [model]
    return [model.subset_output([i]) for i in range(model.num_outputs)]


def _sought(acq_function: Any, m: int, dtype: torch.dtype) -> tuple[Linear, Linear, Array, Array]:
    """Objectives, constraints and the bounds of these."""
    rows = np.eye(m)
    if isinstance(acq_function, FRONT):
        objective_of: Any = acq_function.objective
        objectives = Linear.probed("acq_function.objective", objective_of, m, dtype)
        parts = [Linear.probed("acq_function.constraints", c, m, dtype) for c in acq_function.constraints or ()]
        constraints = Linear(
            np.concatenate([np.empty((0, m)), *(part.A for part in parts)]),
            np.concatenate([np.empty(0), *(part.b for part in parts)]),
        )
        return objectives, constraints, np.full(len(parts), -np.inf), np.zeros(len(parts))
    if isinstance(acq_function, ExpectedHypervolumeImprovement) and acq_function.posterior_transform is None:
        return Linear(rows, np.zeros(m)), Linear(rows[:0], np.zeros(0)), np.zeros(0), np.zeros(0)
    if isinstance(acq_function, CONSTRAINED):
        bounds = acq_function.constraints
        sign = 1.0 if acq_function.maximize else -1.0
        low = np.array([-np.inf if ends[0] is None else float(ends[0]) for ends in bounds.values()])
        high = np.array([np.inf if ends[1] is None else float(ends[1]) for ends in bounds.values()])
        objective = Linear(sign * rows[[acq_function.objective_index]], np.zeros(1))
        return objective, Linear(rows[list(bounds)], np.zeros(len(bounds))), low, high
    known = ", ".join(kind.__name__ for kind in (*FRONT, ExpectedHypervolumeImprovement, *CONSTRAINED))
    raise UnsupportedError(
        f"acq_function of a model with {m} outputs must be one of {known}, got {type(acq_function).__name__}."
    )
