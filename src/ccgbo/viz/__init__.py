"""Pictures of a run: figures (matplotlib), a self-contained report, a live dashboard.

Nothing heavy is loaded before it is used: matplotlib with the first figure, the server with ``ccgbo dashboard``.
"""

from ccgbo.plotting import style
from ccgbo.viz.cuts import plot_map, plot_maps, plot_slices
from ccgbo.viz.figures import (
    plot_credit_over_time,
    plot_importance,
    plot_progress,
    plot_regret,
)
from ccgbo.viz.fronts import plot_front, plot_fronts, plot_hypervolume
from ccgbo.viz.illustration import plot_illustration, plot_six_steps
from ccgbo.viz.importance import importance
from ccgbo.viz.layers import Layers
from ccgbo.viz.model_view import ModelView
from ccgbo.viz.parallel import plot_parallel
from ccgbo.viz.replay import CreditOverTime, replay_credits
from ccgbo.viz.report import write_report

__all__ = [
    "CreditOverTime",
    "Layers",
    "ModelView",
    "importance",
    "plot_credit_over_time",
    "plot_front",
    "plot_fronts",
    "plot_hypervolume",
    "plot_illustration",
    "plot_importance",
    "plot_map",
    "plot_maps",
    "plot_parallel",
    "plot_progress",
    "plot_regret",
    "plot_six_steps",
    "plot_slices",
    "replay_credits",
    "style",
    "write_report",
]
