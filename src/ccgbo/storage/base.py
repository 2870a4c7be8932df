"""What a store of studies must do, whatever holds it.

A store keeps studies by name and their trials by number. Work on one study happens in one step: a function that sees a
``View`` (one consistent state) or a ``Unit`` (the same, to be changed; nobody else changes the study meanwhile, and all
of it is durable when ``write`` returns, or none of it is kept). The function is called inside the step, so that
nothing, not even a Ctrl-C between two lines, can leave a step open; it is called again where nothing of the first call
was kept, after a connection that broke. Every step on a study that was deleted raises ``StudyNotFoundError``: ids of
studies never come back.

``tests/storage/conformance.py`` has what every implementation must pass.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

from ccgbo.records import Direction, Event, Trial
from ccgbo.storage.address import Place
from ccgbo.storage.rows import StudyRow, TrialRow

T = TypeVar("T")

# what a step changes, for stores that let others work beside it
#   study        anything: nobody else changes the study meanwhile
#   suggestion   adds trials and the optimizer's state; outcomes of known trials may come in meanwhile, as if after it
#   trials       only known trials: may be done while somebody suggests
#   heartbeat    says that a worker lives: waits for nobody
Scope = Literal["study", "suggestion", "trials", "heartbeat"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyInfo:
    """One study of a store at a glance."""

    name: str
    direction: Direction
    n_trials: int
    n_complete: int
    n_failed: int
    n_pending: int
    n_abandoned: int
    n_dropped: int  # complete or failed, and out of the model
    best_value: float | None  # of those in the model that keep every outcome constraint; None of several objectives
    created: float  # seconds since 1970
    metrics: dict[str, Any] | None = None  # objectives and constraints, where they have names: see ``Metrics.to_dict``
    n_front: int | None = None  # trials on the front of several objectives


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far the suggestions of a study are."""

    done: int
    failed: int
    best: float | None  # of all trials in the model, whatever is measured beside the objective


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """A pending trial that nobody evaluates any more."""

    trial: Trial
    crashed: bool  # its process ended or fell silent; else its run ended in an orderly way


class View(Protocol):
    """One study, as it is at one moment."""

    def row(self) -> StudyRow: ...

    def revision(self) -> int:
        """Grows with every new trial, every outcome, and whatever else is changed of a trial or of the space."""

    def changes(self, since: int) -> list[TrialRow]:
        """Trials that changed after revision ``since``, outcomes in the order in which trials first had one."""

    def trial(self, trial_id: int) -> TrialRow | None: ...

    def suggested(self) -> int:
        """Trials that the study suggested or that were enqueued, in contrast to values told from elsewhere; without
        those that were abandoned."""

    def progress(self) -> Progress: ...

    def waiting(self) -> list[Trial]:
        """Pending trials that wait to be given out, by id: released, or enqueued and not given out yet."""

    def held(self) -> bool:
        """Whether a worker with a heartbeat holds a trial."""

    def lost(self, patience: float) -> list[Lost]:
        """Pending trials that nobody evaluates any more, by id: held by a worker that is gone, or silent for
        ``patience`` seconds where the store cannot know more."""

    def events(self) -> list[Event]:
        """What was changed by hand, oldest first."""


class Unit(View, Protocol):
    """One study, to be changed."""

    def add(self, trials: Iterable[Trial], worker: str | None) -> list[Trial]:
        """New trials under the next ids, pending for ``worker`` or finished already; as they are stored."""

    def revise(self, trial: Trial) -> Trial:
        """Another record of a known trial: params, outcome, readings, attributes, in or out of the model; as it is
        stored. Its place in the order of outcomes is given with the first and kept."""

    def record(self, event: Event) -> None:
        """One more event in the log."""

    def save_definition(self, study: StudyRow) -> None:
        """Another space or other metrics, with the prior, the settings and what is withheld; the rest stays."""

    def save_state(self, state: dict[str, Any]) -> None:
        """The optimizer's state beside the trials."""

    def claim(self, trial_id: int, worker: str | None) -> None:
        """Hand a pending trial to ``worker``; None is somebody who will tell in their own time."""

    def release(self, trial_id: int) -> None:
        """A pending trial waits to be given out again."""

    def count_attempt(self, trial_id: int) -> int:
        """One more evaluation ended with its process; how many by now."""

    def beat(self, worker: str) -> None:
        """The worker lives."""

    def leave(self) -> None:
        """The study goes to another store, with all that is of it; the last thing done in a step."""


class Store(Protocol):
    """Studies by name."""

    @property
    def address(self) -> str:
        """What messages call it; never with a password."""

    @property
    def path(self) -> Place:
        """What opens it again."""

    def names(self) -> list[str]:
        """Oldest first."""

    def infos(self) -> list[StudyInfo]: ...
    def find(self, name: str) -> StudyRow | None: ...

    def create(self, study: StudyRow) -> StudyRow:
        """A new study under a new id; ``StudyExistsError`` where the name is taken."""

    def adopt(self, study: StudyRow, trials: Sequence[TrialRow], events: Sequence[Event]) -> StudyRow:
        """A study from another store as it stands there, under a new id of the study; trials keep theirs. Trials that
        a worker holds wait to be given out: it works on the other store."""

    def delete(self, name: str) -> None:
        """A study and its trials; ``StudyNotFoundError`` where there is none."""

    def read(self, study: int, work: Callable[[View], T]) -> T: ...

    def write(
        self,
        study: int,
        work: Callable[[Unit], T],
        *,
        on_rollback: Callable[[], None] | None = None,
        scope: Scope = "study",
        while_next: Callable[[View], None] | None = None,
    ) -> T:
        """``on_rollback`` is called if anything raises, before anybody else's step of this process. ``scope`` is a
        promise: the step does nothing beyond it. ``while_next``, for a step that suggests, is called before it if
        another process has its turn and this one comes next: what it does from its look at the study need not be done
        in the step, where it keeps the others waiting."""

    def close(self) -> None:
        """Let go of it; closing twice is fine, using it afterwards is a ``StorageError``."""


def not_found(address: str, name: str, names: list[str]) -> str:
    """What every store says of a name that it does not have."""
    return f"{address!r} has no study {name!r}; it has {names!r}."


def new_study_id() -> int:
    """Never given before, in this store or another, and growing with time: milliseconds and 20 bits of chance."""
    return (time.time_ns() // 1_000_000) << 20 | secrets.randbits(20)


def moved_columns(known: TrialRow) -> dict[str, Any]:
    """What a trial has in its new store beside the trial itself."""
    held = known.heartbeat is not None
    return {
        "asked_at": known.asked_at,
        "told_at": known.told_at,
        "completion_order": known.completion_order,
        "released": int(known.released or held),
        "attempts": known.attempts,
        "worker": None if held else known.worker,
    }
