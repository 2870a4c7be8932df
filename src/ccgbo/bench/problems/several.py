"""Problems with measured constraints or several objectives, as ``botorch.test_functions`` defines them but for two.

    get_metric_problem("WeldedBeam4")        the problem
    metric_problem_names("pareto_choosing")  names, all or one group's

    constrained_choosing    one objective with measured constraints, on which the preset may be chosen
    constrained_reporting   others, on which no setting is chosen
    pareto_choosing         two to four objectives, some with constraints, on which the preset may be chosen
    pareto_reporting        others, on which no setting is chosen

A name ends in the number of parameters, and of objectives where there are several. BoTorch's own objects are evaluated
in double precision and without noise. Every objective is minimised, and a constraint is minus BoTorch's slack, so that
a point is feasible where every constraint is at most 0. Reference points are BoTorch's. Its optima and its largest
hypervolumes are partly approximate and partly missing; ``best_metrics.json`` has what ``python
benchmarks/best_metrics.py`` found, and the better of the two counts. FourBarTruss and RocketInjector, smooth designs of
which BoTorch has few, are those of designs.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any

import numpy as np

from ccgbo.arrays import Array
from ccgbo.bench.problems.base import Rows, need, row_of
from ccgbo.bench.problems.designs import DESIGNS, Design
from ccgbo.errors import SettingError
from ccgbo.space import Float, Space


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a method is told of a problem."""

    space: Space
    objectives: tuple[str, ...]  # minimised
    constraints: tuple[str, ...]  # feasible where every one is at most 0
    reference: tuple[float, ...] = ()  # point that hypervolumes are measured from, if there are several objectives

    @property
    def metrics(self) -> tuple[str, ...]:
        return (*self.objectives, *self.constraints)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MetricProblem:
    """Objectives to minimise where the constraints allow it."""

    name: str
    task: Task
    function: Rows  # (n, d) own units -> (n, metrics), the objectives first
    best: float  # least feasible value, or the largest hypervolume if there are several objectives
    worst: float  # largest feasible value, which counts before a point is feasible; hypervolume 0

    @property
    def space(self) -> Space:
        return self.task.space

    def __call__(self, params: Mapping[str, Any]) -> dict[str, float]:
        """Every metric at a point; refuses a point outside the space."""
        self.space.encode(params)
        values = self.values(row_of(self.space, params)[None, :])[0]
        return dict(zip(self.task.metrics, map(float, values), strict=True))

    def values(self, X: Array) -> Array:  # (n, d) own units -> (n, metrics)
        return self.function(np.asarray(X, dtype=np.float64))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """A class of ``botorch.test_functions`` and what it is made with."""

    module: str
    cls: str
    options: Mapping[str, Any]

    def make(self, name: str) -> Any:
        return getattr(need(name, f"botorch.test_functions.{self.module}", extra="botorch"), self.cls)(**self.options)


def _one(cls: str, **options: Any) -> _Source:
    return _Source(module="synthetic", cls=cls, options=options)


def _many(cls: str, **options: Any) -> _Source:
    return _Source(module="multi_objective", cls=cls, options=options)


METRIC_GROUPS: Mapping[str, Mapping[str, _Source | Design]] = MappingProxyType(
    {
        "constrained_choosing": {
            "Gramacy2": _one("ConstrainedGramacy"),
            "TensionCompression3": _one("TensionCompressionString"),
            "WeldedBeam4": _one("WeldedBeamSO"),
        },
        "constrained_reporting": {
            "ConstrainedHartmann6": _one("ConstrainedHartmann", dim=6),
            "PressureVessel4": _one("PressureVessel"),
            "SpeedReducer7": _one("SpeedReducer"),
        },
        "pareto_choosing": {
            "ZDT1_6x2": _many("ZDT1", dim=6),
            "ZDT2_6x2": _many("ZDT2", dim=6),
            "DTLZ2_6x2": _many("DTLZ2", dim=6, num_objectives=2),
            "C2DTLZ2_4x2": _many("C2DTLZ2", dim=4, num_objectives=2),
            "CarSideImpact7x4": _many("CarSideImpact"),
            "DTLZ5_6x3": _many("DTLZ5", dim=6, num_objectives=3),
            "DTLZ7_6x3": _many("DTLZ7", dim=6, num_objectives=3),
            "CONSTR2x2": _many("CONSTR"),
            "DiscBrake4x2": _many("DiscBrake"),
            "MW7_4x2": _many("MW7", dim=4),
            **DESIGNS,
        },
        "pareto_reporting": {
            "BraninCurrin2x2": _many("BraninCurrin"),
            "ZDT3_6x2": _many("ZDT3", dim=6),
            "DTLZ2_6x3": _many("DTLZ2", dim=6, num_objectives=3),
            "VehicleSafety5x3": _many("VehicleSafety"),
            "Penicillin7x3": _many("Penicillin"),
        },
    }
)
METRIC_PROBLEMS: Mapping[str, _Source | Design] = MappingProxyType(
    {name: source for group in METRIC_GROUPS.values() for name, source in group.items()}
)


def metric_problem_names(kind: str) -> tuple[str, ...]:
    """Names of the problems of one kind, "constrained" or "pareto"."""
    return tuple(name for group, found in METRIC_GROUPS.items() if group.startswith(kind) for name in found)


def get_metric_problem(name: str) -> MetricProblem:
    """The problem of that name."""
    if name not in METRIC_PROBLEMS:
        raise SettingError(f"name must be one of {list(METRIC_PROBLEMS)}, got {name!r}.")
    chosen, found = METRIC_PROBLEMS[name], _found().get(name, {}).get("value")
    if isinstance(chosen, Design):
        task = _task(chosen.low, chosen.high, len(chosen.ideal), 0, chosen.reference)
        return MetricProblem(name=name, task=task, function=chosen.function, best=found or 0.0, worst=0.0)
    source = chosen.make(name)
    several = source.num_objectives > 1
    reference = tuple(source.ref_point.tolist()) if several else ()
    low, high = source.bounds.tolist()
    task = _task(low, high, source.num_objectives, getattr(source, "num_constraints", 0), reference)
    theirs = _largest(source) if several else source.optimal_value
    best = theirs if found is None else (max if several else min)(found, theirs)
    worst = 0.0 if several else source.worst_feasible_value
    return MetricProblem(name=name, task=task, function=_rows(source), best=float(best), worst=float(worst))


def _task(low: Iterable[float], high: Iterable[float], m: int, constraints: int, reference: tuple[float, ...]) -> Task:
    return Task(
        space=Space({f"x{j + 1}": Float(float(a), float(b)) for j, (a, b) in enumerate(zip(low, high, strict=True))}),
        objectives=tuple(f"f{i}" for i in range(m)) if m > 1 else ("f",),
        constraints=tuple(f"c{i}" for i in range(constraints)),
        reference=reference,
    )


def _largest(source: Any) -> float:
    """The largest hypervolume that BoTorch knows of; 0 where it knows of none."""
    try:
        return float(source.max_hv)
    except NotImplementedError:
        return 0.0


def _rows(source: Any) -> Callable[[Array], Array]:
    torch = need("of BoTorch", "torch", extra="botorch")
    constrained = hasattr(source, "num_constraints")

    def metrics(X: Array) -> Array:
        T = torch.tensor(X, dtype=torch.float64)
        with torch.no_grad():
            f = source.evaluate_true(T)
            f = f if f.ndim == 2 else f[:, None]
            both = torch.cat([f, -source.evaluate_slack_true(T)], dim=-1) if constrained else f
        return np.asarray(both.numpy(), dtype=np.float64)

    return metrics


@cache
def _found() -> dict[str, Any]:
    text = resources.files("ccgbo.bench.problems").joinpath("best_metrics.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found
