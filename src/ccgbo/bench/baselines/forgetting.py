"""TV-GP-UCB: the objective drifts, so that an observation fades (Bogunovic, Scarlett, Cevher 2016, Algorithm 2).

The drift f_(t+1) = sqrt(1 - eps) f_t + sqrt(eps) g_(t+1), with independent g, gives the posterior

    mean      k~(x)^T (K~ + noise I)^-1 y           K~ = K o D,   D_ij = (1 - eps)^(|i - j| / 2)
    variance  k(x, x) - k~(x)^T (K~ + noise I)^-1 k~(x)    k~ = k o d, d_i = (1 - eps)^((t + 1 - i) / 2)

where o multiplies entry by entry. The index is mean + beta std. The kernel, which the source takes as known, is
learned from all observations as if nothing drifted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ccgbo.acquisition import BoundAcquisition, Codomain, Context
from ccgbo.arrays import Array
from ccgbo.bench.baselines.base import Initial, gaussian, upper_bound
from ccgbo.errors import SettingError
from ccgbo.space import Space
from ccgbo.surrogate.gp.linalg import cholesky, solve, solve_lower
from ccgbo.surrogate.gp.posterior import GP


@dataclass(frozen=True, slots=True)
class FadingGP:
    """The posterior one step after the last row of ``gp``."""

    gp: GP
    fade: Array  # (n,) d
    L: Array  # (n, n) Cholesky factor of K~ + noise I
    alpha: Array  # (n,) (K~ + noise I)^-1 y

    @classmethod
    def build(cls, gp: GP, eps: float) -> FadingGP:
        step = np.arange(len(gp.y))
        K = gp.cross(gp.X) * (1.0 - eps) ** (np.abs(step[:, None] - step) / 2.0)
        K[np.diag_indices_from(K)] += gp.noise_variance
        L, _ = cholesky(K)
        return cls(gp, (1.0 - eps) ** ((len(gp.y) - step) / 2.0), L, solve(L, gp.y))

    def predict(self, x: Array) -> tuple[Array, Array]:  # (m, p) -> (m,), (m,)
        k = self.gp.cross(x) * self.fade
        V = solve_lower(self.L, k.T)
        prior = self.gp.prior_variance(self.gp.basis(x))
        var = prior - np.einsum("ij,ij->j", V, V)
        return k @ self.alpha, np.sqrt(np.maximum(var, 1e-12 * prior))


@dataclass(frozen=True, slots=True, kw_only=True)
class FadingUCB:
    """``eps`` in [0, 1); 0 is GP-UCB."""

    beta: float
    eps: float = 0.01
    codomain: ClassVar[Codomain] = "real"
    needs_optima: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0.0 <= self.eps < 1.0:
            raise SettingError(f"eps must be in [0, 1), got {self.eps!r}.")

    def bind(self, context: Context) -> BoundAcquisition:
        return upper_bound(FadingGP.build(gaussian(context.posterior), self.eps).predict, self.beta)


def tvgp(space: Space, initial: Initial, beta: float, **options: Any) -> Mapping[str, Any]:  # noqa: ARG001
    return {"acquisition": FadingUCB(beta=beta, **options)}
