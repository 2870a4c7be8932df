"""A posterior averaged over its hyperparameters: some draws of them instead of the most likely ones alone.

    theta   hyperparameters on the logarithmic scale of fit.py, k of them
    H       second derivatives of the negative log posterior at the most likely theta

The draws are of the Laplace approximation N(theta, H^-1), in pairs that mirror each other at theta, and the most likely
theta itself is among them: with few observations it is often far from what others, nearly as likely, would believe. A
draw counts by one of

    credited       exp(0.3 n_eff LOO), LOO the leave-one-out log density, averaged with weights rank^4: how well it
                   forecasts the observations that matter for the optimum, from the others
    otherwise      p(theta, y) / N(theta; ., H^-1): as it would in an integral over the posterior of theta

with rank in [0, 1] by value, 1 for the best, and n_eff the effective number of the weights. Nothing random enters from
outside: the draws are a function of the observations, so that a run that was cut and resumed computes the same bits.
With categoricals there are no draws: what they gain there is not certain. docs/lab/spending.md has the figures.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import softmax

from ccgbo.arrays import Array
from ccgbo.surrogate.gp.cross import relevance_noise
from ccgbo.surrogate.gp.fit import FitSettings, NegLogPosterior, hyper_of
from ccgbo.surrogate.gp.posterior import GP
from ccgbo.surrogate.mixture import Mixture, without_light
from ccgbo.tuning import EngineTuning

LEAST_POINTS = 3  # of fewer nothing is forecast from the others
STEP = 0.02  # of the differences behind H
LEAST_CURVATURE = 0.2  # of H along any direction: a draw is then within some e^2 of the most likely value
FARTHEST = 2.5  # that any hyperparameter may be from its most likely value, on the logarithmic scale
CREDIT_POWER = 4  # of the rank in the weight of an observation
SHARPNESS = 0.3  # of each effective observation in the weight of a draw


def integrated(
    gp: GP, settings: FitSettings, tuning: EngineTuning, *, credited: bool, known_noise: bool = False
) -> GP | Mixture:
    """The posterior averaged over ``settings.hyper_samples`` draws of its hyperparameters and those that it has.

    ``known_noise`` says that the noise was given and not learned.
    """
    within = LEAST_POINTS <= len(gp.y) <= tuning.integrate_points
    if not settings.hyper_samples or gp.kernel.choices or not within:
        return gp
    given = _given_noise(gp)
    energy = NegLogPosterior(
        gp.X,
        gp.y,
        settings,
        gp.kernel.choices,
        given,
        learn_signal=tuning.learn_signal,
        known_noise=gp.hyper.noise if known_noise else None,
    )
    theta = np.clip(_theta(gp), *energy.bounds.T)
    draws, log_density = _laplace_draws(energy, theta, settings.hyper_samples)
    others = [
        GP.from_data(
            gp.kernel,
            hyper_of(one, gp.X.shape[1], gp.hyper.relevance),
            gp.X,
            gp.y,
            given,
            n_features=gp.n_features,
        )
        for one in draws
    ]
    members = [gp, *others]
    if credited:
        log_weights = np.array([credit_weighted_fit(member) for member in members])
    else:
        n, at = len(gp.y), [theta, *draws]
        log_weights = np.array([-n * energy(one)[0] for one in at]) - np.concatenate([[0.0], log_density])
    return without_light(members, softmax(log_weights))


def credit_weighted_fit(gp: GP) -> float:
    """0.3 n_eff LOO of the module's head."""
    y = gp.y
    rank = (np.searchsorted(np.sort(y), y, side="right") - 1.0) / max(len(y) - 1.0, 1.0)
    weight = rank**CREDIT_POWER
    mean, std = gp.leave_one_out()
    log_density = -0.5 * ((y - mean) / std) ** 2 - np.log(std)
    n_eff = weight.sum() ** 2 / (weight @ weight)
    return float(SHARPNESS * n_eff * (weight @ log_density) / weight.sum())


def _laplace_draws(energy: NegLogPosterior, theta: Array, k: int) -> tuple[Array, Array]:  # (k, q), (k,)
    """Draws of N(theta, H^-1) within the bounds, and their log densities relative to that at theta."""
    curvature, directions = np.linalg.eigh(_hessian(energy, theta))
    n, q = len(energy.y), len(theta)
    half = np.random.default_rng([0, n]).standard_normal(((k + 1) // 2, q))
    z = np.stack([half, -half], axis=1).reshape(-1, q)[:k]
    moved = (z / np.sqrt(np.maximum(curvature, LEAST_CURVATURE))) @ directions.T
    draws = np.clip(theta + np.clip(moved, -FARTHEST, FARTHEST), *energy.bounds.T)
    return draws, -0.5 * (z * z).sum(axis=1)


def _hessian(energy: NegLogPosterior, theta: Array) -> Array:  # (q, q)
    """Second derivatives of the negative log posterior, by differences of its gradient."""
    here = energy(theta)[1]
    steps = STEP * np.eye(len(theta))
    H = np.array([energy(theta + step)[1] - here for step in steps]) * (len(energy.y) / STEP)
    symmetric: Array = 0.5 * (H + H.T)
    return symmetric


def _theta(gp: GP) -> Array:
    """What ``hyper_of`` makes the hyperparameters of."""
    hyper = gp.hyper
    trend = [math.log(hyper.trend)] if hyper.trend else []
    return np.concatenate([np.log(hyper.lengthscales), [math.log(hyper.signal), math.log(hyper.noise)], trend])


def _given_noise(gp: GP) -> Array | None:  # (n,)
    """Variances that the observations came with, NaN where theirs is the learned one; None if all is learned."""
    hyper = gp.hyper
    noise = gp.noise
    if hyper.relevance:
        noise = noise - relevance_noise(hyper.relevance, gp.y, float(gp.y.max()))
    learned = np.isclose(noise, hyper.noise, rtol=1e-6, atol=0.0)
    return None if learned.all() else np.where(learned, np.nan, noise)
