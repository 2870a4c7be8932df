"""Whether to believe the model: leave-one-out predictions, and what speaks against it, in words.

    n  observations of the model, d  parameters

The prediction of an observation from the others is exact and costs one inverse (surrogate/gp/posterior.py); the
hyperparameters and the transform of the values are held.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, combinations

import numpy as np

from ccgbo.arrays import Array
from ccgbo.diagnosis import Concern, Diagnosis, LeftOut
from ccgbo.engine.explain import in_user_units
from ccgbo.engine.history import History
from ccgbo.engine.metric_stopping import gains_of
from ccgbo.engine.model import Model
from ccgbo.engine.step import State
from ccgbo.metrics import VALUE, Metrics, feasible
from ccgbo.records import Trial
from ccgbo.space import Categorical
from ccgbo.surrogate.base import CheckedPosterior
from ccgbo.text import count, printable

BANDS = {50: 0.674490, 80: 1.281552, 95: 1.959964}  # per cent -> standard deviations either side
ENOUGH = 6  # observations below which nothing is said of how they lie
AT_BOUND = 0.005  # share of the range
INWARDS = 0.1  # share of the range by which a parameter at its bound is moved, to see what the model expects there
MATTERS = 0.01  # standardised values: a smaller difference is none
TOGETHER = 0.98  # correlation
MOST_PAIRS = 3  # that are told
FEW_CHOICES = 12  # of a categorical whose choices are counted
NO_BETTER = 0.05  # R²


def diagnose(state: State, history: History, rng: np.random.Generator, metric: str | None = None) -> Diagnosis:
    """Whether to believe the model of the objective, or of another metric, and whether to stop."""
    name, gains = metric or history.metrics.objective, gains_of(state, rng)
    if not history.metrics.simple:  # the metric by itself, as if it were all that is measured
        state = replace(state, models={VALUE: state.models[name]}, goals=None, placed=history.data(name).U)
    model, posterior, sign = state.model, state.model.posterior, history.metrics.sign(name)
    trials = [history.observed(row, name) for row in model.rows]
    y = model.outcome.forward(history.data(name).values[model.rows])
    n, left_out, r2, coverage, noise = len(y), [], None, {}, None
    if isinstance(posterior, CheckedPosterior) and n > 1:
        mean, std = posterior.leave_one_out()
        own_noise = posterior.noise
        if model.own_noise is not None:  # that of its value is asked for, not that of an average
            own_noise = np.maximum(model.own_noise, posterior.noise)
            std = np.sqrt(std**2 + own_noise - posterior.noise)
        left_out, r2 = _left_out(model, trials, name, mean, std, sign), _r2(y, mean)
        off = np.abs(y - mean) / std
        coverage = {band: float((off <= z).mean()) for band, z in BANDS.items()}
        noise = float(np.sqrt(np.median(own_noise)))
    concerns = chain(
        _about_size(state),
        _about_measurements(history),
        _about_prediction(n, r2, coverage),
        _about_noise(model, noise),
        _about_bounds(state, trials, y, history.metrics, name),
        _about_variation(state),
        _about_choices(state, history),
        _about_failures(history),
    )
    return Diagnosis(
        n=n,
        left_out=tuple(left_out),
        r2=r2,
        coverage=coverage,
        noise=None if noise is None else in_user_units(model, float(np.median(y)), noise, sign)[1],
        concerns=tuple(concerns),
        gains=tuple(gains),
    )


def _left_out(model: Model, trials: Sequence[Trial], name: str, mean: Array, std: Array, sign: float) -> list[LeftOut]:
    values, deviations = model.in_user_units(mean, std)
    ends = [sign * model.in_user_units(mean + side * BANDS[95] * std, std)[0] for side in (-1.0, 1.0)]
    return [
        LeftOut(
            trial_id=trial.id,
            value=trial.values[name],
            mean=sign * float(values[i]),
            std=float(deviations[i]),
            low=float(min(ends[0][i], ends[1][i])),
            high=float(max(ends[0][i], ends[1][i])),
        )
        for i, trial in enumerate(trials)
    ]


def _r2(y: Array, predicted: Array) -> float | None:
    """1 - sum (y - predicted)^2 / sum (y - mean of the others)^2."""
    n = len(y)
    around = (n / (n - 1.0)) ** 2 * float(((y - y.mean()) ** 2).sum())
    return 1.0 - float(((y - predicted) ** 2).sum()) / around if around > 1e-12 else None


# -- what speaks against it


def _about_size(state: State) -> Iterator[Concern]:
    n, d = len(state.observed), sum(p.size != 1 for p in state.space.parameters)
    if n < d + 2:
        there = "there is" if n == 1 else "there are"
        words = f"{there} only {count(n, 'observation')} of {count(d, 'parameter')}: nothing here is certain yet."
        yield Concern(kind="few observations", text=words)


def _about_measurements(history: History) -> Iterator[Concern]:
    for name, bound in history.metrics.constraints.items():
        if not history.ids(name):
            words = f"{printable(repr(name))} was never measured: whether any trial keeps it {bound} is unknown."
            yield Concern(kind="never measured", text=words)


def _about_prediction(n: int, r2: float | None, coverage: dict[int, float]) -> Iterator[Concern]:
    if r2 is None or n < ENOUGH:
        return
    if r2 <= NO_BETTER:
        words = "the model predicts no better than the mean of the values: its maps and its advice are guesses so far."
        yield Concern(kind="no better than the mean", text=words)
    inside = round(coverage[95] * n)
    if _at_most(inside, n, 0.95) < 0.01:
        words = f"the model is too sure of itself: {n - inside} of {n} observations lie outside its 95 % bands."
        yield Concern(kind="too sure", text=words)
    inside = round(coverage[50] * n)
    if _at_most(n - inside, n, 0.5) < 0.001:
        words = f"the model is less sure than it could be: {inside} of {n} observations lie inside its 50 % bands."
        yield Concern(kind="too unsure", text=words)


def _at_most(k: int, n: int, p: float) -> float:
    """The chance of at most k successes in n trials, each of probability p."""
    log = math.lgamma(n + 1)
    terms = (
        log - math.lgamma(i + 1) - math.lgamma(n - i + 1) + i * math.log(p) + (n - i) * math.log1p(-p)
        for i in range(k + 1)
    )
    return math.fsum(map(math.exp, terms))


def _about_noise(model: Model, noise: float | None) -> Iterator[Concern]:
    if noise is None or len(model.mean) < ENOUGH:
        return
    if noise > float(model.mean.std()):
        words = (
            "the noise is larger than the differences that the model sees between settings: "
            "repeat the best ones before you trust their order."
        )
        yield Concern(kind="noise", text=words)


def _about_bounds(state: State, trials: Sequence[Trial], y: Array, metrics: Metrics, metric: str) -> Iterator[Concern]:
    """Parameters at a bound of which the best value of an objective lies, of those that keep every constraint."""
    allowed = [i for i, trial in enumerate(trials) if feasible(trial.values, metrics)]
    if metric not in metrics.objectives or not allowed:
        return
    space, best = state.space, max(allowed, key=lambda i: y[i])
    what = f"{'feasible ' if metrics.constraints else ''}{printable(metric)}"
    params, u = trials[best].params, state.observed[best]
    mixed = set() if space.equations is None else set(space.equations.columns.tolist())
    for j, (name, p) in enumerate(space.items()):
        if isinstance(p, Categorical) or name not in params or p.size == 1 or j in mixed:
            continue
        low, high = params[name] <= p.low or u[j] <= AT_BOUND, params[name] >= p.high or u[j] >= 1.0 - AT_BOUND
        if not low and not high:
            continue
        inner = np.clip(u, 0.0, 1.0)
        inner[j] += INWARDS if low else -INWARDS
        ends = space.features(space.snap(np.stack([np.clip(u, 0.0, 1.0), inner])))
        at_bound, inside = state.model.posterior.predict(ends)[0]
        if at_bound - inside > MATTERS:
            side, bound = ("lower", p.low) if low else ("upper", p.high)
            words = (
                f"the best {what} lies at the {side} bound of {printable(repr(name))}, {bound:g}: "
                "a wider range may hold a better one."
            )
            yield Concern(kind="bound", text=words, parameters=(name,))


def _about_variation(state: State) -> Iterator[Concern]:
    """Parameters that were never varied, and pairs that were never varied apart."""
    space, U = state.space, state.observed
    active = space.active(U) if space.conditional else np.ones(U.shape, dtype=bool)
    mixed = set() if space.equations is None else set(space.equations.columns.tolist())
    varied = []
    for j, (name, p) in enumerate(space.items()):
        at = U[active[:, j], j]
        if p.size == 1 or len(at) < ENOUGH:
            continue
        if np.ptp(at) > 1e-9:
            varied.append(j)
        else:
            words = f"{printable(repr(name))} was never varied: nothing is known of what it does."
            yield Concern(kind="never varied", text=words, parameters=(name,))
    found = 0
    for i, j in combinations(varied, 2):
        both = active[:, i] & active[:, j]
        if found == MOST_PAIRS or both.sum() < ENOUGH or {i, j} <= mixed or not _together(state, i, j, U[both]):
            continue
        found += 1
        a, b = space.names[i], space.names[j]
        words = (
            f"{printable(repr(a))} and {printable(repr(b))} were never varied apart: "
            "which of the two matters cannot be told."
        )
        yield Concern(kind="never apart", text=words, parameters=(a, b))


def _together(state: State, i: int, j: int, U: Array) -> bool:
    """Whether one parameter tells the other."""
    a, b = U[:, i], U[:, j]
    if np.ptp(a) < 1e-9 or np.ptp(b) < 1e-9:
        return False
    if not {i, j} & set(state.space.discrete):
        return bool(abs(np.corrcoef(a, b)[0, 1]) >= TOGETHER)
    pairs = len(np.unique(np.stack([a, b], axis=1), axis=0))
    return pairs == len(np.unique(a)) == len(np.unique(b)) and pairs <= len(a) // 2


def _about_choices(state: State, history: History) -> Iterator[Concern]:
    """Choices of which hardly anything is known."""
    done = [t for t in history.trials.values() if t.state in ("complete", "failed") and not t.dropped]
    for name, p in state.space.items():
        if not isinstance(p, Categorical) or not 1 < p.size <= FEW_CHOICES:
            continue
        tried = [p.find(t.params[name]) for t in done if name in t.params]
        if len(tried) < ENOUGH * p.size:
            continue
        for index, choice in enumerate(p.choices):
            times = tried.count(index)
            if times <= 2:
                often = ("never tried", "tried once", "tried twice")[times]
                what = f"{printable(name)} = {printable(repr(choice))}"
                words = f"{what} was {often} in {count(len(tried), 'trial')}: little is known of it."
                yield Concern(kind="hardly tried", text=words, parameters=(name,))


def _about_failures(history: History) -> Iterator[Concern]:
    done = [t for t in history.trials.values() if t.state in ("complete", "failed") and not t.dropped]
    failed = sum(t.state == "failed" for t in done)
    if len(done) >= ENOUGH and 3 * failed >= len(done):
        yield Concern(kind="failures", text=f"{failed} of {len(done)} trials failed.")
