"""What is done to a trial by hand, as functions from one record to the next, and the event that says so.

    tell       the outcome of a pending trial
    amend      another outcome, or other settings, of a trial that has one
    drop       out of the model, kept on record; restore puts it back
    abandon    a pending trial is given up, without a trace in the model
    carry_over its settings in a space that was changed
    annotate   notes, tags and whatever else the user keeps with it

An optimizer and a study apply the same functions: what is refused here is refused alike everywhere.
"""

from __future__ import annotations

import getpass
import json
import os
import socket
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ccgbo.errors import ParamsError, TellError
from ccgbo.metric_change import MetricsChange
from ccgbo.records import Event, Trial
from ccgbo.space import Space
from ccgbo.space.change import Change
from ccgbo.text import count, is_nothing, valid

CHANGE_SPACE, CHANGE_METRICS = "change space", "change metrics"  # actions of an event
REMOVED = "removed"  # the attribute with values of parameters that the space has no more
UNTOLD = ("id", "explanation")  # fields of a trial that no event speaks of


def tell(
    trial: Trial,
    outcome: Mapping[str, Any],  # as outcome_of gives it
    *,
    params: Mapping[str, Any] | None = None,  # the whole point, canonical
    attributes: Mapping[str, Any] | None = None,
) -> Trial:
    """The outcome of a trial that waits for it."""
    if trial.state == "abandoned":
        raise TellError(f"trial {trial.id} was abandoned: amend brings it back with a value.")
    if trial.state != "pending":
        said = ", ".join(f"{name} {value!r}" for name, value in trial.values.items())
        raise TellError(f"trial {trial.id} is already {trial.state}{said and f' ({said})'}: amend corrects it.")
    told = replace(trial, **outcome, params=trial.params if params is None else dict(params))
    return annotate(told, attributes or {})


def amend(
    trial: Trial,
    outcome: Mapping[str, Any],  # as outcome_of gives it; empty keeps the one that there is
    *,
    params: Mapping[str, Any] | None = None,  # the whole point, canonical
    attributes: Mapping[str, Any] | None = None,
) -> Trial:
    """Another outcome, or other settings, of a trial that has one, or of one that was abandoned: it comes back."""
    if trial.state == "pending":
        raise TellError(f"trial {trial.id} is pending and has no outcome to amend: tell it.")
    if trial.state == "abandoned" and not outcome:
        raise TellError(f"trial {trial.id} was abandoned: value must be given to bring it back.")
    amended = replace(trial, **outcome, params=trial.params if params is None else dict(params))
    return annotate(amended, attributes or {})


def drop(trial: Trial) -> Trial:
    """The trial out of the model, kept on record."""
    if trial.state not in ("complete", "failed"):
        raise TellError(f"trial must be complete or failed to be dropped, but trial {trial.id} is {trial.state}.")
    if trial.dropped:
        raise TellError(f"trial {trial.id} is dropped already: restore puts it back.")
    return replace(trial, dropped=True)


def restore(trial: Trial) -> Trial:
    """A dropped trial back in the model."""
    if not trial.dropped:
        raise TellError(f"trial must be dropped to be restored, but trial {trial.id} is {trial.state}, not dropped.")
    return replace(trial, dropped=False)


def abandon(trial: Trial) -> Trial:
    """A pending trial given up: no value, no place to avoid, no count."""
    if trial.state == "abandoned":
        raise TellError(f"trial {trial.id} is abandoned already.")
    if trial.state != "pending":
        raise TellError(f"trial must be pending to be abandoned, but trial {trial.id} is {trial.state}: drop it.")
    return replace(trial, state="abandoned")


def annotate(trial: Trial, attributes: Mapping[str, Any]) -> Trial:
    """The trial with these attributes beside those that it has; None removes one."""
    changed = dict(trial.attributes)
    for name, value in attributes.items():
        if value is None:
            changed.pop(name, None)
        else:
            changed[_name(name)] = _attribute(name, value)
    return replace(trial, attributes=changed)


# -- settings


def check_points(points: Iterable[Any], space: Space) -> list[dict[str, Any]]:
    """Points to be evaluated, canonical; refuses one that is none of the space."""
    checked = []
    for point in points:
        if (why := space.outside(point)) is not None:
            raise ParamsError(f"params must be a point of the space, got {point!r}: {why}")
        checked.append(space.canonical(point))
    return checked


def used_params(trial: Trial, params: Any, space: Space) -> dict[str, Any]:
    """The settings that were really used: those that the trial has, but for what ``params`` says.

    They may lie outside the bounds, but must have a position in the space. Parameters that ``params`` makes inactive
    are left out.
    """
    space.check_names(params)
    merged = {**trial.params, **params}
    U, problems = space.place_rows([merged])
    if problems[0] is not None:
        raise ParamsError(f"params of trial {trial.id}: {problems[0]}")
    active = dict(zip(space.names, space.active(U)[0].tolist(), strict=True))
    for name in params:
        if not active[name]:
            raise ParamsError(f"{name!r} is inactive at this point (active_if={space[name].active_if!r}).")
    return space.canonical({name: value for name, value in merged.items() if active[name]})


def carry_over(trial: Trial, change: Change) -> Trial:
    """The trial in a space that was changed, every value as it is on record.

    Values of parameters that are gone are kept among the attributes, as "removed"; a parameter that comes back has
    them again.
    """
    removed = dict(trial.attributes.get(REMOVED) or {})
    params = change.apply({**removed, **trial.params})
    removed = {name: value for name, value in {**removed, **change.removed(trial.params)}.items() if name not in params}
    return annotate(replace(trial, params=params), {REMOVED: removed or None})


def consequences(change: Change, trials: Iterable[Trial]) -> list[str]:
    """Which trials are no points of a changed space, and what that means for them, a plain sentence each."""
    beyond: list[int] = []
    lines = []
    for trial in trials if not change.nothing else ():
        params = carry_over(trial, change).params
        problem = change.space.place_rows([params])[1][0]
        if problem is not None:
            lines.append(f"trial {trial.id} has no place in it and leaves the model: {problem}")
        elif change.space.outside(params) is not None:
            beyond.append(trial.id)
    if beyond:
        ids = ", ".join(map(str, beyond))
        are = "lies" if len(beyond) == 1 else "lie"
        lines.append(f"{count(len(beyond), 'trial')} {are} outside and count as before: {ids}.")
    return lines


# -- attributes


def attributes_of(note: Any = None, tags: Any = None, attributes: Any = None) -> dict[str, Any]:
    """What was said in three arguments, as attributes of a trial."""
    if attributes is not None and not isinstance(attributes, Mapping):
        raise TellError(f"attributes must be None or a mapping of names to plain data, got {attributes!r}.")
    named = {"note": note, "tags": tags}
    for name in named:
        if named[name] is not None and name in (attributes or {}):
            raise TellError(f"{name} must be given once, got it in attributes, too: {attributes!r}.")
    said = {**(attributes or {}), **{name: value for name, value in named.items() if value is not None}}
    return dict(annotate(Trial(id=-1, params={}), said).attributes)


def _name(name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise TellError(f"the name of an attribute must be a non-empty text, got {name!r}.")
    return valid(name)


def _attribute(name: str, value: Any) -> Any:
    """A copy of plain data."""
    if name == "note":
        if not isinstance(value, str):
            raise TellError(f"note must be a text, got {value!r}.")
        return valid(value)
    if name == "tags":
        if not isinstance(value, list | tuple) or not all(isinstance(tag, str) for tag in value):
            raise TellError(f"tags must be a list of texts, got {value!r}.")
        return [valid(tag) for tag in value]
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        raise TellError(f"attribute {name!r} must be plain data as JSON has it, got {value!r}.") from None


# -- events


def who() -> str:
    """Who acts: the environment variable CCGBO_USER, or the user at this machine."""
    named = os.environ.get("CCGBO_USER")
    if named:
        return valid(named)
    try:
        user = getpass.getuser()
    except (KeyError, OSError, ImportError):  # a user without a name, as in some containers
        user = "unknown"
    return valid(f"{user}@{socket.gethostname()}")


def event(action: str, before: Trial | None, after: Trial | None, note: str | None = None) -> Event:
    """What was done to one trial, now, by whom: only the fields that differ; None: there was no such trial."""
    known = after or before
    old, new = (_shown(trial) for trial in (before, after))
    differing = [name for name in {**old, **new} if json.dumps(old.get(name)) != json.dumps(new.get(name))]
    return event_of(
        action,
        trial_id=None if known is None else known.id,
        before=None if before is None else {name: old.get(name) for name in differing},
        after=None if after is None else {name: new.get(name) for name in differing},
        note=note,
    )


def change_event(change: Change) -> Event:
    """A change of the space, now, by whom, in plain sentences."""
    return event_of(CHANGE_SPACE, note=" ".join(change.describe()))


def metrics_event(change: MetricsChange) -> Event:
    """A change of the metrics, now, by whom, in plain sentences."""
    return event_of(CHANGE_METRICS, note=" ".join(change.describe()))


def event_of(
    action: str,
    *,
    trial_id: int | None = None,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    note: str | None = None,
) -> Event:
    """The event of something that is no revision of one trial, such as a change of the space."""
    return Event(
        at=time.time(),
        who=who(),
        action=action,
        trial_id=trial_id,
        before=before,
        after=after,
        note=None if note is None else valid(note),
    )


def _shown(trial: Trial | None) -> dict[str, Any]:
    """The fields of a trial that say something, as plain data; of named metrics each by its name."""
    plain = {} if trial is None else trial.to_dict()
    if trial is not None and trial.metrics:
        plain |= {"value": None, "metrics": _by_name(trial)}
    return {name: value for name, value in plain.items() if name not in UNTOLD and not is_nothing(value)}


def _by_name(trial: Trial) -> dict[str, Any]:
    said: dict[str, Any] = {}
    for name, measured in trial.metrics.items():
        said[name] = measured.value
        if measured.noise_variance is not None:
            said[f"{name} noise_variance"] = measured.noise_variance
        if measured.readings:
            said[f"{name} readings"] = list(measured.readings)
    return said
