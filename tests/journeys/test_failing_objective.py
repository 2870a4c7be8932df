"""The objective that fails: the reason is on the screen, and no evaluation is wasted on finding it."""

from __future__ import annotations

import pytest

from .desk import Desk

SCRIPT = """
import os, signal
from concurrent.futures import ProcessPoolExecutor
import ccgbo

{objective}

if __name__ == "__main__":
    space = {{"x": (0.0, 1.0), "y": (0.0, 1.0)}}
    {before}
    print(ccgbo.minimize({f}, space, n_trials=20, study="tune.db", seed=0{options}))
"""

# what somebody writes, and what must be said
MISTAKES = {
    "a typo in an argument": ("def f(x, z):\n    return x + z", "unexpected keyword argument 'y'"),
    "one dict": ("def f(params):\n    return params['x']", "unexpected keyword argument 'x'"),
    "an Optuna objective": ("def f(trial):\n    return trial.number", "unexpected keyword argument 'x'"),
    "no return": ("def f(x, y):\n    x + y", "None"),
    "a text": ("def f(x, y):\n    return 'low'", "'low'"),
}


def script(desk: Desk, objective: str, *, f: str = "f", before: str = "pass", options: str = "") -> None:
    desk.write("tune.py", SCRIPT.format(objective=objective, f=f, before=before, options=options))


@pytest.mark.parametrize("mistake", MISTAKES)
def test_an_objective_that_cannot_work_stops_soon_and_says_why(desk: Desk, mistake: str) -> None:
    objective, words = MISTAKES[mistake]
    script(desk, objective)
    said = desk.terminal("python tune.py")
    assert words in said.screen
    assert len(desk.trials("tune.db")) <= 5
    assert desk.values("tune.db") == {}


def test_an_async_objective_is_awaited_or_refused_by_name(desk: Desk) -> None:
    script(desk, "async def f(x, y):\n    return x + y")
    said = desk.terminal("python tune.py")
    assert "never awaited" not in said.screen
    if said.code == 0:
        assert len(desk.values("tune.db")) == 20
    else:
        assert "async" in said.err
        assert not (desk.folder / "tune.db").exists() or desk.trials("tune.db") == {}


def test_a_lambda_for_a_process_pool_is_told_to_be_no_good_there(desk: Desk) -> None:
    script(desk, "", f="lambda x, y: x", before="pool = ProcessPoolExecutor(2)", options=", executor=pool")
    said = desk.terminal("python tune.py")
    assert "pickle" in said.screen.lower()
    assert desk.values("tune.db") == {}
    assert len(desk.trials("tune.db")) <= 5


@pytest.mark.heavy
def test_a_point_that_kills_its_worker_fails_with_a_reason_and_the_run_goes_on(desk: Desk) -> None:
    deadly = "def f(x, y):\n    if x > 0.9:\n        os.kill(os.getpid(), signal.SIGKILL)\n    return x"
    script(desk, deadly, before="pool = ProcessPoolExecutor(2)", options=", executor=pool")
    for _ in range(4):  # a supervisor starts it again
        if desk.terminal("python tune.py").code == 0:
            break
    trials = desk.trials("tune.db")
    deadly_ones = [t for t in trials.values() if t["params"]["x"] > 0.9]
    assert len(trials) == 20
    assert deadly_ones and all(t["state"] == "failed" and "process" in t["error"] for t in deadly_ones)
    assert all(t["state"] == "complete" for t in trials.values() if t not in deadly_ones)


@pytest.mark.heavy
def test_a_point_that_kills_the_whole_run_is_not_tried_for_ever(desk: Desk) -> None:
    deadly = "def f(x, y):\n    if x > 0.9:\n        os.kill(os.getpid(), signal.SIGKILL)\n    return x"
    script(desk, deadly)
    starts = 0
    while desk.terminal("python tune.py").code != 0:
        starts += 1
        assert starts < 20, "every start dies on the same point"
    trials = desk.trials("tune.db")
    assert len(trials) == 20
    assert all((t["state"] == "failed") == (t["params"]["x"] > 0.9) for t in trials.values())


def test_an_exception_that_does_not_survive_the_way_out_of_a_pool_is_recorded(desk: Desk) -> None:
    diverging = (
        "class Diverged(Exception):\n"
        "    def __init__(self, step, loss):\n        super().__init__(f'diverged at step {step}: {loss}')\n"
        "def f(x, y):\n    if x > 0.9:\n        raise Diverged(3, 1e9)\n    return x"
    )
    script(desk, diverging, before="pool = ProcessPoolExecutor(2)", options=", executor=pool")
    desk.does("python tune.py")
    trials = desk.trials("tune.db").values()
    failed = [t for t in trials if t["state"] == "failed"]
    assert len(trials) == 20
    assert failed and all("diverged at step 3" in t["error"] for t in failed)


def test_a_program_that_does_not_exist_stops_the_run_at_once_and_burns_nothing(lab: Desk) -> None:
    said = lab.terminal("ccgbo run lab.db -n 6 -- nothere {x}")
    assert said.code == 1
    assert "nothere" in said.err
    assert [t for t in lab.trials("lab.db").values() if t["state"] != "pending"] == []
    lab.does("ccgbo run lab.db -n 6 -- python experiment.py {x}")
    assert sorted(lab.values("lab.db")) == list(range(6))


def test_a_program_that_always_fails_says_why_once_and_the_exit_status_knows(lab: Desk) -> None:
    lab.write("broken.py", "import sys\nsys.exit('no such data set')\n")
    said = lab.terminal("ccgbo run lab.db -n 20 -- python broken.py {x}")
    assert said.code == 1
    assert "no such data set" in said.screen
    assert len(lab.trials("lab.db")) <= 5


def test_a_failure_now_and_then_is_recorded_and_shown_with_its_reason(lab: Desk) -> None:
    lab.write("flaky.py", "import sys\nx = float(sys.argv[1])\nif x > 0.5: sys.exit('boiled over')\nprint(x)\n")
    lab.does("ccgbo run lab.db -n 8 -- python flaky.py {x}")
    assert len(lab.trials("lab.db")) == 8
    assert "boiled over" in lab.does("ccgbo show lab.db")
