"""The settings that suit named metrics: what is left as the preset has it becomes what a feasible optimum or a front
asks for; what cannot be meant is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ccgbo.acquisition import EHVI, LogEI
from ccgbo.credit.field import CreditSettings
from ccgbo.engine.scales import on_plain_scale
from ccgbo.engine.settings import MANY, Settings, default_acquisition, forest_acquisition
from ccgbo.engine.settings_io import Withheld
from ccgbo.errors import SettingError
from ccgbo.metrics import Metrics
from ccgbo.surrogate.gp.priors import BOUNDED_NOISE, NOISE


def suited_to_metrics(settings: Settings, metrics: Metrics, given: Mapping[str, Any]) -> Settings:
    """The settings in force for these metrics; ``given`` are the settings that the user named.

    Credit was not worth its time there, for a feasible optimum as for a front, and is off unless it is asked for. One
    objective under constraints has a noise prior that lets values be all but exact (docs/lab/metrics.md).
    """
    if metrics.simple:
        _refuse(settings.acquisition, several=False)
        return settings
    if isinstance(settings.noise, float):
        rule = "'unknown' or 'none' where several things are measured: tell noise_variance= by their names"
        raise SettingError(f"noise must be {rule}, got {settings.noise!r}.")
    if settings.credit.field == "smooth":
        raise SettingError("CreditSettings.field must be 'knn' or 'knn-scaled' for named metrics, got 'smooth'.")
    settings = on_plain_scale(settings)
    if not metrics.several and given.get("fit") is None and settings.fit.noise_prior == NOISE:
        settings = replace(settings, fit=replace(settings.fit, noise_prior=BOUNDED_NOISE))
    presets = (default_acquisition(), forest_acquisition(), MANY.acquisition)
    preset = given.get("acquisition") is None and settings.acquisition in presets
    if preset and (metrics.several or settings.acquisition == default_acquisition()):
        credit = _open(settings) if given.get("credit") is not None else replace(settings.credit, strength=0.0)
        return replace(settings, acquisition=EHVI() if metrics.several else LogEI(), credit=credit).in_force()
    _refuse(settings.acquisition, several=metrics.several)
    return settings


def resuited(settings: Settings, metrics: Metrics) -> Settings:
    """Settings in force when the metrics are changed: they stay but for an acquisition that cannot be meant.

    Credit that is off stays off: nobody knows any more whether that was asked for.
    """
    if settings.fit.noise_prior == BOUNDED_NOISE:
        settings = replace(settings, fit=replace(settings.fit, noise_prior=NOISE))
    if _several(settings.acquisition) != metrics.several:
        settings = replace(settings, acquisition=default_acquisition(), credit=_open(settings)).in_force()
    return suited_to_metrics(settings, metrics, {})


def _open(settings: Settings) -> CreditSettings:
    """The credit of a preset without what was filled in for its own acquisition; what the user named stays."""
    nothing: dict[str, Any] = {"strength": None, "tau": None, "credit_when": None}
    filled = replace(settings, credit=replace(settings.credit, **nothing)).in_force().credit
    again = {name: None for name in nothing if getattr(settings.credit, name) == getattr(filled, name)}
    return replace(settings.credit, **again)  # type: ignore[arg-type]


def _several(acquisition: Any) -> bool:
    return bool(getattr(acquisition, "several", False))


def _refuse(acquisition: Any, *, several: bool) -> None:
    if _several(acquisition) != several and not isinstance(acquisition, Withheld):
        mine = "'ehvi', 'scalarized' or one of your own with several = True"
        raise SettingError(
            f"acquisition must be {mine if several else 'one for a single objective'}, got {acquisition!r}."
        )
