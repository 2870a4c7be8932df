"""Two acquisitions in turn: one that exploits, as it is, and one that explores, guided by credit.

Credit helps an acquisition that explores and does nothing for one that already exploits (the paper finds the same of
LogEI, Sec. C). Alternating gives each half what it is good at.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from ccgbo.acquisition.analytic import LogEI
from ccgbo.acquisition.base import Acquisition, Context, Scale, Score
from ccgbo.acquisition.thompson import ThompsonSampling
from ccgbo.errors import SettingError


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternate:
    """``exploit`` at even iterations without credit, ``explore`` at odd ones with it."""

    exploit: Acquisition = field(default_factory=LogEI)
    explore: Acquisition = field(default_factory=ThompsonSampling)
    period: int = 2  # every period-th suggestion explores
    scale: ClassVar[Scale] = "real"
    needs_optima: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.period < 2:
            raise SettingError(f"Alternate.period must be >= 2, got {self.period!r}.")

    def at(self, t: int) -> tuple[Acquisition, bool]:
        """The acquisition of iteration t, and whether credit weighs it."""
        explores = t % self.period == self.period - 1
        return (self.explore, True) if explores else (self.exploit, False)

    def bind(self, context: Context) -> Score:
        return self.at(context.t)[0].bind(context)


def turn(acquisition: Acquisition, t: int) -> tuple[Acquisition, bool]:
    """The acquisition of iteration t, and whether credit weighs it: always, unless it takes turns."""
    return acquisition.at(t) if isinstance(acquisition, Alternate) else (acquisition, True)
