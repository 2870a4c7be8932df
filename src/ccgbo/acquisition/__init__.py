"""Acquisition functions and the weight on them."""

from __future__ import annotations

from typing import Annotated, Any

from ccgbo.acquisition.alternate import Alternate, turn
from ccgbo.acquisition.analytic import EI, UCB, LogEI
from ccgbo.acquisition.base import IS_ACQUISITION, Acquisition, Context, Scale, Score, value_and_gradient
from ccgbo.acquisition.entropy import JES, MES
from ccgbo.acquisition.thompson import ThompsonSampling
from ccgbo.acquisition.weighted import Factor, Weighted, weigh
from ccgbo.errors import SettingError
from ccgbo.validation import Like, check

ACQUISITIONS: dict[str, Acquisition] = {
    "ucb": UCB(),
    "ei": EI(),
    "logei": LogEI(),
    "ts": ThompsonSampling(),
    "mes": MES(),
    "jes": JES(),
    "alternate": Alternate(),
}
NAME_OR_ACQUISITION = Like(f"a name or {IS_ACQUISITION.words}", IS_ACQUISITION.test)


def get_acquisition(acquisition: Any) -> Acquisition:
    """An acquisition by its short name, or the user's own object as it is."""
    if isinstance(acquisition, str):
        if acquisition not in ACQUISITIONS:
            raise SettingError(f"acquisition must be one of {sorted(ACQUISITIONS)}, got {acquisition!r}.")
        return ACQUISITIONS[acquisition]
    result: Acquisition = check("acquisition", acquisition, Annotated[Acquisition, NAME_OR_ACQUISITION])
    return result


__all__ = [
    "ACQUISITIONS",
    "EI",
    "IS_ACQUISITION",
    "JES",
    "MES",
    "UCB",
    "Acquisition",
    "Alternate",
    "Context",
    "Factor",
    "LogEI",
    "Scale",
    "Score",
    "ThompsonSampling",
    "Weighted",
    "get_acquisition",
    "turn",
    "value_and_gradient",
    "weigh",
]
