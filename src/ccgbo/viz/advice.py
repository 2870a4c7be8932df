"""What a lab can act on: whether to believe the model, whether to stop, what is next, and what that rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ccgbo.diagnosis import Diagnosis
from ccgbo.engine.optimizer import Optimizer
from ccgbo.errors import UnsupportedError
from ccgbo.influence import Influence, InfluenceRow, PointInfluence
from ccgbo.records import Trial
from ccgbo.viz.layers import Layers
from ccgbo.viz.model_view import ModelView
from ccgbo.viz.numbers import numbers_list, short_number

ONLY_PLAIN = {  # what is refused where metrics have names, and said instead
    "influence": "What each experiment is worth is told for one objective without outcome constraints: there is no "
    "single best value that could be lost here.",
}
MOST_NEXT = 12  # suggestions that are shown with what they rest on
MOST_WORTH = 1000  # observations up to which every one is left out in turn, which takes their cube
STORY = 5  # observations in a story


def advice_payload(opt: Optimizer, view: ModelView) -> dict[str, Any]:
    """Believe, stop, next and what rules the other places out."""
    named = not opt.metrics.plain
    return {
        "believe": believe(opt.diagnose(view.metric if named else None), view.window),
        "next": _next(opt, view),
        "influence": _influence(opt) if len(view.trials) <= MOST_WORTH else None,
        "only_plain": None if opt.metrics.simple else ONLY_PLAIN,
    }


def believe(found: Diagnosis, window: tuple[float, float]) -> dict[str, Any]:
    rows, (low, high) = found.left_out, window
    reach = high - low  # the plot shows the window: far beyond it nothing can be seen

    def column(key: str) -> Any:
        return numbers_list(np.clip([getattr(row, key) for row in rows], low - reach, high + reach))

    return {
        "summary": found.summary(),
        "r2": None if found.r2 is None else short_number(found.r2, 3),
        "coverage": {str(band): short_number(share, 3) for band, share in found.coverage.items()},
        "concerns": [{"kind": c.kind, "text": _sentence(c.text)} for c in found.concerns],
        "left_out": {
            "id": [row.trial_id for row in rows],
            **{key: column(key) for key in ("value", "mean", "low", "high")},
        },
        "gains": [
            {
                "n": gain.n,
                "text": _sentence(f"{gain}."),
                **{key: short_number(getattr(gain, key), 4) for key in ("mean", "low", "high", "error")},
            }
            for gain in found.gains
        ],
    }


def _next(opt: Optimizer, view: ModelView) -> list[dict[str, Any]]:
    """The trials that wait for a value, as the model sees them now."""
    waiting = [t for t in opt.pending if opt.space.outside(t.params) is None][:MOST_NEXT]
    if not waiting:
        return []
    points = [t.params for t in waiting]
    now = {name: view.of(name).at(points) for name in view.measured}
    first = now[view.metric]
    return [
        {
            "id": trial.id,
            "mean": short_number(float(first.mean[i])),
            "std": short_number(float(first.std[i]), 3),
            "why": _why(opt, trial),
            **({} if opt.metrics.plain else _expected(opt, now, i)),
        }
        for i, trial in enumerate(waiting)
    ]


def _expected(opt: Optimizer, now: Mapping[str, Layers], i: int) -> dict[str, Any]:
    """What every metric is expected to be at a point, and how likely the bounds are kept."""
    known = {name: [short_number(float(at.mean[i])), short_number(float(at.std[i]), 3)] for name, at in now.items()}
    chance = short_number(float(next(iter(now.values())).feasibility[i]), 3)
    return {"metrics": known, "feasibility": chance if opt.metrics.constraints else None}


def _why(opt: Optimizer, trial: Trial) -> list[str]:
    """Sentences: why it was suggested, and on which observations the prediction rests."""
    said = [line for line in opt.explain(trial).sentences() if not line.startswith("expected ")]
    with suppress(UnsupportedError):  # of a surrogate that cannot leave an observation out, or of named metrics
        said += _rests_on(opt.influence_on(trial, top=3))
    return [_sentence(f"{line}.") for line in said]


def _rests_on(why: PointInfluence) -> Sequence[str]:
    parts = [f"without trial {s.trial_id} it would be {s.mean:.4g} ± {s.std:.2g}" for s in why.supports]
    return [f"what is expected here rests on these: {'; '.join(parts)}"] if parts else []


def _influence(opt: Optimizer) -> dict[str, Any] | None:
    try:
        found = opt.influence()
    except UnsupportedError:
        return None
    worth = [row for row in found.ranked() if row.worth > 0.0][:STORY]
    return {"chapters": [_chapter(found, row) for row in worth], "recommended": found.recommended}


def _chapter(found: Influence, row: InfluenceRow) -> dict[str, Any]:
    instead = row.recommended
    return {
        "id": row.trial_id,
        "value": short_number(row.value),
        "worth": short_number(row.worth, 3),
        "share": short_number(row.worth / max(other.worth for other in found), 3),
        "credit": short_number(row.credit, 3),
        "doubt": short_number(row.doubt, 3),
        "elsewhere": None if row.elsewhere is None else [[name, value] for name, value in row.elsewhere.items()],
        "instead": instead if instead not in (found.recommended, None) else None,
    }


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
