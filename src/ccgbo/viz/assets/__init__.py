"""Files that the report carries and the dashboard serves: nothing is loaded from elsewhere."""

from functools import cache
from importlib.resources import files

VIEWS = ("plotly-cartesian.min.js", "base.js", "plots.js", "table.js", "views.js")  # scripts, in the order they need


@cache
def asset(name: str) -> str:
    """The text of one file of this package."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
