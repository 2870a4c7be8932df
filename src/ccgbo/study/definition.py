"""What a study is: its space, direction, settings and prior, as given, as stored and as opened again.

Opening with other arguments than those the study was created with is an error, never a silent change. Arguments that
a file cannot hold (a predicate, a density, the user's own acquisition) are passed again; until then the study can be
read and told, and only ``ask`` refuses.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from ccgbo.acquisition import Acquisition, Schedule, get_acquisition
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
from ccgbo.engine.threads import blas_threads
from ccgbo.errors import SettingError, StorageError, StudyExistsError, StudyNotFoundError
from ccgbo.records import Direction
from ccgbo.space import Space, as_space
from ccgbo.storage import Store
from ccgbo.storage.base import not_found
from ccgbo.storage.rows import StudyRow, place_of, reading, to_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The arguments of ``Study``, as the user typed them; None is not given."""

    space: Space | Mapping[str, Any] | None = None
    direction: Direction | None = None
    preset: str | Settings | None = None
    seed: int | None = None
    constraint: Any = None
    prior: Any = None
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A study ready for use."""

    space: Space
    direction: Direction
    settings: Settings
    prior: Any
    missing: tuple[str, ...]  # arguments to pass again before ``ask``

    def optimizer(self, threads: int | None) -> Optimizer:
        return Optimizer(self.space, direction=self.direction, preset=self.settings, prior=self.prior, threads=threads)


def define(given: Given) -> StudyRow:
    """A new study, as it will be stored; the name is still to be given."""
    assert given.space is not None
    preset = "default" if given.preset is None else given.preset
    optimizer = Optimizer(
        given.space,
        direction=given.direction or "maximize",
        preset=preset,
        seed=given.seed,
        constraint=given.constraint,
        prior=given.prior,
        **given.settings,
    )
    prior = None if given.prior is None else prior_to_dict(given.prior)
    settings = settings_to_dict(optimizer.settings)
    withheld = {
        "constraint": bool(predicates_of(optimizer.space)),
        "prior": given.prior is not None and prior is None,
        "acquisition": has_withheld(settings["acquisition"]),
    }
    return StudyRow(
        name="",
        direction=optimizer.direction,
        space=_plain(storable_space(optimizer.space)),
        settings=_plain(settings),
        prior=_plain(prior),
        withheld=[name for name, is_withheld in withheld.items() if is_withheld],
        optimizer_state=pack(optimizer),
        created=time.time(),
        seed=None if given.seed is None else int(given.seed),
        preset=preset if isinstance(preset, str) else None,
    )


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
    fit = state.fit
    if fit is not None and not (type(fit.n) is int and all(type(v) is float and abs(v) < 100.0 for v in fit.theta)):
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
    if given.direction not in (None, row.direction):
        raise SettingError(
            f"direction must be that of the study {row.name!r}, which is to {row.direction}, got {given.direction!r}. "
            "Another name= makes a new study."
        )
    _check("seed", row, given.seed, row.seed)
    space, has_constraint = _reopen_space(row, given)
    settings, has_acquisition = _reopen_settings(row, given, space.d)
    prior, has_prior = _reopen_prior(row, given)
    present = {"constraint": has_constraint, "acquisition": has_acquisition, "prior": has_prior}
    missing = tuple(name for name in row.withheld if not present[name])
    return Definition(space=space, direction=row.direction, settings=settings, prior=prior, missing=missing)


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
            raise _differs("constraint", row, linear, list(stored.constraints))
    predicates = predicates_of(full)
    if predicates and "constraint" not in row.withheld:
        raise _differs("constraint", row, predicates, list(stored.constraints))
    return read_space(row.space, predicates), bool(predicates)


def _reopen_settings(row: StudyRow, given: Given, d: int) -> tuple[Settings, bool]:
    wanted = given.settings.get("acquisition")
    if wanted is None and isinstance(given.preset, Settings):
        wanted = given.preset.acquisition
    acquisition: Acquisition | Schedule | None = None if wanted is None else get_acquisition(wanted)
    settings = settings_from_dict(row.settings, acquisition).in_force()
    if isinstance(given.preset, Settings):
        changed = resolve(given.preset, d, **given.settings)
    else:
        _check("preset", row, given.preset, row.preset)
        changed = resolve(settings, **given.settings)  # what is given must change nothing
    if changed != settings:
        name = next(name for name in settings.__slots__ if getattr(changed, name) != getattr(settings, name))
        raise _differs(name, row, getattr(changed, name), getattr(settings, name))
    return settings, acquisition is not None


def _reopen_prior(row: StudyRow, given: Given) -> tuple[Any, bool]:
    stored = None if row.prior is None else prior_from_dict(row.prior)
    if given.prior is None:
        return stored, stored is not None
    if "prior" not in row.withheld and _plain(prior_to_dict(given.prior)) != row.prior:
        raise _differs("prior", row, given.prior, stored)
    return given.prior, True


def _check(name: str, row: StudyRow, given: Any, stored: Any) -> None:
    if given is not None and given != stored:
        raise _differs(name, row, given, stored)


def _differs(name: str, row: StudyRow, given: Any, stored: Any) -> SettingError:
    return SettingError(
        f"{name} must be that of the study {row.name!r}, {stored!r}, or be left out; got {given!r}. "
        "Another name= makes a new study."
    )


def _space_differs(row: StudyRow, given: Space, stored: Space) -> SettingError:
    """Names the first parameter that is not the same."""
    for name in [*stored, *given]:
        if name not in given or name not in stored or given[name] != stored[name]:
            was, now = (repr(space[name]) if name in space else "no such parameter" for space in (stored, given))
            return SettingError(
                f"space must be that of the study {row.name!r}, or be left out; parameter {name!r} differs: "
                f"the study has {was}, got {now}. Another name= makes a new study."
            )
    if list(given) != list(stored):
        return _differs("space", row, list(given), list(stored))
    return _differs("constraint", row, list(given.constraints), list(stored.constraints))


def _plain(data: Any) -> Any:
    """Data as it comes back from the file."""
    return json.loads(to_json(data))


# -- in the store


def find_or_create(store: Store, name: str | None, new: StudyRow | None, if_exists: str) -> StudyRow:
    """The study of that name, or the only one; ``new`` under that name where there is none."""
    names = store.names()
    if name is None and len(names) > 1:
        raise SettingError(f"name must be given: {store.address!r} has the studies {names!r}.")
    wanted = name or (names[0] if names else "default")
    row = store.find(wanted)
    if row is None and new is not None:
        with suppress(StudyExistsError):  # another process may be first
            return store.create(replace(new, name=wanted))
        row = store.find(wanted)
    if row is None:
        raise StudyNotFoundError(
            not_found(store.address, name, names)
            if name is not None
            else f"{store.address!r} has no study yet: give a space to create one."
        )
    if if_exists == "error":
        raise StudyExistsError(f"{store.address!r} already has a study {row.name!r}.")
    return row


# -- arguments


def check_arguments(name: object, heartbeat: object, if_exists: object) -> None:
    """What ``Study`` takes besides the definition."""
    _check_name(name)
    number = isinstance(heartbeat, int | float | np.number) and not isinstance(heartbeat, bool)
    if not (number and math.isfinite(heartbeat) and heartbeat > 0):  # type: ignore[arg-type,operator]
        raise SettingError(f"heartbeat must be a finite number of seconds > 0, got {heartbeat!r}.")
    if if_exists not in ("open", "error"):
        raise SettingError(f"if_exists must be 'open' or 'error', got {if_exists!r}.")


def _check_name(name: object) -> None:
    """A name that a terminal can show and any store can hold."""
    if name is None:
        return
    if not isinstance(name, str) or not name:
        raise SettingError(f"name must be a non-empty text, got {name!r}.")
    if not all(c.isprintable() for c in name):
        raise SettingError(f"name must not have control characters or lone surrogates, got {name!r}.")


@cache
def load_what_asking_needs() -> None:
    """Load the modules that an ask would load on first use, before others have to wait for it."""
    from scipy.stats import qmc

    qmc.Sobol(1, scramble=False).random(1)  # reads its table of direction numbers
    with blas_threads(1):
        pass
