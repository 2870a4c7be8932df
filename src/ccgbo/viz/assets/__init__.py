"""Files that the report carries and the dashboard serves: nothing is loaded from elsewhere."""

from functools import cache
from importlib.resources import files

VIEWS = (  # scripts, in the order they need
    "plotly-cartesian.min.js",
    "base.js",
    "plots.js",
    "run_plots.js",
    "metric_plots.js",
    "metric_views.js",
    "advice.js",
    "table.js",
    "log.js",
    "views.js",
)
BENCH = (  # and work by hand
    "requests.js",
    "fields.js",
    "measured.js",
    "pending.js",
    "editor.js",
    "checked_form.js",
    "space_form.js",
    "metrics_form.js",
    "sheet.js",
    "bench.js",
    "compare.js",
)


@cache
def asset(name: str) -> str:
    """The text of one file of this package."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
