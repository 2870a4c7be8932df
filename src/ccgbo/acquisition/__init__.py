"""Acquisition functions and the weight on them."""

from __future__ import annotations

from typing import Any

from ccgbo.acquisition.analytic import EI, UCB, LogEI
from ccgbo.acquisition.base import (
    Acquisition,
    BoundAcquisition,
    Codomain,
    Context,
    trades_mean,
    value_and_gradient,
    with_gradient,
)
from ccgbo.acquisition.entropy import JES, MES
from ccgbo.acquisition.schedule import Alternate, Constant, Schedule, Turn, as_schedule
from ccgbo.acquisition.thompson import ThompsonSampling
from ccgbo.acquisition.weighted import Factor, Weighted, weigh
from ccgbo.errors import SettingError

ACQUISITIONS: dict[str, Acquisition | Schedule] = {
    "ucb": UCB(),
    "ei": EI(),
    "logei": LogEI(),
    "ts": ThompsonSampling(),
    "mes": MES(),
    "jes": JES(),
    "alternate": Alternate(),
}


def get_acquisition(acquisition: Any) -> Acquisition | Schedule:
    """An acquisition or a schedule of them by its short name, or the user's own object as it is."""
    if isinstance(acquisition, str):
        if acquisition not in ACQUISITIONS:
            raise SettingError(f"acquisition must be one of {sorted(ACQUISITIONS)}, got {acquisition!r}.")
        return ACQUISITIONS[acquisition]
    if isinstance(acquisition, Schedule) and not isinstance(acquisition, type):
        return acquisition
    codomains = ("real", "nonnegative", "log")
    if not callable(getattr(acquisition, "bind", None)) or getattr(acquisition, "codomain", None) not in codomains:
        raise SettingError(
            f"acquisition must be a name, a schedule or have .bind(context) and .codomain in {codomains}, "
            f"got {acquisition!r}."
        )
    return acquisition  # type: ignore[no-any-return]


__all__ = [
    "ACQUISITIONS",
    "EI",
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
