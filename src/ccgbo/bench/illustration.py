"""Six steps in one dimension, GP-UCB beside CCGBO (the CCGBO paper, supplement A).

The paper does not say which function it draws. Ours is Forrester et al. 2008 turned upside down,

    f(x) = -(6 x - 2)^2 sin(12 x - 4),    maximum 6.0207 at x = 0.7572 on [0, 1]

observed without noise, from an initial design of five points, the fewest for which H = 5 neighbours exist. The first
seed of the experiment is drawn, whatever it shows; the table has all seeds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ccgbo.bench.baselines.base import EngineSearch, Initial
from ccgbo.bench.experiment import Cell, Experiment
from ccgbo.bench.problems import get_problem
from ccgbo.bench.results import Row
from ccgbo.bench.runner import step
from ccgbo.bench.theory import posterior
from ccgbo.credit.field import credit_factor
from ccgbo.engine.design import design_points
from ccgbo.errors import SettingError

TOY = get_problem("Forrester1")
N_INITIAL = 5
GRID = np.linspace(0.0, 1.0, 201)


def run_illustration(experiment: Experiment, cell: Cell) -> Row:
    """The regrets of one run; for the first seed also what each step looked like."""
    points = [TOY.space.decode(u) for u in design_points(TOY.space, "random", 0, N_INITIAL, N_INITIAL, cell.seed)]
    initial: Initial = [(point, TOY(point)) for point in points]
    searcher = experiment.variant(cell.method).make().make(TOY.space, cell.seed, initial)
    if not isinstance(searcher, EngineSearch):
        raise SettingError(f"an illustration needs methods of the optimizer itself, got {cell.method!r}.")
    regret, steps = [], []
    for t in range(experiment.iterations):
        before = _look(searcher) if cell.seed == experiment.first_seed else None
        regret.append(step(TOY, searcher, cell.seed, N_INITIAL + t))
        if before is not None:
            steps.append({**before, "next": float(searcher.optimizer.trials[-1].params["x1"])})
    row: Row = {"n_initial": N_INITIAL, "initial": min(TOY.regret(point) for point, _ in initial), "regret": regret}
    return {**row, "steps": steps} if steps else row


def _look(searcher: EngineSearch) -> dict[str, Any]:
    """The posterior over the grid and the weighted acquisition on it, in the units of f."""
    optimizer = searcher.optimizer
    model, credit = posterior(optimizer), optimizer.settings.credit
    x = GRID[:, None]
    mean, std = model.posterior.predict(x)
    alpha = mean + getattr(optimizer.settings.acquisition, "beta", 0.0) * std
    surplus = alpha - alpha.min()
    if credit.strength > 0.0:
        rows = sorted(optimizer.credits(), key=lambda row: row.trial_id)
        given = np.array([row.credit for row in rows])
        factor = credit_factor(model.posterior, given, credit, len(rows) - N_INITIAL)
        surplus = surplus if factor is None else factor(x) * surplus
    seen = [(float(t.params["x1"]), float(t.value)) for t in optimizer.trials if t.value is not None]
    user_mean, user_std = model.in_user_units(mean, std)
    return {
        "seen": seen,
        "mean": user_mean.tolist(),
        "std": user_std.tolist(),
        "acquisition": model.in_user_units(np.zeros(len(surplus)), surplus)[1].tolist(),
    }
