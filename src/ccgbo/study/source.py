"""The trials of a study for a run, in a file that other processes may work on too."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from ccgbo.errors import StorageError, TellError
from ccgbo.records import Direction, Result, Trial
from ccgbo.running.sources import CRASHED, MAX_ATTEMPTS, Tally, check_n_trials
from ccgbo.storage import StudyFile
from ccgbo.storage.workers import this_worker

if TYPE_CHECKING:
    from ccgbo.study.study import Study


class StudySource:
    """A study until it has ``n_trials`` suggestions; a heartbeat says that this process still works on its trials."""

    def __init__(self, study: Study, file: StudyFile, study_id: int, n_trials: int) -> None:
        self.owner, self._file, self._id, self._total = study, file, study_id, check_n_trials(n_trials)
        self._worker = this_worker()
        self._crashes: dict[int, int] = {}  # by trial
        self._stop = threading.Event()
        self._heart = threading.Thread(target=self._beat, name="ccgbo-heartbeat", daemon=True)

    @property
    def direction(self) -> Direction:
        return self.owner.direction

    def __enter__(self) -> Self:
        self._heart.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._heart.join()

    def _beat(self) -> None:
        while not self._stop.wait(self.owner.heartbeat / 4.0):
            # a beat that cannot be written is missed; the run itself meets the same error at its next ask or tell
            with suppress(StorageError), self._file.write() as connection:
                self._file.beat(connection, self._id, self._worker)

    def take(self) -> Trial | None:
        trials = self.owner.take(1, worker=self._worker, limit=self._total)
        return trials[0] if trials else None

    def more_to_come(self) -> bool:
        with self._file.read() as connection:
            return self._file.held(connection, self._id)

    def tell(self, trial: Trial, value: Any = None, *, failed: bool = False, error: str | None = None) -> Trial | None:
        try:
            return self.owner.tell(trial, value, failed=failed, error=error)
        except TellError:
            with self._file.read() as connection:
                known = self._file.trial(connection, self._id, trial.id)
            if known is not None and known.state != "pending":
                return None  # this process was silent for too long: another one took the trial and told it
            raise

    def release(self, trial: Trial, *, crashed: bool = False) -> None:
        attempts = self._crashes[trial.id] = self._crashes.get(trial.id, 0) + crashed
        if attempts >= MAX_ATTEMPTS:
            self.tell(trial, failed=True, error=CRASHED)
            return
        with self._file.write() as connection:
            self._file.put_back(connection, self._id, trial.id)

    def tally(self) -> Tally:
        with self._file.read() as connection:
            done, failed, best = self._file.progress(connection, self._id, self.direction)
        return Tally(total=self._total, done=done, failed=failed, best=best)

    def result(self, stopped: str) -> Result:
        return self.owner.result(stopped)
