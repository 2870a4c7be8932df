"""Random interleavings of everything a user can do, over random spaces, with random values."""

from __future__ import annotations

import importlib
import json
import math
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from space_strategies import numbers, spaces

import ccgbo
from ccgbo import Categorical, LinearConstraint, Optimizer, Space, Trial

COUNTS: Counter[str] = Counter()
FAST: dict[str, Any] = {
    "tuning": {"n_candidates": 32, "n_local": 8, "n_starts": 1, "search_steps": 4, "max_iterations": 15},
}
ACQUISITIONS = ["ucb", "ei", "logei", "ts", "mes", "jes"]

values = st.one_of(
    st.floats(-10.0, 10.0),
    st.sampled_from([0.0, -0.0, 1.0, 1e300, -1e300, 1.7e308, -1.7e308, 1e-300, 5e-324, -5e-324, 1e12]),
)
no_values = st.sampled_from([math.nan, math.inf, -math.inf])
refused = st.sampled_from(["text", None, True, [1.0, 2.0], 1j])


@st.composite
def constrained_spaces(draw: st.DrawFn) -> Space:
    """Any space, sometimes with a linear constraint that leaves most of it, or a predicate that drops a third."""
    space = draw(st.one_of(spaces(), st.builds(lambda p: Space({"only": p}), numbers())))
    kind = draw(st.sampled_from(["none", "none", "linear", "predicate"]))
    name = next((n for n, p in space.items() if not isinstance(p, Categorical) and p.size != 1), None)
    if kind == "linear" and name is not None:
        p = space[name]
        bound = float(p.low) + 0.8 * float(p.high - p.low)
        return Space(dict(space), constraints=LinearConstraint({name: 1.0}, upper=bound))
    if kind == "predicate":
        return Space(dict(space), constraints=lambda params: len(json.dumps(params)) % 3 != 0)
    return space


class Session(RuleBasedStateMachine):
    """A user, an optimizer, and a record of what the user knows."""

    @initialize(
        space=constrained_spaces(),
        acquisition=st.sampled_from(ACQUISITIONS),
        preset=st.sampled_from(["default", "paper"]),
        outcome_transform=st.sampled_from(["standardize", "robust"]),
        pending=st.sampled_from(["kriging_believer", "fantasy"]),
        direction=st.sampled_from(["maximize", "minimize"]),
        allow_repeats=st.booleans(),
        n_initial=st.integers(1, 4),
        seed=st.integers(0, 2**31),
    )
    def begin(self, space: Space, **chosen: Any) -> None:
        self.space, self.settings = space, {**FAST, **chosen}
        self.opt = Optimizer(space, **self.settings)
        self.told: dict[int, float] = {}  # finite values by trial
        self.failed: set[int] = set()

    # -- suggestions

    def suggest(self, opt: Optimizer) -> Trial | None:
        before = opt.trials
        try:
            trial = opt.ask()
        except ccgbo.SpaceExhaustedError:
            self.assert_exhausted(before)
            return None
        except ccgbo.InfeasibleSpaceError:
            assert self.space.constraints
            assert not before or all(t.origin == "external" for t in before)
            return None
        COUNTS[trial.origin] += 1
        u = self.space.encode(trial.params)
        assert self.space.feasible(u[None, :])[0]
        assert all(t.params != trial.params for t in before if self.forbids(t))
        return trial

    def forbids(self, trial: Trial) -> bool:
        return trial.state != "complete" or not self.settings["allow_repeats"]

    def assert_exhausted(self, trials: tuple[Trial, ...]) -> None:
        grid = self.space.grid(limit=200_000)
        assert grid is not None, "a continuum is never exhausted"
        used = [t.params for t in trials if self.forbids(t)]
        assert all(params in used for params in self.space.decode_rows(grid))

    @rule()
    def ask(self) -> None:
        self.suggest(self.opt)

    @rule(n=st.integers(1, 8))
    def ask_for_many(self, n: int) -> None:
        before = self.opt.trials
        try:
            batch = self.opt.ask(n)
        except (ccgbo.SpaceExhaustedError, ccgbo.InfeasibleSpaceError):
            return  # what was suggested until then is pending, and checked by the invariants
        assert len(batch) == n
        assert self.opt.trials == (*before, *batch)

    # -- outcomes

    def waiting(self, data: st.DataObject) -> Trial:
        return data.draw(st.sampled_from(self.opt.pending))

    @precondition(lambda self: self.opt.pending)
    @rule(data=st.data(), value=values)
    def tell(self, data: st.DataObject, value: float) -> None:
        trial = self.waiting(data)
        noise = data.draw(st.sampled_from([None, None, 0.0, 1e-4, 1e300]))
        self.opt.tell(trial if data.draw(st.booleans()) else trial.id, value, noise_variance=noise)
        self.told[trial.id] = value

    @precondition(lambda self: self.opt.pending)
    @rule(data=st.data(), value=st.one_of(st.none(), no_values))
    def fail(self, data: st.DataObject, value: float | None) -> None:
        trial = self.waiting(data)
        done = self.opt.tell(trial, failed=True) if value is None else self.opt.tell(trial, value)
        assert done.state == "failed"
        self.failed.add(trial.id)

    @rule(data=st.data(), value=values, repeat=st.integers(1, 3))
    def tell_unknown_data(self, data: st.DataObject, value: float, repeat: int) -> None:
        """A point from elsewhere, or one that is known already, perhaps several times."""
        u = data.draw(st.lists(st.floats(0.0, 1.0), min_size=self.space.d, max_size=self.space.d))
        known = [t.params for t in self.opt.trials]
        params = (
            data.draw(st.sampled_from(known)) if known and data.draw(st.booleans()) else self.space.decode(np.array(u))
        )
        for trial in self.opt.tell_many([params] * repeat, [value] * repeat):
            self.told[trial.id] = value

    @precondition(lambda self: self.opt.pending)
    @rule(data=st.data(), value=refused)
    def tell_nonsense(self, data: st.DataObject, value: Any) -> None:
        trial, before = self.waiting(data), json.dumps(self.opt.state_dict())
        for target, number in ((trial, value), (10**9, 1.0), ({"no such": 1}, 1.0), ({}, 1.0)):
            try:
                self.opt.tell(target, number)  # type: ignore[arg-type]
            except (ccgbo.TellError, ccgbo.ParamsError, ccgbo.UnsupportedError):
                continue
            raise AssertionError(f"{target} took {number}")
        assert json.dumps(self.opt.state_dict()) == before

    # -- state

    @rule()
    def save_and_load(self) -> None:
        text = json.dumps(self.opt.state_dict(), allow_nan=False)
        other = Optimizer(self.space, **self.settings)
        other.load_state_dict(json.loads(text))
        assert json.dumps(other.state_dict()) == text
        ours, theirs = self.suggest(self.opt), self.suggest(other)
        assert ours == theirs
        self.opt = other

    @rule()
    def look(self) -> None:
        before = json.dumps(self.opt.state_dict())
        repr(self.opt.result())
        if self.told:
            best = self.opt.recommend()
            assert math.isfinite(best.mean)
            assert math.isfinite(best.std)
            assert all(0.1 <= row.credit <= 1.0 and math.isfinite(row.score) for row in self.opt.credits())
        assert json.dumps(self.opt.state_dict()) == before

    # -- what always holds

    @invariant()
    def nothing_is_lost(self) -> None:
        COUNTS["steps"] += 1
        states = {t.id: t for t in self.opt.trials}
        assert {i: t.value for i, t in states.items() if t.state == "complete"} == self.told
        assert {i for i, t in states.items() if t.state == "failed"} == self.failed
        assert sorted(states) == list(range(len(states)))

    @invariant()
    def no_two_points_are_under_evaluation_twice(self) -> None:
        waiting = [tuple(sorted(t.params.items(), key=str)) for t in self.opt.pending]
        assert len(set(map(repr, waiting))) == len(waiting)


def test_two_thousand_random_steps_raise_nothing_undocumented() -> None:
    COUNTS.clear()
    run_state_machine_as_test(
        Session,
        settings=settings(
            max_examples=70,
            stateful_step_count=40,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert COUNTS["steps"] >= 2000
    assert COUNTS["model"] >= 200  # not only initial designs


# -- the fuzz script


@pytest.fixture
def fuzz(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent / "benchmarks"))
    return importlib.import_module("fuzz")


def test_the_fuzz_script_says_what_it_tried(
    fuzz: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["fuzz.py", "--minutes", "0", "--seed", "5"])
    assert fuzz.main() == 0
    assert capsys.readouterr().out.startswith("1 runs, ")


def test_the_fuzz_script_says_how_to_repeat_a_failure(
    fuzz: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def forgetful(self: Optimizer, trial: Trial, *_: Any, **__: Any) -> Trial:
        del self._history._pending[trial.id]  # a tell that loses the value
        return trial

    monkeypatch.setattr(Optimizer, "tell", forgetful)
    monkeypatch.setattr(sys, "argv", ["fuzz.py", "--minutes", "1", "--seed", "5"])
    assert fuzz.main() == 1
    assert "repeat: python benchmarks/fuzz.py --seed 5 --run 0" in capsys.readouterr().out
