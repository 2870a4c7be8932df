"""Random interleavings of everything that can be done to a study, over two handles of one file and a fresh one."""

from __future__ import annotations

import math
import shutil
import sqlite3
import tempfile
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from machines import play_machine

import ccgbo
from ccgbo import Study, Trial
from ccgbo.revisions import carry_over

COUNTS: Counter[str] = Counter()
FAST: dict[str, Any] = {
    "n_initial": 3,
    "tuning": {"n_candidates": 16, "n_local": 4, "n_starts": 1, "search_steps": 2, "max_iterations": 8},
}
X = [(0.0, 1.0), (0.0, 2.0), (0.25, 0.5), (-1.0, 1.0)]
K = [["a", "b"], ["a", "b", "c"], ["a"], ["c", "a"]]
N = [(1, 5), (2, 9)]

values = st.floats(-10.0, 10.0)
units = st.floats(0.0, 1.0)


class Desk(RuleBasedStateMachine):
    """Two people at one study, and what they know of it."""

    @initialize(seed=st.integers(0, 2**31), direction=st.sampled_from(["maximize", "minimize"]))
    def begin(self, seed: int, direction: Any) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "study.db"
        self.space: dict[str, Any] = {"x": X[0], "y": (0.0, 1.0), "k": K[0]}
        first = Study(self.path, self.space, seed=seed, direction=direction, **FAST)
        self.handles = [first, Study(self.path)]
        self.known: dict[int, Trial] = {}
        self.waiting: list[int] = []  # in line, in the order in which they are given out
        self.n_events = 0

    def teardown(self) -> None:
        if hasattr(self, "handles"):
            for handle in self.handles:
                handle.close()
            shutil.rmtree(self.folder)

    # -- what is drawn

    def handle(self, data: st.DataObject) -> Study:
        return data.draw(st.sampled_from(self.handles))

    def trial(self, data: st.DataObject, *states: str, dropped: bool | None = None) -> Trial | None:
        found = [t for t in self.known.values() if t.state in states and dropped in (None, t.dropped)]
        return data.draw(st.sampled_from(found)) if found else None

    def by(self, data: st.DataObject, trial: Trial) -> Any:
        return trial if data.draw(st.booleans()) else trial.id

    def point(self, data: st.DataObject) -> dict[str, Any]:
        space = ccgbo.Space(self.space)
        u = data.draw(st.lists(units, min_size=space.d, max_size=space.d))
        return space.decode(space.snap(np.array([u]))[0])

    def expect(self, new: Trial, known: Trial, *, logged: bool = True) -> None:
        self.known[known.id] = known
        assert new.to_dict() == known.to_dict()
        self.n_events += logged

    # -- ask

    def fresh(self) -> Study:
        """A handle that knows nothing yet, on a copy of the file."""
        path = self.folder / f"copy-{COUNTS['copies']}.db"
        COUNTS["copies"] += 1
        with closing(sqlite3.connect(self.path)) as old, closing(sqlite3.connect(path)) as new:
            old.backup(new)
        return Study(path)

    @rule(data=st.data(), n=st.integers(1, 3), hold=st.sampled_from([(), (), ("k",), ("x",), ("k", "n"), ("y", "z")]))
    def ask(self, data: st.DataObject, n: int, hold: tuple[str, ...]) -> None:
        """A handle that saw it all come in and one that reads it all now make the same suggestions."""
        fixed = {name: value for name, value in self.point(data).items() if name in hold}
        with self.fresh() as fresh:
            expected = fresh.ask(n, fixed=fixed or None)
            states = {t.id: t.state for t in fresh.trials}
        given = self.handle(data).ask(n, fixed=fixed or None)
        assert given == expected
        assert all(t.params[name] == value for t in given for name, value in fixed.items())
        for i in [i for i in self.waiting if states[i] == "abandoned"]:  # no point of the space any more
            assert ccgbo.Space(self.space).outside(self.known[i].params) is not None
            self.known[i] = replace(self.known[i], state="abandoned")
            self.waiting.remove(i)
            self.n_events += 1
        agreeing = [i for i in self.waiting if all(self.known[i].params[name] == v for name, v in fixed.items())]
        again = agreeing[:n]
        assert [t.id for t in given[: len(again)]] == again
        for trial in given[len(again) :]:
            COUNTS[trial.origin] += 1
            assert trial.id not in self.known
            assert ccgbo.Space(self.space).outside(trial.params) is None
            self.known[trial.id] = trial
        self.waiting = [i for i in self.waiting if i not in again]

    @rule(data=st.data(), n=st.integers(1, 2))
    def enqueue(self, data: st.DataObject, n: int) -> None:
        points = [self.point(data) for _ in range(n)]
        for trial, point in zip(self.handle(data).enqueue(points), points, strict=True):
            assert (trial.params, trial.origin, trial.state) == (point, "enqueued", "pending")
            self.known[trial.id] = trial
            self.waiting = sorted([*self.waiting, trial.id], key=self.place_in_line)
            self.n_events += 1

    def place_in_line(self, trial_id: int) -> tuple[bool, int]:
        return self.known[trial_id].origin != "enqueued", trial_id

    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        if trial := self.trial(data, "pending"):
            waits = trial.id in self.waiting
            assert self.handle(data).release(trial.id) == ([] if waits else [trial.id])
            self.waiting = sorted({*self.waiting, trial.id}, key=self.place_in_line)

    # -- outcomes

    @rule(data=st.data(), value=values, readings=st.integers(0, 3))
    def tell(self, data: st.DataObject, value: float, readings: int) -> None:
        if trial := self.trial(data, "pending"):
            several = [value, value + 1.0, value - 1.0][:readings]
            told: Any = several if readings > 1 else (value, 0.5) if readings else value
            new = self.handle(data).tell(self.by(data, trial), told)
            mean = math.fsum(several) / len(several) if readings > 1 else value
            outcome = {"value": mean, "readings": tuple(several) if readings > 1 else ()}
            noise = 0.25 if readings == 1 else None
            self.expect(new, replace(trial, state="complete", noise_variance=noise, **outcome), logged=False)
            self.leave(trial)

    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        if trial := self.trial(data, "pending"):
            new = self.handle(data).tell(trial.id, failed=True, error="boom")
            self.expect(new, replace(trial, state="failed", error="boom"), logged=False)
            self.leave(trial)

    @rule(data=st.data(), value=values, x=st.floats(-3.0, 3.0))
    def tell_what_was_used(self, data: st.DataObject, value: float, x: float) -> None:
        if (trial := self.trial(data, "pending")) and trial.params["k"] in self.space["k"]:
            new = self.handle(data).tell(self.by(data, trial), value, params={"x": x}, note="used")
            params, note = {**trial.params, "x": x}, {**trial.attributes, "note": "used"}
            changed = params != trial.params
            self.expect(
                new, replace(trial, state="complete", value=value, params=params, attributes=note), logged=changed
            )
            self.leave(trial)

    @rule(data=st.data(), value=values)
    def tell_from_elsewhere(self, data: st.DataObject, value: float) -> None:
        point = self.point(data)
        new = self.handle(data).tell(point, value)
        assert new.id not in self.known
        known = Trial(id=new.id, params=point, state="complete", value=value, origin="external")
        self.expect(new, known, logged=False)

    def leave(self, trial: Trial) -> None:
        self.waiting = [i for i in self.waiting if i != trial.id]

    # -- by hand

    @rule(data=st.data(), value=st.one_of(st.none(), values))
    def amend(self, data: st.DataObject, value: float | None) -> None:
        if trial := self.trial(data, "complete", "failed", "abandoned"):
            COUNTS["amended"] += 1
            handle, key = self.handle(data), self.by(data, trial)
            if value is None:
                new = handle.amend(key, failed=True, error="late")
                outcome: dict[str, Any] = {"state": "failed", "value": None, "error": "late"}
            else:
                new = handle.amend(key, value)
                outcome = {"state": "complete", "value": value, "error": None}
            known = replace(trial, **outcome, readings=(), noise_variance=None)
            self.expect(new, known, logged=known != trial)

    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        if trial := self.trial(data, "complete", "failed", dropped=False):
            COUNTS["dropped"] += 1
            self.expect(self.handle(data).drop(self.by(data, trial)), replace(trial, dropped=True))

    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        if trial := self.trial(data, "complete", "failed", dropped=True):
            self.expect(self.handle(data).restore(self.by(data, trial)), replace(trial, dropped=False))

    @rule(data=st.data())
    def abandon(self, data: st.DataObject) -> None:
        if trial := self.trial(data, "pending"):
            COUNTS["abandoned"] += 1
            self.expect(self.handle(data).abandon(self.by(data, trial)), replace(trial, state="abandoned"))
            self.leave(trial)

    @rule(data=st.data(), note=st.sampled_from(["oven 3", None]))
    def annotate(self, data: st.DataObject, note: str | None) -> None:
        if trial := self.trial(data, "pending", "complete", "failed", "abandoned"):
            rest = {name: value for name, value in trial.attributes.items() if name != "note"}
            known = replace(trial, attributes=rest if note is None else {**rest, "note": note})
            self.expect(self.handle(data).annotate(self.by(data, trial), note=note), known, logged=known != trial)

    # -- the space

    def change(self, data: st.DataObject, space: dict[str, Any], **how: Any) -> None:
        COUNTS["changes"] += 1
        done = self.handle(data).change_space(space, **how)
        self.known = {i: carry_over(trial, done) for i, trial in self.known.items()}
        self.space = space
        self.n_events += not done.nothing

    @rule(data=st.data(), x=st.sampled_from(X), k=st.sampled_from(K))
    def change_bounds_and_choices(self, data: st.DataObject, x: Any, k: Any) -> None:
        self.change(data, {**self.space, "x": x, "k": k})

    @rule(data=st.data())
    def change_a_name(self, data: st.DataObject) -> None:
        old, new = ("y", "z") if "y" in self.space else ("z", "y")
        self.change(data, {new if n == old else n: p for n, p in self.space.items()}, rename={old: new})

    @precondition(lambda self: "n" not in self.space)
    @rule(data=st.data(), n=st.sampled_from(N))
    def add_a_parameter(self, data: st.DataObject, n: Any) -> None:
        self.change(data, {**self.space, "n": n}, defaults={"n": 3})

    @precondition(lambda self: "n" in self.space)
    @rule(data=st.data())
    def remove_a_parameter(self, data: st.DataObject) -> None:
        self.change(data, {name: p for name, p in self.space.items() if name != "n"}, marginal=["n"])

    # -- handles

    @rule(i=st.integers(0, 1))
    def reopen(self, i: int) -> None:
        self.handles[i].close()
        self.handles[i] = Study(self.path)

    @invariant()
    def every_handle_sees_what_was_done_and_nothing_else(self) -> None:
        COUNTS["steps"] += 1
        for handle in self.handles:
            assert [t.to_dict() for t in handle.trials] == [self.known[i].to_dict() for i in range(len(self.known))]
            assert handle.space == ccgbo.Space(self.space)
        assert len(self.handles[0].log()) == self.n_events
        (info,) = ccgbo.list_studies(self.path)
        in_model = [t.value for t in self.known.values() if t.in_model and t.value is not None]
        pick = max if info.direction == "maximize" else min
        assert info.best_value == (pick(in_model) if in_model else None)


def test_two_thousand_random_steps_over_two_handles_lose_nothing_and_resume_exactly() -> None:
    COUNTS.clear()
    play_machine(Desk, examples=68, steps=45)
    assert COUNTS["steps"] >= 2000
    assert min(COUNTS[what] for what in ("model", "amended", "dropped", "abandoned", "changes")) >= 20
