"""The two pictures of the paper that explain the method, in one dimension (arXiv 2510.04676v2).

plot_illustration     paths, proxy and credits, then the acquisition with and without credit (its first figure)
plot_six_steps        six iterations of plain UCB beside six with credit (its appendix)

Both take any function of one number; the default is a well-known toy with first values that show the mechanism. They
were chosen for that, and measure nothing: docs/reproduction.md has the measurements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ccgbo.arrays import Array
from ccgbo.bench.problems.formulas import forrester
from ccgbo.engine.optimizer import Optimizer
from ccgbo.engine.recommend import require_plain
from ccgbo.engine.settings import DEFAULT, PAPER
from ccgbo.errors import SettingError
from ccgbo.plotting import BLUE, GREEN, GREY, ORANGE, RED, draw_step, many_axes, plain, tidy
from ccgbo.space import Float
from ccgbo.viz.cuts import share
from ccgbo.viz.layers import Layers
from ccgbo.viz.model_view import ModelView, optimizer_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Objective = Callable[[float], float]
START = (0.1, 0.31, 0.55, 0.7, 0.84, 0.97)  # where the toy is evaluated first


def toy(x: float) -> float:
    """The function of Forrester et al. 2008 on [0, 1], upside down and scaled: its maximum 0.7526 is at 0.7572."""
    return float(-forrester(np.array([[x]]))[0] / 8.0)


def toy_optimizer(*, credit: bool = True, objective: Objective = toy, start: Sequence[float] = START) -> Optimizer:
    """The paper's optimizer on [0, 1], told the first values.

    Six values leave a maximum-likelihood lengthscale undecided, so the fit has the default priors; three neighbours
    rather than five, so that the weight is not the same everywhere.
    """
    opt = Optimizer(
        {"x": Float(0.0, 1.0)},
        preset="paper",
        fit=DEFAULT.fit,
        tuning={"refit_growth": DEFAULT.tuning.refit_growth, "gradient_tolerance": DEFAULT.tuning.gradient_tolerance},
        credit={"n_neighbours": 3, "strength": PAPER.credit.strength if credit else 0.0},
        n_initial=len(start),
        seed=0,
    )
    opt.tell_many([{"x": x} for x in start], [objective(x) for x in start])
    return opt


def plot_illustration(
    source: Any = None, *, objective: Objective | None = None, paths: int = 3, m: int = 401, axes: Any = None
) -> Any:
    """Posterior paths and the proxy Z_t; credits and the weight; the acquisition with and without it.

    ``source`` has one parameter; the toy if not given. Returns three axes, top to bottom.
    """
    if source is None:
        source, objective = toy_optimizer(), objective or toy
    view = ModelView(optimizer_of(source))
    require_plain(view.metrics, "plot_illustration")
    if view.space.d != 1:
        raise SettingError(f"source must have one parameter, got {list(view.space)!r}.")
    grid = many_axes(axes, 3, 1, each=(1.0, 0.48))
    top, middle, bottom = grid.ravel()
    cut = view.slice(view.space.names[0], m=m)
    x = cut.x.at
    draws = view.to_user_units(view.paths(paths)(view.space.features(cut.x.units[:, None])))
    _draw_posterior(top, view, x, cut.layers, objective)
    _draw_paths(top, x, draws, view)
    _draw_credits(middle, view, x, cut.layers.weight)
    _draw_choice(bottom, x, cut.layers.base, cut.layers.weighted)
    bottom.set_xlabel(plain(view.space.names[0]))
    margin = 0.01 * (x[-1] - x[0])
    for ax in (top, middle, bottom):
        ax.set_xlim(x[0] - margin, x[-1] + margin)
        tidy(ax)
    for ax in (top, middle):
        ax.tick_params(labelbottom=False)
    return grid.ravel()


def _draw_posterior(ax: Axes, view: ModelView, x: Array, layers: Layers, objective: Objective | None) -> None:
    ax.fill_between(x, layers.low, layers.high, color=BLUE, alpha=0.13, linewidth=0)
    ax.plot(x, layers.mean, color=BLUE, label="posterior mean")
    if objective is not None:
        truth = np.array([objective(float(v)) for v in x])
        ax.plot(x, truth, color="black", linestyle="--", linewidth=1, label="objective")
        best = int(truth.argmax() if view.direction == "maximize" else truth.argmin())
        ax.plot(x[best], truth[best], marker="*", color=ORANGE, markeredgecolor="black", markersize=14, zorder=6)


def _draw_paths(ax: Axes, x: Array, draws: Array, view: ModelView) -> None:
    """The paths (m, k), the maximum of each, and their mean: the proxy as these few paths give it."""
    best = draws.argmax(axis=0) if view.direction == "maximize" else draws.argmin(axis=0)
    heights = draws[best, np.arange(draws.shape[1])]
    for j in range(draws.shape[1]):
        ax.plot(x, draws[:, j], color=GREY, linewidth=0.9, alpha=0.8, label="posterior paths" if j == 0 else None)
    ax.plot(x[best], heights, "v", color=RED, label="their maxima", zorder=5)
    z = float(heights.mean())
    ax.axhline(z, color=RED, linestyle=":", linewidth=1.4)
    ax.annotate("$Z_t$", (x[0], z), (4, 3), textcoords="offset points", color=RED)
    name = view.space.names[0]
    ax.plot([t.params[name] for t in view.trials], view.values, "o", color="black", zorder=5)
    ax.set(ylabel="value")
    ax.set_title("1  Draw paths; the mean of their maxima stands in for the unknown optimum")
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small")


def _draw_credits(ax: Axes, view: ModelView, x: Array, weight: Array) -> None:
    name = view.space.names[0]
    at = [t.params[name] for t in view.trials]
    ax.vlines(at, 0.0, view.credits, color=ORANGE, linewidth=2.5, zorder=3)
    ax.plot(at, view.credits, "o", color=ORANGE, markersize=7, label="credit $c_i$", zorder=4)
    ax.plot(x, weight, color=RED, label="weight $w_t(x)$")
    ax.set(ylim=(0.0, 1.12), ylabel="credit")
    ax.set_title("2  Which observation could have produced it? Credit, spread over the space")
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small")


def _draw_choice(ax: Axes, x: Array, base: Array, weighted: Array) -> None:
    """Both acquisitions above their least value, in units of the plain one's, and where each would evaluate next."""
    unit = float(np.ptp(base)) or 1.0
    for values, color, label, line in ((base, GREEN, "UCB", "--"), (weighted, RED, "UCB with credit", "-")):
        shape, best = (values - values.min()) / unit, int(values.argmax())
        ax.plot(x, shape, color=color, linestyle=line, label=label)
        ax.axvline(x[best], color=color, linestyle=":", linewidth=1.4, clip_on=False)
        ax.plot(x[best], shape[best], "v", color=color, markersize=8, zorder=5, clip_on=False)
    ax.set(ylim=(0.0, 1.18), ylabel="acquisition", yticks=[])
    ax.set_title("3  Where to evaluate next, with and without credit")
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small")


def plot_six_steps(
    objective: Objective = toy,
    *,
    optimum: float | None = None,
    start: Sequence[float] = START,
    steps: int = 6,
    m: int = 401,
    axes: Any = None,
) -> Any:
    """Iterations of plain UCB (left) and of UCB with credit (right) from the same first values on [0, 1].

    Returns axes (steps, 2). ``optimum`` is the maximum the regret refers to; found on a fine grid if not given.
    """
    x = np.linspace(0.0, 1.0, m)
    truth = np.array([objective(float(v)) for v in x])
    best = float(truth.max()) if optimum is None else optimum
    grid = many_axes(axes, steps, 2, each=(0.62, 0.42))
    for column, (title, credit) in enumerate((("UCB", False), ("UCB with credit", True))):
        opt = toy_optimizer(credit=credit, objective=objective, start=start)
        for row in range(steps):
            trial = _draw_step(grid[row, column], opt, x, truth, best, first=row == 0, title=title)
            opt.tell(trial, objective(trial.params["x"]))
    for ax in grid[:-1].flat:
        ax.tick_params(labelbottom=False)
    for row, ax in enumerate(grid[:, 0]):
        ax.set_ylabel(f"iteration {row + 1}")
    if axes is None:
        handles, labels = grid[0, 0].get_legend_handles_labels()
        grid[0, 0].figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize="small")
    return grid


def _draw_step(ax: Axes, opt: Optimizer, x: Array, truth: Array, best: float, *, first: bool, title: str) -> Any:
    """One row of the comparison; asks for the next point and returns its trial."""
    view = ModelView(opt)
    layers = view.at_units(x[:, None])
    trial = opt.ask()
    seen = np.array([(t.params["x"], value) for t, value in zip(view.trials, view.values, strict=True)])
    draw_step(
        ax,
        x,
        mean=layers.mean,
        band=(layers.low, layers.high),
        truth=truth,
        seen=seen,
        height=share(layers.weighted),
        then=trial.params["x"],
    )
    regret = best - view.values.max()
    ax.set_title(f"{title}:  regret {regret:.3f}" if first else f"regret {regret:.3f}", fontsize="medium")
    return trial
