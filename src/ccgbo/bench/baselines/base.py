"""What every compared method is: it is shown the same initial points, then asked and told one point at a time.

    Method.make(space, seed, initial)   a fresh Searcher
    Searcher.ask() / .tell(point, y)    the loop; everything is maximised

All GP methods share the engine's surrogate, candidate set and loop. Those the optimizer already offers are an
``EngineMethod``; the others derive from ``SurrogateLoop`` and replace one of its steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ccgbo.acquisition import UCB, Context, Score
from ccgbo.history import History, outcome_of
from ccgbo.model import Model, build_model
from ccgbo.optimizer import Optimizer
from ccgbo.presets import PAPER, Settings
from ccgbo.records import Trial
from ccgbo.search import Taken, maximise, scatter
from ccgbo.space import Space
from ccgbo.threads import blas_threads

Array = NDArray[np.float64]
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

    def make(self, space: Space, seed: int, initial: Initial) -> EngineSearch:
        return EngineSearch(space, seed, initial, self.settings)


class EngineSearch:
    def __init__(self, space: Space, seed: int, initial: Initial, settings: Settings) -> None:
        self.optimizer = Optimizer(space, preset=settings, seed=seed, n_initial=len(initial))
        self.optimizer.tell_many([point for point, _ in initial], [value for _, value in initial])
        self._asked: Trial | None = None

    def ask(self) -> Point:
        self._asked = self.optimizer.ask()
        return self._asked.params

    def tell(self, point: Point, value: float) -> None:
        self.optimizer.tell(point if self._asked is None else self._asked, value)
        self._asked = None


class SurrogateLoop:
    """GP-UCB with the surrogate, candidates and order of steps of ``Optimizer``.

    A baseline replaces ``model`` (how the posterior is made) or ``score`` (what is maximised); unchanged, the loop
    asks for the same points as the optimizer without credit, bit for bit.
    """

    def __init__(self, space: Space, seed: int, initial: Initial, settings: Settings) -> None:
        self.space, self.settings = space, settings
        self.rng = np.random.default_rng(seed)
        self.rng.integers(2**62)  # the optimizer draws the seed of its initial design here
        self.history = History(space, "maximize")
        self.n_initial = len(initial)
        self._last: Model | None = None
        for point, value in initial:
            self.tell(point, value)

    @property
    def t(self) -> int:
        """Iterations since the initial design."""
        return len(self.history.told) - self.n_initial

    @property
    def beta(self) -> float:
        acquisition = self.settings.acquisition
        return acquisition.beta if isinstance(acquisition, UCB) else UCB().beta

    def ask(self) -> Point:
        with blas_threads(1):
            model = self.model()
            U = scatter(self.space, self.settings.search, self.rng)
            candidates = self.space.features(U)
            score = self.score(model, candidates)
            taken, scale = Taken(self.history.features("complete"), self.space), model.gp.hyper.lengthscales
            search = self.settings.search
            u = maximise(score, self.space, U, score(candidates), search, taken, scale=scale, rng=self.rng)
        return self.space.decode(u)

    def tell(self, point: Point, value: float) -> None:
        trial = self.history.add(self.space.encode(point), "told", params=point)
        self.history.finish(trial, outcome_of(value, failed=False, noise_variance=None, error=None))

    def model(self) -> Model:
        """The posterior of all observations, refitted where the settings say so."""
        s, last = self.settings, self._last
        fitted = None if last is None else last.fitted
        self._last = build_model(self.history.data(), self.space.groups, s.fit, s.outcome, last, fitted)
        return self._last

    def score(self, model: Model, candidates: Array) -> Score:  # noqa: ARG002 - baselines look at the candidates
        """GP-UCB."""
        context = Context(model.gp, float(model.gp.at_observations()[0].max()), None, self.rng)
        return UCB(beta=self.beta).bind(context)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopMethod:
    """A ``SurrogateLoop`` with its options."""

    loop: Callable[..., SurrogateLoop]
    settings: Settings = PAPER
    options: Mapping[str, Any] = field(default_factory=dict)

    def make(self, space: Space, seed: int, initial: Initial) -> SurrogateLoop:
        return self.loop(space, seed, initial, self.settings, **self.options)


def upper_bound(predict: Callable[[Array], tuple[Array, Array]], beta: float) -> Score:
    """mean + beta std of any posterior that predicts both."""

    def score(x: Array) -> Array:
        mean, std = predict(x)
        return mean + beta * std

    return score
