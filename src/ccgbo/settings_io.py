"""Settings, priors and spaces as plain data for JSON, and what of them cannot be: functions and foreign classes.

A setting is stored as ``{"type": tag, field: value, ...}``; an acquisition under its registered name. What cannot be
stored is withheld: its place says so, and whoever opens the study passes it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from ccgbo.acquisition import ACQUISITIONS, Acquisition, Context, Scale, Score
from ccgbo.acquisition.factors import Gaussian
from ccgbo.credit.field import CreditSettings
from ccgbo.errors import SettingError, StorageError
from ccgbo.presets import Settings
from ccgbo.search import SearchSettings
from ccgbo.space import LinearConstraint, Space, space_from_dict, space_to_dict
from ccgbo.surrogate.fit import FitSettings, LengthscalePrior, LogNormal

TYPES: dict[str, type] = {
    "settings": Settings,
    "fit": FitSettings,
    "lengthscale_prior": LengthscalePrior,
    "log_normal": LogNormal,
    "credit": CreditSettings,
    "search": SearchSettings,
    **{name: type(acquisition) for name, acquisition in ACQUISITIONS.items()},
}
TAGS = {cls: tag for tag, cls in TYPES.items()}
WITHHELD = "withheld"


@dataclass(frozen=True, slots=True)
class Withheld:
    """Stands for a user's own acquisition that was not passed on opening."""

    name: str
    scale: Scale = "real"
    needs_optima: bool = False

    def bind(self, context: Context) -> Score:  # noqa: ARG002
        raise SettingError(f"acquisition {self.name} is not stored in a study file: pass acquisition= again.")


# -- settings


def settings_to_dict(settings: Settings) -> dict[str, Any]:
    """Plain data that ``settings_from_dict`` reads back."""
    data: dict[str, Any] = _encode(settings)
    return data


def _encode(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    tag = TAGS.get(type(value))
    if tag is None:
        return {"type": WITHHELD, "name": name_of(value)}
    return {"type": tag} | {f.name: _encode(getattr(value, f.name)) for f in fields(value)}


def settings_from_dict(data: Mapping[str, Any], acquisition: Acquisition | None = None) -> Settings:
    """Settings from what ``settings_to_dict`` gave; ``acquisition`` fills in for one that was withheld."""
    settings = _decode(data)
    if not isinstance(settings, Settings):
        raise StorageError(f"a study's settings must be stored as settings, got {data.get('type')!r}.")
    if acquisition is None or not has_withheld(data.get("acquisition")):
        return settings
    if _encode(acquisition) != data["acquisition"]:
        raise SettingError(f"acquisition must be that of the study, {settings.acquisition!r}, got {acquisition!r}.")
    return replace(settings, acquisition=acquisition)


def has_withheld(data: Any) -> bool:
    """Whether an encoded setting, or a part of it, is the user's own."""
    if not isinstance(data, Mapping):
        return False
    return data.get("type") == WITHHELD or any(has_withheld(value) for value in data.values())


def _decode(data: Any) -> Any:
    if not isinstance(data, Mapping):
        return data
    rest = {name: _decode(value) for name, value in data.items() if name != "type"}
    tag = data.get("type")
    if tag == WITHHELD:
        return Withheld(**rest)
    if tag not in TYPES:
        raise StorageError(f"the study uses {tag!r}, which this ccgbo does not know: upgrade it.")
    cls = TYPES[tag]
    assert is_dataclass(cls)
    unknown = set(rest) - {f.name for f in fields(cls)}
    if unknown:
        raise StorageError(f"the study uses the setting {tag}.{sorted(unknown)[0]}, unknown to this ccgbo: upgrade it.")
    return cls(**rest)


def name_of(thing: Any) -> str:
    """How a message calls a function or an object."""
    return str(getattr(thing, "__qualname__", None) or type(thing).__qualname__)


# -- prior over the optimum


def prior_to_dict(prior: Any) -> dict[str, Any] | None:
    """Plain data, or None where the prior holds anything but Gaussians and probabilities of choices."""
    if not isinstance(prior, Mapping):
        return None
    out: dict[str, Any] = {}
    for name, belief in prior.items():
        if isinstance(belief, Gaussian):
            out[name] = {"mean": belief.mean, "sd": belief.sd}
        elif isinstance(belief, Mapping):
            out[name] = {"choices": [[choice, float(mass)] for choice, mass in belief.items()]}
        else:
            return None
    return out


def prior_from_dict(data: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: {choice: mass for choice, mass in belief["choices"]} if "choices" in belief else Gaussian(**belief)  # noqa: C416
        for name, belief in data.items()
    }


# -- space


def predicates_of(space: Space) -> list[Any]:
    return [c for c in space.constraints if not isinstance(c, LinearConstraint)]


def storable_space(space: Space) -> dict[str, Any]:
    """The space without its predicates; conditions in one order, so that equal spaces give equal data."""
    linear = [c for c in space.constraints if isinstance(c, LinearConstraint)]
    data = space_to_dict(Space(dict(space), constraints=linear))
    for parameter in data["parameters"].values():
        for parent, allowed in parameter.get("active_if", {}).items():
            if isinstance(allowed, list):
                parameter["active_if"][parent] = sorted(allowed, key=repr)
    return data


def read_space(data: Mapping[str, Any], predicates: list[Any]) -> Space:
    space = space_from_dict(data)
    return Space(dict(space), constraints=[*space.constraints, *predicates]) if predicates else space
