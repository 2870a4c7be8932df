"""TV-GP-UCB: the objective drifts, so that an observation fades (Bogunovic, Scarlett, Cevher 2016, Algorithm 2).

The drift f_(t+1) = sqrt(1 - eps) f_t + sqrt(eps) g_(t+1), with independent g, gives the posterior

    mean      k~(x)^T (K~ + noise I)^-1 y           K~ = K o D,   D_ij = (1 - eps)^(|i - j| / 2)
    variance  k(x, x) - k~(x)^T (K~ + noise I)^-1 k~(x)    k~ = k o d, d_i = (1 - eps)^((t + 1 - i) / 2)

where o multiplies entry by entry. The index is mean + beta std. The kernel, which the source takes as known, is
learned from all observations as if nothing drifted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ccgbo.acquisition import Score
from ccgbo.bench.baselines.base import Array, Initial, SurrogateLoop, upper_bound
from ccgbo.errors import SettingError
from ccgbo.model import Model
from ccgbo.presets import Settings
from ccgbo.space import Space
from ccgbo.surrogate.gp import GP
from ccgbo.surrogate.linalg import cholesky, solve, solve_lower


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
        K[np.diag_indices_from(K)] += gp.hyper.noise
        L, _ = cholesky(K)
        return cls(gp, (1.0 - eps) ** ((len(gp.y) - step) / 2.0), L, solve(L, gp.y))

    def predict(self, x: Array) -> tuple[Array, Array]:  # (m, p) -> (m,), (m,)
        k = self.gp.cross(x) * self.fade
        V = solve_lower(self.L, k.T)
        var = self.gp.prior_variance(self.gp.basis(x)) - np.einsum("ij,ij->j", V, V)
        return k @ self.alpha, np.sqrt(np.maximum(var, 1e-12 * self.gp.hyper.signal))


class ForgettingLoop(SurrogateLoop):
    """``eps`` in [0, 1); 0 is GP-UCB."""

    def __init__(self, space: Space, seed: int, initial: Initial, settings: Settings, *, eps: float = 0.01) -> None:
        if not 0.0 <= eps < 1.0:
            raise SettingError(f"eps must be in [0, 1), got {eps!r}.")
        self.eps = eps
        super().__init__(space, seed, initial, settings)

    def score(self, model: Model, candidates: Array) -> Score:  # noqa: ARG002
        return upper_bound(FadingGP.build(model.gp, self.eps).predict, self.beta)
