"""Search spaces as scikit-learn's users write them; ``ccgbo.integrations.sklearn`` tells how each is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np

from ccgbo.errors import SettingError
from ccgbo.space import Categorical, Float, Int, Parameter, Space

TAIL = 1e-3  # probability cut from an endless tail
WHICH = "which of the dicts"  # the engine's name for the choice between several dicts


class Candidates:
    """The engine's space for ``param_distributions``, and its points as scikit-learn's candidates."""

    def __init__(self, param_distributions: Any) -> None:
        self._entries: dict[str, tuple[str, Callable[[Any], Any]]] = {}  # engine's name: scikit-learn's, its values
        if isinstance(param_distributions, Space):
            self.space = param_distributions
            self._entries = {name: (name, _same) for name in param_distributions}
        else:
            self.space = Space(self._parameters(param_distributions))

    def _parameters(self, param_distributions: Any) -> dict[str, Parameter]:
        dicts = [param_distributions] if isinstance(param_distributions, Mapping) else param_distributions
        if not isinstance(dicts, Sequence) or not dicts or not all(isinstance(d, Mapping) and d for d in dicts):
            raise SettingError(
                f"param_distributions must be a non-empty dict, a list of them or a Space, got {param_distributions!r}."
            )
        parameters: dict[str, Parameter] = {}
        if len(dicts) > 1:
            parameters[WHICH] = Categorical(range(len(dicts)))
        for i, one in enumerate(dicts):
            for name, spec in one.items():
                key = name if len(dicts) == 1 else f"{i}: {name}"
                parameter, values = _parameter(name, spec)
                parameters[key] = parameter if len(dicts) == 1 else replace(parameter, active_if={WHICH: i})
                self._entries[key] = (name, values)
        return parameters

    @property
    def names(self) -> set[str]:
        """Scikit-learn's names of the parameters."""
        return {name for name, _ in self._entries.values()}

    def decode(self, params: Mapping[str, Any]) -> dict[str, Any]:
        entries = ((self._entries[key], value) for key, value in params.items() if key != WHICH)
        return {name: values(value) for (name, values), value in entries}


def _same(value: Any) -> Any:
    return value


def _parameter(name: str, spec: Any) -> tuple[Parameter, Callable[[Any], Any]]:
    """A parameter, and the map from its values to scikit-learn's."""
    if isinstance(spec, Float | Int | Categorical):
        return spec, _same
    if hasattr(spec, "ppf") and hasattr(spec, "support"):
        return _from_distribution(spec)
    if hasattr(spec, "rvs"):
        raise SettingError(f"param_distributions[{name!r}] must have ppf and support, not rvs alone, got {spec!r}.")
    if isinstance(spec, str | bytes) or not isinstance(spec, Iterable) or not (choices := list(spec)):
        raise SettingError(f"param_distributions[{name!r}] must be a non-empty list or a distribution, got {spec!r}.")
    by_index = choices.__getitem__
    return (Int(0, len(choices) - 1) if _ordered(choices) else Categorical(range(len(choices)))), by_index


def _ordered(choices: list[Any]) -> bool:
    if not all(isinstance(c, Real) and not isinstance(c, bool | np.bool_) for c in choices):
        return False
    steps = np.diff(np.array(choices, dtype=float))
    return bool(np.all(steps > 0) or np.all(steps < 0))


def _from_distribution(distribution: Any) -> tuple[Parameter, Callable[[Any], Any]]:
    low, high = (float(end) for end in distribution.support())
    p_low, p_high = (0.0 if math.isfinite(low) else TAIL), (1.0 if math.isfinite(high) else 1.0 - TAIL)
    if hasattr(distribution, "pmf"):
        ends = low if p_low == 0.0 else distribution.ppf(p_low), high if p_high == 1.0 else distribution.ppf(p_high)
        return Int(int(ends[0]), int(ends[1])), _same
    kind = getattr(getattr(distribution, "dist", None), "name", "")
    if kind == "uniform" or low == high:
        return Float(low, high), _same
    if kind in ("loguniform", "reciprocal") and low > 0.0:
        return Float(low, high, log=True), _same
    return Float(p_low, p_high), lambda p: float(distribution.ppf(p))
