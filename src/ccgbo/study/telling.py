"""What a study is told, and what is put in line.

Each call is one step on the file: when it returns all of it is on disk; if it raises, nothing is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, overload

from ccgbo.engine.table import read_table
from ccgbo.errors import ParamsError, StorageError, TellError
from ccgbo.outcomes import outcome_of
from ccgbo.records import Trial
from ccgbo.revisions import attributes_of
from ccgbo.space import Space
from ccgbo.storage import Unit
from ccgbo.storage.base import Scope
from ccgbo.study.reader import StudyReader
from ccgbo.study.steps import add_told, asked_params, enqueue, settle, tell

T = TypeVar("T")


class StudyTeller(StudyReader):
    """A study that takes outcomes and points of the user's own."""

    def tell(
        self,
        trial: Trial | int | Mapping[str, Any],
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
        """Record the outcome of a trial, or of a point evaluated elsewhere: ``tell(params, value)``.

        Parameters
        ----------
        trial
            A trial that was asked for, its id, or the params of a point evaluated elsewhere.
        value
            The value of the objective: a number, a list of readings, or a tuple (value, standard_error); a mapping of
            the metrics to these where they have names, ``{"yield": 71.5, "cost": 3.2}``. None and NaN: not measured.
        failed
            That the evaluation gave no value; then ``value`` is left out.
        noise_variance
            The variance of the value's error, where it is known; by name where metrics have names.
        error
            Why it failed.
        params
            The settings that were really used, where they are not those that were asked for; also outside the bounds.
        note
            Anything to remember about the trial.
        tags
            Words to find it by.
        attributes
            More to keep with it, by name: plain data as JSON has it.
        """
        said = attributes_of(note, tags, attributes)

        if isinstance(trial, Mapping) and params is not None:
            raise TellError(f"params must be None where trial is a point itself, got {params!r}.")

        def step(unit: Unit) -> Trial:
            known = self._copy.current(unit)
            outcome = outcome_of(
                value, failed=failed, noise_variance=noise_variance, error=error, metrics=known.metrics
            )
            if isinstance(trial, Mapping):
                return add_told(unit, [_told(known.space, trial, outcome, said)])[0]
            return tell(unit, known.space, trial, outcome, params, said)

        return self._write(step, "study" if isinstance(trial, Mapping) else "trials")

    def tell_many(self, params: Any, values: Iterable[Any], *, noise_variance: Any = None) -> list[Trial]:
        """Record many evaluations made elsewhere, all or none.

        Parameters
        ----------
        params
            A list of params, or a DataFrame.
        values
            Their values, each as ``tell`` takes it; where metrics have names, also a DataFrame with a column for each.
        noise_variance
            Of their errors: one for all, one for each, or None where unknown.
        """
        values = values if isinstance(values, list) or hasattr(values, "to_dict") else list(values)  # may be done again

        def tell_all(unit: Unit) -> list[Trial]:
            known = self._copy.current(unit)
            space = known.space
            rows, outcomes = read_table(params, values, noise_variance, space, known.metrics)
            points = [Trial(id=-1, params=space.canonical(row)) for row in rows]
            return add_told(unit, [point.with_outcome(**o) for point, o in zip(points, outcomes, strict=True)])

        return self._write(tell_all)

    def add_told(self, trials: Iterable[Trial]) -> list[Trial]:
        """Take in finished trials from elsewhere under new ids, all or none."""
        told = list(trials)  # a step may be done again
        return self._write(lambda unit: add_told(unit, told))

    def tell_rows(self, plan: Callable[[Mapping[int, Trial]], tuple[list[Trial], list[Trial]]]) -> list[Trial]:
        """Take in changed trials and finished trials from elsewhere under new ids, in one write.

        ``plan`` sees every trial as the file has it and returns both lists; what it raises leaves the file as it was. A
        changed trial is an outcome of a pending one, or an amendment, which is an event in the log.
        """
        space, metrics = self.space, self.metrics

        def tell_all(unit: Unit) -> list[Trial]:
            known = {trial.id: trial for trial in self._copy.trials(unit)}
            for what, is_same in (("the space", self.space == space), ("a metric", self.metrics == metrics)):
                if not is_same:
                    raise StorageError(f"{what} of the study was changed meanwhile; nothing was told. Do it again.")
            changed, told = plan(known)
            return [settle(unit, known[trial.id], trial) for trial in changed] + add_told(unit, told)

        return self._write(tell_all)

    @overload
    def enqueue(self, params: Mapping[str, Any], *, note: str | None = None) -> Trial: ...
    @overload
    def enqueue(self, params: Iterable[Mapping[str, Any]], *, note: str | None = None) -> list[Trial]: ...
    def enqueue(
        self, params: Mapping[str, Any] | Iterable[Mapping[str, Any]], *, note: str | None = None
    ) -> Trial | list[Trial]:
        """Points to evaluate before anything is suggested: the next asks give them out, in this order.

        Parameters
        ----------
        params
            A point of the space, or several, all or none; of one point the trial is returned instead of a list.
        note
            Anything to remember about them.
        """
        said = attributes_of(note)
        points = [params] if isinstance(params, Mapping) else list(params)
        trials = self._write(lambda unit: enqueue(unit, _points(self._copy.space(unit), points, said)))
        return trials[0] if isinstance(params, Mapping) else trials

    def begin_with(self, points: Sequence[Mapping[str, Any]]) -> list[Trial]:
        """Enqueue those of the points that the study does not have yet, so that a run can be started again.

        Parameters
        ----------
        points
            Points of the space, each as often as it shall be evaluated.
        """

        def step(unit: Unit) -> list[Trial]:
            known = asked_params(unit, self._copy.trials(unit))
            return enqueue(unit, _without(_points(self._copy.space(unit), points, {}), known))

        return self._write(step)

    def _write(self, work: Callable[[Unit], T], scope: Scope = "study") -> T:
        return self._store.write(self._id, work, scope=scope)


def _told(space: Space, params: Mapping[str, Any], outcome: Mapping[str, Any], said: Mapping[str, Any]) -> Trial:
    """A finished trial from elsewhere."""
    space.encode(params)  # refuses what is no point of the space
    return Trial(id=-1, params=space.canonical(params), attributes=said).with_outcome(**outcome)


def _points(space: Space, points: Sequence[Mapping[str, Any]], said: Mapping[str, Any]) -> list[Trial]:
    """Trials to enqueue; refuses what is not in the space."""
    for point in points:
        if (why := space.outside(point)) is not None:
            raise ParamsError(f"params must be a point of the space, got {point!r}: {why}")
    return [Trial(id=-1, params=space.canonical(point), attributes=said) for point in points]


def _without(trials: Iterable[Trial], known: Iterable[Mapping[str, Any]]) -> list[Trial]:
    """The trials but for as many of each point as are known."""
    counts = Counter(repr(dict(params)) for params in known)
    left = []
    for trial in trials:
        point = repr(dict(trial.params))
        if counts[point] > 0:
            counts[point] -= 1
        else:
            left.append(trial)
    return left
