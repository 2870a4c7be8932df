"""Ray Tune's search spaces as spaces of the core, and points of one as configurations of the other.

    tune.uniform, tune.quniform           Float, with a step of q
    tune.loguniform                       Float on a log scale
    tune.randint, tune.qrandint           Int, with a step of q (Ray's upper limit is exclusive unless q > 1)
    tune.lograndint                       Int on a log scale
    tune.qloguniform, tune.qlograndint    q times an Int on a log scale
    tune.choice                           Categorical; choices that are no plain values go by their position

Nested dicts are searched under names joined by "/".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ray.tune.search import sample
from ray.tune.search.variant_generator import parse_spec_vars

from ccgbo.errors import ParamsError, SpaceError, UnsupportedError
from ccgbo.space import Categorical, Fixed, Float, Int, Parameter, Space, as_space

MISSING: Any = object()
Maps = tuple[Callable[[Any], Any], Callable[[Any], Any]]  # to the core, from the core


@dataclass(frozen=True, slots=True)
class Codec:
    """A space of the core, and the map of its points to Ray's configurations."""

    space: Space
    paths: Mapping[str, tuple[str, ...]]  # where the value of each parameter sits in a configuration
    maps: Mapping[str, Maps]  # of parameters whose values differ
    constants: Mapping[str, Any] = field(default_factory=dict)  # what else a configuration has, nested as it is there

    def encode(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The point of a configuration, nested or with names joined by "/"; constants are left out."""
        params = {}
        for name, path in self.paths.items():
            found: Any = config
            for part in (name,) if name in config else path:
                found = found[part] if isinstance(found, Mapping) and part in found else MISSING
            if found is not MISSING:
                params[name] = self.maps[name][0](found) if name in self.maps else found
        return params

    def decode(self, params: Mapping[str, Any]) -> dict[str, Any]:
        config = _constants(self.constants)
        for name, value in params.items():
            *folders, last = self.paths[name]
            here = config
            for folder in folders:
                here = here.setdefault(folder, {})
            here[last] = self.maps[name][1](value) if name in self.maps else value
        return config


def _constants(spec: Mapping[str, Any]) -> dict[str, Any]:
    """What is not searched, in dicts of its own."""
    kept = {name: value for name, value in spec.items() if not isinstance(value, sample.Domain | Parameter)}
    return {name: _constants(value) if isinstance(value, Mapping) else value for name, value in kept.items()}


def convert_search_space(spec: Mapping[str, Any] | Space) -> Codec:
    """A Ray search space with its constants, or a space of ccgbo as it is."""
    rest, domains, grids = ([], [], []) if isinstance(spec, Space) else parse_spec_vars(dict(spec))
    if grids:
        raise UnsupportedError(f"grid_search is out of scope, got it for {_name(grids[0][0])!r}; use tune.choice.")
    if not domains:
        if not any(isinstance(value, Parameter) for value in spec.values()):
            raise SpaceError(f"the search space must have at least one parameter to search, got {dict(spec)!r}.")
        space = spec if isinstance(spec, Space) else {k: Fixed(v) if isinstance(v, str) else v for k, v in spec.items()}
        return Codec(as_space(space), {name: (name,) for name in spec}, {})
    parameters: dict[str, Parameter] = {}
    maps: dict[str, Maps] = {}
    for path, domain in domains:
        name = _name(path)
        parameters[name], own = _convert(name, domain)
        if own is not None:
            maps[name] = own
    ours = [(path, value) for path, value in rest if isinstance(value, Parameter)]
    parameters |= {_name(path): value for path, value in ours}
    paths = {_name(path): tuple(path) for path, _ in [*domains, *ours]}
    return Codec(Space(parameters), paths, maps, _constants(spec))


def _name(path: Sequence[Any]) -> str:
    for part in path:
        if not isinstance(part, str) or "/" in part:
            raise UnsupportedError(f"a searched value must sit in dicts with names without '/', got {tuple(path)!r}.")
    return "/".join(path)


def _convert(name: str, domain: Any) -> tuple[Parameter, Maps | None]:
    if isinstance(domain, sample.Categorical):
        return _convert_choices(domain.categories)
    sampler: Any = domain.get_sampler()
    q: Any = None
    if isinstance(sampler, sample.Quantized):
        sampler, q = sampler.sampler, sampler.q
    log = isinstance(sampler, sample.LogUniform)
    if not isinstance(domain, sample.Float | sample.Integer) or not (log or isinstance(sampler, sample.Uniform)):
        kind = f"{type(domain).__name__} with {type(sampler).__name__.lstrip('_')} sampling"
        raise UnsupportedError(f"parameter {name!r}: only bounded ranges and choices can be searched, got {kind}.")
    if isinstance(domain, sample.Float):
        if q is None:
            return Float(float(domain.lower), float(domain.upper), log=log), None
        if not log:
            return Float(float(domain.lower), float(domain.upper), step=float(q)), None
    elif q is None or q == 1:
        return Int(int(domain.lower), int(domain.upper) - 1, log=log), None
    low, high = math.ceil(domain.lower / q - 1e-9), math.floor(domain.upper / q + 1e-9)
    if not log:
        return Int(low * q, high * q, step=q), None
    whole = isinstance(domain, sample.Integer)
    return Int(max(low, 1), high, log=True), (_Multiples(q, whole).index, _Multiples(q, whole).value)


@dataclass(frozen=True, slots=True)
class _Multiples:
    """Values q, 2 q, 3 q, ..."""

    q: float
    whole: bool

    def index(self, value: Any) -> int:
        k: int = round(value / self.q)
        if not math.isclose(k * self.q, value, rel_tol=1e-9):
            raise ParamsError(f"value must be a multiple of {self.q}, got {value!r}.")
        return k

    def value(self, index: int) -> float | int:
        return int(index * self.q) if self.whole else float(f"{index * self.q:.15g}")


@dataclass(frozen=True, slots=True)
class _Positions:
    """Choices of any kind, by their position in the list."""

    choices: Sequence[Any]

    def index(self, value: Any) -> int:
        for i, choice in enumerate(self.choices):
            if choice is value or choice == value:
                return i
        raise ParamsError(f"value must be one of {list(self.choices)!r}, got {value!r}.")

    def value(self, index: int) -> Any:
        return self.choices[index]


def _convert_choices(choices: Sequence[Any]) -> tuple[Parameter, Maps | None]:
    try:
        return Categorical(list(choices)), None
    except SpaceError:
        if not choices:
            raise
        positions = _Positions(list(choices))
        return Categorical(list(range(len(choices)))), (positions.index, positions.value)
