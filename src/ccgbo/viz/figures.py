"""Figures of a run: each function draws on the axes it is given or makes its own, and returns them.

``source`` is an ``Optimizer``, a ``Study`` or a ``Result``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ccgbo.arrays import Array
from ccgbo.errors import NoObservationsError, ParamsError, SettingError
from ccgbo.plotting import BLUE, CYCLE, GREY, RED, one_axes, plain, pyplot, tidy
from ccgbo.records import NO_VALUE, Direction, Trial
from ccgbo.result import Result
from ccgbo.space import Parameter, Space
from ccgbo.space.placement import place_value
from ccgbo.viz.axes import labels_of, place, searched
from ccgbo.viz.importance import importance
from ccgbo.viz.model_view import Source, replay_credits

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class HasTrials(Protocol):
    """An Optimizer, a Study or a Result."""

    @property
    def trials(self) -> Sequence[Trial]: ...
    @property
    def direction(self) -> Direction: ...


class HasSpace(HasTrials, Protocol):
    """An Optimizer or a Study."""

    @property
    def space(self) -> Space: ...


Runs = HasTrials | Sequence[HasTrials]  # one run, or repeats of it


def plot_progress(source: HasTrials | Mapping[str, Runs], *, ax: Axes | None = None) -> Axes:
    """Values as they came in and the best so far; several runs by name give one line each."""
    ax = one_axes(ax)
    if isinstance(source, Mapping):
        for color, (label, runs) in zip(_colors(len(source)), source.items()):
            _band(ax, _same_length([_best_so_far(run) for run in _runs(runs)]), label, color)
        ax.legend()
    else:
        values = _values(source)
        steps = np.arange(1, len(values) + 1)
        ax.plot(steps, values, "o", color=GREY, alpha=0.55, markersize=4, markeredgewidth=0, label="evaluations")
        ax.step(steps, _best_so_far(source), where="post", color=BLUE, label="best so far")
        ax.legend(loc="best")
    ax.set(xlabel="evaluation", ylabel="value", title="Best so far")
    tidy(ax)
    return ax


def plot_regret(
    source: HasTrials | Mapping[str, Runs], optimum: float, *, cumulative: bool = False, ax: Axes | None = None
) -> Axes:
    """Simple regret |optimum - best so far|, or cumulative regret, on a log axis; repeats give mean and its error."""
    ax = one_axes(ax)
    named: Mapping[str, Runs] = source if isinstance(source, Mapping) else {"": source}
    for color, (label, runs) in zip(_colors(len(named)), named.items()):
        curves = [_regret(run, optimum, cumulative=cumulative) for run in _runs(runs)]
        _band(ax, _same_length(curves), label, color)
    if len(named) > 1:
        ax.legend()
    lines = [np.asarray(line.get_ydata(), dtype=float) for line in ax.get_lines()]
    if any((line > 0).any() for line in lines):
        ax.set_yscale("log")
    kind = "cumulative" if cumulative else "simple"
    ax.set(xlabel="evaluation", ylabel=f"{kind} regret", title=f"{kind.capitalize()} regret")
    tidy(ax)
    return ax


def _runs(runs: Runs) -> Sequence[HasTrials]:
    return runs if isinstance(runs, Sequence) else [runs]


def _same_length(curves: Sequence[Array]) -> Array:  # (r, T)
    shortest = min(map(len, curves))
    return np.array([curve[:shortest] for curve in curves])


def _colors(n: int) -> list[str]:
    return [CYCLE[i % len(CYCLE)] for i in range(n)]


def _values(run: HasTrials) -> Array:
    values = np.array([t.value for t in run.trials if t.in_model], dtype=float)
    if not len(values):
        raise NoObservationsError("no trial has a value yet.")
    return values


def _best_so_far(run: HasTrials) -> Array:
    best: Array = (np.maximum if run.direction == "maximize" else np.minimum).accumulate(_values(run))
    return best


def _regret(run: HasTrials, optimum: float, *, cumulative: bool) -> Array:
    if cumulative:
        return np.cumsum(np.abs(optimum - _values(run)))
    return np.abs(optimum - _best_so_far(run))


def _band(ax: Axes, curves: Array, label: str, color: str) -> None:
    """Mean of the repeats (r, T) with one standard error around it."""
    steps, mean = np.arange(1, curves.shape[1] + 1), curves.mean(axis=0)
    ax.plot(steps, mean, color=color, label=plain(label))
    if len(curves) > 1:
        error = curves.std(axis=0, ddof=1) / np.sqrt(len(curves))
        ax.fill_between(steps, mean - error, mean + error, color=color, alpha=0.18, linewidth=0)


def plot_parallel(
    source: HasSpace | Result, *, parameters: Sequence[str] | None = None, ax: Axes | None = None
) -> Axes:
    """Every complete trial as a line across its parameters; the better its value, the darker and the later drawn."""
    ax = one_axes(ax)
    space = source.optimizer().space if isinstance(source, Result) else source.space
    names = list(parameters) if parameters is not None else searched(space)
    for name in names:
        if name not in space:
            raise SettingError(f"parameters must be among {list(space)!r}, got {name!r}.")
    values = _values(source)
    done = [t for t in source.trials if t.in_model]
    good = values if source.direction == "maximize" else -values
    rank = np.argsort(np.argsort(good, kind="stable")) / max(len(good) - 1, 1)
    height = {name: _heights(space, name, done) for name in names}
    lines = np.column_stack([*height.values(), _scaled(values)])
    cmap = pyplot().get_cmap("viridis_r")
    for i in np.argsort(rank):
        (there,) = np.isfinite(lines[i]).nonzero()  # a line passes by the parameters that are inactive
        ax.plot(
            there,
            lines[i][there],
            color=cmap(rank[i]),
            alpha=0.2 + 0.7 * rank[i] ** 2,
            linewidth=0.8 + 1.2 * rank[i] ** 4,
        )
    for x, name in enumerate(names):
        _scale_beside(ax, x, space, name)
    low, high = values.min(), values.max()
    _beside(ax, len(names), [(0.0, f"{low:.3g}"), (1.0, f"{high:.3g}")])
    ax.set_xticks(range(len(names) + 1), [*map(plain, names), "value"], rotation=20 if len(names) > 4 else 0)
    ax.set(yticks=[], ylim=(-0.06, 1.06), xlim=(-0.3, len(names) + 0.45), title="All evaluations, the best darkest")
    ax.spines[["top", "right", "left"]].set_visible(False)
    return ax


def _heights(space: Space, name: str, trials: Sequence[Trial]) -> Array:
    """Position of each trial on an axis of unit height; NaN where it is inactive, or has none in the space."""
    return np.array([_height(space[name], name, t.params[name]) if name in t.params else np.nan for t in trials])


def _height(p: Parameter, name: str, value: Any) -> float:
    try:
        return place_value(p, name, value)  # beyond the bounds where the space was changed
    except ParamsError:
        return math.nan


def _scaled(values: Array) -> Array:
    spread = float(np.ptp(values))
    return (values - values.min()) / spread if spread else np.full(len(values), 0.5)


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


def plot_importance(source: Source, *, ax: Axes | None = None) -> Axes:
    """Total Sobol index of each parameter under the model, the most important on top."""
    ax = one_axes(ax)
    shares = importance(source)
    names, values = list(shares)[::-1], list(shares.values())[::-1]
    bars = ax.barh([plain(name) for name in names], values, color=BLUE, height=0.65)
    ax.bar_label(bars, [f"{100 * v:.0f} %" for v in values], padding=3, fontsize="small")
    ax.set(
        xlim=(0.0, 1.15 * max(*values, 0.01, 0.0)),
        xlabel="share of the predicted variation it takes part in",
        title="Parameter importance",
    )
    tidy(ax)
    ax.grid(visible=False, axis="y")
    return ax


def plot_credit_over_time(source: Source, *, columns: int = 80, colorbar: bool = True, ax: Axes | None = None) -> Axes:
    """Credit of each observation (row) after each number of observations (column)."""
    ax = one_axes(ax)
    history = replay_credits(source, columns=columns)
    if not len(history.trial_ids):
        raise NoObservationsError(NO_VALUE)
    edges = np.concatenate([history.after - 0.5, [history.after[-1] + 0.5]])
    rows = np.arange(len(history.trial_ids) + 1) + 0.5
    image = ax.pcolormesh(edges, rows, np.ma.masked_invalid(history.credits), cmap="cividis", vmin=0, vmax=1)
    image.set_rasterized(True)
    if colorbar:
        ax.figure.colorbar(image, ax=ax, label="credit", pad=0.02)
    top = int(np.nanargmax(history.credits[:, -1]))
    label = f"#{history.trial_ids[top]}"
    ax.annotate(label, (edges[-1], top + 1), (2, 0), textcoords="offset points", va="center", color=RED, clip_on=False)
    ax.set(xlabel="after this many observations", ylabel="observation", title="Credit over time")
    return ax


def dots(ax: Axes, x: Any, y: Any, area: Any) -> None:
    """Observations, sized by credit."""
    ax.scatter(x, y, s=area, facecolor=RED, edgecolor="white", linewidth=0.7, alpha=0.9, zorder=4)


def where(space: Space, name: str, trials: Sequence[Trial]) -> Array:
    """Where trials lie along an axis."""
    return np.array([place(space[name], t.params.get(name)) for t in trials])
