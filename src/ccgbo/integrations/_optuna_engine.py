"""From Optuna's storage to the engine: an optimizer that knows the trials found there, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from ccgbo.engine.fit_state import FitState
from ccgbo.engine.optimizer import Optimizer
from ccgbo.engine.options import goal_options
from ccgbo.engine.settings import Settings
from ccgbo.engine.state import OptimizerState, iteration_of
from ccgbo.infinite import NO_ENDS
from ccgbo.integrations._optuna_metrics import infinite_ends, study_metrics
from ccgbo.integrations._optuna_pruned import Complete, PrunedReading, check_reading
from ccgbo.integrations._optuna_tree import Tree
from ccgbo.integrations._optuna_trials import complete_trials, frozen_outcome, news_of
from ccgbo.metrics import Metrics
from ccgbo.records import Trial

FIT = "ccgbo:fit"  # study attribute: hyperparameters of the last fit


class Engine:
    """The optimizer that served last, and what was suggested here; the first only saves work."""

    def __init__(self, pruned: PrunedReading, given: Iterable[str] = ()) -> None:
        check_reading(pruned)
        self._given = tuple(given)  # settings that the user named, which named metrics leave as they are
        self._pruned: PrunedReading = pruned
        self._suggested: dict[tuple[str, int], dict[str, Any]] = {}  # running trials may not have stored theirs yet
        self._last: tuple[Any, Optimizer] | None = None  # and what it was made for

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_last": None}

    # -- suggestions made here

    def remember(self, study: Study, trial: FrozenTrial, params: Mapping[str, Any]) -> None:
        self._suggested[study.study_name, trial.number] = dict(params)

    def forget(self, study: Study, trial: FrozenTrial) -> None:
        self._suggested.pop((study.study_name, trial.number), None)

    def forget_finished(self, study: Study, trials: Iterable[FrozenTrial]) -> None:
        """Another process, or Optuna's heartbeat, may have ended a trial that was suggested here."""
        for t in trials:
            if t.state.is_finished():
                self.forget(study, t)

    def n_undecided(self, study: Study, trial: FrozenTrial, others: Iterable[FrozenTrial], tree: Tree) -> int:
        """Earlier trials for which other processes seem to be choosing right now.

        They choose from what is seen here, so the points that would be suggested first are left to them.
        """
        return sum(
            t.state == TrialState.RUNNING
            and t.number < trial.number
            and tree.lacks(t.params)
            and (study.study_name, t.number) not in self._suggested
            for t in others
        )

    # -- the optimizer

    def optimizer(
        self,
        study: Study,
        trials: Sequence[FrozenTrial],
        tree: Tree,
        number: int,
        settings: Settings,
        seed: int,
    ) -> Optimizer:
        """As it stands before the suggestion of a trial: the last one brought up to date, or a new one."""
        metrics = study_metrics(study, trials)
        records = self._records(study, trials, tree, metrics)
        fit, fits = _load_fits(study, tree, metrics, sum(record.state == "complete" for record in records))
        state = OptimizerState(
            rng=np.random.default_rng([seed, number]).bit_generator.state,
            design_seed=derived_seed(seed),
            designed=number,
            iteration=iteration_of((record.state for record in records), settings.initial_size(len(tree.names))),
            fit=fit,
            fits=fits,
        )
        key = (study.study_name, tree, settings, metrics)
        if self._last is not None and self._last[0] == key:
            optimizer, news = self._last[1], news_of(records, self._last[1].trials)
            if news is not None:
                optimizer.sync(news, state)
                return optimizer
        given = {} if metrics.plain else {name: getattr(settings, name) for name in self._given}
        optimizer = Optimizer(tree.space(), preset=settings, seed=0, **goal_options(metrics), **given)
        optimizer.sync(records, state)
        self._last = key, optimizer
        return optimizer

    def _records(self, study: Study, trials: Sequence[FrozenTrial], tree: Tree, metrics: Metrics) -> list[Trial]:
        """What the trials say, as the engine's own records; their ids are the trials' numbers."""
        complete = Complete([], [], True) if metrics.several else complete_trials(trials, study.direction)
        ends = NO_ENDS if metrics.plain else infinite_ends(trials, metrics)
        records: list[Trial] = []
        for t in trials:
            params = t.params
            if t.state == TrialState.RUNNING:
                params = self._suggested.get((study.study_name, t.number), {}) | params
            if t.state != TrialState.WAITING and tree.belongs(params):
                outcome = frozen_outcome(t, complete, self._pruned, metrics, ends)
                if outcome is not None:
                    records.append(Trial(id=t.number, params=tree.inward(params), origin="external", **outcome))
        return records


def derived_seed(*key: int) -> int:
    return int(np.random.SeedSequence(key).generate_state(1, np.uint64)[0] >> 2)


def stored_fits(state: OptimizerState, tree: Tree) -> dict[str, Any] | None:
    """What to keep of the fits in the study; None where there is none."""
    if state.fit is None:
        return None
    others = {"fits": {name: fit.to_dict() for name, fit in state.fits.items()}} if state.fits else {}
    return {"names": tree.names, **state.fit.to_dict(), **others}


def _load_fits(study: Study, tree: Tree, metrics: Metrics, n_told: int) -> tuple[FitState | None, dict[str, FitState]]:
    """The last fit of the objective and those of the other metrics, as far as they fit the trials."""
    stored = getattr(study, "user_attrs", {}).get(FIT)
    if stored is None or stored["names"] != tree.names or stored["n"] > n_told:
        return None, {}
    fits = {name: FitState.from_dict(fit) for name, fit in (stored.get("fits") or {}).items()}
    known = {name: fit for name, fit in fits.items() if name in metrics.names and fit.n <= n_told}
    return FitState.from_dict(stored), known
