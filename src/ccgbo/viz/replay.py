"""Credit in the past: the credits of every observation after each of several numbers of observations, recomputed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ccgbo.arrays import Array
from ccgbo.engine.fit_state import FitState
from ccgbo.engine.goals import Goals
from ccgbo.engine.history import Data, Measured, noise_of
from ccgbo.engine.model import Model, build_model
from ccgbo.engine.optimizer import Optimizer
from ccgbo.engine.proposal import question
from ccgbo.engine.step import State
from ccgbo.engine.threads import blas_threads
from ccgbo.metrics import VALUE
from ccgbo.viz.model_view import Source, optimizer_of

REFIT_GROWTH = 1.25  # a replay refits when the observations have grown by this factor
REFIT_LIMIT = 300  # and keeps the last fit beyond this many: later ones change little and cost O(n^3) each


@dataclass(frozen=True, slots=True)
class CreditOverTime:
    """Credits of every observation as they were after each of several numbers of observations."""

    trial_ids: tuple[int, ...]  # (n,) in the order they were told
    after: NDArray[np.intp]  # (c,) numbers of observations
    credits: Array  # (n, c), NaN before an observation was made


def replay_credits(source: Source, *, columns: int = 80) -> CreditOverTime:
    """The credits after 2, 3, ... observations, at most ``columns`` times, recomputed from what was told.

    Hyperparameters are refitted where the observations have grown by a quarter; the credits of a live run, which
    refits more often, can differ a little.
    """
    opt = optimizer_of(source)
    n = len(opt.observations) if _begun(opt) else 0
    after = np.unique(np.linspace(min(2, n), n, min(columns, max(n - 1, 1))).round().astype(int)) if n else np.arange(0)
    out = np.full((n, len(after)), np.nan)
    if n:
        past, rng = Past(opt), np.random.default_rng(0)
        with blas_threads(1):
            for column, k in enumerate(after):
                then = past.state(int(k))
                if then is not None:
                    rows = then.model.rows if then.goals is None else slice(0, int(k))
                    out[rows, column] = question(then, rng)[1].credit
    return CreditOverTime(tuple(trial.id for trial in opt.observations[:n]), after, out)


def _begun(opt: Optimizer) -> bool:
    """Whether every objective was measured at least once."""
    seen = {name for trial in opt.observations for name in trial.values}
    return opt.metrics.objectives.keys() <= seen


class Past:
    """What a step would have looked at after the first k observations, for growing k."""

    def __init__(self, opt: Optimizer) -> None:
        self._opt, self._now = opt, opt.snapshot()
        self._fits: dict[str, FitState] = {}

    def state(self, k: int) -> State | None:
        """None while an objective was not measured yet."""
        now = self._now
        if now.goals is None:
            data = self._opt.data
            return replace(now, models={VALUE: self._model(VALUE, data[:k])}, placed=data.U)
        all_known = now.goals.measured
        known = Measured(all_known.U[:k], all_known.F[:k], {name: v[:k] for name, v in all_known.values.items()})
        metrics = now.goals.metrics
        if not all(len(known.rows(name)) for name in metrics.objectives):
            return None
        models = {name: self._model(name, self._data(known, name)) for name in metrics.names if len(known.rows(name))}
        placed = known.U[known.rows(metrics.objective)]
        return replace(now, models=models, goals=Goals(metrics, models, known), placed=placed)

    def _data(self, known: Measured, name: str) -> Data:
        """The observations of one metric."""
        rows, trials = known.rows(name), self._opt.observations
        noise = noise_of([trials[row].metrics.get(name, trials[row]) for row in rows])
        return Data(known.U[rows], known.F[rows], known.values[name][rows], noise)

    def _model(self, name: str, data: Data) -> Model:
        fit, k = self._fits.get(name), len(data.values)
        due = fit is None or (k >= REFIT_GROWTH * fit.n and k <= REFIT_LIMIT)
        model = build_model(data, self._opt.space.choices, self._opt.settings, state=fit, refit=due)
        if due:
            self._fits[name] = model.fit
        return model
