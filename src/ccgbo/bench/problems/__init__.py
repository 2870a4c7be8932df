"""Benchmark problems: what to maximise, where, and how good the best is.

    get_problem("Hartmann6")            the problem
    get_problem("Robot4", seed=3)       problems drawn per seed: Robot4 (its goal) and GPDraw4
    problem_names("paper")              names, all or one group's

    group       what for
    paper       the low-dimensional tasks of the paper, with noise of standard deviation 0.1
    embedded    four and six dimensions that matter among 25 to 1000, without noise
    choosing    for choosing defaults; kept apart from what is reported
    dimension   four families in 1, 2, 5, 10 and 20 dimensions, to see what the dimension does
    reporting   further problems to report on: real model tuning and engineering formulas, without noise

Problems that need an optional library say so by MissingExtraError when they are made; the others work without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from ccgbo.bench.problems import engineering, gp_draw, mixed, mlp, portfolio, robot, synthetic, tuning, uneven
from ccgbo.bench.problems.base import Factory, Problem
from ccgbo.errors import SettingError

GROUPS: Mapping[str, Mapping[str, Factory]] = MappingProxyType(
    {
        "paper": {**synthetic.PAPER, **mlp.PAPER, **robot.PAPER, **portfolio.PAPER},
        "embedded": synthetic.EMBEDDED,
        "choosing": {
            **synthetic.CHOOSING,
            **gp_draw.CHOOSING,
            **uneven.CHOOSING,
            **mixed.CHOOSING,
            **tuning.CHOOSING,
        },
        "dimension": synthetic.DIMENSION,
        "reporting": {**engineering.REPORTING, **tuning.REPORTING},
    }
)
PROBLEMS: Mapping[str, Factory] = MappingProxyType(
    {name: factory for group in GROUPS.values() for name, factory in group.items()}
)


def problem_names(group: str | None = None) -> tuple[str, ...]:
    """Names of every problem, or of those in one group."""
    if group is None:
        return tuple(PROBLEMS)
    if group not in GROUPS:
        raise SettingError(f"group must be one of {list(GROUPS)}, got {group!r}.")
    return tuple(GROUPS[group])


def get_problem(name: str, seed: int = 0, *, noise_std: float | None = None) -> Problem:
    """The problem of that name; ``noise_std`` replaces the problem's own."""
    if name not in PROBLEMS:
        raise SettingError(f"name must be one of {list(PROBLEMS)}, got {name!r}.")
    if seed < 0:
        raise SettingError(f"seed must be >= 0, got {seed!r}.")
    problem = PROBLEMS[name](seed)
    return problem if noise_std is None else replace(problem, noise_std=noise_std)


__all__ = ["GROUPS", "PROBLEMS", "Factory", "Problem", "get_problem", "problem_names"]
