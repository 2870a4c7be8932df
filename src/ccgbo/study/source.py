"""The trials of a study for a run, in a store that other processes may work on too."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from ccgbo.errors import StorageError, UnknownTrialError
from ccgbo.metrics import Metrics
from ccgbo.outcomes import outcome_of
from ccgbo.records import Trial
from ccgbo.result import Result
from ccgbo.running.sources import Tally, check_n_trials, tally_of
from ccgbo.storage import Store, Unit
from ccgbo.storage.workers import end_run, start_run
from ccgbo.study.steps import gave_up, more_to_come

if TYPE_CHECKING:
    from ccgbo.study.study import Study


class StudySource:
    """A study until it has ``n_trials`` suggestions; a heartbeat says that this run still works on its trials."""

    def __init__(self, study: Study, store: Store, study_id: int, n_trials: int) -> None:
        self.owner, self._store, self._id, self._total = study, store, study_id, check_n_trials(n_trials)
        self._worker = start_run()
        self._stop = threading.Event()
        self._heart = threading.Thread(target=self._beat, name="ccgbo-heartbeat", daemon=True)

    @property
    def metrics(self) -> Metrics:
        return self.owner.metrics

    def __enter__(self) -> Self:
        self._heart.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._heart.join()
        end_run(self._worker)

    def _beat(self) -> None:
        while not self._stop.wait(self.owner.heartbeat / 4.0):
            # a beat that cannot be written is missed; the run itself meets the same error at its next ask or tell
            with suppress(StorageError):
                self._store.write(self._id, lambda unit: unit.beat(self._worker), scope="heartbeat")

    def enqueue(self, points: Sequence[Mapping[str, Any]]) -> None:
        if points:
            self.owner.begin_with(points)

    def take(self) -> Trial | None:
        trials = self.owner.take(1, worker=self._worker, limit=self._total)
        return trials[0] if trials else None

    def more_to_come(self) -> bool:
        return self._store.read(self._id, lambda view: more_to_come(view, self._total))

    def tell(self, trial: Trial, value: Any = None, *, failed: bool = False, error: str | None = None) -> Trial | None:
        """Record an outcome; None where it does not count.

        A trial has one outcome, the first that counts, and it never changes. A value counts from whoever has one, also
        from a worker that was taken for gone. A failure counts only from the worker that holds the trial: another one
        may be about to give a value.
        """

        def tell(unit: Unit) -> Trial | None:
            metrics = self.owner.metrics_in(unit)
            outcome = outcome_of(value, failed=failed, noise_variance=None, error=error, metrics=metrics)
            row = unit.trial(trial.id)
            if row is None:
                raise UnknownTrialError(f"no trial is known as {trial.id!r}.")
            lost = row.worker != self._worker and outcome["state"] == "failed"
            if row.trial.state != "pending" or lost:
                return None
            return unit.revise(row.trial.with_outcome(**outcome))

        return self._store.write(self._id, tell, scope="trials")

    def release(self, trial: Trial, *, crashed: bool = False) -> None:
        """The trial was not evaluated and can be asked again; ``crashed`` says that its process ended under it.

        Nothing happens to a trial that somebody else holds by now.
        """

        def release(unit: Unit) -> None:
            row = unit.trial(trial.id)
            if row is None or row.trial.state != "pending" or row.worker != self._worker:
                return
            if not (crashed and gave_up(unit, row.trial)):
                unit.release(trial.id)

        self._store.write(self._id, release, scope="trials")

    def tally(self) -> Tally:
        progress = self._store.read(self._id, lambda view: view.progress())
        metrics = self.metrics
        if metrics.plain:
            return Tally(total=self._total, done=progress.done, failed=progress.failed, best=progress.best)
        return tally_of(self.owner.trials, metrics, total=self._total, done=progress.done, failed=progress.failed)

    def result(self, stopped: str) -> Result:
        return self.owner.result(stopped)
