"""What every compared method is: it is shown the same initial points, then asked and told one point at a time.

    Method.make(space, seed, initial)   a fresh Searcher
    Searcher.ask() / .tell(point, y)    the loop; everything is maximised

All model-based methods are the optimizer itself, with one part of its step replaced: settings (``EngineMethod``),
or an acquisition or a surrogate of their own, which may look at the initial design (``VariantMethod``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from ccgbo.acquisition import UCB, BoundAcquisition
from ccgbo.arrays import Array
from ccgbo.engine.optimizer import Optimizer
from ccgbo.engine.settings import PAPER, Settings
from ccgbo.errors import SettingError
from ccgbo.records import Trial
from ccgbo.space import Space
from ccgbo.surrogate.base import Posterior
from ccgbo.surrogate.gp.posterior import GP

Point = Mapping[str, Any]
Initial = Sequence[tuple[Point, float]]  # the initial design, evaluated


class Searcher(Protocol):
    """A method in the middle of a run."""

    def ask(self) -> Point: ...
    def tell(self, point: Point, value: float) -> None: ...


class Method(Protocol):
    """A method and its settings; ``make`` starts a run."""

    def make(self, space: Space, seed: int, initial: Initial) -> Searcher: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomMethod:
    """Uniform points."""

    def make(self, space: Space, seed: int, initial: Initial) -> RandomSearch:
        del initial
        return RandomSearch(space, seed)


class RandomSearch:
    def __init__(self, space: Space, seed: int) -> None:
        self._space, self._rng = space, np.random.default_rng(seed)

    def ask(self) -> Point:
        return self._space.decode(self._space.sample(1, self._rng)[0])

    def tell(self, point: Point, value: float) -> None:
        """Nothing is learned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineMethod:
    """The optimizer itself with given settings: GP-UCB without credit, CCGBO with it, on any acquisition."""

    settings: Settings = PAPER
    changes: Mapping[str, Any] = field(default_factory=dict)  # of them, after they were adapted to the space

    def make(self, space: Space, seed: int, initial: Initial) -> EngineSearch:
        return EngineSearch.after(initial, space, seed, self.settings, **self.changes)


class EngineSearch:
    """An optimizer as a searcher."""

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        self._asked: Trial | None = None

    @classmethod
    def after(cls, initial: Initial, space: Space, seed: int, settings: Settings, **changes: Any) -> EngineSearch:
        """One that was told the initial design."""
        optimizer = Optimizer(space, preset=settings, seed=seed, n_initial=len(initial), **changes)
        optimizer.tell_many([point for point, _ in initial], [value for _, value in initial])
        return cls(optimizer)

    def ask(self) -> Point:
        self._asked = self.optimizer.ask()
        return self._asked.params

    def tell(self, point: Point, value: float) -> None:
        self.optimizer.tell(point if self._asked is None else self._asked, value)
        self._asked = None


Variant = Callable[..., Mapping[str, Any]]  # (space, initial, beta, **options) -> settings of the optimizer


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantMethod:
    """The optimizer without credit, with what a baseline replaces of its step."""

    variant: Variant
    settings: Settings = PAPER
    options: Mapping[str, Any] = field(default_factory=dict)

    def make(self, space: Space, seed: int, initial: Initial) -> EngineSearch:
        acquisition = self.settings.acquisition
        beta = acquisition.beta if isinstance(acquisition, UCB) else UCB().beta
        changes = self.variant(space, initial, beta, **self.options)
        settings = replace(self.settings, **{"acquisition": UCB(beta=beta), **changes})
        return EngineSearch.after(initial, space, seed, settings)


def gaussian(posterior: Posterior) -> GP:
    """The posterior, which must be of the Gaussian process that a baseline is defined on."""
    if not isinstance(posterior, GP):
        raise SettingError(f"the baseline needs surrogate='gp', got a {type(posterior).__name__}.")
    return posterior


def upper_bound(predict: Callable[[Array], tuple[Array, Array]], beta: float) -> BoundAcquisition:
    """mean + beta std of any posterior that predicts both."""

    def bound(x: Array) -> Array:
        mean, std = predict(x)
        return mean + beta * std

    return bound
