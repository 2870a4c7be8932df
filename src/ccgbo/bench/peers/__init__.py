"""Other libraries behind the face of a method, so that one runner measures them all.

    optuna-gp, optuna-tpe         Optuna's GPSampler and multivariate TPESampler
    botorch-logei, botorch-ucb    SingleTaskGP with LogEI, or with UCB of 2.576 standard deviations
    botorch-vanilla               the first with starts around the best points too, for many dimensions
    bayes-opt                     bayesian-optimization with its UCB of kappa 2.576
    ax                            Ax with the method it chooses itself
    turbo1                        TuRBO-1, written from the paper on GPyTorch
    cmaes                         CMA-ES
    vizier, hebo, smac, saasbo    Google Vizier, HEBO, SMAC3, SAASBO: each in its own environment (environments.py)

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
from ccgbo.bench.peers import environments
from ccgbo.errors import MissingExtraError
from ccgbo.space import Space


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A library's optimizer: a class of a module here that is made of a space and a seed, with options."""

    module: str
    name: str  # of the class
    options: Mapping[str, Any] = field(default_factory=dict)
    environment: str | None = None  # of its own, where it has one

    def load(self) -> Callable[..., Any]:
        """The class; says which extra or environment is missing."""
        if self.environment is not None:
            environments.interpreter(self.environment)
        with warnings.catch_warnings():  # what a library deprecates in another is not ours to say
            warnings.simplefilter("ignore")
            try:
                module = importlib.import_module(f"{__name__}.{self.module}")
            except ImportError as error:
                raise MissingExtraError(f"the peer {self.module}", "peers") from error
        found: Callable[..., Any] = getattr(module, self.name)
        return found

    def make(self, space: Space, seed: int, initial: Initial) -> Searcher:
        searcher: Searcher = self.load()(space, seed, **self.options)
        for point, value in initial:
            searcher.tell(point, value)
        return searcher


def _remote(name: str) -> Peer:
    return Peer(module="remote", name="RemoteSearch", options={"peer": name}, environment=name)


PEERS: Mapping[str, Peer] = MappingProxyType(
    {
        "optuna-gp": Peer(module="optuna", name="OptunaSearch", options={"sampler": "gp"}),
        "optuna-tpe": Peer(module="optuna", name="OptunaSearch", options={"sampler": "tpe"}),
        "botorch-logei": Peer(module="botorch", name="BoTorchSearch", options={"acquisition": "logei"}),
        "botorch-ucb": Peer(module="botorch", name="BoTorchSearch", options={"acquisition": "ucb"}),
        "botorch-vanilla": Peer(
            module="botorch", name="BoTorchSearch", options={"acquisition": "logei", "around_best": True}
        ),
        "bayes-opt": Peer(module="bayes_opt", name="BayesOptSearch"),
        "ax": Peer(module="ax", name="AxSearch"),
        "turbo1": Peer(module="turbo", name="TurboSearch"),
        "cmaes": Peer(module="cmaes", name="CmaesSearch"),
        **{name: _remote(name) for name in ("vizier", "hebo", "smac", "saasbo")},
    }
)

__all__ = ["PEERS", "Peer"]
