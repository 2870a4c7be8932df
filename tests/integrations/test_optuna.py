"""The Optuna sampler, against Optuna's own conformance suite and against what a user of Optuna expects."""

from __future__ import annotations

import ast
import json
import math
import pickle
import subprocess
import sys
import threading
import wsgiref.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler
from optuna.storages import InMemoryStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.testing.pytest_samplers import BasicSamplerTestCase, MultiObjectiveSamplerTestCase, RelativeSamplerTestCase
from optuna.trial import TrialState, create_trial
from viz.browser import chromium

import ccgbo
from ccgbo.errors import SettingError, UnsupportedError
from ccgbo.integrations import _optuna_engine, _optuna_pruned, _optuna_trials
from ccgbo.integrations import optuna as integration
from ccgbo.integrations._optuna_trials import complete_trials, frozen_outcome, news_of
from ccgbo.integrations.optuna import CCGBOSampler

from .pages import run_example, run_page

pytestmark = pytest.mark.heavy


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    yield
    optuna.logging.set_verbosity(optuna.logging.INFO)


class TestConformance(BasicSamplerTestCase, RelativeSamplerTestCase, MultiObjectiveSamplerTestCase):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: CCGBOSampler(seed=0)


def branin(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", -5.0, 10.0)
    y = trial.suggest_float("y", 0.0, 15.0)
    return (y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6) ** 2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x)


def params_of(study: optuna.Study) -> list[dict[str, Any]]:
    return [t.params for t in study.trials]


def smallest_gap(points: list[dict[str, Any]]) -> float:
    U = np.array([[p["x"], p["y"]] for p in points]) / 15.0
    return float(np.linalg.norm(U[:, None] - U[None], axis=2)[np.triu_indices(len(U), 1)].min())


def run(n: int, sampler: BaseSampler, objective: Any = branin, **study: Any) -> optuna.Study:
    created = optuna.create_study(sampler=sampler, **study)
    created.optimize(objective, n_trials=n)
    return created


# -- search


def test_it_finds_the_optimum_of_branin_where_random_search_does_not() -> None:
    ours, random = run(35, CCGBOSampler(seed=0)), run(35, optuna.samplers.RandomSampler(seed=0))
    assert ours.best_value + 9.602113 < 0.05  # the optimum is -9.602113 without Branin's constant 10
    assert random.best_value + 9.602113 > 0.2


def test_maximising_the_negative_suggests_the_same_points_as_minimising() -> None:
    down = run(15, CCGBOSampler(seed=1))
    up = run(15, CCGBOSampler(seed=1), lambda trial: -branin(trial), direction="maximize")
    assert params_of(down) == params_of(up)


def test_every_kind_of_parameter_is_suggested_within_its_distribution() -> None:
    space = {
        "rate": FloatDistribution(1e-6, 1.0, log=True),
        "share": FloatDistribution(0.0, 1.0, step=0.05),
        "count": IntDistribution(2, 20, step=3),
        "size": IntDistribution(1, 1000, log=True),
        "choice": CategoricalDistribution([None, True, 1, 2.5, "text"]),
        "only": FloatDistribution(3.0, 3.0),
    }
    study = optuna.create_study(sampler=CCGBOSampler(seed=0, n_startup_trials=5))
    seen = []
    for _ in range(12):
        trial = study.ask(space)
        seen.append(trial.params)
        study.tell(trial, trial.params["share"] + abs(trial.params["count"] - 8))
    for params in seen:
        assert 1e-6 <= params["rate"] <= 1.0
        assert params["share"] == pytest.approx(round(params["share"] / 0.05) * 0.05)
        assert params["count"] in range(2, 21, 3)
        assert isinstance(params["size"], int)
        assert params["only"] == 3.0
    assert {(type(p["choice"]), p["choice"]) for p in seen} <= {
        (type(None), None),
        (bool, True),
        (int, 1),
        (float, 2.5),
        (str, "text"),
    }
    assert study.best_value < 0.5


def test_conditional_parameters_are_drawn_independently_and_named_in_one_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        return x + (0.1 * trial.suggest_float("extra", 0.0, 1.0) if trial.number % 2 else 0.0)

    optuna.logging.enable_propagation()
    try:
        study = run(16, CCGBOSampler(seed=0, n_startup_trials=4), objective)
    finally:
        optuna.logging.disable_propagation()
    assert all(("extra" in t.params) == bool(t.number % 2) for t in study.trials)
    assert len({r.getMessage() for r in caplog.records if "CCGBOSampler draws 'extra'" in r.getMessage()}) == 1
    assert study.best_trial.params["x"] < 0.05


def test_a_small_grid_goes_on_when_every_point_has_been_used() -> None:
    def objective(trial: optuna.Trial) -> float:
        return trial.suggest_int("a", 0, 1) + trial.suggest_categorical("b", [0, 1])

    study = run(9, CCGBOSampler(seed=0, n_startup_trials=2), objective)
    assert {tuple(p.values()) for p in params_of(study)[:5]} == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert len(study.trials) == 9


def test_a_range_that_no_engine_can_search_is_drawn_independently() -> None:
    def objective(trial: optuna.Trial) -> float:
        trial.suggest_int("huge", 0, 2**60)
        return trial.suggest_float("x", 0.0, 1.0)

    study = run(6, CCGBOSampler(seed=0, n_startup_trials=2), objective)
    assert all(0 <= t.params["huge"] <= 2**60 for t in study.trials)


# -- what other trials say


def test_running_trials_are_points_under_evaluation_even_before_they_stored_their_params() -> None:
    sampler = CCGBOSampler(seed=0, n_startup_trials=5)
    study = run(10, sampler)
    space = study.trials[0].distributions
    asked = [study.ask() for _ in range(4)]
    points = []
    for trial in asked:  # as threads do: all ask the sampler before any of them has stored a parameter
        frozen = next(t for t in study.get_trials(deepcopy=False) if t.number == trial.number)
        points.append(sampler.sample_relative(study, frozen, dict(space)))
    assert smallest_gap(points) > 0.01


def test_processes_that_choose_at_the_same_time_do_not_choose_the_same() -> None:
    gaps = []
    for seed in range(3):
        study = run(12, CCGBOSampler(seed=seed), study_name="s", storage=InMemoryStorage())
        space = study.trials[0].distributions
        points = []
        for trial in [study.ask() for _ in range(4)]:  # each by a sampler that knows nothing of the others
            frozen = next(t for t in study.get_trials(deepcopy=False) if t.number == trial.number)
            points.append(CCGBOSampler(seed=seed).sample_relative(study, frozen, dict(space)))
        gaps.append(smallest_gap(points))
    assert min(gaps) > 0.001
    assert np.median(gaps) > 0.01


def test_a_choice_that_another_process_overtakes_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    storage = InMemoryStorage()
    study = run(12, CCGBOSampler(seed=0), study_name="s", storage=storage)
    slow, fast = CCGBOSampler(seed=0), study.ask()
    trial = next(t for t in study.get_trials() if t.number == 12)
    alone = slow.sample_relative(study, trial, dict(study.trials[0].distributions))
    ask, overtaken = CCGBOSampler._ask, []

    def ask_slowly(self: CCGBOSampler, *arguments: Any) -> Any:
        asked = ask(self, *arguments)
        if self is slow and not overtaken:
            other = study.ask(fixed_distributions=study.trials[0].distributions)
            overtaken.append(other.params)
        return asked

    monkeypatch.setattr(CCGBOSampler, "_ask", ask_slowly)
    slow = CCGBOSampler(seed=0)
    chosen = slow.sample_relative(study, trial, dict(study.trials[0].distributions))
    assert fast.number == 12
    assert smallest_gap([chosen, overtaken[0]]) > 0.01
    assert chosen != alone


def test_threads_share_one_sampler() -> None:
    study = optuna.create_study(sampler=CCGBOSampler(seed=0, n_startup_trials=4))
    study.optimize(branin, n_trials=16, n_jobs=4)
    assert [t.state for t in study.trials] == [TrialState.COMPLETE] * 16
    assert len({tuple(p.values()) for p in params_of(study)}) == 16


def test_a_failed_trial_is_remembered_as_a_place_to_avoid() -> None:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        if x > 0.7:
            raise RuntimeError("out of memory")
        return math.sin(6.0 * x)  # the minimum, at 0.785, cannot be evaluated

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = CCGBOSampler(seed=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=30, catch=RuntimeError)
    failed = {t.number for t in study.trials if t.state == TrialState.FAIL}
    assert failed
    assert set(sampler.credits(study)) == set(range(30)) - failed
    assert sum(number >= 20 for number in failed) <= 6
    assert 0.6 < study.best_params["x"] <= 0.7


def test_a_constraint_is_modelled_and_no_value_is_thrown_away() -> None:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        trial.set_constraint("limit", x - 0.5)
        return math.inf if trial.number == 1 else -x

    sampler = CCGBOSampler(seed=0, n_startup_trials=5)
    study = run(20, sampler, objective)
    assert set(sampler.credits(study)) == set(range(20))  # the infinite value too: its constraint was measured
    assert 0.49 < study.best_trial.params["x"] <= 0.5


def test_a_constraints_func_is_stored_and_used_as_by_optuna() -> None:
    def objective(trial: optuna.Trial) -> float:
        x, y = trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0)
        trial.set_user_attr("c", 0.75 - x - y)
        return x + y

    sampler = CCGBOSampler(seed=0, constraints_func=lambda t: (t.user_attrs["c"],))
    study = run(25, sampler, objective)
    assert all(t.constraints == {"0": t.user_attrs["c"]} for t in study.trials)
    assert study.best_trial.value == pytest.approx(0.75, abs=0.01)


def two_goals(trial: optuna.Trial) -> tuple[float, float]:
    x, y = trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0)
    return x - y**2, (x - 0.2) ** 2 + (y - 0.4) ** 2


def test_several_directions_find_a_front() -> None:
    sampler = CCGBOSampler(seed=0)
    study = run(25, sampler, two_goals, directions=["maximize", "minimize"])
    again = run(25, CCGBOSampler(seed=0), two_goals, directions=["maximize", "minimize"])
    assert len(study.best_trials) >= 8
    assert params_of(again) == params_of(study)
    assert set(sampler.credits(study)) == set(range(25))
    assert integration.CREDITS in study.user_attrs


def test_credit_acts_on_a_front_only_where_it_is_asked_for() -> None:
    plain, asked = (
        run(16, CCGBOSampler(seed=0, **options), two_goals, directions=["maximize", "minimize"])
        for options in ({}, {"credit": True})
    )
    assert params_of(plain)[:10] == params_of(asked)[:10]
    assert params_of(plain) != params_of(asked)


def test_goals_are_said_to_the_study_and_not_to_the_sampler() -> None:
    for given in ({"objectives": {"a": "maximize"}}, {"outcome_constraints": {"a": ccgbo.AtMost(1.0)}}):
        with pytest.raises(UnsupportedError, match=f"{next(iter(given))} must be left out here: directions are said"):
            CCGBOSampler(**given)  # type: ignore[arg-type]


def test_a_study_of_several_directions_resumed_from_its_storage_goes_on(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'o.db'}"
    whole = run(16, CCGBOSampler(seed=0), two_goals, directions=["maximize", "minimize"])
    run(12, CCGBOSampler(seed=0), two_goals, directions=["maximize", "minimize"], storage=storage, study_name="s")
    resumed = optuna.load_study(study_name="s", storage=storage, sampler=CCGBOSampler(seed=0))
    resumed.optimize(two_goals, n_trials=4)
    assert params_of(resumed) == params_of(whole)


SPACE = {"x": FloatDistribution(0.0, 1.0)}


def finished(value: float, curve: dict[int, float] | None = None, pruned: bool = False) -> optuna.trial.FrozenTrial:
    state = TrialState.PRUNED if pruned else TrialState.COMPLETE
    return create_trial(
        state=state, params={"x": 0.5}, distributions=SPACE, value=value, intermediate_values=curve or {}
    )


@pytest.mark.parametrize(
    ("direction", "kept"), [("minimize", [2.0, 2.0, 9.0, 4.0]), ("maximize", [0.0, 1.0, 2.0, 2.0])]
)
def test_a_pruned_trial_is_kept_between_the_worst_and_the_median_complete_value(
    direction: str, kept: list[float]
) -> None:
    study = optuna.create_study(direction=direction)
    complete = complete_trials([finished(v) for v in (0.0, 2.0, 9.0)], study.direction)
    outcomes = [frozen_outcome(finished(v, pruned=True), complete, "bound") for v in (-5.0, 1.0, 50.0, 4.0)]
    assert [outcome and outcome["value"] for outcome in outcomes] == kept


@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["minimize", "maximize"])
def test_a_pruned_curve_is_extrapolated_by_what_complete_ones_still_gained_after_its_step(sign: float) -> None:
    direction = optuna.study.StudyDirection.MINIMIZE if sign > 0 else optuna.study.StudyDirection.MAXIMIZE
    gains = np.array([0.5, 0.6, 0.7, 1.2])  # from step 2 to the end
    curves = [finished(sign * 1.0, {0: sign * 9.0, 2: sign * (1.0 + gain)}) for gain in gains]
    complete = complete_trials([*curves, finished(sign * 4.0)], direction)  # one that reported nothing
    early = finished(sign * 3.0, {0: sign * 8.0, 2: sign * 3.0}, pruned=True)
    outcome = frozen_outcome(early, complete, "extrapolate")
    assert outcome is not None
    assert outcome["value"] == pytest.approx(sign * (3.0 - 0.65))
    assert outcome["noise_variance"] == pytest.approx(gains.var(ddof=1))
    awful = frozen_outcome(finished(sign * 80.0, {2: sign * 80.0}, pruned=True), complete, "extrapolate")
    assert awful is not None and awful["value"] == sign * 4.0  # the worst complete value
    alike = frozen_outcome(finished(sign * 3.0, {1: sign * 3.0}, pruned=True), complete, "extrapolate")
    assert alike is not None and alike["value"] == sign * 3.0  # at step 1 all gained alike: no spread to go by


def test_too_few_complete_curves_bound_a_pruned_trial_instead() -> None:
    minimize = optuna.study.StudyDirection.MINIMIZE
    complete = complete_trials([finished(1.0, {0: 2.0}), finished(3.0, {0: 5.0})], minimize)
    read = {r: frozen_outcome(finished(0.0, {0: 0.0}, pruned=True), complete, r) for r in ("extrapolate", "bound")}
    assert read["extrapolate"] == read["bound"] == {"state": "complete", "value": 2.0, "noise_variance": None}


def test_pruned_trials_can_be_places_to_avoid_or_nothing_at_all() -> None:
    complete = complete_trials([finished(1.0)], optuna.study.StudyDirection.MINIMIZE)
    pruned = finished(0.5, {0: 0.5}, pruned=True)
    assert frozen_outcome(pruned, complete, "fail") == {"state": "failed"}
    assert frozen_outcome(pruned, complete, "ignore") is None


@pytest.mark.parametrize(
    "pruner",
    [optuna.pruners.MedianPruner(n_startup_trials=3), optuna.pruners.HyperbandPruner(max_resource=9)],
    ids=["median", "hyperband"],
)
def test_trials_pruned_by_a_pruner_take_part(pruner: optuna.pruners.BasePruner) -> None:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        for step in range(1, 10):
            trial.report((x - 0.3) ** 2 + 1.0 / step, step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return (x - 0.3) ** 2 + 1.0 / 9

    sampler = CCGBOSampler(seed=0)
    study = run(25, sampler, objective, pruner=pruner)
    pruned = {t.number for t in study.trials if t.state == TrialState.PRUNED}
    assert pruned
    assert pruned <= set(sampler.credits(study))
    assert abs(study.best_params["x"] - 0.3) < 0.05


def test_enqueued_trials_come_first_and_one_outside_the_range_does_no_harm() -> None:
    sampler = CCGBOSampler(seed=0, n_startup_trials=3)
    study = optuna.create_study(sampler=sampler)
    study.enqueue_trial({"x": 3.0, "y": 2.0})
    study.enqueue_trial({"x": 99.0})
    with pytest.warns(UserWarning, match="out of range"):
        study.optimize(branin, n_trials=8)
    assert study.trials[0].params == {"x": 3.0, "y": 2.0}
    assert study.trials[1].params["x"] == 99.0
    assert set(sampler.credits(study)) == {0, 2, 3, 4, 5, 6, 7}


def test_added_trials_count_as_observations() -> None:
    storage = InMemoryStorage()
    study = optuna.create_study(storage=storage, sampler=CCGBOSampler(seed=0, storage=storage))
    earlier = run(12, optuna.samplers.RandomSampler(seed=0))
    study.add_trials(earlier.trials)
    study.optimize(branin, n_trials=1)
    assert 0.0 < study.trials[12].user_attrs["ccgbo:weight"] <= 1.0  # the model made it: the design is over


# -- seeds, resuming, several processes

SCRIPT = """
import json, optuna
optuna.logging.set_verbosity(optuna.logging.ERROR)
from ccgbo.integrations.optuna import CCGBOSampler
study = optuna.create_study(sampler=CCGBOSampler(seed=7))
def objective(trial):
    k = trial.suggest_categorical("k", ["a", "b"])
    return trial.suggest_float("x", 0.0, 1.0) + trial.suggest_int("n", 1, 9) * (k == "a")
study.optimize(objective, n_trials=16)
print(json.dumps([t.params for t in study.trials]))
"""


def test_a_seed_gives_the_same_trials_in_every_process() -> None:
    outputs = [subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True) for _ in range(2)]
    assert outputs[0].stdout == outputs[1].stdout
    assert len(json.loads(outputs[0].stdout)) == 16


def test_different_seeds_and_no_seed_give_different_trials() -> None:
    firsts = {run(1, CCGBOSampler(seed=seed)).trials[0].params["x"] for seed in (0, 1, None, None)}
    assert len(firsts) == 4


class SilentHandler(WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Requests are no news here."""


def close(storage: optuna.storages.BaseStorage) -> None:
    storage.remove_session()
    if isinstance(storage, RDBStorage):
        storage.engine.dispose()


@pytest.mark.parametrize("kind", ["rdb", "journal"])
def test_a_study_resumed_from_its_storage_equals_an_uninterrupted_one(kind: str, tmp_path: Path) -> None:
    def opened() -> optuna.storages.BaseStorage:
        if kind == "rdb":
            return RDBStorage(f"sqlite:///{tmp_path}/study.db")
        return JournalStorage(JournalFileBackend(str(tmp_path / "study.log")))

    for n in (7, 1, 10):
        storage = opened()
        study = optuna.create_study(study_name="s", storage=storage, sampler=CCGBOSampler(seed=3), load_if_exists=True)
        study.optimize(branin, n_trials=n)
        resumed = params_of(study)
        close(storage)
    assert resumed == params_of(run(18, CCGBOSampler(seed=3)))


def test_an_engine_brought_up_to_date_suggests_what_a_new_one_would() -> None:
    def objective(trial: optuna.Trial) -> float:
        if trial.number in (4, 9):
            raise optuna.TrialPruned
        return branin(trial)

    kept, renewed = (optuna.create_study(sampler=CCGBOSampler(seed=0, n_startup_trials=6)) for _ in range(2))
    kept.optimize(objective, n_trials=18)
    for _ in range(18):
        renewed.sampler = CCGBOSampler(seed=0, n_startup_trials=6)
        renewed.optimize(objective, n_trials=1)
    assert params_of(kept) == params_of(renewed)


def record(number: int, state: str, value: float | None = None, x: float = 0.5) -> Any:
    return ccgbo.Trial(id=number, params={"x": x}, state=state, value=value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("known", "records", "expected"),
    [
        ([], [(0, "complete", 1.0)], [0]),
        ([(0, "complete", 1.0), (1, "pending")], [(0, "complete", 1.0), (1, "failed"), (2, "pending")], [1, 2]),
        ([(0, "complete", 1.0)], [], None),  # it would have to forget
        ([(0, "pending")], [(0, "complete", 1.0, 0.7)], None),  # it was evaluated elsewhere
        ([(0, "complete", 1.0)], [(0, "complete", 2.0)], None),  # a pruned value whose limits have moved
        ([(1, "complete", 1.0)], [(0, "complete", 2.0), (1, "complete", 1.0)], None),  # out of order
    ],
)
def test_only_news_that_lead_to_the_same_engine_are_told(known: Any, records: Any, expected: list[int] | None) -> None:
    news = news_of([record(*r) for r in records], [record(*k) for k in known])
    assert (None if news is None else [trial.id for trial in news]) == expected


def test_a_pickled_sampler_continues_as_the_original() -> None:
    study = run(12, CCGBOSampler(seed=0))
    resumed = pickle.loads(pickle.dumps(study))
    study.optimize(branin, n_trials=3)
    resumed.optimize(branin, n_trials=3)
    assert params_of(study) == params_of(resumed)


def test_workers_with_one_seed_do_not_start_at_the_same_point() -> None:
    storage = InMemoryStorage()
    first = optuna.create_study(study_name="s", storage=storage, sampler=CCGBOSampler(seed=0))
    second = optuna.load_study(study_name="s", storage=storage, sampler=CCGBOSampler(seed=0))
    for trial in (first.ask(), second.ask(), first.ask(), second.ask()):
        branin(trial)
    assert len({p["x"] for p in params_of(first)}) == 4


def test_reseed_rng_changes_what_follows() -> None:
    independent = optuna.samplers.RandomSampler(seed=0)
    sampler = CCGBOSampler(seed=0, independent_sampler=independent)
    sampler.reseed_rng()
    assert run(1, sampler).trials[0].params != run(1, CCGBOSampler(seed=0)).trials[0].params
    reseeded = run(12, sampler)
    assert params_of(reseeded)[2:] != params_of(run(12, CCGBOSampler(seed=0)))[2:]


def test_an_independent_sampler_is_used_for_what_is_not_in_the_search_space() -> None:
    ours = run(1, CCGBOSampler(seed=5, independent_sampler=optuna.samplers.RandomSampler(seed=0)))
    theirs = run(1, optuna.samplers.RandomSampler(seed=0))
    assert params_of(ours) == params_of(theirs)


# -- credits


def test_credits_are_stored_with_the_study_and_with_each_trial() -> None:
    storage = InMemoryStorage()
    sampler = CCGBOSampler(seed=0, storage=storage)
    study = run(14, sampler, storage=storage)
    current = sampler.credits(study)
    assert study.user_attrs["ccgbo:credits"] == {str(n): round(c, 4) for n, c in current.items()}
    assert set(current) == set(range(14))
    assert max(current.values()) == 1.0
    assert study.trials[13].user_attrs["ccgbo:credit"] == round(current[13], 4)
    assert all(0.1 <= t.user_attrs["ccgbo:credit"] <= 1.0 for t in study.trials)
    assert [t.number for t in study.trials if "ccgbo:weight" in t.user_attrs] == [10, 11, 12, 13]


def test_credits_of_trials_need_a_storage_and_can_be_switched_off() -> None:
    assert all(t.user_attrs == {} for t in run(12, CCGBOSampler(seed=0)).trials)
    storage = InMemoryStorage()
    study = run(12, CCGBOSampler(seed=0, storage=storage, store_credits=False), storage=storage)
    assert all(t.user_attrs == {} for t in study.trials)
    assert "ccgbo:credits" not in study.user_attrs


def test_storing_credits_changes_no_suggestion() -> None:
    assert params_of(run(14, CCGBOSampler(seed=0))) == params_of(run(14, CCGBOSampler(seed=0, store_credits=False)))


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
def test_optuna_dashboard_shows_the_credits() -> None:
    from optuna_dashboard import wsgi

    storage = InMemoryStorage()
    run(12, CCGBOSampler(seed=0, storage=storage), storage=storage)
    environ: dict[str, Any] = {}
    wsgiref.util.setup_testing_defaults(environ)
    environ["PATH_INFO"] = "/api/studies/0"
    shown = json.loads(b"".join(wsgi(storage)(environ, lambda *_: None)))
    assert {"key": "ccgbo:credit", "sortable": True} in shown["union_user_attrs"]
    assert all(any(a["key"] == "ccgbo:credit" for a in t["user_attrs"]) for t in shown["trials"])
    assert "ccgbo:credits" in {a["key"] for a in shown["user_attrs"]}


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
def test_the_credit_is_a_column_of_the_trial_table_in_the_browser(tmp_path: Path) -> None:
    from optuna_dashboard import wsgi

    storage = InMemoryStorage()
    study = run(12, CCGBOSampler(seed=0, storage=storage), storage=storage)
    with make_server("127.0.0.1", 0, wsgi(storage), handler_class=SilentHandler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            with chromium(tmp_path) as browser:
                browser.open(f"http://127.0.0.1:{server.server_port}/dashboard/studies/0/smartSelection")
                browser.says("table thead", "ccgbo:credit")
                browser.says("table tbody", str(study.trials[1].user_attrs["ccgbo:credit"]))
        finally:
            server.shutdown()
            thread.join()


# -- the house rules


@pytest.mark.parametrize("module", [integration, _optuna_engine, _optuna_pruned, _optuna_trials])
def test_only_the_public_api_of_optuna_is_used(module: Any) -> None:
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            assert isinstance(node.value, ast.Name), node.attr
            assert node.value.id == "self", f"{node.value.id}.{node.attr}"
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("optuna"):
            assert not any(part.startswith("_") for part in node.module.split("."))
            assert not any(alias.name.startswith("_") for alias in node.names)


def test_without_optuna_the_error_gives_the_pip_command_and_ccgbo_itself_never_loads_it() -> None:
    code = (
        "import sys, ccgbo; assert 'optuna' not in sys.modules; sys.modules['optuna'] = None\n"
        "try:\n    import ccgbo.integrations.optuna\n"
        "except ccgbo.MissingExtraError as error:\n    print(error)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'ccgbo[optuna]'" in out.stdout, out.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": -1}, "seed must be None or a whole number >= 0, got -1"),
        ({"n_startup_trials": -3}, "n_startup_trials must be None or a whole number >= 0, got -3"),
        ({"n_initial": 4}, "n_initial is called n_startup_trials here"),
        ({"preset": "fast"}, "preset must be one of"),
        ({"n_startup_trials": 2.5}, "n_startup_trials must be None or a whole number >= 0, got 2.5"),
        ({"pruned": "drop"}, "pruned must be one of 'extrapolate', 'bound', 'fail', 'ignore', got 'drop'"),
        ({"n_initial_points": 4}, "no setting 'n_initial_points': did you mean 'n_startup_trials'"),
    ],
)
def test_a_wrong_argument_is_named_with_its_rule_and_value(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        CCGBOSampler(**arguments)


def test_the_repr_names_what_differs_from_a_preset() -> None:
    assert repr(CCGBOSampler(seed=3)) == "CCGBOSampler(seed=3)"
    named = CCGBOSampler(seed=0, preset="paper", acquisition="ei", n_startup_trials=4, pruned="fail")
    assert repr(named) == "CCGBOSampler(seed=0, preset='paper', n_startup_trials=4, acquisition=EI(), pruned='fail')"
    assert repr(CCGBOSampler(seed=7, acquisition="ei")) == "CCGBOSampler(seed=7, acquisition=EI())"
    assert repr(CCGBOSampler(seed=7, storage=InMemoryStorage())) == "CCGBOSampler(seed=7)"  # an address may be secret


def test_a_storage_of_another_study_is_refused() -> None:
    study = optuna.create_study(sampler=CCGBOSampler(seed=0, storage=InMemoryStorage()))
    with pytest.raises(SettingError, match="storage must be the study's storage"):
        study.optimize(branin, n_trials=1)


def test_settings_of_the_engine_are_passed_on() -> None:
    default, paper = (params_of(run(13, CCGBOSampler(seed=0, preset=preset))) for preset in ("default", "paper"))
    assert default != paper
    assert params_of(run(13, CCGBOSampler(seed=0, credit=False)))[10:] != default[10:]


# -- what users copy


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = run_page("optuna.md")
    assert names["study"].best_value > 0.9


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    close(run_example("optuna_basic.py")["storage"])
    assert "20 trials, best accuracy 0.9" in capsys.readouterr().out
