"""The one-call interface: ``maximize``, ``minimize`` and ``optimize``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any, Unpack

from ccgbo.engine.optimizer import Optimizer
from ccgbo.engine.options import OptimizerOptions, check_keywords
from ccgbo.engine.settings import Settings
from ccgbo.errors import SettingError
from ccgbo.result import Result
from ccgbo.running import Callback, CtrlC, MemorySource, OnError, Source, run
from ccgbo.space import Space
from ccgbo.study import Study


def maximize(
    f: Callable[..., Any],
    space: Space | Mapping[str, Any],
    n_trials: int,
    *,
    x0: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    seed: int | None = None,
    study: Study | str | os.PathLike[str] | None = None,
    name: str | None = None,
    n_workers: int | None = None,
    executor: Executor | None = None,
    timeout: Any = None,
    target: float | None = None,
    patience: int | None = None,
    stop_when_gain_below: float | None = None,
    progress: bool = True,
    callback: Callback | None = None,
    on_error: OnError = "record",
    **settings: Unpack[OptimizerOptions],
) -> Result:
    """Find the params with the highest ``f(**params)``.

    >>> result = maximize(lambda x, y: -((x - 1) ** 2) - y**2, {"x": (-5.0, 5.0), "y": (-5.0, 5.0)}, n_trials=30)
    >>> result.best_params

    In memory ``n_trials`` new trials are made; with a study it is the total of suggestions that the study shall have,
    told or failed, so that the same call made again, after Ctrl-C or a crash, does the rest.

    Parameters
    ----------
    f
        The objective, called with the params by name; it returns a number, a list of readings, a tuple
        (value, standard_error), or a mapping of named metrics to these.
    space
        What to search: a ``Space``, or a mapping of names to parameters.
    n_trials
        New trials in memory, the total with a study; points of ``x0`` count.
    x0
        Points to begin with, ``[{"x": 1.0, "y": 0.0}, ...]``; with a study those that it does not have yet.
    seed
        Makes the run repeatable; None draws one.
    study
        A file, or an open ``ccgbo.Study``, that keeps the optimisation; None keeps it in memory.
    name
        The name of the study in that file.
    n_workers
        Evaluations at a time, in threads or in the ``executor``; None: one, or as many as the executor has.
    executor
        A ``concurrent.futures.Executor`` that evaluates, such as a process pool.
    timeout
        Seconds, or a text such as "30min", after which no trial is started.
    target
        A value at which, or at a better one, the run stops; it must keep every outcome constraint.
    patience
        Trials without a better value after which the run stops.
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
    **settings
        The options of ``ccgbo.Optimizer``: outcome_constraints, objective, preset, constraint, prior, threads and every
        field of ``Settings``.
    """
    check_keywords(settings, maximize, OptimizerOptions)
    with _source({"direction": "maximize"}, space, n_trials, study, name, seed=seed, **settings) as source:
        return run(
            source,
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


def minimize(
    f: Callable[..., Any],
    space: Space | Mapping[str, Any],
    n_trials: int,
    *,
    x0: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    seed: int | None = None,
    study: Study | str | os.PathLike[str] | None = None,
    name: str | None = None,
    n_workers: int | None = None,
    executor: Executor | None = None,
    timeout: Any = None,
    target: float | None = None,
    patience: int | None = None,
    stop_when_gain_below: float | None = None,
    progress: bool = True,
    callback: Callback | None = None,
    on_error: OnError = "record",
    **settings: Unpack[OptimizerOptions],
) -> Result:
    """Find the params with the lowest ``f(**params)``; everything else as in ``maximize``.

    In memory ``n_trials`` new trials are made; with a study it is the total of suggestions that the study shall have,
    told or failed, so that the same call made again, after Ctrl-C or a crash, does the rest.
    """
    check_keywords(settings, minimize, OptimizerOptions)
    with _source({"direction": "minimize"}, space, n_trials, study, name, seed=seed, **settings) as source:
        return run(
            source,
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


def optimize(
    f: Callable[..., Any],
    space: Space | Mapping[str, Any],
    n_trials: int,
    *,
    x0: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    seed: int | None = None,
    study: Study | str | os.PathLike[str] | None = None,
    name: str | None = None,
    n_workers: int | None = None,
    executor: Executor | None = None,
    timeout: Any = None,
    patience: int | None = None,
    stop_when_gain_below: float | None = None,
    progress: bool = True,
    callback: Callback | None = None,
    on_error: OnError = "record",
    **settings: Unpack[OptimizerOptions],
) -> Result:
    """Find the trade-offs between several objectives; everything else as in ``maximize``.

    >>> optimize(react, space, n_trials=40, objectives={"yield": "maximize", "cost": "minimize"})

    ``f(**params)`` returns a mapping of the metrics to their values; of one objective a number will do. A metric that
    is missing, None or NaN was not measured, the others count. The result has ``pareto_front()``, ``hypervolume()`` and
    ``recommend()``.

    Parameters
    ----------
    f
        What is evaluated, called with the params by name; it returns ``{"yield": 71.5, "cost": 3.2}``.
    space
        What to search: a ``Space``, or a mapping of names to parameters.
    n_trials
        New trials in memory, the total with a study; points of ``x0`` count.
    x0
        Points to begin with; with a study those that it does not have yet.
    seed
        Makes the run repeatable; None draws one.
    study
        A file, or an open ``ccgbo.Study``, that keeps the optimisation; None keeps it in memory.
    name
        The name of the study in that file.
    n_workers
        Evaluations at a time, in threads or in the ``executor``; None: one, or as many as the executor has.
    executor
        A ``concurrent.futures.Executor`` that evaluates, such as a process pool.
    timeout
        Seconds, or a text such as "30min", after which no trial is started.
    patience
        Trials without a change of the front, or of one objective without a better value, after which the run stops.
    stop_when_gain_below
        As in ``maximize``; of two or three objectives a share of the hypervolume of the front, such as 0.01.
    progress
        Whether progress is shown.
    callback
        ``callback(optimizer or study, trial)`` is called after each trial; something true stops the run.
    on_error
        As in ``maximize``.
    **settings
        ``objectives``, by name "maximize" or "minimize", up to five, which must be given; the other options of
        ``ccgbo.Optimizer``: outcome_constraints, preset, constraint, prior, threads and every field of ``Settings``.
    """
    check_keywords(settings, optimize, OptimizerOptions)
    if settings.get("objectives") is None:
        raise SettingError('objectives must be given, such as {"yield": "maximize", "cost": "minimize"}, got None.')
    with _source({}, space, n_trials, study, name, seed=seed, **settings) as source:
        return run(
            source,
            f,
            x0=x0,
            n_workers=n_workers,
            executor=executor,
            timeout=timeout,
            patience=patience,
            stop_when_gain_below=stop_when_gain_below,
            progress=progress,
            callback=callback,
            on_error=on_error,
        )


@contextmanager
def _source(
    goal: Mapping[str, Any],  # the direction, where there is one
    space: Space | Mapping[str, Any],
    n_trials: int,
    study: Study | str | os.PathLike[str] | None,
    name: str | None,
    *,
    preset: str | Settings | None = None,
    **settings: Any,
) -> Iterator[Source]:
    if study is None:
        if name is not None:
            raise SettingError(f"name must be given together with study=, a file to keep it in; got {name!r} alone.")
        optimizer = Optimizer(space, preset="default" if preset is None else preset, **goal, **settings)
        yield MemorySource(optimizer, n_trials)
        return
    if not isinstance(study, Study | str | os.PathLike):
        raise SettingError(f"study must be the path of a file or a Study, got {study!r}.")
    if isinstance(study, Study) and name not in (None, study.name):
        raise SettingError(f"name must be that of the study, {study.name!r}, got {name!r}.")
    path, name = (study.path, study.name) if isinstance(study, Study) else (study, name)
    with Study(path, space, name=name, preset=preset, **goal, **settings) as opened:
        # a study that is open already stays so; this second look checks that what is given is what it was made with
        yield (study if isinstance(study, Study) else opened).source(n_trials)
        with CtrlC():  # pressed once more than needed while the result is on its way
            opened.close()
