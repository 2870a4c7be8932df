"""What a request says, checked: every refusal names the field, the rule and what was given."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from ccgbo.text import shorten

LONGEST_INT = len(str(2**63))  # digits
MOST_POINTS = 20  # suggestions at a time
SHOWN = 200  # characters of what was given

Given = Mapping[str, Any]


class Refused(Exception):
    """A request that cannot be done, with the words to say so."""


def parsed(body: bytes) -> dict[str, Any]:
    """The fields of a form."""
    try:
        given = json.loads(body, parse_int=_number)
        json.dumps(given, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise Refused("the request must be text that can be stored: it has half a surrogate pair.") from None
    except (ValueError, RecursionError):
        raise Refused("the request must be JSON.") from None
    if not isinstance(given, dict):
        raise Refused("the request must be a JSON object.")
    return given


def _number(digits: str) -> int | float:
    """A whole number, or where it could be beyond what a file holds a float, infinite if it is beyond those, too."""
    return int(digits) if len(digits) < LONGEST_INT else float(digits)


def _refuse(name: str, rule: str, value: Any) -> Refused:
    return Refused(f"{name} must be {rule}, got {shorten(repr(value), SHOWN)}.")


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def text(given: Given, name: str) -> str:
    """A text that must be there."""
    value = given.get(name)
    if not isinstance(value, str) or not value:
        raise _refuse(name, "a non-empty text", value)
    return value


def words(given: Given, name: str) -> str | None:
    """A text, or None where there is none."""
    value = given.get(name)
    if value is not None and not isinstance(value, str):
        raise _refuse(name, "a text", value)
    return value or None


def texts(given: Given, name: str) -> list[str] | None:
    value = given.get(name)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise _refuse(name, "a list of texts", value)
    return value


def flag(given: Given, name: str) -> bool:
    value = given.get(name, False)
    if not isinstance(value, bool):
        raise _refuse(name, "true or false", value)
    return value


def table(given: Given, name: str) -> dict[str, Any] | None:
    """An object by the names of parameters."""
    value = given.get(name)
    if value is not None and not isinstance(value, dict):
        raise _refuse(name, "an object", value)
    return value


def text_table(given: Given, name: str) -> dict[str, str]:
    value = table(given, name) or {}
    for key, one in value.items():
        if not isinstance(one, str):
            raise _refuse(f"{name}[{shorten(key, SHOWN)!r}]", "a text", one)
    return value


def trial_id(given: Given) -> int:
    value = given.get("trial")
    if isinstance(value, bool) or not isinstance(value, int):
        raise _refuse("trial", "a trial's id", value)
    return value


def points(given: Given) -> int:
    """How many suggestions."""
    value = given.get("n", 1)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_POINTS:
        raise _refuse("n", f"a whole number from 1 to {MOST_POINTS}", value)
    return value


def outcome(given: Given) -> Any:
    """A value as ``Study.tell`` takes it: a number, readings, a number with its standard error, or those by metric."""
    value, error = given.get("value"), given.get("standard_error")
    if not isinstance(value, dict):
        return _measured("value", "standard_error", value, error)
    errors = {} if error is None else error
    if not isinstance(errors, dict):
        raise _refuse("standard_error", "an object where value is one", error)
    for name in errors:
        if value.get(name) is None:
            raise Refused(f"standard_error has {shorten(repr(name), SHOWN)}, of which value tells nothing.")
    return {name: _metric(name, one, errors.get(name)) for name, one in value.items()}


def _metric(name: str, value: Any, error: Any) -> Any:
    """One metric; None where it was not measured."""
    of = f"[{shorten(repr(name), SHOWN)}]"
    return None if value is None else _measured(f"value{of}", f"standard_error{of}", value, error)


def _measured(name: str, error_name: str, value: Any, error: Any) -> Any:
    if isinstance(value, list):
        if not value or not all(map(is_number, value)):
            raise _refuse(name, "a finite number or a list of them", value)
        if error is not None and len(value) > 1:
            raise Refused(f"{error_name} must be left out where {name} has {len(value)} readings.")
        value = value if len(value) > 1 else value[0]
    elif not is_number(value):
        raise _refuse(name, "a finite number", value)
    if error is None:
        return value
    if not is_number(error) or error < 0:
        raise _refuse(error_name, "a finite number >= 0", error)
    return (value, error)
