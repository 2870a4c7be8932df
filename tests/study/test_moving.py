"""A study changes its home."""

from __future__ import annotations

from pathlib import Path

import pytest

import ccgbo
from ccgbo import SettingError, StorageError, StudyExistsError, StudyNotFoundError
from ccgbo.study.moving import move_study

SPACE = {"x": (0.0, 1.0), "kind": ["a", "b"]}


def f(x: float, kind: str) -> float:
    return (x - 0.3) ** 2 + (kind == "b")


def used_study(path: Path | str, **options: object) -> ccgbo.Study:
    """Twelve trials, one that somebody evaluates by hand, one enqueued, and a log."""
    study = ccgbo.Study(path, SPACE, name="s", direction="minimize", seed=3, **options)  # type: ignore[arg-type]
    for _ in range(12):
        trial = study.ask()
        study.tell(trial, f(**trial.params), note="caf\u00e9")
    study.ask()
    study.enqueue({"x": 0.5, "kind": "a"}, note="mine")
    study.drop(3, note="oven")
    return study


def everything(study: ccgbo.Study) -> tuple[object, ...]:
    return study.records(), study.log(), study.direction, study.space


def next_asks(study: ccgbo.Study) -> list[object]:
    return [study.ask() for _ in range(4)]


def check_a_move(source: Path | str, target: Path | str, twin: Path | str) -> None:
    """The study goes from ``source`` to ``target`` and continues as its twin, which stays where it is."""
    expected = next_asks(used_study(twin))
    with used_study(source) as study:
        before = everything(study)
    assert move_study(source, target) == "s"
    with ccgbo.Study(target) as moved:
        assert everything(moved) == before
        assert next_asks(moved) == expected
    with pytest.raises(StudyNotFoundError, match="has no study"):
        ccgbo.Study(source)


def test_a_study_moves_to_another_file_with_its_random_state(tmp_path: Path) -> None:
    check_a_move(tmp_path / "a.db", tmp_path / "b.db", tmp_path / "twin.db")


def test_a_moved_study_can_have_another_name_and_never_takes_one(tmp_path: Path) -> None:
    used_study(tmp_path / "a.db").close()
    ccgbo.Study(tmp_path / "b.db", SPACE, name="s").close()
    with pytest.raises(StudyExistsError, match="already has a study 's'"):
        move_study(tmp_path / "a.db", tmp_path / "b.db")
    assert len(ccgbo.Study(tmp_path / "a.db").trials) == 14
    assert move_study(tmp_path / "a.db", tmp_path / "b.db", name="s", new_name="t") == "t"
    assert [info.n_trials for info in ccgbo.list_studies(tmp_path / "b.db")] == [0, 14]


def test_a_study_stays_while_a_run_works_on_it_and_where_it_is(tmp_path: Path) -> None:
    study = used_study(tmp_path / "a.db")
    with study.source(20) as source:
        trial = source.take()
        assert trial is not None
        with pytest.raises(StorageError, match="a run works on trials"):
            move_study(tmp_path / "a.db", tmp_path / "b.db")
        assert ccgbo.list_studies(tmp_path / "b.db") == []
    (tmp_path / "link.db").symlink_to(tmp_path / "a.db")
    with pytest.raises(SettingError, match="target must be another"):
        move_study(tmp_path / "a.db", tmp_path / "link.db")
    with pytest.raises(StudyNotFoundError, match="no study 'nobody'"):
        move_study(tmp_path / "a.db", tmp_path / "b.db", name="nobody")


def test_a_handle_to_a_study_that_moved_says_that_it_is_gone(tmp_path: Path) -> None:
    study = used_study(tmp_path / "a.db")
    move_study(tmp_path / "a.db", tmp_path / "b.db")
    with pytest.raises(StudyNotFoundError, match="deleted"):
        study.ask()
