"""Frozen records of what was asked and told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

import numpy as np

from ccgbo.arrays import Array
from ccgbo.errors import NoObservationsError, SettingError, UnsupportedError
from ccgbo.explanation import Explanation, Neighbour
from ccgbo.markup import block, lines, settings
from ccgbo.metrics import VALUE, Measurement, Metrics, feasible
from ccgbo.metrics import Direction as Direction
from ccgbo.pareto import hypervolume, non_dominated, reference_point
from ccgbo.text import differences, printable, reason
from ccgbo.validation import number, shown

State = Literal["pending", "complete", "failed", "abandoned"]
Origin = Literal["design", "model", "enqueued", "external"]

NO_VALUE = "no observation yet: no trial has a value."
NO_FEASIBLE = "no trial was measured to keep every outcome constraint yet."


def no_value_of(trials: Iterable[Trial], metrics: Metrics) -> str:
    """Why none is the best: no trial counts, none has an objective, or all of them, or none is feasible."""
    done = [trial for trial in trials if trial.in_model]
    missing = [name for name in metrics.objectives if not any(name in trial.values for trial in done)]
    if done and missing:
        return f"no observation of {' and '.join(map(repr, missing))} yet, only of other metrics."
    if done and not _with_objectives(done, metrics):
        return f"no trial has a value of every objective yet, {list(metrics.objectives)!r}."
    return NO_FEASIBLE if done and metrics.constraints else NO_VALUE


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
    metrics: Mapping[str, Measurement] = field(default_factory=dict)  # by name, where metrics have names

    @property
    def values(self) -> dict[str, float]:
        """What was measured, by the names of the metrics; of a trial without named metrics ``{"value": ...}``."""
        if self.metrics or self.value is None:
            return {name: measured.value for name, measured in self.metrics.items()}
        return {VALUE: self.value}

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
        said += [f"{printable(name)} {value:.6g}" for name, value in self.values.items()]
        note = " ".join([str(self.attributes.get("note", "")), *(f"#{tag}" for tag in self.attributes.get("tags", ()))])
        why = self.explanation.sentences() if self.explanation else []
        return block(f"Trial {self.id}: {', '.join(said)}", settings({"": self.params}), lines(note.strip(), *why))

    def with_outcome(self, **changes: Any) -> Trial:
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        plain = {
            "params": dict(self.params),
            "readings": list(self.readings),
            "attributes": dict(self.attributes),
            "metrics": {name: measured.to_dict() for name, measured in self.metrics.items()},
        }
        return asdict(replace(self, params={}, attributes={}, metrics={})) | plain

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Trial:
        measured = {name: Measurement.from_dict(m) for name, m in (data.get("metrics") or {}).items()}
        fields = dict(data) | {"readings": tuple(data.get("readings", ())), "metrics": measured}
        why = fields.pop("explanation", None)
        if why is not None:
            near = tuple(Neighbour(**n) for n in why.get("neighbours", ()))
            said = {name: (mean, std) for name, (mean, std) in (why.get("metrics") or {}).items()}
            why = Explanation(**{**why, "neighbours": near, "metrics": said})
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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Recommendation:
    """A point to use, in the user's units: the best by posterior mean, or one of a front of several objectives."""

    trial_id: int
    params: Mapping[str, Any]
    mean: float
    """Of the objective, of several the first."""
    std: float
    metrics: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Posterior mean and standard deviation of every metric, where metrics have names."""
    feasibility: float | None = None
    """The probability that it keeps every outcome constraint; None without any, or while one was never measured."""

    def __repr__(self) -> str:
        said = {f.name: getattr(self, f.name) for f in fields(self)}
        shown = [f"{name}={value!r}" for name, value in said.items() if value not in ({}, None)]
        return f"Recommendation({', '.join(shown)})"


Recommended = Recommendation | tuple[Recommendation, ...]
"""One point, or of several objectives a few that span the front."""


def as_tuple(found: Recommended | None) -> tuple[Recommendation, ...]:
    """All that is recommended, one or several or nothing."""
    return () if found is None else found if isinstance(found, tuple) else (found,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypervolume:
    """The volume that a front dominates above a reference point, and which point that was; ``float()`` takes it."""

    value: float
    reference: Mapping[str, float]

    def __float__(self) -> float:
        return self.value


class HasTrials(Protocol):
    """What a best trial is found among."""

    @property
    def trials(self) -> tuple[Trial, ...]: ...
    @property
    def metrics(self) -> Metrics: ...


class BestTrial:
    """The best of the trials, alike for an optimizer, a study and a result: without a value, NoObservationsError."""

    __slots__ = ()

    @property
    def best_trial(self: HasTrials) -> Trial:
        """The complete trial with the best value that was not dropped and broke no bound, the earliest of equals."""
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

    def pareto_front(self: HasTrials) -> list[Trial]:
        """The feasible trials that none is better than in every objective, by the measured values."""
        return front_of(self.trials, self.metrics)

    def hypervolume(self: HasTrials, reference: Mapping[str, float] | None = None) -> Hypervolume:
        """The volume that the front dominates above a reference point, and which point that was.

        Parameters
        ----------
        reference
            A value of each objective that is just too bad; None takes one beyond the worst of the front.
        """
        return hypervolume_of(self.trials, self.metrics, reference)


def _best_of(source: HasTrials) -> Trial:
    trials = source.trials  # a study looks whether its metrics were changed
    metrics = source.metrics
    if metrics.several:
        raise UnsupportedError(
            "several objectives have no best trial: pareto_front() has those that none is better than."
        )
    best = best_of(trials, metrics)
    if best is None:
        raise NoObservationsError(no_value_of(trials, metrics))
    return best


def best_of(trials: Iterable[Trial], goal: Direction | Metrics) -> Trial | None:
    """The complete trial with the best value that was not dropped and broke no bound, the earliest of equals.

    None where there is none, and where there are several objectives.
    """
    metrics = goal if isinstance(goal, Metrics) else Metrics({VALUE: goal})
    if metrics.several:
        return None
    complete = [(t.value, t) for t in feasible_trials(trials, metrics) if t.value is not None]
    if not complete:
        return None
    pick = max if metrics.direction == "maximize" else min
    return pick(complete, key=lambda pair: pair[0])[1]


def feasible_trials(trials: Iterable[Trial], metrics: Metrics) -> list[Trial]:
    """The trials that count and were measured to keep every outcome constraint."""
    return [t for t in trials if t.in_model and feasible(t.values, metrics) is True]


def front_of(trials: Iterable[Trial], metrics: Metrics) -> list[Trial]:
    """The feasible trials with every objective that no other is better than, by the measured values."""
    known = _with_objectives(feasible_trials(trials, metrics), metrics)
    kept = non_dominated(objective_rows(known, metrics))
    return [trial for trial, stays in zip(known, kept, strict=True) if stays]


def objective_rows(trials: Iterable[Trial], metrics: Metrics) -> Array:  # (q, m)
    """The objectives of trials that have them all, to be maximised."""
    rows = [[metrics.sign(name) * t.values[name] for name in metrics.objectives] for t in trials]
    return np.array(rows, dtype=float).reshape(len(rows), len(metrics.objectives))


def hypervolume_of(trials: Iterable[Trial], metrics: Metrics, reference: Any = None) -> Hypervolume:
    """The volume that the front dominates; the reference point, by name, is inferred where it is not given."""
    trials = list(trials)
    known, front = _with_objectives(trials, metrics), front_of(trials, metrics)
    signs = np.array([metrics.sign(name) for name in metrics.objectives])
    Y = objective_rows(front, metrics)
    if reference is None:
        if not front:
            raise NoObservationsError(no_value_of(trials, metrics))
        r = reference_point(objective_rows(known, metrics), Y)
    else:
        r = signs * np.array(list(numbers_of("reference", reference, metrics).values()))
    named = dict(zip(metrics.objectives, (signs * r).tolist(), strict=True))
    return Hypervolume(value=hypervolume(Y, r), reference=named)


def numbers_of(argument: str, given: Any, metrics: Metrics) -> dict[str, float]:
    """A finite number for each of the objectives, in their order."""
    if not isinstance(given, Mapping) or set(given) != set(metrics.objectives):
        rule = f"a mapping with the objectives {list(metrics.objectives)}"
        raise SettingError(f"{argument} must be {rule}, got {shown(given)}.")
    return {name: number(f"{argument}[{name!r}]", given[name]) for name in metrics.objectives}


def _with_objectives(trials: Iterable[Trial], metrics: Metrics) -> list[Trial]:
    return [t for t in trials if t.in_model and all(name in t.values for name in metrics.objectives)]


def set_apart(trials: Iterable[Trial]) -> list[str]:
    """How many trials are on record only: ``["2 dropped", "1 abandoned"]``."""
    trials = list(trials)
    counts = {"dropped": sum(t.dropped for t in trials), "abandoned": sum(t.state == "abandoned" for t in trials)}
    return [f"{n} {what}" for what, n in counts.items() if n]
