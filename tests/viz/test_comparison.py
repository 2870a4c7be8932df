"""Several studies of one file beside each other."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ccgbo import Study, Trial
from ccgbo.storage import delete_study
from ccgbo.viz.payload import improvements

from .browser import Browser
from .conftest import MIXED, run, serving, wait_for


def told(*values: float) -> list[Trial]:
    return [Trial(id=i, params={"x": 0.0}, state="complete", value=value) for i, value in enumerate(values)]


def test_the_best_value_is_given_where_it_changes() -> None:
    assert improvements(told(1.0, 3.0, 2.0, 3.0, 5.0), "maximize") == [[1, 1.0], [2, 3.0], [5, 5.0]]
    assert improvements(told(1.0, 3.0, 0.5), "minimize") == [[1, 1.0], [3, 0.5]]
    assert improvements([], "maximize") == []


def test_what_is_dropped_or_waits_is_no_evaluation() -> None:
    trials = told(1.0, 9.0, 2.0)
    gone = [trials[0], trials[1].with_outcome(dropped=True), Trial(id=7, params={"x": 0.0}), trials[2]]
    assert improvements(gone, "maximize") == [[1, 1.0], [2, 2.0]]


@pytest.fixture
def several(study_path: Path) -> Path:
    """The file of the study ``net`` with two more, one of them minimised."""
    with Study(study_path, MIXED, name="<b>other", seed=1) as study:
        run(study, 5)
    with Study(study_path, MIXED, name="least", seed=1, direction="minimize") as study:
        run(study, 3)
    return study_path


def test_every_study_of_the_file_is_compared(several: Path) -> None:
    with serving(several) as client:
        status, found = client.get("/api/comparison")
    assert status == 200
    by_name = {study["name"]: study for study in found["studies"]}
    assert list(by_name) == ["net", "<b>other", "least"]
    with Study(several, name="net") as study:
        assert by_name["net"]["steps"][-1][1] == study.best_value
        assert by_name["net"]["n"] == sum(trial.in_model for trial in study.trials)
    assert by_name["least"]["direction"] == "minimize"


def test_a_study_deleted_meanwhile_is_left_out(several: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copy(several, tmp_path / "copy.db"))
    with serving(copy) as client:
        assert len(client.get("/api/comparison")[1]["studies"]) == 3
        delete_study(copy, "least")
        wait_for(lambda: len(client.get("/api/comparison")[1]["studies"]) == 2)


@pytest.mark.heavy
def test_the_page_compares_studies_of_one_direction_when_asked_to(page: Browser, several: Path) -> None:
    with serving(several) as client:
        page.open(client.address)
        page.says("#title", "net")
        assert page.js("document.querySelector('#compare .plot')") is None  # nothing is fetched before
        page.unfold("#compare")
        page.says("#compare tbody", "<b>other")
        page.says("#compare .note", "One study of the other direction left out")
        assert page.js("document.querySelectorAll('#compare tbody tr').length") == 2
        page.js("document.querySelector('#compare').scrollIntoView() || true")
        wait_for(lambda: page.js("document.querySelectorAll('#compare .main-svg .legendtext').length") == 2)
        with Study(several, name="<b>other") as study:
            study.tell(study.ask(), 99.5)
        page.says("#compare tbody", "99.5")  # the card follows
        assert page.complaints() == []
        page.open("about:blank")


@pytest.mark.heavy
def test_a_file_with_one_study_has_nothing_to_compare(page: Browser, study_path: Path) -> None:
    with serving(study_path) as client:
        page.open(client.address)
        page.says("#title", "net")
        page.says("#live", "live")
        assert not page.js("!!document.querySelector('#compare').offsetParent")
        page.open("about:blank")
