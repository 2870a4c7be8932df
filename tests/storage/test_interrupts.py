"""A Ctrl-C at any moment leaves no transaction open and nothing half done."""

from __future__ import annotations

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
    study = ccgbo.Study(tmp_path / "s.db", SPACE, seed=0, n_initial=100_000)
    study.tell(study.ask(), 0.0)
    other = sqlite3.connect(study.path, timeout=0, isolation_level=None)
    work = {"ask": study.ask, "tell": lambda: study.tell({"x": 0.25}, 1.0), "trials": lambda: study.trials}[what]
    moment = 1
    while interrupted_at(moment, work):
        assert not raw(study).in_transaction, moment
        other.execute("BEGIN IMMEDIATE")  # nobody holds the lock
        other.execute("ROLLBACK")
        moment += 1
    assert moment > 20
    other.close()
    with ccgbo.Study(study.path) as again:
        assert again.trials == study.trials
        assert [t.id for t in again.trials] == list(range(len(again.trials)))
        assert again.optimizer().ask().params == study.optimizer().ask().params
