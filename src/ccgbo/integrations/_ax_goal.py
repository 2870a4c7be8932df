"""Ax's optimization config as the engine's metrics, and what an arm's data say of them.

    objective in Ax                   here
    "loss", "2*a - b" alone           one value, as ever
    "-cost, yield"                    an objective each, by the name of its metric; a weighted sum is one derived metric
    outcome constraint                a bound on the metric; on a weighted sum, on a derived metric of that sum
    threshold of an objective         a bound on the objective
    anything relative to a baseline   refused

Metrics are found by Ax's signatures.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ax.core.objective import Objective
from ax.core.optimization_config import OptimizationConfig
from ax.core.outcome_constraint import OutcomeConstraint
from ax.core.types import ComparisonOp
from ax.utils.common.sympy import extract_metric_weights_from_objective_expr, parse_objective_expression

from ccgbo.errors import SettingError, UnsupportedError
from ccgbo.infinite import NO_ENDS, Ends, ends_of, finite
from ccgbo.metrics import VALUE, Between, Direction, Metrics, metrics_of
from ccgbo.outcomes import outcome_of

Measured = Mapping[str, tuple[float, float]]  # signature -> mean and its standard error (NaN where unknown)
Weights = Mapping[str, float]  # by signature


@dataclass(frozen=True, slots=True)
class Goal:
    """The metrics of the engine, and the weighted sum of Ax's that each of them is."""

    metrics: Metrics
    weights: Mapping[str, Weights]

    @classmethod
    def of(cls, config: OptimizationConfig | None) -> Goal:
        if config is None:
            raise SettingError("the experiment must have an optimization config: call configure_optimization first.")
        constraints = list(dict.fromkeys(config.all_constraints))
        for c in constraints:
            if c.relative:
                raise UnsupportedError(f"outcome constraints relative to a baseline are out of scope, got {c!r}.")
        goals = [_directed(weights) for weights in _objectives(config.objective)]
        if len(goals) == 1 and not constraints:
            ((weights, direction),) = goals
            return cls(Metrics({VALUE: direction}), {VALUE: weights})
        goals = [(dict.fromkeys(w, 1.0) if len(w) == 1 else w, direction) for w, direction in goals]
        sums = {_name(weights): weights for weights, _ in goals}
        bounds: dict[str, tuple[float, float]] = {}
        for weights, low, high in map(_bounded, constraints):
            name = _name(weights)
            sums.setdefault(name, weights)
            least, most = bounds.get(name, (-math.inf, math.inf))
            bounds[name] = max(least, low), min(most, high)
        metrics = metrics_of(
            objectives={_name(weights): direction for weights, direction in goals},
            outcome_constraints={name: Between(*ends) for name, ends in bounds.items()},
        )
        return cls(metrics, sums)

    def ends(self, arms: Iterable[Measured]) -> Ends:
        """What stands for infinite values of named metrics, by the data of all arms."""
        if self.metrics.plain:
            return NO_ENDS
        return ends_of([{name: told[0] for name, told in self._told(arm).items()} for arm in arms], self.metrics)

    def outcome(self, measured: Measured, ends: Ends = NO_ENDS) -> dict[str, Any] | None:
        """The fields of a trial with these data; None where they say nothing of any metric."""
        told: dict[str, Any] = {}
        for name, (value, error) in self._told(measured).items():
            usual = math.isfinite(error) and math.isfinite(value)
            told[name] = (value, error) if usual else finite(name, value, ends)
        if not told:
            return None
        return outcome_of(told[VALUE] if self.metrics.plain else told, metrics=self.metrics)

    def _told(self, measured: Measured) -> dict[str, tuple[float, float]]:
        known = {name: weights for name, weights in self.weights.items() if set(weights) <= set(measured)}
        return {name: _sum(weights, measured) for name, weights in known.items()}


def _sum(weights: Weights, measured: Measured) -> tuple[float, float]:
    """A weighted sum and its standard error, NaN where that is not known."""
    value = sum(w * measured[name][0] for name, w in weights.items())
    return value, math.sqrt(sum((w * measured[name][1]) ** 2 for name, w in weights.items()))


def _objectives(objective: Objective) -> list[dict[str, float]]:
    """The weights of each objective, all to be maximised."""
    if not objective.is_multi_objective:
        return [dict(objective.metric_weights)]
    signature, parts = objective.metric_name_to_signature, parse_objective_expression(objective.expression)
    pairs: Iterable[list[tuple[str, float]]] = map(extract_metric_weights_from_objective_expr, parts)
    return [{signature[name]: weight for name, weight in part} for part in pairs]


def _directed(weights: dict[str, float]) -> tuple[dict[str, float], Direction]:
    """The user's own values where there is one metric, which may be minimised."""
    if len(weights) == 1 and min(weights.values()) < 0.0:
        return {name: -w for name, w in weights.items()}, "minimize"
    return weights, "maximize"


def _bounded(constraint: OutcomeConstraint) -> tuple[dict[str, float], float, float]:
    """The weights and the least and the most that their sum may be; of a single metric, its own bounds."""
    weights, bound = dict(constraint.metric_weights), float(constraint.bound)
    at_most = constraint.op is ComparisonOp.LEQ
    if len(weights) == 1:
        ((name, weight),) = weights.items()
        weights, bound, at_most = {name: 1.0}, bound / weight, at_most == (weight > 0.0)
    return (weights, -math.inf, bound) if at_most else (weights, bound, math.inf)


def _name(weights: Weights) -> str:
    """The metric, or the sum as it would be written."""
    if len(weights) == 1:
        (name,) = weights
        return name
    parts = [{1.0: name, -1.0: f"-{name}"}.get(w, f"{_short(w)}*{name}") for name, w in weights.items()]
    return " + ".join(parts).replace("+ -", "- ")


def _short(weight: float) -> str:
    text = f"{weight:g}"
    return text if float(text) == weight else repr(weight)
