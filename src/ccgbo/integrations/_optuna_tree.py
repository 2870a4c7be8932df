"""The search space of a define-by-run objective, learned from its trials: ranges, and which parameters occur when.

A parameter that only some trials have is conditional. It is active where discrete parameters asked for before it, its
parents, have values at which it was seen: ``{"svm_C": {"model": ("svm",)}}``. The parents are the fewest that explain
every complete trial, those with and those without it. What nothing explains is no part of the tree, and drawn
independently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState

from ccgbo.errors import SpaceError, UnsupportedError
from ccgbo.space import Categorical, Float, Int, Parameter, Space
from ccgbo.space.shorthand import from_optuna

Distributions = Mapping[str, BaseDistribution]
Conditions = Mapping[str, Mapping[str, tuple[Any, ...]]]  # child -> parent -> values of the parent

MOST_PARENTS = 2  # of one parameter
MOST_VALUES = 32  # of a parent
RECENT = 10  # trials whose ranges count where ranges change


@dataclass(frozen=True, slots=True)
class Tree:
    """Parameters with their distributions, and the conditions of those that are not always there."""

    distributions: Distributions
    conditions: Conditions
    given: Space | None = None  # by the user, instead of learned

    @classmethod
    def of(cls, space: Space) -> Tree:
        """The tree of a space that the user gave."""
        distributions = {name: distribution_of(p) for name, p in space.items()}
        return cls(distributions, {name: p.active_if for name, p in space.items() if p.active_if}, space)

    @property
    def names(self) -> list[str]:
        return list(self.distributions)

    def space(self) -> Space:
        """The engine's space; a categorical by the indices of its choices, unless the space was given."""
        if self.given is not None:
            return self.given
        parameters = {}
        for name, distribution in self.distributions.items():
            parents = {q: tuple(self._inward(q, v) for v in values) for q, values in self._parents(name).items()}
            parameters[name] = replace(parameter_of(distribution), active_if=parents or None)
        return Space(parameters)

    def lacks(self, params: Mapping[str, Any]) -> bool:
        """Whether a trial with these params so far has yet to ask for one."""
        return any(name not in params and self._active(name, params) for name in self.distributions)

    def belongs(self, params: Mapping[str, Any]) -> bool:
        """Whether the point lies in the space: a trial may lack parameters, have had other ranges, or be enqueued."""
        return all(
            self._active(name, params) == (name in params) and (name not in params or contains(d, params[name]))
            for name, d in self.distributions.items()
        )

    def _active(self, name: str, params: Mapping[str, Any]) -> bool:
        return all(q in params and _among(params[q], values) for q, values in self._parents(name).items())

    def _parents(self, name: str) -> Mapping[str, tuple[Any, ...]]:
        return self.conditions.get(name, {})

    def inward(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Params of a trial as the engine knows them."""
        return {name: self._inward(name, params[name]) for name in self.distributions if name in params}

    def _inward(self, name: str, value: Any) -> Any:
        d = self.distributions[name]
        return int(d.to_internal_repr(value)) if self._by_index(d) else value

    def outward(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Params of the engine as a trial has them."""
        return {
            name: d.to_external_repr(params[name]) if self._by_index(d) else params[name]
            for name, d in self.distributions.items()
            if name in params
        }

    def _by_index(self, d: BaseDistribution) -> bool:
        return self.given is None and isinstance(d, CategoricalDistribution)


def searches_all(space: Space, distributions: Distributions | None) -> bool:
    """Whether all of a given space is searched: a wrapper such as PartialFixedSampler takes parameters out of it."""
    fixed = set[str]() if distributions is None else set(space) - set(distributions)
    if fixed and space.constraints:
        said = f"space must have no constraints where parameters are fixed elsewhere, got {sorted(fixed)}."
        raise UnsupportedError(said)
    return not fixed


# -- ranges


def learn(trials: Sequence[FrozenTrial], distributions: Distributions) -> Tree:
    """The tree of the given parameters, as far as the trials explain when each of them occurs."""
    complete = _complete(trials)
    conditions: dict[str, Mapping[str, tuple[Any, ...]]] = {}
    known = dict(distributions)
    for name in distributions:
        found = _condition(name, complete, known)
        if found is None:
            del known[name]
        elif found:
            conditions[name] = found
    orphans = {name for name, parents in conditions.items() if not parents.keys() <= known.keys()}
    return learn(trials, {n: d for n, d in known.items() if n not in orphans}) if orphans else Tree(known, conditions)


def _complete(trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    return [t for t in trials if t.state == TrialState.COMPLETE]


def ranges(trials: Sequence[FrozenTrial]) -> dict[str, BaseDistribution]:
    """Every parameter of the complete trials that the model can search, with its range."""
    seen: dict[str, list[BaseDistribution]] = {}
    for t in _complete(trials):
        for name, d in t.distributions.items():
            seen.setdefault(name, []).append(d)
    found = {name: _range(all_of_it) for name, all_of_it in seen.items()}
    return {name: d for name, d in sorted(found.items()) if d is not None and not d.single() and _can_be_searched(d)}


def _range(seen: Sequence[BaseDistribution]) -> BaseDistribution | None:
    """The range in force: that of the last two trials, or where it changes from trial to trial all recent ones."""
    last = seen[-1]
    if len({_kind(d) for d in seen}) > 1:
        return None  # Optuna itself cannot tell them apart
    if isinstance(last, CategoricalDistribution) or last == seen[-min(2, len(seen))]:
        return last
    recent = [d for d in seen[-RECENT:] if isinstance(d, FloatDistribution | IntDistribution)]
    low, high = min(d.low for d in recent), max(d.high for d in recent)
    assert isinstance(last, FloatDistribution | IntDistribution)
    if last.step is not None and not all(d.step == last.step and _on_grid(d.low - low, last.step) for d in recent):
        return None  # no common grid
    return type(last)(low, high, log=last.log, step=last.step)  # type: ignore[arg-type]


def _kind(d: BaseDistribution) -> tuple[Any, ...]:
    return type(d), getattr(d, "log", None), getattr(d, "choices", None)


def _can_be_searched(distribution: BaseDistribution) -> bool:
    try:
        parameter_of(distribution)
    except SpaceError:  # a range at the limits of floating point
        return False
    return True


def parameter_of(d: BaseDistribution) -> Parameter:
    if isinstance(d, CategoricalDistribution):  # by index: Optuna allows choices of any type
        return Categorical(range(len(d.choices)))
    parameter = from_optuna(d)
    if parameter is None:
        raise SpaceError(f"a distribution must be float, int or categorical, got {d!r}.")
    return parameter


def distribution_of(p: Parameter) -> BaseDistribution:
    if isinstance(p, Float):
        return FloatDistribution(p.low, p.high, log=p.log, step=p.step)
    if isinstance(p, Int):
        return IntDistribution(p.low, p.high, log=p.log, step=p.step or 1)
    return CategoricalDistribution(tuple(p.choices))


def contains(d: BaseDistribution, value: Any) -> bool:
    if isinstance(d, FloatDistribution | IntDistribution):
        return bool(d.low <= value <= d.high) and (d.step is None or _on_grid(value - d.low, d.step))
    try:
        d.to_internal_repr(value)
    except ValueError:
        return False
    return True


def _on_grid(distance: float, step: float) -> bool:
    steps = distance / step
    return abs(steps - round(steps)) < 1e-6


# -- conditions


def _condition(
    name: str, trials: Sequence[FrozenTrial], distributions: Distributions
) -> Mapping[str, tuple[Any, ...]] | None:
    """When the parameter occurs: {} always, None where nothing explains it."""
    having = [t.params for t in trials if name in t.params]
    without = [t.params for t in trials if name not in t.params]
    if not without or not having:
        return {}
    before = set.intersection(*(set(_asked_before(name, params)) for params in having))
    parents = {
        q: values
        for q in reversed(list(having[0]))  # the nearest first
        if q in before and q in distributions and (values := _values(distributions[q])) is not None
    }
    explained = {q: _active_values(q, values, having, without) for q, values in parents.items()}
    for n in range(1, MOST_PARENTS + 1):
        for group in combinations(explained, n):
            if not any(all(q in p and _among(p[q], explained[q]) for q in group) for p in without):
                return {q: explained[q] for q in group}
    return None


def _asked_before(name: str, params: Mapping[str, Any]) -> list[str]:
    names = list(params)
    return names[: names.index(name)]


def _values(d: BaseDistribution) -> list[Any] | None:
    """The values of a parameter that others can depend on."""
    if isinstance(d, CategoricalDistribution):
        return list(d.choices) if len(d.choices) <= MOST_VALUES else None
    if isinstance(d, IntDistribution) and (d.high - d.low) // d.step < MOST_VALUES:
        return list(range(d.low, d.high + 1, d.step))
    return None


def _active_values(
    q: str, values: Sequence[Any], having: Sequence[Mapping[str, Any]], without: Sequence[Mapping[str, Any]]
) -> tuple[Any, ...]:
    """Values of a parent at which the child occurs: those seen, and of a number, all beyond a threshold."""
    present = [params[q] for params in having]
    absent = [params[q] for params in without if q in params]
    if absent and not any(isinstance(v, str | bool | type(None)) for v in values):
        if min(present) > max(absent):
            return tuple(v for v in values if v > max(absent))
        if max(present) < min(absent):
            return tuple(v for v in values if v < min(absent))
    return tuple(v for v in values if _among(v, present))


def _among(value: Any, values: Sequence[Any]) -> bool:
    """True and 1 are different choices."""
    return any(type(value) is type(v) and (value == v or value is v) for v in values)
