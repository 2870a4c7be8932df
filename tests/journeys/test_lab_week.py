"""The lab's week: asked on Monday, mistyped on Tuesday, put right on Wednesday, and the spreadsheet comes back."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from viz.browser import Browser

from .desk import Desk, kill9
from .pages import differing, play

pytestmark = pytest.mark.heavy

PAGE = Path(__file__).resolve().parents[2] / "docs" / "lab-week.md"
ENTER = "\ue007"


def tell_in_the_dashboard(desk: Desk, browser: Browser) -> None:
    dashboard = desk.dashboard("lab.db")
    browser.open(dashboard.address)
    for trial, value in ((0, "71.5"), (1, "6.82")):
        browser.find(f"#value-{trial}").send_keys(value, ENTER)
        browser.says(".message", f"Trial {trial} has the value {value}")
    browser.open("about:blank")


def bring_the_spreadsheet_back(desk: Desk) -> None:
    """As a spreadsheet program of another country saves it."""
    with (desk.folder / "lab.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    measured = {"4": "80.5", "5": "77.25"}
    for row in rows:
        row["value"] = measured.get(row["id"], row["value"])
    more = dict.fromkeys(rows[0], "") | {"value": "79.0", "params_temperature": "105.0"}
    rows.append(more | {"params_oven": "190.0", "params_catalyst": "B"})
    with (desk.folder / "back.csv").open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, rows[0], delimiter=";")
        writer.writeheader()
        for row in rows:
            numbers = {name for name in row if name == "value" or name.startswith("params_")}
            writer.writerow({n: v.replace(".", ",") if n in numbers else v for n, v in row.items()})


def test_the_week_on_the_page_happens_as_the_page_says(desk: Desk, browser: Browser) -> None:
    steps = {
        "tell 0 and 1 in the dashboard": lambda: tell_in_the_dashboard(desk, browser),
        "the spreadsheet comes back as back.csv": lambda: bring_the_spreadsheet_back(desk),
    }
    said = play(desk, PAGE, steps)
    assert differing(said) == []
    browser.open((desk.folder / "week.html").as_uri())
    for words in ("worked in the old reactor", "a typo", "old catalyst", "abandoned", "dropped", "widened"):
        browser.says("body", words)


# -- the same week, killed between any two of its steps

BEGIN = """
import ccgbo, json
def space(high):
    return {"temperature": (20.0, high), "oven": (150.0, 220.0), "catalyst": ["A", "B"]}
"""
OPEN = 'study = ccgbo.Study("FILE")'
WEEK = [
    'study = ccgbo.Study("FILE", space(100.0), seed=0)',
    "study.ask(4)",
    "study.tell(0, 71.5)",
    "study.tell(1, 6.82)",
    'study.amend(1, 68.2, note="a typo")',
    "study.abandon(2)",
    'study.tell(3, [66.1, 67.3], params={"temperature": 71.2}, tags=["repeat"])',
    "study.change_space(space(120.0))",
    'study.enqueue({"temperature": 110.0, "oven": 180.0, "catalyst": "B"}, note="the old reactor")',
    'study.ask(2, fixed={"oven": 180.0})',
    "study.tell(4, (80.5, 0.5))",
    "study.tell(5, failed=True)",
    "study.amend(5, 77.25)",
    'study.tell({"temperature": 105.0, "oven": 190.0, "catalyst": "B"}, 79.0)',
    'study.drop(0, note="old catalyst")',
    "study.ask()",
    "study.drop(3)",
    "study.restore(3)",
    'study.annotate(4, operator="kim")',
    "study.change_space(space(115.0))",
]
STATE = """
def plain(event):
    return [event.action, event.trial_id, event.before, event.after, event.note]
print(json.dumps([
    [trial.to_dict() for trial in study.trials],
    [plain(event) for event in study.log()],
    study.recommend().params,
    study.ask(2, fixed={"catalyst": "B"})[1].params,
    study.ask().params,
]))
"""


def test_a_study_killed_between_any_two_steps_of_the_week_ends_in_the_same_state(desk: Desk) -> None:
    whole = desk.notebook()
    whole.cell(BEGIN)
    for step in WEEK:
        whole.cell(step.replace("FILE", "whole.db"))
    expected = json.loads(whole.cell(STATE))
    for i, step in enumerate(WEEK):
        today = desk.notebook()
        today.cell(BEGIN + (OPEN if i else "").replace("FILE", "killed.db"))
        today.cell(step.replace("FILE", "killed.db"))
        kill9(today)
    last = desk.notebook()
    last.cell(BEGIN + OPEN.replace("FILE", "killed.db"))
    assert json.loads(last.cell(STATE)) == expected
    trials, events = expected[0], expected[1]
    assert [t["state"] for t in trials] == ["complete", "complete", "abandoned", *["complete"] * 4, "pending"]
    assert trials[0]["dropped"] and not trials[3]["dropped"]
    assert trials[3]["params"]["temperature"] == 71.2 and trials[3]["readings"] == [66.1, 67.3]
    assert "change space" in [event[0] for event in events]
