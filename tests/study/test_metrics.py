"""Studies that measure several things: what is stored, opened again, told, corrected and changed."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import pytest

import ccgbo
from ccgbo import AtLeast, AtMost, Between, Measurement, SettingError, Study, TellError, Trial
from ccgbo.study.moving import move_study

SPACE: dict[str, Any] = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
LAB: dict[str, Any] = {
    "objectives": {"yield": "maximize", "cost": "minimize"},
    "outcome_constraints": {"impurity": AtMost(0.5), "ph": Between(6.5, 7.5)},
}
FAST: dict[str, Any] = {
    "n_initial": 4,
    "tuning": {"n_candidates": 16, "n_local": 4, "n_starts": 1, "search_steps": 2, "max_iterations": 8},
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lab.db"


def measure(x: float, y: float) -> dict[str, float]:
    return {"yield": x * (2.0 - y), "cost": x + y, "impurity": y, "ph": 6.4 + x}


def worked(path: Path | str, n: int = 7, **given: Any) -> Study:
    study = Study(path, SPACE, seed=3, **(LAB | FAST | given))
    for _ in range(n):
        trial = study.ask()
        told = measure(**trial.params)
        study.tell(trial, {name: told[name] for name in study.metrics.names})
    return study


# -- opened again


def test_a_study_knows_its_metrics_when_it_is_opened_again(path: Path) -> None:
    with worked(path) as study, Study(path) as again, Study(path, SPACE, **LAB) as same:
        assert again.metrics == same.metrics == study.metrics
        assert again.pareto_front() == study.pareto_front()
        assert again.hypervolume() == study.hypervolume()
        assert again.settings == study.settings
        assert again.optimizer().ask().params == study.ask().params


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"outcome_constraints": {**LAB["outcome_constraints"], "ph": AtLeast(6.5)}}, r"'ph' differs: .*Between\(6.5"),
        ({"outcome_constraints": {"ph": Between(6.5, 7.5)}}, "'impurity' differs: .*got nothing of the kind"),
        ({"objectives": {"yield": "maximize", "cost": "maximize"}}, "'cost' differs: the study has 'minimize'"),
        ({"objectives": {"yield": "maximize"}}, "'cost' differs"),
        ({"objective": "yield"}, r"objective must be that of the study 'default', \['yield', 'cost'\]"),
        ({"direction": "minimize"}, "direction must be that of the study"),
    ],
)
def test_other_metrics_on_opening_are_an_error_that_names_the_difference(
    path: Path, given: dict[str, Any], said: str
) -> None:
    worked(path, 0).close()
    with pytest.raises(SettingError, match=said):
        Study(path, **given)
    Study(path.parent / "one.db", SPACE, objective="loss", direction="minimize").close()
    with pytest.raises(SettingError, match="'loss'"):
        Study(path.parent / "one.db", objective="yield")


def test_an_acquisition_that_was_named_stays_when_the_study_is_opened_again(path: Path) -> None:
    default = ccgbo.Settings().acquisition
    Study(path, SPACE, objective="yield", outcome_constraints={"ph": AtMost(7.0)}, acquisition=default).close()
    with Study(path) as again:
        assert again.settings.acquisition == again.optimizer().settings.acquisition == default


def test_input_constraints_may_be_several(path: Path) -> None:
    sums = [ccgbo.LinearConstraint({"x": 1.0, "y": 1.0}, upper=1.0), ccgbo.LinearConstraint({"x": 1.0}, upper=0.75)]
    with Study(path, SPACE, constraints=sums, seed=0) as study, Study(path, SPACE, constraint=sums) as again:
        assert len(again.space.constraints) == 2
        assert all(t.params["x"] + t.params["y"] <= 1.0 + 1e-9 for t in study.ask(5))
        with pytest.raises(SettingError, match="constraint"):
            Study(path, SPACE, constraint=sums[0])


def test_names_that_a_table_could_not_tell_apart_are_refused(path: Path) -> None:
    with pytest.raises(SettingError, match="'ph_readings' could be a metric or what belongs to 'ph'"):
        Study(path, SPACE, objectives={"ph": "maximize", "ph_readings": "minimize"})
    assert not path.exists()


def test_a_study_goes_to_another_process_and_to_another_file_with_its_metrics(path: Path, tmp_path: Path) -> None:
    with worked(path) as study:
        with pickle.loads(pickle.dumps(study)) as there:
            assert there.metrics == study.metrics
        before, log, suggestion = study.trials, study.log(), study.optimizer().ask()
    move_study(path, tmp_path / "new.db")
    with Study(tmp_path / "new.db") as moved:
        assert (moved.trials, moved.log(), moved.metrics) == (before, log, study.metrics)
        assert moved.ask() == suggestion


# -- told


def test_what_is_missing_none_or_nan_was_not_measured_and_the_others_count(path: Path) -> None:
    with worked(path, 0) as study:
        told = study.tell(study.ask(), {"yield": 3.0, "cost": None, "impurity": math.nan})
        assert (told.state, told.values, told.value) == ("complete", {"yield": 3.0}, None)
        failed = study.tell(study.ask(), {"yield": math.nan, "cost": math.inf})
        assert (failed.state, failed.error) == ("failed", "yield was nan, cost was inf")
        assert study.trials == (told, failed)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"yeild": 1.0}, "no metric 'yeild': did you mean 'yield'.*attributes="),
        (1.0, "value must be a mapping of the metrics"),
        ({"yield": "much"}, "yield must be a number, got 'much'"),
        ({"yield": True}, "yield must be a number"),
        ({"yield": [1.0, math.inf]}, r"yield\[1\], a reading, must be a finite number"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name_and_nothing_is_told(path: Path, value: Any, said: str) -> None:
    with worked(path, 0) as study:
        trial = study.ask()
        with pytest.raises(TellError, match=said):
            study.tell(trial, value)
        assert study.trials == (trial,)


def test_readings_errors_and_variances_are_kept_by_metric_to_the_last_bit(path: Path) -> None:
    with worked(path, 0) as study:
        values = {"yield": [0.1, 0.2, 0.4], "cost": (1e-300, 1e-200), "impurity": 1e300, "ph": 7.1}
        told = study.tell(study.ask(), values, noise_variance={"ph": 1 / 3})
        with Study(path) as again:
            (read,) = again.trials
        assert read == told
        assert read.metrics["yield"].readings == (0.1, 0.2, 0.4)
        assert read.metrics["cost"] == Measurement(value=1e-300, noise_variance=0.0)
        assert read.metrics["ph"].noise_variance == 1 / 3
        assert (study.recommend() and study.ask()).state == "pending"


def test_an_amendment_changes_the_metrics_that_it_names_and_takes_back_what_is_none(path: Path) -> None:
    with worked(path, 1) as study:
        before = study.trials[0].values
        assert study.amend(0, {"impurity": 0.25}).values == before | {"impurity": 0.25}
        amended = study.amend(0, {"ph": None})
        assert amended.values == {k: v for k, v in (before | {"impurity": 0.25}).items() if k != "ph"}
        assert [str(e).split("  ", 2)[2] for e in study.log()] == [
            f"amend trial 0: impurity {before['impurity']} -> 0.25",
            f"amend trial 0: ph {before['ph']} -> none",
        ]


def test_many_are_told_from_lists_and_from_frames(path: Path) -> None:
    import pandas as pd

    points = [{"x": 0.1, "y": 0.2}, {"x": 0.3, "y": 0.4}]
    values = [{"yield": 1.0, "cost": 2.0}, {"yield": 3.0, "ph": 7.0}]
    with worked(path, 0) as study:
        first = study.tell_many(points, values, noise_variance={"yield": 0.25})
        second = study.tell_many(pd.DataFrame(points), pd.DataFrame(values))
        assert [t.values for t in first] == [t.values for t in second] == values
        assert [t.metrics["yield"].noise_variance for t in [*first, *second]] == [0.25, 0.25, None, None]
        with pytest.raises(TellError, match="no metric 'price'"):
            study.tell_many(points, [{"yield": 1.0}, {"price": 1.0}])
        assert len(study.trials) == 4


def test_the_list_of_studies_has_the_best_feasible_value_or_the_front(path: Path) -> None:
    with worked(path, name="front") as study:
        front = len(study.pareto_front())
    bounds = {"outcome_constraints": {"impurity": AtMost(0.3)}}
    with worked(path, name="one", objectives=None, objective="yield", **bounds) as one:
        best = one.best_value
        one.tell({"x": 1.0, "y": 1.0}, {"yield": 9.0, "impurity": 0.9})
        assert one.best_value == best < 9.0
    with worked(path, 0, name="none", objectives=None, objective="yield", **bounds) as none:
        none.tell({"x": 1.0, "y": 1.0}, {"yield": 9.0, "impurity": 0.9})
    with Study(path, SPACE, name="plain", direction="minimize") as plain:
        plain.tell({"x": 1.0, "y": 1.0}, 2.0)
    infos = {info.name: info for info in ccgbo.list_studies(path)}
    assert (infos["front"].best_value, infos["front"].n_front) == (None, front)
    assert (infos["one"].best_value, infos["one"].n_front) == (best, None)
    assert (infos["none"].best_value, infos["plain"].best_value, infos["plain"].metrics) == (None, 2.0, None)
    assert infos["front"].metrics == study.metrics.to_dict()


# -- changed


def test_a_plain_study_gets_a_name_a_constraint_and_then_a_second_objective(path: Path) -> None:
    with Study(path, SPACE, direction="minimize", seed=1, **FAST) as study, Study(path) as other:
        for _ in range(5):
            trial = study.ask()
            study.tell(trial, [measure(**trial.params)["cost"], 0.5])
        values = [t.value for t in study.trials]
        change = study.change_metrics(objective="cost", outcome_constraints={"impurity": AtMost(0.5)})
        assert change.describe()[:2] == [
            "value: called cost from now on.",
            "impurity: must be <= 0.5 from now on; trials so far have it where amend says so.",
        ]
        assert [t.value for t in other.trials] == [t.values["cost"] for t in other.trials] == values
        assert all(len(t.metrics["cost"].readings) == 2 and not t.readings for t in other.trials)
        assert other.metrics == change.metrics
        for trial in other.trials:
            other.amend(trial, {"impurity": trial.params["y"]})
        assert study.best_trial.values["impurity"] <= 0.5
        study.change_metrics(objectives={"cost": "minimize", "yield": "maximize"})
        assert [t.value for t in other.trials] == [None] * 5
        assert isinstance(other.settings.acquisition, ccgbo.EHVI)
        study.amend(0, {"yield": 1.0})
        assert other.ask() == study.optimizer().trial(5)
        assert other.log()[-2].action == "change metrics"
        assert "yield: an objective from now on, to maximize" in str(other.log()[-2])


def test_after_a_change_a_study_suggests_what_a_new_one_with_these_trials_would(path: Path, tmp_path: Path) -> None:
    bounds = {"impurity": AtMost(0.25)}
    with worked(path, objectives=None, objective="yield", outcome_constraints={"impurity": AtMost(0.9)}) as study:
        study.change_metrics(outcome_constraints=bounds)
        new = Study(tmp_path / "new.db", SPACE, objective="yield", outcome_constraints=bounds, seed=3, **FAST)
        with new:
            optimizer = new.optimizer()
            state = study.optimizer().state()
            assert (state.fit, state.fits) == (None, {})
            optimizer.sync(study.trials, state)
            assert study.ask().params == optimizer.ask().params


def test_what_is_not_measured_any_more_stays_on_record_and_counts_again_when_it_comes_back(path: Path) -> None:
    with worked(path) as study:
        before = study.trials
        study.change_metrics(objectives={"yield": "maximize"}, outcome_constraints={})
        assert [t.metrics for t in study.trials] == [t.metrics for t in before]
        study.amend(0, {"yield": 9.0})
        assert study.trials[0].values == before[0].values | {"yield": 9.0}
        study.change_metrics(**LAB)
        assert study.amend(0, {"yield": before[0].values["yield"]}).metrics == before[0].metrics
        assert study.trials == before


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"objectives": {"a": "maximize", "b": "maximize"}}, r"rename must say .* rename=\{'value': 'a'\}"),
        ({"rename": {"valeu": "a"}}, "no metric 'valeu': did you mean 'value'"),
        ({"objective": "a", "objectives": {"a": "maximize"}}, "objective must be left out"),
        ({"direction": "up"}, "direction must be"),
        ({"outcome_constraints": {"a": 3}}, r"outcome_constraints\['a'\] must be AtMost"),
        ({"rename": {"value": "a"}, "objectives": {"b": "maximize"}}, "rename must lead to metrics that there are"),
    ],
)
def test_a_change_that_cannot_be_meant_is_refused_and_changes_nothing(
    path: Path, given: dict[str, Any], said: str
) -> None:
    with Study(path, SPACE) as study:
        study.tell({"x": 0.5, "y": 0.5}, 1.0)
        before = study.trials
        with pytest.raises(SettingError, match=said):
            study.change_metrics(**given)
        assert (study.trials, study.log(), study.metrics.plain) == (before, [], True)


def test_a_constraint_that_was_added_by_mistake_is_taken_back_as_long_as_nothing_was_measured_of_it(path: Path) -> None:
    with Study(path, SPACE) as study:
        study.tell({"x": 0.5, "y": 0.5}, [1.0, 2.0])
        before = study.trials
        for _ in range(2):
            study.change_metrics(outcome_constraints={"ph": AtMost(7.0)})
            assert study.trials[0].metrics["value"].readings == (1.0, 2.0)
            study.change_metrics(outcome_constraints={})
            assert (study.trials, study.metrics.plain) == (before, True)
        study.change_metrics(outcome_constraints={"ph": AtMost(7.0)})
        study.amend(0, {"ph": 6.0})
        with pytest.raises(SettingError, match="objective must have a name where trials have named metrics"):
            study.change_metrics(outcome_constraints={})


def test_a_metric_that_appears_after_fifty_trials_is_modelled_from_then_on(path: Path) -> None:
    with Study(path, SPACE, objective="yield", seed=0, **FAST) as study:
        points = [{"x": i / 50, "y": (7 * i % 50) / 50} for i in range(50)]
        study.tell_many(points, [measure(**point)["yield"] for point in points])
        study.change_metrics(outcome_constraints={"impurity": AtMost(0.2)})
        with pytest.raises(ccgbo.NoObservationsError, match="no trial was measured to keep every outcome constraint"):
            study.best_trial  # noqa: B018
        for trial in study.ask(2):
            study.tell(trial, {"yield": 1.0, "impurity": trial.params["y"]})
        study.amend(0, {"impurity": 0.0})
        assert study.recommend().trial_id in {t.id for t in study.trials}  # type: ignore[union-attr]
        assert isinstance(study.ask(), Trial)


def test_an_optimizer_and_a_study_change_alike(path: Path) -> None:
    optimizer = ccgbo.Optimizer(SPACE, direction="minimize", seed=3, **FAST)
    with Study(path, SPACE, direction="minimize", seed=3, **FAST) as study:
        for source in (optimizer, study):
            for _ in range(6):
                trial = source.ask()
                source.tell(trial, measure(**trial.params)["cost"])
            source.change_metrics(objective="cost", outcome_constraints={"impurity": AtMost(0.4)})
            for trial in source.trials:
                source.amend(trial, {"impurity": trial.params["y"]})
        assert optimizer.trials == study.trials
        assert optimizer.ask() == study.ask()
        resumed = ccgbo.Optimizer(
            SPACE, objective="cost", direction="minimize", outcome_constraints={"impurity": AtMost(0.4)}, **FAST
        )
        resumed.load_state_dict(optimizer.state_dict())
        assert resumed.ask() == optimizer.ask() == study.ask()
        assert [e.note for e in optimizer.log() if e.action == "change metrics"] == [
            e.note for e in study.log() if e.action == "change metrics"
        ]


def test_a_study_has_a_diagnosis_of_each_metric(path: Path) -> None:
    with Study(path, SPACE, objective="f", outcome_constraints={"c": ccgbo.AtMost(1.0)}, seed=0) as study:
        for i in range(4):
            study.tell(study.ask(), {"f": float(i), "c": float(-i)})
        assert [row.value for row in study.diagnose("c").left_out] == [0.0, -1.0, -2.0, -3.0]
        assert [row.value for row in study.diagnose().left_out] == [0.0, 1.0, 2.0, 3.0]
