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
            self.fail(f"{value!r} is not a valid float.", param, ctx)


class Duration(FloatType):
    """Seconds, or 90s, 30min, 1.5h, 2d."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return seconds("it", value if isinstance(value, str) else float(value))
        except SettingError:
            self.fail(f"{value!r} is neither a number of seconds > 0 nor a time such as 30min or 1h.", param, ctx)


NUMBER, DURATION = Number(), Duration()
