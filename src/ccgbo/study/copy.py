"""A study in memory: its trials and its optimizer, brought up to the store's state before they are used."""

from __future__ import annotations

from ccgbo.engine.optimizer import Optimizer
from ccgbo.records import Trial
from ccgbo.storage import View
from ccgbo.storage.columns import place_of, reading
from ccgbo.study.definition import Definition, unpack


class Copy:
    """What this process knows of a study. The methods that take a view run within a step on the store."""

    def __init__(self, definition: Definition, address: str, name: str, threads: int | None) -> None:
        self._definition, self._address, self._name, self._threads = definition, address, name, threads
        self.forget()

    def forget(self) -> None:
        """Start again from the store: what is here may be ahead of it."""
        self._trials: dict[int, Trial] = {}
        self._completion_order: dict[int, int] = {}  # place of each outcome in the order they were told
        self._revision = -1  # of the store, as far as it was read
        self._optimizer: Optimizer | None = None

    def trials(self, view: View) -> tuple[Trial, ...]:
        self._refresh(view)
        return tuple(self._trials.values())

    def optimizer(self, view: View) -> Optimizer:
        """The optimizer as it stands; whoever changes it changes the store in the same step, or calls ``forget``."""
        self._refresh(view)
        if self._optimizer is None:
            self._optimizer = self._build(view)
        return self._optimizer

    def new_optimizer(self, view: View) -> Optimizer:
        """One that may go its own way."""
        self._refresh(view)
        return self._build(view)

    def _refresh(self, view: View) -> None:
        """Read what changed in the store since the last time."""
        revision = view.revision()
        if revision == self._revision:
            return
        try:
            changed = view.changes(self._revision)
            self._trials.update((row.trial.id, row.trial) for row in changed)
            self._trials = dict(sorted(self._trials.items()))
            self._completion_order.update(
                (row.trial.id, row.completion_order) for row in changed if row.completion_order is not None
            )
            if self._optimizer is not None:
                self._sync(self._optimizer, [row.trial for row in changed], view)
            self._revision = revision
        except BaseException:  # also a Ctrl-C half-way
            self.forget()
            raise

    def _build(self, view: View) -> Optimizer:
        optimizer = self._definition.optimizer(self._threads)
        in_order = sorted(self._trials.values(), key=lambda trial: self._completion_order.get(trial.id, -1))
        self._sync(optimizer, in_order, view)
        return optimizer

    def _sync(self, optimizer: Optimizer, trials: list[Trial], view: View) -> None:
        with reading(place_of(self._address, self._name, "optimizer_state or params of a trial")):
            optimizer.sync(trials, unpack(view.row().optimizer_state))
