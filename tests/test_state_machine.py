"""Random interleavings of everything a user can do, over random spaces, with random values."""

from __future__ import annotations

import importlib
import json
import math
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from machines import play_machine
from space_strategies import numbers, spaces

import ccgbo
from ccgbo import Categorical, Float, LinearConstraint, Optimizer, Space, Trial

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
refused = st.sampled_from(["text", None, True, [1.0, math.nan], (1.0, -1.0), (1.0, 2.0, 3.0), {"a": 1.0}, 1j])


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
        self.dropped: set[int] = set()
        self.abandoned: set[int] = set()
        self.enqueued: list[int] = []  # in line
        self.changed = False  # whether the space was

    # -- suggestions

    def suggest(self, opt: Optimizer, fixed: Any = None) -> Trial | None:
        before, space = opt.trials, opt.space if fixed is None else opt.space.restricted(fixed)
        try:
            trial = opt.ask(fixed=fixed)
        except ccgbo.SpaceExhaustedError:
            self.assert_exhausted(space, before)
            return None
        except ccgbo.InfeasibleSpaceError:
            assert space.constraints
            assert fixed or self.changed or not before or all(t.origin in ("external", "enqueued") for t in before)
            return None
        COUNTS[trial.origin] += 1
        COUNTS["fixed"] += fixed is not None
        assert space.agrees(trial.params)
        u = space.encode(trial.params)
        if trial.origin != "enqueued":  # what the user wants may lie anywhere in the box
            assert space.feasible(u[None, :])[0]
            assert all(t.params != trial.params for t in before if self.forbids(t))
        return trial

    def forbids(self, trial: Trial) -> bool:
        if trial.dropped or trial.state == "abandoned":
            return False
        return trial.state != "complete" or not self.settings["allow_repeats"]

    def assert_exhausted(self, space: Space, trials: tuple[Trial, ...]) -> None:
        grid = space.grid(limit=200_000)
        if grid is None:
            assert space.conditional, "a continuum is never exhausted, unless it is inactive"
            grid = space.sample(64, np.random.default_rng(0))
        used = [t.params for t in trials if self.forbids(t)]
        assert all(params in used for params in space.decode_rows(grid))

    @rule()
    def ask(self) -> None:
        self.suggest(self.opt)
        self.note_abandoned()

    @rule(n=st.integers(1, 8))
    def ask_for_many(self, n: int) -> None:
        waiting = {trial.id for trial in self.opt.pending if trial.origin == "enqueued"}
        before = self.opt.trials
        try:
            batch = self.opt.ask(n)
        except (ccgbo.SpaceExhaustedError, ccgbo.InfeasibleSpaceError):
            assert self.opt.trials == before
            return
        assert len(batch) == n
        fresh = [trial for trial in batch if trial.id not in waiting]
        assert self.opt.trials[len(before) :] == tuple(fresh)
        self.note_abandoned()

    @rule(data=st.data())
    def ask_with_fixed_values(self, data: st.DataObject) -> None:
        space = self.opt.space
        known = [t.params for t in self.opt.trials if space.outside(t.params) is None]
        if not known:
            return
        point = data.draw(st.sampled_from(known))
        fixed = {name: point[name] for name in data.draw(st.sets(st.sampled_from(sorted(point)), min_size=1))}
        try:
            space.restricted(fixed)
        except ccgbo.InfeasibleSpaceError:
            assert space.constraints
            return
        self.suggest(self.opt, fixed)
        self.note_abandoned()

    @rule(data=st.data())
    def enqueue(self, data: st.DataObject) -> None:
        known = [dict(t.params) for t in self.opt.trials] + [self.point(data)]
        params = data.draw(st.sampled_from(known))
        before = json.dumps(self.opt.state_dict())
        try:
            trial = self.opt.enqueue(params)
        except ccgbo.ParamsError:
            assert self.opt.space.outside(params) is not None
            assert json.dumps(self.opt.state_dict()) == before
            return
        assert trial.params == params and trial.state == "pending"
        self.enqueued.append(trial.id)

    @precondition(lambda self: self.first_in_line())
    @rule()
    def what_is_enqueued_comes_first(self) -> None:
        trial = self.suggest(self.opt)
        gone = self.note_abandoned()
        first = next((i for i in self.enqueued if i not in gone and i not in self.finished()), None)
        if first is not None:
            assert trial is not None and trial.id == first
            self.enqueued.remove(first)

    def first_in_line(self) -> bool:
        queue = self.opt.state_dict()["queue"]
        self.enqueued = [i for i in self.enqueued if i in queue]
        return bool(queue)

    def finished(self) -> set[int]:
        return {t.id for t in self.opt.trials if t.state != "pending"}

    def note_abandoned(self) -> set[int]:
        """An enqueued trial that is no point of the space any more is given up when its turn comes, and logged."""
        gone = {t.id for t in self.opt.trials if t.state == "abandoned"} - self.abandoned
        for i in gone:
            assert self.changed and self.opt.trial(i).origin == "enqueued"
            assert any(e.trial_id == i and "no point of the space" in (e.note or "") for e in self.opt.log())
        self.abandoned |= gone
        return gone

    def point(self, data: st.DataObject) -> dict[str, Any]:
        d = self.opt.space.d
        return self.opt.space.decode(np.array(data.draw(st.lists(st.floats(0.0, 1.0), min_size=d, max_size=d))))

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
    @rule(data=st.data(), value=values, forms=st.sampled_from(["readings", "error"]))
    def tell_several_readings_or_an_error(self, data: st.DataObject, value: float, forms: str) -> None:
        trial = self.waiting(data)
        other = data.draw(values) if forms == "readings" else data.draw(st.sampled_from([0.0, 1e-8, 1.0, 1e150]))
        done = self.opt.tell(trial, [value, other] if forms == "readings" else (value, other), tags=["x"])
        assert done.value is not None
        self.told[trial.id] = done.value

    @precondition(lambda self: self.opt.pending)
    @rule(data=st.data(), value=values)
    def tell_other_settings(self, data: st.DataObject, value: float) -> None:
        """What was really used: another point, perhaps beyond the bounds."""
        trial, used = self.waiting(data), self.point(data)
        for name, p in self.opt.space.items():
            if name in used and not isinstance(p, Categorical) and p.size == 0 and data.draw(st.booleans()):
                used[name] = float(p.high) * 1.5
        try:
            done = self.opt.tell(trial, value, params=used)
        except ccgbo.ParamsError:
            assert self.opt.trial(trial.id) == trial
            return
        assert done.params == used
        self.told[trial.id] = value

    # -- corrections

    def any_of(self, data: st.DataObject, *states: str) -> Trial | None:
        trials = [t for t in self.opt.trials if t.state in states]
        return data.draw(st.sampled_from(trials)) if trials else None

    @rule(data=st.data(), value=st.one_of(values, no_values, st.none()))
    def amend(self, data: st.DataObject, value: float | None) -> None:
        trial = self.any_of(data, "complete", "failed", "abandoned")
        if trial is None:
            return
        done = self.opt.amend(trial, value, failed=value is None, note="amended")
        self.told.pop(trial.id, None)
        self.failed.discard(trial.id)
        self.abandoned.discard(trial.id)
        if done.value is None:
            self.failed.add(trial.id)
        else:
            self.told[trial.id] = done.value
        COUNTS["amended"] += 1

    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        trial = self.any_of(data, "complete", "failed")
        if trial is None or trial.dropped:
            return
        self.opt.drop(trial)
        self.dropped.add(trial.id)

    @precondition(lambda self: self.dropped)
    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        i = data.draw(st.sampled_from(sorted(self.dropped)))
        self.opt.restore(i)
        self.dropped.remove(i)

    @precondition(lambda self: self.opt.pending)
    @rule(data=st.data())
    def abandon(self, data: st.DataObject) -> None:
        trial = self.waiting(data)
        self.opt.abandon(trial)
        self.abandoned.add(trial.id)

    @rule()
    def what_cannot_be_is_refused(self) -> None:
        before = json.dumps(self.opt.state_dict())
        for trial in self.opt.trials[-4:]:
            wrong = [self.opt.restore] if not trial.dropped else [self.opt.drop]
            wrong += [self.opt.abandon, self.tell_one] if trial.state != "pending" else [self.amend_one, self.opt.drop]
            for act in wrong:
                try:
                    act(trial)
                except ccgbo.TellError:
                    continue
                raise AssertionError(f"{act} took {trial}")
        assert json.dumps(self.opt.state_dict()) == before

    def tell_one(self, trial: Trial) -> None:
        self.opt.tell(trial, 1.0)

    def amend_one(self, trial: Trial) -> None:
        self.opt.amend(trial, 1.0)

    @rule(data=st.data())
    def change_space(self, data: st.DataObject) -> None:
        """One parameter another, renamed, gone or new; refused, it leaves everything as it was."""
        before, old = json.dumps(self.opt.state_dict()), self.opt.space
        name = data.draw(st.sampled_from(old.names))
        kind = data.draw(st.sampled_from(["change", "change", "rename", "remove", "fix", "add"]))
        try:
            new, how = changed(old, name, kind, data.draw(st.booleans()))
            self.opt.change_space(Space(new, constraints=old.constraints), **how)
        except (ccgbo.SpaceError, OverflowError):
            assert json.dumps(self.opt.state_dict()) == before and self.opt.space is old
            return
        self.changed = True
        COUNTS["space changes"] += 1
        self.assert_next_is_that_of_a_new_optimizer()

    def another(self) -> Optimizer:
        """An optimizer of the same space and settings."""
        return Optimizer(self.opt.space, **self.settings)

    def assert_next_is_that_of_a_new_optimizer(self) -> None:
        """With the same trials and state, on a copy: what is looked at is not moved."""
        state = self.opt.state_dict()
        order = {i: place for place, i in enumerate(state["outcomes"])}
        new, copy = self.another(), self.another()
        new.sync(sorted(self.opt.trials, key=lambda t: order.get(t.id, -1)), self.opt.state())
        copy.load_state_dict({**state, "queue": []})
        assert self.suggest(new) == self.suggest(copy)

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
        known = [t.params for t in self.opt.trials if encodes(self.opt.space, t.params)]
        params = data.draw(st.sampled_from(known)) if known and data.draw(st.booleans()) else self.point(data)
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
        other = self.another()
        other.load_state_dict(json.loads(text))
        assert json.dumps(other.state_dict()) == text
        ours, theirs = self.suggest(self.opt), self.suggest(other)
        assert ours == theirs
        assert self.opt.trials == other.trials
        self.opt = other
        self.note_abandoned()

    @rule()
    def look(self) -> None:
        before = json.dumps(self.opt.state_dict())
        repr(self.opt.result())
        seen = {i for i in self.told if i not in self.dropped and i not in self.opt.outside}
        assert {t.id for t in self.opt.observations} == seen
        if seen:
            assert self.opt.best_trial.id not in self.dropped
            best = self.opt.recommend()
            assert best.trial_id in seen
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
        assert {i for i, t in states.items() if t.state == "abandoned"} == self.abandoned
        assert {i for i, t in states.items() if t.dropped} == self.dropped
        assert sorted(states) == list(range(len(states)))

    @invariant()
    def no_two_points_are_under_evaluation_twice(self) -> None:
        if self.changed:  # without one of its parameters two points may be the same
            return
        suggested = [t for t in self.opt.pending if t.origin in ("design", "model")]
        waiting = [tuple(sorted(t.params.items(), key=str)) for t in suggested]
        assert len(set(map(repr, waiting))) == len(waiting)


def encodes(space: Space, params: Any) -> bool:
    try:
        space.encode(params)
    except ccgbo.ParamsError:
        return False
    return True


def changed(old: Space, name: str, kind: str, more: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters of a space with one of them changed, and how that is meant."""
    table, p = dict(old), old[name]
    if kind == "rename":
        return {(f"{name}_" if k == name else k): v for k, v in table.items()}, {"rename": {name: f"{name}_"}}
    if kind in ("remove", "fix") and len(table) > 1:
        del table[name]
        return table, {"marginal": [name]} if kind == "remove" else {"fixed": {name: p.from_unit(0.5)}}
    if kind == "add":
        return {**table, f"new{len(table)}": Float(0.0, 1.0)}, {"defaults": {f"new{len(table)}": 0.25 if more else 1.5}}
    if isinstance(p, Categorical):
        table[name] = replace(p, choices=[*p.choices, f"c{p.size}"] if more else p.choices[:-1])
    else:
        middle = p.from_unit(0.5)
        table[name] = replace(p, high=p.high + (p.high - p.low)) if more else replace(p, high=middle)
    return table, {}


def test_two_thousand_random_steps_raise_nothing_undocumented() -> None:
    COUNTS.clear()
    play_machine(Session, examples=70, steps=40)
    assert COUNTS["steps"] >= 2000
    assert COUNTS["model"] >= 50, COUNTS  # not only initial designs
    assert all(COUNTS[what] for what in ("fixed", "enqueued", "amended", "space changes")), COUNTS


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
