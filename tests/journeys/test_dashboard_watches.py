"""The dashboard that watches: opened before anything runs, and left open."""

from __future__ import annotations

import pytest
from viz.browser import Browser
from viz.conftest import wait_for

from .desk import Desk

pytestmark = pytest.mark.heavy

RUN = "ccgbo run lab.db --quiet -n {n} -- python experiment.py {{x}}"


def complete(page: Browser) -> str:
    """What the tile with the number of trials says."""
    return page.text(".tile:nth-child(3) .value").strip()


@pytest.fixture
def watched(lab: Desk, browser: Browser) -> Browser:
    """The page of lab.db, live."""
    browser.open(lab.dashboard("lab.db").address)
    browser.says("#live", "live")
    return browser


def test_a_page_opened_before_the_run_shows_it_and_the_next_one_too(lab: Desk, watched: Browser) -> None:
    assert complete(watched) == "0"
    watched.js("window.mark = 'not reloaded'")
    lab.does(RUN.format(n=4))
    wait_for(lambda: complete(watched) == "4")
    lab.does(RUN.format(n=7))
    wait_for(lambda: complete(watched) == "7")
    watched.says("#study", "default (7)")  # the selector follows, too
    assert watched.js("window.mark") == "not reloaded"
    assert watched.complaints() == []


def test_a_deleted_study_is_said_and_a_new_one_of_that_name_is_shown(lab: Desk, watched: Browser) -> None:
    lab.does(RUN.format(n=4))
    wait_for(lambda: complete(watched) == "4")
    lab.does("ccgbo delete lab.db --name default --yes")
    wait_for(lambda: watched.text("#live") not in ("live", ""))
    lab.does("ccgbo init lab.db --space space.toml --seed 1")
    lab.does(RUN.format(n=2))
    watched.driver.refresh()
    wait_for(lambda: complete(watched) == "2")
    lab.does(RUN.format(n=3))
    wait_for(lambda: complete(watched) == "3")


def test_a_file_that_was_replaced_is_shown_as_it_is_now(lab: Desk, watched: Browser) -> None:
    lab.does(RUN.format(n=4))
    wait_for(lambda: complete(watched) == "4")
    lab.does("ccgbo init other.db --space space.toml --seed 1")
    lab.does(RUN.replace("lab.db", "other.db").format(n=2))
    lab.does("rm -f lab.db-wal lab.db-shm && mv other.db lab.db")  # as the error of those who had it open says
    watched.driver.refresh()
    wait_for(lambda: complete(watched) == "2")
    lab.does(RUN.format(n=5))
    wait_for(lambda: complete(watched) == "5")
    assert sorted(lab.values("lab.db")) == list(range(5))
