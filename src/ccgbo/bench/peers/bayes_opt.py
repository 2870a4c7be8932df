"""bayesian-optimization with its default acquisition, UCB of kappa 2.576."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from bayes_opt import BayesianOptimization
from bayes_opt.acquisition import UpperConfidenceBound

from ccgbo.bench.peers.unit_cube import UnitCube
from ccgbo.space import Space


class BayesOptSearch(UnitCube):
    def __init__(self, space: Space, seed: int) -> None:
        super().__init__(space)
        self._names = [f"u{j:03d}" for j in range(space.d)]
        self._bo = BayesianOptimization(
            None,
            dict.fromkeys(self._names, (0.0, 1.0)),
            acquisition_function=UpperConfidenceBound(kappa=2.576),
            random_state=seed,
            verbose=0,
            allow_duplicate_points=True,
        )

    def tell(self, point: Mapping[str, Any], value: float) -> None:
        super().tell(point, value)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._bo.register(params=dict(zip(self._names, self.U[-1], strict=True)), target=value)

    def ask(self) -> dict[str, Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            point = self._bo.suggest()
        return self.space.decode(np.array([float(point[name]) for name in self._names]))
