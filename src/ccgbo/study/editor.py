"""What is corrected in a study by hand: trials, the space and the metrics.

Each call is one step on the file. When it returns all of it is on disk, with an event in the log that says who did
what; if it raises, nothing is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ccgbo.metric_change import MetricsChange
from ccgbo.metrics import Between, Direction
from ccgbo.outcomes import correction_of
from ccgbo.records import Trial
from ccgbo.revisions import abandon, amend, annotate, attributes_of, drop, restore, used_params
from ccgbo.space import Change, Space, as_space, change_space
from ccgbo.storage import Unit
from ccgbo.study.definition import Definition
from ccgbo.study.steps import measure_anew, move, revise
from ccgbo.study.telling import StudyTeller


class StudyEditor(StudyTeller):
    """A study whose trials and whose space are changed."""

    # -- trials

    def amend(
        self,
        trial: Trial | int,
        value: Any = None,
        *,
        failed: bool = False,
        noise_variance: float | Mapping[str, float | None] | None = None,
        error: str | None = None,
        params: Mapping[str, Any] | None = None,
        note: str | None = None,
        tags: Sequence[str] | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> Trial:
        """Correct the outcome of a trial that has one, or give one to a trial that was abandoned.

        The trial keeps its id, its place in the order of outcomes and why it was suggested.

        Parameters
        ----------
        trial
            A trial or its id.
        value
            What holds instead, as ``tell`` takes it; left out where only ``params`` are corrected. Of named metrics
            those that it has, the others stay: ``{"impurity": 0.01}``; None takes one back.
        failed
            That there is no value after all; then ``value`` is left out.
        noise_variance
            The variance of the value's error, where it is known.
        error
            Why it failed.
        params
            The settings that were really used, where the trial has others; also outside the bounds.
        note
            Anything to remember about the trial.
        tags
            Words to find it by.
        attributes
            More to keep with it, by name: plain data as JSON has it.
        """
        said = attributes_of(note, tags, attributes)

        def step(unit: Unit) -> Trial:
            def changed(known: Trial) -> Trial:
                now = self._copy.current(unit)
                used = None if params is None else used_params(known, params, now.space)
                said_of_it: dict[str, Any] = {"failed": failed, "noise_variance": noise_variance, "error": error}
                outcome = correction_of(value, params, known, now.metrics, **said_of_it)
                return amend(known, outcome, params=used, attributes=said)

            return revise(unit, "amend", trial, changed)

        return self._write(step, "trials")

    def drop(self, trial: Trial | int, *, note: str | None = None) -> Trial:
        """Take a trial out of the model and keep it on record.

        Parameters
        ----------
        trial
            A complete or failed trial, or its id.
        note
            Why, for the log.
        """
        return self._write(lambda unit: revise(unit, "drop", trial, drop, note), "trials")

    def restore(self, trial: Trial | int, *, note: str | None = None) -> Trial:
        """Put a dropped trial back into the model.

        Parameters
        ----------
        trial
            A dropped trial, or its id.
        note
            Why, for the log.
        """
        return self._write(lambda unit: revise(unit, "restore", trial, restore, note), "trials")

    def abandon(self, trial: Trial | int, *, note: str | None = None) -> Trial:
        """Give up a pending trial: no trace in the model, no place to avoid, no count.

        Parameters
        ----------
        trial
            A pending trial, or its id.
        note
            Why, for the log.
        """
        return self._write(lambda unit: revise(unit, "abandon", trial, abandon, note), "trials")

    def annotate(self, trial: Trial | int, /, **attributes: Any) -> Trial:
        """Keep something with a trial: ``annotate(17, note="oven 3", tags=["repeat"], operator="kim")``.

        Parameters
        ----------
        trial
            Any trial, or its id.
        **attributes
            By name, plain data as JSON has it; None removes one.
        """
        return self._write(
            lambda unit: revise(unit, "annotate", trial, lambda known: annotate(known, attributes)), "trials"
        )

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

        Other processes that have the study open go on in the new space with their next call. The next suggestion is
        what a new study with these trials would make.

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
        new, gone = as_space(space, constraint), tuple([marginal] if isinstance(marginal, str) else marginal)

        def step(unit: Unit) -> tuple[Change, Definition, int]:
            old, n_changes = self._copy.space(unit), unit.row().n_changes
            change = change_space(old, new, defaults=defaults, rename=rename, fixed=fixed, marginal=gone)
            if change.nothing:
                return change, self._copy.definition, n_changes
            return change, move(unit, self._copy, change), n_changes + 1

        change, definition, n_changes = self._write(step)
        self._copy.adopt(definition, n_changes)
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
        objective; metrics that are new are told of earlier trials by ``amend(trial, {"impurity": 0.01})``. Other
        processes that have the study open go on with the new metrics with their next call.

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
        wanted: dict[str, Any] = {
            "direction": direction,
            "objective": objective,
            "objectives": objectives,
            "outcome_constraints": outcome_constraints,
            "rename": rename,
        }
        change, definition, n_changes = self._write(lambda unit: measure_anew(unit, self._copy, wanted))
        self._copy.adopt(definition, n_changes)
        return change
