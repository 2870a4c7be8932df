"""Acquisition functions and the weight on them."""

from __future__ import annotations

from typing import Annotated, Any

from ccgbo.acquisition.analytic import EI, UCB, LogEI
from ccgbo.acquisition.base import (
    IS_ACQUISITION,
    Acquisition,
    BoundAcquisition,
    Codomain,
    Context,
    is_acquisition,
    trades_mean,
    value_and_gradient,
    with_gradient,
)
from ccgbo.acquisition.entropy import JES, MES
from ccgbo.acquisition.hypervolume import EHVI, Scalarized
from ccgbo.acquisition.schedule import Alternate, Constant, Schedule, Turn, as_schedule
from ccgbo.acquisition.thompson import ThompsonSampling
from ccgbo.acquisition.weighted import Factor, Weighted, weigh
from ccgbo.errors import SettingError
from ccgbo.validation import Like, check

ACQUISITIONS: dict[str, Acquisition | Schedule] = {
    "ucb": UCB(),
    "ei": EI(),
    "logei": LogEI(),
    "ts": ThompsonSampling(),
    "mes": MES(),
    "jes": JES(),
    "alternate": Alternate(),
    "ehvi": EHVI(),
    "scalarized": Scalarized(),
}
SCHEDULED = Like(
    f"{IS_ACQUISITION.words}; or a schedule: an object with .at(t, space)",
    lambda thing: is_acquisition(thing) or (isinstance(thing, Schedule) and not isinstance(thing, type)),
)
NAME_OR_SCHEDULED = Like(f"a name or {SCHEDULED.words}", SCHEDULED.test)


def get_acquisition(acquisition: Any) -> Acquisition | Schedule:
    """An acquisition or a schedule of them by its short name, or the user's own object as it is."""
    if isinstance(acquisition, str):
        if acquisition not in ACQUISITIONS:
            raise SettingError(f"acquisition must be one of {sorted(ACQUISITIONS)}, got {acquisition!r}.")
        return ACQUISITIONS[acquisition]
    result: Acquisition | Schedule = check("acquisition", acquisition, Annotated[Acquisition, NAME_OR_SCHEDULED])
    return result


__all__ = [
    "ACQUISITIONS",
    "EHVI",
    "EI",
    "IS_ACQUISITION",
    "JES",
    "MES",
    "UCB",
    "Acquisition",
    "Alternate",
    "BoundAcquisition",
    "Codomain",
    "Constant",
    "Context",
    "Factor",
    "LogEI",
    "Scalarized",
    "Schedule",
    "ThompsonSampling",
    "Turn",
    "Weighted",
    "as_schedule",
    "get_acquisition",
    "trades_mean",
    "value_and_gradient",
    "weigh",
    "with_gradient",
]
