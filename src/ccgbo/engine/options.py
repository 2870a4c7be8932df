"""The keywords of the entry points, with their types, for help, completion and messages.

    def __init__(self, space, *, seed=None, **settings: Unpack[SettingsOptions]) -> None:
        check_keywords(settings, type(self).__init__, SettingsOptions)

A setting that is left out, or None, is the preset's.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypedDict

from ccgbo.acquisition import Acquisition, Schedule
from ccgbo.credit.field import CreditSettings
from ccgbo.engine.settings import Settings, resolve
from ccgbo.errors import UnsupportedError
from ccgbo.keywords import unknown_keyword
from ccgbo.metrics import Between, Direction, Metrics
from ccgbo.surrogate.gp.fit import FitSettings
from ccgbo.tuning import EngineTuning
from ccgbo.validation import shown


class SettingsOptions(TypedDict, total=False):
    """Every field of ``Settings`` as a keyword."""

    n_initial: int | None
    """Evaluations of the initial design; the presets have max(2 d, 10) for d parameters, the default at most 40."""
    design: Literal["sobol", "lhs", "random"] | None
    """How the initial design fills the space: a Sobol sequence, a Latin hypercube or uniform draws."""
    outcome_transform: Literal["adaptive", "robust", "standardize"] | None
    """How values are transformed for the model: to mean 0 and variance 1, "robust" with the tails drawn in, "adaptive"
    that or the logarithm of their gap to the best."""
    surrogate: Any
    """The model of the objective: "gp", "stacked" (several fits of it), "forest" (needs scikit-learn), or an object
    that builds its own posterior."""
    fit: FitSettings | Mapping[str, Any] | None
    """How the surrogate is fitted; a mapping changes single fields of the preset's."""
    acquisition: str | Acquisition | Schedule | None
    """What a suggestion maximises: an object or a schedule of them, or "ucb", "ei", "logei", "ts", "mes", "jes" or
    "alternate"; of several objectives "ehvi" or "scalarized"."""
    credit: CreditSettings | Mapping[str, Any] | bool | None
    """How credit weighs the acquisition; a mapping changes single fields of the preset's, False switches it off."""
    pending: Literal["fantasy", "kriging_believer"] | None
    """What to expect of points under evaluation: a joint posterior sample ("fantasy"), or the posterior mean
    ("kriging_believer")."""
    allow_repeats: bool | None
    """Whether an evaluated point may be suggested again, for noisy objectives on a grid."""
    noise: Literal["unknown", "none"] | float | None
    """What is known of the noise of an evaluation: nothing ("unknown": it is learned), that there is none ("none"), or
    its standard deviation, a number in the units of the values."""
    prior_strength: float | None
    """Weight of a user's prior over the optimum, which fades with the iterations."""
    adapt: bool | None
    """Whether what is left as it is becomes what suits more than 20 parameters."""
    tuning: EngineTuning | Mapping[str, Any] | None
    """Numerical tuning, which nobody needs to touch; a mapping changes single fields of the preset's."""


class OptimizerOptions(SettingsOptions, total=False):
    """Those, and what else makes an ``Optimizer`` of a space, a direction and a seed."""

    preset: str | Settings
    """Settings to start from: "default", "paper" or a ``Settings``."""
    objective: str | None
    """The name of the objective, where metrics are told by their names."""
    objectives: Mapping[str, Direction] | None
    """Several objectives by name: ``{"yield": "maximize", "cost": "minimize"}``."""
    outcome_constraints: Mapping[str, Between] | None
    """Bounds of what is measured: ``{"impurity": AtMost(0.02), "ph": Between(6.5, 7.5)}``."""
    constraint: Any
    """What a point must satisfy: a predicate of the params, a ``LinearConstraint``, or a list of them."""
    constraints: Sequence[Any] | None
    """Several of those; the same as a list for ``constraint``."""
    prior: Any
    """A belief about the optimum: distributions by parameter, or a density of the params."""
    threads: int | None
    """Threads of BLAS while suggesting; None leaves them alone."""


def keywords_of(entry: Callable[..., Any], options: type) -> list[str]:
    """Every keyword that ``entry`` takes: its own, and those of the TypedDict behind its ``**settings``."""
    own = [p.name for p in inspect.signature(entry).parameters.values() if p.kind is not p.VAR_KEYWORD]
    return sorted({*own, *options.__annotations__} - {"self"})


def check_keywords(given: Iterable[str], entry: Callable[..., Any], options: type) -> None:
    """Refuse a keyword that ``entry`` does not have, with the list of those that it has."""
    for name in given:
        if name not in options.__annotations__:
            raise unknown_keyword(name, keywords_of(entry, options))


def check_options(given: Mapping[str, Any], entry: Callable[..., Any]) -> None:
    """Refuse wrong options now, for an adapter that makes its optimizer later."""
    check_keywords(given, entry, OptimizerOptions)
    resolve(given.get("preset"), **{name: value for name, value in given.items() if name in Settings.__slots__})


def goal_options(metrics: Metrics) -> dict[str, Any]:
    """Metrics as the keywords of ``Optimizer`` that say them."""
    if metrics.plain:
        return {"direction": metrics.direction}
    return {"objectives": metrics.objectives, "outcome_constraints": metrics.constraints}


def refuse_goals(given: Mapping[str, Any], instead: str) -> None:
    """Refuse the options that say what is sought, for an adapter whose framework says it."""
    for name in ("objective", "objectives", "outcome_constraints"):
        if given.get(name) is not None:
            raise UnsupportedError(f"{name} must be left out here: {instead}, got {name}={shown(given[name])}.")
