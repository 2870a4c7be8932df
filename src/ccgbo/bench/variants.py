"""Settings of the optimizer that the quality experiments compare, by name: the default, and what it was chosen among.

Each differs from the default in one thing.

    default-nocredit      credit is switched off, so that the middle goes by posterior mean
    no-middle             without the middle of good points (engine/recombination.py)
    no-middle-nocredit    with all use of credit removed
    plain, plain-...      values on their own scale, never the logarithm of gaps (engine/scales.py); after the hyphen
                          as here
    wide-prior            with the prior of Hvarfner et al. on the lengthscales, for more than 20 parameters
    turbo-box             searches the same surrogate with TuRBO's trust region (turbo_box.py)
    greedy, greedy-jes    UCB with beta 0.5 at every suggestion, as beyond 20 parameters, or in the place of LogEI
    gp-...                acquisitions of our own; they have the middle beyond 20 parameters only
    start-...             makes its own initial design of that size
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, get_args

from ccgbo.acquisition import UCB, LogEI
from ccgbo.bench.baselines.base import EngineMethod, EngineSearch, Initial, Method, Searcher
from ccgbo.bench.credited import CreditedBy, Source
from ccgbo.bench.turbo_box import TurboBox
from ccgbo.credit.field import CreditSettings
from ccgbo.engine.optimizer import Optimizer
from ccgbo.engine.settings import DEFAULT, PAPER, Settings, resolve
from ccgbo.space import Space
from ccgbo.surrogate.gp.priors import HVARFNER, NormalOnLog, NormalOnLogLengthscales


def _changed(preset: str | Settings = DEFAULT, **changes: Any) -> Callable[[], Method]:
    """The optimizer without the middle of good points where there are up to 20 parameters, and with these changes."""
    return lambda: EngineMethod(settings=resolve(preset, **changes), changes={"tuning": _AS_THE_MODEL_SAYS})


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnDesign:
    """The default with an initial design of its own, of max(each d + more, least) points."""

    each: int = 0
    more: int = 0
    least: int = 1
    settings: Settings = DEFAULT

    def make(self, space: Space, seed: int, initial: Initial) -> Searcher:
        del initial
        size = max(self.each * space.d + self.more, self.least)
        changes: dict[str, Any] = {"n_initial": size, "tuning": _AS_THE_MODEL_SAYS}
        return EngineSearch(Optimizer(space, preset=self.settings, seed=seed, **changes))


def _credited(source: Source, **options: Any) -> Callable[[], Method]:
    """The default's surrogate and search with credit from another source, on Thompson sampling unless another base."""
    return _changed(_PLAIN, acquisition=CreditedBy(source=source, **options))


def _papers(source: Source) -> Callable[[], Method]:
    """The paper's preset with credit from another source."""
    return _changed(_NO_CREDIT, acquisition=CreditedBy(source=source, base=UCB(beta=2.576), credit=PAPER.credit))


_AS_THE_MODEL_SAYS = {"recombine_stalled": None}
_NO_MIDDLE = {"recombine_every": None, "recombine_stalled": None}
_MODERATE: dict[str, Any] = {"base": UCB(beta=2.576), "credit": CreditSettings(strength=0.5, tau=5.0)}
_PLAIN = replace(DEFAULT, credit=replace(DEFAULT.credit, strength=0.0))  # the same surrogate and search
_NO_CREDIT = replace(PAPER, credit=replace(PAPER.credit, strength=0.0))
_BEFORE = replace(DEFAULT, outcome_transform="robust")
_BEFORE_PLAIN = replace(_PLAIN, outcome_transform="robust")
_TURNS: Any = DEFAULT.acquisition
_GREEDY_TURNS = replace(_TURNS, exploit=UCB(beta=0.5))
_DRAWS = {"hyper_samples": 6}
_WIDE = {"lengthscale_prior": HVARFNER}

VARIANTS: Mapping[str, Callable[[], Method]] = MappingProxyType(
    {
        "default": lambda: EngineMethod(settings=resolve(DEFAULT)),
        "default-nocredit": lambda: EngineMethod(settings=resolve(_PLAIN)),
        "no-middle": lambda: EngineMethod(settings=resolve(DEFAULT), changes={"tuning": _NO_MIDDLE}),
        "no-middle-nocredit": lambda: EngineMethod(settings=resolve(_PLAIN), changes={"tuning": _NO_MIDDLE}),
        "plain": lambda: EngineMethod(settings=resolve(_BEFORE)),
        "plain-nocredit": lambda: EngineMethod(settings=resolve(_BEFORE_PLAIN)),
        "plain-no-middle": lambda: EngineMethod(settings=resolve(_BEFORE), changes={"tuning": _NO_MIDDLE}),
        "plain-no-middle-nocredit": lambda: EngineMethod(
            settings=resolve(_BEFORE_PLAIN), changes={"tuning": _NO_MIDDLE}
        ),
        "plain-logei": _changed(_BEFORE_PLAIN, acquisition=LogEI()),
        "plain-wide-prior": lambda: EngineMethod(settings=resolve(_BEFORE), changes={"fit": _WIDE}),
        "wide-prior": lambda: EngineMethod(settings=resolve(DEFAULT), changes={"fit": _WIDE}),
        "greedy": lambda: EngineMethod(settings=resolve(_PLAIN, acquisition=UCB(beta=0.5))),
        "greedy-jes": lambda: EngineMethod(settings=resolve(DEFAULT, acquisition=_GREEDY_TURNS)),
        "paper": _changed("paper"),
        "gp-logei": _changed(_PLAIN, acquisition=LogEI()),
        "gp-ucb": _changed(_PLAIN, acquisition=UCB(beta=2.576)),
        "gp-ucb-credit": _changed(acquisition=UCB(beta=2.576)),
        "gp-ts": _changed(_PLAIN, acquisition="ts"),
        "gp-ts-credit": _changed(acquisition="ts"),
        "gp-jes": _changed(_PLAIN, acquisition="jes"),
        "gp-jes-credit": _changed(acquisition="jes"),
        **{f"ts-{source}": _credited(source) for source in get_args(Source)},
        **{f"ucb-{source}": _credited(source, **_MODERATE) for source in get_args(Source)},
        "paper-nocredit": _changed(_NO_CREDIT),
        **{f"paper-{source}": _papers(source) for source in get_args(Source)},
        "stacked": _changed(surrogate="stacked"),
        "stacked-logei": _changed(_PLAIN, acquisition=LogEI(), surrogate="stacked"),
        "draws": _changed(fit=_DRAWS),
        "draws-nocredit": _changed(_PLAIN, fit=_DRAWS),
        "draws-logei": _changed(_PLAIN, acquisition=LogEI(), fit=_DRAWS),
        "draws-logei-credited": _changed(acquisition=replace(_TURNS, period=None), fit=_DRAWS),
        "exact": _changed(noise="none"),
        "exact-logei": _changed(_PLAIN, acquisition=LogEI(), noise="none"),
        "unscaled-field": _changed(credit={"field": "knn"}),
        "explore-ucb": _changed(acquisition=replace(_TURNS, explore=UCB(beta=2.576))),
        "no-trend": _changed(fit={"trend_prior": None}),
        "tight-prior": _changed(fit={"lengthscale_prior": NormalOnLogLengthscales(trend_sd=0.3)}),
        "more-noise": _changed(fit={"noise_prior": NormalOnLog(mean=-4.0, sd=1.5)}),
        "wider-noise": _changed(fit={"noise_prior": NormalOnLog(mean=-4.0, sd=3.0)}),
        "turbo-box": lambda: TurboBox(settings=_PLAIN),
        "start-5": lambda: OwnDesign(least=5),
        "start-d+1": lambda: OwnDesign(each=1, more=1, least=5),
        "start-2d": lambda: OwnDesign(each=2, least=10),
        "start-4d": lambda: OwnDesign(each=4, least=20),
    }
)

__all__ = ["VARIANTS", "OwnDesign"]
