"""First points and quasi-random fillings of the unit cube. SciPy's qmc is loaded on first use: it costs 0.3 s."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ccgbo.arrays import Array
from ccgbo.errors import SettingError
from ccgbo.space import Space

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
        return _feasible(space, space.snap(sequence), start, seed)
    return _feasible(space, space.snap(sequence[start:need]), start, seed)


def _feasible(space: Space, U: Array, start: int, seed: int) -> Array:
    if not space.constraints:
        return U
    bad = np.flatnonzero(~space.feasible(U))
    for i in bad:
        U[i] = space.sample(1, np.random.default_rng([seed, 1, start + int(i)]))[0]
    return U


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
