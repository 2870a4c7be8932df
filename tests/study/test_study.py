"""A study: what an optimizer does, kept in a file."""

from __future__ import annotations

import json
import os
import pickle
import threading
import time
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ccgbo
from ccgbo.acquisition import Alternate
from ccgbo.engine.settings import suited
from ccgbo.engine.settings_io import prior_from_dict, prior_to_dict, settings_from_dict, settings_to_dict
from ccgbo.storage.anchor import Anchor
from ccgbo.storage.workers import this_worker

SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


def f(x: float, y: float) -> float:
    return -((x - 0.3) ** 2) - (y - 0.7) ** 2


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.db"


def fill(study: ccgbo.Study, n: int) -> None:
    for _ in range(n):
        trial = study.ask()
        study.tell(trial, f(**trial.params))


# -- resume


def irregular(book: Any, steps: int, held: list[int]) -> None:
    """Four trials in flight, told out of order, every fifth one failed."""
    for step in range(steps):
        held.append(book.ask().id)
        if len(held) == 4:
            i = held.pop(2 if step % 2 else 0)
            trial = next(t for t in book.trials if t.id == i)
            if i % 5 == 3:
                book.tell(i, failed=True, error="boom")
            else:
                book.tell(i, f(**trial.params), noise_variance=0.01 if i % 7 == 0 else None)


def plain(trials: Any) -> list[dict[str, Any]]:
    return [trial.to_dict() for trial in trials]


@pytest.mark.parametrize("settings", [{}, {"pending": "fantasy", "acquisition": "ts"}, {"preset": "paper"}])
def test_a_study_reopened_at_every_step_equals_an_uncut_run_trial_by_trial(path: Path, settings: Any) -> None:
    uncut = ccgbo.Optimizer(SPACE, seed=5, n_initial=6, **settings)
    irregular(uncut, 22, [])
    held: list[int] = []
    ccgbo.Study(path, SPACE, seed=5, n_initial=6, **settings).close()
    for _ in range(11):
        with ccgbo.Study(path) as study:
            irregular(study, 2, held)
    with ccgbo.Study(path) as study:
        assert plain(study.trials) == plain(uncut.trials)
        assert study.ask().params == uncut.ask().params


def test_two_open_studies_that_take_turns_equal_one(path: Path) -> None:
    one = ccgbo.Optimizer(SPACE, seed=1, n_initial=5)
    a, b = ccgbo.Study(path, SPACE, seed=1, n_initial=5), ccgbo.Study(path)
    for i in range(20):
        trial = (a, b)[i % 2].ask()
        (b, a)[i % 3 == 0].tell(trial.id, f(**trial.params))
        told = one.ask()
        one.tell(told, f(**told.params))
    assert plain(a.trials) == plain(b.trials) == plain(one.trials)


def test_values_survive_to_the_last_bit(path: Path) -> None:
    space = {"x": ccgbo.Float(1e-300, 1.0, log=True), "k": ["a", None, True, 2.5]}
    with ccgbo.Study(path, space) as study:
        told = study.tell({"x": 0.1 + 0.2, "k": None}, 1e-17 + 0.1, noise_variance=1e-301)
    with ccgbo.Study(path) as study:
        assert study.trials == (told,)
        assert study.trials[0].params == {"x": 0.1 + 0.2, "k": None}


# -- creating and opening


def test_a_study_is_created_once_and_opened_by_its_path_alone(path: Path) -> None:
    with ccgbo.Study(path, SPACE, direction="minimize", acquisition="logei", seed=3) as study:
        assert (study.name, study.direction, study.trials) == ("default", "minimize", ())
    with ccgbo.Study(path) as again:
        assert again.space == ccgbo.Space(SPACE)
        assert again.settings.acquisition == ccgbo.LogEI()
        assert (again.name, again.direction, again.path) == ("default", "minimize", path)
        assert "study.db" in repr(again)


def test_opening_with_the_same_arguments_is_welcome(path: Path) -> None:
    arguments = {"direction": "minimize", "preset": "paper", "seed": 3, "credit": {"tau": 2.0}, "prior": {}}
    arguments["constraint"] = ccgbo.LinearConstraint({"x": 1.0, "y": 1.0}, upper=1.5)
    for _ in range(2):
        with ccgbo.Study(path, SPACE, **arguments) as study:
            assert study.settings.credit.tau == 2.0
    with ccgbo.Study(path, constraint=arguments["constraint"]) as study:
        assert study.space.constraints == (arguments["constraint"],)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"space": {"x": (0.0, 2.0), "y": (0.0, 1.0)}},
            "parameter 'x' differs: .*Float\\(0.0, 1.0\\), got Float\\(0.0, 2.0\\)",
        ),
        ({"space": {"x": (0.0, 1.0)}}, "parameter 'y' differs: .* got no such parameter"),
        (
            {"direction": "minimize"},
            "direction must be that of the study 'default', which is to maximize, got 'minimize'",
        ),
        ({"seed": 4}, "seed must be that of the study 'default', 3"),
        ({"preset": "paper"}, "preset must be that of the study 'default', 'default'"),
        ({"acquisition": "ei"}, "acquisition must be that of the study"),
        ({"credit": {"tau": 99.0}}, "credit must be that of the study"),
        ({"preset": ccgbo.Settings(n_initial=77)}, "n_initial must be that of the study"),
        ({"prior": {"x": ccgbo.NormalPrior(0.5, 0.1)}}, "prior must be that of the study"),
        ({"constraint": ccgbo.LinearConstraint({"x": 1.0}, upper=0.5)}, "constraint must be that of the study"),
        ({"constraint": bool}, "constraint must be that of the study"),
    ],
)
def test_opening_with_other_arguments_is_an_error(path: Path, changed: Any, message: str) -> None:
    ccgbo.Study(path, SPACE, seed=3).close()
    with pytest.raises(ccgbo.SettingError, match=message):
        ccgbo.Study(path, **{"space": SPACE, **changed})


def test_a_constraint_that_the_study_does_not_have_is_an_error_without_a_space_too(path: Path) -> None:
    ccgbo.Study(path, SPACE).close()
    with pytest.raises(ccgbo.SettingError, match="constraint must be that of the study"):
        ccgbo.Study(path, constraint=ccgbo.LinearConstraint({"x": 1.0}, upper=0.5))


def test_conditions_given_as_sets_are_the_same_in_any_order(path: Path) -> None:
    for allowed in ({"a", "b", "c"}, ["c", "b", "a"]):
        space = {"k": ["a", "b", "c", "d"], "z": ccgbo.Float(0.0, 1.0, active_if={"k": allowed})}
        ccgbo.Study(path, space).close()


def test_the_name_may_be_left_out_only_while_it_is_clear(path: Path) -> None:
    ccgbo.Study(path, SPACE, name="one").close()
    assert ccgbo.Study(path).name == "one"
    assert ccgbo.Study(path, SPACE).name == "one"
    ccgbo.Study(path, {"z": (1, 5)}, name="two").close()
    with pytest.raises(ccgbo.SettingError, match=r"name must be given: .* has the studies \['one', 'two'\]"):
        ccgbo.Study(path)
    assert list(ccgbo.Study(path, name="two").space) == ["z"]
    with pytest.raises(ccgbo.StudyNotFoundError, match=r"has no study 'three'; it has \['one', 'two'\]"):
        ccgbo.Study(path, name="three")
    with pytest.raises(ccgbo.StudyExistsError, match="already has a study 'one'"):
        ccgbo.Study(path, SPACE, name="one", if_exists="error")
    with pytest.raises(ccgbo.SettingError, match="name must be a non-empty text"):
        ccgbo.Study(path, SPACE, name="")


def test_a_file_without_a_study_asks_for_a_space(path: Path) -> None:
    path.touch()
    with pytest.raises(ccgbo.StudyNotFoundError, match="has no study yet: give a space"):
        ccgbo.Study(path)


# -- what a file cannot hold


class Mine:
    """A user's own acquisition."""

    codomain = "real"
    needs_optima = False

    def bind(self, context: Any) -> Any:
        return lambda x: context.posterior.predict(x)[0]


def below(params: dict[str, Any]) -> bool:
    return params["x"] + params["y"] < 1.2


def peak(params: dict[str, Any]) -> float:
    return float(np.exp(-10.0 * (params["x"] - 0.3) ** 2))


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("acquisition", Mine()),
        ("acquisition", Alternate(explore=Mine())),
        ("constraint", below),
        ("prior", peak),
    ],
    ids=["own", "own-inside", "predicate", "density"],
)
def test_what_a_file_cannot_hold_is_passed_again(path: Path, name: str, given: Any) -> None:
    uncut = ccgbo.Optimizer(SPACE, seed=0, n_initial=4, **{name: given})
    for _ in range(7):
        trial = uncut.ask()
        uncut.tell(trial, f(**trial.params))
    with ccgbo.Study(path, SPACE, seed=0, n_initial=4, **{name: given}) as study:
        fill(study, 6)
    with ccgbo.Study(path) as study:  # to look and to tell, nothing is missing
        assert study.best_value == max(t.value for t in study.trials if t.value is not None)
        assert study.best_params == study.best_trial.params
        assert len(study.credits()) == 6
        with pytest.raises(ccgbo.SettingError, match=f"parts that a file cannot hold: open it with {name}= again"):
            study.ask()
    with ccgbo.Study(path, **{name: given}) as study:
        fill(study, 1)
        assert plain(study.trials) == plain(uncut.trials)


def test_another_acquisition_in_the_place_of_a_withheld_one_is_refused(path: Path) -> None:
    ccgbo.Study(path, SPACE, acquisition=Mine()).close()
    with pytest.raises(ccgbo.SettingError, match=r"acquisition must be that of the study, .*Mine.*, got UCB"):
        ccgbo.Study(path, acquisition="ucb")


@pytest.mark.parametrize("preset", ["default", "paper"])
@pytest.mark.parametrize("acquisition", [None, "ei", "mes", ccgbo.UCB(beta=0.1 + 0.2)])
def test_settings_come_back_equal_from_json(preset: str, acquisition: Any) -> None:
    settings = ccgbo.Optimizer(SPACE, preset=preset, acquisition=acquisition, n_initial=7).settings
    for s in (settings, suited(settings, 25)):
        assert settings_from_dict(json.loads(json.dumps(settings_to_dict(s)))) == s


def test_a_setting_of_a_later_version_is_named() -> None:
    data = settings_to_dict(ccgbo.Settings())
    data["credit"]["warp"] = 9
    with pytest.raises(ccgbo.StorageError, match=r"credit\.warp, unknown to this ccgbo"):
        settings_from_dict(data)
    with pytest.raises(ccgbo.StorageError, match="uses 'qei', which this ccgbo does not know"):
        settings_from_dict(settings_to_dict(ccgbo.Settings()) | {"acquisition": {"type": "qei"}})


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_a_study_stored_before_there_was_a_setting_goes_on_as_it_was(preset: str) -> None:
    data = settings_to_dict(ccgbo.PRESETS[preset])
    del data["tuning"]["recombine_stalled"], data["tuning"]["recombine_from"]
    before = settings_from_dict(data).tuning
    assert (before.recombine_stalled, before.recombine_from) == (None, 8)


def test_priors_come_back_equal_from_json() -> None:
    prior = {"x": ccgbo.NormalPrior(0.3, 0.1), "k": {"a": 0.9, True: 0.1}}
    assert prior_from_dict(json.loads(json.dumps(prior_to_dict(prior)))) == prior
    assert prior_to_dict(peak) is None
    assert prior_to_dict({"x": np.random.default_rng(0)}) is None


# -- ask, tell


def test_ask_gives_as_many_as_wanted_in_one_step(path: Path) -> None:
    with ccgbo.Study(path, SPACE, seed=0) as study:
        assert [t.id for t in study.ask(3)] == [0, 1, 2]
        assert [t.id for t in study.ask(1)] == [3]
        assert study.ask().id == 4
        for wrong in (0, True, 1.5):
            with pytest.raises(ccgbo.SettingError, match="n must be a whole number >= 1"):
                study.ask(wrong)  # type: ignore[call-overload]


def test_tell_refuses_what_the_optimizer_refuses_and_keeps_the_file_as_it_was(path: Path) -> None:
    with ccgbo.Study(path, SPACE, seed=0) as study:
        trial = study.ask()
        study.tell(trial, 1.0)
        other = study.ask()
        before = plain(study.trials)
        with pytest.raises(ccgbo.TellError, match=r"trial 0 is already complete \(value 1\.0\)"):
            study.tell(trial, 2.0)
        for unknown in (7, True, -1):
            with pytest.raises(ccgbo.UnknownTrialError, match=f"no trial is known as {unknown}"):
                study.tell(unknown, 1.0)
        with pytest.raises(ccgbo.UnknownTrialError, match="comes from another study"):
            study.tell(ccgbo.Trial(id=1, params={"x": 0.0, "y": 0.0}), 1.0)
        with pytest.raises(ccgbo.TellError, match="value must be a number, got 'high'"):
            study.tell(other, "high")
        with pytest.raises(ccgbo.ParamsError, match="unknown parameter 'z'"):
            study.tell({"z": 1.0}, 1.0)
        assert plain(study.trials) == before
        assert study.tell(other, float("nan")).state == "failed"


def test_values_from_elsewhere_become_trials_of_their_own(path: Path) -> None:
    with ccgbo.Study(path, SPACE, seed=0) as study:
        asked = study.ask()
        told = study.tell({"x": np.float32(0.5), "y": 0}, np.float64(2.0))
        many = study.tell_many([{"x": 0.1, "y": 0.2}, {"x": 0.3, "y": 0.4}], [1.0, float("inf")])
        assert [t.id for t in (asked, told, *many)] == [0, 1, 2, 3]
        assert [t.state for t in study.trials] == ["pending", "complete", "complete", "failed"]
        assert [t.origin for t in study.trials] == ["design", "external", "external", "external"]
        with pytest.raises(ccgbo.ParamsError):
            study.tell_many([{"x": 0.1, "y": 0.2}, {"x": 9.0, "y": 0.4}], [1.0, 2.0])
        assert len(study.trials) == 4


def test_looking_at_a_study_changes_nothing(path: Path) -> None:
    with ccgbo.Study(path, SPACE, seed=0, n_initial=5) as study:
        fill(study, 8)
        expected = study.optimizer().ask()
        copy = study.optimizer()
        copy.tell(copy.ask(), 5.0)
        credit = {row.trial_id: row.credit for row in study.credits()}
        recommendation, result = study.recommend(), study.result()
        assert set(credit) == set(range(8))
        assert max(credit.values()) == 1.0
        assert recommendation == copy_of(study).recommend()
        assert result.best_trial == study.best_trial
        assert result.trials == study.trials
        assert study.explain(7) == study.trials[7].explanation
        assert len(study.to_dataframe()) == 8
        assert study.ask().params == expected.params


def copy_of(study: ccgbo.Study) -> ccgbo.Optimizer:
    optimizer = ccgbo.Optimizer(SPACE, seed=0, n_initial=5)
    optimizer.load_state_dict(study.optimizer().state_dict())
    return optimizer


# -- trials that come back


def test_a_released_trial_is_asked_again_before_new_ones(path: Path) -> None:
    with ccgbo.Study(path, SPACE, seed=0) as study:
        a, b, c = study.ask(3)
        assert study.release() == []  # nobody died
        assert study.release(b.id) == [1]
        assert study.ask() == b
        assert study.ask().id == 3
        study.tell(a, 1.0)
        with pytest.raises(ccgbo.TellError, match="trial 0 is already complete"):
            study.release(0)
        assert study.release(everything=True) == [1, 2, 3]
        assert [t.id for t in study.ask(4)] == [1, 2, 3, 4]
        study.tell(c, 2.0)
        assert study.release(everything=True) == [1, 3, 4]


def test_a_trial_asked_by_hand_is_never_taken_away(path: Path) -> None:
    with ccgbo.Study(path, SPACE, seed=0, heartbeat=0.01) as study:
        study.ask()
        time.sleep(0.05)
        assert study.ask().id == 1


def test_a_silent_worker_loses_its_trial_to_the_next_ask(path: Path) -> None:
    with ccgbo.Study(path, SPACE, seed=0, heartbeat=1.5) as study:
        held = study.take(1, worker="far-away/4711/1")[0]
        assert study.ask().id == 1
        time.sleep(1.6)
        assert study.release() == [0]
        assert study.ask() == held


def test_a_worker_that_beats_keeps_its_trial_and_a_dead_one_loses_it_at_once(path: Path) -> None:
    with ccgbo.Study(path, SPACE, seed=0, heartbeat=3600.0) as study:
        study.take(1, worker=this_worker())
        assert study.ask().id == 1
        dead = get_context("spawn").Process(target=take_and_die, args=(str(path),))
        dead.start()
        dead.join()
        assert study.ask().id == (2 if os.path.exists("/proc/self/stat") else 3)


def take_and_die(path: str) -> None:
    ccgbo.Study(path).take(1, worker=this_worker())
    os._exit(0)


def test_a_value_told_late_is_taken_if_it_is_the_first(path: Path) -> None:
    with ccgbo.Study(path, SPACE, seed=0) as study:
        trial = study.ask()
        study.release(trial.id)
        assert study.ask() == trial
        study.tell(trial, 1.0)  # the first worker was only slow
        with pytest.raises(ccgbo.TellError, match="already complete"):
            study.tell(trial, 1.0)


# -- processes and threads


def test_a_study_can_be_sent_to_another_process(path: Path) -> None:
    with ccgbo.Study(path, SPACE, seed=0, constraint=below) as study:
        again = pickle.loads(pickle.dumps(study))
        trial = again.ask()
        again.close()
        assert study.tell(trial.id, 1.0).id == 0


def test_a_study_opened_before_a_fork_works_on_both_sides(path: Path) -> None:
    context = get_context("spawn")  # the fork itself happens in a process without threads
    here, there = context.Pipe()
    process = context.Process(target=fork_with_an_open_study, args=(str(path), there))
    process.start()
    ids = here.recv() if here.poll(60) else None
    process.join()
    assert ids == [0, 1, 2, 3]


def fork_with_an_open_study(path: str, connection: Any) -> None:
    with ccgbo.Study(path, SPACE, seed=0) as study:
        ids = [study.ask().id]
        for _ in range(2):
            read, write = os.pipe()
            child = os.fork()
            if child == 0:
                os.write(write, bytes([study.ask().id]))
                os._exit(0)
            os.waitpid(child, 0)
            ids.append(os.read(read, 1)[0])
        connection.send([*ids, study.ask().id])


def test_threads_share_a_study(path: Path) -> None:
    with ccgbo.Study(path, SPACE, seed=0, n_initial=40) as study:
        threads = [threading.Thread(target=fill, args=(study, 8)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [t.id for t in study.trials] == list(range(32))
        assert all(t.value == f(**t.params) for t in study.trials)


def test_what_is_told_together_is_told_once_when_the_step_is_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter([False])  # another thread copied the file during the first try, which takes SQLite's lock away
    with ccgbo.Study(tmp_path / "s.db", {"x": (0.0, 1.0)}) as study:
        monkeypatch.setattr(Anchor, "still_writes", lambda _: next(answers, True))
        study.tell_many([{"x": 0.1}, {"x": 0.2}], [1.0, 2.0])
        assert [trial.value for trial in study.trials] == [1.0, 2.0]
