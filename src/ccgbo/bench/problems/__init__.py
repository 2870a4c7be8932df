"""Benchmark problems: what to maximise, where, and how good the best is.

    get_problem("Hartmann6")            the problem
    get_problem("Robot4", seed=3)       problems drawn per seed: Robot4 (its goal) and GPDraw4
    problem_names("paper")              names, all or one group's

    group       what for
    paper       the low-dimensional tasks of the paper, with noise of standard deviation 0.1
    embedded    four and six dimensions that matter among 25 to 1000, without noise
    choosing    27 problems on which the default preset was chosen; the five synthetic tasks of the paper are among them
    reporting   15 problems on which no setting was chosen, to report the default on: three tasks of the paper, tuning
                of real models, engineering formulas
    fresh       16 problems on which nothing is ever chosen: neither in a set above nor looked at when one was made
    rugged      12 functions with ridges, valleys and many local optima in 5 to 20 dimensions, to choose on beside
                the choosing set
    dimension   four families in 1, 2, 5, 10 and 20 dimensions, on which no setting was chosen
    numbers     choosing and reporting without their mixed problems
    mixed       those of the two that have categoricals

    highdim_choosing    15 problems in 16 to 1000 dimensions on which the default was chosen for many dimensions
    highdim_reporting   17 problems in 12 to 1000 dimensions on which no setting was chosen; Levy4_100 and Hartmann6_25
                        were looked at, on other seeds than are reported (docs/lab/dimension.md)
    highdim_20_200      those of the two with 20 to 200 dimensions

    constrained_choosing, constrained_reporting, pareto_choosing, pareto_reporting    several metrics (several.py)

No problem is in both sets of a pair. The tables of the paper (group paper) are of the paper preset, which was
not chosen on the choosing set; only tau was chosen by us, on four of the paper's tasks and seeds that no table uses.

Problems that need an optional library say so by MissingExtraError when they are made; the others work without it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from ccgbo.bench.problems import (
    bbob,
    engineering,
    gp_draw,
    lasso,
    mixed,
    mlp,
    policies,
    portfolio,
    robot,
    rover,
    shifted,
    simulations,
    synthetic,
    tables,
    tuning,
    uneven,
)
from ccgbo.bench.problems.base import Factory, Problem
from ccgbo.bench.problems.several import METRIC_GROUPS, METRIC_PROBLEMS, get_metric_problem, metric_problem_names
from ccgbo.errors import SettingError

_LAST_NUMBER = re.compile(r"\d+$")


def named_dimension(name: str) -> int:
    """The dimension that a problem's name ends with; 0 where it has none."""
    found = _LAST_NUMBER.search(name)
    return int(found.group()) if found else 0


_CHOOSING: dict[str, Factory] = {
    **{name: make for name, make in synthetic.PAPER.items() if name != "Rosenbrock2"},
    **synthetic.CHOOSING,
    **gp_draw.CHOOSING,
    **uneven.CHOOSING,
    **mixed.CHOOSING,
    **tuning.CHOOSING,
}
_REPORTING: dict[str, Factory] = {
    **robot.PAPER,
    **portfolio.PAPER,
    **mlp.PAPER,
    **tuning.REPORTING,
    **engineering.REPORTING,
}
_HIGHDIM_CHOOSING: dict[str, Factory] = {
    **{name: synthetic.EMBEDDED[name] for name in ("Levy4_25", "Hartmann6_100", "Levy4_300", "Hartmann6_1000")},
    **shifted.CHOOSING,
    **policies.CHOOSING,
    **rover.CHOOSING,
    **lasso.CHOOSING,
}
_HIGHDIM_REPORTING: dict[str, Factory] = {
    **{name: make for name, make in synthetic.EMBEDDED.items() if name not in _HIGHDIM_CHOOSING},
    **shifted.REPORTING,
    **policies.REPORTING,
    **rover.REPORTING,
    **lasso.REPORTING,
}
_MIXED = {**mixed.CHOOSING, **tuning.CHOOSING, **tuning.REPORTING}

GROUPS: Mapping[str, Mapping[str, Factory]] = MappingProxyType(
    {
        "paper": {**synthetic.PAPER, **mlp.PAPER, **robot.PAPER, **portfolio.PAPER},
        "embedded": synthetic.EMBEDDED,
        "choosing": _CHOOSING,
        "reporting": _REPORTING,
        "fresh": {**bbob.FRESH, **tables.FRESH, **simulations.FRESH},
        "rugged": bbob.RUGGED,
        "dimension": synthetic.DIMENSION,
        "numbers": {name: make for name, make in {**_CHOOSING, **_REPORTING}.items() if name not in _MIXED},
        "mixed": _MIXED,
        "highdim_choosing": _HIGHDIM_CHOOSING,
        "highdim_reporting": _HIGHDIM_REPORTING,
        "highdim_20_200": {
            name: make
            for name, make in {**_HIGHDIM_CHOOSING, **_HIGHDIM_REPORTING}.items()
            if 20 <= named_dimension(name) <= 200
        },
    }
)
PROBLEMS: Mapping[str, Factory] = MappingProxyType(
    {name: factory for group in GROUPS.values() for name, factory in group.items()}
)


def problem_names(group: str | None = None) -> tuple[str, ...]:
    """Names of every problem of one metric, or of those in one group, of several metrics too."""
    if group is None:
        return tuple(PROBLEMS)
    groups: Mapping[str, Mapping[str, object]] = {**GROUPS, **METRIC_GROUPS}
    if group not in groups:
        raise SettingError(f"group must be one of {list(groups)}, got {group!r}.")
    return tuple(groups[group])


def get_problem(name: str, seed: int = 0, *, noise_std: float | None = None) -> Problem:
    """The problem of that name; ``noise_std`` replaces the problem's own."""
    if name not in PROBLEMS:
        raise SettingError(f"name must be one of {list(PROBLEMS)}, got {name!r}.")
    if seed < 0:
        raise SettingError(f"seed must be >= 0, got {seed!r}.")
    problem = PROBLEMS[name](seed)
    return problem if noise_std is None else replace(problem, noise_std=noise_std)


__all__ = [
    "GROUPS",
    "METRIC_GROUPS",
    "METRIC_PROBLEMS",
    "PROBLEMS",
    "Factory",
    "Problem",
    "get_metric_problem",
    "get_problem",
    "metric_problem_names",
    "named_dimension",
    "problem_names",
]
