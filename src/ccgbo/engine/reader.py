"""What an optimizer knows: its trials, its model, and what the next step would look at. Looking changes nothing."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ccgbo.acquisition.factors import UserPrior
from ccgbo.diagnosis import Diagnosis, Gain
from ccgbo.engine.diagnostics import diagnose
from ccgbo.engine.explain import credit_rows, in_user_units
from ccgbo.engine.history import Data, History
from ccgbo.engine.influence import influence, members_of
from ccgbo.engine.initial import InitialDesign
from ccgbo.engine.model import FitState, Model, best_row, build_model
from ccgbo.engine.noise import is_exact
from ccgbo.engine.proposal import State, question
from ccgbo.engine.reasons import reasons_for, reasons_for_next
from ccgbo.engine.search import Excluded
from ccgbo.engine.settings import Settings
from ccgbo.engine.stopping import expected_gains
from ccgbo.engine.threads import blas_threads
from ccgbo.errors import NoObservationsError
from ccgbo.explanation import Credits, Explanation
from ccgbo.frames import flat_row, frame_of
from ccgbo.influence import Groups, Influence, PointInfluence
from ccgbo.records import (
    NO_VALUE,
    BestTrial,
    Direction,
    Event,
    Recommendation,
    Result,
    Trial,
    set_apart,
    summary_html,
)
from ccgbo.space import Space
from ccgbo.validation import flag, whole_number

if TYPE_CHECKING:
    import pandas as pd


class OptimizerReader(BestTrial):
    """The questions that an optimizer answers."""

    def __init__(
        self,
        space: Space,
        direction: Direction,
        settings: Settings,
        prior: UserPrior | None,
        threads: int | None,
        seed: int | None,
    ) -> None:
        self.space, self.settings = space, settings
        self.direction: Direction = direction
        self._prior, self._threads = prior, threads
        self._rng = np.random.default_rng(seed)
        self._design_seed = int(self._rng.integers(2**62))
        self._designed = 0  # points of the initial design given out
        self._iteration = 0  # t, see OptimizerState
        self._history = History(space, direction)
        self._fit: FitState | None = None
        self._model: Model | None = None
        self._looked: tuple[Data, FitState | None, Model] | None = None  # the last model, and what it is of
        self._queue: list[int] = []  # trials that were enqueued and not given out yet
        self._log: list[Event] = []

    def __repr__(self) -> str:
        h = self._history
        counts = [f"{len(h.complete)} observations", f"{len(h.pending)} pending", *set_apart(self.trials)]
        return (
            f"Optimizer(direction={self.direction!r}, {', '.join(counts)},\n"
            f"space = {self.space!r},\nsettings = {self.settings!r})"
        )

    def _repr_html_(self) -> str:
        r = self.recommend() if self._history.complete else None
        return summary_html(f"Optimizer, to {self.direction}", self.trials, self.direction, r)

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
        recommended = self.recommend() if self._history.complete else None
        return Result(
            trials=self.trials,
            direction=self.direction,
            recommended=recommended,
            stopped=stopped,
            found_by=self,
        )

    def to_dataframe(self) -> pd.DataFrame:
        """One row per trial, see ``ccgbo.frames``; needs pandas."""
        return frame_of([flat_row(trial.to_dict()) for trial in self.trials], self.space)

    def recommend(self) -> Recommendation:
        """The evaluated point with the best posterior mean: the right answer when evaluations are noisy.

        With ``noise="none"`` it is the point with the best value. Points beyond the bounds of the space count only
        where no other was evaluated.
        """
        with blas_threads(self._threads):
            model = self._posterior(commit=False)
        data = self._history.data()[model.rows]
        exact = is_exact(self.settings.noise, data)
        i = best_row(data.values if exact else model.mean, data.U)
        trial = self._history.observed(model.rows[i])
        if exact:
            best = self._history.sign * float(data.values[i]) + 0.0  # no -0.0
            return Recommendation(trial_id=trial.id, params=dict(trial.params), mean=best, std=0.0)
        m, s = in_user_units(model, model.mean[i], model.std[i], self._history.sign)
        return Recommendation(trial_id=trial.id, params=dict(trial.params), mean=m, std=s)

    def credits(self) -> Credits:
        """How much each observation tells about where the optimum is. Looking changes nothing: the next ``ask`` sees
        these credits."""
        state = self.snapshot()
        with blas_threads(self._threads):
            _, scores = question(state, self.generator())
        return credit_rows([self._history.observed(row) for row in state.model.rows], scores)

    def diagnose(self) -> Diagnosis:
        """Whether to believe the model, and whether to stop: what it predicts of each observation from the others,
        what speaks against it, and what more evaluations are expected to gain. Looking changes nothing."""
        state = self.snapshot()
        with blas_threads(self._threads):
            return diagnose(state, self._history, self.generator())

    def expected_gain(self, n: int = 10) -> Gain | None:
        """What ``n`` more evaluations are expected to gain; None where the surrogate cannot tell.

        Parameters
        ----------
        n
            How many more evaluations.
        """
        more, state = whole_number("n", n), self.snapshot()
        with blas_threads(self._threads):
            gains = expected_gains(state, self.generator(), (more,))
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

    def _posterior(self, *, commit: bool) -> Model:
        """The model of all observations. Only ``ask`` commits a refit, so looking in between changes nothing."""
        if not self._history.complete:
            raise NoObservationsError(NO_VALUE)
        data, looked = self._history.data(), self._looked
        if looked is not None and looked[0] is data and looked[1] is self._fit:
            model = looked[2]
        else:
            model = build_model(data, self.space.choices, self.settings, self._model, self._fit)
            self._looked = data, self._fit, model
        if commit:
            self._model, self._fit = model, model.fit
        return model

    # -- what the next step would look at

    def snapshot(self) -> State:
        """What the next step would look at. Looking changes nothing: no refit is committed."""
        with blas_threads(self._threads):
            return self._state_of_step(self._posterior(commit=False), self.space)

    def generator(self) -> np.random.Generator:
        """A copy of the generator, as the next step would find it."""
        return copy.deepcopy(self._rng)

    def _state_of_step(self, model: Model, space: Space) -> State:
        h = self._history
        return State(
            space=space,
            settings=self.settings,
            t=self._iteration,
            model=model,
            observed=h.data().U[model.rows],
            pending=h.features("pending"),
            failed=h.features("failed"),
            excluded=self._excluded(),
            prior=self._prior,
        )

    def _design_is_due(self) -> bool:
        h, design = self._history, InitialDesign(self.space, self.settings, self._design_seed)
        return design.is_due(n_told=len(h.complete), n_pending=len(h.pending), n_given=self._designed)

    def _excluded(self) -> Excluded:
        states = ("pending", "failed") if self.settings.allow_repeats else ("pending", "failed", "complete")
        F = np.concatenate([self._history.features(state) for state in states])  # type: ignore[arg-type]
        return Excluded(F, self.space, self._history.features("pending"), self.settings.tuning.min_pending_distance)
