"""BoTorch with a SingleTaskGP for each metric, its values standardised: constrained LogEI, and qLogNEHVI.

Models, restarts and raw samples are those of botorch.py. Before a point is feasible, constrained LogEI is the log
probability of being so, which BoTorch has for that. qLogNEHVI has 128 Sobol samples and prunes its baseline, as in
BoTorch's tutorials, and is told the reference point of the problem.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from botorch.acquisition.analytic import LogConstrainedExpectedImprovement, LogProbabilityOfFeasibility
from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement
from botorch.acquisition.multi_objective.objective import IdentityMCMultiOutputObjective
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.model_list_gp_regression import ModelListGP
from botorch.optim.optimize import optimize_acqf
from botorch.sampling.normal import SobolQMCNormalSampler
from gpytorch.mlls import ExactMarginalLogLikelihood

from ccgbo.arrays import Array
from ccgbo.bench.problems.several import Task


class _Search(ABC):
    """Metrics are negated objectives, which BoTorch maximises, then the constraints, each standardised."""

    def __init__(self, task: Task, seed: int) -> None:
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        self.task, self.m = task, len(task.objectives)
        self._signs = np.array([-1.0] * self.m + [1.0] * len(task.constraints))
        self._U: list[Array] = []
        self._Y: list[Array] = []

    def tell(self, point: Mapping[str, Any], values: Mapping[str, float]) -> None:
        self._U.append(self.task.space.encode(point))
        self._Y.append(self._signs * [values[name] for name in self.task.metrics])

    def ask(self) -> dict[str, Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            X, Y = torch.tensor(np.array(self._U)), torch.tensor(np.array(self._Y))
            middle, scale = Y.mean(dim=0), Y.std(dim=0).clamp_min(1e-12)
            models = []
            for column in ((Y - middle) / scale).T:
                models.append(SingleTaskGP(X, column[:, None]))
                fit_gpytorch_mll(ExactMarginalLogLikelihood(models[-1].likelihood, models[-1]))
            acqf = self.bind(ModelListGP(*models), X, Y, lambda y, k: (y - middle[k]) / scale[k])
            bounds = torch.stack([torch.zeros(X.shape[1]), torch.ones(X.shape[1])]).double()
            x, _ = optimize_acqf(acqf, bounds=bounds, q=1, num_restarts=10, raw_samples=512)
        return self.task.space.decode(x[0].numpy())

    @abstractmethod
    def bind(self, model: Any, X: Any, Y: Any, scaled: Any) -> Any:
        """The acquisition; ``scaled(y, k)`` is a value of metric k in units of its model."""


class ConstrainedLogEISearch(_Search):
    def bind(self, model: Any, X: Any, Y: Any, scaled: Any) -> Any:
        del X
        bounds: dict[int, Any] = {k: (None, float(scaled(0.0, k))) for k in range(1, len(self.task.metrics))}
        feasible = (Y[:, 1:] <= 0.0).all(dim=1)
        if not feasible.any():
            return LogProbabilityOfFeasibility(model, bounds)
        best = scaled(Y[feasible, 0].max(), 0)
        return LogConstrainedExpectedImprovement(model, best, objective_index=0, constraints=bounds)


class HypervolumeSearch(_Search):
    def bind(self, model: Any, X: Any, Y: Any, scaled: Any) -> Any:
        reference = [float(scaled(-r, k)) for k, r in enumerate(self.task.reference)]
        limits = [float(scaled(0.0, k)) for k in range(self.m, len(self.task.metrics))]
        return qLogNoisyExpectedHypervolumeImprovement(
            model,
            ref_point=reference,
            X_baseline=X,
            sampler=SobolQMCNormalSampler(torch.Size([128]), seed=len(Y)),
            objective=IdentityMCMultiOutputObjective(outcomes=list(range(self.m))),
            constraints=[partial(_excess, k=self.m + i, limit=limit) for i, limit in enumerate(limits)] or None,
            prune_baseline=True,
        )


def _excess(Z: Any, *, k: int, limit: float) -> Any:
    """How far samples of metric k are above what is allowed; negative means feasible."""
    return Z[..., k] - limit
