"""One validator for every setting: it reads the annotations of a frozen dataclass when an object of it is made.

    @dataclass(frozen=True, slots=True, kw_only=True, repr=False)
    class CreditSettings(Validated):
        n_paths: Annotated[int, AtLeast(1), AtMost(4096)] = 25

    SettingError: CreditSettings.n_paths must be a whole number in [1, 4096], got 2.5.

It knows bool, int, float, str, Literal, None, unions of these, and classes. A bool is no number; NumPy's scalars become
Python's; a float is finite unless marked ``OrInfinite``. The functions below hold plain arguments to the same rules.
"""

from __future__ import annotations

import math
import operator as op
import types
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from functools import cache, partial
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from ccgbo.errors import SettingError
from ccgbo.field_docs import FieldDocs


@dataclass(frozen=True, slots=True)
class Limit:
    """A bound on a number: ``AtLeast(0)``, ``Above(0)``, ``AtMost(1)``, ``Below(1)``."""

    sign: str
    value: float

    def holds(self, number: float) -> bool:
        return COMPARE[self.sign](number, self.value)


COMPARE: dict[str, Callable[[float, float], bool]] = {">=": op.ge, ">": op.gt, "<=": op.le, "<": op.lt}
AtLeast, Above, AtMost, Below = (partial(Limit, sign) for sign in COMPARE)


@dataclass(frozen=True, slots=True)
class OrInfinite:
    """A float that may be infinite, within its limits."""


@dataclass(frozen=True, slots=True)
class OrNone:
    """None stands for a value that is filled in before anybody reads it."""


@dataclass(frozen=True, slots=True)
class Like:
    """Anything that passes a test, such as an object of a Protocol."""

    words: str
    test: Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Rule:
    """What a value must be, in words, and how to take it: the value to keep, or TypeError or ValueError."""

    words: str
    take: Callable[[Any], Any]


class Validated:
    """Base of frozen dataclasses whose fields are checked against their annotations when an object is made.

    ``repr`` shows only what differs from the defaults, as a call that makes an equal object.
    """

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        if "__slots__" in cls.__dict__:
            cls.__slots__ = FieldDocs(cls)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        cls: Any = type(self)
        for name, rule in _rules(cls).items():
            object.__setattr__(self, name, _taken(f"{cls.__name__}.{name}", getattr(self, name), rule))

    def __repr__(self) -> str:
        cls: Any = type(self)
        changed = [(f.name, v) for f in fields(cls) if (v := getattr(self, f.name)) != _default(f)]
        return f"{cls.__name__}({', '.join(f'{name}={_literal(value)}' for name, value in changed)})"


def spelled_out(value: Any, indent: int = 0) -> str:
    """A validated object with every field, one to a line, as a call that makes an equal one; the repr of another."""
    if not isinstance(value, Validated):
        return _literal(value)
    cls: Any = type(value)
    inner = " " * (indent + 4)
    lines = [f"{inner}{f.name}={spelled_out(getattr(value, f.name), indent + 4)},\n" for f in fields(cls)]
    return f"{cls.__name__}(\n{''.join(lines)}{' ' * indent})"


def _literal(value: Any) -> str:
    return repr(value) if not isinstance(value, float) or math.isfinite(value) else f"float('{value}')"


def _default(f: Any) -> Any:
    return f.default_factory() if f.default_factory is not MISSING else f.default


def check(name: str, value: Any, annotation: Any) -> Any:
    """A plain argument held to an annotation: ``check("timeout", timeout, Annotated[float, Above(0)] | None)``."""
    return _taken(name, value, _rule(annotation))


@cache
def _rules(cls: Any) -> dict[str, Rule]:
    hints = get_type_hints(cls, include_extras=True)
    return {f.name: _rule(hints[f.name]) for f in fields(cls)}


def _taken(name: str, value: Any, rule: Rule) -> Any:
    try:
        return rule.take(value)
    except (TypeError, ValueError, OverflowError):
        called = f": did you mean {value.__name__}()?" if isinstance(value, type) else "."
        raise SettingError(f"{name} must be {rule.words}, got {shown(value)}{called}") from None


def shown(value: Any) -> str:
    """A value in a message: its repr, cut where it is long."""
    try:
        text = f"the class {value.__name__}" if isinstance(value, type) else repr(value)
    except Exception:  # a foreign object may fail to print itself
        text = f"an object of {type(value).__name__}"
    return text if len(text) <= 200 else text[:200] + "…"


def _rule(hint: Any) -> Rule:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _marked(arguments[0], arguments[1:])
    if origin in (Union, types.UnionType):
        options = [_rule(argument) for argument in sorted(arguments, key=lambda a: a is not type(None))]
        return Rule(" or ".join(option.words for option in options), lambda value: _first(options, value))
    if origin is Literal:
        return Rule(f"one of {list(arguments)}", lambda value: _among(arguments, value))
    if hint in (int, float):
        return _marked(hint, ())
    if hint is bool:
        return Rule("True or False", _boolean)
    words = "None" if hint is type(None) else "a text" if hint is str else _with_article(hint.__name__)
    return Rule(words, lambda value: value if isinstance(value, hint) else _wrong())


def _marked(hint: Any, marks: tuple[Any, ...]) -> Rule:
    if isinstance(marks[0] if marks else None, Like):
        return Rule(marks[0].words, lambda value: value if marks[0].test(value) else _wrong())
    if any(isinstance(mark, OrNone) for mark in marks):
        rest = tuple(mark for mark in marks if not isinstance(mark, OrNone))
        given = _marked(hint, rest) if rest else _rule(hint)
        return Rule(given.words, lambda value: None if value is None else given.take(value))
    limits = [mark for mark in marks if not isinstance(mark, OrInfinite)]
    infinite = len(limits) < len(marks)
    kind = "whole number" if hint is int else "number" if limits else "finite number"

    def take(value: Any) -> Any:
        number = _whole(value) if hint is int else _real(value)
        if not (infinite or math.isfinite(number)) or not all(m.holds(number) for m in limits):
            raise ValueError
        return number

    return Rule(" ".join(["a", kind, *_range(limits)]), take)


def _range(limits: list[Limit]) -> list[str]:
    low, high = ([m for m in limits if m.sign[0] == side] for side in "><")
    if not (low and high):
        return [f"{m.sign} {m.value}" for m in limits]
    left, right = "[" if low[0].sign == ">=" else "(", "]" if high[0].sign == "<=" else ")"
    return [f"in {left}{low[0].value}, {high[0].value}{right}"]


def _wrong() -> Any:
    raise TypeError


def _boolean(value: Any) -> bool:
    return bool(value) if isinstance(value, bool | np.bool_) else _wrong()


def _whole(value: Any) -> int:
    return int(value) if isinstance(value, int | np.integer) and not isinstance(value, bool) else _wrong()


def _real(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError
    if math.isnan(value):
        raise ValueError
    return float(value)


def _among(choices: tuple[Any, ...], value: Any) -> Any:
    return str(value) if isinstance(value, str) and value in choices else _wrong()


def _first(options: list[Rule], value: Any) -> Any:
    for option in options:
        try:
            return option.take(value)
        except (TypeError, ValueError, OverflowError):
            continue
    raise TypeError


def _with_article(name: str) -> str:
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


# -- plain arguments


def whole_number(name: str, value: Any, *, at_least: int = 1, at_most: int | None = None) -> int:
    """``value`` as a Python int within limits; True and 2.0 are none."""
    marks = (AtLeast(at_least),) if at_most is None else (AtLeast(at_least), AtMost(at_most))
    result: int = _taken(name, value, _marked(int, marks))
    return result


def optional_whole_number(name: str, value: Any, *, at_least: int = 1) -> int | None:
    """The same, or None."""
    result: int | None = check(name, value, Annotated[int, AtLeast(at_least)] | None)
    return result


def number(name: str, value: Any, *limits: Any) -> float:
    """``value`` as a Python float within limits: ``number("heartbeat", heartbeat, Above(0))``."""
    result: float = _taken(name, value, _marked(float, limits))
    return result


def optional_number(name: str, value: Any, *limits: Any) -> float | None:
    """The same, or None: ``optional_number("timeout", timeout, Above(0))``."""
    return None if value is None else number(name, value, *limits)


def flag(name: str, value: Any) -> bool:
    """``value`` as True or False; 1, 0 and "no" are none."""
    result: bool = check(name, value, bool)
    return result


def choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """``value`` as one of the texts in ``choices``."""
    result: str = _taken(name, value, Rule(f"one of {list(choices)}", lambda v: _among(choices, v)))
    return result
