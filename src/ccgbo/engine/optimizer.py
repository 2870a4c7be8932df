"""Counterfactual Credit Guided Bayesian Optimization: ask and tell (arXiv 2510.04676v2, Algorithm 1).

The step itself is ``ccgbo.engine.proposal.propose``; here is what happens around it. No I/O: the state is plain data.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np

from ccgbo.acquisition.factors import UserPrior
from ccgbo.engine.explain import credit_rows, explain_choice, in_user_units
from ccgbo.engine.history import Data, History, outcome_of, read_table
from ccgbo.engine.initial import InitialDesign
from ccgbo.engine.model import FitState, Model, build_model
from ccgbo.engine.options import SettingsOptions, check_keywords
from ccgbo.engine.proposal import State, propose, question
from ccgbo.engine.search import Excluded
from ccgbo.engine.settings import Settings, resolve
from ccgbo.engine.state import OptimizerState
from ccgbo.engine.threads import blas_threads
from ccgbo.errors import NoObservationsError, SpaceExhaustedError, TellError, UnsupportedError
from ccgbo.frames import flat_row, frame_of
from ccgbo.records import NO_VALUE, BestTrial, CreditRow, Direction, Explanation, Recommendation, Result, Trial
from ccgbo.space import Space, as_space
from ccgbo.validation import check, optional_whole_number, whole_number

if TYPE_CHECKING:
    import pandas as pd


class Optimizer(BestTrial):
    """Suggests where to evaluate next, and explains why.

    >>> opt = Optimizer({"x": (-5.0, 10.0), "y": (0.0, 15.0)}, direction="minimize", seed=0)
    >>> trial = opt.ask()
    >>> opt.tell(trial, 1.25)

    Every field of ``Settings`` can be given by keyword to replace the preset's; ``settings.describe()`` has all.
    """

    def __init__(
        self,
        space: Space | Mapping[str, Any],
        *,
        direction: Direction = "maximize",
        preset: str | Settings = "default",
        seed: int | None = None,
        constraint: Any = None,  # predicate(params) -> bool, LinearConstraint, or several
        prior: Any = None,  # belief about the optimum: distributions by parameter, or density(params)
        threads: int | None = 1,  # of BLAS while suggesting; None leaves it alone
        **settings: Unpack[SettingsOptions],
    ) -> None:
        check_keywords(settings, Optimizer, SettingsOptions)
        if not isinstance(direction, str):
            raise UnsupportedError(
                f"several objectives are out of scope: direction must be one word, got {direction!r}."
            )
        self.direction: Direction = check("direction", direction, Direction)
        seed = optional_whole_number("seed", seed, at_least=0)
        self.space = as_space(space, constraint)
        self.settings = resolve(preset, **settings)
        self._prior = None if prior is None else UserPrior(self.space, prior)
        self._threads = optional_whole_number("threads", threads)
        self._rng = np.random.default_rng(seed)
        self._design_seed = int(self._rng.integers(2**62))
        self._designed = 0  # points of the initial design given out
        self._iteration = 0  # t, see OptimizerState
        self._history = History(self.space, direction)
        self._fit: FitState | None = None
        self._model: Model | None = None

    def __repr__(self) -> str:
        h = self._history
        return (
            f"Optimizer(direction={self.direction!r}, {len(h.complete)} observations, {len(h.pending)} pending,\n"
            f"space = {self.space!r},\nsettings = {self.settings!r})"
        )

    # -- ask: Algorithm 1

    @overload
    def ask(self) -> Trial: ...
    @overload
    def ask(self, n: int) -> list[Trial]: ...
    def ask(self, n: int | None = None) -> Trial | list[Trial]:
        """The next point to evaluate, or ``n`` of them; points still being evaluated are taken into account.

        All or nothing: an ask that raises leaves the optimizer as it was.
        """
        wanted = 1 if n is None else whole_number("n", n)
        trials: list[Trial] = []
        with blas_threads(self._threads), self._all_or_nothing():
            while len(trials) < wanted:
                try:
                    trials.append(self._ask_one())
                except SpaceExhaustedError as error:
                    if not trials:
                        raise
                    raise SpaceExhaustedError(
                        f"only {len(trials)} of the {n} points asked for are free: {error}"
                    ) from None
        return trials[0] if n is None else trials

    def _ask_one(self) -> Trial:
        design, h = InitialDesign(self.space, self.settings, self._design_seed), self._history
        if design.is_due(n_told=len(h.complete), n_pending=len(h.pending), n_given=self._designed):
            u, self._designed = design.next_point(self._designed, self._excluded(), self._rng)
            return h.add(self.space.decode(u), "design", Explanation(reason="initial design"))
        state = self._state_of_step(self._posterior(commit=True))
        proposal = propose(state, self._rng)
        assert proposal.chosen is not None
        self._iteration += 1
        return h.add(self.space.decode(proposal.chosen), "model", explain_choice(state, proposal, h))

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        history, before, model = self._history.copy(), self.state(), self._model
        try:
            yield
        except BaseException:
            self._history = history
            self._move_to(before)
            self._model = model
            raise

    def snapshot(self) -> State:
        """What the next step would look at. Looking changes nothing: no refit is committed."""
        with blas_threads(self._threads):
            return self._state_of_step(self._posterior(commit=False))

    def generator(self) -> np.random.Generator:
        """A copy of the generator, as the next step would find it."""
        return copy.deepcopy(self._rng)

    def _state_of_step(self, model: Model) -> State:
        h = self._history
        return State(
            space=self.space,
            settings=self.settings,
            t=self._iteration,
            model=model,
            observed=h.data().U[model.rows],
            pending=h.features("pending"),
            failed=h.features("failed"),
            excluded=self._excluded(),
            prior=self._prior,
        )

    def _excluded(self) -> Excluded:
        states = ("pending", "failed") if self.settings.allow_repeats else ("pending", "failed", "complete")
        F = np.concatenate([self._history.features(state) for state in states])  # type: ignore[arg-type]
        return Excluded(F, self.space, self._history.features("pending"), self.settings.tuning.min_pending_distance)

    # -- tell

    def enqueue(self, params: Mapping[str, Any]) -> Trial:
        """A point that is evaluated without having been asked for: pending from now on, to be told like any other."""
        self.space.encode(params)  # refuses what is not in the space
        return self._history.add(params, "external")

    def tell(
        self,
        trial: Trial | int | Mapping[str, Any],
        value: Any = None,
        *,
        failed: bool = False,
        noise_variance: float | None = None,
        error: str | None = None,
    ) -> Trial:
        """Record the outcome of a trial, or of a point evaluated elsewhere: ``tell(params, value)``.

        NaN and infinite values count as failed: remembered as places to avoid, kept out of the model.
        """
        if isinstance(trial, Mapping):
            self.space.encode(trial)  # refuses what is not in the space
            outcome = outcome_of(value, failed=failed, noise_variance=noise_variance, error=error)
            return self._history.finish(self._history.add(trial, "external"), outcome)
        known = self._history.find(trial)
        if known.state != "pending":
            raise TellError(f"trial {known.id} is already {known.state} (value {known.value!r}).")
        outcome = outcome_of(value, failed=failed, noise_variance=noise_variance, error=error)
        return self._history.finish(known, outcome)

    def tell_many(self, params: Any, values: Iterable[Any], *, noise_variance: Any = None) -> list[Trial]:
        """Record many evaluations made elsewhere, all or none; ``params`` is a list of dicts or a DataFrame."""
        rows, outcomes = read_table(params, values, noise_variance, self.space)
        added = [self._history.add(row, "external") for row in rows]
        return [self._history.finish(trial, outcome) for trial, outcome in zip(added, outcomes, strict=True)]

    # -- what is known

    @property
    def trials(self) -> tuple[Trial, ...]:
        return tuple(self._history.trials.values())

    @property
    def pending(self) -> tuple[Trial, ...]:
        """Trials that were asked for and not told yet."""
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
        """The evaluated point with the best posterior mean: the right answer when evaluations are noisy."""
        with blas_threads(self._threads):
            model = self._posterior(commit=False)
        i = int(model.mean.argmax())
        trial = self._history.observed(model.rows[i])
        m, s = in_user_units(model, model.mean[i], model.std[i], self._history.sign)
        return Recommendation(trial_id=trial.id, params=dict(trial.params), mean=m, std=s)

    def credits(self) -> list[CreditRow]:
        """How much each observation tells about where the optimum is. Looking changes nothing: the next ``ask`` sees
        these credits."""
        state = self.snapshot()
        with blas_threads(self._threads):
            _, scores = question(state, self.generator())
        return credit_rows([self._history.observed(row) for row in state.model.rows], scores)

    def explain(self, trial: Trial | int) -> Explanation:
        """Why this point was suggested, as the model saw it then."""
        return self._history.find(trial).explanation or Explanation(reason="told from elsewhere")

    @property
    def data(self) -> Data:
        """The observations in the order they were told, as the model takes them."""
        return self._history.data()

    @property
    def observations(self) -> tuple[Trial, ...]:
        """The complete trials in the order they were told."""
        return tuple(self._history.trials[i] for i in self._history.complete)

    def _posterior(self, *, commit: bool) -> Model:
        """The model of all observations. Only ``ask`` commits a refit, so looking in between changes nothing."""
        if not self._history.complete:
            raise NoObservationsError(NO_VALUE)
        model = build_model(self._history.data(), self.space.choices, self.settings, self._model, self._fit)
        if commit:
            self._model, self._fit = model, model.fit
        return model

    # -- state

    def state_dict(self) -> dict[str, Any]:
        """Everything a resumed run needs, as plain data for JSON; the space and the settings are not in it."""
        trials, told = [trial.to_dict() for trial in self._history.trials.values()], list(self._history.complete)
        return {**self.state().to_dict(), "trials": trials, "told": told}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Become the optimizer that ``state`` was taken from; the space and the settings must be the same."""
        known = OptimizerState.from_dict(state, also=("trials", "told"))
        trials = [Trial.from_dict(d) for d in state["trials"]]
        order = {trial_id: i for i, trial_id in enumerate(state["told"])}
        history = History(self.space, self.direction)
        history.merge(sorted(trials, key=lambda trial: order.get(trial.id, -1)))
        self._history, self._model, self._fit = history, None, None
        self._move_to(known)

    def state(self) -> OptimizerState:
        """The part of the state that is not in the trials."""
        return OptimizerState(
            rng=self._rng.bit_generator.state,
            design_seed=self._design_seed,
            designed=self._designed,
            iteration=self._iteration,
            fit=self._fit,
        )

    def sync(self, trials: Iterable[Trial], state: OptimizerState) -> None:
        """Take in what copies of this optimizer asked and told since; complete trials in the order they were told."""
        self._history.merge(trials)
        self._move_to(state)

    def _move_to(self, state: OptimizerState) -> None:
        rng = np.random.default_rng()
        rng.bit_generator.state = state.rng
        self._rng = rng
        self._design_seed, self._designed, self._iteration = state.design_seed, state.designed, state.iteration
        if state.fit != self._fit:  # else the model at hand still stands
            self._fit, self._model = state.fit, None
