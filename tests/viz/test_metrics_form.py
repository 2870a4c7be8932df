"""Other metrics by request and in the page: what would change is said before it is done."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ccgbo import AtMost, Between
from ccgbo.study import Study

from .browser import Browser
from .conftest import Client, serving, wait_for
from .metric_runs import BENCH, CHEMISTRY, run_chemistry
from .test_dashboard_by_hand import press, type_in

SAME: dict[str, Any] = {
    "objectives": {"yield": "maximize", "cost": "minimize"},
    "constraints": {"impurity": [None, 0.6]},
}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("metrics") / "lab.db"
    with Study(path, BENCH, name="lab", **CHEMISTRY, seed=0) as study:
        run_chemistry(study, 8)
    return path


@pytest.fixture
def lab(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(template, tmp_path / "lab.db"))


@pytest.fixture
def client(lab: Path) -> Iterator[Client]:
    with serving(lab) as found:
        yield found


def metrics(path: Path) -> Any:
    with Study(path) as study:
        return study.metrics


def test_other_metrics_are_looked_at_and_then_changed(client: Client, lab: Path) -> None:
    before = metrics(lab)
    wanted = {**SAME, "constraints": {"impurity": [None, 0.5], "ph": [6.5, 7.5]}, "rename": {"cost": "price"}}
    wanted["objectives"] = {"yield": "maximize", "price": "minimize"}
    status, looked = client.post("/api/measure", {"study": "lab", **wanted, "dry_run": True})
    assert status == 200, looked
    assert looked["sentences"] == [
        "cost: called price from now on.",
        "impurity: must be <= 0.5, before <= 0.6.",
        "ph: must be in [6.5, 7.5] from now on; trials so far have it where amend says so.",
    ]
    assert metrics(lab) == before
    assert client.post("/api/measure", {"study": "lab", **wanted}) == (200, looked)
    now = metrics(lab)
    assert now.objectives == {"yield": "maximize", "price": "minimize"}
    assert now.constraints == {"impurity": AtMost(0.5), "ph": Between(6.5, 7.5)}
    with Study(lab) as study:
        assert "price" in study.trials[0].values


def test_the_same_metrics_change_nothing(client: Client) -> None:
    assert client.post("/api/measure", {"study": "lab", **SAME}) == (200, {"sentences": []})


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"objectives": {}}, "objectives must be a mapping of 1 to 5 names"),
        ({}, "objectives must be a mapping of 1 to 5 names"),
        ({"objectives": {"a": 1}}, "objectives['a'] must be a text, got 1."),
        ({"objectives": {"yield": "up"}}, "objectives['yield'] must be one of"),
        ({**SAME, "constraints": {"c": 1}}, "constraints['c'] must be a list of two numbers"),
        ({**SAME, "constraints": {"c": [None, None]}}, "an outcome constraint must have a finite bound"),
        ({**SAME, "constraints": {"c": [2, 1]}}, "Between.lower must be less than upper, got 2.0 and 1.0."),
        ({**SAME, "constraints": {"c=d": [1, 2]}}, "a name in outcome_constraints must be a text without '='"),
        ({**SAME, "rename": {"nothing": "yield"}}, "rename: there is no metric 'nothing'"),
        ({**SAME, "dry_run": 1}, "dry_run must be true or false, got 1."),
    ],
)
@pytest.mark.parametrize("dry", [True, False])
def test_metrics_that_cannot_be_meant_are_refused_by_name(
    client: Client, lab: Path, body: dict[str, Any], words: str, dry: bool
) -> None:
    before = metrics(lab)
    status, answer = client.post("/api/measure", {"study": "lab", "dry_run": dry, **body})
    assert status == 400
    assert words in answer["error"]
    assert metrics(lab) == before


@pytest.mark.heavy
@pytest.mark.parametrize("width", [400, 1400])
def test_metrics_are_renamed_bounded_and_added_in_the_page(page: Browser, lab: Path, width: int) -> None:
    with serving(lab) as client:
        page.complaints()
        page.resize(width)
        page.open(client.address)
        page.says("#live", "live")
        page.unfold("#metrics")
        press(page, "Check the metrics")
        page.says("#metrics-said", "These are the metrics as they are.")
        assert page.js("document.querySelector('#metrics-form button.primary').disabled")
        type_in(page, "#metric-1", "price")
        type_in(page, "#metric-2-high", "0,5")
        press(page, "Add a metric")
        assert page.focused() == "metric-3"
        type_in(page, "#metric-3", "ph")
        press(page, "Check the metrics")
        page.says(".message", "ph must have a bound, or be maximized or minimized.")
        assert page.focused() == "metric-3-low"
        type_in(page, "#metric-3-low", "6.5")
        type_in(page, "#metric-3-high", "7.5")
        press(page, "Check the metrics")
        page.says("#metrics-said", "cost: called price from now on.")
        page.says("#metrics-said", "ph: must be in [6.5, 7.5] from now on")
        folder = os.environ.get("CCGBO_SCREENSHOTS")
        page.whole_page(width, Path(folder) / f"metrics_form_{width}.png" if folder else None)
        assert page.layout_faults() == []
        assert page.barriers() == []
        press(page, "Change the metrics")
        page.says(".message", "The metrics are changed. cost: called price from now on.")
        assert list(metrics(lab).names) == ["yield", "price", "impurity", "ph"]
        wait_for(lambda: "price" in page.text("#trials") and "ph" in page.text("#trials"))
        page.says("#log", "cost: called price from now on.")
        assert page.complaints() == []
        page.open("about:blank")


@pytest.mark.heavy
def test_one_value_gets_a_name_and_a_bound_and_loses_the_bound(page: Browser, tmp_path: Path) -> None:
    path = tmp_path / "one.db"
    with Study(path, {"x": (0.0, 1.0)}, direction="minimize", seed=0) as study:
        for i in range(3):
            study.tell(study.ask(), float(i))
    with serving(path) as client:
        page.resize(1400)
        page.open(client.address)
        page.says("#live", "live")
        page.unfold("#metrics")
        type_in(page, "#metric-0", "loss")
        press(page, "Add a metric")
        type_in(page, "#metric-1", "size")
        type_in(page, "#metric-1-high", "9")
        press(page, "Check the metrics")
        page.says("#metrics-said", "value: called loss from now on.")
        press(page, "Change the metrics")
        page.says(".message", "The metrics are changed.")
        now = metrics(path)
        assert (now.objectives, now.constraints) == ({"loss": "minimize"}, {"size": AtMost(9.0)})
        wait_for(lambda: page.js("document.querySelector('#metric-1-role')?.value") == "bounded")
        page.find("#metric-1-role").send_keys("not any more")
        press(page, "Check the metrics")
        page.says("#metrics-said", "size: not bounded any more; what was measured stays on record.")
        press(page, "Change the metrics")
        wait_for(lambda: metrics(path).constraints == {})
        page.open("about:blank")
    page.complaints()
