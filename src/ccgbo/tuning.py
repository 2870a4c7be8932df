"""Numerical tuning of the engine, apart from the settings that decide what it does.

Nobody needs these to use the library: they trade time for the last digits, and are here so that an experiment can vary
them and a result says what it was made with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ccgbo.validation import Above, AtLeast, AtMost, Below, OrInfinite, Validated


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class EngineTuning(Validated):
    """Numbers behind the fit, the sampled optima and the search; what is not given is what the default preset has."""

    learn_signal: bool = True
    """Whether the variance of the process is learned; False is one, for high dimension."""
    refit_growth: Annotated[float, AtLeast(0), OrInfinite()] = 0.02
    """Fraction by which the observations grow before hyperparameters are learned anew; 0 learns them every time."""
    max_points: Annotated[int, AtLeast(2)] = 3000
    """Observations up to which the model is made of all of them."""
    kept_points: Annotated[int, AtLeast(2)] = 1000
    """Observations that it is made of beyond: the best, the latest, and most of all those near the likely optimum."""
    fit_points: Annotated[int, AtLeast(2)] = 1000
    """Observations that hyperparameters are learned on at most, spread evenly over the values."""
    integrate_points: Annotated[int, AtLeast(2)] = 200
    """Observations up to which acquisitions are averaged over draws of the hyperparameters, where there are any: of
    more the most likely ones are nearly certain, and each draw costs a factorisation."""
    max_iterations: Annotated[int, AtLeast(1), AtMost(1_000_000)] = 100
    """Iterations of L-BFGS-B from each start of a fit at most."""
    gradient_tolerance: Annotated[float, AtLeast(0), AtMost(1)] = 1e-3
    """Largest component of the gradient, for each observation, at which a fit ends."""
    n_features: Annotated[int, AtLeast(1), AtMost(16_384)] = 128
    """Random frequencies of a posterior function."""
    path_candidates: Annotated[int, AtLeast(1), AtMost(100_000)] | None = 64
    """Candidates among which the maximum of each posterior function is sought; None takes all of them."""
    path_steps: Annotated[int, AtLeast(0), AtMost(10_000)] = 2
    """Gradient steps on each posterior function from the best of them; 0 as in the paper."""
    score_eps: Annotated[float, Above(0), AtMost(1)] = 1e-6
    """Added to the predictive variance in a counterfactual score, against division by zero. eps_c of the paper."""
    n_candidates: Annotated[int, AtLeast(1), AtMost(100_000)] = 512
    """Points over the whole space at which the acquisition is computed first."""
    quasi_random: bool = True
    """Whether they are a Sobol set; False draws them uniformly, as the paper does."""
    n_local: Annotated[int, AtLeast(0), AtMost(100_000)] = 96
    """Further points around the most credited observations."""
    n_starts: Annotated[int, AtLeast(0), AtMost(10_000)] = 4
    """Best candidates that gradient ascent and neighbour moves start from; 0 takes the best candidate as it is."""
    search_steps: Annotated[int, AtLeast(0), AtMost(100_000)] = 30
    """Gradient steps of the search from each start at most."""
    recombine_every: Annotated[int, AtLeast(1)] | None = None
    """Every so many suggestions, the first among them, one is the middle of the most credited observations; None never
    suggests it for that."""
    recombine_stalled: Annotated[int, AtLeast(2)] | None = 10
    """Where all parameters are numbers: the suggestion after one that did not become the best is that middle, and
    again every so many while none does; None never suggests it for that."""
    recombine_from: Annotated[int, AtLeast(1)] = 5
    """Parameters from which on that is so."""
    min_pending_distance: Annotated[float, AtLeast(0), Below(0.5)] = 0.05
    """Distance kept from points under evaluation, as a fraction of each range; less where there are many."""
    batch_at_once: Annotated[int, AtLeast(2)] | None = 64
    """Points from which on ``ask(n)`` draws a batch in some sqrt(n) rounds; below, and with None, one by one."""
