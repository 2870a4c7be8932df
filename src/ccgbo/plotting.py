"""How figures look: colours that colour-blind readers can tell apart, sizes for a journal column and a slide, and the
one step in one dimension that the figures of the method and those of its reproduction both draw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ccgbo.arrays import Array
from ccgbo.errors import MissingExtraError, SettingError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Okabe and Ito 2008, "Color Universal Design"
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PURPLE = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#F0E442",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
)
CYCLE = (BLUE, RED, GREEN, PURPLE, ORANGE, SKY, BLACK)
GREY = "#6b7280"

SIZES: dict[str, dict[str, Any]] = {
    "column": {  # one column of a two-column journal
        "figure.figsize": (3.35, 2.4),
        "font.size": 7.5,
        "axes.titlesize": 8,
        "lines.linewidth": 1.2,
        "lines.markersize": 3,
        "savefig.dpi": 300,
    },
    "page": {"figure.figsize": (6.8, 4.2), "font.size": 9, "axes.titlesize": 10, "savefig.dpi": 200},
    "slide": {
        "figure.figsize": (11.0, 6.2),
        "font.size": 17,
        "axes.titlesize": 19,
        "lines.linewidth": 2.6,
        "lines.markersize": 8,
        "savefig.dpi": 150,
    },
}
LOOK: dict[str, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#4b5563",
    "axes.titleweight": "normal",
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "pdf.fonttype": 42,  # text stays text in a journal's PDF
    "svg.fonttype": "none",
}


def pyplot(what: str = "ccgbo.viz figures") -> Any:
    """matplotlib.pyplot, or an error that says what to install."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtraError(what, "plot") from None
    return plt


@contextmanager
def style(size: str = "page") -> Iterator[None]:
    """Figures made inside are sized for a journal ``"column"``, a ``"page"`` or a ``"slide"``."""
    if size not in SIZES:
        raise SettingError(f"size must be one of {sorted(SIZES)}, got {size!r}.")
    with pyplot().rc_context(LOOK | SIZES[size]):
        yield


def one_axes(ax: Axes | None) -> Axes:
    """The axes given, or those of a new figure."""
    if ax is not None:
        return ax
    _, made = pyplot().subplots(layout="constrained")
    result: Axes = made
    return result


def many_axes(axes: Sequence[Axes] | Array | None, rows: int, columns: int, *, each: tuple[float, float]) -> Any:
    """An array (rows, columns) of the axes given, or of a new figure; ``each`` is the share of the default size."""
    if axes is not None:
        flat = np.asarray(axes, dtype=object).ravel()
        if len(flat) != rows * columns:
            raise SettingError(f"axes must be {rows * columns} axes ({rows} x {columns}), got {len(flat)}.")
        return flat.reshape(rows, columns)
    plt = pyplot()
    width, height = plt.rcParams["figure.figsize"]
    size = width * each[0] * columns, height * each[1] * rows
    return plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")[1]


def tidy(ax: Axes) -> None:
    """What every figure of ours has, also on axes that were made elsewhere."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(visible=True, color="#e5e7eb", linewidth=0.6, zorder=0)
    ax.set_axisbelow(True)


def draw_step(
    ax: Axes, x: Array, *, mean: Array, band: tuple[Array, Array], truth: Array, seen: Array, height: Array, then: float
) -> None:
    """Posterior, objective, the observations ``seen`` (n, 2), and below them the acquisition's ``height`` in [0, 1]."""
    low, high = float(truth.min()), float(truth.max())
    floor = low - 0.75 * (high - low)
    ax.fill_between(x, *band, color=BLUE, alpha=0.15, linewidth=0, label="95 % band")
    ax.plot(x, mean, color=BLUE, linewidth=1.2, label="posterior mean")
    ax.plot(x, truth, color="black", linestyle="--", linewidth=0.9, label="objective")
    ax.plot(seen[:, 0], seen[:, 1], "o", color=RED, label="observations")
    ax.plot(x, floor + 0.5 * (high - low) * height, color=GREEN, linestyle="--", linewidth=1.2, label="acquisition")
    ax.axvline(then, color="black", linestyle=":", linewidth=1.3, label="next evaluation")
    ax.set(xlim=(-0.015, 1.015), ylim=(floor - 0.05, high + 0.35 * (high - low)), yticks=[])
    tidy(ax)


def dot_area(credit: Array, *, scale: float = 1.0) -> Array:
    """Area of an observation's dot by its credit: the most credited stands out, the least stays visible."""
    result: Array = scale * (6.0 + 74.0 * credit**2)
    return result


def plain(text: str) -> str:
    """A user's text as it is: matplotlib would read dollar signs as mathematics."""
    return text.replace("$", r"\$")
