"""The variant turbo-box: our surrogate and LogEI, searched among the candidates of TuRBO's trust region.

What a region made of counted successes does, on the same model as a default that has another one, or none. When the
region has collapsed it begins again at its first size, around the best point; the data are kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ccgbo.acquisition import Context, LogEI
from ccgbo.bench.baselines.base import Initial, Point
from ccgbo.bench.trust_region import TrustRegion
from ccgbo.engine.model import Model, build_model
from ccgbo.engine.optimizer import Optimizer
from ccgbo.engine.settings import Settings
from ccgbo.errors import SettingError
from ccgbo.space import Space


@dataclass(frozen=True, slots=True, kw_only=True)
class TurboBox:
    settings: Settings

    def make(self, space: Space, seed: int, initial: Initial) -> TurboBoxSearch:
        return TurboBoxSearch(space, seed, self.settings, initial)


class TurboBoxSearch:
    def __init__(self, space: Space, seed: int, settings: Settings, initial: Initial) -> None:
        if space.mixed or not initial:
            raise SettingError("turbo-box needs numbers only and an initial design.")
        self.optimizer = Optimizer(space, preset=settings, seed=seed, n_initial=len(initial))
        self.optimizer.tell_many([point for point, _ in initial], [value for _, value in initial])
        self._rng = np.random.default_rng(seed)
        self._region = TrustRegion(d=space.d)
        self._model: Model | None = None
        self._best = max(value for _, value in initial)

    def ask(self) -> Point:
        optimizer, space = self.optimizer, self.optimizer.space
        fit = None if self._model is None else self._model.fit
        model = build_model(optimizer.data, space.choices, optimizer.settings, self._model, fit)
        self._model = model
        centre = model.posterior.X[int(model.mean.argmax())]  # of numbers alone the features are the unit cube
        candidates = self._region.candidates(centre, model.posterior.unit, self._rng)
        F = space.features(candidates)
        score = LogEI().bind(Context(model.posterior, float(model.mean.max()), None, self._rng))
        return space.decode(candidates[int(np.argmax(score(F)))])

    def tell(self, point: Point, value: float) -> None:
        self.optimizer.tell(point, value)
        self._region = self._region.after(value, self._best)
        if self._region.collapsed:
            self._region = TrustRegion(d=self._region.d)
        self._best = max(self._best, value)
