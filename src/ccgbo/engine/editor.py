"""What is done to an optimizer's trials by hand: correct, drop, give up, put in line, describe; and the log of it.

Each is a function of ``ccgbo.revisions`` from one record to the next, which a study applies to its file as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, overload

from ccgbo.engine.metric_settings import resuited
from ccgbo.engine.models import Models
from ccgbo.engine.reader import OptimizerReader
from ccgbo.engine.settings import Settings
from ccgbo.metric_change import MetricsChange, change_metrics
from ccgbo.metrics import Between, Direction
from ccgbo.outcomes import correction_of
from ccgbo.records import Event, Trial
from ccgbo.revisions import (
    CHANGE_SPACE,
    abandon,
    amend,
    annotate,
    attributes_of,
    change_event,
    check_points,
    drop,
    event,
    metrics_event,
    restore,
    used_params,
)
from ccgbo.space import Space, as_space
from ccgbo.space.change import Change, change_space


class OptimizerEditor(OptimizerReader):
    """The corrections that an optimizer takes; the next ``ask`` sees the model of what holds then."""

    # -- points of the user's own

    @overload
    def enqueue(self, params: Mapping[str, Any], *, note: str | None = None) -> Trial: ...
    @overload
    def enqueue(self, params: Sequence[Mapping[str, Any]], *, note: str | None = None) -> list[Trial]: ...
    def enqueue(
        self, params: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, note: str | None = None
    ) -> Trial | list[Trial]:
        """Put points of one's own in line: the next ``ask`` gives them out first, in this order.

        Parameters
        ----------
        params
            One point, or a list of them, all or none; each must be a point of the space.
        note
            What to remember about them.
        """
        attributes = attributes_of(note)
        points = check_points([params] if isinstance(params, Mapping) else params, self.space)
        trials = [self._enqueue(point, attributes) for point in points]
        return trials[0] if isinstance(params, Mapping) else trials

    def _enqueue(self, params: Mapping[str, Any], attributes: Mapping[str, Any]) -> Trial:
        trial = self._history.revise(annotate(self._history.add(params, "enqueued"), attributes))
        self._queue.append(trial.id)
        self._log.append(event("enqueue", None, trial))
        return trial

    def register(self, params: Mapping[str, Any]) -> Trial:
        """A point that somebody evaluates without having asked for it: pending from now on, to be told like any other.

        Parameters
        ----------
        params
            The point.
        """
        self.space.encode(params)  # refuses what is not in the space
        return self._history.add(params, "external")

    # -- corrections

    def amend(
        self,
        trial: Trial | int,
        value: Any = None,
        *,
        failed: bool = False,
        noise_variance: float | None = None,
        error: str | None = None,
        params: Mapping[str, Any] | None = None,
        note: str | None = None,
        tags: Sequence[str] | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> Trial:
        """Correct the outcome of a trial that has one, or give one to a trial that was abandoned.

        Parameters
        ----------
        trial
            The trial, or its id.
        value
            What holds instead: a number, a list of readings, or a tuple (value, standard_error); left out where only
            ``params`` are corrected.
        failed
            That the evaluation gave no value; then ``value`` is left out.
        noise_variance
            The variance of the value's error, where it is known.
        error
            Why it failed.
        params
            The settings that were really used, as far as they are others; they may lie outside the bounds.
        note
            Anything to remember about the trial.
        tags
            Words to find it by.
        attributes
            More to keep with it, by name: plain data as JSON has it.
        """
        known = self._history.find(trial)
        said_of_it: dict[str, Any] = {"failed": failed, "noise_variance": noise_variance, "error": error}
        outcome = correction_of(value, params, known, self.metrics, **said_of_it)
        used = None if params is None else used_params(known, params, self.space)
        said = attributes_of(note, tags, attributes)
        return self._revise("amend", known, amend(known, outcome, params=used, attributes=said))

    def drop(self, trial: Trial | int, *, note: str | None = None) -> Trial:
        """Take a trial out of the model and keep it on record; a failure is no place to avoid any more.

        Parameters
        ----------
        trial
            A complete or failed trial, or its id.
        note
            Why, for the log.
        """
        known = self._history.find(trial)
        return self._revise("drop", known, drop(known), note)

    def restore(self, trial: Trial | int, *, note: str | None = None) -> Trial:
        """Put a dropped trial back into the model.

        Parameters
        ----------
        trial
            The trial, or its id.
        note
            Why, for the log.
        """
        known = self._history.find(trial)
        return self._revise("restore", known, restore(known), note)

    def abandon(self, trial: Trial | int, *, note: str | None = None) -> Trial:
        """Give up a pending trial: no value, no place to avoid; ``amend`` brings it back.

        Parameters
        ----------
        trial
            The trial, or its id.
        note
            Why, for the log.
        """
        known = self._history.find(trial)
        return self._revise("abandon", known, abandon(known), note)

    def annotate(self, trial: Trial | int, /, **attributes: Any) -> Trial:
        """Keep a note, tags or anything else with a trial: ``annotate(17, note="oven door open", operator="kim")``.

        Parameters
        ----------
        trial
            The trial, or its id.
        **attributes
            ``note``, a text; ``tags``, a list of texts; anything else as plain data. None removes what was there.
        """
        known = self._history.find(trial)
        return self._revise("annotate", known, annotate(known, attributes))

    def _revise(self, action: str, before: Trial, after: Trial, note: str | None = None) -> Trial:
        self._log.append(event(action, before, after, note))
        return self._history.revise(after)

    # -- the space

    def change_space(
        self,
        space: Space | Mapping[str, Any],
        *,
        constraint: Any = None,
        defaults: Mapping[str, Any] | None = None,
        rename: Mapping[str, str] | None = None,
        fixed: Mapping[str, Any] | None = None,
        marginal: Iterable[str] = (),
    ) -> Change:
        """Search another space from now on, and keep every trial; what changes is returned, ``describe()`` says it.

        Trials outside the new bounds stay in the model where they have a position; ``outside`` has the others. The
        next suggestion is what a new optimizer with these trials would make.

        Parameters
        ----------
        space
            The space from now on.
        constraint
            What a point must satisfy besides the constraints of ``space``.
        defaults
            Values that trials so far have of parameters that are new.
        rename
            New names by old ones.
        fixed
            Parameters that have one value from now on; trials elsewhere leave the model.
        marginal
            Parameters that are left out; trials at any of their values stay in the model and differ by noise.
        """
        new = space if constraint is None else as_space(space, constraint)
        change = change_space(self.space, new, defaults=defaults, rename=rename, fixed=fixed, marginal=marginal)
        prior = None if self._prior is None else self._prior.carried(change.space, change.rename)
        history = self._history.carried_over(change)
        self.space, self._prior, self._history = change.space, prior, history
        self._models = Models()
        self._log.append(change_event(change))
        return change

    # -- the metrics

    def change_metrics(
        self,
        *,
        direction: Direction | None = None,
        objective: str | None = None,
        objectives: Mapping[str, Direction] | None = None,
        outcome_constraints: Mapping[str, Between] | None = None,
        rename: Mapping[str, str] | None = None,
    ) -> MetricsChange:
        """Measure something else from now on, and keep every trial; what is left out stays as it is.

        What changes is returned, ``describe()`` says it. The value of trials without named metrics becomes that of the
        objective; metrics that are new are told of earlier trials by ``amend(trial, {"impurity": 0.01})``. Models are
        fitted anew.

        Parameters
        ----------
        direction
            Of the objective, where there is one.
        objective
            The name of the objective, where there is one.
        objectives
            All objectives by name.
        outcome_constraints
            All bounds by name; an empty mapping has none.
        rename
            New names by old ones: ``{"value": "yield"}``.
        """
        change = change_metrics(
            self.metrics,
            self.trials,
            direction=direction,
            objective=objective,
            objectives=objectives,
            outcome_constraints=outcome_constraints,
            rename=rename,
        )
        settings, change = settings_after(self.settings, change)
        if change.nothing:
            return change
        history = self._history.with_metrics(change.metrics)
        for trial in self.trials:
            history.revise(change.apply(trial))
        self.metrics, self.settings, self._history = change.metrics, settings, history
        self._models = Models()
        self._log.append(metrics_event(change))
        return change

    def log(self) -> list[Event]:
        """What was done by hand, oldest first: who, when, before and after."""
        return list(self._log)


def settings_after(settings: Settings, change: MetricsChange) -> tuple[Settings, MetricsChange]:
    """The settings that suit changed metrics, and the change with what that means."""
    if change.nothing:
        return settings, change
    suited = resuited(settings, change.metrics)
    if suited.acquisition == settings.acquisition:
        return suited, change
    said = [f"the acquisition is {suited.acquisition!r} from now on, before {settings.acquisition!r}."]
    if suited.credit.strength == 0.0 != settings.credit.strength:
        said.append("credit is off from now on.")
    return suited, replace(change, also=tuple(said))


def moved_by(log: Iterable[Event], ids: Iterable[int]) -> set[int]:
    """Trials whose params are no longer those that were given out, as far as a log tells."""
    if any(entry.action == CHANGE_SPACE for entry in log):
        return set(ids)
    return {entry.trial_id for entry in log if entry.trial_id is not None and "params" in (entry.before or {})}
