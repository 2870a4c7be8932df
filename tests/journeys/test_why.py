"""Why this point? The terminal, the page and the notebook give one answer, whoever asked for it."""

from __future__ import annotations

import json
import re

import pytest
from viz.browser import Browser
from viz.conftest import wait_for

from .desk import Desk, Notebook, kill9

pytestmark = pytest.mark.heavy

D, N = 9, 12
MIDDLE = "it is the middle of the most promising trials so far"
RECIPE = f"""
import ccgbo
space = {{f"x{{i}}": (0.0, 1.0) for i in range({D})}}
study = ccgbo.Study("lab.db", space, direction="minimize", seed=0, n_initial={N})
for _ in range({N}):
    trial = study.ask()
    study.tell(trial, sum((x - 0.4) ** 2 for x in trial.params.values()))
"""
STEEP = RECIPE.replace("trial.params.values()))", "trial.params.values()) ** 4 * 1e4)")
LOGARITHM = "were told apart by the logarithm of their gaps to the best"
WHY = "print(str(study.explain({trial})))"


def flat(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


@pytest.fixture
def notebook(desk: Desk) -> Notebook:
    """A kernel that has evaluated the initial design of nine parameters, all of them numbers."""
    notebook: Notebook = desk.notebook()
    notebook.cell(RECIPE)
    return notebook


def test_after_a_failed_guess_all_say_that_the_next_is_the_middle(
    desk: Desk, notebook: Notebook, browser: Browser
) -> None:
    dashboard = desk.dashboard("lab.db")
    browser.open(dashboard.address)
    browser.says("#live", "live")
    guess = json.loads(desk.does("ccgbo ask lab.db --why --json"))
    assert not any(MIDDLE in line for line in guess["why"])
    desk.does(f"ccgbo tell lab.db {guess['id']} 9")

    browser.find("#ask").click()  # somebody at the page asks for the next one
    middle = int(wait_for(lambda: re.search(r"Trial (\d+) is waiting", browser.text(".message")))[1])
    said = notebook.cell(WHY.format(trial=middle))
    assert MIDDLE in said
    browser.says("body", f"why trial {middle}?")
    browser.js("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    browser.says("body", MIDDLE)
    assert browser.complaints() == []

    told, trials = desk.values("lab.db"), desk.trials("lab.db")
    best = sorted((t for t in told), key=lambda t: told[t])[:10]
    for name, value in trials[middle]["params"].items():
        places = [trials[t]["params"][name] for t in best]
        assert min(places) < value < max(places)  # between those that it is the mean of

    kill9(notebook)
    kill9(dashboard)
    desk.does(f"ccgbo tell lab.db {middle} 0.01")
    after = json.loads(desk.does("ccgbo ask lab.db --why --json"))
    assert not any(MIDDLE in line for line in after["why"])  # it became the best: no second one
    assert desk.values("lab.db") == told | {middle: 0.01}
    again = desk.notebook()
    again.cell('import ccgbo\nstudy = ccgbo.Study("lab.db")')
    assert flat(again.cell(WHY.format(trial=middle))) == flat(said)
    assert flat(again.cell(WHY.format(trial=after["id"]))) == flat(" ".join(after["why"]))


def test_a_copy_taken_home_suggests_the_same_middle(desk: Desk, notebook: Notebook) -> None:
    guess = json.loads(desk.does("ccgbo ask lab.db --json"))["id"]
    desk.does(f"ccgbo tell lab.db {guess} 9")
    notebook.cell("study.close()")
    desk.does("cp lab.db home.db")
    here = json.loads(desk.does("ccgbo ask lab.db --why --json"))
    notebook.cell('study = ccgbo.Study("home.db")\ntrial = study.ask()')
    params = json.loads(notebook.cell("import json\nprint(json.dumps(dict(trial.params)))"))
    assert any(MIDDLE in line for line in here["why"])
    assert params == here["params"]


def test_terminal_page_and_a_copy_say_that_values_were_told_apart_on_the_logarithm(
    desk: Desk, browser: Browser
) -> None:
    """Values over orders of magnitude; whoever opens the file after a kill has the same scale and suggestion."""
    notebook = desk.notebook()
    notebook.cell(STEEP)
    notebook.cell("study.close()")
    desk.does("cp lab.db home.db")
    kill9(notebook)
    dashboard = desk.dashboard("lab.db")
    browser.open(dashboard.address)
    browser.says("#live", "live")
    here = json.loads(desk.does("ccgbo ask lab.db --why --json"))
    assert any(LOGARITHM in line for line in here["why"])
    browser.says("body", f"why trial {here['id']}?")
    browser.js("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    browser.says("body", LOGARITHM)
    assert browser.complaints() == []

    home = desk.notebook()
    home.cell('import ccgbo, json\nstudy = ccgbo.Study("home.db")\ntrial = study.ask()')
    assert json.loads(home.cell("print(json.dumps(dict(trial.params)))")) == here["params"]
    assert LOGARITHM in flat(home.cell("print(str(trial.explanation))"))
    before = len(desk.values("lab.db"))
    desk.does(f"ccgbo tell lab.db {here['id']} 1e-9")  # a new best, by far: all gaps are to it from now on
    after = json.loads(desk.does("ccgbo ask lab.db --why --json"))
    assert after["id"] not in desk.values("lab.db") and len(desk.values("lab.db")) == before + 1


BRANIN = """
import math, ccgbo
def branin(x, y):
    valley = (y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6) ** 2
    return valley + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10
space = {"x": (-5.0, 10.0), "y": (0.0, 15.0)}
study = ccgbo.Study("lab.db", space, direction="minimize", seed=2)
result = study.run(branin, 20, progress=False)
print(result.recommended.trial_id, study.optimizer().snapshot().best)
"""


def test_all_recommend_the_best_value_seen_until_a_repeated_measurement_shows_noise(
    desk: Desk, browser: Browser
) -> None:
    """Nobody said whether the simulation is exact: its values do, and later those of the machine in the lab."""
    notebook = desk.notebook()
    recommended, by_mean = map(int, notebook.cell(BRANIN).split())
    told = desk.values("lab.db")
    best = min(told, key=lambda trial: told[trial])
    assert recommended == best != by_mean  # the model alone would have taken another one
    dashboard = desk.dashboard("lab.db")
    browser.open(dashboard.address)
    browser.says("body", f"trial {best}, ±")
    assert json.loads(desk.does("ccgbo show lab.db --json"))["recommendation"]["trial_id"] == best
    assert f"Trial {best} is recommended" in desk.does("ccgbo influence lab.db")

    again = "study.tell(study.trials[{}].params, {})"
    for trial, value in sorted(told.items(), key=lambda told: told[1])[:4]:
        notebook.cell(again.format(trial, value + 30.0))  # the same settings, in the lab
    kill9(notebook)
    after = json.loads(desk.does("ccgbo show lab.db --json"))["recommendation"]
    assert after["std"] > 1.0  # nobody knows to less than that, now
    browser.says("body", f"trial {after['trial_id']}, ±")
    assert browser.complaints() == []
    home = desk.notebook()
    home.cell('import ccgbo\nstudy = ccgbo.Study("lab.db")')
    assert int(home.cell("print(study.recommend().trial_id)")) == after["trial_id"]
