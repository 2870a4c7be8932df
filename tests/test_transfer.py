"""Trials in and out of a study."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import ccgbo
from ccgbo.cli import main
from ccgbo.study.transfer import (
    export_study,
    import_file,
    import_optuna,
    import_table,
    load_optuna,
    space_of_optuna,
    to_csv,
    to_dataframe,
    to_json,
)

SPACE = {
    "x": ccgbo.Float(0.0, 1.0),
    "n": (1, 8),
    "deep": ccgbo.Bool(),
    "units": ccgbo.Int(1, 64, active_if={"deep": True}),
    "norm": ccgbo.Categorical(["layer", None, 2]),
}
ROWS: list[dict[str, Any]] = [
    {"x": 0.1 + 0.2, "n": 3, "deep": True, "units": 7, "norm": None},
    {"x": 0.5, "n": 8, "deep": False, "norm": "layer"},
    {"x": 0.25, "n": 1, "deep": False, "norm": 2},
]


@pytest.fixture
def study(tmp_path: Path) -> ccgbo.Study:
    return ccgbo.Study(tmp_path / "s.db", SPACE, seed=0)


@pytest.fixture
def full(tmp_path: Path) -> ccgbo.Study:
    study = ccgbo.Study(tmp_path / "full.db", SPACE, seed=0)
    study.tell(ROWS[0], 1.5, noise_variance=0.25)
    study.tell(ROWS[1], failed=True, error="line one\nline, two")
    study.tell(ROWS[2], -2e-17)
    study.ask()
    return study


def told(trials: Any) -> list[tuple[Any, ...]]:
    return [(dict(t.params), t.state, t.value, t.noise_variance, t.error) for t in trials]


# -- out and in again


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_a_round_trip_through_a_file_changes_nothing(
    full: ccgbo.Study, study: ccgbo.Study, tmp_path: Path, kind: str
) -> None:
    assert export_study(full, tmp_path / f"out.{kind}") == 4
    imported = import_file(study, tmp_path / f"out.{kind}")
    assert told(imported) == told(study.trials) == told(full.trials[:3])
    assert {t.origin for t in study.trials} == {"told"}


def test_a_round_trip_through_a_dataframe_changes_nothing(full: ccgbo.Study, study: ccgbo.Study) -> None:
    frame = to_dataframe(full)
    assert list(frame["state"]) == ["complete", "failed", "complete", "pending"]
    import_table(study, frame)
    assert told(study.trials) == told(full.trials[:3])


def test_what_is_exported_says_when(full: ccgbo.Study) -> None:
    data = json.loads(to_json(full))
    assert (data["study"], data["direction"]) == ("default", "maximize")
    assert data["space"]["parameters"]["x"]["high"] == 1.0
    assert pd.Timestamp(data["trials"][0]["told"]) >= pd.Timestamp(data["trials"][0]["asked"])
    assert data["trials"][3]["told"] is None
    assert data["trials"][3]["explanation"]["reason"] == full.trials[3].explanation.reason  # type: ignore[union-attr]
    head = to_csv(full).splitlines()[0]
    assert head == (
        "id,state,value,noise_variance,origin,asked,told,error,params_x,params_n,params_deep,params_units,params_norm"
    )


# -- tables of others


def test_plain_column_names_text_and_whole_floats_are_understood(study: ccgbo.Study) -> None:
    frame = pd.DataFrame({"x": [0.5], "n": [3.0], "deep": [True], "units": [7.0], "norm": [2.0], "value": [1]})
    import_table(study, frame)
    import_table(study, [{"x": "0.5", "n": "3.0", "deep": "False", "units": "", "norm": "layer", "value": "-1e3"}])
    assert study.trials[0].params == {"x": 0.5, "n": 3, "deep": True, "units": 7, "norm": 2}
    assert study.trials[1].params == {"x": 0.5, "n": 3, "deep": False, "norm": "layer"}
    assert [t.value for t in study.trials] == [1.0, -1000.0]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"x": "wide"}, "row 2: x must be a number, got 'wide'"),
        ({"x": 9.0}, "row 2: x must be"),
        ({"n": 2.5}, "row 2: n must be"),
        ({"norm": "batch"}, "row 2: norm must be one of"),
        ({"value": "good"}, "row 2: value must be a number, got 'good'"),
    ],
)
def test_a_bad_row_is_named_and_nothing_is_imported(study: ccgbo.Study, row: dict[str, Any], message: str) -> None:
    good = ROWS[2] | {"value": 1.0}
    with pytest.raises(ccgbo.TellError, match=message):
        import_table(study, [good, good | row])
    assert study.trials == ()


def test_a_table_without_values_and_files_that_are_none_are_refused(study: ccgbo.Study, tmp_path: Path) -> None:
    with pytest.raises(ccgbo.TellError, match=r"row 1: there must be a column 'score'"):
        import_table(study, [ROWS[0]], value="score")
    with pytest.raises(ccgbo.TellError, match="row 1: a row must map columns to values, got 3"):
        import_table(study, [3])
    for name, text in (("a.json", "{"), ("b.json", '{"trials": 3}'), ("c.parquet", "no parquet")):
        (tmp_path / name).write_text(text)
        with pytest.raises(ccgbo.SettingError, match=f"{name}' is not valid {name.partition('.')[2]}"):
            import_file(study, tmp_path / name)
    (tmp_path / "d.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ccgbo.SettingError, match="is not valid csv"):
        import_file(study, tmp_path / "d.csv")
    with pytest.raises(ccgbo.SettingError, match=r"format must be one of .*, got 'xls'"):
        import_file(study, tmp_path / "e.xls")


# -- Optuna

IGNORE = pytest.mark.filterwarnings("ignore::DeprecationWarning:optuna.*", "ignore::DeprecationWarning:sqlalchemy.*")


def objective(trial: Any) -> float:
    import optuna

    x = trial.suggest_float("x", 1e-3, 1.0, log=True)
    n = trial.suggest_int("n", 0, 8, step=2)
    kind = trial.suggest_categorical("kind", ["a", None, True])
    if trial.number == 2:
        raise optuna.TrialPruned
    if trial.number == 3:
        raise ValueError("boom")
    return float(x + n + (kind == "a"))


@pytest.mark.heavy
@IGNORE
def test_an_optuna_study_is_imported_with_its_space(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    address = f"sqlite:///{tmp_path / 'old.db'}"
    old = optuna.create_study(
        storage=address, study_name="old", direction="minimize", sampler=optuna.samplers.RandomSampler(seed=0)
    )
    old.optimize(objective, n_trials=8, catch=(ValueError,))
    with pytest.raises(SystemExit) as exit_:
        main(["import", str(tmp_path / "new.db"), "--optuna", address, "--optuna-study", "old"])
    assert exit_.value.code == 0
    assert capsys.readouterr().out == "told 7 trials to the study 'default'\n"
    with ccgbo.Study(tmp_path / "new.db") as study:
        assert study.direction == "minimize"
        assert study.space == ccgbo.Space(
            {
                "x": ccgbo.Float(1e-3, 1.0, log=True),
                "n": ccgbo.Int(0, 8, step=2),
                "kind": ccgbo.Categorical(["a", None, True]),
            }
        )
        kept = [t for t in old.trials if t.state.name != "PRUNED"]
        assert [dict(t.params) for t in study.trials] == [t.params for t in kept]
        assert [t.value for t in study.trials] == [t.value for t in kept]
        assert [t.state for t in study.trials].count("failed") == 1
        assert study.best is not None
        assert study.best.value == old.best_value
        assert study.ask().id == 7


@pytest.mark.heavy
@IGNORE
def test_optuna_studies_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = ccgbo.Study(tmp_path / "s.db", {"x": (0.0, 1.0)}, direction="minimize")
    up = optuna.create_study(direction="maximize")
    with pytest.raises(ccgbo.SettingError, match="must minimize as the study does, but it is to maximize"):
        import_optuna(study, up)
    with pytest.raises(ccgbo.UnsupportedError, match="several objectives are out of scope"):
        import_optuna(study, optuna.create_study(directions=["minimize", "maximize"]))
    with pytest.raises(ccgbo.SettingError, match="has no trial to take a space from"):
        space_of_optuna(up)
    down = optuna.create_study()
    down.add_trial(
        optuna.trial.create_trial(
            params={"x": 5.0}, distributions={"x": optuna.distributions.FloatDistribution(0.0, 9.0)}, value=1.0
        )
    )
    with pytest.raises(ccgbo.TellError, match="row 1: x must be"):
        import_optuna(study, down)
    down.add_trial(
        optuna.trial.create_trial(
            params={"y": 5.0}, distributions={"y": optuna.distributions.FloatDistribution(0.0, 9.0)}, value=1.0
        )
    )
    with pytest.raises(ccgbo.UnsupportedError, match="has other parameters"):
        space_of_optuna(down)
    with pytest.raises(ccgbo.SettingError, match="cannot load an Optuna study"):
        load_optuna(f"sqlite:///{tmp_path / 'empty.db'}", "none")
    assert study.trials == ()
