"""What an optimizer knows: its trials, its model, and what the next step would look at. Looking changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from ccgbo.diagnosis import Diagnosis, Gain
from ccgbo.engine.core import OptimizerCore
from ccgbo.engine.diagnostics import diagnose
from ccgbo.engine.explain import credit_rows, scored_trials
from ccgbo.engine.history import Data
from ccgbo.engine.influence import influence, members_of
from ccgbo.engine.metric_stopping import gains_of
from ccgbo.engine.proposal import question
from ccgbo.engine.reasons import reasons_for, reasons_for_next
from ccgbo.engine.recommend import believed_front, recommend, require_plain
from ccgbo.engine.threads import blas_threads
from ccgbo.errors import SettingError
from ccgbo.explanation import Credits, Explanation
from ccgbo.frames import flat_row, frame_of
from ccgbo.influence import Groups, Influence, PointInfluence
from ccgbo.metrics import Direction
from ccgbo.records import (
    Recommended,
    Trial,
    front_of,
    set_apart,
)
from ccgbo.result import Result, summary_html
from ccgbo.text import count
from ccgbo.validation import choice, flag, whole_number

if TYPE_CHECKING:
    import pandas as pd


class OptimizerReader(OptimizerCore):
    """The questions that an optimizer answers."""

    def __repr__(self) -> str:
        h = self._history
        counts = [count(len(h.complete), "observation"), f"{len(h.pending)} pending", *set_apart(self.trials)]
        goal = f"direction={self.direction!r}" if self.metrics.plain else "; ".join(self.metrics.describe())
        return f"Optimizer({goal}, {', '.join(counts)},\nspace = {self.space!r},\nsettings = {self.settings!r})"

    def _repr_html_(self) -> str:
        goal = f"to {self.direction}" if self.metrics.plain else ", ".join(self.metrics.describe())
        return summary_html(f"Optimizer, {goal}", self.trials, self.metrics, self._recommended())

    @property
    def direction(self) -> Direction:
        """ "maximize" or "minimize": of the objective, of several the first."""
        return self.metrics.direction

    # -- what is known

    @property
    def trials(self) -> tuple[Trial, ...]:
        return tuple(self._history.trials.values())

    def trial(self, trial_id: int) -> Trial:
        """The trial with this id, as it stands.

        Parameters
        ----------
        trial_id
            As ``ask`` and ``tell`` gave it.
        """
        return self._history.find(trial_id)

    @property
    def pending(self) -> tuple[Trial, ...]:
        """Trials that were asked for, or are in line to be, and not told yet."""
        return tuple(self._history.trials[i] for i in self._history.pending)

    def result(self, stopped: str = "so far") -> Result:
        """What was found so far; ``stopped`` says why it goes no further."""
        return Result(
            trials=self.trials,
            direction=self.direction,
            recommended=self._recommended(),
            stopped=stopped,
            found_by=self,
            named=None if self.metrics.plain else self.metrics,
        )

    def to_dataframe(self) -> pd.DataFrame:
        """One row per trial, see ``ccgbo.frames``; needs pandas."""
        names = () if self.metrics.plain else self.metrics.names
        return frame_of([flat_row(trial.to_dict()) for trial in self.trials], self.space, names)

    def recommend(self, aspiration: Mapping[str, float] | None = None) -> Recommended:
        """The evaluated point to use: best by posterior mean if evaluations are noisy, best seen if they are not.

        With ``noise="none"``, and where nothing was said and the values are likelier without noise, it is the point
        with the best value. Points beyond the bounds of the space count only where no other was evaluated. With outcome
        constraints, of the points that keep them by the model, or the one that is likeliest to. Of several objectives a
        few points that span the front.

        Parameters
        ----------
        aspiration
            Values of all objectives: then the one point of the front that is nearest to them.
        """
        with blas_threads(self._threads):
            return recommend(self.snapshot(), self._history, aspiration)

    def _recommended(self) -> Recommended | None:
        return self.recommend() if self._history.knows_objectives else None

    def pareto_front(self, *, by: Literal["value", "model"] = "value") -> list[Trial]:
        """The feasible trials that none is better than in every objective.

        Parameters
        ----------
        by
            "value" goes by the measured values, "model" by what is believed without their noise.
        """
        if choice("by", by, ("value", "model")) == "value":
            return front_of(self.trials, self.metrics)
        return believed_front(self.snapshot(), self._history)

    def credits(self) -> Credits:
        """How much each observation tells about where the optimum is. Looking changes nothing: the next ``ask`` sees
        these credits."""
        state = self.snapshot()
        with blas_threads(self._threads):
            _, scores = question(state, self.generator())
        return credit_rows(scored_trials(state, self._history), scores, state.goals)

    def diagnose(self, metric: str | None = None) -> Diagnosis:
        """Whether to believe the model, and whether to stop: what it predicts of each observation from the others,
        what speaks against it, and what more evaluations are expected to gain. Looking changes nothing.

        Parameters
        ----------
        metric
            Which metric's model, where metrics have names; None is the objective, of several the first.
        """
        if metric is not None and not (metric in self.metrics.names and self._history.ids(metric)):
            known = [name for name in self.metrics.names if self._history.ids(name)]
            raise SettingError(f"metric must be one that was measured, {known}, got {metric!r}.")
        state = self.snapshot()
        with blas_threads(self._threads):
            return diagnose(state, self._history, self.generator(), metric)

    def expected_gain(self, n: int = 10) -> Gain | None:
        """What ``n`` more evaluations are expected to gain; None where that cannot be told.

        In the unit of the objective, under outcome constraints of its best feasible value; of two or three objectives
        the growth of the hypervolume as a share of the present one. It cannot be told by a surrogate without
        covariances, before anything is feasible, or of more objectives.

        Parameters
        ----------
        n
            How many more evaluations.
        """
        more, state = whole_number("n", n), self.snapshot()
        with blas_threads(self._threads):
            gains = gains_of(state, self.generator(), (more,))
        return gains[0] if gains else None

    def influence(
        self,
        groups: Groups | None = None,
        *,
        by: str | None = None,
        top: int = 5,
        suggestion: bool = False,
        refit: bool = False,
        shapley: int = 0,
        n_paths: int | None = None,
    ) -> Influence:
        """What would be believed without each observation, and what each is worth. Looking changes nothing.

        Of one objective without outcome constraints.

        Parameters
        ----------
        groups
            Observations to leave out together as well: by name the ids of trials, or a predicate of a trial.
        by
            An attribute of the trials, or a parameter: the trials that agree in it are a group.
        top
            The number of observations for which ``suggestion`` and ``refit`` are asked.
        suggestion
            Whether to tell what would be suggested next without them and without each group; each costs a step.
        refit
            Whether to learn the hyperparameters anew without them and without each group; each costs a fit.
        shapley
            Sampled orders for the share of each observation in what all are worth together; 0 computes none.
        n_paths
            Posterior functions to average over; None takes as many as credit does.
        """
        require_plain(self.metrics, "influence")
        top, n_orders = whole_number("top", top), whole_number("shapley", shapley, at_least=0)
        paths = self.settings.credit.n_paths if n_paths is None else whole_number("n_paths", n_paths)
        refit, suggestion = flag("refit", refit), flag("suggestion", suggestion)
        state, h = self.snapshot(), self._history
        members = members_of(groups, by, h)
        with blas_threads(self._threads):
            found = influence(
                state, h, self.generator(), groups=members, top=top, refit=refit, n_orders=n_orders, n_paths=paths
            )
            if not suggestion or self._design_is_due():
                return found
            return replace(found, suggestion=reasons_for_next(state, h, self.generator(), members, top))

    def influence_on(self, trial: Trial | int | Mapping[str, Any], *, top: int = 5) -> PointInfluence:
        """Which observations the prediction at a trial, or at any point, rests on, as the model sees it now.

        Parameters
        ----------
        trial
            A trial, its id, or the params of a point.
        top
            The number of observations that are named.
        """
        require_plain(self.metrics, "influence_on")
        params = trial if isinstance(trial, Mapping) else self._history.find(trial).params
        state, u = self.snapshot(), self.space.encode(params)
        with blas_threads(self._threads):
            return reasons_for(state, self._history, u, whole_number("top", top))

    def explain(self, trial: Trial | int) -> Explanation:
        """Why this point was suggested, as the model saw it then."""
        known = self._history.find(trial)
        return known.explanation or Explanation(
            reason="enqueued" if known.origin == "enqueued" else "told from elsewhere"
        )

    @property
    def data(self) -> Data:
        """The observations in the order they were told, as the model takes them."""
        return self._history.data()

    @property
    def outside(self) -> dict[int, str]:
        """Trials on record that have no position in the space, by id, and why: they are out of the model."""
        return dict(self._history.unplaced)

    @property
    def observations(self) -> tuple[Trial, ...]:
        """The trials that the model knows, complete and not dropped, in the order they were told."""
        return tuple(self._history.trials[i] for i in self._history.complete)

    def catch_up(self) -> None:
        """Factorise the observations of the last fits, if another process made them. Changes nothing but the time that
        the next ``ask`` takes, which appends the later observations to these; a refit is left to it."""
        with blas_threads(self._threads):
            self._models.catch_up(self._history, self.settings)
