"""Settings, priors and spaces as plain data for JSON, and what of them cannot be: functions and foreign classes.

A setting is stored as ``{"type": tag, field: value, ...}``; an acquisition under its registered name. What cannot be
stored is withheld: its place says so, and whoever opens the study passes it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any

from ccgbo.acquisition import ACQUISITIONS, Acquisition, BoundAcquisition, Codomain, Context, Schedule
from ccgbo.acquisition.factors import NormalPrior
from ccgbo.credit.field import CreditSettings
from ccgbo.engine.settings import Settings
from ccgbo.errors import SettingError, StorageError
from ccgbo.space import LinearConstraint, Space, space_from_dict, space_to_dict
from ccgbo.surrogate.gp.fit import FitSettings
from ccgbo.surrogate.gp.priors import LogNormal, LogNormalLengthscales, NormalOnLog, NormalOnLogLengthscales
from ccgbo.tuning import EngineTuning
from ccgbo.validation import AtLeast, Validated, number, shown

TYPES: dict[str, type] = {
    "settings": Settings,
    "fit": FitSettings,
    "normal_on_log": NormalOnLog,
    "log_normal": LogNormal,
    "normal_on_log_lengthscales": NormalOnLogLengthscales,
    "log_normal_lengthscales": LogNormalLengthscales,
    "credit": CreditSettings,
    "tuning": EngineTuning,
    **{name: type(acquisition) for name, acquisition in ACQUISITIONS.items()},
}
TAGS = {cls: tag for tag, cls in TYPES.items()}
EARLIER: dict[type, dict[str, Any]] = {EngineTuning: {"recombine_stalled": None, "recombine_from": 8}}
"""What a setting was before there was one, where that is not its default: a study that was stored then goes on so."""
WITHHELD = "withheld"
DEEPEST = 32  # nesting of settings that can be meant


@dataclass(frozen=True, slots=True)
class Withheld(Validated):
    """Stands for a user's own acquisition that was not passed on opening."""

    name: str
    codomain: Codomain = "real"
    needs_optima: bool = False

    def bind(self, context: Context) -> BoundAcquisition:  # noqa: ARG002
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


def settings_from_dict(data: Any, acquisition: Acquisition | Schedule | None = None) -> Settings:
    """Settings from what ``settings_to_dict`` gave; ``acquisition`` fills in for one that was withheld.

    A field that is missing has its default, or what ``EARLIER`` says. Anything else that is not as it was written is a
    StorageError or, where a value breaks its rule, a SettingError, both naming the field.
    """
    settings = _decode("settings", data)
    if not isinstance(settings, Settings):
        raise StorageError(f"a study's settings must be stored as settings, got {shown(data)}.")
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


def _decode(path: str, data: Any) -> Any:
    if data is None or isinstance(data, str | bool | int | float):
        return data
    if not isinstance(data, Mapping) or not all(isinstance(name, str) for name in data) or path.count(".") > DEEPEST:
        raise StorageError(f"the study's {path} must be a value or a mapping of fields, got {shown(data)}.")
    tag = data.get("type")
    if tag != WITHHELD and not (isinstance(tag, str) and tag in TYPES):
        raise StorageError(f"the study's {path} uses {shown(tag)}, which this ccgbo does not know: upgrade it.")
    cls: Any = Withheld if tag == WITHHELD else TYPES[tag]
    known = {f.name: f for f in fields(cls)}
    rest = EARLIER.get(cls, {}) | {name: value for name, value in data.items() if name != "type"}
    for name in rest:
        if name not in known:
            raise StorageError(f"the study uses the setting {path}.{name}, unknown to this ccgbo: upgrade it.")
    for name, f in known.items():
        if name not in rest and f.default is MISSING and f.default_factory is MISSING:
            raise StorageError(f"the study's {path} has no {name}: the file is damaged.")
    return cls(**{name: _decode(f"{path}.{name}", value) for name, value in rest.items()})


def name_of(thing: Any) -> str:
    """How a message calls a function or an object."""
    return str(getattr(thing, "__qualname__", None) or type(thing).__qualname__)


# -- prior over the optimum


def prior_to_dict(prior: Any) -> dict[str, Any] | None:
    """Plain data, or None where the prior holds anything but normal priors and probabilities of choices."""
    if not isinstance(prior, Mapping):
        return None
    out: dict[str, Any] = {}
    for name, belief in prior.items():
        if isinstance(belief, NormalPrior):
            out[name] = {"mean": belief.mean, "sd": belief.sd}
        elif isinstance(belief, Mapping):
            out[name] = {"choices": [[choice, float(mass)] for choice, mass in belief.items()]}
        else:
            return None
    return out


def prior_from_dict(data: Any) -> dict[str, Any]:
    """A prior from what ``prior_to_dict`` gave; a StorageError or SettingError names the parameter otherwise."""
    if not isinstance(data, Mapping):
        raise StorageError(f"the study's prior must be a mapping of parameters, got {shown(data)}.")
    return {name: _belief(name, belief) for name, belief in data.items()}


def _belief(name: Any, data: Any) -> Any:
    if isinstance(data, Mapping) and set(data) == {"mean", "sd"}:
        return NormalPrior(data["mean"], data["sd"])
    pairs = data.get("choices") if isinstance(data, Mapping) else None
    if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise StorageError(f"the study's prior of {shown(name)} cannot be read: {shown(data)}.")
    return {_choice(name, choice): number(f"the study's prior[{name!r}]", mass, AtLeast(0)) for choice, mass in pairs}


def _choice(name: Any, choice: Any) -> Any:
    if choice is None or isinstance(choice, str | bool | int | float):
        return choice
    raise StorageError(f"the study's prior of {shown(name)} must name choices, got {shown(choice)}.")


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
