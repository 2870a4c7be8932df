"""What asking, telling and releasing do to a study within one step on its store."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from ccgbo.errors import SpaceExhaustedError, StorageError, TellError, UnknownTrialError
from ccgbo.records import Trial
from ccgbo.running.sources import CRASHED, MAX_ATTEMPTS
from ccgbo.storage import Unit, View
from ccgbo.storage.base import Lost
from ccgbo.storage.rows import plain_params
from ccgbo.study.copy import Copy
from ccgbo.study.definition import pack


def take(unit: Unit, copy: Copy, n: int, *, worker: str | None, limit: int | None, patience: float) -> list[Trial]:
    """Up to ``n`` trials for ``worker``: enqueued ones, then those that nobody evaluates any more, then suggestions.

    None at all means that the study has ``limit`` suggestions, or that all there was had crashed too often.
    """
    given, failed = _give_again(unit, n, worker, limit, patience)
    fresh = n - len(given)
    if limit is not None:
        fresh = min(fresh, limit - unit.suggested())
    try:
        return given + (_suggest(unit, copy, fresh, worker) if fresh > 0 else [])
    except SpaceExhaustedError:
        if not (given or failed):
            raise
        copy.forget()
        return given  # what was found out about them is kept


def _give_again(unit: Unit, n: int, worker: str | None, limit: int | None, patience: float) -> tuple[list[Trial], int]:
    """Up to ``n`` trials that are there already, and how many had crashed too often."""
    waiting = unit.waiting()
    queue = [trial for trial in waiting if trial.origin == "enqueued"]
    if limit is not None:
        queue = queue[: max(0, limit - given_out(unit, waiting))]
    released = [Lost(trial=trial, crashed=False) for trial in waiting if trial.origin != "enqueued"]
    given: list[Trial] = []
    failed = 0
    again = sorted([*released, *unit.lost(patience)], key=lambda lost: lost.trial.id)
    for lost in [*(Lost(trial=trial, crashed=False) for trial in queue), *again]:
        if len(given) == n:
            break
        if lost.crashed and gave_up(unit, lost.trial):
            failed += 1
        else:
            unit.claim(lost.trial.id, worker)
            given.append(lost.trial)
    return given, failed


def given_out(view: View, waiting: Iterable[Trial]) -> int:
    """Suggestions of the study without those that were enqueued and still wait."""
    return view.suggested() - sum(trial.origin == "enqueued" for trial in waiting)


def more_to_come(view: View, limit: int) -> bool:
    """Whether somebody works on a trial, which may come back, or one waits that a run up to ``limit`` would take."""
    waiting = view.waiting()
    released = any(trial.origin != "enqueued" for trial in waiting)
    return view.held() or released or (bool(waiting) and given_out(view, waiting) < limit)


def _suggest(unit: Unit, copy: Copy, n: int, worker: str | None) -> list[Trial]:
    optimizer = copy.optimizer(unit)
    trials = optimizer.ask(n)
    if [trial.id for trial in unit.add(trials, worker)] != [trial.id for trial in trials]:
        raise StorageError(f"study {unit.row().name!r}: its count of trials is not that of the trials it has.")
    unit.save_state(pack(optimizer))
    return trials


def gave_up(unit: Unit, trial: Trial) -> bool:
    """Count an evaluation that ended with its process; True if it was one too many and the trial is failed now."""
    if unit.count_attempt(trial.id) < MAX_ATTEMPTS:
        return False
    unit.revise(trial.with_outcome(state="failed", error=CRASHED))
    return True


def pending(unit: Unit, trial: Trial | int) -> Trial:
    """The trial, by itself or by its id, if it is of this study and waits for an outcome."""
    key = trial.id if isinstance(trial, Trial) else trial
    row = None
    if isinstance(key, int | np.integer) and not isinstance(key, bool):
        row = unit.trial(int(key))
    if row is None:
        raise UnknownTrialError(f"trial must be a Trial, a trial's id or params; no trial is known as {key!r}.")
    known = row.trial
    if isinstance(trial, Trial) and dict(trial.params) != dict(known.params):
        raise UnknownTrialError(f"trial {key} has other params here: it comes from another study.")
    if known.state != "pending":
        raise TellError(f"trial {known.id} is already {known.state} (value {known.value!r}).")
    return known


def add_told(unit: Unit, trials: Iterable[Trial]) -> list[Trial]:
    """Finished trials from elsewhere, under new ids."""
    return unit.add([replace(trial, params=plain_params(trial.params), origin="external") for trial in trials], None)


def release(unit: Unit, trials: Iterable[Trial]) -> list[int]:
    """The pending ones of ``trials`` wait to be asked again; their ids."""
    ids = [trial.id for trial in trials if trial.state == "pending"]
    for i in ids:
        unit.release(i)
    return ids
