"""What the rows of a table mean for the trials of a study, before anything is done.

    told       rows of pending trials that have an outcome now
    changed    rows that say something else than the study has; they are taken over only where that is wanted
    new        rows that are of no trial of the study, with an outcome
    unchanged  rows that say what the study has
    open       rows without an outcome, of pending trials or of none
    refused    rows that cannot be meant

A row belongs to the trial of its id, unless it was asked at another time: then it comes from another study, and its id
means nothing here. Rows that belong to no trial are new, but nothing is taken in twice: as many as the study has
told trials with these settings and this outcome, which no other row stands for, are unchanged.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ccgbo.errors import CcgboError
from ccgbo.metrics import Metrics
from ccgbo.outcomes import PLAIN
from ccgbo.records import Trial
from ccgbo.revisions import event
from ccgbo.space import Space
from ccgbo.study.meaning import of_known, of_new
from ccgbo.study.table_rows import Refusal, Row
from ccgbo.text import count, differences, printable, shorten

CLOCK = 0.0011  # seconds by which a time may differ that is written to the millisecond
LISTED = 10  # rows in a message
WIDTH = 300  # characters of one of them


@dataclass(frozen=True, slots=True)
class Change:
    """One trial before and after a row."""

    row: int
    before: Trial
    after: Trial

    @property
    def moved(self) -> bool:
        """Whether the settings are others than were asked."""
        return dict(self.before.params) != dict(self.after.params)

    def __str__(self) -> str:
        seen = event("amend", self.before, self.after)
        said = ", ".join(differences(seen.before, seen.after))
        return shorten(printable(f"row {self.row}, trial {self.before.id}: {said}"), WIDTH)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What becomes of the rows of a table."""

    told: tuple[Change, ...] = ()
    changed: tuple[Change, ...] = ()
    new: tuple[Trial, ...] = ()  # under their ids once they are imported
    unchanged: tuple[int, ...] = ()  # rows, counted from 1
    open: tuple[int, ...] = ()
    refused: tuple[Refusal, ...] = ()
    unread: tuple[str, ...] = ()  # columns that mean nothing here, and what may be meant
    amend: bool = False  # whether what changed is taken over
    dry_run: bool = False  # whether nothing was done

    @property
    def revised(self) -> list[Trial]:
        """Known trials as they are to be."""
        return [change.after for change in (*self.told, *(self.changed if self.amend else ()))]

    @property
    def trials(self) -> tuple[Trial, ...]:
        """What was told, amended and added."""
        return (*self.revised, *self.new)

    def __str__(self) -> str:
        """A sentence on how many rows there were of each kind."""
        told, skipped, added, amended, left = (
            ("would tell", "skip", "add", "amend", "leave")
            if self.dry_run
            else ("told", "skipped", "added", "amended", "left")
        )
        parts = [
            f"{told} {count(len(self.told), 'pending trial')}{self._kinds()}",
            f"{skipped} {len(self.unchanged)} unchanged",
            f"{added} {len(self.new)} new",
        ]
        if self.changed:
            parts.append(f"{amended if self.amend else left} {len(self.changed)} changed")
        if self.open:
            parts.append(f"{left} {len(self.open)} without a value")
        if self.refused:
            parts.append(f"refuse {len(self.refused)}")
        return ", ".join(parts)

    def _kinds(self) -> str:
        kinds = [(sum(c.after.state == state for c in self.told), state) for state in ("failed", "abandoned")]
        kinds.append((sum(c.moved for c in self.told), "with other settings than asked"))
        said = [f"{n} {kind}" for n, kind in kinds if n]
        return f" ({', '.join(said)})" if said else ""

    def details(self) -> list[str]:
        """A line for columns that are passed over, and for each row that changes what the study has, has other settings
        than asked or cannot be taken."""
        unread = [f"passed over, since nothing here is called so: {', '.join(self.unread)}"] if self.unread else []
        moved = [str(change) for change in self.told if change.moved]
        return [*unread, *moved, *map(str, self.changed), *map(str, self.refused)]


def make_plan(
    rows: Iterable[Row],
    trials: Mapping[int, Trial],
    space: Space,
    metrics: Metrics = PLAIN,
    *,
    asked_at: Mapping[int, float] | None = None,
    refused: Iterable[Refusal] = (),
    amend: bool = False,
    allow_duplicates: bool = False,
    allow_outside: bool = False,
) -> Plan:
    """What rows mean for the trials of a study; ``asked_at`` has the times at which these were asked."""
    return _Planner(space, metrics, trials, asked_at or {}, allow_duplicates, allow_outside).plan(
        list(rows), list(refused), amend
    )


@dataclass(slots=True)
class _Planner:
    space: Space
    metrics: Metrics
    trials: Mapping[int, Trial]
    asked_at: Mapping[int, float]
    allow_duplicates: bool
    allow_outside: bool
    told: list[Change] = field(default_factory=list)
    changed: list[Change] = field(default_factory=list)
    new: list[Trial] = field(default_factory=list)
    unchanged: list[int] = field(default_factory=list)
    open: list[int] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    said: dict[int, Change] = field(default_factory=dict)  # what the first row of a trial says of it
    there: Counter[str] = field(default_factory=Counter)  # told trials that no row has the id of
    clock: float = CLOCK  # seconds by which the times of the table may differ from the study's

    def plan(self, rows: list[Row], refused: list[Refusal], amend: bool) -> Plan:
        self.refused += refused
        if not any(row.asked_at % 1 for row in rows if row.asked_at is not None):
            self.clock = 1.0  # a spreadsheet cuts every time short; one whole second among others is a chance
        own = [row for row in rows if self._is_own(row)]
        numbers, ids = {row.number for row in own}, {row.id for row in own}
        told = (t for t in self.trials.values() if t.id not in ids and t.state in ("complete", "failed"))
        self.there = Counter(map(_key, told))
        for row in rows:
            try:
                (self._known if row.number in numbers else self._foreign)(row)
            except CcgboError as error:
                self.refused.append(Refusal(row.number, str(error)))
        return Plan(
            told=tuple(self.told),
            changed=tuple(self.changed),
            new=tuple(self.new),
            unchanged=tuple(self.unchanged),
            open=tuple(self.open),
            refused=tuple(sorted(self.refused, key=lambda refusal: refusal.row)),
            amend=amend,
        )

    def _is_own(self, row: Row) -> bool:
        if row.id is None or row.id not in self.trials:
            return False
        known = self.asked_at.get(row.id)
        if row.asked_at is None or known is None:
            return True
        return abs(row.asked_at - known) <= self.clock

    def _known(self, row: Row) -> None:
        assert row.id is not None
        known = self.trials[row.id]
        change = Change(row.number, known, of_known(self.space, known, row, self.metrics))
        if change.after == known and not row.has_outcome:
            (self.open if known.state == "pending" else self.unchanged).append(row.number)
            return
        before = self.said.setdefault(row.id, change)
        if before.after != change.after:
            self.refused.append(Refusal(row.number, f"row {before.row} says something else of trial {row.id}."))
        elif before is not change or change.after == known:
            self.unchanged.append(row.number)
        else:
            told = known.state == "pending" and change.after.state != "pending"
            (self.told if told else self.changed).append(change)

    def _foreign(self, row: Row) -> None:
        trial = of_new(self.space, row, self.metrics, allow_outside=self.allow_outside)
        if trial is None:
            self.open.append(row.number)
        elif self.there[_key(trial)] > 0 and not self.allow_duplicates:
            self.there[_key(trial)] -= 1
            self.unchanged.append(row.number)
        else:
            self.new.append(trial)


def _key(trial: Trial) -> str:
    """Settings and outcome; JSON tells 1 from "1" and from true."""
    measured = [[name, m.value, m.noise_variance, list(m.readings)] for name, m in sorted(trial.metrics.items())]
    outcome = [trial.state, trial.value, trial.noise_variance, list(trial.readings), measured]
    return json.dumps([sorted(trial.params.items()), outcome])


def refusal(plan: Plan) -> str:
    """What is said of a table that cannot be taken, of rows with the same fault once."""
    alike: dict[str, list[int]] = {}
    for refused in plan.refused:
        alike.setdefault(refused.reason, []).append(refused.row)
    listed = [shorten(f"{_rows(rows)}: {reason}", WIDTH) for reason, rows in alike.items()]
    left = sum(map(len, list(alike.values())[LISTED:]))
    more = f" And {count(left, 'more row')}." if left else ""
    return f"{' '.join(listed[:LISTED])}{more} Nothing was imported."


def _rows(numbers: list[int]) -> str:
    """``row 3``, or ``row 3 and 12 more rows``."""
    return f"row {numbers[0]}" + (f" and {count(len(numbers) - 1, 'more row')}" if len(numbers) > 1 else "")
