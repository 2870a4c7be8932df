"""A named optimisation that outlives the process.

Every ask and tell is one transaction on the study's file, on disk before the call returns. The optimizer in memory is
only a copy that catches up with the file before it is used, so any number of processes can work on one study: an ask
sees all that was told, and no two asks start from the same state.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np

from ccgbo.errors import SettingError, StudyExistsError, StudyNotFoundError, TellError, UnknownTrialError
from ccgbo.history import outcome_of
from ccgbo.optimizer import Optimizer
from ccgbo.presets import Settings
from ccgbo.records import (
    CreditRow,
    Direction,
    Explanation,
    Recommendation,
    Result,
    Trial,
    best_of,
    trials_to_dataframe,
)
from ccgbo.running import OnError, run
from ccgbo.space import Space
from ccgbo.storage import StudyFile, StudyRow, TrialRow
from ccgbo.storage.file import not_found
from ccgbo.storage.rows import plain_params
from ccgbo.study.definition import Definition, Given, define, pack, reopen, unpack, with_name
from ccgbo.study.source import StudySource

if TYPE_CHECKING:
    import pandas as pd


class Study:
    """Opens the study ``name`` in the file ``path``, or creates it if a space is given and the file does not have it.

    >>> study = Study("tune.db", {"lr": (1e-5, 1e-1)}, name="resnet", direction="minimize")
    >>> trial = study.ask()
    >>> study.tell(trial, 0.31)

    ``direction`` is "maximize" and ``preset`` is "default" unless given. On opening everything but the path can be left
    out; what is given must be what the study was created with. Without a name, the only study of the file is opened.
    ``heartbeat`` is how many seconds a run elsewhere may be silent before its trials are given to another.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        space: Space | Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        direction: Direction | None = None,
        preset: str | Settings | None = None,
        seed: int | None = None,
        constraint: Any = None,
        prior: Any = None,
        threads: int | None = 1,
        heartbeat: float = 60.0,  # seconds of silence after which a running worker's trial is given to another
        if_exists: Literal["open", "error"] = "open",
        **settings: Any,
    ) -> None:
        if name is not None and (not isinstance(name, str) or not name):
            raise SettingError(f"name must be a non-empty text, got {name!r}.")
        if not heartbeat > 0:
            raise SettingError(f"heartbeat must be > 0, got {heartbeat!r}.")
        self.heartbeat = heartbeat
        self._threads = threads
        self._given = Given(
            space=space,
            direction=direction,
            preset=preset,
            seed=seed,
            constraint=constraint,
            prior=prior,
            settings=settings,
        )
        new = None if space is None else define(self._given)  # wrong arguments must not leave a file behind
        self._file = StudyFile(path, create=new is not None)
        try:
            row = self._find_or_create(name, new, if_exists)
            self._definition: Definition = reopen(row, self._given)
        except BaseException:
            self._file.close()
            raise
        self.name, self._id = row.name, row.id
        self._trials: dict[int, Trial] = {}
        self._told_as: dict[int, int] = {}  # place of each outcome in the order they were told
        self._revision = -1  # of the file, as far as it was read
        self._optimizer: Optimizer | None = None

    def _find_or_create(self, name: str | None, new: StudyRow | None, if_exists: str) -> StudyRow:
        with self._file.read() as connection:
            names = self._file.names(connection)
            row = self._file.find(connection, name or self._only(names))
        if row is None and new is not None:
            with self._file.write() as connection:
                row = self._file.find(connection, name or "default")  # another process may have been first
                if row is None:
                    return self._file.create(connection, with_name(new, name or "default"))
        if row is None:
            raise StudyNotFoundError(
                not_found(str(self.path), name, names)
                if name is not None
                else f"{str(self.path)!r} has no study yet: give a space to create one."
            )
        if if_exists == "error":
            raise StudyExistsError(f"{str(self.path)!r} already has a study {row.name!r}.")
        return row

    def _only(self, names: list[str]) -> str:
        if len(names) > 1:
            raise SettingError(f"name must be given: {str(self.path)!r} has the studies {names!r}.")
        return names[0] if names else "default"

    def __repr__(self) -> str:
        return f"Study({str(self.path)!r}, name={self.name!r}, direction={self.direction!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (str(self.path), self.name, self._given, self._threads, self.heartbeat)

    def close(self) -> None:
        """Let go of the file; trials stay as they are."""
        self._file.close()

    # -- what the study is

    @property
    def path(self) -> Path:
        return self._file.path

    @property
    def space(self) -> Space:
        return self._definition.space

    @property
    def direction(self) -> Direction:
        return self._definition.direction

    @property
    def settings(self) -> Settings:
        return self._definition.settings

    # -- ask and tell

    @overload
    def ask(self) -> Trial: ...
    @overload
    def ask(self, n: int) -> list[Trial]: ...
    def ask(self, n: int | None = None) -> Trial | list[Trial]:
        """The next point to evaluate, or ``n`` of them: trials that were given back first, then new suggestions."""
        if n is not None and (isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1):
            raise SettingError(f"n must be a whole number >= 1, got {n!r}.")
        trials = self.take(1 if n is None else int(n))
        return trials[0] if n is None else trials

    def take(self, n: int, *, worker: str | None = None, limit: int | None = None) -> list[Trial]:
        """Up to ``n`` trials, held by ``worker`` until it falls silent; at most ``limit`` suggestions in the study."""
        if self._definition.missing:
            names = " and ".join(f"{name}=" for name in self._definition.missing)
            raise SettingError(
                f"the study {self.name!r} has parts that a file cannot hold: open it with {names} again."
            )
        try:
            with self._file.write() as connection:
                again = self._file.abandoned(connection, self._id, self.heartbeat)[:n]
                for trial in again:
                    self._file.claim(connection, self._id, trial.id, worker)
                fresh = n - len(again)
                if limit is not None:
                    fresh = min(fresh, limit - self._file.suggested(connection, self._id))
                return again + (self._suggest(connection, fresh, worker) if fresh > 0 else [])
        except BaseException:
            self._optimizer = None  # it may be ahead of the file
            raise

    def _suggest(self, connection: sqlite3.Connection, n: int, worker: str | None) -> list[Trial]:
        optimizer = self._restored(connection)
        trials = optimizer.ask(n)
        self._file.add(connection, self._id, trials, worker)
        self._file.save_cursor(connection, self._id, pack(optimizer))
        return trials

    def tell(
        self,
        trial: Trial | int | Mapping[str, Any],
        value: Any = None,
        *,
        failed: bool = False,
        noise_variance: float | None = None,
        error: str | None = None,
    ) -> Trial:
        """Record the outcome of a trial, or of a point evaluated elsewhere: ``tell(params, value)``."""
        if isinstance(trial, Mapping):
            scratch = self._scratch()
            scratch.tell(plain_params(trial), value, failed=failed, noise_variance=noise_variance, error=error)
            return self.add_told(scratch.trials)[0]
        with self._file.write() as connection:
            known = self._pending(connection, trial)
            outcome = outcome_of(value, failed=failed, noise_variance=noise_variance, error=error)
            done = known.with_outcome(**outcome)
            self._file.finish(connection, self._id, done)
        return done

    def tell_many(self, params: Any, values: Iterable[Any], *, noise_variance: Any = None) -> list[Trial]:
        """Record many evaluations made elsewhere, all or none; ``params`` is a list of dicts or a DataFrame."""
        scratch = self._scratch()
        return self.add_told(scratch.tell_many(params, values, noise_variance=noise_variance))

    def add_told(self, trials: Iterable[Trial]) -> list[Trial]:
        """Take in finished trials from elsewhere under new ids, all or none."""
        with self._file.write() as connection:
            first = self._file.by_id(connection, self._id).n_asked
            new = [
                replace(trial, id=first + i, params=plain_params(trial.params), origin="told")
                for i, trial in enumerate(trials)
            ]
            self._file.add(connection, self._id, new, None)
        return new

    def _scratch(self) -> Optimizer:
        """An empty optimizer that checks points and outcomes by the same rules."""
        return Optimizer(self.space, direction=self.direction, threads=None)

    def _pending(self, connection: sqlite3.Connection, trial: Trial | int) -> Trial:
        key = trial.id if isinstance(trial, Trial) else trial
        known = None
        if isinstance(key, int | np.integer) and not isinstance(key, bool):
            known = self._file.trial(connection, self._id, int(key))
        if known is None:
            raise UnknownTrialError(f"trial must be a Trial, a trial's id or params; no trial is known as {key!r}.")
        if isinstance(trial, Trial) and dict(trial.params) != dict(known.params):
            raise UnknownTrialError(f"trial {key} has other params here: it comes from another study.")
        if known.state != "pending":
            raise TellError(f"trial {known.id} is already {known.state} (value {known.value!r}).")
        return known

    def requeue(self, trial_id: int | None = None, *, everything: bool = False) -> list[int]:
        """Give pending trials back, to be asked again: one by id, those of workers that died, or ``everything``."""
        with self._file.write() as connection:
            if trial_id is not None:
                ids = [self._pending(connection, trial_id).id]
            elif everything:
                self._refresh(connection)
                ids = [trial.id for trial in self._trials.values() if trial.state == "pending"]
            else:
                ids = [trial.id for trial in self._file.abandoned(connection, self._id, self.heartbeat)]
            for i in ids:
                self._file.put_back(connection, self._id, i)
        return sorted(ids)

    # -- what is known

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Every trial, as the file has it now."""
        with self._file.read() as connection:
            self._refresh(connection)
            return tuple(self._trials.values())

    @property
    def best(self) -> Trial | None:
        """The complete trial with the best value."""
        return best_of(self.trials, self.direction)

    def records(self) -> list[TrialRow]:
        """Every trial with its times and its worker."""
        with self._file.read() as connection:
            rows = self._file.changes(connection, self._id, -1)
        return sorted(rows, key=lambda row: row.trial.id)

    def to_dataframe(self) -> pd.DataFrame:
        """One row per trial; needs pandas."""
        return trials_to_dataframe(self.trials)

    def optimizer(self) -> Optimizer:
        """A copy of the optimizer as it stands, for looking; what it asks or is told stays out of the file."""
        with self._file.read() as connection:
            return self._build(self._refresh(connection))

    def recommend(self) -> Recommendation:
        """The evaluated point with the best posterior mean."""
        with self._file.read() as connection:
            return self._restored(connection).recommend()

    def credits(self) -> list[CreditRow]:
        """How much each observation tells about where the optimum is."""
        with self._file.read() as connection:
            return self._restored(connection).credits()

    def explain(self, trial: Trial | int) -> Explanation:
        """Why this point was suggested, as the model saw it then."""
        with self._file.read() as connection:
            return self._restored(connection).explain(trial)

    def result(self, stopped: str = "so far") -> Result:
        with self._file.read() as connection:
            return self._restored(connection).result(stopped)

    # -- running

    def run(
        self,
        f: Callable[..., Any],
        n_trials: int,
        *,
        n_workers: int | None = None,
        executor: Executor | None = None,
        timeout: float | None = None,
        target: float | None = None,
        patience: int | None = None,
        progress: bool = True,
        callback: Callable[[Any, Trial], Any] | None = None,
        on_error: OnError = "record",
    ) -> Result:
        """Evaluate ``f(**params)`` until the study has ``n_trials`` suggestions of its own, told or failed.

        So a run that was cut and is started again does the rest, and several processes share the work. The options are
        those of ``ccgbo.running.run``.
        """
        return run(
            self.source(n_trials),
            f,
            n_workers=n_workers,
            executor=executor,
            timeout=timeout,
            target=target,
            patience=patience,
            progress=progress,
            callback=callback,
            on_error=on_error,
        )

    def source(self, n_trials: int) -> StudySource:
        """The trials of this study for a run of one's own making."""
        return StudySource(self, self._file, self._id, n_trials)

    # -- catching up with the file

    def _refresh(self, connection: sqlite3.Connection) -> StudyRow:
        """Read what changed in the file since the last time."""
        row = self._file.by_id(connection, self._id)
        if row.revision == self._revision:
            return row
        changed = self._file.changes(connection, self._id, self._revision)
        self._trials.update((r.trial.id, r.trial) for r in changed)
        self._trials = dict(sorted(self._trials.items()))
        self._told_as.update((r.trial.id, r.told_as) for r in changed if r.told_as is not None)
        if self._optimizer is not None:
            self._optimizer.catch_up([r.trial for r in changed], unpack(row.cursor))
        self._revision = row.revision
        return row

    def _restored(self, connection: sqlite3.Connection) -> Optimizer:
        row = self._refresh(connection)
        if self._optimizer is None:
            self._optimizer = self._build(row)
        return self._optimizer

    def _build(self, row: StudyRow) -> Optimizer:
        optimizer = self._definition.optimizer(self._threads)
        in_order = sorted(self._trials.values(), key=lambda trial: self._told_as.get(trial.id, -1))
        optimizer.catch_up(in_order, unpack(row.cursor))
        return optimizer


def _reopen(path: str, name: str, given: Given, threads: int | None, heartbeat: float) -> Study:
    """A study in another process."""
    options = {"direction": given.direction, "preset": given.preset, "constraint": given.constraint}
    return Study(
        path,
        given.space,
        name=name,
        **options,
        prior=given.prior,
        threads=threads,
        heartbeat=heartbeat,
        **given.settings,
    )
