"""The practitioner's first hour: the README's example, a model of one's own, Ctrl-C, on again, the report."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from viz.browser import Browser

from .desk import CTRL_C, Desk

README = Path(__file__).parents[2] / "README.md"

LOOK = """
from ccgbo.viz.report import write_report
write_report(result, "first.html")
print(result.optimizer().credits()[0])
"""

MODEL = """
import time
import ccgbo

def loss(rate, layers):
    time.sleep(0.2)  # an epoch
    return (layers - 3) ** 2 + abs(rate - 0.01)

if __name__ == "__main__":
    space = {"rate": ccgbo.Float(1e-4, 1.0, log=True), "layers": (1, 8)}
    print(ccgbo.minimize(loss, space, n_trials=10, study="tune.db", seed=0, n_workers=WORKERS))
"""


def test_the_first_thing_typed_is_answered_with_help(desk: Desk) -> None:
    said = desk.terminal("ccgbo")
    assert "error:" not in said.screen
    assert "\n  run " in said.screen and "\n  dashboard " in said.screen


def test_the_first_example_of_the_readme_runs_as_pasted_and_leads_on_to_its_report(desk: Desk) -> None:
    example = re.search(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert example is not None
    desk.write("first.py", example[1] + LOOK)
    out = desk.does("python first.py")
    assert "Result: 30 trials (all trials done)" in out
    assert "best value" in out and "recommended" in out and "CreditRow" in out
    assert (desk.folder / "first.html").stat().st_size > 100_000


@pytest.mark.heavy
@pytest.mark.parametrize("workers", [1, 2])
def test_a_model_is_cut_by_ctrl_c_goes_on_with_the_same_line_and_is_reported(
    desk: Desk, browser: Browser, workers: int
) -> None:
    desk.write("model.py", MODEL.replace("WORKERS", str(workers)))
    window = desk.window("python model.py")
    window.says("3/10")
    window.press(CTRL_C)
    assert window.ends() == 0
    assert "Traceback" not in window.screen
    assert "interrupted" in window.screen
    assert "again" in window.screen  # it says how to go on
    cut = desk.values("tune.db")
    assert 3 <= len(cut) < 10

    window = desk.window("python model.py")
    assert window.ends() == 0
    assert "Result: 10 trials (all trials done)" in window.screen
    whole = desk.values("tune.db")
    assert sorted(whole) == list(range(10))
    assert cut.items() <= whole.items()

    desk.does("ccgbo report tune.db -o report.html")
    browser.open((desk.folder / "report.html").as_uri())
    browser.says(".tile:first-child", f"{min(whole.values()):.3g}"[:4])
    assert browser.js("document.querySelectorAll('#trials tbody tr').length") == 10
    assert browser.complaints() == []


def test_a_second_ctrl_c_returns_what_there_is(desk: Desk) -> None:
    desk.write("model.py", MODEL.replace("WORKERS", "2").replace("0.2", "1.5 if layers < 8 else 30.0"))
    window = desk.window("python model.py")
    window.says("2/10")
    window.press(CTRL_C)
    window.says("waiting for")
    window.press(CTRL_C)
    assert window.ends() == 0
    assert "Traceback" not in window.screen
    assert "(interrupted)" in window.screen
    assert len(desk.values("tune.db")) >= 2
