"""Figures of several objectives: the front with what is not known of it, and how its volume grew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from ccgbo.errors import SettingError
from ccgbo.metrics import feasible
from ccgbo.plotting import BLUE, GREY, RED, many_axes, one_axes, plain, tidy
from ccgbo.records import hypervolume_of
from ccgbo.viz.figures import HasTrials, Runs, band, colors_of, runs_of, same_length
from ccgbo.viz.front_view import FrontView, front_view, require_several, volumes
from ccgbo.viz.model_view import ModelView, Source

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PLAIN_DOT = 26.0  # points squared


def plot_front(
    source: Source | ModelView | FrontView,
    x: str | None = None,
    y: str | None = None,
    *,
    colorbar: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """The trials over two objectives, the first two if none are named: the front with 95 % bars of what is believed,
    dominated trials coloured by credit, and crosses for those that break an outcome constraint.

    A trial stands where it was measured if the model takes that for exact, else where the model believes it to be.
    """
    found = source if isinstance(source, FrontView) else front_view(source)
    i, j = _pair(found, x, y)
    ax = one_axes(ax)
    across, up = found.at[:, i], found.at[:, j]
    on, dominated, out = found.on_front, found.dominated, ~found.feasible
    bars = [np.maximum([found.at[on, k] - found.low[on, k], found.high[on, k] - found.at[on, k]], 0.0) for k in (i, j)]
    ax.errorbar(
        across[on], up[on], yerr=bars[1], xerr=bars[0], fmt="none", ecolor=BLUE, elinewidth=1.0, alpha=0.6, zorder=3
    )
    if len(found.names) == 2:  # the front of more objectives is no line in two of them
        order = np.argsort(across[on], kind="stable")
        ax.plot(across[on][order], up[on][order], color=BLUE, linewidth=1.0, alpha=0.6, zorder=2)
    credit: dict[str, Any] = {"cmap": "cividis", "vmin": 0.0, "vmax": 1.0}
    if out.any():
        shade = found.credit[out]
        ax.scatter(across[out], up[out], c=shade, marker="x", s=PLAIN_DOT, label="infeasible", zorder=4, **credit)
    image = ax.scatter(
        across[dominated],
        up[dominated],
        c=found.credit[dominated],
        s=PLAIN_DOT,
        edgecolor=GREY,
        linewidth=0.4,
        label="dominated",
        zorder=4,
        **credit,
    )
    ax.scatter(across[on], up[on], color=BLUE, marker="D", s=PLAIN_DOT, label="front", zorder=5)
    if colorbar:
        ax.figure.colorbar(image, ax=ax, label="credit", pad=0.02)
    ax.set(xlabel=plain(found.names[i]), ylabel=plain(found.names[j]), title="Front")
    ax.legend(loc="best", fontsize="small")
    tidy(ax)
    return ax


def plot_fronts(source: Source | ModelView, *, axes: Any = None) -> Any:
    """The front over each pair of objectives, at most three in a row."""
    found = front_view(source)
    pairs = list(combinations(found.names, 2))
    columns = min(3, len(pairs))
    grid = many_axes(axes, -(-len(pairs) // columns), columns, each=(0.62, 0.7))
    for k, (ax, (x, y)) in enumerate(zip(grid.flat, pairs)):
        plot_front(found, x, y, colorbar=(k + 1) % columns == 0 or k + 1 == len(pairs), ax=ax)
        if k:
            ax.get_legend().remove()
            ax.set_title("")
    for ax in grid.flat[len(pairs) :]:
        ax.set_visible(False)
    return grid


def _pair(found: FrontView, x: str | None, y: str | None) -> tuple[int, int]:
    """The places of two objectives; those not named are the first others."""
    for name in (x, y):
        if name is not None and name not in found.names:
            raise SettingError(f"x and y must be among the objectives {list(found.names)}, got {name!r}.")
    if x is not None and x == y:
        raise SettingError(f"x and y must be different objectives, got {x!r} twice.")
    free = [name for name in found.names if name not in (x, y)]
    first = x if x is not None else free.pop(0)
    second = y if y is not None else free.pop(0)
    return found.names.index(first), found.names.index(second)


def plot_hypervolume(
    source: HasTrials | Mapping[str, Runs], reference: Mapping[str, float] | None = None, *, ax: Axes | None = None
) -> Axes:
    """The volume that the measured front dominates, over the evaluations; runs by name give one line each.

    All are above one reference point: the one given, or that of the front of all trials together.
    """
    ax = one_axes(ax)
    named: Mapping[str, Runs] = source if isinstance(source, Mapping) else {"": source}
    every = [run for runs in named.values() for run in runs_of(runs)]
    point = _reference(every, reference)
    for color, (label, runs) in zip(colors_of(len(named)), named.items()):
        curves = [volumes(run.trials, run.metrics, point)[0] for run in runs_of(runs)]
        band(ax, same_length(curves), label, color, drawstyle="steps-post")
    if len(named) > 1:
        ax.legend()
    else:
        _mark_infeasible(ax, every[0])
    said = ", ".join(f"{plain(name)} {value:.4g}" for name, value in point.items())
    ax.set(xlabel="evaluation", ylabel=f"hypervolume, reference {said}", title="Hypervolume of the front")
    tidy(ax)
    return ax


def _reference(runs: Sequence[HasTrials], given: Mapping[str, float] | None) -> Mapping[str, float]:
    metrics = runs[0].metrics
    for run in runs:
        require_several(run.metrics, "plot_hypervolume")
        if run.metrics != metrics:
            raise SettingError(f"the runs must have the same objectives and constraints, got {metrics}, {run.metrics}.")
    trials = [trial for run in runs for trial in run.trials]
    return hypervolume_of(trials, metrics, given).reference


def _mark_infeasible(ax: Axes, run: HasTrials) -> None:
    """Ticks at the foot for the evaluations that broke a bound."""
    broke = [
        i for i, t in enumerate((t for t in run.trials if t.in_model), 1) if feasible(t.values, run.metrics) is False
    ]
    if broke:
        foot = ax.get_xaxis_transform()
        ax.plot(broke, np.full(len(broke), 0.02), "x", color=RED, markersize=4, transform=foot, label="infeasible")
        ax.legend(loc="best")
