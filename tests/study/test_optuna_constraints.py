"""Constraints of Optuna studies, which are stored in real databases here, as outcome constraints of a study."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import optuna
import pytest

import ccgbo
from ccgbo import AtMost
from ccgbo.cli import main
from ccgbo.study.transfer import import_optuna, metrics_of_optuna, space_of_optuna

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.filterwarnings(
        "ignore::DeprecationWarning:optuna.*",
        "ignore::DeprecationWarning:sqlalchemy.*",
        "ignore:.constraints_func. has been deprecated:FutureWarning",
        "ignore::optuna.exceptions.ExperimentalWarning",
    ),
]


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(before)


def address(folder: Path) -> str:
    return f"sqlite:///{folder / 'old.db'}"


def of_function(folder: Path, n: int = 12, **options: Any) -> Any:
    """A study of Optuna's own sampler with a constraints_func, of which one trial fails."""

    def objective(trial: Any) -> Any:
        x, y = trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0)
        trial.set_user_attr("c", (0.75 - x - y, x - 0.9))
        if trial.number == 3:
            raise ValueError("boom")
        return x + y if "directions" not in options else (x - y, x * y)

    sampler = optuna.samplers.TPESampler(seed=0, constraints_func=lambda t: t.user_attrs["c"])
    study = optuna.create_study(storage=address(folder), sampler=sampler, **options)
    study.optimize(objective, n_trials=n, catch=(ValueError,))
    return study


def complete(study: Any) -> list[Any]:
    return [t for t in study.trials if t.state.name == "COMPLETE"]


def test_a_constraints_func_arrives_with_its_values_and_the_same_trial_is_best(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = of_function(tmp_path, study_name="old")
    with pytest.raises(SystemExit) as exit_:
        main(["import", str(tmp_path / "new.db"), "--optuna", address(tmp_path), "--optuna-study", "old"])
    assert exit_.value.code == 0, capsys.readouterr()
    with ccgbo.Study(tmp_path / "new.db") as study:
        assert study.metrics.objectives == {"value": "minimize"}
        assert study.metrics.constraints == {"constraint_0": AtMost(0.0), "constraint_1": AtMost(0.0)}
        told = [t for t in study.trials if t.state == "complete"]
        for mine, theirs in zip(told, complete(old), strict=True):
            first, second = theirs.constraints.values()
            assert mine.values == {"value": theirs.value, "constraint_0": first, "constraint_1": second}
        assert [t.state for t in study.trials].count("failed") == 1
        assert any(t.constraints["0"] > 0.0 for t in complete(old))  # else the next line could not fail
        assert study.best_params == old.best_trial.params
        again = import_optuna(study, old)
        assert (len(again.new), len(again.refused)) == (0, 0)
        study.ask()


def test_several_objectives_with_constraints_have_the_same_front(tmp_path: Path) -> None:
    old = of_function(tmp_path, 20, directions=["maximize", "minimize"])
    old.set_metric_names(["gain", "cost"])
    metrics = metrics_of_optuna(old)
    assert metrics.objectives == {"gain": "maximize", "cost": "minimize"}
    with ccgbo.Study(
        tmp_path / "new.db",
        space_of_optuna(old),
        objectives=metrics.objectives,
        outcome_constraints=metrics.constraints,
    ) as study:
        import_optuna(study, old)
        mine = sorted(t.params["x"] for t in study.pareto_front())
        assert mine == sorted(t.params["x"] for t in old.best_trials)


def test_constraints_that_trials_set_keep_their_names_and_may_be_missing(tmp_path: Path) -> None:
    def objective(trial: Any) -> float:
        x: float = trial.suggest_float("x", 0.0, 1.0)
        if trial.number:
            trial.set_constraint("weight", x - 0.5)
        trial.set_constraint("a=b", math.inf if trial.number == 2 else -1.0)
        return x

    old = optuna.create_study(storage=address(tmp_path), sampler=optuna.samplers.RandomSampler(seed=0))
    old.optimize(objective, n_trials=4)
    metrics = metrics_of_optuna(old)
    assert metrics.constraints == {"weight": AtMost(0.0), "a_b": AtMost(0.0)}
    study = ccgbo.Study(
        tmp_path / "new.db", {"x": (0.0, 1.0)}, direction="minimize", outcome_constraints=metrics.constraints
    )
    with study:
        import_optuna(study, old)
        names = [set(t.values) for t in study.trials]
    assert names == [{"value", "a_b"}, {"value", "weight", "a_b"}, {"value", "weight"}, {"value", "weight", "a_b"}]


@pytest.mark.parametrize("bounds", [{}, {"constraint_0": AtMost(0.0)}, {"constraint_0": AtMost(0.5)}])
def test_a_study_without_the_constraints_is_refused_with_those_that_it_needs(tmp_path: Path, bounds: Any) -> None:
    old = of_function(tmp_path)
    said = r"outcome_constraints must have \{'constraint_0': AtMost\(0.0\), 'constraint_1': AtMost\(0.0\)\}"
    with ccgbo.Study(
        tmp_path / "new.db", space_of_optuna(old), direction="minimize", outcome_constraints=bounds
    ) as study:
        with pytest.raises(ccgbo.SettingError, match=said):
            import_optuna(study, old)
        assert study.trials == ()


def test_keys_that_would_be_one_name_are_refused(tmp_path: Path) -> None:
    old = optuna.create_study(storage=address(tmp_path))
    x = optuna.distributions.FloatDistribution(0.0, 1.0)
    old.add_trial(
        optuna.trial.create_trial(
            params={"x": 0.5}, distributions={"x": x}, value=1.0, constraints={"a=b": 1.0, "a_b": 2.0}
        )
    )
    with pytest.raises(ccgbo.UnsupportedError, match=r"the constraints of trial 0 .* would mix"):
        metrics_of_optuna(old)


def taken_in(old: Any, folder: Path) -> Any:
    metrics = metrics_of_optuna(old)
    goals: Any = {"objectives": metrics.objectives, "outcome_constraints": metrics.constraints}
    study = ccgbo.Study(
        folder / "new.db", space_of_optuna(old), **({"direction": metrics.direction} if metrics.plain else goals)
    )
    with study:
        import_optuna(study, old)
        return study.trials


def test_a_constraint_that_is_called_as_an_objective_is_does_not_take_its_place(tmp_path: Path) -> None:
    def objective(trial: Any) -> tuple[float, float]:
        x: float = trial.suggest_float("x", 0.0, 1.0)
        trial.set_constraint("loss", x - 0.5)
        return x + 10.0, 1.0 - x

    old = optuna.create_study(directions=["minimize", "minimize"])
    old.set_metric_names(["loss", "a=b"])
    old.optimize(objective, n_trials=3)
    for mine, theirs in zip(taken_in(old, tmp_path), old.trials, strict=True):
        assert mine.values == {
            "loss": theirs.values[0],
            "a_b": theirs.values[1],
            "constraint_loss": theirs.constraints["loss"],
        }


@pytest.mark.parametrize("n_objectives", [1, 2])
def test_parameters_that_are_called_as_our_columns_are_keep_their_values(tmp_path: Path, n_objectives: int) -> None:
    names = ("params", "metrics", "value", "value_0", "id", "state", "error")
    old = optuna.create_study(directions=["minimize"] * n_objectives)
    old.optimize(lambda trial: [sum(trial.suggest_float(n, 0.0, 1.0) for n in names)] * n_objectives, n_trials=3)
    trials = taken_in(old, tmp_path)
    assert [t.params for t in trials] == [t.params for t in old.trials]
    told = [[t.value] if n_objectives == 1 else list(t.values.values()) for t in trials]
    assert told == [t.values for t in old.trials]


def test_a_trial_that_failed_before_it_had_all_its_parameters_does_not_keep_the_others_out(tmp_path: Path) -> None:
    def objective(trial: Any) -> float:
        x: float = trial.suggest_float("x", 0.0, 1.0)
        if trial.number == 1:
            raise ValueError("too early")
        y: float = trial.suggest_float("y", 0.0, 1.0)
        if trial.number == 2:
            raise ValueError("with a place")
        return x + y

    old = optuna.create_study()
    old.optimize(objective, n_trials=4, catch=(ValueError,))
    assert [t.state for t in taken_in(old, tmp_path)] == ["complete", "failed", "complete"]
