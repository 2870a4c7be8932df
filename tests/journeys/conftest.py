"""A desk for each journey, one browser for all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from viz.browser import Browser, chromium

from .desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    try:
        yield desk
    finally:
        desk.clear()


@pytest.fixture(scope="package")
def chrome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def browser(chrome: Browser) -> Iterator[Browser]:
    """An empty page; at the end nothing is left in it that goes on asking."""
    chrome.resize(1400)
    chrome.complaints()
    try:
        yield chrome
    finally:
        chrome.open("about:blank")


@pytest.fixture
def lab(desk: Desk) -> Desk:
    """A desk with a study of one parameter in lab.db, and a program for it."""
    desk.write("space.toml", '[parameters.x]\ntype = "float"\nlow = 0.0\nhigh = 1.0\n')
    desk.write("experiment.py", "import sys\nx = float(sys.argv[1])\nprint(-((x - 0.3) ** 2))\n")
    desk.does("ccgbo init lab.db --space space.toml --seed 0")
    return desk
