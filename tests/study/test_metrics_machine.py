"""Random interleavings of what can be done to a study with named metrics, over two handles of one file."""

from __future__ import annotations

import math
import shutil
import sqlite3
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from machines import play_machine

import ccgbo
from ccgbo import AtLeast, AtMost, Between, Study, Trial
from ccgbo.metrics import feasible, metrics_of
from ccgbo.study.transfer import export_study, import_file

COUNTS: Counter[str] = Counter()
SPACE: dict[str, Any] = {"x": (0.0, 1.0), "k": ["a", "b"]}
FAST: dict[str, Any] = {
    "n_initial": 2,
    "tuning": {"n_candidates": 16, "n_local": 4, "n_starts": 1, "search_steps": 2, "max_iterations": 8},
}
NAMES = ("a", "b", "c")
GOALS: list[dict[str, Any]] = [
    {"objectives": {"a": "maximize"}, "outcome_constraints": {}},
    {"objectives": {"a": "minimize"}, "outcome_constraints": {"b": AtMost(0.0)}},
    {"objectives": {"a": "maximize"}, "outcome_constraints": {"b": Between(-5.0, 5.0), "c": AtLeast(-1.0)}},
    {"objectives": {"a": "maximize", "b": "minimize"}, "outcome_constraints": {}},
    {"objectives": {"b": "minimize", "a": "maximize"}, "outcome_constraints": {"c": AtMost(2.0)}},
    {"objectives": {"c": "maximize"}, "outcome_constraints": {"a": AtLeast(0.0), "c": AtMost(9.0)}},
]
numbers = st.one_of(st.floats(-10.0, 10.0), st.sampled_from([1e300, -1e300, 1e-300, 0.1 + 0.2]))
told = st.one_of(numbers, st.lists(st.floats(-5.0, 5.0), min_size=2, max_size=3), st.tuples(numbers, st.just(0.5)))
gaps = st.sampled_from([None, math.nan, math.inf])
outcomes = st.dictionaries(st.sampled_from(NAMES), st.one_of(told, told, told, gaps), min_size=1)

Seen = dict[str, tuple[float, tuple[float, ...], float | None]]  # by metric: value, readings, variance


def seen(trial: Trial) -> Seen:
    return {name: (m.value, m.readings, m.noise_variance) for name, m in trial.metrics.items()}


def read(value: Any) -> tuple[float, tuple[float, ...], float | None] | None:
    """What a metric is after it was told; None where that is nothing."""
    if isinstance(value, list):
        return math.fsum(value) / len(value), tuple(value), None
    if isinstance(value, tuple):
        return value[0], (), value[1] ** 2
    return (value, (), None) if value is not None and math.isfinite(value) else None


class Lab(RuleBasedStateMachine):
    """Two people at one study that measures up to three things, and what they know of it."""

    @initialize(seed=st.integers(0, 2**31), goal=st.sampled_from(GOALS))
    def begin(self, seed: int, goal: dict[str, Any]) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "study.db"
        self.goal = goal
        self.handles = [Study(self.path, SPACE, seed=seed, **goal, **FAST), Study(self.path)]
        self.known: dict[int, Seen] = {}
        self.states: dict[int, str] = {}
        self.dropped: set[int] = set()

    def teardown(self) -> None:
        if hasattr(self, "handles"):
            for handle in self.handles:
                handle.close()
            shutil.rmtree(self.folder)

    def handle(self, data: st.DataObject) -> Study:
        return data.draw(st.sampled_from(self.handles))

    def one(self, data: st.DataObject, *states: str) -> int | None:
        found = [i for i, state in self.states.items() if state in states]
        return data.draw(st.sampled_from(found)) if found else None

    @property
    def names(self) -> tuple[str, ...]:
        return metrics_of(**self.goal).names

    @rule(data=st.data(), n=st.integers(1, 3))
    def ask(self, data: st.DataObject, n: int) -> None:
        """A handle that saw it all come in and one that reads it all now make the same suggestions."""
        copy = self.folder / f"copy-{COUNTS['copies']}.db"
        COUNTS["copies"] += 1
        with closing(sqlite3.connect(self.path)) as old, closing(sqlite3.connect(copy)) as new:
            old.backup(new)
        with Study(copy) as fresh:
            expected = fresh.ask(n)
        assert self.handle(data).ask(n) == expected
        for trial in expected:
            COUNTS[trial.origin] += 1
            self.known[trial.id], self.states[trial.id] = {}, "pending"

    def told(self, trial: Trial, before: Seen, outcome: dict[str, Any]) -> None:
        after = before | {name: read(value) for name, value in outcome.items()}
        self.known[trial.id] = {name: m for name, m in after.items() if m is not None}
        self.states[trial.id] = "complete" if self.known[trial.id] else "failed"
        assert trial.state == self.states[trial.id]

    @rule(data=st.data(), outcome=outcomes)
    def tell_all_that_are_open(self, data: st.DataObject, outcome: dict[str, Any]) -> None:
        while "pending" in self.states.values():
            self.tell_one(data, outcome)

    @rule(data=st.data(), outcome=outcomes)
    def tell(self, data: st.DataObject, outcome: dict[str, Any]) -> None:
        self.tell_one(data, outcome)

    def tell_one(self, data: st.DataObject, outcome: dict[str, Any]) -> None:
        mine = {name: value for name, value in outcome.items() if name in self.names}
        if (i := self.one(data, "pending")) is not None:
            self.told(self.handle(data).tell(i, mine), {}, mine)

    @rule(data=st.data(), outcome=outcomes)
    def amend(self, data: st.DataObject, outcome: dict[str, Any]) -> None:
        mine = {name: value for name, value in outcome.items() if name in self.names}
        if mine and (i := self.one(data, "complete", "failed")) is not None:
            COUNTS["amended"] += 1
            self.told(self.handle(data).amend(i, mine), self.known[i], mine)

    @rule(data=st.data())
    def drop_or_restore(self, data: st.DataObject) -> None:
        if (i := self.one(data, "complete", "failed")) is not None:
            handle = self.handle(data)
            (handle.restore if i in self.dropped else handle.drop)(i)
            self.dropped ^= {i}

    @rule(data=st.data(), goal=st.sampled_from(GOALS))
    def change(self, data: st.DataObject, goal: dict[str, Any]) -> None:
        COUNTS["changes"] += 1
        self.handle(data).change_metrics(**goal)
        self.goal = goal

    @rule(data=st.data(), kind=st.sampled_from(["csv", "json"]))
    def take_the_table_back(self, data: st.DataObject, kind: str) -> None:
        export_study(self.handle(data), self.folder / f"table.{kind}")
        plan = import_file(self.handle(data), self.folder / f"table.{kind}", amend=True)
        assert not plan.trials and not plan.refused

    @rule(i=st.integers(0, 1))
    def reopen(self, i: int) -> None:
        self.handles[i].close()
        self.handles[i] = Study(self.path, **self.goal)

    @invariant()
    def every_handle_sees_what_was_done_and_nothing_else(self) -> None:
        COUNTS["steps"] += 1
        metrics = metrics_of(**self.goal)
        for handle in self.handles:
            trials = handle.trials
            assert handle.metrics == metrics
            assert {t.id: seen(t) for t in trials} == self.known
            assert {t.id: t.state for t in trials} == self.states
            assert {t.id for t in trials if t.dropped} == self.dropped
            for trial in trials:
                expected = None if metrics.several else trial.values.get(metrics.objective)
                assert trial.value == expected
        (info,) = ccgbo.list_studies(self.path)
        values = {i: {n: m[0] for n, m in s.items()} for i, s in self.known.items() if i not in self.dropped}
        allowed = [v for i, v in values.items() if self.states[i] == "complete" and feasible(v, metrics)]
        if metrics.several:
            whole = [v for v in allowed if all(name in v for name in metrics.objectives)]
            assert info.n_front == sum(not any(beats(b, v, metrics) for b in whole) for v in whole)
        else:
            found = [metrics.sign(metrics.objective) * v[metrics.objective] for v in allowed if metrics.objective in v]
            best = None if info.best_value is None else metrics.sign(metrics.objective) * info.best_value
            assert best == max(found, default=None)


def beats(one: dict[str, float], other: dict[str, float], metrics: ccgbo.Metrics) -> bool:
    gains = [metrics.sign(name) * (one[name] - other[name]) for name in metrics.objectives]
    return min(gains) >= 0.0 and max(gains) > 0.0


def test_a_thousand_random_steps_with_metrics_lose_nothing_and_resume_exactly() -> None:
    COUNTS.clear()
    play_machine(Lab, examples=44, steps=30, shrink=False)
    assert COUNTS["steps"] >= 1000
    assert all(COUNTS[what] for what in ("model", "amended", "changes")), COUNTS
