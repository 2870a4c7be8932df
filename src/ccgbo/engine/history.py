"""The optimizer's memory: every trial, where it lies, and in which order outcomes came in."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ccgbo.arrays import Array
from ccgbo.errors import TellError, UnknownTrialError
from ccgbo.explanation import Explanation
from ccgbo.frames import PREFIX
from ccgbo.outcomes import outcome_of
from ccgbo.records import Direction, Origin, State, Trial
from ccgbo.revisions import carry_over
from ccgbo.space import Categorical, Space
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


class History:
    """Trials by id; the sign of a minimised value is flipped here and nowhere else.

    Every change of a known trial is a ``revise``. A trial has its place in the order of outcomes from its first one on,
    through whatever happens to it; the model's data are the complete trials in that order that are not dropped and
    have a position in the space.
    """

    def __init__(self, space: Space, direction: Direction) -> None:
        self.space, self.sign = space, 1.0 if direction == "maximize" else -1.0
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
        self._data: Data | None = None

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
            self._complete = self._data = None
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
            self._complete = self._data = None
        for trial in trials:
            if fresh.get(trial.id) is trial:
                self._classify(trial)
            elif self.trials[trial.id] != trial or not _same_params(self.trials[trial.id], trial):
                self.revise(trial)

    def carried_over(self, change: Change) -> History:
        """The same trials in a space that was changed."""
        new = History(change.space, "maximize" if self.sign > 0 else "minimize")
        waiting = self.trials.keys() - self._outcomes.keys()
        new.merge(carry_over(self.trials[i], change) for i in [*sorted(waiting), *self._outcomes])
        new.moved(self.trials)
        return new

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

    def data(self) -> Data:
        """Observations in the order they were told, to be maximised."""
        if self._data is None:
            trials = [self.trials[i] for i in self.complete]
            self._data = Data(
                U=self._stack(self._U, self.complete, self.space.d),
                F=self._stack(self._F, self.complete, self.space.p),
                values=self.sign * np.array([t.value for t in trials], dtype=float),
                noise=noise_of(trials),
            )
        return self._data

    def observed(self, row: int) -> Trial:
        """The trial behind a row of ``data()``."""
        return self.trials[self.complete[int(row)]]

    def features(self, state: State) -> Array:  # (k, p)
        if state == "complete":
            return self.data().F
        # by id: the model must not depend on the order in which several workers reported a failure
        ids = sorted((self._pending if state == "pending" else self._failed).keys() - self._unplaced.keys())
        return self._stack(self._F, ids, self.space.p)

    @staticmethod
    def _stack(rows: dict[int, Array], ids: list[int], width: int) -> Array:
        return np.array([rows[i] for i in ids]).reshape(len(ids), width)


def _same_params(one: Trial, other: Trial) -> bool:
    """Whether two records have the same params; 1 and True may be two choices."""
    return one.params is other.params or repr(dict(one.params)) == repr(dict(other.params))


def noise_of(trials: Sequence[Trial]) -> Array:  # (n,)
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


def read_table(
    params: Any, values: Any, noise_variance: Any, space: Space
) -> tuple[list[Mapping[str, Any]], list[dict[str, Any]]]:
    """The points of a table and their outcomes; refuses the whole table for one bad row."""
    if not (np.iterable(params) and np.iterable(values)):
        raise TellError(f"params and values must be lists, got {params!r} and {values!r}.")
    rows, values = table_rows(params, space), list(values)
    noises = list(noise_variance) if np.iterable(noise_variance) else [noise_variance] * len(rows)
    if not len(rows) == len(values) == len(noises):
        lengths = f"{len(rows)}, {len(values)} and {len(noises)}"
        raise TellError(f"params, values and noise_variance must have one length, got {lengths}.")
    space.encode_rows(rows)  # refuses what is not in the space
    pairs = zip(values, noises, strict=True)
    return rows, [outcome_of(v, noise_variance=q) for v, q in pairs]


def table_rows(params: Any, space: Space) -> list[Mapping[str, Any]]:
    """The points of a list of dicts, or of a DataFrame, in which a missing value is an inactive parameter or None.

    A frame of ``to_dataframe`` has further columns beside its params, which are passed over.
    """
    if not hasattr(params, "to_dict") or isinstance(params, Mapping):
        return list(params)
    optional = {name for name, p in space.items() if isinstance(p, Categorical) and None in p.choices}
    return [
        {name: None if _missing(v) else v for name, v in row.items() if name in optional or not _missing(v)}
        for row in _params_of(params, space).to_dict("records")
    ]


def _params_of(frame: Any, space: Space) -> Any:
    """The columns of the parameters, by their own names."""
    columns = {f"{PREFIX}{name}": name for name in space if f"{PREFIX}{name}" in frame}
    return frame[list(columns)].rename(columns=columns) if columns else frame


def _missing(value: Any) -> bool:
    """None, NaN, and pandas' NaT and NA."""
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )
