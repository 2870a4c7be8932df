"""Trials that are changed by hand, in a study: what an optimizer does, durable, logged, and seen by every handle."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import ccgbo
from ccgbo.records import Event, Trial

SPACE: dict[str, Any] = {"x": (0.0, 1.0), "y": (0.0, 1.0), "k": ["a", "b"]}


def f(x: float, y: float, k: str = "a", **_: Any) -> float:
    return -((x - 0.3) ** 2) - (y - 0.7) ** 2 - 0.1 * (k == "b")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.db"


def fill(study: Any, n: int) -> None:
    for _ in range(n):
        trial = study.ask()
        study.tell(trial, f(**trial.params))


def plain(trials: Any) -> list[dict[str, Any]]:
    return [trial.to_dict() for trial in trials]


def said(log: list[Event]) -> list[Any]:
    return [(e.action, e.trial_id, e.before, e.after, e.note) for e in log]


# -- alike


def week(steps: Any) -> None:
    """Everything that can be done by hand; ``steps`` gives the book to do each of them in."""
    fill(next(steps), 6)
    trial = next(steps).ask()
    next(steps).tell(trial, [0.1, 0.2, 0.3], params={"x": 1.2}, note="hot", tags=["oven 3"])
    next(steps).amend(trial, (0.25, 0.1))
    next(steps).amend(2, failed=True, error="spilled")
    next(steps).drop(3)
    next(steps).ask()
    next(steps).restore(3)
    next(steps).amend(2, 0.5, attributes={"operator": "kim"})
    pending = next(steps).ask(2)
    next(steps).abandon(pending[0])
    next(steps).annotate(pending[1], note="slow", tags=["repeat"])
    next(steps).annotate(pending[1].id, tags=None)
    next(steps).enqueue([{"x": 0.5, "y": 0.5, "k": "a"}, {"x": 0.1, "y": 0.2, "k": "b"}], note="known")
    next(steps).ask(2, fixed={"k": "b"})
    next(steps).drop(0)
    next(steps).amend(pending[0], 0.4)
    next(steps).tell({"x": 0.9, "y": 0.9, "k": "b"}, failed=True, note="elsewhere")
    next(steps).ask(2)
    next(steps).change_space({"x": (0.0, 2.0), "z": (0.0, 1.0), "k": ["a"], "n": (1, 5)}, rename={"y": "z"},
                             defaults={"n": 2})  # fmt: skip
    next(steps).ask(2, fixed={"n": 3})
    next(steps).amend(4, params={"n": 4})


def test_a_study_is_changed_as_an_optimizer_is_whichever_handle_does_it(path: Path) -> None:
    optimizer = ccgbo.Optimizer(SPACE, seed=3, n_initial=4)
    week(iter(lambda: optimizer, None))
    handles = [ccgbo.Study(path, SPACE, seed=3, n_initial=4), ccgbo.Study(path), ccgbo.Study(path)]
    week(handles[i % 3] for i in range(100))
    for handle in (*handles, ccgbo.Study(path)):
        assert plain(handle.trials) == plain(optimizer.trials)
        assert said(handle.log()) == said(optimizer.log())
        assert handle.recommend() == optimizer.recommend()
        assert handle.optimizer().outside == optimizer.outside
    assert ccgbo.Study(path).ask() == optimizer.ask()


@pytest.mark.parametrize(
    "change",
    [
        lambda book: book.tell(0, 1.0),
        lambda book: book.amend(1, 1.0),
        lambda book: book.amend(0, "high"),
        lambda book: book.amend(0, 1.0, params={"z": 1.0}),
        lambda book: book.amend(0, 1.0, params={"x": "hot"}),
        lambda book: book.drop(1),
        lambda book: book.restore(0),
        lambda book: book.abandon(0),
        lambda book: book.drop(99),
        lambda book: book.annotate(0, note=3),
        lambda book: book.annotate(0, oven=object()),
        lambda book: book.enqueue({"x": 0.5}),
        lambda book: book.enqueue([{"x": 0.5, "y": 0.5, "k": "a"}, {"x": 5.0, "y": 0.5, "k": "a"}]),
        lambda book: book.ask(fixed={"z": 1.0}),
        lambda book: book.ask(fixed={"x": 2.0}),
        lambda book: book.tell(1, [1.0, float("nan")]),
        lambda book: book.tell({"x": 0.5, "y": 0.5, "k": "a"}, 1.0, params={"x": 0.4}),
        lambda book: book.change_space({"x": (0.0, 1.0), "y": (0.0, 1.0)}),
        lambda book: book.change_space({**SPACE, "z": (0.0, 1.0)}),
    ],
)
def test_what_an_optimizer_refuses_a_study_refuses_in_the_same_words_and_stays_as_it_was(
    path: Path, change: Any
) -> None:
    optimizer, study = ccgbo.Optimizer(SPACE, seed=0), ccgbo.Study(path, SPACE, seed=0)
    messages = []
    for book in (optimizer, study):
        fill(book, 1)
        book.ask()
        before = plain(book.trials)
        with pytest.raises(ccgbo.CcgboError) as caught:
            change(book)
        messages.append(str(caught.value))
        assert plain(book.trials) == before
        assert book.log() == []
    assert messages[0] == messages[1]


def test_a_change_that_changes_nothing_is_not_logged(path: Path) -> None:
    with ccgbo.Study(path, SPACE, seed=0) as study:
        trial = study.tell(study.ask(), 1.0, note="a")
        assert study.amend(0, 1.0) == study.annotate(0, note="a") == trial
        assert study.change_space(SPACE).nothing
        assert study.log() == []


def test_the_log_says_who_and_when(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ccgbo.Study(path, SPACE, seed=0) as study:
        study.tell(study.ask(), 9.3)
        monkeypatch.setenv("CCGBO_USER", "kim@bench-3")
        study.amend(0, 0.93)
        study.drop(0, note="wrong flask")
    amended, dropped = ccgbo.Study(path).log()
    assert (amended.who, amended.before, amended.after) == ("kim@bench-3", {"value": 9.3}, {"value": 0.93})
    assert (dropped.action, dropped.note) == ("drop", "wrong flask")
    assert abs(amended.at - time.time()) < 600.0
    assert str(amended).endswith("kim@bench-3  amend trial 0: value 9.3 -> 0.93")


def test_a_trial_whose_params_were_corrected_is_still_known_by_what_ask_gave(path: Path) -> None:
    with ccgbo.Study(path, SPACE, seed=0) as study:
        trial = study.ask()
        study.tell(trial, 1.0, params={"x": 1.5})
        assert study.amend(trial, 2.0).params["x"] == 1.5
        with pytest.raises(ccgbo.UnknownTrialError, match="comes from another study"):
            study.drop(Trial(id=study.ask().id, params={"x": 0.0, "y": 0.0, "k": "a"}))


# -- what counts


def test_dropped_and_abandoned_trials_are_no_best_and_abandoned_ones_no_trials_of_a_run(path: Path) -> None:
    with ccgbo.Study(path, SPACE, seed=0, n_initial=2) as study:
        fill(study, 4)
        best = study.best_trial
        study.drop(best)
        study.abandon(study.ask())
        assert study.best_trial != best
        (info,) = ccgbo.list_studies(path)
        assert (info.n_trials, info.n_complete, info.n_dropped, info.n_abandoned, info.n_pending) == (5, 4, 1, 1, 0)
        assert info.best_value == study.best_value
        result = study.run(f, 6, progress=False)
        assert [t.id for t in result.trials] == list(range(7))
        with pytest.raises(ccgbo.TellError, match="trial 4 was abandoned: amend brings it back"):
            study.tell(4, 1.0)
        assert study.amend(4, 1.0) == study.best_trial


def test_a_run_drops_the_value_of_a_trial_that_was_abandoned_meanwhile(path: Path) -> None:
    with ccgbo.Study(path, SPACE, seed=0, n_initial=2) as study:
        seen = []

        def abandoning(**params: Any) -> float:
            if not seen:
                ccgbo.Study(path).abandon(0)
            seen.append(params)
            return 1.0

        study.run(abandoning, 2, progress=False)
        assert [t.state for t in study.trials] == ["abandoned", "complete", "complete"]
        assert len(seen) == 3


# -- in line


def test_enqueued_trials_are_given_out_first_in_order_and_only_if_they_agree(path: Path) -> None:
    with ccgbo.Study(path, SPACE, seed=0) as study, ccgbo.Study(path) as other:
        released = study.ask()
        study.release(released.id)
        points = [{"x": 0.1, "y": 0.1, "k": "a"}, {"x": 0.2, "y": 0.2, "k": "b"}, {"x": 0.3, "y": 0.3, "k": "a"}]
        first, second, third = study.enqueue(points)
        assert [t.origin for t in (first, second, third)] == ["enqueued"] * 3
        assert study.release() == study.release(everything=True) == []  # they wait already
        assert other.ask(fixed={"k": "b"}) == second
        assert other.ask(3) == [first, third, released]
        fresh = other.ask(fixed={"k": "b", "x": 0.25})
        assert (fresh.params["k"], fresh.params["x"], fresh.origin) == ("b", 0.25, "design")
        assert study.release(third.id) == [third.id]
        assert study.enqueue({"x": 0.4, "y": 0.4, "k": "a"}).id == 5
        assert [t.id for t in other.ask(2)] == [third.id, 5]


def test_a_released_trial_that_does_not_agree_with_what_is_fixed_waits(path: Path) -> None:
    with ccgbo.Study(path, SPACE, seed=0) as study:
        trial = study.ask()
        study.release(trial.id)
        assert study.ask(fixed={"x": 0.25}).id == 1
        assert study.ask() == trial


@pytest.mark.parametrize("n_trials", [1, 3, 5])
def test_a_run_evaluates_what_is_in_line_first_and_no_more_than_it_may(path: Path, n_trials: int) -> None:
    points = [{"x": i / 10, "y": 0.5, "k": "a"} for i in range(3)]
    with ccgbo.Study(path, SPACE, seed=0, n_initial=2) as study:
        study.enqueue(points)
        study.run(f, n_trials, progress=False)
        done = [t for t in study.trials if t.state == "complete"]
        assert [dict(t.params) for t in done][:3] == points[:n_trials]
        assert len(done) == n_trials
        study.run(f, 6, progress=False)
        assert [t.state for t in study.trials] == ["complete"] * 6


def test_a_worker_that_dies_gives_an_enqueued_trial_back(path: Path) -> None:
    with ccgbo.Study(path, SPACE, seed=0, heartbeat=0.05) as study:
        trial = study.enqueue({"x": 0.5, "y": 0.5, "k": "a"})
        assert study.take(1, worker="far-away/4711/1") == [trial]
        time.sleep(0.1)
        assert study.release() == [trial.id]
        assert study.release() == []
        assert study.ask() == trial


def test_points_to_begin_with_are_evaluated_once_however_often_the_run_is_started(path: Path) -> None:
    points = [{"x": 0.1, "y": 0.5, "k": "a"}, {"x": 0.1, "y": 0.5, "k": "a"}, {"x": 0.2, "y": 0.5, "k": "b"}]
    for n in (1, 3, 4):
        ccgbo.maximize(f, SPACE, n, x0=points, study=path, seed=0, n_initial=2, progress=False)
        with ccgbo.Study(path) as study:
            assert sum(t.state == "complete" for t in study.trials) == n
            assert [t.params["k"] for t in study.trials[:3]] == ["a", "a", "b"]
            if n == 3:
                study.amend(2, params={"x": 0.25})
    with ccgbo.Study(path) as study:
        assert [t.origin for t in study.trials] == ["enqueued"] * 3 + ["model"]


# -- rows of a table


def test_changed_rows_are_told_or_amended_in_one_write_and_the_log_says_which(path: Path) -> None:
    with ccgbo.Study(path, SPACE, seed=0) as study:
        study.tell(study.ask(), 1.0)
        study.ask()

        def plan(trials: Any) -> Any:
            changed = [trials[0].with_outcome(value=2.0), trials[1].with_outcome(state="complete", value=3.0)]
            return changed, [Trial(id=-1, params=dict(trials[0].params), state="complete", value=4.0)]

        assert [t.value for t in study.tell_rows(plan)] == [2.0, 3.0, 4.0]
        assert said(study.log()) == [("amend", 0, {"value": 1.0}, {"value": 2.0}, None)]


def test_rows_that_were_read_in_another_space_are_refused(path: Path) -> None:
    with ccgbo.Study(path, SPACE, seed=0) as study:
        study.tell(study.ask(), 1.0)
        ccgbo.Study(path).change_space({**SPACE, "x": (0.0, 2.0)})
        with pytest.raises(ccgbo.StorageError, match="space of the study was changed meanwhile; nothing was told"):
            study.tell_rows(lambda _: ([], []))
        assert study.space["x"].high == 2.0
        assert study.tell_rows(lambda _: ([], [])) == []
