"""Slices and maps of the model: mean, uncertainty, credit field and weighted acquisition, observations by credit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ccgbo.arrays import Array
from ccgbo.errors import SettingError
from ccgbo.metrics import feasible
from ccgbo.plotting import BLUE, GREEN, PURPLE, RED, dot_area, many_axes, one_axes, plain, tidy
from ccgbo.viz.axes import Axis, searched
from ccgbo.viz.figures import dots, where
from ccgbo.viz.importance import importance
from ccgbo.viz.layers import Slice
from ccgbo.viz.model_view import ModelView, Source, view_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


LAYERS = {  # of a map: title, colour map
    "mean": ("predicted value", "viridis"),
    "std": ("uncertainty", "cividis"),
    "credit": ("credit field", "cividis"),
    "base": ("base acquisition", "viridis"),
    "weighted": ("weighted acquisition", "viridis"),
    "feasibility": ("probability of being feasible", "cividis"),
}


def plot_map(
    source: Source | ModelView,
    x: str | None = None,
    y: str | None = None,
    *,
    layer: str = "mean",
    metric: str | None = None,
    through: Mapping[str, Any] | None = None,
    m: int = 61,
    colorbar: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """One layer of the model over two parameters; the other parameters are held at ``through``.

    Without ``x`` and ``y`` the two most important parameters are taken, without ``through`` the recommended point.
    Dots are the observations, projected, sized by credit; crosses are those that broke an outcome constraint. Where
    metrics have names, ``mean`` and ``std`` are of ``metric``, without one of the (first) objective.
    """
    if layer not in LAYERS:
        raise SettingError(f"layer must be one of {list(LAYERS)}, got {layer!r}.")
    view = view_of(source, metric)
    if layer == "feasibility" and not view.metrics.constraints:
        raise SettingError("layer='feasibility' needs outcome_constraints, and there are none.")
    x, y = _pair(view, x, y)
    ax = one_axes(ax)
    cut = view.map(x, y, m=m, through=through)
    title, cmap = LAYERS[layer]
    grid = np.ma.masked_invalid(getattr(cut.layers, layer))
    low, high = view.colors.get(layer, (None, None))
    image = ax.pcolormesh(_edges(cut.x), _edges(cut.y), grid, cmap=cmap, vmin=low, vmax=high, rasterized=True)
    if colorbar:
        ax.figure.colorbar(image, ax=ax, pad=0.02, extend=_beyond(grid, low, high))
    at = where(view.space, x, view.trials), where(view.space, y, view.trials)
    dots(ax, *at, dot_area(view.credits, scale=0.8), _broke(view))
    _dress(ax, cut.x, "x")
    _dress(ax, cut.y, "y")
    ax.set_title(title if view.metrics.plain or layer not in ("mean", "std") else f"{title}: {plain(view.metric)}")
    return ax


def plot_maps(
    source: Source | ModelView,
    x: str | None = None,
    y: str | None = None,
    *,
    layers: Sequence[str] = ("mean", "std", "credit", "weighted"),
    metric: str | None = None,
    through: Mapping[str, Any] | None = None,
    m: int = 61,
    axes: Any = None,
) -> Any:
    """Several layers side by side, two in a row."""
    view = view_of(source, metric)
    x, y = _pair(view, x, y)
    columns = min(2, len(layers))
    grid = many_axes(axes, -(-len(layers) // columns), columns, each=(0.55, 0.6))
    for ax, layer in zip(grid.flat, layers):
        plot_map(view, x, y, layer=layer, through=through, m=m, ax=ax)
    for ax in grid.flat[len(layers) :]:
        ax.set_visible(False)
    return grid


def plot_slices(
    source: Source | ModelView,
    parameters: Sequence[str] | None = None,
    *,
    metric: str | None = None,
    through: Mapping[str, Any] | None = None,
    m: int = 101,
    axes: Any = None,
) -> Any:
    """Along each parameter: mean and 95 % band with the observations above, credit field and acquisition below.

    Returns axes (2, k) for k parameters; the four most important ones if none are named. Where metrics have names, the
    upper ones are of ``metric``, without one of the (first) objective, with its bounds; with outcome constraints the
    lower ones have the probability of keeping them all.
    """
    view = view_of(source, metric)
    names = list(parameters) if parameters is not None else list(importance(view))[:4]
    grid = many_axes(axes, 2, len(names), each=(0.5, 0.5))
    for column, name in enumerate(names):
        cut = view.slice(name, m=m, through=through)
        top, bottom = grid[:, column]
        _posterior(top, view, cut)
        _guidance(bottom, cut, view)
        if view.metrics.constraints:
            line = "D" if cut.x.labels else "--"
            bottom.plot(cut.x.at, cut.layers.feasibility, line, color=PURPLE, label="probability of being feasible")
        _dress(top, cut.x, "x")
        _dress(bottom, cut.x, "x")
        top.set_xlabel("")
        if column == 0:
            top.set_ylabel(plain(view.metric))
            bottom.set_ylabel("share of its maximum")
            columns = 2 if view.metrics.constraints else 3
            bottom.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, fontsize="small", borderpad=0.2)
    return grid


def _posterior(ax: Axes, view: ModelView, cut: Slice) -> None:
    x, layers = cut.x.at, cut.layers
    if cut.x.labels:
        ax.errorbar(
            x, layers.mean, (layers.mean - layers.low, layers.high - layers.mean), fmt="s", color=BLUE, capsize=3
        )
    else:
        ax.fill_between(x, layers.low, layers.high, color=BLUE, alpha=0.15, linewidth=0)
        ax.plot(x, layers.mean, color=BLUE)
    for bound in view.bounds:
        ax.axhline(bound, color=PURPLE, linestyle="--", linewidth=1.0)
    ax.set_ylim(*view.window)
    at = where(view.space, cut.x.name, view.trials)
    dots(ax, at, view.values, dot_area(view.credits, scale=0.8), _broke(view))
    tidy(ax)


def _broke(view: ModelView) -> list[bool]:
    """Which observations broke an outcome constraint."""
    return [feasible(trial.values, view.metrics) is False for trial in view.trials]


def _guidance(ax: Axes, cut: Slice, view: ModelView) -> None:
    """Credit field and acquisition; the latter also weighted, where credit or a bound acts on the search."""
    acts = view.acts or bool(view.metrics.constraints)
    lines = ("o", "x", "s") if cut.x.labels else ("-", ":", "-")
    ax.plot(cut.x.at, cut.layers.credit, lines[0], color=RED, label="credit field")
    ax.plot(cut.x.at, share(cut.layers.base), lines[1] if acts else lines[2], color=GREEN, label="acquisition")
    if acts:
        ax.plot(
            cut.x.at,
            share(cut.layers.weighted),
            lines[2],
            color=GREEN,
            label="weighted" if view.metrics.constraints else "with credit",
        )
    ax.set_ylim(-0.04, 1.08)
    tidy(ax)


def share(values: Array) -> Array:
    """Between 0 at the least and 1 at the largest finite value; a flat line stays at one."""
    low, high = np.nanmin(values), np.nanmax(values)
    return (values - low) / (high - low) if high > low else np.ones_like(values)


def _pair(view: ModelView, x: str | None, y: str | None) -> tuple[str, str]:
    """The parameters asked for, and the most important ones in place of those not named."""
    if len(searched(view.space)) < 2:
        raise SettingError(f"a map needs two parameters, the space has {searched(view.space)!r}; use plot_slices.")
    if x is not None and y is not None:
        return x, y
    free = [name for name in importance(view) if name not in (x, y)]
    first = x if x is not None else free.pop(0)
    return first, y if y is not None else free.pop(0)


def _beyond(grid: Array, low: float | None, high: float | None) -> str:
    """At which ends of the colour bar there is more than it spans."""
    under, over = low is not None and bool((grid < low).any()), high is not None and bool((grid > high).any())
    return ("neither", "min", "max", "both")[int(under) + 2 * int(over)]


def _edges(axis: Axis) -> Array:
    """Cell borders around the points of an axis, halfway in the scale it is drawn in."""
    at = np.log(axis.at) if axis.log else axis.at
    if len(at) == 1:
        return np.array([at[0] - 0.5, at[0] + 0.5])
    middle = 0.5 * (at[1:] + at[:-1])
    edges = np.concatenate([[2 * at[0] - middle[0]], middle, [2 * at[-1] - middle[-1]]])
    return np.exp(edges) if axis.log else edges


def _dress(ax: Axes, axis: Axis, side: str) -> None:
    """Name, scale and ticks of a parameter along one side."""
    getattr(ax, f"set_{side}label")(plain(axis.name))
    if axis.labels:
        getattr(ax, f"set_{side}ticks")(range(len(axis.labels)), [plain(label) for label in axis.labels])
    elif axis.log:
        getattr(ax, f"set_{side}scale")("log")
