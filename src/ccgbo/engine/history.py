"""The optimizer's memory: every trial, where it lies, and in which order outcomes came in."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccgbo.arrays import Array
from ccgbo.errors import UnknownTrialError
from ccgbo.explanation import Explanation
from ccgbo.metrics import Measurement, Metrics
from ccgbo.records import Origin, State, Trial
from ccgbo.revisions import carry_over
from ccgbo.space import Space
from ccgbo.space.change import Change


@dataclass(frozen=True, slots=True)
class Data:
    """Observations in the order they were told."""

    U: Array  # (n, d) positions in the unit cube
    F: Array  # (n, p) features
    values: Array  # (n,) to be maximised
    noise: Array  # (n,) variances in the user's units, given or of readings; NaN where unknown

    def __getitem__(self, rows: Any) -> Data:
        """Some of the observations."""
        return Data(self.U[rows], self.F[rows], self.values[rows], self.noise[rows])


@dataclass(frozen=True, slots=True)
class Measured:
    """All complete trials in the order they were told, and what was measured of each."""

    U: Array  # (n, d)
    F: Array  # (n, p)
    values: Mapping[str, Array]  # (n,) by metric, objectives to be maximised; NaN where it was not measured

    def rows(self, name: str) -> NDArray[np.intp]:
        """The trials that have a metric: the rows of its ``Data``."""
        return np.flatnonzero(~np.isnan(self.values[name]))


class History:
    """Trials by id; the sign of a minimised value is flipped here and nowhere else.

    Every change of a known trial is a ``revise``. A trial has its place in the order of outcomes from its first one on,
    through whatever happens to it; the model's data are the complete trials in that order that are not dropped and
    have a position in the space.
    """

    def __init__(self, space: Space, metrics: Metrics) -> None:
        self.space, self.metrics = space, metrics
        self.trials: dict[int, Trial] = {}
        self.next_id = 0
        self._outcomes: dict[int, None] = {}  # ids in the order in which outcomes came in
        self._unplaced: dict[int, str] = {}  # why a trial has no position in the space
        self._F: dict[int, Array] = {}  # id -> features
        self._U: dict[int, Array] = {}  # id -> position in the unit cube
        self._pending: dict[int, None] = {}
        self._failed: dict[int, None] = {}
        self._moved: set[int] = set()  # whose params are no longer those that were given out
        self._complete: list[int] | None = None
        self._data: dict[str, Data] = {}  # by metric
        self._ids: dict[str, list[int]] = {}  # of the trials behind
        self._measured: Measured | None = None

    def copy(self) -> History:
        """A history of its own with the same trials."""
        new = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, dict | list | set):
                setattr(new, name, value.copy())
        return new

    # -- what changes it

    def add(self, params: Mapping[str, Any], origin: Origin, why: Explanation | None = None) -> Trial:
        """A new pending trial at a point of the space."""
        trial = Trial(id=self.next_id, params=self.space.canonical(params), origin=origin, explanation=why)
        self.merge([trial])
        return trial

    def revise(self, new: Trial) -> Trial:
        """The record of a known trial replaced: where it lies and what the model sees of it follow."""
        old = self.trials[new.id]
        if not _same_params(old, new):
            self._moved.add(new.id)
            self._place([new])
        if old.in_model or new.in_model:
            self._forget()
        self.trials[new.id] = new
        self._classify(new)
        return new

    def merge(self, trials: Iterable[Trial]) -> None:
        """Take in new trials, outcomes and changes of known ones; outcomes in the order in which they came in."""
        trials = list(trials)
        fresh = {trial.id: trial for trial in reversed(trials) if trial.id not in self.trials}  # the first of an id
        self._place([fresh[i] for i in sorted(fresh)])
        self.trials.update((i, fresh[i]) for i in sorted(fresh))
        self.next_id = max([self.next_id, *(i + 1 for i in fresh)])
        if any(trial.in_model for trial in fresh.values()):
            self._forget()
        for trial in trials:
            if fresh.get(trial.id) is trial:
                self._classify(trial)
            elif self.trials[trial.id] != trial or not _same_params(self.trials[trial.id], trial):
                self.revise(trial)

    def carried_over(self, change: Change) -> History:
        """The same trials in a space that was changed."""
        new = History(change.space, self.metrics)
        waiting = self.trials.keys() - self._outcomes.keys()
        new.merge(carry_over(self.trials[i], change) for i in [*sorted(waiting), *self._outcomes])
        new.moved(self.trials)
        return new

    def with_metrics(self, metrics: Metrics) -> History:
        """The same trials where other metrics count."""
        new = self.copy()
        new.metrics = metrics
        new._forget()
        return new

    def _forget(self) -> None:
        self._complete, self._data, self._ids, self._measured = None, {}, {}, None

    def _place(self, trials: Sequence[Trial]) -> None:
        U, problems = self.space.place_rows([trial.params for trial in trials])
        for trial, u, f, problem in zip(trials, U, self.space.features(U), problems, strict=True):
            self._U[trial.id], self._F[trial.id] = u, f
            self._unplaced.pop(trial.id, None)
            if problem is not None:
                self._unplaced[trial.id] = problem

    def _classify(self, trial: Trial) -> None:
        """What a trial is to the model: under evaluation, a place to avoid, an observation or nothing."""
        self._pending.pop(trial.id, None)
        self._failed.pop(trial.id, None)
        if trial.state in ("complete", "failed"):
            self._outcomes.setdefault(trial.id)
        if trial.state == "pending":
            self._pending[trial.id] = None
        elif trial.state == "failed" and not trial.dropped:
            self._failed[trial.id] = None

    # -- what is known

    def find(self, trial: Trial | int) -> Trial:
        key = trial.id if isinstance(trial, Trial) else trial
        if isinstance(key, bool) or not isinstance(key, int | np.integer) or int(key) not in self.trials:
            raise UnknownTrialError(f"trial must be a Trial, a trial's id or params; no trial is known as {key!r}.")
        known = self.trials[int(key)]
        if isinstance(trial, Trial) and dict(trial.params) != dict(known.params) and known.id not in self._moved:
            raise UnknownTrialError(f"trial {key} has other params here: it comes from another optimizer.")
        return known

    def moved(self, ids: Iterable[int]) -> None:
        """The params of these trials are no longer those that were given out."""
        self._moved.update(ids)

    @property
    def outcomes(self) -> list[int]:
        """Ids in the order in which outcomes first came in."""
        return list(self._outcomes)

    @property
    def unplaced(self) -> Mapping[int, str]:
        """Trials that have no position in the space, by id, and why: they are out of the model."""
        return dict(self._unplaced)

    # -- views for the model

    @property
    def complete(self) -> list[int]:
        """Ids of the model's observations in the order of their outcomes."""
        if self._complete is None:
            self._complete = [i for i in self._outcomes if self.trials[i].in_model and i not in self._unplaced]
        return self._complete

    @property
    def pending(self) -> list[int]:
        return list(self._pending)

    @property
    def sign(self) -> float:
        """What a value of the objective, or of the first of several, is multiplied by to be maximised."""
        return self.metrics.sign(self.metrics.objective)

    def data(self, name: str | None = None) -> Data:
        """The observations of a metric, or of the (first) objective, in the order they were told.

        Objectives are to be maximised; what is only bounded is as it was measured.
        """
        name = self.metrics.objective if name is None else name
        if name not in self._data:
            ids = self.ids(name)
            measured = [self._measurement(i, name) for i in ids]
            self._data[name] = Data(
                U=self._stack(self._U, ids, self.space.d),
                F=self._stack(self._F, ids, self.space.p),
                values=self.metrics.sign(name) * np.array([m.value for m in measured], dtype=float),
                noise=noise_of(measured),
            )
        return self._data[name]

    def ids(self, name: str | None = None) -> list[int]:
        """The ids of the trials behind the rows of ``data``."""
        name = self.metrics.objective if name is None else name
        if name not in self._ids:
            plain = self.metrics.plain
            self._ids[name] = self.complete if plain else [i for i in self.complete if name in self.trials[i].values]
        return self._ids[name]

    @property
    def knows_objectives(self) -> bool:
        """Whether every objective was measured at least once."""
        return all(self.ids(name) for name in self.metrics.objectives)

    def _measurement(self, i: int, name: str) -> Trial | Measurement:
        """What was measured: a trial without named metrics has it itself, also where metrics were named since."""
        trial = self.trials[i]
        return trial.metrics.get(name, trial)

    def observed(self, row: int, name: str | None = None) -> Trial:
        """The trial behind a row of ``data(name)``."""
        return self.trials[self.ids(name)[int(row)]]

    def measured(self) -> Measured:
        """All complete trials, whichever metrics they have."""
        if self._measured is None:
            ids, values = self.complete, {}
            for name in self.metrics.names:
                values[name] = np.full(len(ids), math.nan)
                values[name][np.isin(ids, self.ids(name))] = self.data(name).values
            U, F = self._stack(self._U, ids, self.space.d), self._stack(self._F, ids, self.space.p)
            self._measured = Measured(U, F, values)
        return self._measured

    def features(self, state: State) -> Array:  # (k, p)
        if state == "complete":
            return self.data().F if self.metrics.plain else self.measured().F
        # by id: the model must not depend on the order in which several workers reported a failure
        ids = sorted((self._pending if state == "pending" else self._failed).keys() - self._unplaced.keys())
        return self._stack(self._F, ids, self.space.p)

    @staticmethod
    def _stack(rows: dict[int, Array], ids: list[int], width: int) -> Array:
        return np.array([rows[i] for i in ids]).reshape(len(ids), width)


def _same_params(one: Trial, other: Trial) -> bool:
    """Whether two records have the same params; 1 and True may be two choices."""
    return one.params is other.params or repr(dict(one.params)) == repr(dict(other.params))


def noise_of(trials: Sequence[Trial | Measurement]) -> Array:  # (n,)
    """The variance of each value's error: given, or of the mean of its readings; NaN where unknown.

    Readings of one trial scatter alike in all: their variance is the sum of squares about their means over the degrees
    of freedom, of all trials with readings.
    """
    squares, freedom = 0.0, 0
    with np.errstate(over="ignore"):
        for trial in trials:
            if trial.value is not None and len(trial.readings) > 1:
                squares += float(np.square(np.array(trial.readings) - trial.value).sum())
                freedom += len(trial.readings) - 1
    pooled = min(squares / freedom, np.finfo(float).max) if squares > 0.0 else math.nan
    own = [pooled / len(trial.readings) if len(trial.readings) > 1 else math.nan for trial in trials]
    given = [trial.noise_variance for trial in trials]
    return np.array([o if g is None else g for o, g in zip(own, given, strict=True)], dtype=float)
