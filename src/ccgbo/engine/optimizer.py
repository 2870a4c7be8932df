"""Counterfactual Credit Guided Bayesian Optimization: ask and tell (arXiv 2510.04676v2, Algorithm 1).

The step itself is ``ccgbo.engine.proposal.propose``; here is what happens around it. No I/O: the state is plain data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np

from ccgbo.acquisition.factors import UserPrior
from ccgbo.engine.explain import explain_choice
from ccgbo.engine.history import History, outcome_of, read_table
from ccgbo.engine.initial import InitialDesign
from ccgbo.engine.options import SettingsOptions, check_keywords
from ccgbo.engine.proposal import propose
from ccgbo.engine.reader import OptimizerReader
from ccgbo.engine.settings import Settings, resolve
from ccgbo.engine.state import OptimizerState
from ccgbo.engine.threads import blas_threads
from ccgbo.errors import SpaceExhaustedError, TellError, UnsupportedError
from ccgbo.records import Direction, Explanation, Trial
from ccgbo.space import Space, as_space
from ccgbo.validation import check, optional_whole_number, whole_number

if TYPE_CHECKING:
    pass


class Optimizer(OptimizerReader):
    """Suggests where to evaluate next, and explains why.

    >>> opt = Optimizer({"x": (-5.0, 10.0), "y": (0.0, 15.0)}, direction="minimize", seed=0)
    >>> trial = opt.ask()
    >>> opt.tell(trial, 1.25)

    Parameters
    ----------
    space
        The parameters by name: ``Float``, ``Int``, ``Categorical``, a tuple (low, high) or a list of choices.
    direction
        "maximize" or "minimize".
    preset
        Settings to start from: "default", "paper" or a ``Settings``.
    seed
        Makes the suggestions repeatable; None draws one.
    constraint
        What a point must satisfy: a predicate of the params, a ``LinearConstraint``, or a list of them.
    prior
        A belief about the optimum: distributions by parameter, or a density of the params.
    threads
        Threads of BLAS while suggesting; None leaves them alone.
    **settings
        Every field of ``Settings``, to replace the preset's; ``settings.describe()`` has all that are in force.
    """

    def __init__(
        self,
        space: Space | Mapping[str, Any],
        *,
        direction: Direction = "maximize",
        preset: str | Settings = "default",
        seed: int | None = None,
        constraint: Any = None,
        prior: Any = None,
        threads: int | None = 1,
        **settings: Unpack[SettingsOptions],
    ) -> None:
        check_keywords(settings, Optimizer, SettingsOptions)
        if not isinstance(direction, str):
            raise UnsupportedError(
                f"several objectives are out of scope: direction must be one word, got {direction!r}."
            )
        known = as_space(space, constraint)
        super().__init__(
            known,
            check("direction", direction, Direction),
            resolve(preset, known.d, **settings),
            None if prior is None else UserPrior(known, prior),
            optional_whole_number("threads", threads),
            optional_whole_number("seed", seed, at_least=0),
        )

    # -- ask: Algorithm 1

    @overload
    def ask(self) -> Trial: ...
    @overload
    def ask(self, n: int) -> list[Trial]: ...
    def ask(self, n: int | None = None) -> Trial | list[Trial]:
        """The next point to evaluate, or ``n`` of them; points still being evaluated are taken into account.

        All or nothing: an ask that raises leaves the optimizer as it was.

        Parameters
        ----------
        n
            How many points; None gives one trial instead of a list.
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

        Parameters
        ----------
        trial
            A trial that was asked for, its id, or the params of a point evaluated elsewhere.
        value
            The value of the objective there, one number.
        failed
            That the evaluation gave no value; then ``value`` is left out.
        noise_variance
            The variance of the value's error, where it is known.
        error
            Why it failed.
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
