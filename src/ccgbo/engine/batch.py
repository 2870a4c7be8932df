"""Many points from one step: drawn from the weighted acquisition, thinned for diversity.

One by one, a batch of q points is q steps. From ``EngineTuning.batch_at_once`` points on it is a number of *rounds* in
the order of sqrt(q), of as many points each. A round is one step of the algorithm (candidates, credit, fantasies at all
that is pending, the weighted acquisition, gradient ascent from the best candidates) that ends in several points:

    candidates   those of the step, its refined starts, and a cloud around these
    drawn        a pool of them, without replacement, with probability in proportion to the weighted acquisition a
    thinned      greedily: the next is the largest  log a(x) + log (var(x | chosen) / var(x))
    moved        some gradient steps up the weighted acquisition, as far as they keep their distance

The variance that is left comes of a pivoted Cholesky factorisation of the pool's posterior covariance, the greedy
maximum of a determinantal point process; the scheme is that of SOBER (Adachi et al. 2024, arXiv 2404.12219) with credit
times acquisition as the sampling density. Points of a round share its fantasies and know of each other by the
covariance alone; the next round sees them as pending. Round by round the schedule takes its next turn.

    m  pool, r  points of a round, p  feature columns
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ccgbo.acquisition import Codomain, as_schedule
from ccgbo.arrays import Array
from ccgbo.engine.candidates import SMALL_GRID, local_candidates
from ccgbo.engine.proposal import Proposal, aim_of, choose, is_gated, pays_with_mean, prepare, propose
from ccgbo.engine.search import gradient_ascent, refine_best
from ccgbo.engine.step import State
from ccgbo.surrogate.base import JointPosterior, Posterior
from ccgbo.tuning import EngineTuning

ROUND = 1.25  # points of a round for each root of the batch's: time falls with it, and so does what is seen as pending
POOL = 8  # candidates in the pool for each point that is chosen of it
LEAST_POOL = 64
CLOUD = 2  # candidates around the refined starts for each point of the round
STEPS = 10  # gradient steps of each point that was chosen
REACH = 0.2  # of the diameter: how far points go together where the surrogate does not say
LEAST = 1e-9  # of a variance: what is left of it cannot be told from nothing below


def round_size(q: int, tuning: EngineTuning) -> int:
    """Points of each round of a batch of ``q``; 1 is one by one."""
    return 1 if tuning.batch_at_once is None or q < tuning.batch_at_once else round(ROUND * math.sqrt(q))


def propose_many(state: State, size: int, rng: np.random.Generator) -> tuple[Proposal, Array]:  # (r, d), 1 <= r <= size
    """A proposal with up to ``size`` points to evaluate next: fewer where it has no more that are apart."""
    if size > 1:
        turn = as_schedule(state.settings.acquisition).at(state.t // size, state.space)  # of rounds, not of points
        proposal = _gated(state, prepare(state, turn, rng))
        U = choose_many(state, proposal, size, rng)
        return (proposal, U) if len(U) else _single(choose(state, proposal, rng))
    return _single(propose(state, rng))


def _single(proposal: Proposal) -> tuple[Proposal, Array]:
    assert proposal.chosen is not None
    return proposal, proposal.chosen[None, :]


def _gated(state: State, proposal: Proposal) -> Proposal:
    """The proposal, without credit where the gate of ``choose`` takes it away: asked of the best candidate here."""
    if not is_gated(state, proposal):
        return proposal
    plain = proposal.without_credit()
    best = int(np.where(np.isfinite(plain.values), plain.values, -np.inf).argmax())
    return proposal if pays_with_mean(state, plain.F[best : best + 1]) else plain


def choose_many(state: State, proposal: Proposal, size: int, rng: np.random.Generator) -> Array:  # (r, d), r <= size
    """Points of high weighted acquisition, diverse under the posterior covariance, that keep their distance."""
    U, values = _candidates(state, proposal, size, rng)
    F = state.space.features(U)
    allowed = np.isfinite(values) & state.excluded.distant_rows(F)
    if not allowed.any():
        return U[:0]
    U, F = U[allowed], F[allowed]
    log_quality = _log_quality(values[allowed], proposal.acquisition.codomain, POOL * size)
    drawn = draw(log_quality, max(POOL * size, LEAST_POOL), rng)
    U, F, log_quality = U[drawn], F[drawn], log_quality[drawn]
    radius = state.excluded.radius(len(state.pending) + size)
    chosen = thin(covariance(state.model.posterior, F), log_quality, F, radius, size)
    return _climb(state, proposal, U[chosen], radius)


def _climb(state: State, proposal: Proposal, U: Array, radius: Array) -> Array:  # (r, d) -> (r', d), r' <= r
    """Each point after some gradient steps, as far as it still keeps its distance; else as it was; else left out."""
    space = state.space
    if not len(space.continuous) or space.grid_size_at_most(SMALL_GRID):
        return U
    values, unit = proposal.weighted(space.features(U)), aim_of(state).unit()
    ends, _ = gradient_ascent(proposal.weighted, space, U, values, STEPS, unit)
    kept, taken = list[Array](), np.empty((0, space.p))
    for pair in zip(ends, U, strict=True):
        for u in pair:
            f = space.features(u[None, :])
            if (np.abs(taken - f) > radius).any(axis=1).all() and state.excluded.keeps_distance(f[0]):
                kept.append(u)
                taken = np.concatenate([taken, f])
                break
    return np.array(kept).reshape(len(kept), space.d)


def _candidates(state: State, proposal: Proposal, size: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """The step's candidates, the best of them refined, and a cloud around these, each with its value."""
    space, tuning = state.space, state.settings.tuning
    finite = np.isfinite(proposal.values)
    U, values = proposal.U[finite], proposal.values[finite]
    if space.grid_size_at_most(SMALL_GRID) or not len(U):
        return U, values
    unit = aim_of(state).unit()
    tuning = replace(tuning, n_starts=max(tuning.n_starts, 1))  # a cloud needs a middle
    refined, refined_values = refine_best(proposal.weighted, space, U, values, tuning, unit=unit, rng=rng)
    cloud = local_candidates(space, refined, CLOUD * size, rng)
    cloud_values = proposal.weighted(space.features(cloud)) if len(cloud) else np.empty(0)
    return np.concatenate([refined, cloud, U]), np.concatenate([refined_values, cloud_values, values])


def _log_quality(values: Array, codomain: Codomain, n: int) -> Array:  # (m,) -> (m,)
    """The logarithm of what a candidate is drawn in proportion to.

    A "real" acquisition has no zero: on its scale the ``n``-th best candidate is e times less likely than the best.
    """
    if codomain == "log":
        return values
    if codomain == "nonnegative":
        return np.log(np.maximum(values, np.finfo(float).tiny))
    best = float(values.max())
    spread = best - float(np.partition(values, -min(n, len(values)))[-min(n, len(values))])
    return (values - best) / spread if spread > 0.0 else np.zeros(len(values))


def draw(log_quality: Array, k: int, rng: np.random.Generator) -> NDArray[np.intp]:  # (m,) -> (k,)
    """The best candidate and ``k - 1`` others, drawn without replacement in proportion to their quality.

    The k largest of log quality plus Gumbel noise are such a draw (Efraimidis and Spirakis 2006; Kool et al. 2019).
    """
    keys = log_quality + rng.gumbel(size=len(log_quality))
    keys[int(log_quality.argmax())] = np.inf
    return np.argsort(-keys, kind="stable")[:k]


def covariance(posterior: Posterior, F: Array) -> Array:  # (m, p) -> (m, m)
    """The posterior covariance of points; without a joint posterior, correlations that fall with the distance.

    What rounding makes of a variance that is nearly zero is lifted to what can be told from nothing.
    """
    if isinstance(posterior, JointPosterior):
        joint = posterior.joint_with(F)
        K = joint.predict(F)[2]
        K[np.diag_indices_from(K)] = np.maximum(K.diagonal(), 0.0) + joint.var_floor
        return K
    std, r2 = posterior.predict(F)[1], posterior.metric.between(F, F)
    fallen: Array = std[:, None] * std * np.exp(-0.5 * r2 / (REACH**2 * F.shape[1]))
    return fallen


def thin(K: Array, log_quality: Array, F: Array, radius: Array, size: int) -> NDArray[np.intp]:
    """Up to ``size`` rows, each the best by quality times the share of its variance that the chosen ones leave.

    (m, m), (m,), (m, p), (p,): no row lies within ``radius`` of another in every column.
    """
    before = K.diagonal()
    var, L = before.copy(), np.zeros((size, len(K)))  # L: the pivoted Cholesky factor, row by row
    open_rows, chosen = np.ones(len(K), dtype=bool), list[int]()
    while len(chosen) < size and open_rows.any():
        left = np.maximum(var / before, LEAST)
        i = int(np.where(open_rows, log_quality + np.log(left), -np.inf).argmax())
        j = len(chosen)
        bound = np.sqrt(var)  # by Cauchy and Schwarz, which rounding must not break: the factor would blow up
        L[j] = np.clip((K[i] - L[:j, i] @ L[:j]) / math.sqrt(left[i] * before[i]), -bound, bound)
        var = np.maximum(var - L[j] ** 2, 0.0)
        chosen.append(i)
        open_rows &= (np.abs(F - F[i]) > radius).any(axis=1)
    return np.array(chosen, dtype=np.intp)
