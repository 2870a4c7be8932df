"""What stands in for two loops of pymoo over all pairs (HEBO's search) finds what the loops find, in their order."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ccgbo.arrays import Array
from ccgbo.bench.peers.pymoo_loops import fronts, later_twins


def fronts_by_loops(F: Array) -> list[list[int]]:
    """Deb's fast non-dominated sort as it is published, for rows that are minimised."""
    n = len(F)
    dominates = [[bool((F[i] < F[j]).any() and not (F[j] < F[i]).any()) for j in range(n)] for i in range(n)]
    left = [sum(dominates[j][i] for j in range(n)) for i in range(n)]
    front, fronts = [i for i in range(n) if left[i] == 0], []
    while front:
        fronts.append(front)
        following = []
        for i in front:
            for j in range(n):
                if dominates[i][j]:
                    left[j] -= 1
                    if left[j] == 0:
                        following.append(j)
        front = following
    return fronts


@pytest.mark.parametrize("seed", range(12))
def test_fronts_come_in_the_order_of_the_loops_ties_included(seed: int) -> None:
    rng = np.random.default_rng(seed)
    F = rng.integers(0, 4, size=(30, 3)).astype(float) if seed % 2 else rng.standard_normal((30, 2))
    assert fronts(F) == fronts_by_loops(F)


def individuals(rng: np.random.Generator, n: int) -> list[Any]:
    return [SimpleNamespace(X={"a": float(a), "b": float(b)}) for a, b in rng.integers(0, 4, size=(n, 2))]


@pytest.mark.parametrize("seed", range(6))
def test_individuals_that_stand_again_are_found_as_pair_by_pair(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pop, others = individuals(rng, 20), individuals(rng, 4)
    later = [any(a.X == b.X for b in pop[i + 1 :]) for i, a in enumerate(pop)]
    elsewhere = [any(a.X == b.X for b in others) for a in pop]
    assert later_twins(pop, None, np.zeros(20, dtype=bool)).tolist() == later
    assert later_twins(pop, others, np.zeros(20, dtype=bool)).tolist() == elsewhere
