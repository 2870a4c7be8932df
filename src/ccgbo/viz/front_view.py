"""The front of several objectives as it is drawn, and how the volume that it dominates grew.

n  complete trials, m  objectives
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ccgbo.arrays import Array
from ccgbo.engine.recommend import front_rows
from ccgbo.errors import UnsupportedError
from ccgbo.metrics import Metrics
from ccgbo.pareto import hypervolume
from ccgbo.records import Trial, feasible_trials, hypervolume_of, objective_rows
from ccgbo.viz.model_view import ModelView, Source

BAND = 1.96  # standard deviations either side: central 95 %


@dataclass(frozen=True, slots=True)
class FrontView:
    """Every complete trial among the objectives, in the user's units."""

    names: tuple[str, ...]  # of the m objectives
    trials: tuple[Trial, ...]
    at: Array  # (n, m) as measured where the model takes that for exact, else as it is believed
    low: Array  # (n, m) central 95 % of what is believed
    high: Array  # (n, m)
    credit: Array  # (n,)
    feasible: NDArray[np.bool_]  # (n,) as far as is known
    chance: Array  # (n,) probability of keeping every outcome constraint
    on_front: NDArray[np.bool_]  # (n,)

    @property
    def dominated(self) -> NDArray[np.bool_]:
        """Feasible, and another is better in one objective and no worse in any."""
        return self.feasible & ~self.on_front


def front_view(source: Source | ModelView) -> FrontView:
    """Where the trials stand; refuses one objective, which has no front."""
    view = source if isinstance(source, ModelView) else ModelView(source)
    goals = view.goals
    require_several(view.metrics, "plot_front")
    assert goals is not None
    names, level = tuple(view.metrics.objectives), goals.levels()
    columns = []
    for j, name in enumerate(names):
        of, (mean, std) = view.of(name), goals.belief(name)
        ends = of.to_user_units(mean - BAND * std), of.to_user_units(mean + BAND * std)
        columns.append((of.to_user_units(level[:, j]), np.minimum(*ends), np.maximum(*ends)))
    at, low, high = (np.stack(part, axis=1) for part in zip(*columns, strict=True))
    on_front = np.zeros(len(at), dtype=bool)
    if goals.feasible.any():
        on_front[front_rows(goals)] = True
    chance = np.exp(np.minimum(goals.log_feasibility(), 0.0))
    credit = view.scores.credit
    return FrontView(names, view.observations, at, low, high, credit, goals.feasible, chance, on_front)


def require_several(metrics: Metrics, what: str) -> None:
    """Refuse one objective by name."""
    if not metrics.several:
        raise UnsupportedError(f"{what} needs several objectives, got {'; '.join(metrics.describe())}.")


def volumes(
    trials: Sequence[Trial], metrics: Metrics, reference: Mapping[str, float] | None = None
) -> tuple[Array, Mapping[str, float]]:  # (n,)
    """The hypervolume of the measured front after each evaluation that counts, and the reference point of all of them.

    Without a reference point that of the last front: a volume can only be compared with one above the same point.
    """
    point = hypervolume_of(trials, metrics, reference).reference
    r = np.array([metrics.sign(name) * value for name, value in point.items()])
    done, volume, front = [t for t in trials if t.in_model], 0.0, np.empty((0, len(r)))
    out = np.zeros(len(done))
    for i, trial in enumerate(done):
        counts = trial.values.keys() >= metrics.objectives.keys() and feasible_trials([trial], metrics)
        y = objective_rows([trial], metrics) if counts else front[:0]
        if len(y) and not (front >= y).all(axis=1).any():  # else the front stays what it was
            # what is new is the box below it without what the front has of that
            box = hypervolume(y, r)
            volume += box - hypervolume(np.minimum(front, y), r) if math.isfinite(box) else math.inf
            front = np.concatenate([front[~(y >= front).all(axis=1)], y])
        out[i] = volume
    return out, point
