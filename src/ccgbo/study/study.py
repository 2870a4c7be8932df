"""A named optimisation that outlives the process.

Every ask and tell is one transaction on the study's file, on disk before the call returns. The optimizer in memory is
only a copy that catches up with the file before it is used, so any number of processes can work on one study: an ask
sees all that was told, and no two asks start from the same state.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any, Literal, Self, Unpack, overload

from ccgbo.engine.options import SettingsOptions, check_keywords
from ccgbo.engine.settings import Settings
from ccgbo.engine.settings_io import has_withheld, predicates_of, prior_to_dict, settings_to_dict
from ccgbo.metrics import Between
from ccgbo.records import Direction, Trial
from ccgbo.result import Result, summary_html
from ccgbo.running import Callback, OnError, run
from ccgbo.space import Space, together
from ccgbo.storage import View, open_store
from ccgbo.study.definition import Given, define, reopen
from ccgbo.study.editor import StudyEditor
from ccgbo.study.opening import check_arguments, find_or_create, load_what_asking_needs
from ccgbo.study.source import StudySource
from ccgbo.study.steps import check_complete, release, release_one, take
from ccgbo.validation import optional_whole_number, whole_number


class Study(StudyEditor):
    """Opens the study ``name`` in the file ``path``, or creates it if a space is given and the file does not have it.

    >>> study = Study("tune.db", {"lr": (1e-5, 1e-1)}, name="resnet", direction="minimize")
    >>> trial = study.ask()
    >>> study.tell(trial, 0.31)

    On opening everything but the path can be left out; what is given must be what the study was created with.

    Parameters
    ----------
    path
        The file, or the address of a PostgreSQL database, ``postgresql://user@host/database``; one may hold many
        studies.
    space
        What to search: a ``Space``, or a mapping of names to parameters. None opens a study that is there.
    name
        None opens the only study of the file.
    direction
        "maximize" unless given, or "minimize".
    objective
        The name of the objective, where metrics are told by their names.
    objectives
        Several objectives by name: ``{"yield": "maximize", "cost": "minimize"}``.
    outcome_constraints
        Bounds of what is measured: ``{"impurity": AtMost(0.02), "ph": Between(6.5, 7.5)}``.
    preset
        Settings to start from: "default" unless given, "paper" or a ``Settings``.
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
    heartbeat
        Seconds that a run elsewhere may be silent before its trials are given to another.
    if_exists
        "open" opens a study that is there, "error" refuses to.
    **settings
        Every field of ``Settings``, to replace the preset's.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        space: Space | Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        direction: Direction | None = None,
        objective: str | None = None,
        objectives: Mapping[str, Direction] | None = None,
        outcome_constraints: Mapping[str, Between] | None = None,
        preset: str | Settings | None = None,
        seed: int | None = None,
        constraint: Any = None,
        constraints: Sequence[Any] | None = None,
        prior: Any = None,
        threads: int | None = 1,
        heartbeat: float = 60.0,  # seconds of silence after which a running worker's trial is given to another
        if_exists: Literal["open", "error"] = "open",
        **settings: Unpack[SettingsOptions],
    ) -> None:
        check_keywords(settings, Study, SettingsOptions)
        check_arguments(name, heartbeat, if_exists)
        self.heartbeat = heartbeat
        self._threads = optional_whole_number("threads", threads)
        self._given = Given(
            space=space,
            direction=direction,
            objective=objective,
            objectives=objectives,
            outcome_constraints=outcome_constraints,
            preset=preset,
            seed=seed,
            constraint=together(constraint, constraints),
            prior=prior,
            settings=settings,
        )
        new = None if space is None else define(self._given)  # wrong arguments must not leave a file behind
        store = open_store(path, create=new is not None)
        try:
            row = find_or_create(store, name, new, if_exists)
            definition = reopen(row, self._given, store.address)
        except BaseException:
            store.close()
            raise
        super().__init__(store, row, definition, threads)

    def __repr__(self) -> str:
        goal = f"direction={self.direction!r}" if self.metrics.plain else "; ".join(self.metrics.describe())
        return f"Study({str(self.path)!r}, name={self.name!r}, {goal})"

    def _repr_html_(self) -> str:
        found = self.result()
        goal = f"to {self.direction}" if self.metrics.plain else ", ".join(self.metrics.describe())
        title = f"Study {self.name}, {goal}, in {self.path.name}"
        return summary_html(title, found.trials, self.metrics, found.recommended)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        known = self._copy.definition
        prior = known.prior if prior_to_dict(known.prior) is None else None
        constraint = predicates_of(known.space) or None
        own = "acquisition" not in known.missing and has_withheld(settings_to_dict(known.settings)["acquisition"])
        settings = {"acquisition": known.settings.acquisition} if own else {}
        given = Given(constraint=constraint, prior=prior, settings=settings)  # the rest is in the file
        return _reopen, (os.fspath(self.path), self.name, given, self._threads, self.heartbeat)

    def close(self) -> None:
        """Let go of the file; trials stay as they are."""
        self._store.close()

    # -- ask and tell

    @overload
    def ask(self, *, fixed: Mapping[str, Any] | None = None) -> Trial: ...
    @overload
    def ask(self, n: int, *, fixed: Mapping[str, Any] | None = None) -> list[Trial]: ...
    def ask(self, n: int | None = None, *, fixed: Mapping[str, Any] | None = None) -> Trial | list[Trial]:
        """The next point to evaluate, or ``n`` of them.

        Enqueued trials come first, the oldest before the others, then trials that were given back, then suggestions.

        Parameters
        ----------
        n
            How many points; None gives one trial instead of a list.
        fixed
            Values that the named parameters have in every point that is given out.
        """
        wanted = 1 if n is None else whole_number("n", n)
        # the first may only have settled what crashed too often
        trials = self.take(wanted, fixed=fixed) or self.take(wanted, fixed=fixed)
        return trials[0] if n is None else trials

    def take(
        self,
        n: int,
        *,
        worker: str | None = None,
        limit: int | None = None,
        fixed: Mapping[str, Any] | None = None,
    ) -> list[Trial]:
        """Up to ``n`` trials, held by ``worker`` until it falls silent; at most ``limit`` suggestions in the study."""
        check_complete(self._copy, self.name)
        load_what_asking_needs()
        if not self._copy.has_optimizer:
            self._read(self._catch_up)  # what can be done before others have to wait for it
        return self._store.write(
            self._id,
            lambda unit: take(unit, self._copy, n, worker=worker, limit=limit, patience=self.heartbeat, fixed=fixed),
            on_rollback=self._copy.forget,  # it may be ahead of the file
            scope="suggestion",
            while_next=self._catch_up,
        )

    def _catch_up(self, view: View) -> None:
        self._copy.optimizer(view).catch_up()

    def release(self, trial_id: int | None = None, *, everything: bool = False) -> list[int]:
        """Give pending trials back, to be asked again: one by id, those of workers that died, or ``everything``.

        Their ids, without those that wait to be asked already.
        """
        if trial_id is not None:
            return self._write(lambda unit: release_one(unit, trial_id), "trials")
        if everything:
            return self._write(lambda unit: release(unit, self._copy.trials(unit)))
        return self._write(lambda unit: release(unit, [lost.trial for lost in unit.lost(self.heartbeat)]))

    # -- running

    def run(
        self,
        f: Callable[..., Any],
        n_trials: int,
        *,
        x0: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        n_workers: int | None = None,
        executor: Executor | None = None,
        timeout: Any = None,
        target: float | None = None,
        patience: int | None = None,
        stop_when_gain_below: float | None = None,
        progress: bool = True,
        callback: Callback | None = None,
        on_error: OnError = "record",
    ) -> Result:
        """Evaluate ``f(**params)`` at suggestions of this study.

        In memory ``n_trials`` new trials are made; with a study it is the total of suggestions that the study shall
        have, told or failed, so that the same call made again, after Ctrl-C or a crash, does the rest. Several
        processes that run one study share the work.

        Parameters
        ----------
        f
            The objective, called with the params by name; it returns a number, a list of readings, a tuple
            (value, standard_error), or a mapping of named metrics to these.
        n_trials
            The total of suggestions that the study shall have; points of ``x0`` count.
        x0
            Points to begin with, ``[{"x": 1.0, "y": 0.0}, ...]``; those that the study does not have yet.
        n_workers
            Evaluations at a time, in threads or in the ``executor``; None: one, or as many as the executor has.
        executor
            A ``concurrent.futures.Executor`` that evaluates, such as a process pool.
        timeout
            Seconds, or a text such as "30min", after which no trial is started.
        target
            A value at which, or at a better one, the run stops; it must keep every outcome constraint.
        patience
            Trials without a better value, or of several objectives without a change of the front, after which the run
            stops.
        stop_when_gain_below
            The run stops when the model expects another ten evaluations to gain less than this, see
            ``Optimizer.expected_gain``, and says so five times in a row.
        progress
            Whether progress is shown.
        callback
            ``callback(optimizer or study, trial)`` is called after each trial; something true stops the run.
        on_error
            "record" makes an exception of ``f`` a failed trial and stops if the first five all fail the same way,
            "continue" never stops for it, "raise" stops at the first.
        """
        return run(
            self.source(n_trials),
            f,
            x0=x0,
            n_workers=n_workers,
            executor=executor,
            timeout=timeout,
            target=target,
            patience=patience,
            stop_when_gain_below=stop_when_gain_below,
            progress=progress,
            callback=callback,
            on_error=on_error,
        )

    def source(self, n_trials: int) -> StudySource:
        """The trials of this study for a run of one's own making."""
        return StudySource(self, self._store, self._id, n_trials)


def _reopen(path: str, name: str, given: Given, threads: int | None, heartbeat: float) -> Study:
    """A study in another process."""
    return Study(
        path,
        name=name,
        constraint=given.constraint,
        prior=given.prior,
        threads=threads,
        heartbeat=heartbeat,
        **given.settings,
    )
