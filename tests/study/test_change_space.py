"""A study whose space is changed while others have it open."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ccgbo
from ccgbo.revisions import carry_over
from ccgbo.space import change_space

SPACE: dict[str, Any] = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
WIDER: dict[str, Any] = {"x": (0.0, 3.0), "y": (0.0, 1.0)}
RENAMED: dict[str, Any] = {"x": (0.0, 3.0), "z": (0.0, 1.0), "n": (1, 5)}


def f(x: float, y: float) -> float:
    return -((x - 0.3) ** 2) - (y - 0.7) ** 2


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.db"


def told(path: Path, n: int = 6, **options: Any) -> ccgbo.Study:
    study = ccgbo.Study(path, SPACE, seed=0, n_initial=4, **options)
    for _ in range(n):
        trial = study.ask()
        study.tell(trial, f(**trial.params))
    return study


def rename(study: ccgbo.Study) -> None:
    study.change_space(RENAMED, rename={"y": "z"}, defaults={"n": 2})


# -- another handle


@pytest.mark.parametrize(
    "use",
    [
        lambda study: study.ask().params,
        lambda study: study.ask(fixed={"n": 3}).params,
        lambda study: study.take(1, worker="far/1/1", limit=99)[0].params,
        lambda study: study.source(99).take().params,
        lambda study: study.enqueue({"x": 2.0, "z": 0.5, "n": 1}).params,
        lambda study: study.tell({"x": 2.0, "z": 0.5, "n": 1}, 1.0).params,
        lambda study: study.tell_many([{"x": 2.0, "z": 0.5, "n": 1}], [1.0])[0].params,
        lambda study: study.tell(6, 1.0, params={"n": 4}).params,
        lambda study: study.amend(0, 1.0, params={"z": 0.5}).params,
        lambda study: study.trials[0].params,
        lambda study: study.recommend().params,
        lambda study: study.result().best_params,
        lambda study: study.optimizer().space,
        lambda study: study.begin_with([{"x": 2.0, "z": 0.5, "n": 1}])[0].params,
    ],
)
def test_whatever_another_handle_does_next_it_does_in_the_new_space(path: Path, use: Any) -> None:
    study = told(path)
    asked = study.ask()
    other = ccgbo.Study(path)
    other.credits()  # its optimizer is at hand, in the old space
    rename(study)
    assert list(use(other)) == ["x", "z", "n"]
    assert list(other.space) == ["x", "z", "n"]
    assert all(list(trial.params) == ["x", "z", "n"] for trial in ccgbo.Study(path).trials)
    assert asked.id == 6


@pytest.mark.parametrize(
    "use",
    [
        lambda study: study.tell({"x": 0.5, "y": 0.5}, 1.0),
        lambda study: study.tell_many([{"x": 0.5, "y": 0.5}], [1.0]),
        lambda study: study.enqueue({"x": 0.5, "y": 0.5}),
        lambda study: study.ask(fixed={"y": 0.5}),
        lambda study: study.amend(0, 1.0, params={"y": 0.5}),
    ],
)
def test_nothing_of_the_old_space_is_written_any_more(path: Path, use: Any) -> None:
    study = told(path)
    other = ccgbo.Study(path)
    rename(study)
    with pytest.raises(ccgbo.SpaceError, match="'y'"):
        use(other)
    assert len(study.trials) == 6


def test_a_trial_asked_in_the_old_space_is_told_in_the_new_one(path: Path) -> None:
    study = told(path)
    other = ccgbo.Study(path)
    trial, source = other.ask(), other.source(99)
    held = source.take()
    assert held is not None
    rename(study)
    assert other.tell(trial, 0.5).params == {"x": trial.params["x"], "z": trial.params["y"], "n": 2}
    done = source.tell(held, 0.6)
    assert done is not None
    assert done.params == {"x": held.params["x"], "z": held.params["y"], "n": 2}


def test_a_change_by_another_process_is_noticed(path: Path) -> None:
    study = told(path)
    study.credits()
    code = "import ccgbo, sys; ccgbo.Study(sys.argv[1]).change_space({'x': (0.0, 3.0), 'y': (0.0, 1.0)})"
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, timeout=120)
    assert study.ask(fixed={"x": 2.5}).params["x"] == 2.5
    assert study.space == ccgbo.Space(WIDER)


# -- exactness


def test_the_suggestion_after_a_change_is_that_of_a_new_optimizer_with_the_same_data_and_state(path: Path) -> None:
    study = told(path, 9)
    old = study.optimizer().state_dict()
    change = change_space(study.space, ccgbo.Space(RENAMED), rename={"y": "z"}, defaults={"n": 2})
    rename(study)
    new = ccgbo.Optimizer(RENAMED, n_initial=4)
    trials = [carry_over(ccgbo.Trial.from_dict(t), change).to_dict() for t in old["trials"]]
    new.load_state_dict(json.loads(json.dumps({**old, "trials": trials, "fit": None})))
    expected = new.ask(2)
    assert [t.params for t in ccgbo.Study(path).ask(2)] == [t.params for t in expected]


def test_a_bound_narrowed_and_widened_again_leaves_every_trial_as_it_was(path: Path) -> None:
    study = told(path)
    before = [t.to_dict() for t in study.trials]
    study.change_space({"x": (0.4, 0.5), "y": (0.0, 1.0)})
    assert len(study.optimizer().observations) == 6  # outside, and still in the model
    study.change_space(SPACE)
    assert [t.to_dict() for t in study.trials] == before
    assert [e.action for e in study.log()] == ["change space"] * 2
    assert "narrowed from [0.0, 1.0] to [0.4, 0.5]" in str(study.log()[0].note)


def test_a_parameter_that_comes_back_has_its_values_again(path: Path) -> None:
    study = told(path)
    before = [dict(t.params) for t in study.trials]
    study.change_space({"x": (0.0, 1.0)}, marginal=["y"])
    assert all(list(t.params) == ["x"] for t in ccgbo.Study(path).trials)
    ccgbo.Study(path).change_space(SPACE, defaults={"y": 0.5})
    assert [dict(t.params) for t in study.trials] == before


def test_a_trial_without_a_place_stays_on_record_out_of_the_model(path: Path) -> None:
    with ccgbo.Study(path, {"x": (0.0, 1.0), "k": ["a", "b"]}, seed=0, n_initial=2) as study:
        study.tell_many([{"x": 0.1, "k": "a"}, {"x": 0.9, "k": "b"}], [1.0, 2.0])
        study.change_space({"x": (0.0, 1.0), "k": ["a", "c"]})
        assert list(study.optimizer().outside) == [1]
        assert [row.trial_id for row in study.credits()] == [0]
        assert len(study.trials) == 2
        study.change_space({"x": (0.0, 1.0), "k": ["a", "b", "c"]})
        assert [row.trial_id for row in study.credits()] == [0, 1]


# -- trials that wait


def test_a_waiting_trial_that_is_no_point_of_the_new_space_is_abandoned_and_the_log_says_why(path: Path) -> None:
    with ccgbo.Study(path, {"x": (0.0, 1.0), "k": ["a", "b"]}, seed=0) as study:
        gone = study.enqueue([{"x": 0.1, "k": "b"}, {"x": 0.2, "k": "a"}])[0]
        study.change_space({"x": (0.0, 1.0), "k": ["a", "c"]})
        assert study.ask().params == {"x": 0.2, "k": "a"}
        assert study.trials[gone.id].state == "abandoned"
        assert study.log()[-1].action == "abandon"
        assert "no point of the space: k must be one of" in str(study.log()[-1].note)


# -- opening


def test_a_script_with_the_old_space_is_told_that_it_was_changed(path: Path) -> None:
    told(path).change_space(WIDER)
    with pytest.raises(ccgbo.SettingError, match=r"parameter 'x' differs: .*changed since it was created: log\(\)"):
        ccgbo.Study(path, SPACE)
    assert ccgbo.Study(path, WIDER).space == ccgbo.Space(WIDER)


def test_a_study_whose_space_was_changed_can_be_sent_to_another_process(path: Path) -> None:
    study = told(path)
    study.change_space(WIDER)
    sent = pickle.dumps(study)
    ccgbo.Study(path).change_space({"x": (0.0, 4.0), "y": (0.0, 1.0)})
    assert pickle.loads(sent).space["x"].high == 4.0


# -- functions, which a file cannot hold


def below(params: dict[str, Any]) -> bool:
    return sum(v for v in params.values() if isinstance(v, float)) < 1.2


def near_the_left(params: dict[str, Any]) -> float:
    return float(1.0 - params["x"] / 9.0)


def test_a_predicate_goes_on_in_other_handles_while_the_names_are_the_same(path: Path) -> None:
    study = told(path, constraint=below)
    other = ccgbo.Study(path, constraint=below)
    without = ccgbo.Study(path)
    study.change_space(WIDER, constraint=below)
    assert all(below(dict(t.params)) for t in other.ask(5))
    with pytest.raises(ccgbo.SettingError, match="open it with constraint= again"):
        without.ask()
    study.change_space(RENAMED, constraint=below, rename={"y": "z"}, defaults={"n": 2})
    assert all(below(dict(t.params)) for t in study.ask(5))
    with pytest.raises(ccgbo.SettingError, match="open it with constraint= again"):
        other.ask()
    assert ccgbo.Study(path, constraint=below).ask().id == 16


def test_a_predicate_that_the_one_who_changes_does_not_know_stays_a_part_of_the_study(path: Path) -> None:
    study = told(path, constraint=below)
    ccgbo.Study(path).change_space(WIDER)
    with pytest.raises(ccgbo.SettingError, match="open it with constraint= again"):
        ccgbo.Study(path).ask()
    assert all(below(dict(t.params)) for t in study.ask(3))
    study.change_space(SPACE)  # it knows the predicate, and leaves it out
    assert ccgbo.Study(path).ask().id == 9


def test_a_prior_follows_its_parameters(path: Path) -> None:
    prior = {"x": ccgbo.NormalPrior(0.5, 0.1), "y": ccgbo.NormalPrior(0.2, 0.1)}
    study = told(path, prior=prior)
    rename(study)
    with ccgbo.Study(path, prior={"x": prior["x"], "z": prior["y"]}) as again:
        assert again.ask().id == 6
    study.change_space({"x": (0.0, 3.0), "n": (1, 5)}, marginal=["z"])
    assert ccgbo.Study(path, prior={"x": prior["x"]}).ask().id == 7


def test_a_density_goes_on_while_the_names_are_the_same_and_is_asked_for_after_that(path: Path) -> None:
    study = told(path, prior=near_the_left)
    other = ccgbo.Study(path, prior=near_the_left)
    study.change_space(WIDER)
    assert other.ask().id == 6
    rename(study)
    with pytest.raises(ccgbo.SettingError, match="open it with prior= again"):
        other.ask()
    assert study.ask().id == 7
