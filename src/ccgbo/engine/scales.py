"""On which scale the values are modelled: as they are, or as logarithms of their gaps to the best (``"adaptive"``).

A function that spans orders of magnitude has hardly any good values, and on its own scale these are all one. On the
logarithm of the gap to the best they are told apart, and what is far off is drawn together. Whether that is so the
observations say: the scale is the one of most evidence, of the values as they were told,

    log p(y | theta) + sum_i log dy_i / dvalue_i

Scales are compared at every fit up to ``COMPARED`` observations; beyond, the last one stays. What it gains and costs is
in docs/lab/gaps.md.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from ccgbo.arrays import Array
from ccgbo.engine.settings import Settings
from ccgbo.surrogate.base import Posterior
from ccgbo.surrogate.gp.posterior import GP
from ccgbo.surrogate.mixture import log_evidence
from ccgbo.surrogate.outcome_transform import LOG_GAP, Outcome, log_jacobian

PLAIN: Final = "robust"
COMPARED = 500  # observations up to which scales are compared: each costs a fit
LEAST_D = 5  # numbers from which on there is a choice: with fewer it was no better


def on_plain_scale(settings: Settings) -> Settings:
    """The same settings where there is nothing to choose: no value is the best, or several models share one scale."""
    return replace(settings, outcome_transform=PLAIN) if settings.outcome_transform == "adaptive" else settings


def scale_of(settings: Settings, chosen: str | None = None) -> str:
    """The transform of a fit: that of the settings or, where they leave it open, the one that was chosen."""
    return settings.outcome_transform if settings.outcome_transform != "adaptive" else chosen or PLAIN


def scales_to_compare(settings: Settings, before: str | None, n: int, d: int, *, mixed: bool) -> tuple[str, ...]:
    """The transforms that a fit to ``n`` observations of ``d`` columns is made with, of which it keeps the likeliest.

    With categoricals there is one: there the logarithm was no better.
    """
    if settings.outcome_transform != "adaptive":
        return (settings.outcome_transform,)
    if mixed or d < LEAST_D or n > settings.tuning.max_points:
        return (PLAIN,)
    return (PLAIN, LOG_GAP) if n <= COMPARED else (scale_of(settings, before),)


def still_holds(scale: str, values: Array, n: int) -> bool:
    """Whether a transform of the first ``n`` values can be that of all: gaps are to the best of them.

    Beyond ``COMPARED`` a later best is one until the next fit, and lies on the linear part: nothing is factorised anew.
    """
    return scale != LOG_GAP or n > COMPARED or values[n:].max(initial=-np.inf) <= values[:n].max()


def evidence(posterior: Posterior, outcome: Outcome, values: Array) -> float:
    """log density of the values as they were told, up to a constant that all scales share."""
    assert isinstance(posterior, GP)
    return log_evidence(posterior) + log_jacobian(outcome, values)
