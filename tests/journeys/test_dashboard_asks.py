"""The dashboard that asks: somebody works in the page, somebody else in a terminal, on one study."""

from __future__ import annotations

import json
import re

import pytest
from viz.browser import Browser
from viz.conftest import wait_for

from .desk import Desk

pytestmark = pytest.mark.heavy

ENTER = "\ue007"


def suggest(page: Browser) -> int:
    page.find("#ask").click()
    return int(wait_for(lambda: re.search(r"Trial (\d+) is waiting", page.text(".message")))[1])


def tell(page: Browser, trial: int, value: float) -> None:
    page.find(f"#value-{trial}").send_keys(str(value), ENTER)
    page.says(".message", f"Trial {trial} has the value {value}")


def shows(page: Browser, complete: int) -> None:
    wait_for(lambda: page.text(".tile:nth-child(3) .value").strip() == str(complete))


def test_the_page_and_the_terminal_ask_and_tell_in_turn_and_see_each_other(lab: Desk, browser: Browser) -> None:
    lab.does("ccgbo run lab.db --quiet -n 3 -- python experiment.py {x}")
    browser.open(lab.dashboard("lab.db").address)
    browser.says("#live", "live")
    told = lab.values("lab.db")
    for i in range(2):
        mine = suggest(browser)
        yours = json.loads(lab.does("ccgbo ask lab.db --json"))["id"]
        assert mine not in told and yours not in told and mine != yours
        browser.find(f"#value-{yours}")  # the page shows what the terminal asked
        assert {mine, yours} <= {t for t, trial in lab.trials("lab.db").items() if trial["state"] == "pending"}
        tell(browser, mine, 0.5 + i)
        lab.does(f"ccgbo tell lab.db {yours} {90 + i}")
        told |= {mine: 0.5 + i, yours: 90.0 + i}
        shows(browser, len(told))
    assert lab.values("lab.db") == told
    assert len(told) == 7
    wait_for(lambda: browser.js("document.querySelectorAll('#pending li').length") == 0)
    assert browser.complaints() == []


def test_a_trial_asked_in_the_terminal_can_be_told_in_the_page_and_the_other_way_round(
    lab: Desk, browser: Browser
) -> None:
    browser.open(lab.dashboard("lab.db").address)
    browser.says("#live", "live")
    asked = json.loads(lab.does("ccgbo ask lab.db --json"))["id"]
    tell(browser, asked, 1.5)
    suggested = suggest(browser)
    lab.does(f"ccgbo tell lab.db {suggested} 2.5")
    assert lab.values("lab.db") == {asked: 1.5, suggested: 2.5}
    again = lab.terminal(f"ccgbo tell lab.db {asked} 9")
    assert again.code == 1
    assert "already" in again.err
    assert lab.values("lab.db")[asked] == 1.5


def test_the_page_that_lost_its_server_says_so_and_loses_nothing(lab: Desk, browser: Browser) -> None:
    dashboard = lab.dashboard("lab.db")
    browser.open(dashboard.address)
    browser.says("#live", "live")
    trial = suggest(browser)
    tell(browser, trial, 1.5)
    dashboard.process.kill()
    dashboard.process.wait(30)
    browser.says("#live", "connection lost")
    assert lab.values("lab.db") == {trial: 1.5}
