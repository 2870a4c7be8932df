"""Acquisition functions and the weight on them."""

from __future__ import annotations

from typing import Any

from ccgbo.acquisition.alternate import Alternate, turn
from ccgbo.acquisition.analytic import EI, UCB, LogEI
from ccgbo.acquisition.base import Acquisition, Context, Scale, Score, value_and_gradient, with_gradient
from ccgbo.acquisition.entropy import JES, MES
from ccgbo.acquisition.thompson import ThompsonSampling
from ccgbo.acquisition.weighted import Factor, Weighted, weigh
from ccgbo.errors import SettingError

ACQUISITIONS: dict[str, Acquisition] = {
    "ucb": UCB(),
    "ei": EI(),
    "logei": LogEI(),
    "ts": ThompsonSampling(),
    "mes": MES(),
    "jes": JES(),
    "alternate": Alternate(),
}


def get_acquisition(acquisition: Any) -> Acquisition:
    """An acquisition by its short name, or the user's own object as it is."""
    if isinstance(acquisition, str):
        if acquisition not in ACQUISITIONS:
            raise SettingError(f"acquisition must be one of {sorted(ACQUISITIONS)}, got {acquisition!r}.")
        return ACQUISITIONS[acquisition]
    if not callable(getattr(acquisition, "bind", None)) or getattr(acquisition, "scale", None) not in (
        "real",
        "nonnegative",
        "log",
    ):
        raise SettingError(
            "acquisition must be a name or have .bind(context) and .scale in ('real', 'nonnegative', 'log'), "
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
    "with_gradient",
]
