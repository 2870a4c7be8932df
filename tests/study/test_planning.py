"""What the rows of a table mean for the trials of a study: pure, without a file."""

from __future__ import annotations

import datetime
from dataclasses import replace
from typing import Any

import pytest

import ccgbo
from ccgbo.records import Trial
from ccgbo.study.planning import Plan, make_plan
from ccgbo.study.table_rows import read_rows

SPACE = ccgbo.Space(
    {
        "t": (20.0, 90.0),
        "n": ccgbo.Int(1, 10**9),
        "solvent": ["water", "NA", None],
        "stirred": ccgbo.Bool(),
        "speed": ccgbo.Float(1.0, 9.0, active_if={"stirred": True}),
    }
)
POINT = {"t": 50.0, "n": 3, "solvent": "water", "stirred": True, "speed": 2.5}
PENDING = Trial(id=0, params=POINT)
TOLD = replace(PENDING, id=1, state="complete", value=0.123456789)
FAILED = replace(PENDING, id=2, state="failed", error="boiled over")
GIVEN_UP = replace(PENDING, id=3, state="abandoned")
DROPPED = replace(TOLD, id=4, dropped=True, attributes={"note": "spilled", "tags": ["bad", "again"]})
READ = replace(PENDING, id=5, state="complete", value=2.0, readings=(1.0, 2.0, 3.0))
NOISY = replace(PENDING, id=6, state="complete", value=2.0, noise_variance=0.25)
TRIALS = {t.id: t for t in (PENDING, TOLD, FAILED, GIVEN_UP, DROPPED, READ, NOISY)}


def plan(*rows: dict[str, Any], **choices: Any) -> Plan:
    asked_at = choices.pop("asked_at", {})
    form = {"value": "value", "as_text": True, "guarded": True} | choices
    read, refused = read_rows(rows, SPACE, **form)
    return make_plan(read, TRIALS, SPACE, asked_at=asked_at, refused=refused)


def after(**row: Any) -> Trial:
    """The one trial that a row tells or changes."""
    made = plan(row)
    assert not made.refused, made.details()
    (change,) = (*made.told, *made.changed)
    return change.after


def reason(**row: Any) -> str:
    made = plan(row)
    (refusal,) = made.refused
    assert not (made.told or made.changed or made.new or made.unchanged)
    return refusal.reason


# -- outcomes


def test_a_pending_trial_is_told_its_value_its_failure_or_that_it_is_given_up() -> None:
    assert after(id="0", value="0.5") == replace(PENDING, state="complete", value=0.5)
    assert after(id="0", value="0.5", noise_variance="0.1").noise_variance == 0.1
    assert after(id="0", readings="[1.0, 2.0]") == replace(PENDING, state="complete", value=1.5, readings=(1.0, 2.0))
    assert after(id="0", readings="1,5; 2,5", value="2").readings == (1.5, 2.5)
    assert after(id="0", state="Failed") == replace(PENDING, state="failed")
    assert after(id="0", value="", error="'=boom") == replace(PENDING, state="failed", error="=boom")
    assert after(id="0", state="abandoned") == GIVEN_UP.with_outcome(id=0)
    assert len(plan({"id": "0", "value": "0.5"}).told) == 1
    assert str(plan({"id": 0, "state": "failed"})).startswith("told 1 pending trial (1 failed), ")
    told = after(id="0", value="0.5", dropped="TRUE", note="odd", tags="a; b", attributes_operator="kim")
    assert told.dropped
    assert told.attributes == {"note": "odd", "tags": ["a", "b"], "operator": "kim"}


@pytest.mark.parametrize("nothing", ["", " ", "NaN", "nan", "#N/A", "N/A", "NA", "#NUM!", "NULL", None, float("nan")])
def test_a_cell_that_says_nothing_leaves_a_trial_pending(nothing: Any) -> None:
    assert plan({"id": "0", "t": nothing, "value": nothing, "noise_variance": "1"}).open == (1,)


def test_rows_that_say_what_is_known_change_nothing() -> None:
    rows: list[dict[str, Any]] = [
        {"id": "1", "value": "0.123457", "state": "pending", "t": "50", "solvent": "water"},
        {"id": "2", "state": "failed", "error": "boiled over"},
        {"id": "3", "state": "abandoned", "value": ""},
        {"id": "4", "dropped": "TRUE", "note": "spilled", "tags": "bad, again", "value": "0.123456789"},
        {"id": "5", "readings": "[1, 2, 3]", "value": "2.0"},
        {"id": "6", "noise_variance": "0,25", "value": "2"},
        {"id": "1", "value": ""},
    ]
    assert plan(*rows).unchanged == (1, 2, 3, 4, 5, 6, 7)


def test_what_differs_from_what_was_told_is_a_change() -> None:
    assert after(id="1", value="0.9") == replace(TOLD, value=0.9)
    assert after(id="1", value="0.123456789", state="failed") == replace(TOLD, value=None, state="failed")
    assert after(id="2", value="0.9", error="boiled over", state="failed") == replace(TOLD, id=2, value=0.9)
    assert after(id="2", error="it was cold", value="").error == "it was cold"
    assert after(id="3", value="0.9") == replace(TOLD, id=3, value=0.9)
    assert after(id="4", dropped="FALSE", value="") == replace(DROPPED, dropped=False)
    assert after(id="4", note="not spilled", value="").attributes == {"note": "not spilled", "tags": ["bad", "again"]}
    assert after(id="5", value="2.5") == replace(READ, value=2.5, readings=())
    assert after(id="5", readings="[1, 2, 4.5]", value="2.0").value == 2.5
    assert after(id="6", value="3") == replace(NOISY, value=3.0)
    assert after(id="6", noise_variance="1", value="2") == replace(NOISY, noise_variance=1.0)
    assert after(id="0", note="oven 3", value="") == replace(PENDING, attributes={"note": "oven 3"})
    assert [str(c) for c in plan({"id": 1, "value": "9", "t": "51", "note": "x"}).changed] == [
        "row 1, trial 1: t 50.0 -> 51.0, value 0.123456789 -> 9.0, note x"
    ]


def test_rows_that_cannot_be_meant_are_refused_with_the_reason() -> None:
    assert "either a value or a failure, but value is 9.0 and state is 'failed'" in reason(
        id="0", value="9", state="failed"
    )
    assert "but value is 9.0 and error is 'no'" in reason(id="0", value="9", error="no")
    assert "state is 'abandoned'" in reason(id="0", value="9", state="abandoned")
    assert "trial 1 is complete" in reason(id="1", state="abandoned", value="")
    assert "a remark is a note" in reason(id="1", value="", error="wet")
    assert "dropped must be empty for a trial that is pending" in reason(id="0", dropped="TRUE", value="")
    assert "dropped must be TRUE or FALSE, got 'maybe'" in reason(id="1", dropped="maybe", value="")
    assert "value must be the mean of the readings, 1.5, or empty, got 9.0" in reason(
        id="0", readings="[1, 2]", value="9"
    )
    assert "noise_variance must be None where value has 2 readings" in reason(
        id="0", readings="[1, 2]", value="", noise_variance="1"
    )
    assert "id must be a whole number, got '1.5'" in reason(id="1.5", value="9")
    assert "the params, or the id of a trial, got id 99" in reason(id="99", value="9")
    assert "value must be a number, got 'good'" in reason(id="0", value="good")
    assert "tags must be a list" in reason(id="0", value="9", attributes='{"tags": 3}')


def test_two_rows_of_one_trial_must_agree() -> None:
    row = {"id": "0", "value": "1"}
    assert (len(plan(row, row).told), plan(row, row).unchanged) == (1, (2,))
    assert plan(row, {"id": "0", "value": ""}).open == (2,)
    assert [r.row for r in plan(row, {"id": "0", "value": "2"}).refused] == [2]
    assert [r.row for r in plan({"id": "1", "value": "0.123456789"}, {"id": "1", "value": "2"}).refused] == [2]


# -- settings


def test_settings_that_differ_were_really_used() -> None:
    assert after(id="0", t="51.2", value="1").params == POINT | {"t": 51.2}
    assert after(id="0", t="99.5", value="1").params["t"] == 99.5  # beyond the bounds
    assert after(id="0", n="4.0", value="1").params == POINT | {"n": 4}
    assert after(id="0", stirred="FALSE", speed="", value="1").params == {
        "t": 50.0, "n": 3, "solvent": "water", "stirred": False,
    }  # fmt: skip
    assert after(id="0", solvent="NA", value="1").params == POINT | {"solvent": "NA"}
    assert after(id="0", t="50", solvent="", value="1").params == POINT | {"solvent": None}
    assert after(id="0", t="50", solvent="#N/A", value="1").params == POINT | {"solvent": None}
    assert after(id="0", solvent="", t="", value="1").params == POINT  # no settings at all
    assert plan({"id": "0", "t": "51", "value": "1"}).told[0].moved


def test_settings_that_cannot_be_are_refused_by_name() -> None:
    assert "solvent must be one of" in reason(id="0", solvent="oil", value="1")
    assert "'speed' is inactive" in reason(id="0", stirred="FALSE", speed="2", value="1")
    assert "t must be a number, got '2-May'" in reason(id="0", t="2-May", value="1")
    assert "the date 2026-05-02 00:00:00" in reason(id="0", t=datetime.datetime(2026, 5, 2), value="1")
    assert "value must be a number, but the spreadsheet has made the date" in reason(
        id="0", value=datetime.date(2026, 5, 2)
    )


def test_a_decimal_mark_that_can_be_read_in_two_ways_is_refused_by_its_cell() -> None:
    made = plan({"id": "0", "value": "1.234"}, {"id": "1", "value": "0,123456789"})
    assert made.details() == [
        "row 1: value must be a number that can be read in one way only: 1234 or 1.234, got '1.234'."
    ]
    assert "value must be a number without separators of thousands, got '1.234,5'" in reason(id="0", value="1.234,5")


def test_a_large_whole_number_is_not_taken_for_its_neighbour() -> None:
    trial = replace(PENDING, params=POINT | {"n": 10**9 - 1})
    row = {"id": 0, "n": "999999998", "value": "1"}
    rows, _ = read_rows([row], SPACE, value="value", as_text=True)
    assert make_plan(rows, {0: trial}, SPACE).told[0].after.params["n"] == 999999998


# -- rows of no trial

NEW = {"t": "60", "n": "5.0", "solvent": "NA", "stirred": "FALSE", "speed": "", "value": "7"}


def test_rows_without_an_id_are_new_and_told_once() -> None:
    made = plan(NEW, NEW | {"value": "8", "note": "x", "dropped": "TRUE"}, NEW | {"value": "", "state": "failed"})
    point = {"t": 60.0, "n": 5, "solvent": "NA", "stirred": False}
    assert [(t.params, t.state, t.value, t.dropped, t.origin) for t in made.new] == [
        (point, "complete", 7.0, False, "external"),
        (point, "complete", 8.0, True, "external"),
        (point, "failed", None, False, "external"),
    ]
    assert made.new[1].attributes == {"note": "x"}
    assert plan(NEW | {"value": ""}, NEW | {"value": "", "state": "abandoned"}).open == (1, 2)
    there = {i: replace(t, id=i) for i, t in enumerate(made.new)}
    rows, _ = read_rows([NEW, NEW], SPACE, value="value", as_text=True)
    again = make_plan(rows, there, SPACE)
    assert (again.unchanged, len(again.new)) == ((1,), 1)  # one of two replicates was there
    assert len(make_plan(rows, there, SPACE, allow_duplicates=True).new) == 2


def test_new_rows_outside_the_space_are_refused() -> None:
    made = plan(NEW | {"t": "99"}, NEW | {"solvent": "oil"}, NEW | {"n": "5.5"}, NEW | {"speed": "3"})
    assert [r.row for r in made.refused] == [1, 2, 3, 4]
    assert made.refused[0].reason.startswith("t must be in [20.0, 90.0], got 99.0")


def test_a_row_asked_at_another_time_is_of_another_study() -> None:
    row = {"id": "0", "value": "1", "asked_at": "2026-11-16T15:05:42.042+00:00", **NEW}
    moment = datetime.datetime.fromisoformat(row["asked_at"]).timestamp()
    assert len(plan(row, asked_at={0: moment + 0.0004}).told) == 1
    assert len(plan(row | {"asked_at": "2026-11-16T15:05:42+00:00"}, asked_at={0: moment}).told) == 1
    assert len(plan(row | {"asked_at": "16.11.2026 15:05"}, asked_at={0: moment + 9}).told) == 1  # nobody knows
    assert len(plan(row, asked_at={0: moment + 0.01}).new) == 1
    assert len(plan(row, by_id=False).new) == 1


def test_a_time_on_the_full_second_is_as_exact_as_the_others_of_its_table() -> None:
    full = datetime.datetime.fromisoformat("2026-11-16T15:05:42+00:00").timestamp()
    rows = [
        {"id": "0", "value": "1", "asked_at": "2026-11-16T15:05:42.000+00:00", **NEW},
        {"id": "3", "value": "2", "asked_at": "2026-11-16T15:05:42.042+00:00", **NEW},
    ]
    assert len(plan(*rows, asked_at={0: full + 0.3, 3: full + 0.342}).new) == 2  # copies in another study
    cut = [row | {"asked_at": "2026-11-16T15:05:42+00:00"} for row in rows]
    assert not plan(*cut, asked_at={0: full + 0.3, 3: full + 0.342}).new


def test_empty_rows_are_no_rows_but_count() -> None:
    made = plan({"id": "", "value": " "}, {"id": None, "value": None}, {"id": "0", "value": "x"})
    assert [r.row for r in made.refused] == [3]
    assert not made.open


def test_a_parameter_may_have_the_name_of_a_column() -> None:
    space = ccgbo.Space({"id": (0, 9), "note": ["a", "b"], "x": (0.0, 1.0)})
    trial = Trial(id=3, params={"id": 3, "note": "a", "x": 0.5})
    plain, _ = read_rows([{"id": "3", "note": "a", "x": "0.5", "value": "1"}], space, value="value", as_text=True)
    assert (plain[0].id, plain[0].attributes, plain[0].cells["note"]) == (None, {}, "a")
    columns = {"id": "3", "params_id": "3", "note": "hm", "params_note": "a", "x": "0.5", "value": "1"}
    rows, _ = read_rows([columns], space, value="value", as_text=True)
    (change,) = make_plan(rows, {3: trial}, space).told
    assert change.after == replace(trial, state="complete", value=1.0, attributes={"note": "hm"})
