"""Two acquisitions in turn: one that exploits, as it is, and one that explores, guided by credit.

Credit helps an acquisition that explores and does nothing for one that already exploits (the paper finds the same of
LogEI, Sec. C). Alternating gives each half what it is good at. Where there are categoricals an explorer spends its
turns on choices that were seen to be bad; ``in_mixed=False`` exploits at every turn there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from ccgbo.acquisition.analytic import LogEI
from ccgbo.acquisition.base import IS_ACQUISITION, Acquisition, Context, Scale, Score
from ccgbo.acquisition.thompson import ThompsonSampling
from ccgbo.validation import AtLeast, Validated


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternate(Validated):
    """``exploit`` at even iterations without credit, ``explore`` at odd ones with it."""

    exploit: Annotated[Acquisition, IS_ACQUISITION] = field(default_factory=LogEI)
    """The acquisition of most suggestions, without credit."""
    explore: Annotated[Acquisition, IS_ACQUISITION] = field(default_factory=ThompsonSampling)
    """The acquisition of every ``period``-th suggestion, weighted by credit."""
    period: Annotated[int, AtLeast(2)] = 2
    """How often to explore: every ``period``-th suggestion."""
    in_mixed: bool = True
    """Whether to explore in a space with categoricals, too."""
    scale: ClassVar[Scale] = "real"
    needs_optima: ClassVar[bool] = False
    full_credit: ClassVar[bool] = True  # every other suggestion has none

    def at(self, t: int, mixed: bool = False) -> tuple[Acquisition, bool]:
        """The acquisition of iteration t, and whether credit weighs it; ``mixed`` for a space with categoricals."""
        explores = t % self.period == self.period - 1 and (self.in_mixed or not mixed)
        return (self.explore, True) if explores else (self.exploit, False)

    def bind(self, context: Context) -> Score:
        return self.at(context.t)[0].bind(context)


def turn(acquisition: Acquisition, t: int, mixed: bool) -> tuple[Acquisition, bool]:
    """The acquisition of iteration t, and whether credit weighs it: always, unless it takes turns."""
    return acquisition.at(t, mixed) if isinstance(acquisition, Alternate) else (acquisition, True)
