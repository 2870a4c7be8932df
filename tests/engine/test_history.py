"""The one seam: whatever happened to trials, in whatever portions it is heard of, the memory is the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import numpy as np
from hypothesis import given, settings

from ccgbo import Space, TellError, Trial
from ccgbo.engine.history import History
from ccgbo.metrics import VALUE, Metrics
from ccgbo.outcomes import outcome_of
from ccgbo.revisions import abandon, amend, annotate, drop, restore, tell

SPACE = Space({"x": (0.0, 1.0), "k": ["a", "b", True, 1]})
PARAMS: list[dict[str, Any]] = [
    {"x": 0.25, "k": "a"}, {"x": 7.5, "k": "b"}, {"x": 0.5, "k": "gone"}, {"x": 0.5, "k": True}, {"x": 0.5, "k": 1},
]  # fmt: skip
OUTCOMES = [outcome_of(v) for v in (1.0, 2.5, float("nan"), [1.0, 2.0], [3.0, 3.5, 9.0], (4.0, 0.5))]
ACTIONS = ("tell", "amend", "drop", "restore", "abandon", "annotate")
steps = st.tuples(st.integers(0, 5), st.sampled_from(ACTIONS), st.integers(0, 5), st.integers(0, 4), st.booleans())


def act(trial: Trial, action: str, outcome: int, params: int) -> Trial:
    match action:
        case "tell":
            return tell(trial, OUTCOMES[outcome], params=PARAMS[params])
        case "amend":
            return amend(trial, OUTCOMES[outcome], params=PARAMS[params])
        case "annotate":
            return annotate(trial, {"note": str(outcome)})
    return {"drop": drop, "restore": restore, "abandon": abandon}[action](trial)


def heard(trials: Iterable[Trial], order: list[int]) -> list[Trial]:
    """As a study reads them: those without an outcome first, then the others in the order of outcomes."""
    return sorted(trials, key=lambda trial: order.index(trial.id) if trial.id in order else -1)


def assert_same(one: History, other: History) -> None:
    assert one.trials == other.trials
    assert (one.outcomes, one.complete, sorted(one.pending)) == (other.outcomes, other.complete, sorted(other.pending))
    assert (one.unplaced, one.next_id) == (other.unplaced, other.next_id)
    for name in ("U", "F", "values", "noise"):
        assert np.array_equal(getattr(one.data(), name), getattr(other.data(), name), equal_nan=True), name
    for state in ("pending", "failed"):
        assert np.array_equal(one.features(state), other.features(state)), state  # type: ignore[arg-type]


@given(done=st.lists(steps, max_size=30))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_portions_of_changes_make_the_memory_that_all_at_once_makes(
    done: list[tuple[int, str, int, int, bool]],
) -> None:
    lived, portions = History(SPACE, Metrics({VALUE: "minimize"})), History(SPACE, Metrics({VALUE: "minimize"}))
    changed: set[int] = set()
    for which, action, outcome, params, now in done:
        if which >= len(lived.trials):
            changed.add(lived.add(PARAMS[params % 2 and 3], "model").id)
        else:
            try:
                lived.revise(act(lived.trials[which], action, outcome, params))
            except TellError:
                continue
            changed.add(which)
        if now:  # an optimizer elsewhere hears of what changed since it last did
            portions.merge(heard((lived.trials[i] for i in changed), lived.outcomes))
            changed.clear()
            assert_same(portions, lived)
    portions.merge(heard((lived.trials[i] for i in changed), lived.outcomes))
    at_once = History(SPACE, Metrics({VALUE: "minimize"}))
    at_once.merge(heard(lived.trials.values(), lived.outcomes))
    assert_same(portions, lived)
    assert_same(at_once, lived)


def test_what_is_no_news_leaves_the_data_as_they_are() -> None:
    history = History(SPACE, Metrics())
    trial = history.revise(tell(history.add(PARAMS[0], "model"), OUTCOMES[0]))
    data = history.data()
    history.merge([trial, replace(trial)])
    history.add(PARAMS[3], "model")
    assert history.data() is data


def test_a_point_beyond_the_bounds_is_placed_and_one_of_an_unknown_choice_is_out() -> None:
    history = History(SPACE, Metrics())
    for params in PARAMS[:3]:
        history.revise(tell(history.add(PARAMS[0], "model"), OUTCOMES[0], params=params))
    assert history.data().U[:, 0].tolist() == [0.25, 7.5]
    assert list(history.unplaced) == [2] and "got 'gone'" in history.unplaced[2]


def test_true_and_one_are_two_choices_also_in_a_revision() -> None:
    history = History(SPACE, Metrics())
    trial = history.revise(tell(history.add(PARAMS[3], "model"), OUTCOMES[0]))
    before = history.data().F[0, 1]
    history.merge([replace(trial, params=PARAMS[4])])
    assert history.data().F[0, 1] != before
