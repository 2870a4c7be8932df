"""The dashboard in a real browser, in front of the real command and a real study.

``CCGBO_SCREENSHOTS=folder`` keeps the pictures of the layout tests.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ccgbo.storage import delete_study
from ccgbo.study import Study
from ccgbo.viz.dashboard.serve import doorway

from .browser import Browser
from .conftest import MIXED, run, score, serving, wait_for
from .test_dashboard import start, stop
from .test_report import BOLD, HOSTILE, LABELS, hostile_study

pytestmark = pytest.mark.heavy

TAB, ENTER, SPACE, ESCAPE = "\ue004", "\ue007", " ", "\ue00c"


def completed(page: Browser) -> int:
    return int(page.text(".tile:nth-child(3) .more").split()[0])


def test_the_page_follows_a_run_while_trials_arrive(page: Browser, study_path: Path) -> None:
    process, address, _ = start(str(study_path))
    try:
        page.complaints()
        page.open(address)
        page.says(".tiles", "12")
        follow_a_run(page, study_path)
        assert page.complaints() == []
    finally:
        page.open("about:blank")
        stop(process)


def follow_a_run(page: Browser, path: Path) -> None:
    page.js("window.mark = 'not reloaded'")
    before = completed(page)
    with Study(path) as study:
        for n in range(1, 7):
            trial = study.ask()
            study.tell(trial, 2.0 + score(trial.params))
            wait_for(lambda n=n: completed(page) == before + n)  # each is shown before the next comes
    page.says(".tile:first-child", "2.")  # the best value
    page.says("ol.story", "Trial 1")
    wait_for(lambda: page.js("document.querySelector('.plot').data[1].x.length") == 18)
    assert page.js("window.mark") == "not reloaded"


def test_a_trial_told_in_the_form_is_in_the_file(shown: tuple[Browser, Path]) -> None:
    page, path = shown
    page.find("#value-13").send_keys("not a number", ENTER)
    page.says(".message", "must be a number")
    page.js("document.querySelector('#value-13').value = ''")
    page.find("#value-13").send_keys("0.8125", ENTER)
    page.says(".message", "Trial 13 has the value 0.8125")
    with Study(path) as study:
        assert study.trials[13].value == 0.8125
    wait_for(lambda: page.js("document.querySelectorAll('#pending li').length") == 0)
    assert completed(page) == 13


def test_a_point_from_elsewhere_is_checked_by_the_study_and_told(shown: tuple[Browser, Path]) -> None:
    page, path = shown
    page.unfold("#more")
    for name, text in (("#p-0", "0.001"), ("#p-1", "99"), ("#p-3", "0.25"), ("#p-value", "0.5")):
        page.find(name).send_keys(text)
    page.find("#p-2").send_keys("tanh")
    page.find("#p-value").send_keys(ENTER)
    page.says(".message", "layers must be in [1, 8], got 99")
    refused = page.complaints()  # the browser notes that a request was refused
    assert len(refused) == 1
    assert "400" in refused[0]
    page.js("document.querySelector('#p-1').value = '7'")
    page.find("#p-value").send_keys(ENTER)
    page.says(".message", "Told as trial 14")
    with Study(path) as study:
        assert dict(study.trials[14].params) == {"rate": 0.001, "layers": 7, "kind": "tanh", "dropout": 0.25}


def test_what_is_being_typed_survives_an_update(shown: tuple[Browser, Path]) -> None:
    page, path = shown
    page.find("#value-13").send_keys("12.3")
    with Study(path) as study:
        study.tell(study.ask(), 0.5)
    wait_for(lambda: completed(page) == 13)
    assert page.js("document.querySelector('#value-13').value") == "12.3"
    assert page.focused() == "value-13"


def test_everything_can_be_done_with_the_keyboard(shown: tuple[Browser, Path]) -> None:
    page, path = shown
    page.js("document.body.focus()")
    page.tab_to("ask")
    page.press(ENTER)
    page.says(".message", "Trial 14 is waiting")
    assert page.focused() == "value-14"  # ready to type
    page.press(*"0.5", ENTER)
    page.says(".message", "Trial 14 has the value 0.5")
    page.js("document.querySelector('#ask').focus()")
    page.tab_to("mark failed: trial 13")
    page.press(SPACE)
    assert page.focused() == "why trial 13 failed"
    page.press(*"spilt", ENTER)
    page.says(".message", "Trial 13 is marked as failed")
    with Study(path) as study:
        assert (study.trials[14].value, study.trials[13].error) == (0.5, "spilt")
    page.js("document.querySelector('#trials th[data-key=id] button').focus()")
    page.tab_to("value")
    page.press(ENTER)
    assert page.js("document.querySelector('#trials th[data-key=value]').ariaSort") == "descending"
    page.tab_to("why suggested? trial 14")
    page.press(ENTER)
    page.says("dialog[open]", "Why was trial 14 suggested?")
    page.press(ESCAPE)
    wait_for(lambda: page.js("document.querySelector('dialog[open]') === null"))
    outline = page.js("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"  # one sees where one is


def test_another_study_of_the_file_can_be_chosen(shown: tuple[Browser, Path]) -> None:
    page, path = shown
    with Study(path, {"x": (0.0, 1.0)}, name="second", seed=0) as study:
        study.tell({"x": 0.5}, 41.5)
    page.driver.refresh()
    page.says("#title", "net")
    page.says("#study", "second (1)")
    page.find("#study").send_keys("second")
    page.says("#title", "second")
    page.says(".tile:first-child", "41.5")
    page.driver.refresh()
    page.says("#title", "second")  # the address remembers it


def selector(page: Browser) -> list[str]:
    found: list[str] = page.js("[...document.querySelectorAll('#study option')].map(o => o.textContent)")
    return found


def test_the_list_of_studies_counts_their_trials(shown: tuple[Browser, Path]) -> None:
    page, path = shown
    with Study(path) as study:
        n = len(study.trials)
        wait_for(lambda: selector(page) == [f"net ({n})"])
        study.ask()
    wait_for(lambda: selector(page) == [f"net ({n + 1})"])
    Study(path, {"x": (0.0, 1.0)}, name="second", seed=0).close()
    wait_for(lambda: selector(page) == [f"net ({n + 1})", "second (0)"])
    assert page.text("#title") == "net"


def test_a_study_that_is_deleted_and_a_file_that_goes_are_said_above_what_was_last_read(
    shown: tuple[Browser, Path],
) -> None:
    page, path = shown
    Study(path, {"x": (0.0, 1.0)}, name="second", seed=0).close()
    delete_study(path, "net")
    page.says("#trouble", "The study 'net' was deleted from 'tune.db'; it has ['second']. Below is what was read last.")
    assert page.text("#live") == "not up to date"
    wait_for(lambda: selector(page) == ["second (0)", "net (deleted)"])
    page.find("#study").send_keys("second")
    page.says("#live", "live")
    page.says(".tiles", "0 complete")
    assert page.js("document.querySelector('#trouble').hidden")
    for end in ("", "-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)
    page.says("#trouble", "There is no file 'tune.db' any more: it was deleted or moved.")
    with Study(path, {"x": (0.0, 1.0)}, name="second", seed=0) as study:
        study.tell({"x": 0.5}, 41.5)
        pending = study.ask()
    page.says("#live", "live")
    page.says(".tiles", "41.5")
    page.says("#pending", f"Trial {pending.id}")
    assert all("404" in complaint for complaint in page.complaints())


def test_a_dashboard_that_ended_is_said_to_have_ended(page: Browser, study_path: Path) -> None:
    with serving(study_path) as client:
        page.open(client.address)
        page.says("#live", "live")
    page.says("#trouble", "The dashboard does not answer")
    page.says("#live", "connection lost, trying again")
    page.open("about:blank")
    page.complaints()


def test_the_page_asks_and_tells_while_somebody_else_works_on_the_study(shown: tuple[Browser, Path]) -> None:
    page, path = shown
    done = threading.Event()

    def work() -> None:
        with Study(path) as study:
            while not done.wait(0.2):
                study.tell(study.ask(), 0.1)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for value in ("0.5", "0.625"):
            page.find("#ask").click()
            page.says(".message", "is waiting for its value")
            wait_for(lambda: page.focused().startswith("value-"))
            mine = page.focused().removeprefix("value-")
            page.press(*value, ENTER)
            page.says(".message", f"Trial {mine} has the value {value}")
            with Study(path) as study:
                assert study.trials[int(mine)].value == float(value)
    finally:
        done.set()
        worker.join()
    with Study(path) as study:
        states = [t.state for t in study.trials]
    wait_for(lambda: completed(page) == states.count("complete"))


def test_hostile_names_and_errors_are_shown_and_do_not_run(page: Browser, tmp_path: Path) -> None:
    hostile_study(tmp_path / "h.db").close()
    with serving(tmp_path / "h.db") as client:
        # the policy alone would stop a script: without it, the escaping has to
        page.driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})
        try:
            page.open(client.address)
            page.says("#title", HOSTILE[3])
            page.whole_page(1400)
            page.says("ol.story", "Trial")
            page.whole_page(1400)
            heads = page.js("[...document.querySelectorAll('#trials th')].map(e => e.textContent)")
            assert set(HOSTILE[:2]) <= set(heads)
            cells = page.js("[...document.querySelectorAll('#trials td')].map(e => e.textContent)")
            assert set(HOSTILE[1:3]) <= set(cells)  # the error and the choice
            wait_for(lambda: HOSTILE[0][:27] in page.js(LABELS))  # long names are cut beside an axis
            wait_for(lambda: BOLD in page.js(LABELS))
            page.js("Plotly.Fx.hover(document.querySelector('.plot'), [{curveNumber: 1, pointNumber: 1}]) || true")
            page.says(".hoverlayer", HOSTILE[0])
            client.post("/api/tell", {"study": HOSTILE[3], "params": {HOSTILE[0]: 7}, "value": 1.0})
            page.unfold("#more")
            page.find("#p-0").send_keys("7")
            page.find("#p-value").send_keys("1", ENTER)
            page.says(".message", HOSTILE[0])  # the server's error names the parameter
            assert page.js("window.pwned") is None
            assert (
                page.js("document.querySelectorAll('main img, main iframe, svg[onload], a[href^=javascript]').length")
                == 0
            )
        finally:
            page.driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": False})
            page.open("about:blank")


def test_the_policy_stops_a_script_that_got_into_the_page(shown: tuple[Browser, Path]) -> None:
    page, _ = shown
    page.js("document.body.insertAdjacentHTML('beforeend', '<img src=\"data:,\" onerror=\"window.pwned = 1\">')")
    wait_for(lambda: any("Content Security Policy" in message for message in page.complaints()))
    assert page.js("window.pwned") is None
    page.complaints()


def test_the_token_in_the_address_opens_the_page_once_and_for_all(page: Browser, study_path: Path) -> None:
    with serving(study_path) as client:
        base = f"http://127.0.0.1:{client.port}/"
        page.open(base)
        page.says("body", "Open the address that ccgbo dashboard printed")
        page.open(client.address)
        page.says("#live", "live")
        assert "token" not in page.driver.current_url
        assert page.js("document.cookie") == ""  # no script reads it
        page.open(base)
        page.says("#live", "live")
        page.find("#value-13").send_keys("1", ENTER)
        page.says(".message", "Trial 13 has the value 1")
        page.open("about:blank")
    page.complaints()


def test_the_private_page_that_open_makes_leads_into_the_dashboard(page: Browser, study_path: Path) -> None:
    """From a file a strict cookie would not be sent along a redirect."""
    with serving(study_path) as client, doorway(client.address) as door:
        page.open(door.as_uri())
        page.says("#live", "live")
        page.says(".tiles", "12 complete")
        assert "token" not in page.driver.current_url
        page.open("about:blank")
    assert page.complaints() == []


def test_a_study_without_a_value_does_not_look_busy(page: Browser, tmp_path: Path) -> None:
    with Study(tmp_path / "tune.db", MIXED, seed=0) as study:
        study.ask(2)
    with serving(tmp_path / "tune.db") as client:
        page.open(client.address)
        page.says("select", "default (2)")
        page.says("main", "needs a value")
        assert "being computed" not in page.text("main")
        page.open("about:blank")
    page.complaints()


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a study with a few dozen trials, two pending, and a long name in it."""
    path = tmp_path_factory.mktemp("grown") / "tune.db"
    long = {"a parameter with quite a long name, as people write them": (0.0, 1.0)}
    with Study(path, MIXED | long, name="network", seed=0) as study:
        run(study, 40)
        study.ask(2)
    with serving(path) as client:
        yield client.address


@pytest.mark.parametrize("width", [400, 1600])
def test_nothing_overlaps_or_is_cut_off(page: Browser, width: int, grown: str) -> None:
    page.complaints()
    page.resize(width)
    page.open(grown)
    wait_for(lambda: page.js("document.querySelectorAll('.small-plots .plot').length") == 5, 60)
    folder = os.environ.get("CCGBO_SCREENSHOTS")
    page.whole_page(width, Path(folder) / f"dashboard_{width}.png" if folder else None)
    assert page.layout_faults() == []
    page.unfold("#more")
    page.find("#pending button.danger").click()
    assert page.layout_faults() == []
    assert page.complaints() == []
    page.open("about:blank")
