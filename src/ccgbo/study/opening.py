"""Finding a study in its store, and the arguments of ``Study`` beside its definition."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from functools import cache

import numpy as np

from ccgbo.engine.threads import blas_threads
from ccgbo.errors import SettingError, StudyExistsError, StudyNotFoundError
from ccgbo.storage import Store
from ccgbo.storage.base import not_found
from ccgbo.storage.rows import StudyRow


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
    check_name(name)
    number = isinstance(heartbeat, int | float | np.number) and not isinstance(heartbeat, bool)
    if not (number and math.isfinite(heartbeat) and heartbeat > 0):  # type: ignore[arg-type,operator]
        raise SettingError(f"heartbeat must be a finite number of seconds > 0, got {heartbeat!r}.")
    if if_exists not in ("open", "error"):
        raise SettingError(f"if_exists must be 'open' or 'error', got {if_exists!r}.")


def check_name(name: object) -> None:
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

    import ccgbo.space.restricted  # noqa: F401

    qmc.Sobol(1, scramble=False).random(1)  # reads its table of direction numbers
    with blas_threads(1):
        pass
