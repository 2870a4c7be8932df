"""An Optuna user swaps the sampler in a script that keeps its study in a file, and later moves over."""

from __future__ import annotations

import pytest
from viz.conftest import wait_for

from .desk import Desk, kill9

pytestmark = pytest.mark.heavy

SCRIPT = """
import time
import optuna
from ccgbo.integrations.optuna import CCGBOSampler

def objective(trial):
    x = trial.suggest_float("x", -5.0, 5.0)
    layers = trial.suggest_int("layers", 1, 4)
    time.sleep(0.1)
    return (x - 1.0) ** 2 + layers

study = optuna.create_study(
    study_name="old", storage="sqlite:///optuna.db", load_if_exists=True, sampler=CCGBOSampler(seed=0)
)
study.optimize(objective, n_trials=14 - len(study.trials))
print("complete", len(study.get_trials(states=[optuna.trial.TrialState.COMPLETE])), study.best_value)
"""


def test_a_script_with_our_sampler_is_killed_resumed_and_moved_over(desk: Desk) -> None:
    desk.write("script.py", SCRIPT)
    window = desk.window("python script.py")
    window.says("Trial 3 finished")
    kill9(window)
    out = desk.does("python script.py")
    complete, best = int(out.split()[-2]), float(out.split()[-1])
    assert complete >= 13  # what was running when it was killed stays with Optuna as it is
    assert best < 4.0

    desk.does("ccgbo import new.db --optuna sqlite:///optuna.db")
    values = desk.values("new.db")
    assert len(values) == complete
    assert min(values.values()) == best
    desk.does("ccgbo run new.db -n 3 --quiet -- python -c 'import sys; print((float(sys.argv[1]) - 1) ** 2 + 1)' {x}")
    wait_for(lambda: len(desk.values("new.db")) == complete + 3)


FRONT = """
import sys
import time
import optuna
from ccgbo.integrations.optuna import CCGBOSampler

file, n_trials, seconds = sys.argv[1:]

def objective(trial):
    x = trial.suggest_float("x", 0.0, 1.0)
    y = trial.suggest_float("y", 0.0, 1.0)
    trial.set_constraint("impurity", x - 0.5)
    time.sleep(float(seconds))
    return x + y + (x - y) ** 2, x + y - (x - y) ** 2

study = optuna.create_study(
    study_name="front", storage="sqlite:///" + file, directions=["minimize", "maximize"], load_if_exists=True,
    sampler=CCGBOSampler(seed=0),
)
done = study.get_trials(states=[optuna.trial.TrialState.COMPLETE])
study.optimize(objective, n_trials=int(n_trials) - len(done))
for trial in study.get_trials(states=[optuna.trial.TrialState.COMPLETE]):
    print("point", trial.params["x"], trial.params["y"])
for trial in study.best_trials:
    print("best", trial.number, trial.constraints["impurity"], trial.params["x"], trial.params["y"])
"""


def rows(out: str, word: str) -> list[list[float]]:
    return [[float(number) for number in line.split()[1:]] for line in out.splitlines() if line.startswith(word)]


def test_a_script_with_two_directions_and_a_constraint_is_killed_and_resumed_in_a_second_process(desk: Desk) -> None:
    desk.write("front.py", FRONT)
    window = desk.window("python front.py killed.db 18 0.3")
    window.says("Trial 12 finished")
    kill9(window)
    out = desk.does("python front.py killed.db 18 0")
    best = rows(out, "best")
    assert len(rows(out, "point")) == 18
    assert len(best) >= 4
    assert all(impurity <= 0.0 for _, impurity, _, _ in best)
    assert any(number > 12 and abs(x - y) < 0.2 for number, _, x, y in best)  # the front is x = y, up to the bound


def test_two_processes_one_after_the_other_find_the_front_that_one_would_have_found(desk: Desk) -> None:
    desk.write("front.py", FRONT)
    whole = rows(desk.does("python front.py whole.db 18 0"), "point")
    first = rows(desk.does("python front.py parts.db 13 0"), "point")
    assert len(first) == 13
    assert rows(desk.does("python front.py parts.db 18 0"), "point") == whole
