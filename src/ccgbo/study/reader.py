"""What is known of a study, as its store has it now: looking changes nothing there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack

from ccgbo.diagnosis import Diagnosis, Gain
from ccgbo.engine.optimizer import Optimizer
from ccgbo.engine.settings import Settings
from ccgbo.explanation import Credits, Explanation
from ccgbo.frames import flat_row, frame_of
from ccgbo.influence import Groups, Influence, InfluenceOptions, PointInfluence
from ccgbo.metrics import Metrics
from ccgbo.records import BestTrial, Direction, Event, Recommended, Trial, front_of
from ccgbo.result import Result
from ccgbo.space import Space
from ccgbo.storage import Place, Store, StudyRow, TrialRow, View
from ccgbo.study.copy import Copy, Times
from ccgbo.study.definition import Definition
from ccgbo.study.measured import metric_names
from ccgbo.validation import choice

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")


class StudyReader(BestTrial):
    """The questions that a study answers."""

    def __init__(self, store: Store, row: StudyRow, definition: Definition, threads: int | None) -> None:
        self.name, self._id = row.name, row.id
        self._store = store
        self._copy = Copy(row, definition, store.address, threads)

    # -- what the study is

    @property
    def path(self) -> Place:
        """The file, or the address of the database; it opens the study again, and its text has no password."""
        return self._store.path

    @property
    def space(self) -> Space:
        """What is searched, as it was when this handle last looked at the file: every call on trials looks."""
        return self._copy.definition.space

    @property
    def direction(self) -> Direction:
        """ "maximize" or "minimize": of the objective, of several the first."""
        return self._copy.definition.direction

    @property
    def metrics(self) -> Metrics:
        """The objectives and the outcome constraints, as they were when this handle last looked at the file."""
        return self._copy.definition.metrics

    def metrics_in(self, view: View) -> Metrics:
        """The same within a step on the file, as it is then."""
        return self._copy.current(view).metrics

    @property
    def settings(self) -> Settings:
        return self._copy.definition.settings

    # -- what is known

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Every trial, as the file has it now."""
        return self._read(self._copy.trials)

    def times(self) -> dict[int, Times]:
        """When each trial was asked and when it got its outcome, None before, in seconds since 1970; by id."""
        return self._read(self._copy.times)

    def records(self) -> list[TrialRow]:
        """Every trial with its times and its worker."""
        return sorted(self._read(lambda view: view.changes(-1)), key=lambda row: row.trial.id)

    def log(self) -> list[Event]:
        """What was changed by hand, oldest first: who, when, before and after."""
        return self._read(lambda view: view.events())

    def table_rows(self) -> list[dict[str, Any]]:
        """Every trial as a row of its table, see ``ccgbo.frames``."""
        return [flat_row(row.trial.to_dict(), asked_at=row.asked_at, told_at=row.told_at) for row in self.records()]

    def to_dataframe(self) -> pd.DataFrame:
        """One row per trial, see ``ccgbo.frames``; needs pandas."""
        rows = self.table_rows()
        return frame_of(rows, self.space, metric_names(self.metrics))

    def optimizer(self) -> Optimizer:
        """A copy of the optimizer as it stands, for looking; what it asks or is told stays out of the file."""
        return self._read(self._copy.new_optimizer)

    def recommend(self, aspiration: Mapping[str, float] | None = None) -> Recommended:
        """The evaluated point to use: best by posterior mean if evaluations are noisy, best seen if they are not.

        Of several objectives a few points that span the front.

        Parameters
        ----------
        aspiration
            Values of all objectives: then the one point of the front that is nearest to them.
        """
        return self._read(lambda view: self._copy.optimizer(view).recommend(aspiration))

    def pareto_front(self, *, by: Literal["value", "model"] = "value") -> list[Trial]:
        """The feasible trials that none is better than in every objective.

        Parameters
        ----------
        by
            "value" goes by the measured values, "model" by what is believed without their noise.
        """
        if choice("by", by, ("value", "model")) == "value":
            return front_of(self.trials, self.metrics)
        return self._read(lambda view: self._copy.optimizer(view).pareto_front(by="model"))

    def credits(self) -> Credits:
        """How much each observation tells about where the optimum is."""
        return self._read(lambda view: self._copy.optimizer(view).credits())

    def diagnose(self, metric: str | None = None) -> Diagnosis:
        """Whether to believe the model, and whether to stop.

        Parameters
        ----------
        metric
            Which metric's model, where metrics have names; None is the objective, of several the first.
        """
        return self._read(lambda view: self._copy.optimizer(view).diagnose(metric))

    def expected_gain(self, n: int = 10) -> Gain | None:
        """What ``n`` more evaluations are expected to gain; None where the surrogate cannot tell.

        Parameters
        ----------
        n
            How many more evaluations.
        """
        return self._read(lambda view: self._copy.optimizer(view).expected_gain(n))

    def influence(self, groups: Groups | None = None, **options: Unpack[InfluenceOptions]) -> Influence:
        """What would be believed without each observation, and what each is worth.

        Parameters
        ----------
        groups
            Observations to leave out together as well: by name the ids of trials, or a predicate of a trial.
        **options
            The other arguments of ``Optimizer.influence``.
        """
        return self._read(lambda view: self._copy.optimizer(view).influence(groups, **options))

    def influence_on(self, trial: Trial | int | Mapping[str, Any], *, top: int = 5) -> PointInfluence:
        """Which observations the prediction at a trial, or at any point, rests on, as the model sees it now.

        Parameters
        ----------
        trial
            A trial, its id, or the params of a point.
        top
            The number of observations that are named.
        """
        return self._read(lambda view: self._copy.optimizer(view).influence_on(trial, top=top))

    def explain(self, trial: Trial | int) -> Explanation:
        """Why this point was suggested, as the model saw it then."""
        return self._read(lambda view: self._copy.optimizer(view).explain(trial))

    def result(self, stopped: str = "so far") -> Result:
        return self._read(lambda view: self._copy.optimizer(view).result(stopped))

    def _read(self, work: Callable[[View], T]) -> T:
        return self._store.read(self._id, work)
