"""The credit story in words: which experiments carry the most information about the optimum, and why.

Every number in it is one the method computes; nothing is judged twice.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ccgbo.acquisition import Alternate
from ccgbo.credit.field import lower_weight
from ccgbo.engine.recommend import believed_metrics, front_rows
from ccgbo.explanation import MIDDLE
from ccgbo.records import best_of
from ccgbo.text import printable
from ccgbo.viz.model_view import ModelView

COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """One experiment and what gives it its credit."""

    trial_id: int
    params: Mapping[str, Any]
    value: float  # NaN of several objectives
    credit: float
    because: tuple[str, ...]
    values: Mapping[str, float] = field(default_factory=dict)  # by metric, where metrics have names

    def __str__(self) -> str:
        measured = ", ".join(f"{printable(name)} {number(value)}" for name, value in self.values.items())
        said = measured or f"value {number(self.value)}"
        return f"#{self.trial_id} ({said}, credit {self.credit:.2f}): " + "; ".join(self.because)


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A headline, the experiments in order of credit, and how strongly credit acts now."""

    headline: str
    chapters: tuple[Chapter, ...]
    strength: str

    def __str__(self) -> str:
        return "\n".join([self.headline, *(f"  {chapter}" for chapter in self.chapters), self.strength])


def credit_story(view: ModelView, *, top: int = 5) -> Story:
    """The ``top`` most credited experiments, each with its reasons."""
    order = np.argsort(-view.scores.log_lik, kind="stable")[:top]
    leant_on = Counter(n.trial_id for t in view.every_trial if t.explanation for n in t.explanation.neighbours)
    best = best_of(view.every_trial, view.metrics)
    reasons = _reasons if view.goals is None else _named_reasons
    chapters = []
    for place, i in enumerate(order):
        trial = view.credited[i]
        because = reasons(view, int(i), place, is_best=best is not None and best.id == trial.id)
        if leant_on[trial.id]:
            because.append(f"it was a neighbour of {_times(leant_on[trial.id])} later suggested")
        chapters.append(
            Chapter(
                trial_id=trial.id,
                params=dict(trial.params),
                value=math.nan if trial.value is None else trial.value,
                credit=float(view.scores.credit[i]),
                because=tuple(because),
                values={} if view.goals is None else trial.values,
            )
        )
    return Story(headline=_headline(view, len(chapters)), chapters=tuple(chapters), strength=_strength(view))


def number(value: float) -> str:
    """A value as people read it."""
    return f"{value:.4g}"


def _headline(view: ModelView, n: int) -> str:
    if not view.scores.informative:
        return "Credit says nothing yet: no observation can be told from another as a sign of the optimum."
    who = "This experiment carries" if n == 1 else f"These {COUNTS[n] if n < len(COUNTS) else n} experiments carry"
    if view.metrics.several:
        return f"{who} the most information about the front, because …"
    what = "feasible optimum" if view.metrics.constraints else "optimum"
    return f"{who} the most information about the {what}, which the model estimates at {number(view.proxy)}, because …"


def _reasons(view: ModelView, i: int, place: int, *, is_best: bool) -> list[str]:
    mean, std = (float(part[i]) for part in view.observed)
    reasons = []
    if is_best:
        reasons.append("it has the best value so far")
    elif view.best_row == i:
        reasons.append("the model expects the best value here")
    rank = _likely(place)
    reasons.append(
        f"the model predicts {number(mean)} ± {std:.2g} there, {view.gap[i]:.1f} standard deviations from the "
        f"estimated optimum: {rank} of all to reach it"
    )
    if view.model.std[i] > 2.0 * float(np.median(view.model.std)):
        reasons.append("the model is less sure there than elsewhere")
    return reasons


def _named_reasons(view: ModelView, i: int, place: int, *, is_best: bool) -> list[str]:
    """The same where metrics have names: what each is predicted to be, and whether the bounds are kept."""
    goals = view.goals
    assert goals is not None
    reasons = ["it has the best feasible value so far"] if is_best else []
    if view.metrics.several and goals.feasible[i] and i in front_rows(goals):
        reasons.append("it lies on the front")
    belief = believed_metrics(goals, {name: [part[i] for part in goals.belief(name)] for name in view.measured})
    said = ", ".join(f"{printable(name)} {number(mean)} ± {std:.2g}" for name, (mean, std) in belief.items())
    what = "a point of the front" if view.metrics.several else "the optimum"
    reasons.append(f"the model predicts {said} there: {_likely(place)} of all to reach {what}")
    chances = goals.chances()
    if chances is not None:
        reasons.append(f"it keeps every outcome constraint with probability {chances[i]:.2g}")
    return reasons


def _likely(place: int) -> str:
    return "the likeliest" if place == 0 else f"the {_ordinal(place + 1)} likeliest"


def _strength(view: ModelView) -> str:
    c, t = view.settings.credit, view.iteration
    if c.strength == 0.0 or c.tau == 0.0:
        return "Credit is switched off in this study: it is shown, and does not act on the search."
    if not view.acts:
        return "Credit does not act on the search where there are categoricals: every suggestion exploits. It is shown."
    least = lower_weight(t, strength=c.strength, tau=c.tau, half_life=c.half_life, c_min=c.floor)
    acquisition, turns = view.settings.acquisition, ""
    if isinstance(acquisition, Alternate):
        turns = (
            f" It weighs one suggestion in {acquisition.period}, the one that explores; the others exploit without it."
        )
    return (
        f"After {_times(t)} suggested by the model, credit multiplies the acquisition by a factor between {least:.2f} "
        f"(the least credited places) and 1; this pull fades as the study grows.{turns}{_middles(view)}"
    )


def _middles(view: ModelView) -> str:
    """The other use of credit: suggestions that were the middle of the most credited experiments."""
    ids = [t.id for t in view.every_trial if t.explanation is not None and t.explanation.acquisition == MIDDLE]
    if not ids:
        return ""
    if len(ids) == 1:
        return f" Trial {ids[0]} was the middle of the most credited experiments of its time."
    count = _times(len(ids)).capitalize()
    return f" {count}, the last one trial {ids[-1]}, were the middle of the most credited experiments of their time."


def _times(n: int) -> str:
    return f"{COUNTS[n] if n < len(COUNTS) else n} point{'' if n == 1 else 's'}"


def _ordinal(n: int) -> str:
    names = ("zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
    return names[n] if n < len(names) else f"{n}th"
