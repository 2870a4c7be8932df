"""Adapters to other libraries, one file each. Nothing imports them; a missing extra breaks only its own file."""

from importlib import import_module
from typing import Any

_ADAPTERS = ("ax", "botorch", "optuna", "ray", "sklearn")


def __getattr__(name: str) -> Any:
    """``ccgbo.integrations.optuna`` after ``import ccgbo``: loaded, with the library behind it, when asked for."""
    if name in _ADAPTERS:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_ADAPTERS)
