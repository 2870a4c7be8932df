"""A study as plain data: what the report embeds and the dashboard serves, drawn by the same script in both.

study      space, direction, every trial                       cheap, on every change
analysis   credits, story, importance, slices, maps, history   needs the model: seconds for thousands of trials
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from ccgbo.engine.optimizer import Optimizer
from ccgbo.errors import CcgboError
from ccgbo.metrics import VALUE, Metrics, feasible
from ccgbo.records import Direction, Event, Trial, best_of
from ccgbo.space import Categorical, Int, Parameter, Space
from ccgbo.viz.advice import advice_payload, believe
from ccgbo.viz.axes import Axis, labels_of
from ccgbo.viz.importance import importance
from ccgbo.viz.layers import Layers
from ccgbo.viz.log import log_payload
from ccgbo.viz.metric_payload import believed_payload, front_payload, measured_columns, metrics_payload
from ccgbo.viz.model_view import ModelView, Source, optimizer_of
from ccgbo.viz.numbers import numbers_list, short_number
from ccgbo.viz.replay import replay_credits
from ccgbo.viz.story import credit_story

GRIDS = {600: (61, 33), 2000: (31, 21), math.inf: (31, 15)}  # points of slices and maps, by observations at most
LEAST_COLUMNS, MOST_COLUMNS = 4, 60  # of the credits over time
ROWS = 600  # of them: a screen has no more lines
MAPS = 6  # pairs of parameters
BELIEFS = ("mean", "std")  # layers of one metric
DRAWN = (*BELIEFS, "credit", "base", "weighted", "feasibility")


def to_json(data: Any) -> str:
    """JSON that every browser reads: no NaN, no Infinity."""
    return json.dumps(data, allow_nan=False, separators=(",", ":"))


# -- the study


def study_payload(
    name: str,
    space: Space,
    goal: Direction | Metrics,
    trials: Sequence[Trial],
    *,
    show: Sequence[Trial] | None = None,  # those of the trials that are wanted; all of them if None
    times: Mapping[int, tuple[float, float | None]] | None = None,  # when asked and when told, where that is known
    log: Sequence[Event] = (),
) -> dict[str, Any]:
    """What is known without a model. A categorical's values are indices of its choices, as they are drawn."""
    metrics = goal if isinstance(goal, Metrics) else Metrics({VALUE: goal})
    best, shown = best_of(trials, metrics), trials if show is None else show
    return {
        "name": name,
        "direction": metrics.direction,
        "metrics": metrics_payload(metrics),
        "parameters": [_parameter(key, p) for key, p in space.items()],
        "best": None if best is None else best.id,
        **front_payload(trials, metrics),
        "trials": {
            "id": [t.id for t in shown],
            "state": [t.state for t in shown],
            "value": [_finite(t.value) for t in shown],
            "error": {t.id: t.error for t in shown if t.error},
            "reason": {t.id: t.reason for t in shown if t.error},
            "why": {t.id: str(t.explanation) for t in shown if t.explanation and t.explanation.mean is not None},
            "dropped": {t.id: True for t in shown if t.dropped},
            "readings": {t.id: list(t.readings) for t in shown if t.readings},
            "standard_error": {t.id: math.sqrt(t.noise_variance) for t in shown if t.noise_variance is not None},
            "note": {t.id: t.attributes["note"] for t in shown if t.attributes.get("note")},
            "tags": {t.id: t.attributes["tags"] for t in shown if t.attributes.get("tags")},
            "at": [_column(key, p, shown) for key, p in space.items()],
            "outside": {t.id: why for t, why in zip(shown, _problems(space, shown)) if why is not None},
            "asked_at": [_moment(times, t, 0) for t in shown],
            "told_at": [_moment(times, t, 1) for t in shown],
            **measured_columns(shown, metrics),
        },
        "log": log_payload(log),
    }


def _problems(space: Space, trials: Sequence[Trial]) -> list[str | None]:
    """Why a trial cannot be placed in the space, and is out of the model."""
    return space.place_rows([t.params for t in trials])[1] if trials else []


def _moment(times: Mapping[int, tuple[float, float | None]] | None, trial: Trial, which: int) -> float | None:
    at = times.get(trial.id, (None, None))[which] if times else None
    return None if at is None else round(at, 1)


def _column(name: str, p: Parameter, trials: Sequence[Trial]) -> list[float | None]:
    """Where each trial lies along a parameter, None where that is inactive."""
    if isinstance(p, Categorical):
        return [p.find(t.params[name]) if name in t.params else None for t in trials]
    return [t.params.get(name) for t in trials]


def _parameter(name: str, p: Parameter) -> dict[str, Any]:
    condition = None if p.active_if is None else {parent: list(values) for parent, values in p.active_if.items()}
    out: dict[str, Any] = {"name": name, "searched": p.size != 1, "active_if": condition}
    if isinstance(p, Categorical):
        return out | {"type": "categorical", "choices": list(p.choices), "labels": labels_of(p)}
    kind = "int" if isinstance(p, Int) else "float"
    return out | {"type": kind, "low": p.low, "high": p.high, "log": p.log, "step": p.step}


# -- the analysis


def analysis_payload(source: Source) -> dict[str, Any]:
    """Everything the model says."""
    *_, last = analysis_stages(source)
    return last


def analysis_stages(source: Source) -> Iterator[dict[str, Any]]:
    """The credits first, then with all that takes longer: a live page shows each as soon as it is there."""
    opt = optimizer_of(source)
    try:
        view = ModelView(opt)
    except CcgboError as error:  # nothing told yet
        yield {"message": str(error)}
        return
    first = _credits(view) | ({} if view.goals is None else believed_payload(opt, view))
    yield first
    first = first | advice_payload(opt, view)
    yield first
    views, n = _views(opt, view), len(view.trials)
    del view  # its model need not lie in memory beside those of the past
    yield first | views | {"over_time": _over_time(opt, n)}


def _views(opt: Optimizer, view: ModelView) -> dict[str, Any]:
    """What takes the model at many points: importance, slices and maps; coarser where each point costs more."""
    n, shares = len(view.trials), {name: importance(view, metric=name) for name in view.measured}
    along, across = next(grids for most, grids in GRIDS.items() if n * len(shares) <= most)
    own = shares[view.metric]
    order = sorted(own, key=lambda name: -sum(share[name] for share in shares.values()))
    slices, pairs = [name for name in order[:12] if _has(view, name)], list(islice(_pairs(view, order), MAPS))
    found = {
        "importance": [[name, short_number(value, 4)] for name, value in own.items()],
        "slices": [_slice(view, name, along) for name in slices],
        "maps": [_map(view, x, y, across) for x, y in pairs],
    }
    if view.goals is None:
        return found
    by_metric = {}
    for metric in shares:
        of = view.of(metric)
        by_metric[metric] = {  # guidance is the same for all of them
            "believe": believe(opt.diagnose(metric), of.window),
            "importance": [[name, short_number(value, 4)] for name, value in shares[metric].items()],
            "slices": [_slice(of, name, along, BELIEFS) for name in slices],
            "maps": [_map(of, x, y, across, BELIEFS) for x, y in pairs],
        }
    return found | {"by_metric": by_metric}


def _credits(view: ModelView) -> dict[str, Any]:
    story = credit_story(view)
    mean, std = view.observed if view.goals is None else view.believed
    return {
        "n": len(view.credited),
        "of": len(view.observations),
        "iteration": view.iteration,
        "acts": view.acts,
        "proxy": short_number(view.proxy),
        "credits": {
            "id": [t.id for t in view.credited],
            "credit": numbers_list(view.scores.credit, 4),
            "score": numbers_list(view.scores.raw, 4),
            "mean": numbers_list(mean),
            "std": numbers_list(std, 3),
        },
        "recommended": {
            "id": view.recommended.trial_id,
            "mean": short_number(view.recommended.mean),
            "std": short_number(view.recommended.std),
        },
        "story": {
            "headline": story.headline,
            "strength": story.strength,
            "chapters": [
                {
                    "id": c.trial_id,
                    "value": short_number(c.value),
                    "credit": short_number(c.credit, 4),
                    "because": list(c.because),
                    "values": dict(c.values),
                }
                for c in story.chapters
            ],
        },
    }


def _has(view: ModelView, *names: str) -> bool:
    """Whether some observation has a value for each of the parameters."""
    return any(all(name in t.params for name in names) for t in view.trials)


def _pairs(view: ModelView, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Parameters that some observation has both of, the pairs of the most important ones first."""
    for j, y in enumerate(names):
        yield from ((x, y) for x in names[:j] if _has(view, x, y))


def _slice(view: ModelView, name: str, m: int, layers: Sequence[str] = DRAWN) -> dict[str, Any]:
    cut = view.slice(name, m=m)
    low, high = view.window
    reach = high - low  # the plot shows the window: far beyond it no line can be seen
    band = {
        name: numbers_list(np.clip(getattr(cut.layers, name), low - reach, high + reach)) for name in ("low", "high")
    }
    window = [short_number(low), short_number(high)]
    return {"x": _axis(cut.x), "layers": _layers(cut.layers, layers, view) | band, "window": window}


def _map(view: ModelView, x: str, y: str, m: int, layers: Sequence[str] = DRAWN) -> dict[str, Any]:
    cut = view.map(x, y, m=m)
    colors = {name: numbers_list(ends) for name, ends in view.colors.items()}
    return {"x": _axis(cut.x), "y": _axis(cut.y), "layers": _layers(cut.layers, layers, view), "colors": colors}


def _axis(axis: Axis) -> dict[str, Any]:
    return {"name": axis.name, "at": numbers_list(axis.at), "labels": axis.labels, "log": axis.log}


def _layers(layers: Layers, names: Sequence[str], view: ModelView) -> dict[str, Any]:
    wanted = [name for name in names if name != "feasibility" or view.metrics.constraints]
    return {name: numbers_list(getattr(layers, name), 4) for name in wanted}


def _over_time(source: Source, n: int) -> dict[str, Any]:
    """The credits of the past: each column is a model of up to n observations, each row one that ever had credit."""
    columns = int(np.clip(MOST_COLUMNS * (600 / max(n, 1)) ** 1.7, LEAST_COLUMNS, MOST_COLUMNS))
    history = replay_credits(source, columns=columns)
    most = np.nan_to_num(history.credits, nan=-1.0).max(axis=1, initial=-1.0)
    credited = np.flatnonzero(most >= 0.0)
    # stable: of equal ones the earlier; then in the order they were told
    rows = np.sort(credited[np.argsort(-most[credited], kind="stable")[:ROWS]])
    return {
        "id": [history.trial_ids[row] for row in rows],
        "of": len(history.trial_ids),
        "after": history.after.tolist(),
        "credit": numbers_list(history.credits[rows], 2),
    }


# -- numbers


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value


def improvements(trials: Iterable[Trial], goal: Direction | Metrics) -> list[list[float]]:
    """Where the best feasible value changed: after how many evaluations, and to what; of several objectives nowhere."""
    metrics = goal if isinstance(goal, Metrics) else Metrics({VALUE: goal})
    sign, steps = metrics.sign(metrics.objective), list[list[float]]()
    for n, trial in enumerate((t for t in trials if t.in_model), 1):
        if feasible(trial.values, metrics) is not True:
            continue
        if trial.value is not None and (not steps or sign * trial.value > sign * steps[-1][1]):
            steps.append([n, trial.value])
    return steps
