"""BoTorch: SingleTaskGP with fit_gpytorch_mll, optimize_acqf with 10 restarts and 512 raw samples.

The model's priors are BoTorch's own, scaled with the dimension after Hvarfner et al. 2024. ``around_best`` adds as many
raw samples again around the best points, by BoTorch's option ``sample_around_best`` as it is: in many dimensions no
uniform one is near anything (Papenmeier et al. 2025).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from botorch.acquisition.analytic import LogExpectedImprovement, UpperConfidenceBound
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim.optimize import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood

from ccgbo.bench.peers.unit_cube import UnitCube
from ccgbo.space import Space


class BoTorchSearch(UnitCube):
    def __init__(self, space: Space, seed: int, *, acquisition: str, around_best: bool = False) -> None:
        super().__init__(space)
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        self._acquisition = acquisition
        self._options: Any = {"sample_around_best": True} if around_best else {}

    def ask(self) -> dict[str, Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            X = torch.tensor(np.array(self.U))
            Y = torch.tensor(self.y)[:, None].double()
            Y = (Y - Y.mean()) / Y.std().clamp_min(1e-12)
            model = SingleTaskGP(X, Y)
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
            bounds = torch.stack([torch.zeros(X.shape[1]), torch.ones(X.shape[1])]).double()
            acqf = self._bind(model, X)
            x, _ = optimize_acqf(acqf, bounds=bounds, q=1, num_restarts=10, raw_samples=512, options=self._options)
        return self.space.decode(x[0].numpy())

    def _bind(self, model: Any, X: Any) -> Any:
        if self._acquisition == "ucb":
            return UpperConfidenceBound(model, beta=2.576**2)  # its beta is the square of ours
        return LogExpectedImprovement(model, best_f=model.posterior(X).mean.max())
