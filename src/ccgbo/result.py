"""What an optimisation found."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

from ccgbo.diagnosis import Diagnosis
from ccgbo.errors import NoObservationsError, UnsupportedError
from ccgbo.explanation import Credits, Explanation
from ccgbo.frames import flat_row, frame_of
from ccgbo.influence import Groups, Influence, InfluenceOptions, PointInfluence
from ccgbo.markup import block, lines, settings
from ccgbo.metrics import VALUE, Direction, Metrics
from ccgbo.records import (
    BestTrial,
    Recommendation,
    Recommended,
    Trial,
    as_tuple,
    best_of,
    front_of,
    no_value_of,
    set_apart,
)
from ccgbo.text import count, printable, reason, shorten

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class Result(BestTrial):
    """What an optimisation found, and the optimizer that found it: figures and reports take a result as it is."""

    trials: tuple[Trial, ...]
    direction: Direction
    recommended: Recommended | None = None  # see recommend()
    stopped: str = "all trials done"
    found_by: Any = field(default=None, repr=False, compare=False)  # the optimizer itself, see optimizer()
    named: Metrics | None = None  # objectives and outcome constraints, where they have names

    @property
    def metrics(self) -> Metrics:
        """The objectives and the outcome constraints."""
        return Metrics({VALUE: self.direction}) if self.named is None else self.named

    def optimizer(self) -> Any:
        """A copy of the optimizer, for looking and for going on; of a study that went on since, as it is now."""
        return copy.deepcopy(self._optimizer())

    def recommend(self, aspiration: Mapping[str, float] | None = None) -> Recommended:
        """The evaluated point to use: best by posterior mean if evaluations are noisy, best seen if they are not.

        Of several objectives a few points that span the front, or the one nearest to an ``aspiration``.
        """
        if aspiration is not None:
            nearest: Recommended = self._optimizer().recommend(aspiration)
            return nearest
        if self.recommended is None:
            raise NoObservationsError(no_value_of(self.trials, self.metrics))
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
        names = () if self.named is None else self.named.names
        return frame_of([flat_row(trial.to_dict()) for trial in self.trials], space, names)

    def __reduce__(self) -> tuple[Any, ...]:
        try:
            found_by = pickle.dumps(self.found_by)
        except Exception:  # a lambda as a constraint must not keep the values from being saved
            found_by = pickle.dumps(None)
        return _unpickled, (self.trials, self.direction, self.recommended, self.stopped, found_by, self.named)

    def __repr__(self) -> str:
        done = sum(t.in_model for t in self.trials)
        failed = [t for t in self.trials if t.state == "failed" and not t.dropped]
        counts = [count(done, "trial"), *([f"{len(failed)} failed"] if failed else []), *set_apart(self.trials)]
        head = f"Result: {', '.join(counts)} ({self.stopped})"
        lines = [head, *(self._front_lines() if self.metrics.several else self._best_lines())]
        if failed:
            lines.append(f"  last error   trial {failed[-1].id}: {shorten(reason(failed[-1].error), 200)}")
        return "\n".join(lines)

    def _best_lines(self) -> list[str]:
        best, lines = best_of(self.trials, self.metrics), []
        if best is None:
            lines.append("  no feasible value yet" if self.metrics.constraints else "  no value yet")
        else:
            lines.append(f"  best value   {best.value:.6g}   (trial {best.id}, {self.direction}d)")
            lines += _assignments(best.params)
        for r in as_tuple(self.recommended):
            lines.append(f"  recommended  {recommended_words(r)}")
            lines += _assignments(r.params) if best is None or r.trial_id != best.id else []
        return lines

    def _front_lines(self) -> list[str]:
        front = self.pareto_front()
        lines = [f"  front        {count(len(front), 'trial')} of {', '.join(self.metrics.describe())}"]
        if not front and any(trial.in_model for trial in self.trials):
            lines.append(f"  {no_value_of(self.trials, self.metrics)}")
        return [*lines, *(f"  recommended  {recommended_words(r)}" for r in as_tuple(self.recommended))]

    def _repr_html_(self) -> str:
        return summary_html(f"Result ({self.stopped})", self.trials, self.metrics, self.recommended)


def summary_html(title: str, trials: tuple[Trial, ...], goal: Direction | Metrics, found: Recommended | None) -> str:
    """The best and the recommended point of a run, and how many trials it has, for a notebook."""
    metrics = goal if isinstance(goal, Metrics) else Metrics({VALUE: goal})
    states = [f"{sum(t.state == state for t in trials)} {state}" for state in ("complete", "pending", "failed")]
    said, best, points = [", ".join([*states, *set_apart(trials)])], best_of(trials, metrics), {}
    if best is not None:
        said.append(f"best value {best.value:.6g} (trial {best.id}, {metrics.direction}d)")
        points[f"best, trial {best.id}"] = best.params
    if metrics.several:
        said.append(f"front of {count(len(front_of(trials, metrics)), 'trial')}")
    for r in as_tuple(found):
        said.append(f"recommended {recommended_words(r)}")
        points[f"recommended, trial {r.trial_id}"] = r.params
    return block(title, lines(*said), settings(points) if points else "")


def recommended_words(r: Recommendation) -> str:
    """``trial 17: 71.2 ± 0.5 by the model``."""
    if not r.metrics:
        return f"trial {r.trial_id}: {r.mean:.6g} ± {r.std:.2g} by the model"
    values = ", ".join(f"{printable(name)} {mean:.6g} ± {std:.2g}" for name, (mean, std) in r.metrics.items())
    chance = "" if r.feasibility is None else f", feasible with probability {r.feasibility:.2g}"
    return f"trial {r.trial_id}: {values} by the model{chance}"


def _unpickled(
    trials: tuple[Trial, ...],
    direction: Direction,
    found: Recommended | None,
    stopped: str,
    found_by: bytes,
    named: Metrics | None = None,
) -> Result:
    return Result(
        trials=trials,
        direction=direction,
        recommended=found,
        stopped=stopped,
        found_by=pickle.loads(found_by),
        named=named,
    )


def _assignments(params: Mapping[str, Any]) -> list[str]:
    names = [printable(name) for name in params]
    width = max(map(len, names), default=0)
    return [f"    {name:<{width}} = {_short(value)}" for name, value in zip(names, params.values())]


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else printable(repr(value))
