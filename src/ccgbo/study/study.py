"""A named optimisation that outlives the process.

Every ask and tell is one transaction on the study's file, on disk before the call returns. The optimizer in memory is
only a copy that catches up with the file before it is used, so any number of processes can work on one study: an ask
sees all that was told, and no two asks start from the same state.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from typing import Any, Literal, Self, TypeVar, Unpack, overload

from ccgbo.engine.history import read_table
from ccgbo.engine.options import SettingsOptions, check_keywords
from ccgbo.engine.settings import Settings
from ccgbo.errors import SettingError
from ccgbo.outcomes import outcome_of
from ccgbo.records import Direction, Result, Trial
from ccgbo.running import Callback, OnError, run
from ccgbo.space import Space
from ccgbo.storage import Unit, open_store
from ccgbo.study.definition import (
    Given,
    check_arguments,
    define,
    find_or_create,
    load_what_asking_needs,
    reopen,
)
from ccgbo.study.reader import StudyReader
from ccgbo.study.source import StudySource
from ccgbo.study.steps import add_told, pending, release, take
from ccgbo.validation import optional_whole_number, whole_number

T = TypeVar("T")


class Study(StudyReader):
    """Opens the study ``name`` in the file ``path``, or creates it if a space is given and the file does not have it.

    >>> study = Study("tune.db", {"lr": (1e-5, 1e-1)}, name="resnet", direction="minimize")
    >>> trial = study.ask()
    >>> study.tell(trial, 0.31)

    On opening everything but the path can be left out; what is given must be what the study was created with.

    Parameters
    ----------
    path
        The file; one file may hold many studies.
    space
        What to search: a ``Space``, or a mapping of names to parameters. None opens a study that is there.
    name
        None opens the only study of the file.
    direction
        "maximize" unless given, or "minimize".
    preset
        Settings to start from: "default" unless given, "paper" or a ``Settings``.
    seed
        Makes the suggestions repeatable; None draws one.
    constraint
        What a point must satisfy: a predicate of the params, a ``LinearConstraint``, or a list of them.
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
        preset: str | Settings | None = None,
        seed: int | None = None,
        constraint: Any = None,
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
            preset=preset,
            seed=seed,
            constraint=constraint,
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
        return f"Study({str(self.path)!r}, name={self.name!r}, direction={self.direction!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (str(self.path), self.name, self._given, self._threads, self.heartbeat)

    def close(self) -> None:
        """Let go of the file; trials stay as they are."""
        self._store.close()

    # -- ask and tell

    @overload
    def ask(self) -> Trial: ...
    @overload
    def ask(self, n: int) -> list[Trial]: ...
    def ask(self, n: int | None = None) -> Trial | list[Trial]:
        """The next point to evaluate, or ``n`` of them: trials that were given back first, then new suggestions."""
        wanted = 1 if n is None else whole_number("n", n)
        trials = self.take(wanted) or self.take(wanted)  # the first may only have settled what crashed too often
        return trials[0] if n is None else trials

    def take(self, n: int, *, worker: str | None = None, limit: int | None = None) -> list[Trial]:
        """Up to ``n`` trials, held by ``worker`` until it falls silent; at most ``limit`` suggestions in the study."""
        if self._definition.missing:
            names = " and ".join(f"{name}=" for name in self._definition.missing)
            raise SettingError(
                f"the study {self.name!r} has parts that a file cannot hold: open it with {names} again."
            )
        load_what_asking_needs()
        self._read(self._copy.optimizer)  # what can be done before others have to wait for it
        return self._store.write(
            self._id,
            lambda unit: take(unit, self._copy, n, worker=worker, limit=limit, patience=self.heartbeat),
            on_rollback=self._copy.forget,  # it may be ahead of the file
        )

    def tell(
        self,
        trial: Trial | int | Mapping[str, Any],
        value: Any = None,
        *,
        failed: bool = False,
        noise_variance: float | None = None,
        error: str | None = None,
    ) -> Trial:
        """Record the outcome of a trial, or of a point evaluated elsewhere: ``tell(params, value)``."""
        outcome = outcome_of(value, failed=failed, noise_variance=noise_variance, error=error)
        if isinstance(trial, Mapping):
            self.space.encode(trial)  # refuses what is no point of the space
            return self.add_told([Trial(id=-1, params=self.space.canonical(trial)).with_outcome(**outcome)])[0]
        return self._write(lambda unit: unit.revise(pending(unit, trial).with_outcome(**outcome)))

    def tell_many(self, params: Any, values: Iterable[Any], *, noise_variance: Any = None) -> list[Trial]:
        """Record many evaluations made elsewhere, all or none; ``params`` is a list of dicts or a DataFrame."""
        rows, outcomes = read_table(params, values, noise_variance, self.space)
        points = [Trial(id=-1, params=self.space.canonical(row)) for row in rows]
        return self.add_told(point.with_outcome(**o) for point, o in zip(points, outcomes, strict=True))

    def add_told(self, trials: Iterable[Trial]) -> list[Trial]:
        """Take in finished trials from elsewhere under new ids, all or none."""
        told = list(trials)  # a step may be done again
        return self._write(lambda unit: add_told(unit, told))

    def tell_rows(self, plan: Callable[[Mapping[int, Trial]], tuple[list[Trial], list[Trial]]]) -> list[Trial]:
        """Take in outcomes of pending trials, and finished trials from elsewhere under new ids, in one write.

        ``plan`` sees every trial as the file has it and returns both lists; what it raises leaves the file as it was.
        """

        def tell(unit: Unit) -> list[Trial]:
            done, told = plan({trial.id: trial for trial in self._copy.trials(unit)})
            return [unit.revise(trial) for trial in done] + add_told(unit, told)

        return self._write(tell)

    def release(self, trial_id: int | None = None, *, everything: bool = False) -> list[int]:
        """Give pending trials back, to be asked again: one by id, those of workers that died, or ``everything``."""
        if trial_id is not None:
            return self._write(lambda unit: release(unit, [pending(unit, trial_id)]))
        if everything:
            return self._write(lambda unit: release(unit, self._copy.trials(unit)))
        return self._write(lambda unit: release(unit, [lost.trial for lost in unit.lost(self.heartbeat)]))

    def _write(self, work: Callable[[Unit], T]) -> T:
        return self._store.write(self._id, work)

    # -- running

    def run(
        self,
        f: Callable[..., Any],
        n_trials: int,
        *,
        n_workers: int | None = None,
        executor: Executor | None = None,
        timeout: Any = None,
        target: float | None = None,
        patience: int | None = None,
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
            The objective, called with the params by name; it returns one number.
        n_trials
            The total of suggestions that the study shall have.
        n_workers
            Evaluations at a time, in threads or in the ``executor``; None: one, or as many as the executor has.
        executor
            A ``concurrent.futures.Executor`` that evaluates, such as a process pool.
        timeout
            Seconds, or a text such as "30min", after which no trial is started.
        target
            A value at which, or at a better one, the run stops.
        patience
            Trials without a better value after which the run stops.
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
            n_workers=n_workers,
            executor=executor,
            timeout=timeout,
            target=target,
            patience=patience,
            progress=progress,
            callback=callback,
            on_error=on_error,
        )

    def source(self, n_trials: int) -> StudySource:
        """The trials of this study for a run of one's own making."""
        return StudySource(self, self._store, self._id, n_trials)


def _reopen(path: str, name: str, given: Given, threads: int | None, heartbeat: float) -> Study:
    """A study in another process."""
    options = {"direction": given.direction, "preset": given.preset, "constraint": given.constraint}
    return Study(
        path,
        given.space,
        name=name,
        **options,
        prior=given.prior,
        threads=threads,
        heartbeat=heartbeat,
        **given.settings,
    )
