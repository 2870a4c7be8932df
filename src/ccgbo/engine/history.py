"""The optimizer's memory: every trial, where it lies, and in which order values came in."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ccgbo.arrays import Array
from ccgbo.errors import TellError, UnknownTrialError
from ccgbo.frames import PREFIX
from ccgbo.outcomes import outcome_of
from ccgbo.records import Direction, Explanation, Origin, State, Trial
from ccgbo.space import Categorical, Space


@dataclass(frozen=True, slots=True)
class Data:
    """Observations in the order they were told."""

    U: Array  # (n, d) positions in the unit cube
    F: Array  # (n, p) features
    values: Array  # (n,) to be maximised
    noise: Array  # (n,) given variances in the user's units, NaN where unknown

    def __getitem__(self, rows: Any) -> Data:
        """Some of the observations."""
        return Data(self.U[rows], self.F[rows], self.values[rows], self.noise[rows])


class History:
    """Trials by id; the sign of a minimised value is flipped here and nowhere else."""

    def __init__(self, space: Space, direction: Direction) -> None:
        self.space, self.sign = space, 1.0 if direction == "maximize" else -1.0
        self.trials: dict[int, Trial] = {}
        self.complete: list[int] = []  # ids of complete trials in the order they were told
        self.next_id = 0
        self._F: dict[int, Array] = {}  # id -> features
        self._U: dict[int, Array] = {}  # id -> position in the unit cube
        self._pending: dict[int, None] = {}
        self._failed: dict[int, None] = {}
        self._data: Data | None = None

    def copy(self) -> History:
        """A history of its own with the same trials."""
        new = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, dict | list):
                setattr(new, name, value.copy())
        return new

    def add(self, params: Mapping[str, Any], origin: Origin, why: Explanation | None = None) -> Trial:
        """A new pending trial at a point of the space."""
        trial = Trial(id=self.next_id, params=self.space.canonical(params), origin=origin, explanation=why)
        self._place([trial])
        return trial

    def forget(self, trial: Trial) -> None:
        """Take back the last trial, which is pending."""
        for table in (self.trials, self._U, self._F, self._pending):
            del table[trial.id]
        self.next_id = trial.id

    def _place(self, trials: Sequence[Trial]) -> None:
        """Take in new trials, as pending ones; those that are not are settled next."""
        U = self.space.encode_rows([trial.params for trial in trials])
        for trial, u, f in zip(trials, U, self.space.features(U), strict=True):
            self.trials[trial.id], self._U[trial.id], self._F[trial.id] = trial, u, f
            self.next_id = max(self.next_id, trial.id + 1)
            self._pending[trial.id] = None

    def _settle(self, done: Trial) -> None:
        """A trial that was pending is complete, told now, or failed."""
        self.trials[done.id] = done
        del self._pending[done.id]
        if done.state == "complete":
            self.complete.append(done.id)
            self._data = None
        else:
            self._failed[done.id] = None

    def finish(self, trial: Trial, outcome: Mapping[str, Any]) -> Trial:
        done = trial.with_outcome(**outcome)
        self._settle(done)
        return done

    def merge(self, trials: Iterable[Trial]) -> None:
        """Take in new trials and outcomes; complete ones in the order they were told."""
        trials = list(trials)
        new = {trial.id: trial for trial in reversed(trials) if trial.id not in self.trials}  # the first of an id
        self._place([new[i] for i in sorted(new)])
        for trial in trials:
            if trial.state != "pending" and trial.id in self._pending:
                self._settle(trial)

    def find(self, trial: Trial | int) -> Trial:
        key = trial.id if isinstance(trial, Trial) else trial
        if isinstance(key, bool) or not isinstance(key, int | np.integer) or int(key) not in self.trials:
            raise UnknownTrialError(f"trial must be a Trial, a trial's id or params; no trial is known as {key!r}.")
        known = self.trials[int(key)]
        if isinstance(trial, Trial) and dict(trial.params) != dict(known.params):
            raise UnknownTrialError(f"trial {key} has other params here: it comes from another optimizer.")
        return known

    # -- views for the model

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
                noise=np.array([math.nan if t.noise_variance is None else t.noise_variance for t in trials]),
            )
        return self._data

    def observed(self, row: int) -> Trial:
        """The trial behind a row of ``data()``."""
        return self.trials[self.complete[int(row)]]

    def features(self, state: State) -> Array:  # (k, p)
        if state == "complete":
            return self.data().F
        # by id: the model must not depend on the order in which several workers reported a failure
        ids = sorted(self._pending if state == "pending" else self._failed)
        return self._stack(self._F, ids, self.space.p)

    @staticmethod
    def _stack(rows: dict[int, Array], ids: list[int], width: int) -> Array:
        return np.array([rows[i] for i in ids]).reshape(len(ids), width)


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
