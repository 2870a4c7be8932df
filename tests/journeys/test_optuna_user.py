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
