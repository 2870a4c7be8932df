"""Random interleavings of everything a user can do where metrics have names: objectives, bounds, and gaps in both."""

from __future__ import annotations

import json
import math
from typing import Any

import hypothesis.strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule
from machines import play_machine
from test_state_machine import COUNTS, FAST, Session, constrained_spaces, no_values, values

import ccgbo
from ccgbo import AtLeast, AtMost, Between, Optimizer, Space, Trial
from ccgbo.metrics import feasible, metrics_of

NAMES = ("a", "b", "c d", "ü")
ENDS = [-1.0, 0.0, 0.5, 1e300, -1e300, 1e-300]

directions = st.sampled_from(["maximize", "minimize"])
bounds = st.one_of(
    st.builds(AtMost, st.sampled_from(ENDS)),
    st.builds(AtLeast, st.sampled_from(ENDS)),
    st.builds(lambda low, width: Between(low, low + width), st.sampled_from(ENDS[:3]), st.sampled_from([1e-9, 5.0])),
)
told = st.one_of(
    values, values, st.lists(st.floats(-5.0, 5.0), min_size=2, max_size=3), st.tuples(values, st.just(0.5))
)
measured = st.dictionaries(st.sampled_from(NAMES), st.one_of(told, told, told, no_values, st.none()), max_size=4)


@st.composite
def goals(draw: st.DrawFn) -> dict[str, Any]:
    """One to three objectives and up to three bounds, of the same metrics or of others."""
    names = draw(st.permutations(NAMES))
    m, k = draw(st.integers(1, 3)), draw(st.integers(0, 3))
    constrained = draw(st.permutations(NAMES))[:k]
    return {
        "objectives": {name: draw(directions) for name in names[:m]},
        "outcome_constraints": {name: draw(bounds) for name in constrained},
    }


def number(value: Any) -> float | None:
    """What a metric is after it was told; None where that is nothing."""
    if isinstance(value, list):
        return math.fsum(value) / len(value)
    value = value[0] if isinstance(value, tuple) else value
    return value if value is not None and math.isfinite(value) else None


class Lab(Session):
    """A user who measures several things, an optimizer, and a record of what the user knows."""

    @initialize(
        space=constrained_spaces(),
        goal=goals(),
        preset=st.sampled_from(["default", "paper"]),
        field=st.sampled_from(["knn", "knn-scaled", None]),
        noise=st.sampled_from(["unknown", "none"]),
        outcome_transform=st.sampled_from(["standardize", "robust"]),
        pending=st.sampled_from(["kriging_believer", "fantasy"]),
        allow_repeats=st.booleans(),
        n_initial=st.integers(1, 3),
        cheap=st.booleans(),
        seed=st.integers(0, 2**31),
    )
    def begin(self, space: Space, goal: dict[str, Any], field: str | None, cheap: bool, **chosen: Any) -> None:
        several = len(goal["objectives"]) > 1
        self.settings = {**FAST, **chosen, "credit": field is not None and {"field": field}}
        if several and (cheap or chosen["preset"] == "paper"):
            self.settings["acquisition"] = "scalarized" if cheap else "ehvi"
        self.space, self.opt = space, Optimizer(space, **goal, **self.settings)
        self.told: dict[int, Any] = {}  # by trial what was measured, by metric
        self.failed, self.dropped, self.abandoned = set(), set(), set()
        self.enqueued, self.changed = [], False

    def mine(self, outcome: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in outcome.items() if name in self.opt.metrics.names}

    def note(self, trial: Trial, outcome: dict[str, Any]) -> None:
        after = self.told.pop(trial.id, {}) | {name: number(value) for name, value in outcome.items()}
        known = {name: value for name, value in after.items() if value is not None}
        for group in (self.failed, self.abandoned):
            group.discard(trial.id)
        if known:
            self.told[trial.id] = known
        else:
            self.failed.add(trial.id)

    # -- outcomes

    @precondition(lambda self: self.opt.pending)
    @rule(data=st.data(), outcome=measured)
    def tell(self, data: st.DataObject, outcome: dict[str, Any]) -> None:
        mine = self.mine(outcome)
        alone = [name for name, value in mine.items() if isinstance(value, float)]
        noise = data.draw(st.sampled_from([None, None, *({name: 1e-4} for name in alone)]))
        self.note(self.opt.tell(self.waiting(data), mine, noise_variance=noise), mine)

    @precondition(lambda self: self.opt.pending)
    @rule(data=st.data(), outcome=measured)
    def tell_several_readings_or_an_error(self, data: st.DataObject, outcome: dict[str, Any]) -> None:
        """Once more: without outcomes there is nothing to model."""
        mine = self.mine(outcome)
        self.note(self.opt.tell(self.waiting(data).id, mine, tags=["x"]), mine)

    @rule(data=st.data())
    def evaluate(self, data: st.DataObject) -> None:
        """Ask and tell all that is measured: the model's turn comes soon."""
        trial = self.suggest(self.opt)
        self.note_abandoned()
        if trial is not None:
            outcome = {name: data.draw(values) for name in self.opt.metrics.names}
            self.note(self.opt.tell(trial, outcome), outcome)

    @precondition(lambda self: self.opt.pending)
    @rule(data=st.data(), outcome=measured)
    def tell_other_settings(self, data: st.DataObject, outcome: dict[str, Any]) -> None:
        trial, used, mine = self.waiting(data), self.point(data), self.mine(outcome)
        try:
            done = self.opt.tell(trial, mine, params=used)
        except ccgbo.ParamsError:
            assert self.opt.trial(trial.id) == trial
            return
        assert done.params == used
        self.note(done, mine)

    @rule(data=st.data(), outcome=st.one_of(measured, st.none()))
    def amend(self, data: st.DataObject, outcome: dict[str, Any] | None) -> None:
        trial = self.any_of(data, "complete", "failed", "abandoned")
        if trial is None:
            return
        if outcome is None:
            self.opt.amend(trial, failed=True)
            self.told.pop(trial.id, None)
            self.abandoned.discard(trial.id)
            self.failed.add(trial.id)
        else:
            mine = self.mine(outcome)
            self.note(self.opt.amend(trial, mine), mine)
        COUNTS["amended"] += 1

    @precondition(lambda self: self.opt.pending)
    @rule(data=st.data(), value=st.one_of(st.none(), no_values))
    def fail(self, data: st.DataObject, value: float | None) -> None:
        trial, told = self.waiting(data), dict.fromkeys(self.opt.metrics.names, value)
        done = self.opt.tell(trial, failed=True) if value is None else self.opt.tell(trial, told)
        assert done.state == "failed"
        self.failed.add(trial.id)

    @rule(data=st.data(), outcomes=st.lists(measured, min_size=1, max_size=3))
    def tell_unknown_data(self, data: st.DataObject, outcomes: list[dict[str, Any]]) -> None:
        mine, params = [self.mine(outcome) for outcome in outcomes], self.point(data)
        for trial, outcome in zip(self.opt.tell_many([params] * len(mine), mine), mine, strict=True):
            self.note(trial, outcome)

    @precondition(lambda self: self.opt.pending)
    @rule(data=st.data())
    def tell_nonsense(self, data: st.DataObject) -> None:
        trial, before, name = self.waiting(data), json.dumps(self.opt.state_dict()), self.opt.metrics.objective
        for outcome in ({name: "text"}, {"no such": 1.0}, {name: True}, {name: [1.0, math.nan]}, {name: (1.0, -1.0)}):
            try:
                self.opt.tell(trial, outcome)
            except (ccgbo.TellError, ccgbo.UnsupportedError):
                continue
            raise AssertionError(f"{trial} took {outcome}")
        assert json.dumps(self.opt.state_dict()) == before

    def tell_one(self, trial: Trial) -> None:
        self.opt.tell(trial, {self.opt.metrics.objective: 1.0})

    def amend_one(self, trial: Trial) -> None:
        self.opt.amend(trial, {self.opt.metrics.objective: 1.0})

    # -- the metrics, the state

    @rule(goal=goals(), data=st.data())
    def change_metrics(self, goal: dict[str, Any], data: st.DataObject) -> None:
        """What goes stays on record; refused, everything is as it was."""
        before, old = json.dumps(self.opt.state_dict()), self.opt.metrics
        if data.draw(st.booleans()):
            goal = {**goal, "rename": {old.objective: data.draw(st.sampled_from(NAMES))}}
        try:
            change = self.opt.change_metrics(**goal)
        except ccgbo.SettingError:
            assert json.dumps(self.opt.state_dict()) == before and self.opt.metrics == old
            return
        wanted = {name: value for name, value in goal.items() if name != "rename"}
        assert self.opt.metrics == metrics_of(**wanted)
        self.told = {i: {change.rename.get(n, n): v for n, v in known.items()} for i, known in self.told.items()}
        COUNTS["changes of metrics"] += 1

    def another(self) -> Optimizer:
        """An optimizer of the same space, metrics and settings in force."""
        s, metrics = self.opt.settings, self.opt.metrics
        force: Any = {"preset": s, "acquisition": s.acquisition, "credit": s.credit}
        goal: Any = {"objectives": metrics.objectives, "outcome_constraints": metrics.constraints}
        other = Optimizer(self.opt.space, **goal, **force, seed=0)
        assert other.settings == s
        return other

    # -- what is found

    @rule()
    def look(self) -> None:
        opt, metrics, before = self.opt, self.opt.metrics, json.dumps(self.opt.state_dict())
        repr(opt.result()), opt._repr_html_()
        kept = {i: v for i, v in self.told.items() if i not in self.dropped and feasible(v, metrics)}
        whole = {i for i, v in kept.items() if v.keys() >= metrics.objectives.keys()}
        front = {t.id for t in opt.pareto_front()}
        assert front <= whole and bool(front) == bool(whole)
        if front:
            assert all(map(math.isfinite, opt.hypervolume().reference.values()))
        seen = [v for i, v in self.told.items() if i not in self.dropped and i not in opt.outside]
        if all(any(name in v for v in seen) for name in metrics.objectives):
            COUNTS["models looked at"] += 1
            found = opt.recommend()
            for one in found if isinstance(found, tuple) else (found,):
                assert all(math.isfinite(x) for pair in one.metrics.values() for x in pair)
            assert all(0.1 <= row.credit <= 1.0 and math.isfinite(row.score) for row in opt.credits())
        assert json.dumps(opt.state_dict()) == before

    @invariant()
    def nothing_is_lost(self) -> None:
        COUNTS["steps"] += 1
        states = {t.id: t for t in self.opt.trials}
        assert {i: t.values for i, t in states.items() if t.state == "complete"} == self.told
        assert {i for i, t in states.items() if t.state == "failed"} == self.failed
        assert {i for i, t in states.items() if t.state == "abandoned"} == self.abandoned
        assert {i for i, t in states.items() if t.dropped} == self.dropped


def test_a_thousand_random_steps_with_metrics_raise_nothing_undocumented() -> None:
    COUNTS.clear()
    play_machine(Lab, examples=50, steps=30, shrink=False)
    assert COUNTS["steps"] >= 1000
    assert COUNTS["model"] >= 20, COUNTS  # not only initial designs
    kinds = ("amended", "changes of metrics", "models looked at", "space changes")
    assert all(COUNTS[what] for what in kinds), COUNTS
