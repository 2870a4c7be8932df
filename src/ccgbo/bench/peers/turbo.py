"""TuRBO-1 with batches of one (Eriksson et al. 2019, "Scalable global optimization via local Bayesian optimization").

Written from the paper (Sec. 2 and its supplement on hyperparameters) on GPyTorch; there is no package of it.

    model       Matern 5/2 with a lengthscale for each coordinate in [0.005, 2], signal variance in [0.05, 20], noise
                variance in [5e-4, 0.2], 50 steps of Adam from 0.5, 1 and 0.005
    region      ccgbo.bench.trust_region; one draw from the posterior picks among its candidates
    restart     below a side of 0.5^7: everything is forgotten, 2 d points of a Latin hypercube begin anew

The first points are those given.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

import gpytorch
import numpy as np
import torch
from gpytorch.constraints import Interval
from scipy.stats import qmc

from ccgbo.arrays import Array
from ccgbo.bench.peers.unit_cube import UnitCube
from ccgbo.bench.trust_region import TrustRegion
from ccgbo.space import Space

ADAM_STEPS, LEARNING_RATE = 50, 0.1


class _LocalGP(gpytorch.models.ExactGP):  # type: ignore[misc]
    def __init__(self, X: Any, z: Any, likelihood: Any) -> None:
        super().__init__(X, z, likelihood)
        matern = gpytorch.kernels.MaternKernel(
            nu=2.5, ard_num_dims=X.shape[1], lengthscale_constraint=Interval(0.005, 2.0)
        )
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(matern, outputscale_constraint=Interval(0.05, 20.0))

    def forward(self, x: Any) -> Any:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def _fitted(X: Any, z: Any) -> tuple[Any, Any]:
    """The local model and its likelihood."""
    likelihood = gpytorch.likelihoods.GaussianLikelihood(noise_constraint=Interval(5e-4, 0.2)).double()
    model = _LocalGP(X, z, likelihood).double()
    model.initialize(
        **{"covar_module.outputscale": 1.0, "covar_module.base_kernel.lengthscale": 0.5, "likelihood.noise": 0.005}
    )
    model.train()
    likelihood.train()
    evidence = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    adam = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    for _ in range(ADAM_STEPS):
        adam.zero_grad()
        loss = -evidence(model(X), z)
        loss.backward()
        adam.step()
    model.eval()
    likelihood.eval()
    return model, likelihood


class TurboSearch(UnitCube):
    def __init__(self, space: Space, seed: int) -> None:
        super().__init__(space)
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        self._rng = np.random.default_rng(seed)
        self._from_model = False  # whether the point that was asked for came from the model
        self._begin([])

    def _begin(self, design: list[Array]) -> None:
        self._first = len(self.y)  # observations of this run begin here
        self._design = design
        self._region = TrustRegion(d=self.space.d)

    def tell(self, point: Mapping[str, Any], value: float) -> None:
        best = max(self.y[self._first :], default=-math.inf)
        super().tell(point, value)
        if self._from_model:
            self._from_model = False
            self._region = self._region.after(value, best)
            if self._region.collapsed:
                hypercube = qmc.LatinHypercube(self.space.d, rng=self._rng)
                self._begin(list(hypercube.random(2 * self.space.d)))

    def ask(self) -> dict[str, Any]:
        if self._design:
            return self.space.decode(self._design.pop())
        if len(self.y) == self._first:
            return self.space.decode(self._rng.random(self.space.d))
        self._from_model = True
        with warnings.catch_warnings(), gpytorch.settings.max_cholesky_size(2000):
            warnings.simplefilter("ignore")
            return self.space.decode(self._propose())

    def _propose(self) -> Array:  # (d,)
        X, y = np.array(self.U[self._first :]), np.array(self.y[self._first :])
        spread = float(y.std())
        z = (y - np.median(y)) / (spread if spread > 1e-6 else 1.0)
        model, likelihood = _fitted(torch.tensor(X), torch.tensor(z))
        lengthscales = model.covar_module.base_kernel.lengthscale.detach().numpy().ravel()
        candidates = self._region.candidates(X[int(np.argmax(z))], lengthscales, self._rng)
        with torch.no_grad():
            draw = likelihood(model(torch.tensor(candidates))).sample()
        chosen: Array = candidates[int(draw.argmax())]
        return chosen
