"""What is done to a trial by hand, and the event that says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ccgbo import TellError, Trial
from ccgbo.explanation import Explanation
from ccgbo.metrics import Measurement
from ccgbo.outcomes import outcome_of
from ccgbo.records import Event
from ccgbo.revisions import abandon, amend, annotate, attributes_of, drop, event, event_of, restore, tell, who

WHY = Explanation(reason="initial design")
PENDING = Trial(id=17, params={"x": 73.5, "kind": "a"}, origin="design", explanation=WHY)
COMPLETE = replace(PENDING, **outcome_of([9.0, 9.5]))
MEASURED = replace(PENDING, state="complete", metrics={"cost": Measurement(value=2.5), "ph": Measurement(value=7.0)})
FAILED = replace(PENDING, **outcome_of(None, failed=True, error="broke"))
ABANDONED = replace(PENDING, state="abandoned")


def test_amending_replaces_the_whole_outcome_and_keeps_the_rest() -> None:
    amended = amend(COMPLETE, outcome_of(0.93), params={"x": 71.2, "kind": "a"}, attributes={"note": "typo"})
    assert (amended.value, amended.readings, amended.params["x"]) == (0.93, (), 71.2)
    assert (amended.id, amended.origin, amended.explanation) == (17, "design", WHY)
    assert amended.attributes == {"note": "typo"}


def test_a_failure_becomes_a_value_and_back_and_what_was_abandoned_comes_back() -> None:
    assert amend(FAILED, outcome_of(1.0)) == replace(PENDING, state="complete", value=1.0)
    assert amend(COMPLETE, outcome_of(None, failed=True, error="broke")) == FAILED
    assert amend(ABANDONED, outcome_of(1.0)).state == "complete"


def test_a_dropped_trial_that_is_amended_stays_dropped() -> None:
    assert amend(drop(COMPLETE), outcome_of(1.0)).dropped


def test_dropping_and_restoring_give_the_trial_back() -> None:
    for trial in (COMPLETE, FAILED):
        assert not drop(trial).in_model
        assert restore(drop(trial)) == trial


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: amend(PENDING, outcome_of(1.0)), "trial 17 is pending and has no outcome to amend: tell it"),
        (lambda: drop(PENDING), "trial must be complete or failed to be dropped, but trial 17 is pending"),
        (lambda: drop(ABANDONED), "trial must be complete or failed to be dropped, but trial 17 is abandoned"),
        (lambda: drop(drop(COMPLETE)), "trial 17 is dropped already: restore"),
        (lambda: restore(COMPLETE), "trial must be dropped to be restored, but trial 17 is complete"),
        (lambda: abandon(COMPLETE), "trial must be pending to be abandoned, but trial 17 is complete"),
        (lambda: abandon(ABANDONED), "trial 17 is abandoned already"),
        (lambda: tell(ABANDONED, outcome_of(1.0)), "trial 17 was abandoned: amend brings it back"),
        (lambda: tell(COMPLETE, outcome_of(1.0)), r"trial 17 is already complete \(value 9.25\): amend corrects it"),
        (lambda: tell(FAILED, outcome_of(1.0)), "trial 17 is already failed: amend corrects it"),
        (lambda: tell(MEASURED, outcome_of(1.0)), r"already complete \(cost 2.5, ph 7.0\): amend corrects it"),
        (lambda: annotate(PENDING, {"note": 3}), "note must be a text, got 3"),
        (lambda: annotate(PENDING, {"tags": "one"}), "tags must be a list of texts, got 'one'"),
        (lambda: annotate(PENDING, {"tags": ["a", 1]}), r"tags must be a list of texts, got \['a', 1\]"),
        (lambda: annotate(PENDING, {"when": object()}), "attribute 'when' must be plain data as JSON has it"),
        (lambda: annotate(PENDING, {"ph": float("nan")}), "attribute 'ph' must be plain data as JSON has it, got nan"),
        (lambda: annotate(PENDING, {"": 1}), "the name of an attribute must be a non-empty text, got ''"),
        (lambda: annotate(PENDING, {3: 1}), "the name of an attribute must be a non-empty text, got 3"),  # type: ignore[dict-item]
        (lambda: attributes_of(attributes=[1]), r"attributes must be None or a mapping .* got \[1\]"),
        (lambda: attributes_of("a", None, {"note": "b"}), "note must be given once"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_reason(act: Callable[[], Any], message: str) -> None:
    with pytest.raises(TellError, match=message):
        act()


def test_attributes_are_copied_merged_and_removed() -> None:
    probe = {"ph": [7.0, 7.1]}
    trial = annotate(annotate(PENDING, {"probe": probe, "note": "a"}), {"note": None, "tags": ("x", "y")})
    probe["ph"].append(0.0)
    assert trial.attributes == {"probe": {"ph": [7.0, 7.1]}, "tags": ["x", "y"]}
    assert annotate(trial, {"nothing": None}) == trial
    assert attributes_of("a", ["x"], {"operator": "kim"}) == {"note": "a", "tags": ["x"], "operator": "kim"}


def test_an_event_has_only_what_differs_and_reads_as_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CCGBO_USER", "kim@bench-3")
    amended = amend(COMPLETE, outcome_of(0.93), params={"x": 71.2, "kind": "a"})
    said = event("amend", COMPLETE, amended, note="mistyped\nit")
    assert said.before == {"params": {"x": 73.5, "kind": "a"}, "value": 9.25, "readings": [9.0, 9.5]}
    assert said.after == {"params": {"x": 71.2, "kind": "a"}, "value": 0.93, "readings": None}
    assert str(replace(said, at=0.0)) == (
        "1970-01-01 00:00:00  kim@bench-3  amend trial 17: x 73.5 -> 71.2, value 9.25 -> 0.93, "
        "readings 9.0, 9.5 -> none (mistyped\\nit)"
    )


def test_an_event_of_a_new_trial_says_what_it_has_and_of_the_space_what_it_is_told() -> None:
    assert event("enqueue", None, PENDING).before is None
    assert event("enqueue", None, PENDING).after == {
        "params": {"x": 73.5, "kind": "a"}, "state": "pending", "origin": "design",
    }  # fmt: skip
    said = str(event_of("change space", before={"x": "0 to 1"}, after={"x": "0 to 2"}))
    assert said.endswith("change space: x 0 to 1 -> 0 to 2")
    assert (event("enqueue", None, replace(PENDING, value=0.0)).after or {})["value"] == 0.0
    assert str(event("drop", COMPLETE, drop(COMPLETE))).endswith("drop trial 17: dropped yes")
    assert str(event("restore", drop(COMPLETE), COMPLETE)).endswith("restore trial 17: dropped yes -> no")


def test_an_event_survives_json() -> None:
    said = event("amend", COMPLETE, amend(COMPLETE, outcome_of(0.93)), note="typo")
    assert Event.from_dict(json.loads(json.dumps(said.to_dict()))) == said
    assert said.who == who() and "@" in who()


def test_a_trial_with_everything_survives_json() -> None:
    trial = drop(annotate(COMPLETE, {"note": "a", "tags": ["x"], "probe": {"ph": 7.0}}))
    assert Trial.from_dict(json.loads(json.dumps(trial.to_dict()))) == trial
