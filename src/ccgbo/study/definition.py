"""What a study is: its space, metrics, settings and prior, as given, as stored and as opened again.

Opening with other arguments than those the study was created with is an error, never a silent change. Arguments that
a file cannot hold (a predicate, a density, the user's own acquisition) are passed again; until then the study can be
read and told, and only ``ask`` refuses.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ccgbo.acquisition import Acquisition, Schedule, get_acquisition
from ccgbo.acquisition.factors import carried_prior
from ccgbo.engine.metric_settings import suited_to_metrics
from ccgbo.engine.optimizer import Optimizer
from ccgbo.engine.settings import Settings, resolve
from ccgbo.engine.settings_io import (
    has_withheld,
    predicates_of,
    prior_from_dict,
    prior_to_dict,
    read_space,
    settings_from_dict,
    settings_to_dict,
    storable_space,
)
from ccgbo.engine.state import STATE_VERSION, OptimizerState
from ccgbo.errors import SettingError, StorageError
from ccgbo.metrics import Between, Metrics
from ccgbo.records import Direction
from ccgbo.space import Change, Space, as_space
from ccgbo.storage.columns import place_of, reading
from ccgbo.storage.rows import StudyRow, to_json
from ccgbo.study.measured import check_columns, check_metrics, differs, read_metrics, stored_metrics

WITHHELD = ("constraint", "prior", "acquisition")  # arguments that may be functions or foreign classes


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The arguments of ``Study``, as the user typed them; None is not given."""

    space: Space | Mapping[str, Any] | None = None
    direction: Direction | None = None
    objective: str | None = None
    objectives: Mapping[str, Direction] | None = None
    outcome_constraints: Mapping[str, Between] | None = None
    preset: str | Settings | None = None
    seed: int | None = None
    constraint: Any = None
    prior: Any = None
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A study ready for use."""

    space: Space
    metrics: Metrics
    settings: Settings
    prior: Any
    missing: tuple[str, ...]  # arguments to pass again before ``ask``

    @property
    def direction(self) -> Direction:
        return self.metrics.direction

    def optimizer(self, threads: int | None) -> Optimizer:
        return Optimizer(
            self.space,
            objectives=self.metrics.objectives,
            outcome_constraints=self.metrics.constraints,
            preset=self.settings,
            acquisition=self.settings.acquisition,  # as it was decided when the study was created
            prior=self.prior,
            threads=threads,
        )


def define(given: Given) -> StudyRow:
    """A new study, as it will be stored; the name is still to be given."""
    assert given.space is not None
    preset = "default" if given.preset is None else given.preset
    optimizer = Optimizer(
        given.space,
        direction=given.direction,
        objective=given.objective,
        objectives=given.objectives,
        outcome_constraints=given.outcome_constraints,
        preset=preset,
        seed=given.seed,
        constraint=given.constraint,
        prior=given.prior,
        **given.settings,
    )
    check_columns(optimizer.metrics)
    prior = None if given.prior is None else prior_to_dict(given.prior)
    settings = settings_to_dict(optimizer.settings)
    return StudyRow(
        name="",
        direction=optimizer.direction,
        metrics=stored_metrics(optimizer.metrics),
        space=_plain(storable_space(optimizer.space)),
        settings=_plain(settings),
        prior=_plain(prior),
        withheld=_withheld(optimizer.space, given.prior, settings),
        optimizer_state=pack(optimizer),
        created=time.time(),
        seed=None if given.seed is None else int(given.seed),
        preset=preset if isinstance(preset, str) else None,
    )


def _withheld(space: Space, prior: Any, settings: Mapping[str, Any]) -> list[str]:
    """Arguments that a file cannot hold."""
    withheld = {
        "constraint": bool(predicates_of(space)),
        "prior": prior is not None and prior_to_dict(prior) is None,
        "acquisition": has_withheld(settings["acquisition"]),
    }
    return [name for name in WITHHELD if withheld[name]]


def pack(optimizer: Optimizer) -> dict[str, Any]:
    """The optimizer's state beside the trials, with its version."""
    return optimizer.state().to_dict()


def unpack(stored: Mapping[str, Any]) -> OptimizerState:
    """The state that ``pack`` gave, checked as far as the optimizer takes it on trust."""
    if stored["version"] != STATE_VERSION:
        raise StorageError(
            f"the study was last used by another ccgbo (state version {stored['version']}, here {STATE_VERSION})."
        )
    state = OptimizerState.from_dict(stored)
    for name, most in (("design_seed", 2**63), ("designed", 10**7), ("iteration", 2**53)):
        count = getattr(state, name)
        if type(count) is not int or not 0 <= count < most:
            raise ValueError(f"{name} is {count!r}")
    for fit in [*([] if state.fit is None else [state.fit]), *state.fits.values()]:
        counts = (fit.n, fit.checksum or 0)
        if not (all(type(n) is int for n in counts) and all(type(v) is float and abs(v) < 100.0 for v in fit.theta)):
            raise ValueError(f"fit is {fit!r}")
    return state


def reopen(row: StudyRow, given: Given, address: str) -> Definition:
    """A stored study, checked against what the user gave."""
    for column, read in (
        ("space", lambda: read_space(row.space, [])),
        ("settings", lambda: settings_from_dict(row.settings)),
        ("prior", lambda: None if row.prior is None else prior_from_dict(row.prior)),
    ):
        with reading(place_of(address, row.name, column)):
            read()
    metrics = read_metrics(row, address)
    check_metrics(row, given, metrics)
    _check("seed", row, given.seed, row.seed)
    space, has_constraint = _reopen_space(row, given)
    settings, has_acquisition = _reopen_settings(row, given, space.d, metrics)
    prior, has_prior = _reopen_prior(row, given)
    present = {"constraint": has_constraint, "acquisition": has_acquisition, "prior": has_prior}
    missing = tuple(name for name in row.withheld if not present[name])
    return Definition(space=space, metrics=metrics, settings=settings, prior=prior, missing=missing)


def follow(definition: Definition, row: StudyRow, address: str) -> Definition:
    """The definition of a study whose space or metrics were changed by somebody else since.

    Functions of the params (a predicate, a density) go on while the parameters have the same names.
    """
    with reading(place_of(address, row.name, "space")):
        stored = read_space(row.space, [])
    with reading(place_of(address, row.name, "prior")):
        prior = None if row.prior is None else prior_from_dict(row.prior)
    same = set(stored) == set(definition.space)
    predicates = predicates_of(definition.space) if same and "constraint" in row.withheld else []
    if same and "prior" in row.withheld:
        prior = definition.prior
    known = "acquisition" in row.withheld and "acquisition" not in definition.missing
    with reading(place_of(address, row.name, "settings")):
        settings = settings_from_dict(row.settings, definition.settings.acquisition if known else None).in_force()
    definition = replace(definition, metrics=read_metrics(row, address), settings=settings)
    return _complete(definition, row, read_space(row.space, predicates), prior)


def carried(definition: Definition, row: StudyRow, change: Change) -> tuple[Definition, StudyRow]:
    """The study in a space that was changed, in memory and as it will be stored.

    A predicate that this process does not know stays a part of the study; one that it knows and the new space does
    not have is gone.
    """
    prior = None if definition.prior is None else carried_prior(definition.prior, change.space, change.rename)
    withheld = {*_withheld(change.space, prior, row.settings), *definition.missing}
    new = replace(
        row,
        space=_plain(storable_space(change.space)),
        prior=None if prior is None else _plain(prior_to_dict(prior)),
        withheld=[name for name in WITHHELD if name in withheld],
    )
    return _complete(definition, new, change.space, prior), new


def measured_anew(
    definition: Definition, row: StudyRow, metrics: Metrics, settings: Settings
) -> tuple[Definition, StudyRow]:
    """The study with other metrics and the settings that suit them, in memory and as it will be stored."""
    check_columns(metrics)
    stored = _plain(settings_to_dict(settings))
    withheld = [name for name in row.withheld if name != "acquisition" or has_withheld(stored["acquisition"])]
    new = replace(row, direction=metrics.direction, metrics=stored_metrics(metrics), settings=stored, withheld=withheld)
    missing = tuple(name for name in definition.missing if name in withheld)
    return replace(definition, metrics=metrics, settings=settings, missing=missing), new


def _complete(definition: Definition, row: StudyRow, space: Space, prior: Any) -> Definition:
    """The definition with another space and prior, and what is missing then."""
    present = {
        "constraint": bool(predicates_of(space)),
        "prior": prior is not None,
        "acquisition": "acquisition" not in definition.missing,
    }
    missing = tuple(name for name in row.withheld if not present[name])
    return replace(definition, space=space, prior=prior, missing=missing)


def _reopen_space(row: StudyRow, given: Given) -> tuple[Space, bool]:
    stored = read_space(row.space, [])
    if given.space is not None:
        full = as_space(given.space, given.constraint)
        if _plain(storable_space(full)) != row.space:
            raise _space_differs(row, full, stored)
    else:
        full = as_space(stored, given.constraint)
        linear = [c for c in full.constraints[len(stored.constraints) :] if c not in predicates_of(full)]
        if any(c not in stored.constraints for c in linear):
            raise differs("constraint", row, linear, list(stored.constraints))
    predicates = predicates_of(full)
    if predicates and "constraint" not in row.withheld:
        raise differs("constraint", row, predicates, list(stored.constraints))
    return read_space(row.space, predicates), bool(predicates)


def _reopen_settings(row: StudyRow, given: Given, d: int, metrics: Metrics) -> tuple[Settings, bool]:
    wanted = given.settings.get("acquisition")
    if wanted is None and isinstance(given.preset, Settings):
        wanted = given.preset.acquisition
    acquisition: Acquisition | Schedule | None = None if wanted is None else get_acquisition(wanted)
    settings = settings_from_dict(row.settings, acquisition).in_force()
    if isinstance(given.preset, Settings):
        changed = suited_to_metrics(resolve(given.preset, d, **given.settings), metrics, given.settings)
    else:
        _check("preset", row, given.preset, row.preset)
        changed = resolve(settings, **given.settings)  # what is given must change nothing
    if changed != settings:
        name = next(name for name in settings.__slots__ if getattr(changed, name) != getattr(settings, name))
        raise differs(name, row, getattr(changed, name), getattr(settings, name))
    return settings, acquisition is not None


def _reopen_prior(row: StudyRow, given: Given) -> tuple[Any, bool]:
    stored = None if row.prior is None else prior_from_dict(row.prior)
    if given.prior is None:
        return stored, stored is not None
    if "prior" not in row.withheld and _plain(prior_to_dict(given.prior)) != row.prior:
        raise differs("prior", row, given.prior, stored)
    return given.prior, True


def _check(name: str, row: StudyRow, given: Any, stored: Any) -> None:
    if given is not None and given != stored:
        raise differs(name, row, given, stored)


def _space_differs(row: StudyRow, given: Space, stored: Space) -> SettingError:
    """Names the first parameter that is not the same."""
    for name in [*stored, *given]:
        if name not in given or name not in stored or given[name] != stored[name]:
            was, now = (repr(space[name]) if name in space else "no such parameter" for space in (stored, given))
            since = " (it was changed since it was created: log() says how)" if row.n_changes else ""
            return SettingError(
                f"space must be that of the study {row.name!r}, or be left out; parameter {name!r} differs: "
                f"the study has {was}{since}, got {now}. Another name= makes a new study."
            )
    if list(given) != list(stored):
        return differs("space", row, list(given), list(stored))
    return differs("constraint", row, list(given.constraints), list(stored.constraints))


def _plain(data: Any) -> Any:
    """Data as it comes back from the file."""
    return json.loads(to_json(data))
