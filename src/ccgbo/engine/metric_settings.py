"""The settings that suit named metrics: what is left as the preset has it becomes what a feasible optimum or a front
asks for; what cannot be meant is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ccgbo.acquisition import EHVI, LogEI
from ccgbo.engine.settings import MANY, Settings, default_acquisition
from ccgbo.engine.settings_io import Withheld
from ccgbo.errors import SettingError
from ccgbo.metrics import Metrics


def suited_to_metrics(settings: Settings, metrics: Metrics, given: bool) -> Settings:
    """The settings in force for these metrics; ``given`` says whether the user named an acquisition."""
    if metrics.plain:
        _refuse(settings.acquisition, several=False)
        return settings
    if settings.credit.field == "smooth":
        raise SettingError("CreditSettings.field must be 'knn' or 'knn-scaled' for named metrics, got 'smooth'.")
    unnamed = not given and settings.acquisition in (default_acquisition(), MANY.acquisition)
    if metrics.several:
        if unnamed or (not given and not _several(settings.acquisition)):
            settings = replace(settings, acquisition=EHVI(), credit=_open(settings)).in_force()
        _refuse(settings.acquisition, several=True)
    elif unnamed and settings.acquisition == default_acquisition():
        settings = replace(settings, acquisition=LogEI(), credit=_open(settings)).in_force()
    else:
        _refuse(settings.acquisition, several=False)
    return settings


def resuited(settings: Settings, metrics: Metrics) -> Settings:
    """Settings in force when the metrics are changed: they stay but for an acquisition that cannot be meant."""
    if _several(settings.acquisition) and not metrics.several:
        settings = replace(settings, acquisition=default_acquisition(), credit=_open(settings)).in_force()
    return suited_to_metrics(settings, metrics, False)


def _open(settings: Settings) -> Any:
    """The credit of a preset without what was filled in for its own acquisition."""
    if settings.credit.strength == 0.0:
        return settings.credit
    return replace(settings.credit, strength=None, tau=None, credit_when=None)  # type: ignore[arg-type]


def _several(acquisition: Any) -> bool:
    return bool(getattr(acquisition, "several", False))


def _refuse(acquisition: Any, *, several: bool) -> None:
    unknown = isinstance(acquisition, Withheld) or not hasattr(acquisition, "codomain")
    if _several(acquisition) == several or (several and unknown):
        return
    rule = "'ehvi', 'scalarized' or one of your own with several = True" if several else "one for a single objective"
    raise SettingError(f"acquisition must be {rule}, got {acquisition!r}.")
