"""Frozen records of what was asked and told."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, Unpack

from ccgbo.errors import NoObservationsError, UnsupportedError
from ccgbo.frames import flat_row, frame_of
from ccgbo.influence import Groups, Influence, InfluenceOptions, PointInfluence
from ccgbo.text import count, printable, reason, shorten

if TYPE_CHECKING:
    import pandas as pd

State = Literal["pending", "complete", "failed"]
Origin = Literal["design", "model", "external"]
Direction = Literal["maximize", "minimize"]

NO_VALUE = "no observation yet: no trial has a value."


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """An observation near a suggestion."""

    trial_id: int
    distance: float  # as the credit field measures it: in the unit cube for "knn", else in lengthscales
    credit: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a point was suggested, as the model saw it at that moment; values are in the user's units."""

    reason: str
    t: int | None = None  # iterations since the initial design
    acquisition: str | None = None
    mean: float | None = None
    std: float | None = None
    base: float | None = None  # base acquisition, in standardised units
    weight: float | None = None  # w_t(x), 1.0 where credit says nothing
    factor: float | None = None  # everything the base was multiplied by: credit, prior, chance of success
    proxy: float | None = None  # Z_t
    neighbours: tuple[Neighbour, ...] = ()

    def __str__(self) -> str:
        if self.mean is None:
            return self.reason
        near = ", ".join(f"#{n.trial_id} (credit {n.credit:.2f})" for n in self.neighbours)
        lines = [
            f"{self.reason}: {self.acquisition}, iteration {self.t}",
            f"  predicted   {self.mean:.6g} ± {self.std:.3g}   (proxy of the optimum {self.proxy:.6g})"
            if self.proxy is not None
            else f"  predicted   {self.mean:.6g} ± {self.std:.3g}",
            f"  base        {self.base:.6g}   weight {self.weight:.4f}   total factor {self.factor:.4f}",
        ]
        return "\n".join(lines + ([f"  nearest     {near}"] if near else []))


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One point: asked for, being evaluated, told or failed."""

    id: int
    params: Mapping[str, Any]
    state: State = "pending"
    value: float | None = None
    noise_variance: float | None = None
    error: str | None = None
    origin: Origin = "model"
    explanation: Explanation | None = field(default=None, repr=False)

    @property
    def reason(self) -> str | None:
        """Why it failed, in one line that is safe to show; None unless it did."""
        return reason(self.error) if self.state == "failed" else None

    def with_outcome(self, **changes: Any) -> Trial:
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self) | {"params": dict(self.params)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Trial:
        fields = dict(data)
        why = fields.pop("explanation", None)
        if why is not None:
            near = tuple(Neighbour(**n) for n in why.get("neighbours", ()))
            why = Explanation(**{**why, "neighbours": near})
        return cls(**fields, explanation=why)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreditRow:
    """How much one observation tells about where the optimum is."""

    trial_id: int
    params: Mapping[str, Any]
    value: float
    score: float  # raw counterfactual score s_i
    rank: float  # r_i in [0, 1]
    credit: float  # c_i in [floor, 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """The best point by posterior mean, in the user's units."""

    trial_id: int
    params: Mapping[str, Any]
    mean: float
    std: float


class HasTrials(Protocol):
    """What a best trial is found among."""

    @property
    def trials(self) -> tuple[Trial, ...]: ...
    @property
    def direction(self) -> Direction: ...


class BestTrial:
    """The best of the trials, alike for an optimizer, a study and a result: without a value, NoObservationsError."""

    __slots__ = ()

    @property
    def best_trial(self: HasTrials) -> Trial:
        """The complete trial with the best value, the earliest of equals."""
        return _best_of(self)

    @property
    def best_params(self: HasTrials) -> dict[str, Any]:
        """The params of the best trial."""
        return dict(_best_of(self).params)

    @property
    def best_value(self: HasTrials) -> float:
        """The value of the best trial."""
        value = _best_of(self).value
        assert value is not None
        return value


def _best_of(source: HasTrials) -> Trial:
    best = best_of(source.trials, source.direction)
    if best is None:
        raise NoObservationsError(NO_VALUE)
    return best


@dataclass(frozen=True, slots=True, kw_only=True)
class Result(BestTrial):
    """What an optimisation found, and the optimizer that found it: figures and reports take a result as it is."""

    trials: tuple[Trial, ...]
    direction: Direction
    recommended: Recommendation | None = None  # see recommend()
    stopped: str = "all trials done"
    found_by: Any = field(default=None, repr=False, compare=False)  # the optimizer itself, see optimizer()

    def optimizer(self) -> Any:
        """A copy of the optimizer, for looking and for going on; of a study that went on since, as it is now."""
        return copy.deepcopy(self._optimizer())

    def recommend(self) -> Recommendation:
        """The evaluated point with the best posterior mean: the right answer when evaluations are noisy."""
        if self.recommended is None:
            raise NoObservationsError(NO_VALUE)
        return self.recommended

    def credits(self) -> list[CreditRow]:
        """How much each observation tells about where the optimum is."""
        rows: list[CreditRow] = self._optimizer().credits()
        return rows

    def influence(self, groups: Groups | None = None, **options: Unpack[InfluenceOptions]) -> Influence:
        """What would be believed without each observation; the options are those of ``Optimizer.influence``."""
        found: Influence = self._optimizer().influence(groups, **options)
        return found

    def influence_on(self, trial: Trial | int | Mapping[str, Any], *, top: int = 5) -> PointInfluence:
        """Which observations the prediction at a trial, or at any point, rests on."""
        why: PointInfluence = self._optimizer().influence_on(trial, top=top)
        return why

    def explain(self, trial: Trial | int) -> Explanation:
        """Why this point was suggested, as the model saw it then."""
        why: Explanation = self._optimizer().explain(trial)
        return why

    def _optimizer(self) -> Any:
        if self.found_by is None:
            raise UnsupportedError(
                "this result came without its optimizer: it was made by hand, or pickled although a constraint or a "
                "prior of its optimizer is a function that cannot be pickled."
            )
        return self.found_by

    def to_dataframe(self) -> pd.DataFrame:
        """One row per trial, see ``ccgbo.frames``; needs pandas."""
        space = None if self.found_by is None else self.found_by.space
        return frame_of([flat_row(trial.to_dict()) for trial in self.trials], space)

    def __reduce__(self) -> tuple[Any, ...]:
        try:
            found_by = pickle.dumps(self.found_by)
        except Exception:  # a lambda as a constraint must not keep the values from being saved
            found_by = pickle.dumps(None)
        return _unpickled, (self.trials, self.direction, self.recommended, self.stopped, found_by)

    def __repr__(self) -> str:
        done = sum(t.state == "complete" for t in self.trials)
        failed = [t for t in self.trials if t.state == "failed"]
        head = f"Result: {count(done, 'trial')}" + (f", {len(failed)} failed" if failed else "") + f" ({self.stopped})"
        best, r = best_of(self.trials, self.direction), self.recommended
        if best is None:
            lines = [head, "  no value yet"]
        else:
            lines = [head, f"  best value   {best.value:.6g}   (trial {best.id}, {self.direction}d)"]
            lines += _assignments(best.params)
        if r is not None:
            lines.append(f"  recommended  trial {r.trial_id}: {r.mean:.6g} ± {r.std:.2g} by the model")
            lines += _assignments(r.params) if best is None or r.trial_id != best.id else []
        if failed:
            lines.append(f"  last error   trial {failed[-1].id}: {shorten(reason(failed[-1].error), 200)}")
        return "\n".join(lines)


def _unpickled(
    trials: tuple[Trial, ...], direction: Direction, r: Recommendation | None, stopped: str, found_by: bytes
) -> Result:
    return Result(trials=trials, direction=direction, recommended=r, stopped=stopped, found_by=pickle.loads(found_by))


def _assignments(params: Mapping[str, Any]) -> list[str]:
    names = [printable(name) for name in params]
    width = max(map(len, names), default=0)
    return [f"    {name:<{width}} = {_short(value)}" for name, value in zip(names, params.values())]


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else printable(repr(value))


def best_of(trials: Iterable[Trial], direction: Direction) -> Trial | None:
    """The complete trial with the best value, the earliest of equals."""
    complete = [(t.value, t) for t in trials if t.value is not None]
    if not complete:
        return None
    pick = max if direction == "maximize" else min
    return pick(complete, key=lambda pair: pair[0])[1]
