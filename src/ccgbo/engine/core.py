"""What an optimizer is made of: its memory, its generator and its models, and what the next step would look at."""

from __future__ import annotations

import copy

import numpy as np

from ccgbo.acquisition.factors import UserPrior
from ccgbo.engine.goals import Goals
from ccgbo.engine.history import History
from ccgbo.engine.initial import InitialDesign
from ccgbo.engine.models import Models, WhenAsked
from ccgbo.engine.search import Excluded
from ccgbo.engine.settings import Settings
from ccgbo.engine.step import State
from ccgbo.engine.threads import blas_threads
from ccgbo.errors import NoObservationsError
from ccgbo.metrics import Metrics
from ccgbo.records import BestTrial, Event, no_value_of
from ccgbo.space import Space


class OptimizerCore(BestTrial):
    """The parts, and the state of the next step. Looking changes nothing."""

    def __init__(
        self,
        space: Space,
        metrics: Metrics,
        settings: Settings,
        prior: UserPrior | None,
        threads: int | None,
        seed: int | None,
    ) -> None:
        self.space, self.metrics, self.settings = space, metrics, settings
        self._prior, self._threads = prior, threads
        self._rng = np.random.default_rng(seed)
        self._design_seed = int(self._rng.integers(2**62))
        self._designed = 0  # points of the initial design given out
        self._iteration = 0  # t, see OptimizerState
        self._history = History(space, metrics)
        self._models = Models()
        self._queue: list[int] = []  # trials that were enqueued and not given out yet
        self._log: list[Event] = []

    # -- what the next step would look at

    def snapshot(self) -> State:
        """What the next step would look at. Looking changes nothing: no refit is committed."""
        if not self._history.knows_objectives:
            known = [self._history.trials[i] for i in self._history.complete]
            raise NoObservationsError(no_value_of(known, self.metrics))
        with blas_threads(self._threads):
            state = self._state_of_step(self.space, commit=False)
            for name in self.metrics.names:  # now, while the threads are limited
                if self._history.ids(name):
                    state.models[name]
            return state

    def generator(self) -> np.random.Generator:
        """A copy of the generator, as the next step would find it."""
        return copy.deepcopy(self._rng)

    def _state_of_step(self, space: Space, *, commit: bool) -> State:
        """What a step looks at. Only ``ask`` commits a refit, so looking in between changes nothing."""
        h, names = self._history, self.metrics.names
        models = WhenAsked(names, lambda name: self._models.of(name, h, self.settings, commit=commit))
        return State(
            space=space,
            settings=self.settings,
            t=self._iteration,
            models=models,
            placed=h.data().U,
            goals=None if self.metrics.simple else Goals(self.metrics, models, h.measured()),
            pending=h.features("pending"),
            failed=h.features("failed"),
            excluded=self._excluded(),
            prior=self._prior,
        )

    def _design_is_due(self) -> bool:
        h, design = self._history, InitialDesign(self.space, self.settings, self._design_seed)
        return design.is_due(n_told=len(h.complete), n_pending=len(h.pending), n_given=self._designed)

    def _excluded(self) -> Excluded:
        states = ("pending", "failed") if self.settings.allow_repeats else ("pending", "failed", "complete")
        F = np.concatenate([self._history.features(state) for state in states])  # type: ignore[arg-type]
        return Excluded(F, self.space, self._history.features("pending"), self.settings.tuning.min_pending_distance)
