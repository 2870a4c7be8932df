"""Spaces as plain dicts, JSON and TOML.

[parameters]
temperature = [20.0, 100.0]         # two numbers: a range, of whole numbers if both are written as such
solvent = ["water", "ethanol"]      # choices
batch = { choices = [16, 32] }      # choices that are numbers
folds = 5                           # one value, passed on

[parameters.lr]                     # everything else in full
type = "float"
low = 1e-5
high = 0.1
log = true

[[constraints]]
coefficients = { x = 1.0, y = 2.0 }
upper = 3.0

[[constraints]]
mixture = ["water", "ethanol"]
total = 1.0
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ccgbo.errors import SpaceError
from ccgbo.files import replacing
from ccgbo.space.constraints import LinearConstraint, constraint_from_dict, constraint_to_dict
from ccgbo.space.numeric import is_number
from ccgbo.space.parameters import Bool, Categorical, Fixed, Float, Int, Parameter
from ccgbo.space.shorthand import range_between
from ccgbo.space.space import Space

_FIELDS = {
    "float": {"low", "high", "log", "step"},
    "int": {"low", "high", "log", "step"},
    "categorical": {"choices"},
    "bool": set(),
    "fixed": {"value"},
}


def space_to_dict(space: Space) -> dict[str, Any]:
    """Plain data that ``space_from_dict`` reads back; predicates cannot be stored."""
    out: dict[str, Any] = {"parameters": {name: _parameter_to_dict(p) for name, p in space.items()}}
    constraints = []
    for c in space.constraints:
        if not isinstance(c, LinearConstraint):
            raise SpaceError(f"a predicate constraint cannot be stored, got {c!r}; use LinearConstraint.")
        constraints.append(constraint_to_dict(c))
    return out | ({"constraints": constraints} if constraints else {})


def _parameter_to_dict(p: Parameter) -> dict[str, Any]:
    if isinstance(p, Categorical):
        out: dict[str, Any] = {"type": "categorical", "choices": list(p.choices)}
    else:
        out = {"type": "float" if isinstance(p, Float) else "int", "low": p.low, "high": p.high}
        if p.log:
            out["log"] = True
        if p.step is not None and not (isinstance(p, Int) and p.step == 1):
            out["step"] = p.step
    if p.active_if is not None:
        out["active_if"] = {parent: list(values) for parent, values in p.active_if.items()}
    return out


def space_from_dict(data: Any) -> Space:
    """A space from what ``space_to_dict`` gives, or from a TOML or JSON document of that shape."""
    if not isinstance(data, Mapping) or not isinstance(data.get("parameters"), Mapping):
        raise SpaceError(f"a space document must have a table 'parameters', got {_outline(data)}.")
    for key in data:
        if key not in ("parameters", "constraints"):
            raise SpaceError(f"a space document has 'parameters' and 'constraints', got {key!r}.")
    parameters = {name: _parameter_from_dict(name, spec) for name, spec in data["parameters"].items()}
    constraints = []
    listed = data.get("constraints", [])
    if not isinstance(listed, list):
        raise SpaceError(f"'constraints' must be a list of tables, got {listed!r}.")
    for i, c in enumerate(listed):
        try:
            constraints.append(constraint_from_dict(c))
        except SpaceError as error:
            raise SpaceError(f"constraints[{i}]: {error}") from None
    return Space(parameters, constraints=constraints)


def _outline(data: Any) -> str:
    if not isinstance(data, Mapping):
        return repr(data)
    named = ", ".join(map(repr, data)) or "nothing"
    return f"{named} at the top: parameters stand below a line [parameters]" if data else named


def _parameter_from_dict(name: str, spec: Any) -> Parameter:
    if not isinstance(spec, Mapping):
        return _parameter_from_shorthand(name, spec)
    fields = dict(spec)
    kind = fields.pop("type", "categorical" if "choices" in fields else None)
    if not isinstance(kind, str) or kind not in _FIELDS:
        raise SpaceError(f"parameters.{name}.type must be one of {sorted(_FIELDS)}, got {kind!r}.")
    active_if = fields.pop("active_if", None)
    for key in fields:
        if key not in _FIELDS[kind]:
            raise SpaceError(f"parameters.{name} has an unknown field {key!r} for type {kind!r}.")
    required = {"float": ("low", "high"), "int": ("low", "high"), "categorical": ("choices",), "fixed": ("value",)}
    for key in required.get(kind, ()):
        if key not in fields:
            raise SpaceError(f"parameters.{name} must have {key!r}.")
    try:
        if kind == "float":
            return Float(**fields, active_if=active_if)
        if kind == "int":
            return Int(**fields, active_if=active_if)
        if kind == "categorical":
            return Categorical(**fields, active_if=active_if)
        return Fixed(fields["value"], active_if=active_if) if kind == "fixed" else Bool(active_if=active_if)
    except SpaceError as error:
        raise SpaceError(f"parameters.{name}: {error}") from None


def _parameter_from_shorthand(name: str, spec: Any) -> Parameter:
    """A range, choices or a constant: files have lists and no tuples, so two numbers in a list are a range."""
    try:
        if isinstance(spec, list | tuple) and spec and all(map(is_number, spec)):
            if len(spec) != 2:
                raise SpaceError(
                    f"what does {spec!r} mean? Choices are {{ choices = {list(spec)!r} }}, a range is [low, high]."
                )
            return range_between(*spec)
        if isinstance(spec, list | tuple):
            return Categorical(list(spec))
        if spec is None or isinstance(spec, bool | int | float):
            return Fixed(spec)
    except SpaceError as error:
        raise SpaceError(f"parameters.{name}: {error}") from None
    if isinstance(spec, str):
        raise SpaceError(
            f"parameters.{name}: what does the text {spec!r} mean? A value that is never searched is "
            f'{{ type = "fixed", value = {spec!r} }}, a choice between several [{spec!r}, ...].'
        )
    raise SpaceError(f"parameters.{name} must be a table, a list or a value, got {spec!r}.")


def load_space(path: str | Path) -> Space:
    """A space from a ``.toml`` or ``.json`` file."""
    json_file = _is_json(path)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise SpaceError(f"cannot read the space file {str(path)!r}: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise SpaceError(f"the space file {str(path)!r} is not UTF-8 text.") from None
    return space_from_json(text) if json_file else space_from_toml(text)


def save_space(space: Space, path: str | Path) -> None:
    """Write a space to a ``.toml`` or ``.json`` file."""
    text = space_to_json(space) if _is_json(path) else space_to_toml(space)
    try:
        with replacing(Path(path)) as draft:
            draft.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SpaceError(f"cannot write the space file {str(path)!r}: {error.strerror}.") from None
    except UnicodeEncodeError:
        raise SpaceError("TOML cannot hold a lone surrogate in a text: save the space as JSON.") from None


def _is_json(path: str | Path) -> bool:
    suffix = Path(path).suffix.lower()
    if suffix not in (".json", ".toml"):
        raise SpaceError(f"a space file must end in .toml or .json, got {str(path)!r}.")
    return suffix == ".json"


def space_to_json(space: Space) -> str:
    return json.dumps(space_to_dict(space), indent=2)


def space_from_json(text: str) -> Space:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:  # also a number of more digits than Python reads
        raise SpaceError(f"not valid JSON: {error}.") from None
    return space_from_dict(data)


def space_from_toml(text: str) -> Space:
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also a number of more digits than Python reads
        raise SpaceError(f"not valid TOML: {error}.") from None
    return space_from_dict(data)


def space_to_toml(space: Space) -> str:
    data = space_to_dict(space)
    lines: list[str] = []
    for name, fields in data["parameters"].items():
        lines.append(f"[parameters.{_toml_key(name)}]")
        lines.extend(f"{key} = {_toml(value)}" for key, value in fields.items())
        lines.append("")
    for c in data.get("constraints", []):
        lines.append("[[constraints]]")
        lines.extend(f"{key} = {_toml(value)}" for key, value in c.items())
        lines.append("")
    return "\n".join(lines)


def _toml_key(name: str) -> str:
    # TOML's quoted strings are JSON's, but for surrogate pairs, which it has not, and DEL, which it wants escaped
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml(value: Any) -> str:
    if value is None:
        raise SpaceError("TOML has no null: a space with the choice None can only be saved as JSON.")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _toml_key(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_toml_key(k)} = {_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(v) for v in value) + "]"
    return repr(value)
