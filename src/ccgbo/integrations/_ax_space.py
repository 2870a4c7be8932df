"""Ax's search spaces as spaces of the core, and arms as points of them.

RangeParameter      Float or Int, on a log scale where Ax says so; a logit scale is searched as its logit
ChoiceParameter     Categorical; an ordered one by the position of its values
FixedParameter      Fixed
DerivedParameter    not searched: computed from the others
dependents          conditions of the children
constraints         linear inequalities
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from ax.core.parameter import (
    ChoiceParameter,
    DerivedParameter,
    FixedParameter,
    Parameter,
    ParameterType,
    RangeParameter,
)
from ax.core.parameter_constraint import ParameterConstraint
from ax.core.search_space import SearchSpace

from ccgbo.errors import UnsupportedError
from ccgbo.space import Categorical, Fixed, Float, Int, LinearConstraint, Space
from ccgbo.space import Parameter as CoreParameter
from ccgbo.space.constraints import Predicate

Config = Mapping[str, Any]
Conditions = dict[str, list[Any]]  # parent -> its values, as the core sees them, under which a child is active


@dataclass(frozen=True, slots=True)
class Dimension:
    """One searched parameter and the map of its values."""

    parameter: Parameter
    to_core: Callable[[Any], Any]
    from_core: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Codec:
    """A space of the core, and the map of its points to Ax's parameterizations."""

    space: Space
    dimensions: Mapping[str, Dimension]
    derived: Sequence[DerivedParameter]
    backfill: Config  # values of parameters that were added to a running experiment

    def encode(self, config: Config) -> dict[str, Any]:
        """The point of an arm; raises ParamsError if it is out of design."""
        known = {**{k: v for k, v in self.backfill.items() if k not in config}, **config}
        names = [name for name in self.space if name in known]
        return {name: self.dimensions[name].to_core(known[name]) for name in names}

    def decode(self, params: Config) -> dict[str, Any]:
        config = {}
        for name, value in params.items():
            dimension = self.dimensions[name]
            config[name] = dimension.parameter.cast(dimension.from_core(value))  # rounds to the digits asked for
        for parameter in self.derived:
            config[parameter.name] = parameter.compute(config)
        return config


def convert_search_space(search_space: SearchSpace) -> Codec:
    """Refuses what the core cannot search, by name."""
    dimensions: dict[str, Dimension] = {}
    derived = []
    for name, parameter in search_space.parameters.items():
        if isinstance(parameter, DerivedParameter):
            derived.append(parameter)
        else:
            dimensions[name] = _dimension(parameter)
    conditions = _conditions(search_space, dimensions)
    core = {name: _core(d.parameter, conditions.get(name)) for name, d in dimensions.items()}
    constraints = [_constraint(c, core, dimensions) for c in search_space.parameter_constraints]
    backfill = {name: v for name, v in search_space.backfill_values().items() if v is not None}
    return Codec(Space(core, constraints=constraints), dimensions, derived, backfill)


def _dimension(parameter: Parameter) -> Dimension:
    name = parameter.name
    if parameter.is_fidelity or getattr(parameter, "is_task", False):
        kind = "a fidelity" if parameter.is_fidelity else "a task"
        raise UnsupportedError(f"parameter {name!r} must be searched or fixed, got {kind} parameter.")
    if isinstance(parameter, RangeParameter) and parameter.logit_scale:
        return Dimension(parameter, lambda p: math.log(p / (1.0 - p)), lambda u: 1.0 / (1.0 + math.exp(-u)))
    if _by_position(parameter):
        values = list(parameter.values)
        return Dimension(parameter, values.index, values.__getitem__)
    return Dimension(parameter, _same, _same)


def _same(value: Any) -> Any:
    return value


def _by_position(parameter: Parameter) -> TypeGuard[ChoiceParameter]:
    return isinstance(parameter, ChoiceParameter) and parameter.is_ordered and len(parameter.values) > 2


def _core(parameter: Parameter, active_if: Conditions | None) -> CoreParameter:
    if parameter.is_disabled:
        return Fixed(parameter.default_value, active_if=active_if)
    if isinstance(parameter, FixedParameter):
        return Fixed(parameter.value, active_if=active_if)
    if isinstance(parameter, ChoiceParameter):
        if _by_position(parameter):
            return Int(0, len(parameter.values) - 1, active_if=active_if)
        return Categorical(list(parameter.values), active_if=active_if)
    assert isinstance(parameter, RangeParameter)
    if parameter.parameter_type is ParameterType.INT:
        return Int(int(parameter.lower), int(parameter.upper), log=parameter.log_scale, active_if=active_if)
    low, high = float(parameter.lower), float(parameter.upper)
    if parameter.logit_scale:
        low, high = (math.log(p / (1.0 - p)) for p in (low, high))
    return Float(low, high, log=parameter.log_scale, active_if=active_if)


def _conditions(search_space: SearchSpace, dimensions: Mapping[str, Dimension]) -> dict[str, Conditions]:
    """Under which values of which parents a parameter of a hierarchical space is active."""
    conditions: dict[str, Conditions] = {}
    for name, dimension in dimensions.items():
        if not dimension.parameter.is_hierarchical:
            continue
        for value, children in dimension.parameter.dependents.items():
            for child in children:
                allowed = conditions.setdefault(child, {}).setdefault(name, [])
                allowed.append(dimension.to_core(value))
    for child in conditions:
        if isinstance(search_space.parameters[child], DerivedParameter):
            raise UnsupportedError(f"parameter {child!r} must not be both derived and conditional.")
    return conditions


def _constraint(
    constraint: ParameterConstraint, core: Mapping[str, CoreParameter], dimensions: Mapping[str, Dimension]
) -> LinearConstraint | Predicate:
    if constraint.is_equality:
        raise UnsupportedError(f"parameter constraints must be inequalities, got {constraint!r}.")
    weights, bound = dict(constraint.constraint_dict), float(constraint.bound)
    plain = all(isinstance(core[n], Float | Int) and dimensions[n].to_core is _same for n in weights)
    if plain:
        return LinearConstraint(weights, upper=bound)

    def holds(params: Config) -> bool:
        total = sum(w * float(dimensions[n].from_core(params[n])) for n, w in weights.items() if n in params)
        return total <= bound + 1e-9 * (1.0 + abs(bound))

    return holds
