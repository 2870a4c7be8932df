"""A lab's week with a yield, a cost and an impurity: terminal, notebook and spreadsheet, each a process of its own."""

from __future__ import annotations

import csv
import json

import pytest

from .desk import Desk, kill9

pytestmark = pytest.mark.heavy

SPACE = """
[parameters.temperature]
type = "float"
low = 60.0
high = 120.0
[parameters.catalyst]
type = "categorical"
choices = ["A", "B"]
"""
BENCH = """
import json, os
p = json.loads(os.environ["CCGBO_PARAMS"])
t, b = (p["temperature"] - 60.0) / 60.0, p["catalyst"] == "B"
print("measured in run 7")
print(json.dumps({"yield": 40 + 50 * t + 5 * b, "costs": {"total": 2 + 3 * t * t + b}, "impurity": 0.005 + 0.03 * t}))
"""
KEYS = "--json-key yield --json-key cost=costs.total --json-key impurity"


def test_a_week_over_terminal_notebook_and_spreadsheet_loses_nothing(desk: Desk) -> None:
    desk.write("lab.toml", SPACE)
    desk.write("bench.py", BENCH)
    # Monday: a study of the yield alone
    desk.does("ccgbo init lab.db --space lab.toml --seed 4 --n-initial 4")
    desk.does("ccgbo ask lab.db -n 2")
    desk.does("ccgbo tell lab.db 0 71.5 --error 0.5")
    desk.does("ccgbo tell lab.db 1 60 61 --note 'two readings'")
    # Tuesday: cost and impurity matter, too
    said = desk.does(
        "ccgbo change lab.db --objective yield:maximize --objective cost:minimize --rename-metric value=yield "
        "--constraint 'impurity<=0.02'"
    )
    assert "value: called yield from now on." in said
    assert "front so far: 1 trial" in desk.does("ccgbo amend lab.db 0 cost=3.2 impurity=0.013")
    assert "not feasible: impurity" in desk.does("ccgbo amend lab.db 1 cost=2,5 impurity=0.03")
    assert "did you mean 'yield'" in desk.terminal("ccgbo amend lab.db 1 yeild=3").err
    # Wednesday: the bench measures by itself, and its process is killed in between
    desk.does(f"ccgbo run lab.db -n 5 --quiet {KEYS} -- python bench.py")
    window = desk.window(f"ccgbo run lab.db -n 60 {KEYS} -- python bench.py")
    window.says("front")
    kill9(window)
    done = desk.trials("lab.db")
    assert all(t["metrics"].keys() == {"yield", "cost", "impurity"} for t in done.values() if t["state"] == "complete")
    desk.does("ccgbo release lab.db --all")
    # Thursday: a notebook asks and tells, a spreadsheet goes out and comes back with decimal commas
    notebook = desk.notebook()
    notebook.cell("import ccgbo\nstudy = ccgbo.Study('lab.db')\ntrials = study.ask(2)")
    notebook.cell("study.tell(trials[0], {'yield': 64.0, 'cost': 3.0, 'impurity': float('nan')})")
    ids = json.loads(notebook.cell("import json; print(json.dumps([t.id for t in trials]))"))
    desk.does("ccgbo export lab.db out.csv --dialect semicolon")
    with (desk.folder / "out.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    for row in rows:
        if int(row["id"]) in ids:
            row["metrics_impurity"] = "0,0125"
        if int(row["id"]) == ids[1]:
            row["metrics_yield"], row["metrics_cost"] = "66,5", "2,75"
    with (desk.folder / "back.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], delimiter=";")
        writer.writeheader()
        writer.writerows(rows)
    assert "told 1 pending trial" in desk.does("ccgbo import lab.db back.csv --amend")
    assert "told 0 pending trials" in desk.does("ccgbo import lab.db back.csv --amend")
    shown = desk.trials("lab.db")
    assert {n: m["value"] for n, m in shown[ids[0]]["metrics"].items()} == {
        "yield": 64.0,
        "cost": 3.0,
        "impurity": 0.0125,
    }
    assert shown[ids[1]]["metrics"]["yield"]["value"] == 66.5
    assert shown[0]["metrics"]["yield"]["noise_variance"] == 0.25
    assert shown[1]["metrics"]["yield"]["readings"] == [60.0, 61.0]
    assert shown[1]["attributes"] == {"note": "two readings"}
    # Friday: everybody sees the same front, and the log says how it came about
    front = json.loads(desk.does("ccgbo show lab.db --json --no-model"))["front"]
    assert json.loads(notebook.cell("print(json.dumps([t.id for t in study.pareto_front()]))")) == front
    assert "front of" in desk.does("ccgbo list lab.db")
    log = desk.does("ccgbo log lab.db")
    assert "kim  change metrics (value: called yield from now on." in log
    assert f"amend trial {ids[0]}: impurity 0.0125" in log
    assert len(notebook.cell("print(study.recommend()[0])")) > 10
