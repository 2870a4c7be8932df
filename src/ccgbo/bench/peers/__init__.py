"""Other libraries behind the face of a method, so that one runner measures them all.

    optuna-gp, optuna-tpe         Optuna's GPSampler and multivariate TPESampler
    botorch-logei, botorch-ucb    SingleTaskGP with LogEI, or with UCB of 2.576 standard deviations
    bayes-opt                     bayesian-optimization with its UCB of kappa 2.576
    ax                            Ax with the method it chooses itself

Each module here needs its own library and is imported when a run starts, not before. Peers without mixed spaces search
the unit cube and are evaluated at the nearest point of the space.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ccgbo.bench.baselines import Searcher
from ccgbo.bench.baselines.base import Initial
from ccgbo.errors import MissingExtraError
from ccgbo.space import Space


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A library's optimizer: a class of a module here that is made of a space and a seed, with options."""

    module: str
    name: str  # of the class
    options: Mapping[str, Any] = field(default_factory=dict)

    def load(self) -> Callable[..., Searcher]:
        """The class; says which extra is missing."""
        with warnings.catch_warnings():  # what a library deprecates in another is not ours to say
            warnings.simplefilter("ignore")
            try:
                module = importlib.import_module(f"{__name__}.{self.module}")
            except ImportError as error:
                raise MissingExtraError(f"the peer {self.module}", "peers") from error
        found: Callable[..., Searcher] = getattr(module, self.name)
        return found

    def make(self, space: Space, seed: int, initial: Initial) -> Searcher:
        searcher = self.load()(space, seed, **self.options)
        for point, value in initial:
            searcher.tell(point, value)
        return searcher


PEERS: Mapping[str, Peer] = MappingProxyType(
    {
        "optuna-gp": Peer(module="optuna", name="OptunaSearch", options={"sampler": "gp"}),
        "optuna-tpe": Peer(module="optuna", name="OptunaSearch", options={"sampler": "tpe"}),
        "botorch-logei": Peer(module="botorch", name="BoTorchSearch", options={"acquisition": "logei"}),
        "botorch-ucb": Peer(module="botorch", name="BoTorchSearch", options={"acquisition": "ucb"}),
        "bayes-opt": Peer(module="bayes_opt", name="BayesOptSearch"),
        "ax": Peer(module="ax", name="AxSearch"),
    }
)

__all__ = ["PEERS", "Peer"]
