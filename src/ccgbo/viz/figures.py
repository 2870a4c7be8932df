"""Figures of a run: each function draws on the axes it is given or makes its own, and returns them.

``source`` is an ``Optimizer``, a ``Study`` or a ``Result``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ccgbo.arrays import Array
from ccgbo.errors import NoObservationsError, UnsupportedError
from ccgbo.metrics import Metrics, feasible
from ccgbo.plotting import BLUE, CYCLE, GREY, RED, one_axes, plain, tidy
from ccgbo.records import NO_VALUE, Direction, Trial
from ccgbo.space import Space
from ccgbo.viz.axes import place
from ccgbo.viz.importance import importance
from ccgbo.viz.model_view import ModelView, Source
from ccgbo.viz.replay import replay_credits

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class HasTrials(Protocol):
    """An Optimizer, a Study or a Result."""

    @property
    def trials(self) -> Sequence[Trial]: ...
    @property
    def direction(self) -> Direction: ...
    @property
    def metrics(self) -> Metrics: ...


Runs = HasTrials | Sequence[HasTrials]  # one run, or repeats of it


def plot_progress(source: HasTrials | Mapping[str, Runs], *, ax: Axes | None = None) -> Axes:
    """Values as they came in and the best so far; several runs by name give one line each.

    With outcome constraints the best feasible value, and crosses for the evaluations that broke a bound. Several
    objectives have no best value: ``plot_hypervolume`` shows how their front grew.
    """
    ax = one_axes(ax)
    if isinstance(source, Mapping):
        for color, (label, runs) in zip(colors_of(len(source)), source.items()):
            band(ax, same_length([_best_so_far(run) for run in runs_of(runs)]), label, color)
        ax.legend()
    else:
        _evaluations(ax, source)
    first = next(iter(runs_of(next(iter(source.values()))))) if isinstance(source, Mapping) else source
    kept = "Best feasible value so far" if first.metrics.constraints else "Best so far"
    ax.set(xlabel="evaluation", ylabel=plain(first.metrics.objective), title=kept)
    tidy(ax)
    return ax


def _evaluations(ax: Axes, run: HasTrials) -> None:
    """Every evaluation by whether it is feasible, and the best feasible value so far."""
    values, kept = _values(run), _kept(run)
    steps = np.arange(1, len(values) + 1)
    dot: dict[str, Any] = {"alpha": 0.55, "markersize": 4, "markeredgewidth": 0}
    known, broke, unknown = (np.array([k is wanted for k in kept]) for wanted in (True, False, None))
    ax.plot(steps[known], values[known], "o", color=GREY, label="evaluations", **dot)
    if broke.any():
        ax.plot(steps[broke], values[broke], "x", color=RED, markersize=5, label="infeasible")
    if unknown.any():
        ax.plot(
            steps[unknown], values[unknown], "o", mec=GREY, mfc="none", markersize=4, label="not known whether feasible"
        )
    ax.step(steps, _best_so_far(run), where="post", color=BLUE, label="best so far")
    ax.legend(loc="best")


def plot_regret(
    source: HasTrials | Mapping[str, Runs], optimum: float, *, cumulative: bool = False, ax: Axes | None = None
) -> Axes:
    """Simple regret |optimum - best so far|, or cumulative regret, on a log axis; repeats give mean and its error.

    With outcome constraints the simple regret of the best feasible value.
    """
    ax = one_axes(ax)
    named: Mapping[str, Runs] = source if isinstance(source, Mapping) else {"": source}
    for color, (label, runs) in zip(colors_of(len(named)), named.items()):
        curves = [_regret(run, optimum, cumulative=cumulative) for run in runs_of(runs)]
        band(ax, same_length(curves), label, color)
    if len(named) > 1:
        ax.legend()
    lines = [np.asarray(line.get_ydata(), dtype=float) for line in ax.get_lines()]
    if any((line > 0).any() for line in lines):
        ax.set_yscale("log")
    kind = "cumulative" if cumulative else "simple"
    ax.set(xlabel="evaluation", ylabel=f"{kind} regret", title=f"{kind.capitalize()} regret")
    tidy(ax)
    return ax


def runs_of(runs: Runs) -> Sequence[HasTrials]:
    return runs if isinstance(runs, Sequence) else [runs]


def same_length(curves: Sequence[Array]) -> Array:  # (r, T)
    shortest = min(map(len, curves))
    return np.array([curve[:shortest] for curve in curves])


def colors_of(n: int) -> list[str]:
    return [CYCLE[i % len(CYCLE)] for i in range(n)]


def _values(run: HasTrials) -> Array:
    """The values that came in, NaN where a trial has other metrics only."""
    if run.metrics.several:
        said = "; ".join(run.metrics.describe())
        raise UnsupportedError(f"this figure is of one objective, got {said}: plot_hypervolume is of several.")
    values = np.array([t.value for t in run.trials if t.in_model], dtype=float)
    if np.isnan(values).all():
        raise NoObservationsError("no trial has a value yet.")
    return values


def _kept(run: HasTrials) -> list[bool | None]:
    """Whether each evaluation keeps every bound, None where that was not measured."""
    return [feasible(t.values, run.metrics) for t in run.trials if t.in_model]


def _best_so_far(run: HasTrials) -> Array:
    """The best feasible value, NaN while there is none."""
    values = np.where([kept is True for kept in _kept(run)], _values(run), np.nan)
    best: Array = (np.fmax if run.direction == "maximize" else np.fmin).accumulate(values)
    return best


def _regret(run: HasTrials, optimum: float, *, cumulative: bool) -> Array:
    if cumulative and run.metrics.constraints:
        said = "; ".join(run.metrics.describe())
        raise UnsupportedError(f"cumulative=True is for evaluations that are all feasible, got {said}.")
    if cumulative:
        return np.cumsum(np.abs(optimum - _values(run)))
    return np.abs(optimum - _best_so_far(run))


def band(ax: Axes, curves: Array, label: str, color: str, drawstyle: str = "default") -> None:
    """Mean of the repeats (r, T) with one standard error around it."""
    steps, mean = np.arange(1, curves.shape[1] + 1), curves.mean(axis=0)
    ax.plot(steps, mean, color=color, label=plain(label), drawstyle=drawstyle)
    if len(curves) > 1:
        error = curves.std(axis=0, ddof=1) / np.sqrt(len(curves))
        ax.fill_between(steps, mean - error, mean + error, color=color, alpha=0.18, linewidth=0)


def plot_importance(source: Source, *, metric: str | None = None, ax: Axes | None = None) -> Axes:
    """Total Sobol index of each parameter under the model, the most important on top.

    Where metrics have names, under the model of ``metric``; without one, of the (first) objective.
    """
    ax = one_axes(ax)
    view = ModelView(source, metric=metric)
    shares = importance(view)
    names, values = list(shares)[::-1], list(shares.values())[::-1]
    bars = ax.barh([plain(name) for name in names], values, color=BLUE, height=0.65)
    ax.bar_label(bars, [f"{100 * v:.0f} %" for v in values], padding=3, fontsize="small")
    ax.set(
        xlim=(0.0, 1.15 * max(*values, 0.01, 0.0)),
        xlabel="share of the predicted variation it takes part in",
        title="Parameter importance" if view.metrics.plain else f"Parameter importance: {plain(view.metric)}",
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


def dots(ax: Axes, x: Array, y: Array, area: Array, broke: Sequence[bool] = ()) -> None:
    """Observations, sized by credit; crosses where they broke an outcome constraint."""
    out = np.array(broke, dtype=bool) if len(broke) else np.zeros(len(x), dtype=bool)
    kept = ~out
    ax.scatter(x[kept], y[kept], s=area[kept], facecolor=RED, edgecolor="white", linewidth=0.7, alpha=0.9, zorder=4)
    if out.any():
        ax.scatter(x[out], y[out], s=area[out], color=RED, marker="x", linewidth=1.2, alpha=0.9, zorder=4)


def where(space: Space, name: str, trials: Sequence[Trial]) -> Array:
    """Where trials lie along an axis."""
    return np.array([place(space[name], t.params.get(name)) for t in trials])
