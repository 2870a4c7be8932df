"""Several values by hand: one study of two objectives and a bound, in the page, in a terminal and in a notebook."""

from __future__ import annotations

import json
import re

import pytest
from viz.browser import Browser
from viz.conftest import wait_for

from .desk import Desk

pytestmark = pytest.mark.heavy

ENTER = "\ue007"
FRONT = "document.querySelector('[aria-label^=\"trials over two objectives\"]')"


@pytest.fixture
def bench(desk: Desk) -> Desk:
    """A desk with a study in lab.db: a good yield at a low cost, and little impurity."""
    desk.write("space.toml", '[parameters.x]\ntype = "float"\nlow = 0.0\nhigh = 1.0\n')
    desk.does(
        "ccgbo init lab.db --space space.toml --seed 0 --objective yield:maximize --objective cost:minimize "
        "--constraint 'impurity<=0.6'"
    )
    return desk


def measured(x: float) -> dict[str, float]:
    return {"yield": round(70 + 10 * x, 3), "cost": round(3 + x * x, 3), "impurity": round(0.9 * x, 3)}


def suggest(page: Browser) -> tuple[int, float]:
    """The trial that the page was given, and its x."""
    page.find("#ask").click()
    trial = int(wait_for(lambda: re.search(r"Trial (\d+) is waiting", page.text(".message")))[1])
    return trial, float(page.find(f"#pending [data-trial='{trial}'] dd").text)


def tell(page: Browser, trial: int, values: dict[str, float]) -> None:
    *first, last = enumerate(values.values())
    for j, value in first:
        page.find(f"#value-{trial}-m{j}").send_keys(str(value))
    page.find(f"#value-{trial}-m{last[0]}").send_keys(str(last[1]), ENTER)
    said = ", ".join(f"{name} {value:g}" for name, value in values.items())
    page.says(".message", f"Trial {trial} has {said}.")


def shown_front(page: Browser) -> list[tuple[float, float]]:
    """The points of the front that the plot shows."""
    page.js(f"{FRONT}.scrollIntoView({{block: 'center'}})")
    found = page.js(f"({FRONT}.data || []).filter(t => t.name === 'front').map(t => [t.x, t.y])")
    return [(round(x, 2), round(y, 2)) for xs, ys in found for x, y in zip(xs, ys)]


def test_values_told_in_the_page_and_in_the_terminal_make_one_front(bench: Desk, browser: Browser) -> None:
    browser.open(bench.dashboard("lab.db").address)
    browser.says("#live", "live")
    for _ in range(4):
        mine, x = suggest(browser)
        tell(browser, mine, measured(x))
        yours = json.loads(bench.does("ccgbo ask lab.db --json"))
        browser.find(f"#value-{yours['id']}-m0")  # the page has a form for what the terminal asked
        said = " ".join(f"{name}={value}" for name, value in measured(yours["params"]["x"]).items())
        bench.does(f"ccgbo tell lab.db {yours['id']} {said}")
    wait_for(lambda: browser.js("document.querySelectorAll('#pending li').length") == 0)
    look = "import ccgbo\nwith ccgbo.Study('lab.db') as study:\n    front = study.pareto_front()\n"
    notebook = bench.notebook()
    ids = json.loads(notebook.cell(f"{look}print([t.id for t in front])"))
    assert 0 < len(ids) < 8  # more x is dearer and better, until it is impure
    browser.says(".tiles", f"front{len(ids)}")
    wanted = json.loads(notebook.cell(f"{look}print(sorted([t.values['yield'], t.values['cost']] for t in front))"))
    places = [(round(a, 2), round(b, 2)) for a, b in wanted]
    wait_for(lambda: sorted(shown_front(browser)) == places, 60.0)
    assert browser.complaints() == []


def test_a_metric_that_is_measured_later_is_amended_in_the_page(bench: Desk, browser: Browser) -> None:
    asked = json.loads(bench.does("ccgbo ask lab.db --json"))["id"]
    browser.open(bench.dashboard("lab.db").address)
    browser.says("#live", "live")
    tell(browser, asked, {"yield": 71.0, "cost": 3.5})
    wait_for(lambda: "not known" in browser.text("#trials"))
    browser.says(".tiles", "no feasible trial with every objective yet")
    browser.js(f"document.querySelector('[aria-label=\"change trial {asked}\"]').click()")
    browser.find("#amend-m2").send_keys("0.2", ENTER)
    browser.says(".message", f"Trial {asked} has yield 71, cost 3.5, impurity 0.2 now.")
    browser.says(".tiles", "front1")
    row = bench.trials("lab.db")[asked]
    assert {name: row["metrics"][name]["value"] for name in row["metrics"]} == {
        "yield": 71.0,
        "cost": 3.5,
        "impurity": 0.2,
    }
    assert browser.complaints() == []
