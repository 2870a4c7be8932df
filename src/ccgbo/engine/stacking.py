"""Several fits of one surrogate, mixed by how well each explains the observations (``surrogate="stacked"``).

    member    quadratic trend    extra noise of low values, ``FitSettings.relevance``
    1         as in the fit      none
    2         as in the fit      0.3
    3         none               none
    4         none               0.3

With a space that has categoricals there is no trend, and two are left. A member counts by its evidence, p(y) at its
hyperparameters; acquisitions are averaged over the members. Observations that are far below the best constrain the
members with relevance less: on narrow valleys these explain the values better, on bowls and slopes the others do.
What it gains and costs is in docs/lab/relevance.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ccgbo.engine.history import Data
from ccgbo.engine.scales import on_plain_scale
from ccgbo.engine.settings import Settings
from ccgbo.surrogate.distance import Choices
from ccgbo.surrogate.mixture import mixed_by_evidence

RELEVANCE = 0.3


@dataclass(frozen=True, slots=True)
class Stacked:
    """Members that one surrogate makes of as many settings; what is saved of them is one after the other."""

    surrogate: Any  # a Surrogate, see model.py

    def build(
        self,
        data: Data,
        choices: Choices,
        settings: Settings,
        last: Any = None,  # noqa: ARG002 - the members are factorised together, so that all see the same values
        state: Any = None,
        *,
        refit: bool | None = None,
    ) -> Any:
        members = _members(settings, choices)
        parts = None if state is None else _parts(state, members, data.F.shape[1])
        grown = parts is None or not state.is_of(data) or _has_grown(state, len(data.values), settings)
        again = parts is None or (grown if refit is None else refit)
        models = [
            self.surrogate.build(data, choices, member, None, part, refit=again)
            for member, part in zip(members, parts or [None] * len(members), strict=True)
        ]
        posterior = mixed_by_evidence([model.posterior for model in models])
        theta = tuple(np.concatenate([model.fit.theta for model in models]).tolist())
        fit = state if refit is None and not again else replace(models[0].fit, theta=theta)
        mean, std = posterior.at_observations()
        return replace(models[0], posterior=posterior, fit=fit, mean=mean, std=std, data=None)


def _members(settings: Settings, choices: Choices) -> list[Settings]:
    trends = [settings.fit.trend_prior, None]
    if choices or settings.fit.trend_prior is None:
        trends = [None]
    fits = [replace(settings.fit, trend_prior=trend, relevance=r) for trend in trends for r in (0.0, RELEVANCE)]
    return [replace(on_plain_scale(settings), fit=fit) for fit in fits]


def _has_grown(state: Any, n: int, settings: Settings) -> bool:
    return bool(n != state.n and n >= state.n * (1.0 + settings.tuning.refit_growth))


def _parts(state: Any, members: list[Settings], p: int) -> list[Any] | None:
    """The state of each member, or None where the state is of another surrogate."""
    sizes = [p + 2 + (member.fit.trend_prior is not None) for member in members]
    if sum(sizes) != len(state.theta):
        return None
    thetas = np.split(np.array(state.theta), np.cumsum(sizes)[:-1])
    return [replace(state, theta=tuple(theta.tolist())) for theta in thetas]
