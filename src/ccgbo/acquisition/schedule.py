"""Which acquisition is maximised at iteration t, and whether credit weighs it.

A schedule is no acquisition: it has nothing to evaluate. A single acquisition is the constant schedule.

Credit helps an acquisition that explores and does nothing for one that already exploits (the paper finds the same of
LogEI, Sec. C). Alternating gives each half what it is good at. Where there are categoricals an explorer spends its
turns on choices that were seen to be bad; ``in_mixed=False`` exploits at every turn there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

from ccgbo.acquisition.analytic import LogEI
from ccgbo.acquisition.base import Acquisition
from ccgbo.acquisition.thompson import ThompsonSampling
from ccgbo.errors import SettingError
from ccgbo.space import Space


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
class Alternate:
    """``exploit`` at most iterations without credit, ``explore`` at every ``period``-th with it."""

    exploit: Acquisition = field(default_factory=LogEI)
    explore: Acquisition = field(default_factory=ThompsonSampling)
    period: int = 2
    """Every period-th suggestion explores."""
    in_mixed: bool = True
    """Whether to explore in a space with categoricals, too."""

    def __post_init__(self) -> None:
        if self.period < 2:
            raise SettingError(f"Alternate.period must be >= 2, got {self.period!r}.")

    def at(self, t: int, space: Space) -> Turn:
        explores = t % self.period == self.period - 1 and (self.in_mixed or not space.mixed)
        return Turn(self.explore, True) if explores else Turn(self.exploit, False)


def as_schedule(acquisition: Any) -> Schedule:
    """A schedule as it is, an acquisition as the constant one."""
    return acquisition if isinstance(acquisition, Schedule) else Constant(acquisition)
