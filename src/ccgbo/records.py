"""Frozen records of what was asked and told."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol, Unpack

from ccgbo.diagnosis import Diagnosis
from ccgbo.errors import NoObservationsError, UnsupportedError
from ccgbo.explanation import Credits, Explanation, Neighbour
from ccgbo.frames import flat_row, frame_of
from ccgbo.influence import Groups, Influence, InfluenceOptions, PointInfluence
from ccgbo.markup import block, lines, settings
from ccgbo.text import count, differences, printable, reason, shorten

if TYPE_CHECKING:
    import pandas as pd

State = Literal["pending", "complete", "failed", "abandoned"]
Origin = Literal["design", "model", "enqueued", "external"]
Direction = Literal["maximize", "minimize"]

NO_VALUE = "no observation yet: no trial has a value."


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One point: asked for, being evaluated, told, failed or abandoned."""

    id: int
    params: Mapping[str, Any]
    state: State = "pending"
    value: float | None = None  # the mean of the readings, where there are several
    noise_variance: float | None = None
    error: str | None = None
    origin: Origin = "model"
    explanation: Explanation | None = field(default=None, repr=False)
    dropped: bool = False  # out of the model, kept on record
    readings: tuple[float, ...] = ()  # several of one trial
    attributes: Mapping[str, Any] = field(default_factory=dict)  # note, tags and whatever else the user keeps

    @property
    def in_model(self) -> bool:
        """Whether its value counts: complete, and not dropped."""
        return self.state == "complete" and not self.dropped

    @property
    def reason(self) -> str | None:
        """Why it failed, in one line that is safe to show; None unless it did."""
        return reason(self.error) if self.state == "failed" else None

    def _repr_html_(self) -> str:
        said = [self.state, *(["dropped"] if self.dropped else [])]
        if self.value is not None:
            said.append(f"value {self.value:.6g}")
        note = " ".join([str(self.attributes.get("note", "")), *(f"#{tag}" for tag in self.attributes.get("tags", ()))])
        why = self.explanation.sentences() if self.explanation else []
        return block(f"Trial {self.id}: {', '.join(said)}", settings({"": self.params}), lines(note.strip(), *why))

    def with_outcome(self, **changes: Any) -> Trial:
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        plain = {"params": dict(self.params), "readings": list(self.readings), "attributes": dict(self.attributes)}
        return asdict(self) | plain

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Trial:
        fields = dict(data) | {"readings": tuple(data.get("readings", ()))}
        why = fields.pop("explanation", None)
        if why is not None:
            near = tuple(Neighbour(**n) for n in why.get("neighbours", ()))
            why = Explanation(**{**why, "neighbours": near})
        return cls(**fields, explanation=why)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that was changed by hand: who, when, before and after."""

    at: float  # seconds since 1970
    who: str
    action: str
    trial_id: int | None = None
    before: Mapping[str, Any] | None = None  # only what differs
    after: Mapping[str, Any] | None = None
    note: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Event:
        return cls(**data)

    def __str__(self) -> str:
        time = datetime.fromtimestamp(self.at, UTC).strftime("%Y-%m-%d %H:%M:%S")
        what = self.action if self.trial_id is None else f"{self.action} trial {self.trial_id}"
        changed = differences(self.before, self.after)
        said = "".join([f": {', '.join(changed)}" if changed else "", f" ({self.note})" if self.note else ""])
        return printable(f"{time}  {self.who}  {what}{said}")


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
        """The complete trial with the best value that was not dropped, the earliest of equals."""
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

    def credits(self) -> Credits:
        """How much each observation tells about where the optimum is."""
        rows: Credits = self._optimizer().credits()
        return rows

    def diagnose(self) -> Diagnosis:
        """Whether to believe the model, and whether to stop."""
        found: Diagnosis = self._optimizer().diagnose()
        return found

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
        done = sum(t.in_model for t in self.trials)
        failed = [t for t in self.trials if t.state == "failed" and not t.dropped]
        counts = [count(done, "trial"), *([f"{len(failed)} failed"] if failed else []), *set_apart(self.trials)]
        head = f"Result: {', '.join(counts)} ({self.stopped})"
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

    def _repr_html_(self) -> str:
        return summary_html(f"Result ({self.stopped})", self.trials, self.direction, self.recommended)


def summary_html(title: str, trials: tuple[Trial, ...], direction: Direction, r: Recommendation | None) -> str:
    """The best and the recommended point of a run, and how many trials it has, for a notebook."""
    states = [f"{sum(t.state == state for t in trials)} {state}" for state in ("complete", "pending", "failed")]
    said, best, points = [", ".join([*states, *set_apart(trials)])], best_of(trials, direction), {}
    if best is not None:
        said.append(f"best value {best.value:.6g} (trial {best.id}, {direction}d)")
        points[f"best, trial {best.id}"] = best.params
    if r is not None:
        said.append(f"recommended trial {r.trial_id}: {r.mean:.6g} ± {r.std:.2g} by the model")
        points[f"recommended, trial {r.trial_id}"] = r.params
    return block(title, lines(*said), settings(points) if points else "")


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
    """The complete trial with the best value that was not dropped, the earliest of equals."""
    complete = [(t.value, t) for t in trials if t.in_model and t.value is not None]
    if not complete:
        return None
    pick = max if direction == "maximize" else min
    return pick(complete, key=lambda pair: pair[0])[1]


def set_apart(trials: Iterable[Trial]) -> list[str]:
    """How many trials are on record only: ``["2 dropped", "1 abandoned"]``."""
    trials = list(trials)
    counts = {"dropped": sum(t.dropped for t in trials), "abandoned": sum(t.state == "abandoned" for t in trials)}
    return [f"{n} {what}" for what, n in counts.items() if n]
