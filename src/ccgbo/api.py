"""The one-call interface: ``maximize`` and ``minimize``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

from ccgbo.errors import SettingError
from ccgbo.optimizer import Optimizer
from ccgbo.presets import Settings
from ccgbo.records import Direction, Result
from ccgbo.running import Callback, MemorySource, OnError, Source, run
from ccgbo.space import Space
from ccgbo.study import Study


def maximize(
    f: Callable[..., Any],
    space: Space | Mapping[str, Any],
    n_trials: int,
    *,
    seed: int | None = None,
    study: str | os.PathLike[str] | None = None,
    name: str | None = None,
    n_workers: int | None = None,
    executor: Executor | None = None,
    timeout: float | None = None,
    target: float | None = None,
    patience: int | None = None,
    progress: bool = True,
    callback: Callback | None = None,
    on_error: OnError = "record",
    **settings: Any,  # preset, acquisition, constraint, prior and every field of Settings
) -> Result:
    """Find the params with the highest ``f(**params)``.

    >>> result = maximize(lambda x, y: -((x - 1) ** 2) - y**2, {"x": (-5.0, 5.0), "y": (-5.0, 5.0)}, n_trials=30)
    >>> result.best_params

    ``study`` keeps the optimisation in a file: the same call made again, after Ctrl-C or a crash, goes on until the
    study has ``n_trials`` trials. In memory ``n_trials`` new trials are made. The options of the run are those of
    ``ccgbo.running.run``; the rest are those of ``ccgbo.Optimizer``.
    """
    with _source("maximize", space, n_trials, study, name, seed=seed, **settings) as source:
        return run(
            source,
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


def minimize(
    f: Callable[..., Any],
    space: Space | Mapping[str, Any],
    n_trials: int,
    *,
    seed: int | None = None,
    study: str | os.PathLike[str] | None = None,
    name: str | None = None,
    n_workers: int | None = None,
    executor: Executor | None = None,
    timeout: float | None = None,
    target: float | None = None,
    patience: int | None = None,
    progress: bool = True,
    callback: Callback | None = None,
    on_error: OnError = "record",
    **settings: Any,  # preset, acquisition, constraint, prior and every field of Settings
) -> Result:
    """Find the params with the lowest ``f(**params)``; everything else as in ``maximize``."""
    with _source("minimize", space, n_trials, study, name, seed=seed, **settings) as source:
        return run(
            source,
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


@contextmanager
def _source(
    direction: Direction,
    space: Space | Mapping[str, Any],
    n_trials: int,
    path: str | os.PathLike[str] | None,
    name: str | None,
    *,
    preset: str | Settings | None = None,
    **settings: Any,
) -> Iterator[Source]:
    if path is None:
        if name is not None:
            raise SettingError(f"name must be given together with study=, a file to keep it in; got {name!r} alone.")
        optimizer = Optimizer(space, direction=direction, preset="default" if preset is None else preset, **settings)
        yield MemorySource(optimizer, n_trials)
        return
    with Study(path, space, name=name, direction=direction, preset=preset, **settings) as study:
        yield study.source(n_trials)
