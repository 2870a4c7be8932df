"""Two loops of pymoo 0.6.0 in Python, over all pairs of the individuals of HEBO's search, done by arrays.

Like ``served.py`` this is run by the peer's own interpreter, and imports nothing of ccgbo.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def later_twins(pop: Any, other: Any, is_duplicate: Any) -> Any:  # (n,) of bool, changed in place
    """Which individuals stand again later in ``pop``, or in ``other``: what pymoo finds pair by pair, in one pass."""
    seen = {tuple(sorted(each.X.items())) for each in (() if other is None else other)}
    for i in reversed(range(len(pop))):
        settings = tuple(sorted(pop[i].X.items()))
        is_duplicate[i] |= settings in seen
        if other is None:
            seen.add(settings)
    return is_duplicate


def fronts(F: Any, **_: Any) -> list[list[int]]:  # F: (n, m), minimised
    """Fronts of non-dominated rows, row by row in the order in which pymoo's loops over all pairs find them."""
    better_somewhere = (F[:, None, :] < F[None, :, :]).any(axis=2)
    dominates = better_somewhere & ~better_somewhere.T
    left = dominates.sum(axis=0)  # how many rows dominate each that are in no front yet
    found: list[list[int]] = []
    front = np.flatnonzero(left == 0)
    while len(front):
        found.append(front.tolist())
        by_front = dominates[front]
        left = left - by_front.sum(axis=0)
        released = np.flatnonzero((left == 0) & by_front.any(axis=0))
        turn = len(front) - 1 - np.argmax(by_front[::-1, released], axis=0)  # that released each
        front = released[np.lexsort((released, turn))]
    return found
