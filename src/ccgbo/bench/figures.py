"""Figures of an experiment's results, as the paper draws them: mean and standard error over the seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ccgbo.arrays import Array
from ccgbo.bench.illustration import GRID, TOY
from ccgbo.bench.metrics import cumulative_regret, simple_regret
from ccgbo.bench.results import Results, Row
from ccgbo.bench.tables import name_of
from ccgbo.bench.theory import weight_bounds
from ccgbo.credit.field import CreditSettings
from ccgbo.plotting import draw_step, pyplot

COLORS = {"ucb": "#555555", "ccgbo": "#c44e52", "random": "#bbbbbb", "wgp": "#4c72b0", "rgp": "#55a868",
          "tvgp": "#2f6f4f", "outlier": "#8172b2", "pibo": "#dd8452", "colabo": "#937860",
          "default": "#c44e52", "optuna-gp": "#4c72b0", "optuna-tpe": "#64b5cd", "botorch-logei": "#55a868",
          "botorch-nehvi": "#55a868", "optuna-nsga2": "#da8bc3", "botorch-ucb": "#ccb974", "bayes-opt": "#8172b2",
          "ax": "#8c613c"}  # fmt: skip
ARRIVED = 1e-8  # regret below which curves are not told apart
QUANTITIES: dict[str, Callable[[Row], Array]] = {"simple": simple_regret, "cumulative": cumulative_regret}


def _pyplot() -> Any:
    plt = pyplot("a figure of ccgbo bench")
    plt.matplotlib.use("Agg")
    return plt


def panels(n: int, *, width: float = 3.2, height: float = 2.5, most: int = 4) -> tuple[Any, list[Any]]:
    """A figure with n axes in rows of at most ``most``."""
    columns = min(n, most)
    lines = -(-n // columns)
    figure, axes = _pyplot().subplots(
        lines, columns, figsize=(width * columns, height * lines), squeeze=False, layout="constrained"
    )
    flat = list(axes.flat)
    for spare in flat[n:]:
        spare.set_axis_off()
    for ax in flat[:n]:
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=8)
    return figure, flat[:n]


def _colors(methods: Sequence[str]) -> dict[str, Any]:
    """Known methods in their own colour, variants along a map."""
    variants = [m for m in methods if m not in COLORS]
    shades = _pyplot().get_cmap("viridis")(np.linspace(0.05, 0.9, max(len(variants), 1)))
    if len(variants) <= 2:  # a base acquisition and credit on it
        shades = ["#555555", "#c44e52"] if len(variants) == 2 else ["#c44e52"]
    return {**COLORS, **dict(zip(variants, shades, strict=False))}


def axis_name(results: Results, quantity: str) -> str:
    """What a curve shows."""
    return "hypervolume difference" if results.kind == "pareto" else f"{quantity} regret"


def regret_curves(results: Results, quantity: str = "simple", *, log: bool = False) -> Any:
    """One panel for each problem, one line for each method, shaded by one standard error."""
    figure, axes = panels(len(results.problems))
    colors = _colors(results.methods)
    for ax, problem in zip(axes, results.problems, strict=True):
        for method in results.methods:
            seeds = results.seeds(problem, method)
            if not seeds:
                continue
            curves = np.array([QUANTITIES[quantity](results.row(problem, method, seed)) for seed in seeds])
            t = np.arange(curves.shape[1], dtype=float) + (quantity == "cumulative")
            band(ax, t, curves, colors[method], name_of(method), bold=method.startswith("ccgbo") or method == "default")
        ax.set_title(problem, fontsize=9)
        if log:
            ax.set_yscale("log")
            ax.set_ylim(bottom=max(ax.get_ylim()[0], ARRIVED))
    axes[0].set_ylabel(axis_name(results, quantity), fontsize=8)
    for ax in axes:
        ax.set_xlabel("iteration", fontsize=8)
    legend(figure, axes[0])
    return figure


def band(ax: Any, t: Array, curves: Array, color: Any, label: str, *, bold: bool = False) -> None:
    """The mean of the curves (s, len(t)), shaded by one standard error."""
    mean = curves.mean(axis=0)
    error = curves.std(axis=0, ddof=1) / np.sqrt(len(curves)) if len(curves) > 1 else np.zeros_like(mean)
    ax.plot(t, mean, color=color, label=label, linewidth=1.8 if bold else 1.1, zorder=3 if bold else 2)
    ax.fill_between(t, mean - error, mean + error, color=color, alpha=0.18, linewidth=0)


def legend(figure: Any, ax: Any) -> None:
    """One legend below all panels, in as many columns as there is room for."""
    handles, labels = ax.get_legend_handles_labels()
    each = 0.6 + 0.075 * max(len(label) for label in labels)  # inches of a column
    columns = max(1, min(len(labels), int(figure.get_size_inches()[0] / each)))
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=8, frameon=False)


def illustration(results: Results) -> Any:
    """A row for each iteration, a column for each method."""
    problem, methods = results.problems[0], results.methods
    seed = min(results.seeds(problem, *methods))
    rows = [results.row(problem, m, seed) for m in methods]
    steps = len(rows[0]["steps"])
    figure, axes = panels(steps * len(methods), width=3.6, height=1.55, most=len(methods))
    for i, ax in enumerate(axes):
        t, column = divmod(i, len(methods))
        _step(ax, rows[column], t)
        if t == 0:
            ax.set_title(name_of(methods[column]), fontsize=9)
        if column == 0:
            ax.set_ylabel(f"t = {t + 1}", fontsize=8)
    legend(figure, axes[0])
    return figure


def _step(ax: Any, row: Row, t: int) -> None:
    look = row["steps"][t]
    mean, std, height = (np.array(look[name]) for name in ("mean", "std", "acquisition"))
    draw_step(
        ax,
        GRID,
        mean=mean,
        band=(mean - 1.96 * std, mean + 1.96 * std),
        truth=TOY.values(GRID[:, None]),
        seen=np.array(look["seen"]),
        height=height / max(float(height.max()), 1e-300),
        then=look["next"],
    )
    regret = simple_regret(row)[t + 1]
    ax.text(0.02, 0.95, f"simple regret {regret:.3f}", transform=ax.transAxes, fontsize=7, va="top")


def proxy_figure(results: Results, method: str = "ccgbo") -> Any:
    """Theorem 5.1: the error of Z_t against t for several K, and against S_t."""
    figure, axes = panels(len(results.problems))
    shades = _pyplot().get_cmap("viridis")(np.linspace(0.0, 0.85, 4))
    for ax, problem in zip(axes, results.problems, strict=True):
        rows = [results.row(problem, method, seed) for seed in results.seeds(problem, method)]
        t = np.array([point["t"] for point in rows[0]["proxy"]])
        for shade, k in zip(shades, rows[0]["proxy"][0]["error"], strict=True):
            errors = np.array([[point["error"][k] for point in row["proxy"]] for row in rows])
            band(ax, t, errors, shade, f"|Z − f(x*)|, K = {k}", bold=k == "25")
        widest = np.array([[point["S"] for point in row["proxy"]] for row in rows]).mean(axis=0)
        ax.plot(t, 2.576 * widest, color="grey", linestyle="--", linewidth=1.0, label="β S")
        ax.set_title(problem, fontsize=9)
        ax.set_xlabel("iteration", fontsize=8)
        ax.set_yscale("log")
    legend(figure, axes[0])
    return figure


def growth_figure(results: Results) -> Any:
    """Theorem 5.2: R_N over sqrt(N gain_N), level or falling where the bound's growth holds."""
    figure, axes = panels(len(results.problems))
    colors = _colors(results.methods)
    for ax, problem in zip(axes, results.problems, strict=True):
        for method in results.methods:
            rows = [results.row(problem, method, seed) for seed in results.seeds(problem, method)]
            n = np.arange(1.0, len(rows[0]["regret"]) + 1.0)
            curves = np.array([cumulative_regret(row) / np.sqrt(n * np.array(row["gain"])) for row in rows])
            band(ax, n, curves, colors[method], name_of(method), bold=method == "ccgbo")
        ax.set_title(problem, fontsize=9)
        ax.set_xlabel("N", fontsize=8)
    axes[0].set_ylabel("R / sqrt(N gain)", fontsize=8)
    legend(figure, axes[0])
    return figure


def weight_figure(credit: CreditSettings, iterations: int = 100) -> Any:
    """Theorem 5.2: B_t / A_t for the credit settings that were run."""
    figure, (ax,) = panels(1, width=4.2)
    t = np.arange(1, iterations + 1)
    lower, upper = weight_bounds(iterations, credit)
    ax.plot(t, upper / lower, color="#c44e52", label="B / A")
    ax.plot(t, lower, color="#4c72b0", label="A")
    ax.plot(t, upper, color="#55a868", label="B")
    ax.axhline(1.0, color="grey", linestyle=":", linewidth=0.8)
    ax.set_xlabel("iteration", fontsize=8)
    ax.legend(fontsize=8, frameon=False)
    return figure


def save(figure: Any, path: str) -> None:
    """Write and close; without the date and the version, so that equal results give equal files."""
    figure.savefig(path, dpi=110, metadata={"Software": None})
    _pyplot().close(figure)
