"""A Ctrl-C at any moment leaves no transaction open and nothing half done."""

from __future__ import annotations

import itertools
import shutil
import sqlite3
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import ccgbo

SPACE = {"x": (0.0, 1.0)}


class Interruption:
    """Raises KeyboardInterrupt at the n-th moment at which CPython would look for signals inside the library: when a
    function is entered, and after a call of one written in C has done its work."""

    def __init__(self, moment: int) -> None:
        self.moment, self.seen = moment, 0

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event in ("call", "c_return") and "ccgbo/st" in frame.f_code.co_filename:
            self.seen += 1
            if self.seen == self.moment:
                sys.setprofile(None)
                raise KeyboardInterrupt


def interrupted_at(moment: int, work: Any) -> bool:
    """Whether the work was interrupted; False when it has fewer moments."""
    sys.setprofile(Interruption(moment))
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
    return False


def raw(study: ccgbo.Study) -> sqlite3.Connection:
    connection: sqlite3.Connection = study._store._database._link.connection  # type: ignore[attr-defined]
    return connection


@pytest.mark.parametrize("what", ["ask", "tell", "trials"])
def test_an_interrupt_at_any_moment_leaves_no_transaction_and_a_study_as_good_as_before(
    tmp_path: Path, what: str
) -> None:
    template, path = tmp_path / "template.db", tmp_path / "s.db"
    with ccgbo.Study(template, SPACE, seed=0) as study:
        study.tell(study.ask(), 0.0)
    for moment in itertools.count(1):
        shutil.copy(template, path)
        with ccgbo.Study(path) as study:
            work = {"ask": study.ask, "tell": lambda: study.tell({"x": 0.25}, 1.0), "trials": lambda: study.trials}
            if not interrupted_at(moment, work[what]):
                break
            assert not raw(study).in_transaction, moment
            other = sqlite3.connect(path, timeout=0, isolation_level=None)
            other.execute("BEGIN IMMEDIATE")  # nobody holds the lock
            other.execute("ROLLBACK")
            other.close()
            done = len(study.trials) == 2
            assert [t.id for t in study.trials] == list(range(1 + done))
            following = study.ask().params
        with ccgbo.Study(path) as study:
            assert study.trials[-1].params == following
    assert moment > 20


WIDER = {"x": (0.0, 2.0), "n": (1, 5)}
CHANGES: dict[str, Any] = {
    "amend": lambda study: study.amend(0, 5.0, params={"x": 1.5}),
    "drop": lambda study: study.drop(0),
    "abandon": lambda study: study.abandon(1),
    "enqueue": lambda study: study.enqueue([{"x": 0.25}, {"x": 0.75}]),
    "change space": lambda study: study.change_space(WIDER, defaults={"n": 2}),
}


def all_of(study: ccgbo.Study) -> Any:
    """Everything that is known of a study but when it was changed."""
    events = [(e.action, e.trial_id, e.before, e.after, e.note) for e in study.log()]
    return [t.to_dict() for t in study.trials], events, study.space, study.optimizer().state_dict()["outcomes"]


@pytest.mark.parametrize("action", CHANGES)
def test_an_interrupt_at_any_moment_leaves_the_state_before_a_change_or_after_it(tmp_path: Path, action: str) -> None:
    template, after, path = tmp_path / "template.db", tmp_path / "after.db", tmp_path / "s.db"
    with ccgbo.Study(template, SPACE, seed=0) as study:
        study.tell(study.ask(), 0.0)
        study.ask()
        states = [all_of(study)]
    shutil.copy(template, after)
    with ccgbo.Study(after) as study:
        CHANGES[action](study)
        states.append(all_of(study))
    reached = set()
    for moment in itertools.count(1, 3):
        shutil.copy(template, path)
        with ccgbo.Study(path) as study:
            if not interrupted_at(moment, lambda: CHANGES[action](study)):
                break
            assert not raw(study).in_transaction, moment
            left = states.index(all_of(study))
            following = study.ask()
        with ccgbo.Study(path) as study:
            assert study.trials[following.id] == following
        reached.add(left)
    assert moment > 20
    assert reached == {0, 1}
