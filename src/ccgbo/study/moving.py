"""A study changes its home: from one store to another, whichever they are."""

from __future__ import annotations

import os
from dataclasses import replace

from ccgbo.errors import SettingError, StorageError, StudyNotFoundError
from ccgbo.storage import Address, Store, Unit, open_store, place_at
from ccgbo.storage.base import not_found
from ccgbo.study.opening import check_name

SILENCE = 60.0  # seconds without a heartbeat after which a run counts as ended


def move_study(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    name: str | None = None,
    new_name: str | None = None,
) -> str:
    """Move a study to another file or database; its name there.

    Trials with their ids and times, the log, and the optimizer's random state go with it, so the next ask is what it
    would have been. It is in its new home before it leaves the old one: if that fails, it is in both, and the error
    says so.

    Parameters
    ----------
    source
        The file or the address of the database that has it.
    target
        Where it goes; made if it is not there.
    name
        The study; None takes the only one.
    new_name
        What it is called from now on; None keeps its name.
    """
    check_name(new_name)
    if _same(source, target):
        raise SettingError(f"target must be another file or database than {str(place_at(source))!r}.")
    old = open_store(source)
    try:
        known = _name_of(old, name)
        row = old.find(known)
        if row is None:
            raise StudyNotFoundError(not_found(old.address, known, old.names()))
        new = open_store(target, create=True)
        try:
            move = _Move(old, new, new_name or known)
            try:
                old.write(row.id, move.step)
            except StorageError as error:
                if not move.arrived:
                    raise
                raise StorageError(
                    f"{error} The study {move.name!r} is in {new.address!r} already: delete it in one of the two."
                ) from error
            return move.name
        finally:
            new.close()
    finally:
        old.close()


def _same(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> bool:
    here, there = place_at(source), place_at(target)
    if isinstance(here, Address) or isinstance(there, Address):
        return here == there
    return os.path.realpath(here) == os.path.realpath(there)


def _name_of(store: Store, name: str | None) -> str:
    names = store.names()
    if name is None and len(names) != 1:
        raise SettingError(f"name must be given: {store.address!r} has the studies {names!r}.")
    return names[0] if name is None else name


class _Move:
    """The step on the old home, which may be done again after a connection that broke."""

    def __init__(self, old: Store, new: Store, name: str) -> None:
        self._old, self._new, self.name = old, new, name
        self.arrived = False

    def step(self, unit: Unit) -> None:
        lost = {one.trial.id for one in unit.lost(SILENCE)}
        trials = sorted(unit.changes(-1), key=lambda known: known.trial.id)
        held = [known.trial.id for known in trials if known.heartbeat is not None and known.trial.id not in lost]
        if held:
            raise StorageError(
                f"a run works on trials {held!r} of the study in {self._old.address!r}: end it, then move the study."
            )
        if self.arrived:
            self._new.delete(self.name)  # what was done before was not kept here, and more may have been told since
        self._new.adopt(replace(unit.row(), name=self.name), trials, unit.events())
        self.arrived = True
        unit.leave()
