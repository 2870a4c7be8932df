"""Metrics in tables: columns, round trips, and what comes back from a spreadsheet."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import ccgbo
from ccgbo import AtMost, Study, TellError
from ccgbo.cli import main
from ccgbo.study.transfer import export_study, import_file, import_optuna, import_table

SPACE: dict[str, Any] = {"x": (0.0, 1.0), "kind": ["a", "b"]}
LAB: dict[str, Any] = {
    "objectives": {"yield": "maximize", "cost": "minimize"},
    "outcome_constraints": {"impurity": AtMost(0.5)},
}


@pytest.fixture
def study(tmp_path: Path) -> Study:
    study = Study(tmp_path / "lab.db", SPACE, seed=1, **LAB)
    values: list[Any] = [
        {"yield": 0.1 + 0.2, "cost": [1.0, 1 / 3], "impurity": (0.25, 0.1)},
        {"yield": 1e300, "cost": 1e-300},
        {"impurity": 0.75},
    ]
    for value in values:
        study.tell(study.ask(), value)
    study.tell(study.ask(), failed=True, error="no power")
    study.ask()
    return study


def test_a_frame_has_a_column_for_each_metric_and_more_only_where_it_is_known(study: Study) -> None:
    frame = study.to_dataframe()
    columns = ["metrics_yield", "metrics_cost", "metrics_cost_readings", "metrics_impurity"]
    assert [c for c in frame if c.startswith("metrics_")] == [*columns, "metrics_impurity_noise_variance"]
    assert frame["metrics_yield"].tolist()[:2] == [0.1 + 0.2, 1e300]
    assert frame["metrics_cost_readings"][0] == [1.0, 1 / 3]
    assert frame["metrics_yield"].isna().tolist() == [False, False, True, True, True]
    assert "metrics_value" not in ccgbo.Optimizer(SPACE).to_dataframe()
    assert [c for c in ccgbo.Optimizer(SPACE, **LAB).to_dataframe() if "yield" in c] == ["metrics_yield"]


@pytest.mark.parametrize("kind", ["csv", "xlsx", "json", "parquet"])
def test_a_file_says_what_the_study_has_and_fills_another_one_exactly(study: Study, tmp_path: Path, kind: str) -> None:
    file = tmp_path / f"table.{kind}"
    export_study(study, file)
    plan = import_file(study, file)
    assert (len(plan.unchanged), len(plan.open), plan.trials) == (4, 1, ())
    with Study(tmp_path / "other.db", SPACE, **LAB) as other:
        import_file(other, file, by_id=False)
        assert [t.metrics for t in other.trials] == [t.metrics for t in study.trials[:4]]
        assert len(import_file(other, file, by_id=False).unchanged) == 4


def test_a_spreadsheet_with_decimal_commas_tells_amends_and_adds(study: Study, tmp_path: Path) -> None:
    file = tmp_path / "back.csv"
    file.write_text(
        "id;yield;metrics_cost;impurity;params_x;params_kind\n"
        "4;71,5;3,25;0,01;;\n"  # pending
        "1;;;0,125;;\n"  # one more metric of a trial that has others
        "2;5,5;;0,75;;\n"
        ";1,5;2,5;0,5;0,25;b\n",  # from elsewhere
        encoding="utf-8",
    )
    plan = import_file(study, file, dry_run=True)
    assert str(plan) == "would tell 1 pending trial, skip 0 unchanged, add 1 new, leave 2 changed"
    assert plan.details() == ["row 2, trial 1: impurity 0.125", "row 3, trial 2: yield 5.5"]
    import_file(study, file, amend=True)
    assert study.trials[4].values == {"yield": 71.5, "cost": 3.25, "impurity": 0.01}
    assert study.trials[1].values == {"yield": 1e300, "cost": 1e-300, "impurity": 0.125}
    assert study.trials[2].values == {"yield": 5.5, "impurity": 0.75}
    assert (study.trials[5].values, study.trials[5].origin) == (
        {"yield": 1.5, "cost": 2.5, "impurity": 0.5},
        "external",
    )
    again = import_file(study, file, amend=True)
    assert len(again.unchanged) == 4 and not again.trials


def test_a_rounded_cell_is_what_the_study_has(study: Study) -> None:
    plan = import_table(study, [{"id": 0, "metrics_yield": 0.3, "metrics_cost": 0.666667}])
    assert plan.unchanged == (1,)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"id": 4, "metrics_yeild": 1.0}, "no metric 'yeild': did you mean 'yield'"),
        ({"id": 4, "value": 1.0}, "value must be empty where there are several objectives"),
        ({"id": 4, "price": 1.0}, "must be a column 'yield' or 'cost' or 'impurity'"),
        ({"id": 4, "yield": "much"}, "yield must be a number, got 'much'"),
        ({"id": 4, "yield": 1.0, "state": "failed"}, "either a value or a failure"),
        ({"id": 4, "metrics_cost": 2.0, "metrics_cost_readings": [1.0, 2.0]}, "mean of the readings, 1.5"),
    ],
)
def test_rows_that_cannot_be_meant_are_refused_by_name(study: Study, row: dict[str, Any], said: str) -> None:
    before = study.trials
    with pytest.raises(TellError, match=said):
        import_table(study, [{"id": 0, "metrics_yield": 9.0}, row], amend=True)
    assert study.trials == before


def test_a_column_that_could_be_a_parameter_or_a_metric_is_refused_and_prefixes_tell_them_apart(tmp_path: Path) -> None:
    with Study(tmp_path / "s.db", {"ph": (1.0, 14.0)}, objective="yield", outcome_constraints={"ph": AtMost(7.0)}) as s:
        with pytest.raises(TellError, match="'ph' could be the parameter or the metric: call it 'params_ph' or"):
            import_table(s, [{"ph": 3.0, "yield": 1.0}])
        import_table(s, [{"params_ph": 3.0, "metrics_ph": 6.5, "yield": 1.0}])
        assert (s.trials[0].params, s.trials[0].values) == ({"ph": 3.0}, {"yield": 1.0, "ph": 6.5})
        export_study(s, tmp_path / "s.csv")
        assert len(import_file(s, tmp_path / "s.csv").unchanged) == 1


def test_the_column_of_the_value_is_that_of_the_one_objective(tmp_path: Path) -> None:
    with Study(tmp_path / "s.db", SPACE, objective="yield", seed=0) as study:
        study.ask(3)
        import_table(study, [{"id": 0, "value": 1.5}, {"id": 1, "yield": 2.5}, {"id": 2, "value": 3.5, "yield": 3.5}])
        assert [t.values for t in study.trials] == [{"yield": 1.5}, {"yield": 2.5}, {"yield": 3.5}]
        assert [t.value for t in study.trials] == [1.5, 2.5, 3.5]
        frame = study.to_dataframe()
        frame.loc[0, "metrics_yield"], frame.loc[1, "value"] = 10.0, 20.0  # one of the two columns was corrected
        import_table(study, frame, amend=True)
        assert [t.value for t in study.trials] == [10.0, 20.0, 3.5]
        with pytest.raises(TellError, match="value and yield must say the same"):
            import_table(study, [{"id": 0, "value": 7.0, "yield": 8.0}], amend=True)


def test_a_plain_study_refuses_the_metrics_of_another(study: Study, tmp_path: Path) -> None:
    export_study(study, tmp_path / "t.csv")
    with Study(tmp_path / "plain.db", SPACE) as plain, pytest.raises(TellError, match="there is no metric 'yield'"):
        import_file(plain, tmp_path / "t.csv", by_id=False)


def test_a_table_of_a_study_whose_metrics_were_changed_comes_back_unchanged(study: Study, tmp_path: Path) -> None:
    study.change_metrics(objectives={"yield": "maximize"}, outcome_constraints={})
    export_study(study, tmp_path / "t.csv")
    plan = import_file(study, tmp_path / "t.csv", amend=True)
    assert (len(plan.unchanged), plan.trials) == (4, ())
    with pytest.raises(TellError, match="there is no metric 'cost'"):
        import_table(study, [{"id": 1, "metrics_cost": 5.0}], amend=True)


@pytest.mark.filterwarnings("ignore::DeprecationWarning:optuna.*", "ignore::DeprecationWarning:sqlalchemy.*")
def test_an_optuna_study_with_several_objectives_is_imported_with_their_names(tmp_path: Path) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    address = f"sqlite:///{tmp_path / 'old.db'}"
    old = optuna.create_study(storage=address, study_name="old", directions=["maximize", "minimize"])
    space = {"x": optuna.distributions.FloatDistribution(0.0, 1.0)}
    for x in (0.25, 0.5):
        old.add_trial(optuna.trial.create_trial(params={"x": x}, distributions=space, values=[x, 2 * x]))
    with pytest.raises(SystemExit) as end:
        main(["import", str(tmp_path / "new.db"), "--optuna", address])
    assert end.value.code == 0
    with Study(tmp_path / "new.db") as new:
        assert new.metrics.objectives == {"value_0": "maximize", "value_1": "minimize"}
        assert [t.values for t in new.trials] == [{"value_0": x, "value_1": 2 * x} for x in (0.25, 0.5)]
        assert len(import_optuna(new, old).unchanged) == 2


def test_a_metric_with_two_columns_must_say_the_same_in_both(tmp_path: Path) -> None:
    with Study(tmp_path / "s.db", {"x": (0.0, 1.0)}, objective="f", outcome_constraints={"c": AtMost(1.0)}) as study:
        said = r"row 1: metrics_f and f must say the same, or one of them be empty, got 2.0 and 1.0"
        with pytest.raises(TellError, match=said):
            import_table(study, [{"x": 0.1, "f": 1.0, "metrics_f": 2.0}])
        assert study.trials == ()
        import_table(study, [{"x": 0.1, "f": 1.0, "metrics_f": None, "c": 0.5}, {"x": 0.2, "f": 3.0, "metrics_f": 3}])
        assert [t.values for t in study.trials] == [{"f": 1.0, "c": 0.5}, {"f": 3.0}]


def test_a_failure_says_what_the_cell_said(tmp_path: Path) -> None:
    with Study(tmp_path / "s.db", {"x": (0.0, 1.0)}, objective="f", outcome_constraints={"c": AtMost(1.0)}) as study:
        import_table(study, [{"x": 0.1, "f": math.inf}, {"x": 0.2, "f": -math.inf, "c": 0.5}])
        assert [(t.state, t.error) for t in study.trials] == [("failed", "f was inf"), ("complete", None)]


def test_a_table_with_its_own_columns_passes_over_nothing(study: Study, tmp_path: Path) -> None:
    for kind in ("csv", "json"):
        export_study(study, tmp_path / f"t.{kind}")
        assert import_file(study, tmp_path / f"t.{kind}", dry_run=True).unread == ()
    assert import_table(study, study.to_dataframe(), dry_run=True).unread == ()


def test_a_fault_of_the_whole_table_is_said_once(study: Study) -> None:
    rows = [{"id": i, "yeild": 1.0} for i in range(5)]
    with pytest.raises(TellError) as refused:
        import_table(study, rows)
    said = (
        "row 1 and 4 more rows: there must be a column 'yield' or 'cost' or 'impurity', got 'id', 'yeild' (is 'yield'"
    )
    assert str(refused.value) == f"{said} meant?). Nothing was imported."
