"""Methods that are told several metrics of a point: the optimizer, other libraries, random points.

    default            the optimizer as it comes
    default-credit     the same with credit, which is off where there are constraints or several objectives
    scalarized         random scalarisation in the place of hypervolume improvement (several objectives)
    optuna-gp, -tpe, -nsga2    Optuna's GPSampler, multivariate TPESampler and NSGAIISampler
    botorch-logei      constrained LogEI on a GP for each metric (one objective)
    botorch-nehvi      qLogNEHVI on a GP for each metric (several objectives)
    ax                 Ax with the method it chooses itself
    random             uniform points

Every objective is minimised and every constraint must be at most 0. Only BoTorch is told the reference point that
hypervolumes are measured from, because it asks for one; the others choose their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

from ccgbo.bench.baselines.base import Point, RandomSearch
from ccgbo.bench.peers import Peer
from ccgbo.bench.problems.base import box
from ccgbo.bench.problems.several import Task
from ccgbo.engine.optimizer import Optimizer
from ccgbo.engine.settings import Settings
from ccgbo.errors import SettingError
from ccgbo.metrics import AtMost
from ccgbo.records import Trial

EXAMPLES = {
    "constrained": Task(space=box(0.0, 1.0, 2), objectives=("f",), constraints=("c0",)),
    "pareto": Task(space=box(0.0, 1.0, 2), objectives=("f0", "f1"), constraints=()),
}
Values = Mapping[str, float]  # of every metric at a point
Measured = Sequence[tuple[Point, Values]]  # the initial design, evaluated


class MetricSearcher(Protocol):
    """A method in the middle of a run."""

    def ask(self) -> Point: ...
    def tell(self, point: Point, values: Values) -> None: ...


class MetricMethod(Protocol):
    """A method and its settings; ``make`` starts a run."""

    def make(self, task: Task, seed: int, initial: Measured) -> MetricSearcher: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomMetricMethod:
    """Uniform points."""

    def make(self, task: Task, seed: int, initial: Measured) -> RandomMetricSearch:
        del initial
        return RandomMetricSearch(task, seed)


class RandomMetricSearch:
    def __init__(self, task: Task, seed: int) -> None:
        self._points = RandomSearch(task.space, seed)

    def ask(self) -> Point:
        return self._points.ask()

    def tell(self, point: Point, values: Values) -> None:
        """Nothing is learned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerMethod:
    """The optimizer itself; ``changes`` are settings that differ from the default."""

    changes: Mapping[str, Any] = field(default_factory=dict)

    def make(self, task: Task, seed: int, initial: Measured) -> OptimizerSearch:
        optimizer = self.optimizer(task, seed=seed, n_initial=len(initial))
        for point, values in initial:
            optimizer.tell(point, values)
        return OptimizerSearch(optimizer)

    def optimizer(self, task: Task, **options: Any) -> Optimizer:
        return Optimizer(
            task.space,
            objectives=dict.fromkeys(task.objectives, "minimize"),
            outcome_constraints=dict.fromkeys(task.constraints, AtMost(0.0)),
            **self.changes,
            **options,
        )

    def settings_for(self, kind: str) -> Settings:
        """The settings in force in an experiment of a kind."""
        return self.optimizer(EXAMPLES[kind]).settings


class OptimizerSearch:
    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        self._asked: Trial | None = None

    def ask(self) -> Point:
        self._asked = self.optimizer.ask()
        return self._asked.params

    def tell(self, point: Point, values: Values) -> None:
        self.optimizer.tell(point if self._asked is None else self._asked, values)
        self._asked = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricPeer:
    """A library's optimizer: a class of ``ccgbo.bench.peers`` that is made of a task and a seed, with options."""

    peer: Peer

    def make(self, task: Task, seed: int, initial: Measured) -> MetricSearcher:
        searcher: MetricSearcher = self.peer.load()(task, seed, **self.peer.options)
        for point, values in initial:
            searcher.tell(point, values)
        return searcher


def _peer(library: str, name: str, **options: Any) -> MetricPeer:
    return MetricPeer(peer=Peer(module=f"{library}_metrics", name=name, options=options))


METRIC_PEERS: Mapping[str, MetricPeer] = MappingProxyType(
    {
        "optuna-gp": _peer("optuna", "OptunaMetricSearch", sampler="gp"),
        "optuna-tpe": _peer("optuna", "OptunaMetricSearch", sampler="tpe"),
        "optuna-nsga2": _peer("optuna", "OptunaMetricSearch", sampler="nsga2"),
        "botorch-logei": _peer("botorch", "ConstrainedLogEISearch"),
        "botorch-nehvi": _peer("botorch", "HypervolumeSearch"),
        "ax": _peer("ax", "AxMetricSearch"),
    }
)
METRIC_METHODS: Mapping[str, MetricMethod] = MappingProxyType(
    {
        "default": OptimizerMethod(),
        "default-credit": OptimizerMethod(changes={"credit": True}),
        "scalarized": OptimizerMethod(changes={"acquisition": "scalarized"}),
        **METRIC_PEERS,
        "random": RandomMetricMethod(),
    }
)


def get_metric_method(name: str, **options: Any) -> MetricMethod:
    """The method of that name; none has options."""
    if name not in METRIC_METHODS:
        raise SettingError(f"method must be one of {list(METRIC_METHODS)}, got {name!r}.")
    if options:
        raise SettingError(f"the method {name!r} has no option {next(iter(options))!r}.")
    return METRIC_METHODS[name]
