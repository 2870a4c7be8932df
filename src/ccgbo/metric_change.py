"""From some metrics to others: what becomes of what trials were measured so far.

kept       measured as before, or renamed; bounds and directions may be others
added      no trial has it until it is amended; the others count as before
removed    not looked at any more; what was measured stays on record, and counts again if it comes back
plain      the value of a trial without named metrics is that of the objective, if there is one
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ccgbo.errors import SettingError
from ccgbo.metrics import VALUE, Between, Direction, Measurement, Metrics, metrics_of
from ccgbo.records import Trial
from ccgbo.text import printable
from ccgbo.validation import shown


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsChange:
    """A change of metrics that can be meant, as ``change_metrics`` makes it."""

    old: Metrics
    """The metrics so far."""
    metrics: Metrics
    """The metrics from now on."""
    rename: Mapping[str, str]
    """New names by old ones."""
    also: tuple[str, ...] = ()
    """What else changes with them, a plain sentence each."""

    def apply(self, trial: Trial) -> Trial:
        """A trial as it is on record where the new metrics hold.

        Parameters
        ----------
        trial
            The trial under the old metrics.
        """
        before = _measured(trial)
        known = {self.rename.get(name, name): measured for name, measured in before.items()}
        if len(known) < len(before):
            raise SettingError(f"rename must keep metrics apart, but trial {trial.id} was measured in both of two.")
        goal = None if self.metrics.several else known.get(self.metrics.objective)
        if not self.metrics.plain:
            value = None if goal is None else goal.value
            return replace(trial, value=value, noise_variance=None, readings=(), metrics=known)
        if set(known) - {VALUE}:
            raise SettingError(
                f"objective must have a name where trials have named metrics, and trial {trial.id} has "
                f"{', '.join(map(repr, known))}."
            )
        if goal is None:
            return trial
        return replace(trial, value=goal.value, noise_variance=goal.noise_variance, readings=goal.readings, metrics={})

    def describe(self) -> list[str]:
        """What changes, a plain sentence each."""
        lines = [f"{printable(was)}: called {printable(now)} from now on." for was, now in self.rename.items()]
        old, new = self._old_names(), self.metrics
        for name, direction in new.objectives.items():
            was = old.objectives.get(name)
            if was is None:
                measured = "" if name in old.names else _unmeasured("; ")
                lines.append(f"{printable(name)}: an objective from now on, to {direction}{measured}.")
            elif was != direction:
                lines.append(f"{printable(name)}: to {direction}, before to {was}.")
        for name, bound in new.constraints.items():
            before = old.constraints.get(name)
            if before is None:
                measured = "" if name in old.names or name in new.objectives else _unmeasured("; ")
                lines.append(f"{printable(name)}: must be {bound} from now on{measured}.")
            elif before != bound:
                lines.append(f"{printable(name)}: must be {bound}, before {before}.")
        for name in old.objectives:
            if name not in new.objectives:
                lines.append(f"{printable(name)}: no objective any more{_on_record(name, new)}.")
        for name in old.constraints:
            if name not in new.constraints:
                lines.append(f"{printable(name)}: not bounded any more{_on_record(name, new)}.")
        return [*lines, *self.also]

    @property
    def nothing(self) -> bool:
        """Whether the metrics stay as they are."""
        return not self.describe()

    def _old_names(self) -> Metrics:
        """The metrics so far under the names that they have from now on."""
        return _renamed(self.old, self.rename)


def _unmeasured(joint: str) -> str:
    return f"{joint}trials so far have it where amend says so"


def _on_record(name: str, new: Metrics) -> str:
    return "" if name in new.names else "; what was measured stays on record"


def _measured(trial: Trial) -> dict[str, Measurement]:
    if trial.metrics or trial.value is None:
        return dict(trial.metrics)
    noise, readings = trial.noise_variance, trial.readings
    return {VALUE: Measurement(value=trial.value, noise_variance=noise, readings=readings)}


def change_metrics(
    old: Metrics,
    trials: Iterable[Trial],
    *,
    direction: Direction | None = None,
    objective: str | None = None,
    objectives: Mapping[str, Direction] | None = None,
    outcome_constraints: Mapping[str, Between] | None = None,
    rename: Mapping[str, str] | None = None,
) -> MetricsChange:
    """The change from some metrics to others; what is left out stays. Refuses what cannot be meant, by name.

    Parameters
    ----------
    old
        The metrics so far.
    trials
        The trials so far.
    direction
        Of the one objective.
    objective
        The name of the one objective.
    objectives
        All objectives by name.
    outcome_constraints
        All bounds by name; an empty mapping has none.
    rename
        New names by old ones.
    """
    trials, names = list(trials), _rename(old, rename)
    if old.plain and VALUE not in names and objective not in (None, VALUE):
        names[VALUE] = metrics_of(objective=objective).objective
    known = _renamed(old, names)
    given = metrics_of(
        **_goals(known, direction, objective, objectives),
        outcome_constraints=known.constraints if outcome_constraints is None else outcome_constraints,
    )
    if old.plain and VALUE not in names and VALUE not in given.names:
        if not given.several:
            names[VALUE] = given.objective
        elif any(trial.value is not None for trial in trials):
            example = {VALUE: given.objective}
            raise SettingError(
                f"rename must say what the values told so far are of, such as rename={example!r}: there are several "
                f"objectives, {list(given.objectives)!r}."
            )
    for name in names.values():
        if name not in given.names:
            raise SettingError(f"rename must lead to metrics that there are, {list(given.names)!r}, got {name!r}.")
    change = MetricsChange(old=old, metrics=given, rename=names)
    for trial in trials:
        change.apply(trial)  # refuses what cannot be carried over
    return change


def _rename(old: Metrics, rename: Any) -> dict[str, str]:
    if rename is None:
        return {}
    if not isinstance(rename, Mapping):
        raise SettingError(f"rename must be a mapping of old names to new ones, got {shown(rename)}.")
    for name in rename:
        if name not in old.names:
            raise SettingError(f"rename: {old.unknown(name)}")
    new = [rename.get(name, name) for name in old.names]
    if len(set(map(str, new))) < len(new):
        raise SettingError(f"rename must keep metrics apart, got {rename!r}.")
    return {was: now for was, now in rename.items() if was != now}


def _renamed(metrics: Metrics, rename: Mapping[str, str]) -> Metrics:
    return Metrics(
        {rename.get(name, name): direction for name, direction in metrics.objectives.items()},
        {rename.get(name, name): bound for name, bound in metrics.constraints.items()},
    )


def _goals(known: Metrics, direction: Any, objective: Any, objectives: Any) -> dict[str, Any]:
    """The arguments of ``metrics_of`` that say the objectives; what is left out is as it was."""
    if objectives is not None:
        return {"direction": direction, "objective": objective, "objectives": objectives}
    if direction is None and objective is None:
        return {"objectives": known.objectives}
    name = objective
    if name is None:
        if known.several:
            raise SettingError(f"direction must be left out where there are several objectives, got {direction!r}.")
        name = known.objective
    kept = known.objectives.get(name) if isinstance(name, str) else None
    if direction is None and kept is None and isinstance(name, str):
        raise SettingError(f"direction must be given for {name!r}, which is a new objective; rename= renames one.")
    return {"objective": name, "direction": kept if direction is None else direction}
