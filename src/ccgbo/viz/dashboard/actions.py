"""What is done by hand in the page: each is one call of Study, as from Python and the command line.

POST /api/ask       {study, n?, fixed?}
POST /api/tell      {study, trial, value, standard_error?, params?, note?, tags?}: params are the settings really used,
                    value and standard_error where metrics have names are objects by their names
                    {study, params, value, ...}: a point evaluated elsewhere
POST /api/fail      {study, trial, reason?, params?, note?, tags?}
POST /api/amend     {study, trial, value? or failed?, standard_error?, reason?, params?, note?, tags?}
POST /api/drop, /api/restore, /api/abandon    {study, trial, note?}
POST /api/release   {study, trial}
POST /api/annotate  {study, trial, note?, tags?}: null or nothing takes one away
POST /api/enqueue   {study, params, note?}
POST /api/change    {study, parameters or toml, defaults?, rename?, fixed?, marginal?, dry_run?}
POST /api/measure   {study, objectives, constraints?, rename?, dry_run?}: all metrics from now on, objectives by name
                    "maximize" or "minimize", constraints by name [lower, upper] with null where a side is open
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from ccgbo.engine.editor import settings_after
from ccgbo.metric_change import change_metrics
from ccgbo.metrics import Between
from ccgbo.records import Trial
from ccgbo.revisions import consequences
from ccgbo.space import (
    Categorical,
    Float,
    Int,
    Parameter,
    Space,
    change_space,
    space_from_dict,
    space_from_toml,
    space_to_dict,
)
from ccgbo.study import Study
from ccgbo.study.cells import read_text
from ccgbo.text import shorten
from ccgbo.viz.dashboard.given import (
    SHOWN,
    Given,
    Refused,
    flag,
    is_number,
    outcome,
    points,
    table,
    text,
    text_table,
    texts,
    trial_id,
    words,
)

Action = Callable[[Study, Given], dict[str, Any]]
EDITABLE = {"low", "high", "choices"}  # fields of a parameter


# -- ask and tell


def ask(study: Study, given: Given) -> dict[str, Any]:
    trials = study.ask(points(given), fixed=table(given, "fixed") or None)
    return {"trials": [trial.id for trial in trials]}


def tell(study: Study, given: Given) -> dict[str, Any]:
    value, params, said = outcome(given), table(given, "params"), _said(given)
    if isinstance(value, dict) and all(one is None for one in value.values()):
        raise Refused("value must have a metric that was measured; a trial without any is told as failed.")
    if "trial" not in given and params is not None:
        return _done(study, study.tell(params, value, **said))
    return _done(study, study.tell(trial_id(given), value, params=params or None, **said))


def fail(study: Study, given: Given) -> dict[str, Any]:
    params, reason, said = table(given, "params") or None, words(given, "reason"), _said(given)
    return _done(study, study.tell(trial_id(given), failed=True, error=reason, params=params, **said))


def release(study: Study, given: Given) -> dict[str, Any]:
    released = study.release(trial_id(given))
    return {"trial": trial_id(given), "released": bool(released)}


def enqueue(study: Study, given: Given) -> dict[str, Any]:
    params = table(given, "params")
    if params is None:
        raise Refused("params must be an object, got None.")
    return _done(study, study.enqueue(params, note=words(given, "note")))


# -- trials that are there


def amend(study: Study, given: Given) -> dict[str, Any]:
    failed, params = flag(given, "failed"), table(given, "params") or None
    if failed and "value" in given:
        raise Refused("value must be left out where failed is true.")
    value = outcome(given) if "value" in given else None
    return _done(
        study,
        study.amend(trial_id(given), value, failed=failed, error=words(given, "reason"), params=params, **_said(given)),
    )


def drop(study: Study, given: Given) -> dict[str, Any]:
    return _done(study, study.drop(trial_id(given), note=words(given, "note")))


def restore(study: Study, given: Given) -> dict[str, Any]:
    return _done(study, study.restore(trial_id(given), note=words(given, "note")))


def abandon(study: Study, given: Given) -> dict[str, Any]:
    return _done(study, study.abandon(trial_id(given), note=words(given, "note")))


def annotate(study: Study, given: Given) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    if "note" in given:
        attributes["note"] = words(given, "note")
    if "tags" in given:
        attributes["tags"] = texts(given, "tags") or None
    if not attributes:
        raise Refused("note or tags must be given.")
    return _done(study, study.annotate(trial_id(given), **attributes))


def _said(given: Given) -> dict[str, Any]:
    return {"note": words(given, "note"), "tags": texts(given, "tags") or None}


def _done(study: Study, trial: Trial) -> dict[str, Any]:
    """A trial as it is now; ``outside`` says why it is no point of the space, if it is none."""
    outside = study.space.outside(trial.params)
    return {"trial": trial.id, "state": trial.state, "value": trial.value, "values": trial.values, "outside": outside}


# -- the space


def change(study: Study, given: Given) -> dict[str, Any]:
    trials, old = study.trials, study.space
    new = _new_space(given, old)
    said: dict[str, Any] = {
        "defaults": _read("defaults", text_table(given, "defaults"), new),
        "rename": text_table(given, "rename"),
        "fixed": _read("fixed", text_table(given, "fixed"), old),
        "marginal": texts(given, "marginal") or [],
    }
    dry, comes_and_goes = flag(given, "dry_run"), _comes_and_goes(old, new, said)
    if dry and comes_and_goes["open"]:
        return {"sentences": [], **comes_and_goes}
    made = change_space(old, new, **said) if dry else study.change_space(new, **said)
    return {"sentences": [*made.describe(), *consequences(made, trials)], **comes_and_goes}


def _comes_and_goes(old: Space, new: Space, said: Mapping[str, Any]) -> dict[str, list[str]]:
    """Parameters that only one of the spaces has, and those of them of which nothing was said yet."""
    added, removed = [name for name in new if name not in old], [name for name in old if name not in new]
    known = {*said["defaults"], *said["rename"].values(), *said["rename"], *said["fixed"], *said["marginal"]}
    certain = {name for name in added if new[name].size == 1}
    unknown = [name for name in (*removed, *added) if name not in known | certain]
    return {"added": added, "removed": removed, "open": unknown}


def _new_space(given: Given, old: Space) -> Space:
    """The space of a TOML text, or the one so far with other bounds and choices."""
    if "toml" in given:
        return space_from_toml(text(given, "toml"))
    edits = table(given, "parameters")
    if not edits:
        raise Refused("parameters or toml must be given: what the space shall be.")
    document = space_to_dict(old)
    for name, fields in edits.items():
        if name not in old:
            raise Refused(f"parameters: the space has no {name!r}; it has {list(old)!r}.")
        if not isinstance(fields, dict) or not fields.keys() <= EDITABLE:
            raise Refused(f"parameters[{name!r}] must be an object with low, high or choices, got {fields!r}.")
        document["parameters"][name] |= _like(old[name], fields)
    return space_from_dict(document)


def _like(p: Parameter, fields: dict[str, Any]) -> dict[str, Any]:
    """Bounds in the type of their parameter: a page has one kind of number."""
    if not isinstance(p, Float):
        return fields
    return {name: float(value) if is_number(value) else value for name, value in fields.items()}


def _read(label: str, given: Mapping[str, str], space: Space) -> dict[str, Any]:
    """Values that were typed, each read by the kind of its parameter; what is no parameter is refused later on."""
    return {name: _value(f"{label}[{name!r}]", space[name], t) if name in space else t for name, t in given.items()}


def _value(label: str, p: Parameter, typed: str) -> Any:
    if isinstance(p, Categorical):
        return read_text(p, typed)
    try:
        value = float(typed.strip().replace(",", ".") if typed.count(",") == 1 and "." not in typed else typed)
    except ValueError:
        raise Refused(f"{label} must be a number, got {typed!r}.") from None
    return int(value) if isinstance(p, Int) and value.is_integer() else value


# -- the metrics


def measure(study: Study, given: Given) -> dict[str, Any]:
    trials, old = study.trials, study.metrics
    said: dict[str, Any] = {
        "objectives": text_table(given, "objectives"),
        "outcome_constraints": {name: _bound(name, ends) for name, ends in (table(given, "constraints") or {}).items()},
        "rename": text_table(given, "rename"),
    }
    if flag(given, "dry_run"):
        made = settings_after(study.settings, change_metrics(old, trials, **said))[1]
    else:
        made = study.change_metrics(**said)
    return {"sentences": made.describe()}


def _bound(name: str, ends: Any) -> Between:
    if not isinstance(ends, list) or len(ends) != 2 or not all(end is None or is_number(end) for end in ends):
        rule = "a list of two numbers, null where a side is open"
        raise Refused(f"constraints[{shorten(repr(name), SHOWN)}] must be {rule}, got {shorten(repr(ends), SHOWN)}.")
    return Between(-math.inf if ends[0] is None else float(ends[0]), math.inf if ends[1] is None else float(ends[1]))


ACTIONS: dict[str, Action] = {
    "ask": ask,
    "tell": tell,
    "fail": fail,
    "amend": amend,
    "drop": drop,
    "restore": restore,
    "abandon": abandon,
    "release": release,
    "annotate": annotate,
    "enqueue": enqueue,
    "change": change,
    "measure": measure,
}
