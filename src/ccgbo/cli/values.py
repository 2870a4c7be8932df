"""Kinds of arguments beyond click's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ccgbo.errors import SettingError
from ccgbo.running import seconds

if TYPE_CHECKING:
    FloatType = click.ParamType[float]
else:
    FloatType = click.ParamType  # generic only in newer versions


class Number(FloatType):
    """A number; a decimal comma will do, as in the dashboard."""

    name = "float"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        text = str(value).strip()
        try:
            return float(text.replace(",", ".") if text.count(",") == 1 and "." not in text else text)
        except ValueError:
            if text.startswith("--"):  # where options that nobody knows pass, so that -0.3 does
                raise click.NoSuchOption(text, ctx=ctx) from None
            raise click.UsageError(f"{_called(param)} must be a number, got {value!r}.", ctx) from None


def _called(param: click.Parameter | None) -> str:
    """As the usage line has it, without the brackets that say that it can be left out."""
    if isinstance(param, click.Option):
        return str(param.opts[0])
    return "the number" if param is None else str(param.name).upper()


class Duration(FloatType):
    """Seconds, or 90s, 30min, 1.5h, 2d."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return seconds("it", value if isinstance(value, str) else float(value))
        except SettingError:
            self.fail(f"{value!r} is neither a number of seconds > 0 nor a time such as 30min or 1h.", param, ctx)


NUMBER, DURATION = Number(), Duration()
