"""The lab's week in a real browser: whatever Python and the command line can do to a study, the page can."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ccgbo import Float, Int, Trial
from ccgbo.study import Study

from .browser import Browser
from .conftest import serving, wait_for
from .test_report import HOSTILE, hostile_study

pytestmark = pytest.mark.heavy

ENTER, ESCAPE, SPACE = "\ue007", "\ue00c", " "


def trial(path: Path, i: int) -> Trial:
    with Study(path) as study:
        return study.trials[i]


def press(page: Browser, name: str) -> None:
    """The button that is called so."""
    button = "[...document.querySelectorAll('button')].find(b => (b.ariaLabel || b.textContent) === arguments[0])"
    wait_for(lambda: page.js(f"(b => b && !b.disabled && b.checkVisibility())({button})", name))
    page.js(f"{button}.scrollIntoView({{block: 'center'}})", name)
    page.js(button, name).click()


def type_in(page: Browser, selector: str, text: str) -> None:
    field = page.find(selector)
    page.js("arguments[0].scrollIntoView({block: 'center'})", field)
    field.clear()
    field.send_keys(text)


def lines(page: Browser, selector: str) -> list[str]:
    found: list[str] = page.js("[...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector)
    return found


def test_three_points_are_asked_with_a_parameter_held(shown: tuple[Browser, Path]) -> None:
    page, path = shown
    type_in(page, "#points", "3")
    page.unfold("#fixed")
    type_in(page, "#fix-3", "0,25")
    page.find("#fix-2").send_keys("tanh")
    page.find("#ask").click()
    page.says(".message", "Trials 14, 15 and 16 are waiting for their values.")
    assert page.focused() == "value-14"
    with Study(path) as study:
        assert all((t.params["dropout"], t.params["kind"]) == (0.25, "tanh") for t in study.trials[14:17])
    type_in(page, "#points", "21")
    page.find("#ask").click()
    page.says(".message", "n must be a whole number from 1 to 20, got 21.")
    page.complaints()  # the browser notes that a request was refused


def test_readings_are_told_with_the_settings_really_used_a_note_and_tags(shown: tuple[Browser, Path]) -> None:
    page, path = shown
    asked = trial(path, 13)
    page.find("#value-13").send_keys("0,5 0,75")
    page.says("li[data-trial='13'] .hint", "2 readings, mean 0.625")
    press(page, "more for trial 13")
    page.unfold("li[data-trial='13'] .used")
    type_in(page, "#more-13-p-3", "0.7")
    type_in(page, "[aria-label='note on trial 13']", "ran warm")
    type_in(page, "[aria-label='tags of trial 13']", "repeat, oven 3")
    press(page, "Tell")
    page.says(".message", "Trial 13 has the value 0.625, the mean of 2 readings. It lies outside the space")
    told = trial(path, 13)
    assert told.readings == (0.5, 0.75)
    assert dict(told.params) == {**asked.params, "dropout": 0.7}
    assert told.attributes == {"note": "ran warm", "tags": ["repeat", "oven 3"]}
    page.says("#log", "tell trial 13")


def test_a_value_with_its_error_and_a_note_kept_before_it(shown: tuple[Browser, Path]) -> None:
    page, path = shown
    press(page, "more for trial 13")
    assert page.focused() == "standard error of trial 13"
    type_in(page, "[aria-label='note on trial 13']", "in oven 3")
    press(page, "keep the note on trial 13")
    page.says("li[data-trial='13'] .kept", "in oven 3")
    assert trial(path, 13).attributes == {"note": "in oven 3"}
    type_in(page, "[aria-label='standard error of trial 13']", "0.25")
    page.find("#value-13").send_keys("0.5", ENTER)
    page.says(".message", "Trial 13 has the value 0.5.")
    assert (trial(path, 13).noise_variance, trial(path, 13).attributes) == (0.0625, {"note": "in oven 3"})


def test_a_value_is_amended_after_what_changes_was_shown(shown: tuple[Browser, Path]) -> None:
    page, path = shown
    was = trial(path, 1)
    press(page, "change trial 1")
    assert lines(page, "#changes li") == ["nothing yet"]
    assert page.js("document.querySelector('dialog.editor button[type=submit]').disabled")
    type_in(page, "#amend-value", "68,25")
    page.unfold("dialog.editor .used")
    type_in(page, "#amend-1", "7")
    type_in(page, "#amend-note", "a typo")
    before = float(f"{was.value:.10g}")
    assert lines(page, "#changes li") == [
        f"value {before} → 68.25",
        f"layers {was.params['layers']} → 7",
        "note nothing → a typo",
    ]
    page.find("#amend-note").send_keys(ENTER)
    page.says(".message", "Trial 1 has the value 68.25 now.")
    wait_for(lambda: not page.js("document.querySelector('dialog.editor').open"))
    now = trial(path, 1)
    assert (now.value, now.params["layers"], now.attributes) == (68.25, 7, {"note": "a typo"})
    wait_for(lambda: "a typo" in page.text("#trials"))
    page.says("#log", "amend trial 1")
    assert "→ 68.25" in page.text("#log")
    assert page.focused() == "change trial 1"  # back where one was


def test_a_value_becomes_a_failure_and_a_failure_a_value_and_notes_go(shown: tuple[Browser, Path]) -> None:
    page, path = shown
    with Study(path) as study:
        study.annotate(2, note="warm", tags=["x"])
    page.says("#trials", "warm #x")
    press(page, "change trial 2")
    page.find("dialog.editor select").send_keys("failed")
    type_in(page, "#amend-reason", "spilt")
    page.find("#amend-note").clear()
    assert "note warm → nothing" in lines(page, "#changes li")
    press(page, "Amend trial 2")
    page.says(".message", "Trial 2 is failed now.")
    assert (trial(path, 2).state, trial(path, 2).error, trial(path, 2).attributes) == (
        "failed",
        "spilt",
        {"tags": ["x"]},
    )
    press(page, "change trial 5")
    page.find("dialog.editor select").send_keys("a value")
    assert "The value must be a number" in page.text("#changes")
    type_in(page, "#amend-value", "0.5")
    press(page, "Amend trial 5")
    page.says(".message", "Trial 5 has the value 0.5 now.")
    assert trial(path, 5).value == 0.5


def test_a_trial_is_dropped_and_restored_with_the_keyboard_alone(shown: tuple[Browser, Path]) -> None:
    page, path = shown
    page.js("document.querySelector('#trials th[data-key=id] button').focus()")
    page.tab_to("change trial 0")
    page.press(ENTER)
    page.tab_to("drop trial 0")
    page.press(SPACE)
    assert page.focused() == "why trial 0 is dropped"
    page.press(ESCAPE)  # takes back the question, not the dialog
    assert page.focused() == "drop trial 0"
    page.press(SPACE, *"old batch", ENTER)
    page.says(".message", "Trial 0 is dropped.")
    assert trial(path, 0).dropped
    page.says("#trials tbody tr:first-child .state", "dropped")
    page.says("#log", "old batch")
    press(page, "change trial 0")
    press(page, "restore trial 0")
    press(page, "Yes, restore trial 0")
    page.says(".message", "Trial 0 is back in the model.")
    assert not trial(path, 0).dropped
    page.says("#trials tbody tr:first-child .state", "complete")


def test_a_pending_trial_is_given_back_abandoned_and_brought_back(shown: tuple[Browser, Path]) -> None:
    page, path = shown
    press(page, "more for trial 13")
    press(page, "give back: trial 13")
    press(page, "Yes, give trial 13 back")
    page.says(".message", "Trial 13 was given back: the next to ask gets it.")
    page.find("#ask").click()
    page.says(".message", "Trial 13 is waiting for its value.")
    press(page, "abandon trial 13")
    type_in(page, "[aria-label='why trial 13 is abandoned']", "the bottle broke")
    press(page, "Yes, abandon trial 13")
    page.says(".message", "Trial 13 is abandoned.")
    assert trial(path, 13).state == "abandoned"
    page.says("#log", "the bottle broke")
    wait_for(lambda: page.js("document.querySelectorAll('#pending li').length") == 0)
    press(page, "change trial 13")
    page.find("dialog.editor select").send_keys("a value")
    type_in(page, "#amend-value", "0.5")
    assert lines(page, "#changes li") == ["value abandoned → 0.5"]
    press(page, "Amend trial 13")
    page.says(".message", "Trial 13 has the value 0.5 now.")


def test_a_pending_trial_can_be_told_from_the_table(shown: tuple[Browser, Path]) -> None:
    page, path = shown
    press(page, "change trial 13")
    page.find("#dialog-value-13").send_keys("nothing", ENTER)
    page.says("dialog.editor .message", "must be a number")
    type_in(page, "#dialog-value-13", "0.5")
    page.find("#dialog-value-13").send_keys(ENTER)
    page.says(".by-hand .message", "Trial 13 has the value 0.5.")
    wait_for(lambda: not page.js("document.querySelector('dialog.editor').open"))
    assert trial(path, 13).value == 0.5


CONDITIONAL: dict[str, Any] = {
    "temperature": Float(20.0, 100.0),
    "catalyst": ["A", "B"],
    "dose": Float(0.01, 1.0, log=True, active_if={"catalyst": ["B"]}),
    "steps": Int(1, 8),
}


def test_a_point_is_put_in_line_from_the_best_one_with_the_parameters_that_are_active(
    page: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "lab.db"
    best = {"temperature": 90.0, "catalyst": "A", "steps": 2}
    with Study(path, CONDITIONAL, seed=0) as study:
        study.tell(best, 1.0)
    with serving(path) as client:
        page.resize(1400)
        page.open(client.address)
        page.says("#live", "live")
        page.says(".tiles", "1 complete")
        page.unfold("#enqueue")
        values = "[0, 1, 2, 3].map(j => document.querySelector(`#q-${j}`).value)"
        assert page.js(values) == ["90", "0", "", "2"]
        assert not page.js("document.querySelector('#q-2').checkVisibility()")
        page.find("#q-1").send_keys("B")
        wait_for(lambda: page.js("document.querySelector('#q-2').checkVisibility()"))
        type_in(page, "#q-note", "worked in the old reactor")
        press(page, "Put in line")
        page.says(".message", "dose")  # is missing, the study says
        type_in(page, "#q-2", "0.5")
        press(page, "Put in line")
        page.says(".message", "Trial 1 is in line: the next to ask gets it.")
        queued = trial(path, 1)
        assert dict(queued.params) == best | {"catalyst": "B", "dose": 0.5}
        assert (queued.origin, queued.attributes) == ("enqueued", {"note": "worked in the old reactor"})
        page.find("#ask").click()
        page.says(".message", "Trial 1 is waiting for its value.")
        page.open("about:blank")
    page.complaints()


def test_a_bound_is_changed_after_it_was_checked(shown: tuple[Browser, Path]) -> None:
    page, path = shown
    page.unfold("#space")
    assert page.js("document.querySelector('#space-form button.primary').disabled")
    type_in(page, "#space-3-high", "0,8")
    type_in(page, "#space-2", "relu\ntanh\ngelu\nsilu")
    press(page, "Check")
    page.says("#space-said", "dropout: widened from [0.0, 0.6] to [0.0, 0.8].")
    type_in(page, "#space-3-high", "0.9")  # what is to be done is what was looked at
    assert page.js("document.querySelector('#space-form button.primary').disabled")
    press(page, "Check")
    page.says("#space-said", "to [0.0, 0.9]")
    with Study(path) as study:
        assert study.space["dropout"].high == 0.6  # type: ignore[union-attr]
    press(page, "Change the space")
    page.says(".message", "The space is changed. kind:")
    with Study(path) as study:
        assert study.space["dropout"].high == 0.9  # type: ignore[union-attr]
        assert list(study.space["kind"].choices)[-1] == "silu"  # type: ignore[union-attr]
    page.says("#log", "dropout: widened from [0.0, 0.6] to [0.0, 0.9].")
    page.says(".tiles", "12")
    page.says("#fixed", "0 to 0.9")  # every form knows it


def test_a_parameter_comes_and_one_goes_by_toml(shown: tuple[Browser, Path]) -> None:
    page, path = shown
    page.unfold("#space")
    page.find("#space-form select").send_keys("the whole")
    wait_for(lambda: page.js("document.querySelector('#space-toml').value"))
    toml = page.js("document.querySelector('#space-toml').value")
    gone = toml[: toml.index('[parameters."dropout"]')] + "[parameters]\nspeed = [1, 9]\n"
    page.js(
        "document.querySelector('#space-toml').value = arguments[0]",
        gone.replace("[parameters]\nspeed = [1, 9]", '[parameters.speed]\ntype = "int"\nlow = 1\nhigh = 9'),
    )
    press(page, "Check")
    page.says("#space-said", "Say what becomes of dropout, speed, and check again.")
    page.find("[aria-label='what becomes of dropout']").send_keys("what it did")
    type_in(page, "[aria-label='value of speed in the trials so far']", "3")
    press(page, "Check")
    page.says("#space-said", "speed: added; trials so far get 3.")
    press(page, "Change the space")
    page.says(".message", "The space is changed.")
    with Study(path) as study:
        assert list(study.space) == ["rate", "layers", "kind", "speed"]
        assert {t.params["speed"] for t in study.trials} == {3}
    wait_for(lambda: "speed" in lines(page, "#trials thead button"))
    page.says("ol.story", "Trial")  # the model is of the new space now
    wait_for(lambda: page.js("document.querySelectorAll('.small-plots .plot').length") == 4)


def test_a_spreadsheet_is_looked_at_imported_and_downloaded(shown: tuple[Browser, Path], tmp_path: Path) -> None:
    page, path = shown
    was = trial(path, 0).value
    back = tmp_path / "back.csv"
    back.write_bytes("id;value\n0;9,5\n13;0,5\n".encode("utf-8-sig"))
    page.unfold("#sheet")
    page.find("#sheet-file").send_keys(str(back))
    page.says("#sheet-summary", "would tell 1 pending trial")
    assert lines(page, "#sheet-lines li") == [f"row 1, trial 0: value {was} → 9.5"]
    assert trial(path, 13).state == "pending"
    page.find("#sheet-amend").click()
    page.says("#sheet-summary", "amend 1 changed")
    press(page, "Import")
    page.says(".message", "Imported back.csv: told 1 pending trial")
    assert (trial(path, 0).value, trial(path, 13).value) == (9.5, 0.5)
    page.says("#log", "amend trial 0")
    page.find("#sheet-file").send_keys(str(back))
    page.says("#sheet-summary", "changes nothing")
    assert page.js("[...document.querySelectorAll('#sheet button.primary')].every(b => b.disabled)")
    wrong = tmp_path / "wrong.csv"
    wrong.write_bytes(b"id,value\n99,1\n")
    page.find("#sheet-file").send_keys(str(wrong))
    page.says("#sheet-lines", "Nothing can be imported while rows are refused.")
    folder = tmp_path / "downloads"
    page.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})
    for title in ("CSV with semicolons and decimal commas", "Excel"):
        press(page, title)
    wait_for(
        lambda: {"trials.csv", "trials.xlsx"} <= ({f.name for f in folder.iterdir()} if folder.exists() else set())
    )
    assert (folder / "trials.csv").read_text(encoding="utf-8-sig").startswith("id;")


def test_hostile_notes_tags_and_names_do_not_run_in_any_form(page: Browser, tmp_path: Path) -> None:
    with hostile_study(tmp_path / "h.db") as study:
        study.annotate(0, note=HOSTILE[0], tags=[HOSTILE[1]])
        study.amend(1, 0.5, note=HOSTILE[2])
        study.drop(2, note=HOSTILE[3])
        study.ask()
        study.annotate(13, note=HOSTILE[1], tags=[HOSTILE[2]])
    with serving(tmp_path / "h.db") as client:
        page.driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})
        try:
            page.open(client.address)
            page.says("#live", "live")
            page.says("#pending", HOSTILE[1])
            page.says("#log", HOSTILE[3])
            for name in ("#fixed", "#enqueue", "#more", "#space", "#metrics", "#sheet"):
                page.unfold(name)
            press(page, "more for trial 13")
            page.unfold("li[data-trial='13'] .used")
            press(page, "change trial 0")
            assert page.js("document.querySelector('#amend-note').value") == HOSTILE[0]
            page.unfold("dialog.editor .used")
            type_in(page, "#amend-note", HOSTILE[2].strip())
            type_in(page, "#amend-0", "0.25")
            assert HOSTILE[0] in page.text("#changes")
            press(page, "Amend trial 0")
            page.says(".message", "Trial 0 has")
            type_in(page, "#space-0-high", "0.5")
            press(page, "Check")
            page.says("#space-said", HOSTILE[0])
            back = tmp_path / "<img src=x onerror=window.pwned=1>.csv"
            back.write_text("id,value,note\n13,0.5,<img src=x onerror=window.pwned=1>\n0,9,\n", encoding="utf-8")
            page.find("#sheet-file").send_keys(str(back))
            press(page, "Import")
            page.says(".message", "Imported <img")
            assert page.js("window.pwned") is None
            foreign = "main img, main iframe, svg[onload], a[href^=javascript], dialog img"
            assert page.js("document.querySelectorAll(arguments[0]).length", foreign) == 0
        finally:
            page.driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": False})
            page.open("about:blank")
    page.complaints()


@pytest.mark.parametrize("width", [400, 1400])
def test_nothing_is_cut_off_with_everything_open(page: Browser, width: int, tmp_path: Path) -> None:
    path = tmp_path / "lab.db"
    with Study(
        path, CONDITIONAL | {"a parameter with quite a long name, as people write them": (0.0, 1.0)}, seed=0
    ) as study:
        for i in range(4):
            study.tell(study.ask(), float(i))
        study.amend(0, 6.5, note="a note that is long enough to need more than a line on the screen of a phone")
        study.ask(2)
    with serving(path) as client:
        page.complaints()
        page.resize(width)
        page.open(client.address)
        page.says("#live", "live")
        page.find("[aria-label='more for trial 4']")
        for name in ("#fixed", "#enqueue", "#more", "#space", "#metrics", "#sheet"):
            page.unfold(name)
        press(page, "more for trial 4")
        page.unfold("li[data-trial='4'] .used")
        press(page, "abandon trial 4")
        type_in(page, "#space-0-high", "120")
        press(page, "Check")
        page.says("#space-said", "temperature: widened")
        page.whole_page(width)
        folder = os.environ.get("CCGBO_SCREENSHOTS")
        page.whole_page(width, Path(folder) / f"by_hand_{width}.png" if folder else None)
        assert page.layout_faults() == []
        page.resize(width, 900)
        press(page, "change trial 0")
        page.unfold("dialog.editor .used")
        wide = "(e => [e.scrollWidth <= e.clientWidth, e.getBoundingClientRect().right <= innerWidth])"
        assert page.js(f"{wide}(document.querySelector('dialog.editor'))") == [True, True]
        named = (
            "[...document.querySelectorAll('.by-hand input, .by-hand select, .by-hand textarea, dialog.editor input')]"
        )
        nameless = f"{named}.filter(e => !e.ariaLabel && !(e.labels && e.labels.length)).map(e => e.outerHTML)"
        assert page.js(nameless) == []
        page.press(ESCAPE)
        assert page.complaints() == []
        page.open("about:blank")
