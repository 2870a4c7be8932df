"""What is shown of a choice: the numbers behind one suggestion, in the user's units."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ccgbo.credit.field import CreditSettings
from ccgbo.credit.scores import Scores
from ccgbo.ground import Ground
from ccgbo.history import History
from ccgbo.model import Model
from ccgbo.presets import Settings
from ccgbo.records import Explanation, Neighbour
from ccgbo.surrogate.distance import Metric
from ccgbo.surrogate.outcome import LARGEST

Array = NDArray[np.float64]


def in_user_units(model: Model, mean: float, std: float, sign: float) -> tuple[float, float]:
    """Mean and standard deviation of the model as the user would write them."""
    y = np.array([float(mean)])
    deviation = float(std) * float(model.outcome.slope(y)[0])
    return sign * float(model.outcome.inverse(y)[0]), min(deviation, LARGEST)


def explain_choice(
    u: Array,  # (d,)
    history: History,
    model: Model,
    settings: Settings,
    t: int,
    ground: Ground,
) -> Explanation:
    """Everything that made u the best point."""
    f = history.space.features(u[None, :])
    mean, std = (float(v[0]) for v in model.gp.predict(f))
    user_mean, user_std = in_user_units(model, mean, std, history.sign)
    credit, optima, scores = ground.credit, ground.optima, ground.scores
    total = float(np.prod([factor(f)[0] for factor in ground.factors if factor is not None]))
    return Explanation(
        reason="suggested by the model",
        t=t,
        acquisition=type(ground.acquisition).__name__,
        mean=user_mean,
        std=user_std,
        base=float(ground.base(f)[0]),
        weight=1.0 if credit is None else float(credit.weight(f)[0]),
        factor=total,
        proxy=None if optima is None else in_user_units(model, optima.z, 0.0, history.sign)[0],
        neighbours=() if scores is None else _neighbours(f, history, model, scores, settings.credit),
    )


def _neighbours(
    f: Array, history: History, model: Model, scores: Scores, credit: CreditSettings
) -> tuple[Neighbour, ...]:
    unit = np.ones(f.shape[1]) if credit.field == "knn" else model.gp.hyper.lengthscales
    distance = np.sqrt(Metric(unit, model.gp.kernel.choices).between(f, model.gp.X)[0])
    return tuple(
        Neighbour(
            trial_id=history.observed(model.rows[i]).id,
            distance=float(distance[i]),
            credit=float(scores.credit[i]),
        )
        for i in np.argsort(distance, kind="stable")[: credit.n_neighbours]
    )
