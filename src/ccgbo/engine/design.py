"""First points and quasi-random fillings of the unit cube. SciPy's qmc is loaded on first use: it costs 0.3 s."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ccgbo.arrays import Array
from ccgbo.errors import SettingError
from ccgbo.space import Space

BLOCK = 32  # points of a design over a mixture that keep their distance from each other
CHOICES = 8  # among which each of them is the farthest from those before

DESIGNS = ("sobol", "lhs", "random")


def design_points(space: Space, kind: str, start: int, n: int, size: int, seed: int) -> Array:  # (n, d) snapped
    """Points ``start`` to ``start + n`` of the seeded sequence; ``size`` is the length the Latin hypercube is made for.

    The same seed gives the same sequence however it is cut, so a resumed run continues it.
    """
    if kind not in DESIGNS:
        raise SettingError(f"design must be one of {list(DESIGNS)}, got {kind!r}.")
    need = start + n
    if kind == "sobol":
        sequence = _sobol(space.d, max(64, _power_of_two(need)), seed)
    elif kind == "lhs":
        sequence = _latin(space.d, max(size, 1), need, seed)
    else:
        sequence = np.stack([np.random.default_rng([seed, i]).random(space.d) for i in range(start, need)])
        return _feasible(space, kind, space.snap(sequence), start, seed)
    return _feasible(space, kind, space.snap(sequence[start:need]), start, seed)


def _feasible(space: Space, kind: str, U: Array, start: int, seed: int) -> Array:
    if not space.constraints:
        return U
    if space.equations is not None and kind != "random":
        U = _with_mixtures(space, U, start, seed)
    bad = np.flatnonzero(~space.feasible(U))
    for i in bad:
        U[i] = space.sample(1, np.random.default_rng([seed, 1, start + int(i)]))[0]
    return U


def _with_mixtures(space: Space, U: Array, start: int, seed: int) -> Array:
    """U with the parameters that must add up taken from points that do, the others as they are."""
    assert space.equations is not None
    U = U.copy()
    for i, u in enumerate(U):
        block, at = divmod(start + i, BLOCK)
        there = _spread(space, block, seed)[at]
        u[space.equations.columns] = there[space.equations.columns]
        if not space.feasible(u[None, :])[0]:
            u[:] = there
    return U


@lru_cache(maxsize=8)
def _spread(space: Space, block: int, seed: int) -> Array:  # (BLOCK, d)
    """Feasible points from the middle outwards, each the farthest of a few from those before (Mitchell 1991)."""
    assert space.equations is not None
    columns = space.equations.columns
    pool = space.sample(BLOCK * CHOICES, np.random.default_rng([seed, 2, block])).reshape(BLOCK, CHOICES, space.d)
    at = pool[:, :, columns] / (pool[:, :, columns].std(axis=(0, 1)) + 1e-12)
    taken = [int(np.linalg.norm(at[0] - at.mean(axis=(0, 1)), axis=1).argmin())]
    for i in range(1, BLOCK):
        before = at[np.arange(i), taken]
        taken.append(int(np.linalg.norm(at[i][:, None, :] - before, axis=2).min(axis=1).argmax()))
    return pool[np.arange(BLOCK), taken]


@lru_cache(maxsize=8)
def _sobol(d: int, n: int, seed: int) -> Array:
    from scipy.stats import qmc

    return qmc.Sobol(d, scramble=True, rng=np.random.default_rng(seed)).random(n)  # type: ignore[no-any-return]


def _latin(d: int, size: int, need: int, seed: int) -> Array:
    from scipy.stats import qmc

    blocks = [
        qmc.LatinHypercube(d, rng=np.random.default_rng([seed, block])).random(size)
        for block in range(-(-need // size))
    ]
    return np.concatenate(blocks)


@lru_cache(maxsize=8)
def _lattice(d: int, n: int) -> Array:
    from scipy.stats import qmc

    return qmc.Sobol(d, scramble=False).random(n)  # type: ignore[no-any-return]


def shifted_sobol(d: int, n: int, rng: np.random.Generator) -> Array:  # (n, d)
    """A Sobol set under a random shift modulo one: as even as a fresh scramble, at no cost per call."""
    return (_lattice(d, _power_of_two(n))[:n] + rng.random(d)) % 1.0


def _power_of_two(n: int) -> int:
    return 1 << max(n - 1, 0).bit_length()
