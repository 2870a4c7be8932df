"""Metrics as arguments: ``yield:maximize``, ``impurity<=0.02``, ``yield=71.5``; and how they are shown."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import click

from ccgbo.cli.table import cell
from ccgbo.cli.values import number_of
from ccgbo.metrics import Between, Metrics, feasible
from ccgbo.records import Trial, best_of, front_of
from ccgbo.text import count, printable

F = TypeVar("F", bound=Callable[..., Any])

OBJECTIVE, BOUND = "NAME:DIRECTION", "NAME<=NUMBER"
MEASURED = "NUMBER or NAME=NUMBER"
SIGN = re.compile(r"(<=|>=)")


def goal_options(command: F) -> F:
    """--objective and --constraint, any number of times."""
    for add in (
        click.option("--constraint", "bounds", metavar=BOUND, multiple=True, help="A bound of what is measured."),
        click.option("--objective", "goals", metavar=OBJECTIVE, multiple=True, help="yield:maximize, cost:minimize."),
    ):
        command = add(command)
    return command


def objectives_of(texts: Sequence[str]) -> dict[str, Any]:
    """``yield:maximize``; without a direction it is to be maximised."""
    found: dict[str, Any] = {}
    for text in texts:
        name, colon, direction = text.rpartition(":")
        name, direction = (name, direction.strip()) if colon else (text, "maximize")
        if not name.strip() or direction not in ("maximize", "minimize"):
            raise click.UsageError(f"--objective must be NAME:maximize or NAME:minimize, got {text!r}.")
        if name.strip() in found:
            raise click.UsageError(f"--objective: {name.strip()!r} must be given once.")
        found[name.strip()] = direction
    return found


def bounds_of(texts: Sequence[str]) -> dict[str, Between]:
    """``impurity<=0.02``, ``ph>=6.5``, ``6.5<=ph<=7.5``; several of one metric are taken together."""
    sides: dict[str, list[float]] = {}
    for text in texts:
        for name, lower, upper in _sides(text):
            low, high = sides.setdefault(name, [-math.inf, math.inf])
            sides[name] = [max(low, lower), min(high, upper)]
    return {name: Between(low, high) for name, (low, high) in sides.items()}


def _sides(text: str) -> list[tuple[str, float, float]]:
    """Each bound in a text: a name, and the two sides of what is allowed."""
    parts = [part.strip() for part in SIGN.split(text)]
    wrong = click.UsageError(f"--constraint must be such as impurity<=0.02, ph>=6.5 or 6.5<=ph<=7.5, got {text!r}.")
    at = 2 if len(parts) == 5 else 2 if len(parts) == 3 and _number(parts[0]) is not None else 0
    if len(parts) not in (3, 5) or not parts[at] or _number(parts[at]) is not None or set(parts[at]) & set("<>="):
        raise wrong
    found = []
    for i in (1, 3) if len(parts) == 5 else (1,):
        bound = _number(parts[i - 1] if i + 1 == at else parts[i + 1])
        if bound is None:
            raise wrong
        below = (parts[i] == "<=") != (i + 1 == at)  # the name is less
        found.append((parts[at], -math.inf, bound) if below else (parts[at], bound, math.inf))
    if len(found) == 2 and parts[1] != parts[3]:
        raise wrong
    return found


def _number(text: str) -> float | None:
    try:
        found = number_of(text)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


# -- what is told


def measured(texts: Sequence[str], metrics: Metrics) -> Any:
    """The value in what was typed: a number, several readings, or metrics by name, each once or several times."""
    names = [name for name in metrics.names if not metrics.plain]
    pairs = [_pair("VALUE", text, names) for text in texts]
    if all(name is None for name, _ in pairs):
        if pairs and metrics.several:
            known = ", ".join(map(printable, names))
            raise click.UsageError(f"VALUE must be NAME=NUMBER, of the metrics {known}, got {texts[0]!r}.")
        numbers = [value for _, value in pairs]
        return None if not numbers else numbers if len(numbers) > 1 else numbers[0]
    found: dict[str, list[float]] = {}
    for text, (name, value) in zip(texts, pairs, strict=True):
        if name is None:
            raise click.UsageError(f"VALUE must be NAME=NUMBER like the others, got {text!r}.")
        found.setdefault(name, []).append(value)
    return {name: values if len(values) > 1 else values[0] for name, values in found.items()}


def by_name(option: str, texts: Sequence[str], value: Any) -> Any:
    """What an option says of the one value, or of metrics by name."""
    if not texts:
        return None
    names = list(value) if isinstance(value, Mapping) else []
    found: dict[str | None, float] = {}
    for text in texts:
        name, number = _pair(option, text, names)
        if not number >= 0 or math.isinf(number):
            raise click.UsageError(f"{option} must be a finite number >= 0, got {text!r}.")
        if name in found:
            raise click.UsageError(f"{option} must be given once" + ("." if name is None else f" of {name!r}."))
        if (name is None) == bool(names) or (names and name not in names):
            form = f"NAME=NUMBER, of {', '.join(map(printable, names))}" if names else "a NUMBER"
            raise click.UsageError(f"{option} must be {form}, got {text!r}.")
        if names and isinstance(value[name], list):
            raise click.UsageError(f"{option} belongs to one VALUE, and {name!r} has {len(value[name])} readings.")
        found[name] = number
    return found if names else found[None]


def _pair(what: str, text: str, names: Iterable[str]) -> tuple[str | None, float]:
    known = max((name for name in names if text.startswith(f"{name}=")), key=len, default=None)
    name, equals, number = (known, "=", text[len(known) + 1 :]) if known is not None else text.partition("=")
    if equals and not name:
        raise click.UsageError(f"{what} must be a {MEASURED}, got {text!r}.")
    number, said = (number, name) if equals else (text, None)
    try:
        return said, math.nan if equals and not number.strip() else number_of(number.strip())
    except ValueError:
        if text.startswith("--"):  # where options that nobody knows pass, so that -0.3 does
            raise click.NoSuchOption(text.partition("=")[0], ctx=click.get_current_context(silent=True)) from None
        wanted = "a number" if said is None else f"NAME=NUMBER, {said} a number"
        raise click.UsageError(f"{what} must be {wanted}, got {text!r}.") from None


# -- what is shown


def goal_words(metrics: Metrics) -> str:
    """``minimize``, or ``yield: maximize, impurity <= 0.02``."""
    return metrics.direction if metrics.plain else ", ".join(metrics.describe())


def trial_words(trial: Trial, metrics: Metrics, *, readings: bool = False) -> str:
    """``0.93``, or ``yield 71.5, cost not measured, not feasible: impurity``; of metrics that are gone nothing."""
    if metrics.plain:
        return cell(trial.value)
    values = {name: trial.values[name] for name in metrics.names if name in trial.values}
    notes = {name: _readings(trial, name) if readings else "" for name in values}
    said = [f"{printable(name)} {cell(value)}{notes[name]}" for name, value in values.items()]
    said += [f"{printable(name)} not measured" for name in metrics.objectives if name not in values]
    verdict = feasible(trial.values, metrics)
    broken = [n for n, b in metrics.constraints.items() if n in trial.values and not b.allows(trial.values[n])]
    if verdict is False:
        said.append(f"not feasible: {printable(', '.join(broken))}")
    elif verdict is None:
        missing = [name for name in metrics.constraints if name not in trial.values]
        said.append(f"feasible if {printable(' and '.join(missing))} {'is' if len(missing) == 1 else 'are'}")
    return ", ".join(said)


def _readings(trial: Trial, name: str) -> str:
    n = len(trial.metrics[name].readings) if name in trial.metrics else 0
    return f" (the mean of {n} readings)" if n else ""


def verdict(trial: Trial, metrics: Metrics) -> str | None:
    """Whether a trial keeps every bound: yes, no, or unknown where one was not measured; None before it has values."""
    if not trial.values:
        return None
    found = feasible(trial.values, metrics)
    return "unknown" if found is None else "yes" if found else "no"


def so_far(trials: Sequence[Trial], metrics: Metrics) -> str:
    """The best there is: a trial, or how many are on the front; empty where there is none."""
    if metrics.several:
        front = front_of(trials, metrics)
        return f"front so far: {count(len(front), 'trial')}" if front else ""
    best = best_of(trials, metrics)
    if best is None:
        return "none feasible so far" if metrics.constraints and any(t.in_model for t in trials) else ""
    return f"best so far: trial {best.id}, {best.value:.6g}"
