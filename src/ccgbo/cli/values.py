"""Kinds of arguments beyond click's own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from ccgbo.errors import SettingError
from ccgbo.running import seconds
from ccgbo.space import Categorical, Int, Parameter, Space
from ccgbo.study.cells import read_text

if TYPE_CHECKING:
    FloatType = click.ParamType[float]
    NoiseType = click.ParamType[str | float]
else:
    FloatType = NoiseType = click.ParamType  # generic only in newer versions


ASSIGNMENT = "NAME=VALUE"


def number_of(text: str) -> float:
    """A number from text, also with a decimal comma."""
    return float(text.replace(",", ".") if text.count(",") == 1 and "." not in text else text)


class Number(FloatType):
    """A number; a decimal comma will do, as in the dashboard."""

    name = "float"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        text = str(value).strip()
        try:
            return number_of(text)
        except ValueError:
            if text.startswith("--"):  # where options that nobody knows pass, so that -0.3 does
                raise click.NoSuchOption(text, ctx=ctx) from None
            raise click.UsageError(f"{_called(param)} must be a number, got {value!r}.", ctx) from None


def _called(param: click.Parameter | None) -> str:
    """As the usage line has it, without the brackets that say that it can be left out."""
    if isinstance(param, click.Option):
        return str(param.opts[0])
    return "the number" if param is None else str(param.name).upper()


class Noise(NoiseType):
    """What is known of the noise of an evaluation: a word of ``Settings.noise``, or a number."""

    name = "unknown|none|float"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str | float:
        if value in ("unknown", "none"):
            return str(value)
        try:
            return number_of(str(value))
        except ValueError:
            self.fail(f"{value!r} is neither 'unknown' nor 'none' nor a standard deviation.", param, ctx)


class Duration(FloatType):
    """Seconds, or 90s, 30min, 1.5h, 2d."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return seconds("it", value if isinstance(value, str) else float(value))
        except SettingError:
            self.fail(f"{value!r} is neither a number of seconds > 0 nor a time such as 30min or 1h.", param, ctx)


NUMBER, DURATION = Number(), Duration()


# -- NAME=VALUE


def assignments(option: str, texts: Sequence[str], space: Space) -> dict[str, Any]:
    """Values of parameters, each read by the type of its parameter."""
    values: dict[str, Any] = {}
    for name, text in pairs(option, texts, space):
        if name not in space:
            raise click.UsageError(f"{option}: there is no parameter {name!r}; the space has {list(space)!r}.")
        values[name] = _read(option, name, space[name], text)
    return values


def pairs(
    option: str, texts: Sequence[str], names: Iterable[str] = (), form: str = ASSIGNMENT
) -> list[tuple[str, str]]:
    """The two sides of NAME=VALUE; of ``names`` also those that have a = in them."""
    found: dict[str, str] = {}
    for text in texts:
        known = max((name for name in names if text.startswith(f"{name}=")), key=len, default=None)
        name, equals, value = (known, "=", text[len(known) + 1 :]) if known is not None else text.partition("=")
        if not name or not equals:
            raise click.UsageError(f"{option} must be {form}, got {text!r}.")
        if name in found:
            raise click.UsageError(f"{option}: {name!r} must be given once.")
        found[name] = value
    return list(found.items())


def _read(option: str, name: str, parameter: Parameter, text: str) -> Any:
    if isinstance(parameter, Categorical):
        return read_text(parameter, text)  # a text that is no choice is refused by the space
    try:
        value = number_of(text.strip())
    except ValueError:
        raise click.UsageError(f"{option} {name} must be a number, got {text!r}.") from None
    return int(value) if isinstance(parameter, Int) and value.is_integer() else value
