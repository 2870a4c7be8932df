"""Which acquisition is maximised at iteration t, and whether credit weighs it.

A schedule is no acquisition: it has nothing to evaluate. A single acquisition is the constant schedule.

Credit helps an acquisition that explores and does nothing for one that already exploits (the paper finds the same of
LogEI, Sec. C). Alternating gives each half what it is good at. Where there are categoricals an explorer spends its
turns on choices that were seen to be bad; ``in_mixed=False`` exploits at every turn there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, NamedTuple, Protocol, runtime_checkable

from ccgbo.acquisition.analytic import LogEI
from ccgbo.acquisition.base import IS_ACQUISITION, Acquisition, trades_mean
from ccgbo.acquisition.thompson import ThompsonSampling
from ccgbo.space import Space
from ccgbo.validation import AtLeast, Validated


class Turn(NamedTuple):
    """What a schedule decides for one iteration."""

    acquisition: Acquisition
    credited: bool
    """Whether credit weighs it."""


@runtime_checkable
class Schedule(Protocol):
    """A rule for the acquisition of each iteration."""

    def at(self, t: int, space: Space) -> Turn: ...


@dataclass(frozen=True, slots=True)
class Constant:
    """The same acquisition at every iteration, with credit."""

    acquisition: Acquisition

    def at(self, t: int, space: Space) -> Turn:  # noqa: ARG002
        return Turn(self.acquisition, True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternate(Validated):
    """``exploit`` at most iterations without credit, ``explore`` at every ``period``-th with it."""

    exploit: Annotated[Acquisition, IS_ACQUISITION] = field(default_factory=LogEI)
    """The acquisition of most suggestions, without credit."""
    explore: Annotated[Acquisition, IS_ACQUISITION] = field(default_factory=ThompsonSampling)
    """The acquisition of every ``period``-th suggestion, weighted by credit."""
    period: Annotated[int, AtLeast(2)] | None = 2
    """How often to explore: every ``period``-th suggestion; None never does, and credit weighs no acquisition then."""
    in_mixed: bool = True
    """Whether to explore in a space with categoricals, too."""
    full_credit: ClassVar[bool] = True  # most suggestions have none

    @property
    def trades_mean(self) -> bool:
        """Whether the acquisition that credit weighs may prefer a lower mean, see ``trades_mean`` of base.py."""
        return trades_mean(self.explore)

    def at(self, t: int, space: Space) -> Turn:
        due = self.period is not None and t % self.period == self.period - 1
        explores = due and (self.in_mixed or not space.mixed)
        return Turn(self.explore, True) if explores else Turn(self.exploit, False)


def as_schedule(acquisition: Any) -> Schedule:
    """A schedule as it is, an acquisition as the constant one."""
    return acquisition if isinstance(acquisition, Schedule) else Constant(acquisition)
