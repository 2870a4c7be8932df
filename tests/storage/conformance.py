"""What every store must do. A test module subclasses ``StoreConformance`` and says how its store is opened."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ccgbo import Measurement, StorageError, StudyExistsError, StudyNotFoundError, Trial
from ccgbo.records import Event
from ccgbo.storage import Store, StudyRow, Unit

DEFINITION: dict[str, Any] = {
    "direction": "minimize",
    "space": {"parameters": {"x": {"type": "float", "low": 0.1 + 0.2, "high": 1.0}}},
    "settings": {"type": "settings", "n_initial": 5},
    "prior": None,
    "withheld": ["prior"],
    "optimizer_state": {"version": 1, "rng": {"state": 2**127 + 1}},
    "created": 1.7e9,
    "seed": 2**70,
    "preset": "default",
}
FAR = "another-machine/4711/1"  # a worker of which nobody here knows more than its heartbeat


def definition(name: str) -> StudyRow:
    return StudyRow(name=name, **DEFINITION)


def pending(x: float) -> Trial:
    return Trial(id=-1, params={"x": x}, origin="model")


def complete(x: float, value: float) -> Trial:
    return Trial(id=-1, params={"x": x}, state="complete", value=value, origin="external")


def abandoned(x: float) -> Trial:
    return Trial(id=-1, params={"x": x}, state="abandoned")


def event(action: str, **fields: Any) -> Event:
    return Event(at=1.7e9, who="kim@bench-3", action=action, **fields)


class StoreConformance:
    """Subclasses have ``open``: a function that opens the same, at first empty, store again and again."""

    @pytest.fixture
    def open(self) -> Callable[[], Store]:
        raise NotImplementedError

    @pytest.fixture
    def store(self, open: Callable[[], Store]) -> Store:
        return open()

    @pytest.fixture
    def study(self, store: Store) -> int:
        return store.create(definition("s")).id

    # -- studies

    def test_a_study_comes_back_as_it_was_given(self, store: Store, open: Callable[[], Store]) -> None:
        created = store.create(definition("s"))
        assert created == StudyRow(id=created.id, name="s", **DEFINITION)
        assert open().find("s") == created
        assert store.find("other") is None

    def test_names_are_listed_oldest_first_and_taken_once(self, store: Store) -> None:
        for name in ("b", "a", "ü \u4e2d"):
            store.create(definition(name))
        assert store.names() == [info.name for info in store.infos()] == ["b", "a", "ü \u4e2d"]
        with pytest.raises(StudyExistsError, match="already has a study 'a'"):
            store.create(definition("a"))

    def test_a_deleted_study_is_gone_for_ever_and_only_it(self, store: Store, open: Callable[[], Store]) -> None:
        old, other = store.create(definition("s")), store.create(definition("other"))
        for study in (old, other):
            store.write(study.id, lambda unit: unit.add([complete(0.5, 1.0)], None))
            store.write(study.id, lambda unit: unit.record(event("drop")))
        open().delete("s")
        with pytest.raises(StudyNotFoundError, match=r"has no study 's'; it has \['other'\]"):
            store.delete("s")
        new = store.create(definition("s"))
        assert new.id != old.id
        for step in (store.read, store.write):
            with pytest.raises(StudyNotFoundError, match="was deleted"):
                step(old.id, lambda view: view.row())  # type: ignore[operator]
        assert store.read(new.id, lambda view: view.changes(-1)) == []
        assert store.read(new.id, lambda view: view.events()) == []
        assert len(store.read(other.id, lambda view: view.changes(-1))) == 1

    def test_infos_count_what_is_there(self, store: Store, study: int) -> None:
        failed = Trial(id=-1, params={"x": 0.5}, state="failed", error="boom")
        store.write(study, lambda unit: unit.add([pending(0.5), failed, complete(0.6, 3.0), complete(0.7, 2.0)], None))
        (info,) = store.infos()
        assert (info.n_trials, info.n_pending, info.n_failed, info.n_complete) == (4, 1, 1, 2)
        assert (info.best_value, info.direction, info.created) == (2.0, "minimize", 1.7e9)
        assert (info.n_abandoned, info.n_dropped) == (0, 0)

    def test_infos_leave_dropped_values_out_of_the_best(self, store: Store, study: int) -> None:
        trials = [replace(complete(0.1, 1.0), dropped=True), complete(0.2, 2.0), abandoned(0.3)]
        store.write(study, lambda unit: unit.add(trials, None))
        (info,) = store.infos()
        assert (info.n_trials, info.n_complete, info.n_dropped, info.n_abandoned) == (3, 2, 1, 1)
        assert (info.n_pending, info.best_value) == (0, 2.0)

    # -- steps

    def test_a_write_is_seen_by_all_when_it_returns(self, store: Store, study: int, open: Callable[[], Store]) -> None:
        store.write(study, lambda unit: unit.add([pending(0.5)], None))
        assert open().read(study, lambda view: view.trial(0)) is not None

    def test_nothing_is_kept_of_a_write_that_raises(self, store: Store, study: int) -> None:
        def broken(unit: Unit) -> None:
            unit.add([complete(0.5, 1.0)], None)
            unit.save_state({"version": 2})
            unit.record(event("drop"))
            unit.save_definition(replace(unit.row(), space={"parameters": {}}))
            raise KeyboardInterrupt

        before, undone = store.read(study, lambda view: view.row()), []
        with pytest.raises(KeyboardInterrupt):
            store.write(study, broken, on_rollback=lambda: undone.append(1))
        assert undone == [1]
        assert store.read(study, lambda view: view.row()) == before
        assert store.read(study, lambda view: view.changes(-1)) == []
        assert store.read(study, lambda view: view.events()) == []
        added = store.write(  # and the next one goes through
            study, lambda unit: unit.add([complete(0.5, 1.0)], None), on_rollback=lambda: undone.append(2)
        )
        assert [t.id for t in added] == [0]
        assert undone == [1]

    def test_a_reader_sees_one_state_while_others_write(
        self, store: Store, study: int, open: Callable[[], Store]
    ) -> None:
        other = open()

        def look(view: Any) -> tuple[int, int]:
            first = len(view.changes(-1))
            other.write(study, lambda unit: unit.add([complete(0.5, 1.0)], None))
            return first, len(view.changes(-1))

        assert store.read(study, look) == (0, 0)
        assert len(store.read(study, lambda view: view.changes(-1))) == 1

    def test_writers_take_turns(self, study: int, open: Callable[[], Store]) -> None:
        def add(times: int) -> None:
            mine = open()
            for _ in range(times):
                mine.write(study, lambda unit: unit.add([pending(unit.row().n_asked / 100)], None))
            mine.close()

        threads = [threading.Thread(target=add, args=(10,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        rows = open().read(study, lambda view: view.changes(-1))
        assert [(row.trial.id, row.trial.params["x"]) for row in rows] == [(i, i / 100) for i in range(40)]

    def test_a_closed_store_refuses_and_closing_twice_is_fine(self, store: Store, study: int) -> None:
        store.close()
        store.close()
        with pytest.raises(StorageError, match="was closed"):
            store.read(study, lambda view: view.row())

    # -- trials

    def test_trials_come_back_to_the_last_bit_in_the_order_they_were_told(self, store: Store, study: int) -> None:
        first, second = pending(0.1 + 0.2), pending(1e-300)
        added = store.write(study, lambda unit: unit.add([first, second, complete(0.5, 5e-324)], None))
        assert [t.id for t in added] == [0, 1, 2]
        revision = store.read(study, lambda view: view.revision())
        done = added[1].with_outcome(state="complete", value=1e300, noise_variance=0.1)
        assert store.write(study, lambda unit: unit.revise(done)) == done
        rows = store.read(study, lambda view: view.changes(-1))
        assert [row.trial for row in rows if row.completion_order] == [added[2], done]
        assert [row.trial for row in rows if not row.completion_order] == [added[0]]
        assert [row.trial.id for row in store.read(study, lambda view: view.changes(revision))] == [1]
        assert store.read(study, lambda view: view.trial(7)) is None
        assert store.read(study, lambda view: view.trial(2**80)) is None

    def test_any_error_text_can_be_stored(self, store: Store, study: int) -> None:
        failed = Trial(id=-1, params={"x": 0.5}, state="failed", error="caf\udce9 \0 \x1b[31m \U0001f600")
        (stored,) = store.write(study, lambda unit: unit.add([failed], None))
        assert stored.error == "caf\\udce9 \0 \x1b[31m \U0001f600"
        row = store.read(study, lambda view: view.trial(0))
        assert row is not None
        assert row.trial == stored

    def test_the_state_is_kept_beside_the_trials(self, store: Store, study: int, open: Callable[[], Store]) -> None:
        store.write(study, lambda unit: unit.save_state({"version": 1, "rng": [2**128, 0.1 + 0.2]}))
        assert open().read(study, lambda view: view.row()).optimizer_state == {"version": 1, "rng": [2**128, 0.1 + 0.2]}

    def test_progress_counts_suggestions_and_the_best_of_all(self, store: Store, study: int) -> None:
        assert store.read(study, lambda view: view.progress().best) is None
        trials = [pending(0.1), pending(0.2), pending(0.3), complete(0.4, -7.0)]
        added = store.write(study, lambda unit: unit.add(trials, None))
        store.write(study, lambda unit: unit.revise(added[0].with_outcome(state="complete", value=1.0)))
        store.write(study, lambda unit: unit.revise(added[1].with_outcome(state="failed", error="boom")))
        progress = store.read(study, lambda view: view.progress())
        assert (progress.done, progress.failed, progress.best) == (2, 1, -7.0)
        assert store.read(study, lambda view: view.suggested()) == 3

    def test_abandoned_and_dropped_trials_are_no_progress_and_no_best(self, store: Store, study: int) -> None:
        trials = [pending(0.1), pending(0.2), pending(0.3)]
        a, b, c = store.write(study, lambda unit: unit.add(trials, None))
        for done in (
            a.with_outcome(state="complete", value=1.0, dropped=True),
            b.with_outcome(state="abandoned"),
            c.with_outcome(state="complete", value=2.0),
        ):
            store.write(study, lambda unit, done=done: unit.revise(done))  # type: ignore[misc]
        progress = store.read(study, lambda view: view.progress())
        assert (progress.done, progress.failed, progress.best) == (2, 0, 2.0)
        assert store.read(study, lambda view: view.suggested()) == 2

    # -- what is changed of a known trial

    def told(self, store: Store, study: int, trial: Trial) -> Any:
        """The row of a revised trial."""
        assert store.write(study, lambda unit: unit.revise(trial)) == trial
        row = store.read(study, lambda view: view.trial(trial.id))
        assert row is not None
        assert row.trial == trial
        return row

    def test_a_revised_trial_comes_back_whole_and_is_a_change(self, store: Store, study: int) -> None:
        (trial,) = store.write(study, lambda unit: unit.add([complete(0.5, 1.0)], None))
        revision = store.read(study, lambda view: view.revision())
        attributes = {"note": "caf\u00e9 \0 \U0001f600", "tags": ["a", "b"], "oven": {"no": 3, "hot": True}}
        new = replace(
            trial, params={"x": 0.1 + 0.2}, value=1.5, readings=(1.0, 2.0), dropped=True, attributes=attributes
        )
        self.told(store, study, new)
        assert [row.trial for row in store.read(study, lambda view: view.changes(revision))] == [new]
        self.told(store, study, replace(new, state="failed", value=None, readings=(), error="boom", dropped=False))

    def test_an_outcome_keeps_its_place_through_every_revision(self, store: Store, study: int) -> None:
        first, second = store.write(study, lambda unit: unit.add([pending(0.1), pending(0.2)], None))
        done = replace(second, state="complete", value=1.0)
        place = self.told(store, study, done)
        other = self.told(store, study, replace(first, state="failed", error="boom"))
        assert place.completion_order < other.completion_order
        for change in ({"dropped": True}, {"value": 7.0}, {"state": "failed", "value": None}):
            row = self.told(store, study, replace(done, **change))
            assert (row.completion_order, row.told_at) == (place.completion_order, place.told_at)

    def test_an_abandoned_trial_has_no_place_until_it_has_a_value(self, store: Store, study: int) -> None:
        first, second = store.write(study, lambda unit: unit.add([pending(0.1), pending(0.2)], FAR))
        row = self.told(store, study, replace(first, state="abandoned"))
        assert (row.completion_order, row.told_at, row.worker, row.heartbeat) == (None, None, None, None)
        earlier = self.told(store, study, replace(second, state="complete", value=1.0))
        row = self.told(store, study, replace(first, state="complete", value=2.0))
        assert row.completion_order > earlier.completion_order

    def test_a_note_on_a_pending_trial_leaves_it_with_its_worker(self, store: Store, study: int) -> None:
        (trial,) = store.write(study, lambda unit: unit.add([pending(0.1)], FAR))
        row = self.told(store, study, replace(trial, attributes={"note": "oven 3"}))
        assert (row.worker, row.heartbeat is not None, row.completion_order) == (FAR, True, None)
        store.write(study, lambda unit: unit.release(0))
        assert self.told(store, study, replace(trial, attributes={})).released

    def test_the_log_comes_back_in_the_order_it_was_written(
        self, store: Store, study: int, open: Callable[[], Store]
    ) -> None:
        log = [
            event(
                "amend",
                trial_id=17,
                before={"value": 0.1 + 0.2},
                after={"value": None, "error": "b\0"},
                note="caf\u00e9",
            ),
            event("change space", before={"space": {"x": [0, 1]}}, after={}),
            replace(event("drop", trial_id=0), at=1.6e9),
        ]
        for one in log:
            store.write(study, lambda unit, one=one: unit.record(one))  # type: ignore[misc]
        assert open().read(study, lambda view: view.events()) == log
        store.write(study, lambda unit: unit.record(replace(log[0], who="k\udce9", note="\udce9")))
        last = store.read(study, lambda view: view.events())[-1]
        assert (last.who, last.note) == ("k\\udce9", "\\udce9")

    def test_another_space_is_a_change_and_everything_else_stays(self, store: Store, study: int) -> None:
        before = store.read(study, lambda view: view.row())
        space = {"parameters": {"y": {"type": "float", "low": 0.1 + 0.2, "high": 2.0}}}
        new = replace(
            before,
            space=space,
            prior={"y": {"mean": 1.0, "sd": 0.1}},
            withheld=["constraint"],
            direction="maximize",
            metrics={"objectives": {"yield": "maximize"}, "constraints": {"ph": [6.5, None]}},
            settings={"type": "other"},
        )
        store.write(study, lambda unit: unit.save_definition(replace(new, name="other", seed=7, preset=None)))
        assert store.read(study, lambda view: view.row()) == replace(
            new, n_changes=before.n_changes + 1, revision=before.revision + 1
        )

    # -- who works on what

    def lost(self, store: Store, study: int, patience: float) -> list[tuple[int, bool]]:
        return [(x.trial.id, x.crashed) for x in store.read(study, lambda view: view.lost(patience))]

    def waiting(self, store: Store, study: int) -> list[int]:
        return [trial.id for trial in store.read(study, lambda view: view.waiting())]

    def test_a_trial_asked_by_hand_is_never_lost_and_a_released_one_waits(self, store: Store, study: int) -> None:
        store.write(study, lambda unit: unit.add([pending(0.1), pending(0.2), pending(0.3)], None))
        assert self.lost(store, study, 0.0) == self.waiting(store, study) == []
        assert not store.read(study, lambda view: view.held())
        for i in (2, 1):
            store.write(study, lambda unit, i=i: unit.release(i))  # type: ignore[misc]
        assert self.waiting(store, study) == [1, 2]
        assert self.lost(store, study, 0.0) == []
        assert not store.read(study, lambda view: view.held())
        store.write(study, lambda unit: unit.claim(1, None))
        assert self.waiting(store, study) == [2]

    def test_a_worker_keeps_its_trials_while_its_heart_beats(self, store: Store, study: int) -> None:
        store.write(study, lambda unit: unit.add([pending(0.1)], FAR))
        assert store.read(study, lambda view: view.held())
        assert self.lost(store, study, 3600.0) == []
        threading.Event().wait(0.05)
        assert self.lost(store, study, 0.02) == [(0, True)]
        store.write(study, lambda unit: unit.beat(FAR))
        assert self.lost(store, study, 3600.0) == []
        store.write(study, lambda unit: unit.claim(0, "somebody-else/1/1"))
        store.write(study, lambda unit: unit.beat(FAR))  # not its trial any more
        row = store.read(study, lambda view: view.trial(0))
        assert row is not None
        assert row.worker == "somebody-else/1/1"

    def test_a_finished_trial_is_held_by_nobody(self, store: Store, study: int) -> None:
        (trial,) = store.write(study, lambda unit: unit.add([pending(0.1)], FAR))
        store.write(study, lambda unit: unit.revise(trial.with_outcome(state="complete", value=1.0)))
        store.write(study, lambda unit: unit.release(0))  # nothing happens to it
        assert self.lost(store, study, 0.0) == self.waiting(store, study) == []
        assert not store.read(study, lambda view: view.held())

    def test_attempts_are_counted(self, store: Store, study: int) -> None:
        store.write(study, lambda unit: unit.add([pending(0.1)], FAR))
        assert [store.write(study, lambda unit: unit.count_attempt(0)) for _ in range(3)] == [1, 2, 3]
        row = store.read(study, lambda view: view.trial(0))
        assert row is not None
        assert row.attempts == 3

    # -- metrics

    def test_metrics_of_a_study_and_of_its_trials_come_back_to_the_last_bit(
        self, store: Store, open: Callable[[], Store]
    ) -> None:
        stored = {"objectives": {"yield": "maximize", "c o/st": "minimize"}, "constraints": {"ph": [None, 0.1 + 0.2]}}
        row = store.create(replace(definition("m"), metrics=stored))
        measured = {
            "yield": Measurement(value=1e300, noise_variance=1e-300),
            "c o/st": Measurement(value=2.0, readings=(1.0, 3.0)),
            "ph": Measurement(value=0.1 + 0.2),
        }
        told = replace(complete(0.5, 0.0), value=None, metrics=measured)
        (trial,) = store.write(row.id, lambda unit: unit.add([told], None))
        assert trial.metrics == measured
        store.write(row.id, lambda unit: unit.revise(replace(trial, metrics={"ph": Measurement(value=-1.0)})))
        other = open()
        found = other.find("m")
        assert found is not None and found.metrics == stored
        read = other.read(row.id, lambda view: view.trial(0))
        assert read is not None and read.trial.metrics == {"ph": Measurement(value=-1.0)}

    def test_the_list_has_the_best_feasible_value_and_the_length_of_a_front(self, store: Store) -> None:
        def trial(**values: float) -> Trial:
            measured = {name: Measurement(value=value) for name, value in values.items()}
            return replace(complete(0.5, 0.0), value=values.get("a"), metrics=measured)

        bounded = {"objectives": {"a": "minimize"}, "constraints": {"b": [0.0, None]}}
        front = {"objectives": {"a": "minimize", "b": "maximize"}, "constraints": {}}
        trials = [trial(a=1.0, b=-1.0), trial(a=2.0, b=0.0), trial(a=3.0, b=4.0), trial(a=0.5), trial(a=4.0, b=3.0)]
        for name, metrics in (("bounded", bounded), ("front", front)):
            row = store.create(replace(definition(name), metrics=metrics))
            told = [replace(t, value=None) for t in trials] if name == "front" else trials
            added = store.write(row.id, lambda unit, told=told: unit.add(told, None))  # type: ignore[misc]
            store.write(row.id, lambda unit, last=added[2]: unit.revise(replace(last, dropped=True)))  # type: ignore[misc]
        infos = {info.name: info for info in store.infos()}
        assert (infos["bounded"].best_value, infos["bounded"].n_front) == (2.0, None)
        assert (infos["front"].best_value, infos["front"].n_front) == (None, 3)
        assert (infos["front"].metrics, infos["front"].n_dropped) == (front, 1)
