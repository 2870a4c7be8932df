"""Determinism, and state that survives being saved: a run that was cut equals one that was not, bit for bit."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ccgbo import Float, Int, LinearConstraint, Optimizer, SettingError

SPACES: dict[str, dict[str, Any]] = {
    "box": {"space": {"x": (-5.0, 10.0), "y": (0.0, 15.0)}},
    "mixed": {
        "space": {
            "lr": Float(1e-5, 1e-1, log=True),
            "n": (1, 50),
            "c": ["a", "b", "z"],
            "depth": Int(1, 4, active_if={"c": ["a", "b"]}),
        }
    },
    "constrained": {
        "space": {"x": (0.0, 1.0), "y": (0.0, 1.0)},
        "constraint": [LinearConstraint({"x": 1, "y": 1}, upper=1.2), lambda p: p["x"] > 0.1],
    },
    "many": {"space": {f"x{i}": (0.0, 1.0) for i in range(30)}},
}
FAST: dict[str, Any] = {"n_initial": 4, "tuning": {"n_candidates": 64, "n_local": 16, "n_starts": 2, "search_steps": 8}}


def make(name: str, **settings: Any) -> Optimizer:
    return Optimizer(**SPACES[name], **{"seed": 3, **FAST, **settings})


def objective(trial: Any) -> float | None:
    """Fails now and then; otherwise a number that any machine computes alike."""
    text = json.dumps(trial.params, sort_keys=True)
    number = sum((i + 1) * ord(ch) for i, ch in enumerate(text)) % 1000 / 1000.0
    return None if number > 0.93 else number


def tell(opt: Optimizer, trial: Any) -> None:
    value = objective(trial)
    if value is None:
        opt.tell(trial, failed=True)
    else:
        opt.tell(trial, value, noise_variance=0.01 if trial.id % 4 == 0 else None)


def drive(opt: Optimizer, until: int, between: Callable[[Optimizer], Optimizer] = lambda opt: opt) -> Optimizer:
    """Two workers: one trial is always pending. ``between`` may replace the optimizer after each tell."""
    while len(opt.trials) < until:
        opt.ask()
        if len(opt.pending) > 1:
            tell(opt, opt.pending[0])
        opt = between(opt)
    return opt


def through_json(opt: Optimizer, fresh: Callable[[], Optimizer]) -> Optimizer:
    other = fresh()
    other.load_state_dict(json.loads(json.dumps(opt.state_dict(), allow_nan=False)))
    return other


def log_of(opt: Optimizer) -> str:
    """Everything that was asked and told, and why, to the last bit."""
    return json.dumps(opt.state_dict(), sort_keys=True)


@pytest.mark.parametrize("name", list(SPACES))
@pytest.mark.parametrize("preset", ["default", "paper"])
def test_the_same_seed_and_the_same_tells_give_the_same_asks(name: str, preset: str) -> None:
    assert log_of(drive(make(name, preset=preset), 14)) == log_of(drive(make(name, preset=preset), 14))


@pytest.mark.parametrize("name", list(SPACES))
def test_another_seed_gives_other_asks(name: str) -> None:
    assert make(name).ask().params != make(name, seed=4).ask().params


@pytest.mark.parametrize("acquisition", ["ucb", "ei", "logei", "ts", "mes", "jes"])
@pytest.mark.parametrize("pending", ["kriging_believer", "fantasy"])
def test_a_run_cut_at_every_trial_equals_the_uncut_one(acquisition: str, pending: str) -> None:
    settings = {"acquisition": acquisition, "pending": pending}
    uncut = drive(make("mixed", **settings), 16)
    cut = drive(make("mixed", **settings), 16, lambda opt: through_json(opt, lambda: make("mixed", **settings)))
    assert log_of(cut) == log_of(uncut)


@pytest.mark.parametrize("name", list(SPACES))
@pytest.mark.parametrize("settings", [{"preset": "paper"}, {"preset": "default", "tuning": {"refit_growth": 0.5}}])
def test_a_run_cut_at_any_one_trial_equals_the_uncut_one(name: str, settings: dict[str, Any]) -> None:
    """Also where observations are appended to an older fit, which a resumed run has to repeat."""
    uncut = log_of(drive(make(name, **settings), 20))
    for cut in (3, 9, 16):
        opt = through_json(drive(make(name, **settings), cut), lambda: make(name, **settings))
        assert log_of(drive(opt, 20)) == uncut


SCRIPT = """
import json, sys
sys.path.insert(0, {tests!r})
from test_state import drive, log_of, make, through_json
opt = make({name!r})
opt.load_state_dict(json.loads(sys.stdin.read()))
print(log_of(drive(opt, 20)))
"""


@pytest.mark.parametrize("name", list(SPACES))
def test_another_process_continues_bit_for_bit(name: str) -> None:
    uncut = log_of(drive(make(name), 20))
    state = json.dumps(drive(make(name), 11).state_dict())
    script = SCRIPT.format(tests=str(__file__).rsplit("/", 1)[0], name=name)
    # another hash seed: nothing may depend on the order of a set
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        input=state,
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONHASHSEED": "12345"},  # which may name the kernels of the linear algebra
    )
    assert done.stdout.strip() == uncut


def test_looking_changes_nothing() -> None:
    quiet, curious = make("mixed"), make("mixed")
    drive(quiet, 16)

    def look(opt: Optimizer) -> Optimizer:
        if opt.observations:
            opt.credits()
            opt.recommend()
        opt.result()
        repr(opt)
        for trial in opt.trials:
            str(opt.explain(trial))
        return opt

    assert log_of(drive(curious, 16, look)) == log_of(quiet)


def test_the_order_in_which_workers_report_failures_does_not_matter() -> None:
    def run(order: tuple[int, int]) -> Any:
        opt = make("box")
        for _ in range(6):
            opt.tell(opt.ask(), 0.5)
        batch = opt.ask(2)
        for i in order:
            opt.tell(batch[i], failed=True)
        return opt.ask().params

    assert run((0, 1)) == run((1, 0))


def test_a_state_is_plain_data() -> None:
    opt = drive(make("mixed"), 12)
    opt.tell({"lr": np.float64(1e-3), "n": np.int64(3), "c": "z"}, np.float32(0.25))
    state = opt.state_dict()
    assert json.loads(json.dumps(state, allow_nan=False)) == json.loads(json.dumps(state))
    assert log_of(through_json(opt, lambda: make("mixed"))) == log_of(opt)


def test_a_loaded_state_replaces_what_was_there() -> None:
    opt, other = drive(make("box"), 12), drive(make("box", seed=9), 8)
    other.load_state_dict(opt.state_dict())
    assert log_of(other) == log_of(opt)


def test_a_state_is_a_snapshot() -> None:
    opt = drive(make("box"), 12)
    state = opt.state_dict()
    before = json.dumps(state)
    drive(opt, 15)
    assert json.dumps(state) == before


def test_extreme_values_survive_the_state() -> None:
    opt = make("box")
    values = [1.7e308, -1.7e308, 5e-324, 1e-300, 0.1 + 0.2, math.pi, -0.0]
    for value in values:
        opt.tell(opt.ask(), value)
    again = through_json(opt, lambda: make("box"))
    assert [t.value for t in again.trials] == values
    assert log_of(again) == log_of(opt)
    assert again.ask() == opt.ask()


def test_a_state_of_another_version_is_refused() -> None:
    state = make("box").state_dict() | {"version": 99}
    with pytest.raises(SettingError, match=r"state\['version'\] must be 2, got 99"):
        make("box").load_state_dict(state)


def test_catching_up_with_another_worker_equals_having_done_it_all() -> None:
    """Two copies of one optimizer, as two processes on one study have them, take turns."""
    alone = drive(make("mixed"), 14)
    left, right = make("mixed"), make("mixed")
    while len(left.trials) < 14:
        left.ask()
        if len(left.pending) > 1:
            tell(left, left.pending[0])
        order = {trial_id: i for i, trial_id in enumerate(left._history.complete)}
        right.sync(sorted(left.trials, key=lambda t: order.get(t.id, -1)), left.state())
        left, right = right, left
    assert log_of(left) == log_of(alone)


@pytest.mark.parametrize("seed", [-1, 1.5, "0", True])
def test_a_seed_that_cannot_be_says_why(seed: Any) -> None:
    with pytest.raises(SettingError, match="seed must be None or a whole number >= 0"):
        make("box", seed=seed)


@pytest.mark.parametrize("missing", ["rng", "design", "iteration", "fit", "trials", "outcomes", "queue", "log"])
def test_a_state_with_a_part_missing_names_it_and_changes_nothing(missing: str) -> None:
    optimizer = Optimizer({"x": (0.0, 1.0)}, seed=0)
    optimizer.tell(optimizer.ask(), 1.0)
    before = optimizer.state_dict()
    state = {key: value for key, value in before.items() if key != missing}
    with pytest.raises(SettingError, match=rf"state must have '{missing}'"):
        optimizer.load_state_dict(state)
    assert optimizer.state_dict() == before


@pytest.mark.parametrize("state", [None, 5, "state", []])
def test_a_state_is_a_mapping(state: Any) -> None:
    with pytest.raises(SettingError, match="state must be a mapping as state_dict gives it"):
        Optimizer({"x": (0.0, 1.0)}).load_state_dict(state)
