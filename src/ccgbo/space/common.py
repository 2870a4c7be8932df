"""What every parameter has: a condition under which it is active, and a short spelling that reads back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ccgbo.errors import SpaceError

Condition = Mapping[str, Any]  # {"parent": value or list of values}


def normal_condition(active_if: Any) -> dict[str, tuple[Any, ...]] | None:
    """``active_if`` with a tuple of allowed values per parent, in an order that does not depend on hashing."""
    if active_if is None:
        return None
    if not isinstance(active_if, Mapping) or not active_if:
        raise SpaceError(f"active_if must map parameter names to values, got {active_if!r}.")
    out: dict[str, tuple[Any, ...]] = {}
    for parent, allowed in active_if.items():
        if isinstance(allowed, set | frozenset):
            out[parent] = tuple(sorted(allowed, key=repr))
        else:
            out[parent] = tuple(allowed) if isinstance(allowed, list | tuple) else (allowed,)
    return out


def spelled(kind: str, *arguments: Any, active_if: Condition | None = None, **options: Any) -> str:
    """A call of ``kind`` as one would type it: arguments, and options other than None and False."""
    parts = [repr(argument) for argument in arguments]
    parts += [f"{label}={value!r}" for label, value in options.items() if value is not None and value is not False]
    if active_if is not None:
        plain = {parent: values[0] if len(values) == 1 else list(values) for parent, values in active_if.items()}
        parts.append(f"active_if={plain!r}")
    return f"{kind}({', '.join(parts)})"
