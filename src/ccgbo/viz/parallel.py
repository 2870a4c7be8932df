"""Parallel coordinates: every evaluation as a line across its parameters and what was measured of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ccgbo.arrays import Array
from ccgbo.errors import NoObservationsError, ParamsError, SettingError
from ccgbo.metrics import Metrics, feasible
from ccgbo.plotting import GREEN, one_axes, plain, pyplot
from ccgbo.records import Trial, objective_rows
from ccgbo.result import Result
from ccgbo.space import Parameter, Space
from ccgbo.space.placement import place_value
from ccgbo.viz.axes import labels_of, searched
from ccgbo.viz.figures import HasTrials

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class HasSpace(HasTrials, Protocol):
    """An Optimizer or a Study."""

    @property
    def space(self) -> Space: ...


def plot_parallel(
    source: HasSpace | Result, *, parameters: Sequence[str] | None = None, ax: Axes | None = None
) -> Axes:
    """Every complete trial as a line across its parameters; the better its value, the darker and the later drawn.

    Where metrics have names there is an axis for each of them, with the allowed range in green: the fewer trials are
    better in every objective, the darker a line, and those that broke a bound are dotted.
    """
    ax = one_axes(ax)
    space = source.optimizer().space if isinstance(source, Result) else source.space
    names = list(parameters) if parameters is not None else searched(space)
    for name in names:
        if name not in space:
            raise SettingError(f"parameters must be among {list(space)!r}, got {name!r}.")
    metrics = source.metrics
    done = [t for t in source.trials if t.in_model]
    measured = {name: np.array([t.values.get(name, math.nan) for t in done]) for name in metrics.names}
    if not any(np.isfinite(values).any() for values in measured.values()):
        raise NoObservationsError("no trial has a value yet.")
    rank = ranks(done, metrics)
    heights = [_heights(space, name, done) for name in names]
    lines = np.column_stack([*heights, *(_scaled(values) for values in measured.values())])
    broke = [feasible(t.values, metrics) is False for t in done]
    _draw(ax, lines, rank, broke)
    for x, name in enumerate(names):
        _scale_beside(ax, x, space, name)
    for x, name in enumerate(metrics.names, len(names)):
        _metric_beside(ax, x, measured[name], metrics, name)
    width = len(names) + len(metrics.names)
    ax.set_xticks(range(width), [plain(name) for name in (*names, *metrics.names)], rotation=20 if width > 5 else 0)
    title = "All evaluations, the front darkest" if metrics.several else "All evaluations, the best darkest"
    ax.set(yticks=[], ylim=(-0.06, 1.06), xlim=(-0.3, width - 0.55), title=title)
    ax.spines[["top", "right", "left"]].set_visible(False)
    return ax


def ranks(trials: Sequence[Trial], metrics: Metrics) -> Array:  # (n,) in [0, 1]
    """How good each trial is among all: by its value or, of several objectives, by how many trials dominate it.

    Those that broke a bound, or of which too little was measured to tell, come last.
    """
    n = len(trials)
    tells = [metrics.objectives.keys() <= t.values.keys() and feasible(t.values, metrics) is True for t in trials]
    rows = np.flatnonzero(tells).tolist()
    Y = objective_rows([trials[row] for row in rows], metrics)
    merit = np.full(n, -math.inf)
    if metrics.several:
        for row, y in zip(rows, Y, strict=True):
            merit[row] = -float(((y <= Y).all(axis=1) & (y < Y).any(axis=1)).sum())
    else:
        merit[rows] = Y[:, 0]
    worse = (
        np.searchsorted(np.sort(merit), merit, side="right") - 1
        if metrics.several
        else np.argsort(np.argsort(merit, kind="stable"))
    )
    rank: Array = worse / max(n - 1, 1)
    return np.where(np.isfinite(merit), rank, 0.0)


def _draw(ax: Axes, lines: Array, rank: Array, broke: Sequence[bool]) -> None:
    cmap = pyplot().get_cmap("viridis_r")
    for i in np.argsort(rank, kind="stable"):
        (there,) = np.isfinite(lines[i]).nonzero()  # a line passes by what is inactive or was not measured
        ax.plot(
            there,
            lines[i][there],
            color=cmap(rank[i]),
            alpha=0.2 + 0.7 * rank[i] ** 2,
            linewidth=0.8 + 1.2 * rank[i] ** 4,
            linestyle=":" if broke[i] else "-",
        )


def _heights(space: Space, name: str, trials: Sequence[Trial]) -> Array:
    """Position of each trial on an axis of unit height; NaN where it is inactive, or has none in the space."""
    return np.array([_height(space[name], name, t.params[name]) if name in t.params else np.nan for t in trials])


def _height(p: Parameter, name: str, value: Any) -> float:
    try:
        return place_value(p, name, value)  # beyond the bounds where the space was changed
    except ParamsError:
        return math.nan


def _scaled(values: Array, ends: tuple[float, float] | None = None) -> Array:
    low, high = _ends(values) if ends is None else ends
    return (values - low) / (high - low) if high > low else np.where(np.isfinite(values), 0.5, np.nan)


def _ends(values: Array) -> tuple[float, float]:
    known = values[np.isfinite(values)]
    return (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)


def _metric_beside(ax: Axes, x: int, values: Array, metrics: Metrics, name: str) -> None:
    """The ends of what was measured, and what is allowed of it."""
    low, high = _ends(values)
    known = np.isfinite(values).any()
    _beside(ax, x, [(0.0, f"{low:.3g}"), (1.0, f"{high:.3g}")] if known else [])
    bound = metrics.constraints.get(name)
    if bound is not None and known:
        allowed = np.clip(_scaled(np.clip([bound.lower, bound.upper], low, high), (low, high)), 0.0, 1.0)
        if bound.lower <= high and bound.upper >= low:
            ax.plot([x, x], allowed if high > low else [0.0, 1.0], color=GREEN, linewidth=4, alpha=0.6, zorder=1.5)


def _scale_beside(ax: Axes, x: int, space: Space, name: str) -> None:
    p = space[name]
    labels = labels_of(p)
    if labels:
        heights = p.unit_of_index(np.arange(p.size, dtype=float))
        _beside(ax, x, list(zip(heights.tolist(), labels)))
    else:
        ends = [p.from_unit(0.0), p.from_unit(1.0)]
        _beside(ax, x, [(p.to_unit(name, v), f"{v:.3g}") for v in ends])


def _beside(ax: Axes, x: int, marks: Sequence[tuple[float, str]]) -> None:
    ax.axvline(x, color="#9ca3af", linewidth=0.8, zorder=1)
    for y, text in marks:
        box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.8}
        ax.annotate(
            plain(text), (x, y), (4, 0), textcoords="offset points", va="center", fontsize="small", bbox=box, zorder=5
        )
