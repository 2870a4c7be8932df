"""Single moves over the discrete part of a space."""

from __future__ import annotations

import numpy as np

from ccgbo.arrays import Array
from ccgbo.space import Categorical, Space

FULL_MOVES = 16  # a discrete parameter with up to this many values is tried at each of them
FULL_CHOICES = 256  # a categorical with up to this many
SOME_CHOICES = 32  # of a larger one: the choices of this many good candidates, and as many at random


def single_moves(space: Space, u: Array, good: Array, rng: np.random.Generator) -> Array:
    """Points that differ from u in one discrete parameter: all its values if few, else near and random ones.

    Of many choices those of the good candidates and some at random: to the model all that were never tried are alike.
    """
    active = space.active(u[None, :])[0] if space.conditional else np.ones(space.d, dtype=bool)
    rows = []
    for j in space.discrete:
        if not active[j]:
            continue
        p = space.parameters[j]
        here = float(p.index_of_unit(u[j : j + 1])[0])
        if p.size <= (FULL_CHOICES if isinstance(p, Categorical) else FULL_MOVES):
            index = np.arange(p.size, dtype=float)
        elif isinstance(p, Categorical):
            index = np.unique(
                np.concatenate([p.index_of_unit(good[:, j]), np.floor(rng.random(SOME_CHOICES) * p.size)])
            )
        else:
            strides = np.unique(np.rint(np.array([1, 2, 4, 0.03 * p.size, 0.1 * p.size])))
            index = np.concatenate([here + strides, here - strides, np.floor(rng.random(4) * p.size)])
            index = np.unique(np.clip(index, 0, p.size - 1))
        index = index[index != here]
        block = np.repeat(u[None, :], len(index), axis=0)
        block[:, j] = p.unit_of_index(index)
        rows.append(block)
    return space.snap(np.concatenate(rows)) if rows else np.empty((0, space.d))
