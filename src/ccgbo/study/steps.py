"""What asking, telling and changing do to a study within one step on its store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ccgbo import revisions
from ccgbo.engine.editor import settings_after
from ccgbo.errors import ParamsError, SettingError, SpaceExhaustedError, StorageError, TellError, UnknownTrialError
from ccgbo.metric_change import MetricsChange, change_metrics
from ccgbo.records import Trial
from ccgbo.revisions import abandon, carry_over, change_event, event, metrics_event, used_params
from ccgbo.running.sources import CRASHED, MAX_ATTEMPTS
from ccgbo.space import Change, Space
from ccgbo.storage import Unit, View
from ccgbo.storage.base import Lost
from ccgbo.storage.rows import StudyRow, plain_params
from ccgbo.study.copy import Copy
from ccgbo.study.definition import Definition, carried, measured_anew, pack, unpack

Fixed = Mapping[str, Any] | None


# -- ask


def take(
    unit: Unit, copy: Copy, n: int, *, worker: str | None, limit: int | None, patience: float, fixed: Fixed = None
) -> list[Trial]:
    """Up to ``n`` trials for ``worker``: enqueued ones, then those that nobody evaluates any more, then suggestions.

    None at all means that the study has ``limit`` suggestions, or that all there was had crashed too often.
    """
    space = copy.space(unit) if fixed is None else copy.space(unit).restricted(fixed)
    given, settled = _give_again(unit, space, n, worker, limit, patience)
    fresh = n - len(given)
    if limit is not None:
        fresh = min(fresh, limit - unit.suggested())
    try:
        return given + (_suggest(unit, copy, fresh, worker, fixed) if fresh > 0 else [])
    except SpaceExhaustedError:
        if not (given or settled):
            raise
        copy.forget()
        return given  # what was found out about them is kept


def _give_again(
    unit: Unit, space: Space, n: int, worker: str | None, limit: int | None, patience: float
) -> tuple[list[Trial], int]:
    """Up to ``n`` trials that are there already and agree with what is fixed, and how many were settled instead."""
    waiting = unit.waiting()
    queue = [trial for trial in waiting if trial.origin == "enqueued" and space.agrees(trial.params)]
    if limit is not None:
        queue = queue[: max(0, limit - given_out(unit, waiting))]
    released = [Lost(trial=trial, crashed=False) for trial in waiting if trial.origin != "enqueued"]
    again = sorted([*released, *unit.lost(patience)], key=lambda lost: lost.trial.id)
    given: list[Trial] = []
    settled = 0
    for lost in [*(Lost(trial=trial, crashed=False) for trial in queue), *again]:
        if len(given) == n:
            break
        if not space.agrees(lost.trial.params):
            continue
        if _is_gone(unit, space, lost.trial) or (lost.crashed and gave_up(unit, lost.trial)):
            settled += 1
        else:
            unit.claim(lost.trial.id, worker)
            given.append(lost.trial)
    return given, settled


def _is_gone(unit: Unit, space: Space, trial: Trial) -> bool:
    """Whether a trial is no point of the space any more, which was changed: it is abandoned then."""
    try:
        space.encode(trial.params)
    except ParamsError as error:
        unit.record(event("abandon", trial, unit.revise(abandon(trial)), f"no point of the space: {error}"))
        return True
    return False


def given_out(view: View, waiting: Iterable[Trial]) -> int:
    """Suggestions of the study without those that were enqueued and still wait."""
    return view.suggested() - sum(trial.origin == "enqueued" for trial in waiting)


def more_to_come(view: View, limit: int) -> bool:
    """Whether somebody works on a trial, which may come back, or one waits that a run up to ``limit`` would take."""
    waiting = view.waiting()
    released = any(trial.origin != "enqueued" for trial in waiting)
    return view.held() or released or (bool(waiting) and given_out(view, waiting) < limit)


def check_complete(copy: Copy, name: str) -> None:
    """That nothing is missing which a file cannot hold."""
    if copy.definition.missing:
        names = " and ".join(f"{argument}=" for argument in copy.definition.missing)
        raise SettingError(f"the study {name!r} has parts that a file cannot hold: open it with {names} again.")


def _suggest(unit: Unit, copy: Copy, n: int, worker: str | None, fixed: Fixed) -> list[Trial]:
    optimizer, name = copy.optimizer(unit), unit.row().name
    check_complete(copy, name)
    trials = optimizer.ask(n, fixed=fixed)
    if [trial.id for trial in unit.add(trials, worker)] != [trial.id for trial in trials]:
        raise StorageError(f"study {name!r}: its count of trials is not that of the trials it has.")
    unit.save_state(pack(optimizer))
    return trials


def gave_up(unit: Unit, trial: Trial) -> bool:
    """Count an evaluation that ended with its process; True if it was one too many and the trial is failed now."""
    if unit.count_attempt(trial.id) < MAX_ATTEMPTS:
        return False
    unit.revise(trial.with_outcome(state="failed", error=CRASHED))
    return True


# -- known trials


def find(unit: Unit, trial: Trial | int) -> Trial:
    """The trial, by itself or by its id, if it is of this study."""
    key = trial.id if isinstance(trial, Trial) else trial
    row = None
    if isinstance(key, int | np.integer) and not isinstance(key, bool):
        row = unit.trial(int(key))
    if row is None:
        raise UnknownTrialError(f"trial must be a Trial, a trial's id or params; no trial is known as {key!r}.")
    known = row.trial
    if isinstance(trial, Trial) and dict(trial.params) != dict(known.params) and not _moved(unit, known.id):
        raise UnknownTrialError(f"trial {key} has other params here: it comes from another study.")
    return known


def _moved(unit: Unit, trial_id: int) -> bool:
    """Whether the params of a trial were changed since it was asked, by hand or with the space."""
    if unit.row().n_changes:
        return True
    return any(e.trial_id == trial_id and "params" in (e.before or {}) for e in unit.events())


def revise(
    unit: Unit, action: str, trial: Trial | int, change: Callable[[Trial], Trial], note: str | None = None
) -> Trial:
    """A known trial changed by hand, and the event that says so; nothing happens where nothing differs."""
    known = find(unit, trial)
    changed = change(known)
    if changed == known:
        return known
    return replace_known(unit, action, known, changed, note)


def replace_known(unit: Unit, action: str, known: Trial, changed: Trial, note: str | None = None) -> Trial:
    stored = unit.revise(changed)
    unit.record(event(action, known, stored, note))
    return stored


def tell(
    unit: Unit,
    space: Space,
    trial: Trial | int,
    outcome: Mapping[str, Any],
    params: Mapping[str, Any] | None,
    attributes: Mapping[str, Any],
) -> Trial:
    """The outcome of a pending trial; settings other than those that were asked for are an event."""
    known = find(unit, trial)
    used = None if params is None else used_params(known, params, space)
    told = revisions.tell(known, outcome, params=used, attributes=attributes)
    return settle(unit, known, told)


def settle(unit: Unit, known: Trial, changed: Trial) -> Trial:
    """The outcome of a pending trial, or a trial that is amended."""
    if known.state != "pending" or changed.state in ("pending", "abandoned"):
        action = "abandon" if changed.state == "abandoned" else "amend"
        return replace_known(unit, action, known, changed)
    if dict(known.params) != dict(changed.params):
        unit.record(event("tell", known, replace(known, params=changed.params)))
    return unit.revise(changed)


# -- the space


def move(unit: Unit, copy: Copy, change: Change) -> Definition:
    """Every trial and the optimizer's state in another space; the fit starts anew."""
    definition, row = carried(copy.definition, unit.row(), change)
    definition.optimizer(None)  # refuses what does not fit together
    for known in unit.changes(-1):
        trial = carry_over(known.trial, change)
        if repr(trial) != repr(known.trial):  # 1, 1.0 and True may be three values
            unit.revise(trial)
    unit.save_definition(row)
    _forget_fits(unit, row)
    unit.record(change_event(change))
    return definition


def _forget_fits(unit: Unit, row: StudyRow) -> None:
    unit.save_state(replace(unpack(row.optimizer_state), fit=None, fits={}).to_dict())


# -- the metrics


def measure_anew(unit: Unit, copy: Copy, wanted: Mapping[str, Any]) -> tuple[MetricsChange, Definition, int]:
    """Every trial and the optimizer's state under other metrics; the fits start anew."""
    known, row = copy.trials(unit), unit.row()
    definition = copy.definition
    settings, change = settings_after(definition.settings, change_metrics(definition.metrics, known, **wanted))
    if change.nothing:
        return change, definition, row.n_changes
    definition, new = measured_anew(definition, row, change.metrics, settings)
    definition.optimizer(None)  # refuses what does not fit together
    for trial in known:
        carried = change.apply(trial)
        if carried != trial:
            unit.revise(carried)
    unit.save_definition(new)
    _forget_fits(unit, row)
    unit.record(metrics_event(change))
    return change, definition, row.n_changes + 1


# -- new trials


def add_told(unit: Unit, trials: Iterable[Trial]) -> list[Trial]:
    """Finished trials from elsewhere, under new ids."""
    return unit.add([replace(trial, params=plain_params(trial.params), origin="external") for trial in trials], None)


def enqueue(unit: Unit, trials: Iterable[Trial]) -> list[Trial]:
    """Pending trials under new ids that wait to be given out."""
    added = unit.add([replace(trial, origin="enqueued") for trial in trials], None)
    for trial in added:
        unit.release(trial.id)
        unit.record(event("enqueue", None, trial))
    return added


def asked_params(view: View, trials: Iterable[Trial]) -> list[Mapping[str, Any]]:
    """The params of each trial as they were asked for, where they were corrected since."""
    corrected: dict[int | None, Mapping[str, Any]] = {}
    for entry in view.events():
        if "params" in (entry.before or {}):
            corrected.setdefault(entry.trial_id, dict(entry.before or {})["params"])
    return [corrected.get(trial.id, trial.params) for trial in trials]


def release_one(unit: Unit, trial: Trial | int) -> list[int]:
    """A pending trial waits to be asked again; its id, unless it waited already."""
    known = find(unit, trial)
    if known.state != "pending":
        raise TellError(f"trial {known.id} is already {known.state}: only a pending trial can be released.")
    return release(unit, [known])


def release(unit: Unit, trials: Iterable[Trial]) -> list[int]:
    """The pending ones of ``trials`` wait to be asked again; the ids of those that did not wait already."""
    waiting = {trial.id for trial in unit.waiting()}
    ids = [trial.id for trial in trials if trial.state == "pending" and trial.id not in waiting]
    for i in ids:
        unit.release(i)
    return ids
