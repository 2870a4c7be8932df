"""How much each parameter matters, by the model.

    S_i = E[(f(A) - f(A with column i of B))^2] / (2 Var f)        Jansen 1999

the total Sobol index of the posterior mean f over the unit cube: the share of the variation of f that parameter i
takes part in, alone or with others. Interactions count for each of their parameters, so the sum can exceed one.
Constraints are not looked at, the cube is sampled whole; but for mixtures, whose other parts make up for one that
changes, in proportion.
"""

from __future__ import annotations

import numpy as np

from ccgbo.arrays import Array
from ccgbo.space import Space
from ccgbo.viz.axes import searched
from ccgbo.viz.model_view import ModelView, Source, view_of


def importance(
    source: Source | ModelView, *, metric: str | None = None, m: int = 1024, seed: int = 0
) -> dict[str, float]:
    """The total Sobol index of each searched parameter, the largest first; zeros where the model is flat.

    Where metrics have names, of the model of ``metric``; without one, of the (first) objective.
    """
    view = view_of(source, metric)
    space, names = view.space, searched(view.space)
    rng = np.random.default_rng(seed)
    A, B = (_points(view.space, m, rng) for _ in range(2))
    f = _mean(view, A)
    both = np.concatenate([f, _mean(view, B)])
    variance = float(both.var())
    indices = dict.fromkeys(names, 0.0)
    if variance > 1e-12:
        for name in names:
            mixed, i = A.copy(), space.names.index(name)
            mixed[:, i] = B[:, i]
            mixed = space.complete(mixed, [i])
            indices[name] = float(((f - _mean(view, mixed)) ** 2).mean() / (2.0 * variance))
    return dict(sorted(indices.items(), key=lambda item: -item[1]))


def _points(space: Space, m: int, rng: np.random.Generator) -> Array:  # (m, d)
    """Of the cube; where parts must add up, of the space."""
    return rng.random((m, space.d)) if space.equations is None else space.without_predicates.sample(m, rng)


def _mean(view: ModelView, U: Array) -> Array:
    """Posterior mean in the model's units; in blocks, so that 2,000 observations stay within memory."""
    posterior, F = view.model.posterior, view.space.features(view.space.snap(U))
    return np.concatenate([posterior.predict_mean(block) for block in np.array_split(F, max(len(F) // 512, 1))])
