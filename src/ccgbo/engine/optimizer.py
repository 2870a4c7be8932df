"""Counterfactual Credit Guided Bayesian Optimization: ask and tell (arXiv 2510.04676v2, Algorithm 1).

The step itself is ``ccgbo.engine.proposal.propose``; here is what happens around it. No I/O: the state is plain data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Unpack, overload

import numpy as np

from ccgbo.acquisition.factors import UserPrior
from ccgbo.engine.batch import propose_many, round_size
from ccgbo.engine.editor import OptimizerEditor, moved_by
from ccgbo.engine.explain import explain_choices
from ccgbo.engine.history import History
from ccgbo.engine.initial import InitialDesign
from ccgbo.engine.metric_settings import suited_to_metrics
from ccgbo.engine.models import Models
from ccgbo.engine.options import SettingsOptions, check_keywords
from ccgbo.engine.settings import Settings, resolve
from ccgbo.engine.state import OptimizerState
from ccgbo.engine.table import read_table
from ccgbo.engine.threads import blas_threads
from ccgbo.errors import ParamsError, SpaceExhaustedError, TellError
from ccgbo.explanation import Explanation
from ccgbo.metrics import Between, Direction, metrics_of
from ccgbo.outcomes import outcome_of
from ccgbo.records import Event, Trial
from ccgbo.revisions import attributes_of, event, tell, used_params
from ccgbo.space import Space, as_space
from ccgbo.validation import optional_whole_number, whole_number


class Optimizer(OptimizerEditor):
    """Suggests where to evaluate next, and explains why.

    >>> opt = Optimizer({"x": (-5.0, 10.0), "y": (0.0, 15.0)}, direction="minimize", seed=0)
    >>> trial = opt.ask()
    >>> opt.tell(trial, 1.25)

    Parameters
    ----------
    space
        The parameters by name: ``Float``, ``Int``, ``Categorical``, a tuple (low, high) or a list of choices.
    direction
        "maximize", which holds where nothing is given, or "minimize".
    objective
        The name of the objective, where metrics are told by their names; "value" if it is left out.
    objectives
        Several objectives by name: ``{"yield": "maximize", "cost": "minimize"}``.
    outcome_constraints
        Bounds of what is measured: ``{"impurity": AtMost(0.02), "ph": Between(6.5, 7.5)}``.
    preset
        Settings to start from: "default", "paper" or a ``Settings``.
    seed
        Makes the suggestions repeatable; None draws one.
    constraint
        What a point must satisfy: a predicate of the params, a ``LinearConstraint``, or a list of them.
    constraints
        Several of those; the same as a list for ``constraint``.
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
        direction: Direction | None = None,
        objective: str | None = None,
        objectives: Mapping[str, Direction] | None = None,
        outcome_constraints: Mapping[str, Between] | None = None,
        preset: str | Settings = "default",
        seed: int | None = None,
        constraint: Any = None,
        constraints: Sequence[Any] | None = None,
        prior: Any = None,
        threads: int | None = 1,
        **settings: Unpack[SettingsOptions],
    ) -> None:
        check_keywords(settings, Optimizer, SettingsOptions)
        metrics = metrics_of(
            direction=direction, objective=objective, objectives=objectives, outcome_constraints=outcome_constraints
        )
        known = as_space(as_space(space, constraint), constraints)
        super().__init__(
            known,
            metrics,
            suited_to_metrics(resolve(preset, known.d, **settings), metrics, settings),
            None if prior is None else UserPrior(known, prior),
            optional_whole_number("threads", threads),
            optional_whole_number("seed", seed, at_least=0),
        )

    # -- ask: Algorithm 1

    @overload
    def ask(self, *, fixed: Mapping[str, Any] | None = None) -> Trial: ...
    @overload
    def ask(self, n: int, *, fixed: Mapping[str, Any] | None = None) -> list[Trial]: ...
    def ask(self, n: int | None = None, *, fixed: Mapping[str, Any] | None = None) -> Trial | list[Trial]:
        """The next point to evaluate, or ``n`` of them; points still being evaluated are taken into account.

        What was enqueued is given out first. All or nothing: an ask that raises leaves the optimizer as it was.

        Parameters
        ----------
        n
            How many points; None gives one trial instead of a list.
        fixed
            Values that the points must have: ``fixed={"oven": 180}``. Enqueued points with others wait.
        """
        wanted = 1 if n is None else whole_number("n", n)
        space = self.space if fixed is None else self.space.restricted(fixed)
        trials: list[Trial] = []
        size = round_size(wanted, self.settings.tuning)
        with blas_threads(self._threads), self._all_or_nothing():
            while len(trials) < wanted:
                try:
                    trials += self._from_queue(space) or self._suggest(space, min(size, wanted - len(trials)))
                except SpaceExhaustedError as error:
                    if not trials:
                        raise
                    raise SpaceExhaustedError(
                        f"only {len(trials)} of the {n} points asked for are free: {error}"
                    ) from None
        return trials[0] if n is None else trials

    def _suggest(self, space: Space, size: int) -> list[Trial]:
        """The next point of the initial design, or the next ``size`` points of the model at most."""
        design, h = InitialDesign(space, self.settings, self._design_seed), self._history
        counts = {"n_told": len(h.complete), "n_pending": len(h.features("pending")), "n_given": self._designed}
        if design.is_due(**counts) or (h.complete and not h.knows_objectives):
            u, self._designed = design.next_point(self._designed, self._excluded(), self._rng)
            return [h.add(space.decode(u), "design", Explanation(reason="initial design"))]
        state = self._state_of_step(space, commit=True)
        proposal, U = propose_many(state, size, self._rng)
        self._iteration += len(U)
        reasons = explain_choices(state, proposal, U, h)
        return [h.add(space.decode(u), "model", why) for u, why in zip(U, reasons, strict=True)]

    def _from_queue(self, space: Space) -> list[Trial]:
        """The first in line that is still pending and has the values that are fixed."""
        for trial in [self._history.trials[i] for i in self._queue]:
            if trial.state == "pending" and not space.agrees(trial.params):
                continue
            self._queue.remove(trial.id)
            if trial.state == "pending" and self._is_point(trial):
                return [trial]
        return []

    def _is_point(self, trial: Trial) -> bool:
        """Whether an enqueued trial is still a point of the space, which may have been changed; else it is given up."""
        try:
            self.space.encode(trial.params)
        except ParamsError as error:
            self.abandon(trial.id, note=f"no point of the space: {error}")
            return False
        return True

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        history, before, models = self._history.copy(), self.state(), self._models.copy()
        queue, log = self._queue.copy(), self._log.copy()
        try:
            yield
        except BaseException:
            self._history, self._queue, self._log = history, queue, log
            self._move_to(before)
            self._models = models
            raise

    # -- tell

    def tell(
        self,
        trial: Trial | int | Mapping[str, Any],
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
        """Record the outcome of a trial, or of a point evaluated elsewhere: ``tell(params, value)``.

        NaN and infinite values count as failed: remembered as places to avoid, kept out of the model.

        Parameters
        ----------
        trial
            A trial that was asked for, its id, or the params of a point evaluated elsewhere.
        value
            The value of the objective there: a number, a list of readings, or a tuple (value, standard_error).
        failed
            That the evaluation gave no value; then ``value`` is left out.
        noise_variance
            The variance of the value's error, where it is known.
        error
            Why it failed.
        params
            The settings that were really used, as far as they are others than those asked for; they may lie outside
            the bounds.
        note
            Anything to remember about the trial.
        tags
            Words to find it by.
        attributes
            More to keep with it, by name: plain data as JSON has it.
        """
        h, said = self._history, attributes_of(note, tags, attributes)
        outcome = outcome_of(value, failed=failed, noise_variance=noise_variance, error=error, metrics=self.metrics)
        if isinstance(trial, Mapping):
            if params is not None:
                raise TellError(f"params must be None where trial is a point itself, got {params!r}.")
            self.space.encode(trial)  # refuses what is not in the space
            return h.revise(tell(h.add(trial, "external"), outcome, attributes=said))
        known = h.find(trial)
        used = known.params if params is None else used_params(known, params, self.space)
        told = tell(known, outcome, params=used, attributes=said)
        if dict(used) != dict(known.params):
            self._log.append(event("tell", known, replace(known, params=used)))
        return h.revise(told)

    def tell_many(self, params: Any, values: Iterable[Any], *, noise_variance: Any = None) -> list[Trial]:
        """Record many evaluations made elsewhere, all or none.

        Parameters
        ----------
        params
            A list of dicts, or a DataFrame.
        values
            The value of each: a number, a list of readings, or a tuple (value, standard_error).
        noise_variance
            The variance of the error of each value, or one for all.
        """
        rows, outcomes = read_table(params, values, noise_variance, self.space, self.metrics)
        h = self._history
        added = [h.add(row, "external") for row in rows]
        return [h.revise(tell(trial, outcome)) for trial, outcome in zip(added, outcomes, strict=True)]

    # -- state

    def state_dict(self) -> dict[str, Any]:
        """Everything a resumed run needs, as plain data for JSON; the space and the settings are not in it."""
        return {
            **self.state().to_dict(),
            "trials": [trial.to_dict() for trial in self._history.trials.values()],
            "outcomes": self._history.outcomes,
            "queue": list(self._queue),
            "log": [entry.to_dict() for entry in self._log],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Become the optimizer that ``state`` was taken from; the space and the settings must be the same."""
        known = OptimizerState.from_dict(state, also=("trials", "outcomes", "queue", "log"))
        order = {trial_id: i for i, trial_id in enumerate(state["outcomes"])}
        log = [Event.from_dict(entry) for entry in state["log"]]
        history = History(self.space, self.metrics)
        history.merge(sorted(map(Trial.from_dict, state["trials"]), key=lambda trial: order.get(trial.id, -1)))
        history.moved(moved_by(log, history.trials))
        self._history, self._models = history, Models()
        self._queue, self._log = list(state["queue"]), log
        self._move_to(known)

    def state(self) -> OptimizerState:
        """The part of the state that is not in the trials."""
        return OptimizerState(
            rng=self._rng.bit_generator.state,
            design_seed=self._design_seed,
            designed=self._designed,
            iteration=self._iteration,
            fit=self._models.fits.get(self.metrics.objective),
            fits={name: fit for name, fit in self._models.fits.items() if name != self.metrics.objective},
        )

    def sync(self, trials: Iterable[Trial], state: OptimizerState) -> None:
        """Take in what copies of this optimizer asked, told and changed since; outcomes in the order they came in."""
        self._history.merge(trials)
        self._move_to(state)

    def _move_to(self, state: OptimizerState) -> None:
        rng = np.random.default_rng()
        rng.bit_generator.state = state.rng
        self._rng = rng
        self._design_seed, self._designed, self._iteration = state.design_seed, state.designed, state.iteration
        own = {} if state.fit is None else {self.metrics.objective: state.fit}
        self._models.move_to({**own, **state.fits})
