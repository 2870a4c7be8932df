"""What of an optimizer must be saved beside its trials."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ccgbo.engine.fit_state import FitState
from ccgbo.errors import SettingError
from ccgbo.records import State as TrialState

STATE_VERSION = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerState:
    """Generator, initial design, iteration and fitted hyperparameters: plain data.

    The iteration t drives the decay of credit and the turns of a schedule. It counts the suggestions that the model
    made: the initial design and points evaluated elsewhere do not count. Where nobody kept count, ``iteration_of``
    says what it would be.
    """

    rng: Mapping[str, Any]
    """State of the bit generator."""
    design_seed: int
    designed: int
    """Points of the initial design given out."""
    iteration: int
    """t."""
    fit: FitState | None
    """The last fit, from which the next one starts; of the objective, of several the first."""
    fits: Mapping[str, FitState] = field(default_factory=dict)
    """The last fits of the other metrics, by name."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "version": STATE_VERSION,
            "rng": dict(self.rng),
            "design": {"seed": self.design_seed, "given": self.designed},
            "iteration": self.iteration,
            "fit": None if self.fit is None else self.fit.to_dict(),
            **({"fits": {name: fit.to_dict() for name, fit in self.fits.items()}} if self.fits else {}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, also: tuple[str, ...] = ()) -> OptimizerState:
        """What ``to_dict`` gave, which must have the parts ``also`` beside it."""
        if not isinstance(data, Mapping):
            raise SettingError(f"state must be a mapping as state_dict gives it, got {data!r}.")
        if data.get("version") != STATE_VERSION:
            raise SettingError(f"state['version'] must be {STATE_VERSION}, got {data.get('version')!r}.")
        for part in ("rng", "design", "iteration", "fit", *also):
            if part not in data:
                raise SettingError(f"state must have {part!r}, got {sorted(data)}.")
        fit = data["fit"]
        return cls(
            rng=data["rng"],
            design_seed=data["design"]["seed"],
            designed=data["design"]["given"],
            iteration=data["iteration"],
            fit=None if fit is None else FitState.from_dict(fit),
            fits={name: FitState.from_dict(one) for name, one in (data.get("fits") or {}).items()},
        )


def iteration_of(states: Iterable[TrialState], n_initial: int) -> int:
    """t of trials that somebody else asked for: those that began when ``n_initial`` had not failed before them."""
    usable = iteration = 0
    for state in states:
        iteration += usable >= n_initial
        usable += state not in ("failed", "abandoned")
    return iteration
