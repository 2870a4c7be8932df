"""A study in memory: its definition, its trials and its optimizer, brought up to the store's state before use."""

from __future__ import annotations

from ccgbo.engine.optimizer import Optimizer
from ccgbo.records import Trial
from ccgbo.space import Space
from ccgbo.storage import StudyRow, View
from ccgbo.storage.columns import place_of, reading
from ccgbo.study.definition import Definition, follow, unpack

Times = tuple[float, float | None]  # asked, told: seconds since 1970


class Copy:
    """What this process knows of a study. The methods that take a view run within a step on the store."""

    def __init__(self, row: StudyRow, definition: Definition, address: str, threads: int | None) -> None:
        self._address, self._name, self._threads = address, row.name, threads
        self.adopt(definition, row.n_changes)

    @property
    def definition(self) -> Definition:
        """As it was when this process last looked at the store."""
        return self._definition

    def adopt(self, definition: Definition, n_changes: int) -> None:
        """Another definition, after so many changes of the space and the metrics."""
        self._definition, self._n_changes = definition, n_changes
        self.forget()

    def forget(self) -> None:
        """Start again from the store: what is here may be ahead of it."""
        self._trials: dict[int, Trial] = {}
        self._times: dict[int, Times] = {}
        self._completion_order: dict[int, int] = {}  # place of each outcome in the order they were told
        self._revision = -1  # of the store, as far as it was read
        self._optimizer: Optimizer | None = None

    def space(self, view: View) -> Space:
        """The space as it stands."""
        return self.current(view).space

    def current(self, view: View) -> Definition:
        """The definition as it stands: somebody else may have changed it."""
        self._follow(view.row())
        return self._definition

    def trials(self, view: View) -> tuple[Trial, ...]:
        self._refresh(view)
        return tuple(self._trials.values())

    def times(self, view: View) -> dict[int, Times]:
        """When each trial was asked and when it got its outcome."""
        self._refresh(view)
        return dict(self._times)

    def optimizer(self, view: View) -> Optimizer:
        """The optimizer as it stands; whoever changes it changes the store in the same step, or calls ``forget``."""
        self._refresh(view)
        if self._optimizer is None:
            self._optimizer = self._build(view.row())
        return self._optimizer

    @property
    def has_optimizer(self) -> bool:
        """Whether there is one already, which may lag behind the store."""
        return self._optimizer is not None

    def new_optimizer(self, view: View) -> Optimizer:
        """One that may go its own way."""
        self._refresh(view)
        return self._build(view.row())

    def _follow(self, row: StudyRow) -> None:
        if row.n_changes != self._n_changes:
            self.adopt(follow(self._definition, row, self._address), row.n_changes)

    def _refresh(self, view: View) -> None:
        """Read what changed in the store since the last time."""
        if view.revision() == self._revision:
            return
        row = view.row()
        self._follow(row)
        try:
            changed = view.changes(self._revision)
            self._trials.update((r.trial.id, r.trial) for r in changed)
            self._trials = dict(sorted(self._trials.items()))
            self._times.update((r.trial.id, (r.asked_at, r.told_at)) for r in changed)
            self._completion_order.update(
                (r.trial.id, r.completion_order) for r in changed if r.completion_order is not None
            )
            if self._optimizer is not None:
                self._sync(self._optimizer, [r.trial for r in changed], row)
            self._revision = row.revision
        except BaseException:  # also a Ctrl-C half-way
            self.forget()
            raise

    def _build(self, row: StudyRow) -> Optimizer:
        optimizer = self._definition.optimizer(self._threads)
        in_order = sorted(self._trials.values(), key=lambda trial: self._completion_order.get(trial.id, -1))
        self._sync(optimizer, in_order, row)
        return optimizer

    def _sync(self, optimizer: Optimizer, trials: list[Trial], row: StudyRow) -> None:
        with reading(place_of(self._address, self._name, "optimizer_state or params of a trial")):
            optimizer.sync(trials, unpack(row.optimizer_state))
