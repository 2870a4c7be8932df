"""Trials in and out of a study."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pytest
import space_strategies  # noqa: F401 - the profile of Hypothesis
from hypothesis import given, settings
from hypothesis import strategies as st

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


@pytest.mark.parametrize("kind", ["csv", "xlsx", "json", "parquet"])
def test_a_round_trip_through_a_file_changes_nothing(
    full: ccgbo.Study, study: ccgbo.Study, tmp_path: Path, kind: str
) -> None:
    assert export_study(full, tmp_path / f"out.{kind}") == 4
    imported = import_file(study, tmp_path / f"out.{kind}")
    assert told(imported.trials) == told(study.trials) == told(full.trials[:3])
    assert {t.origin for t in study.trials} == {"external"}


def test_a_round_trip_through_a_dataframe_changes_nothing(full: ccgbo.Study, study: ccgbo.Study) -> None:
    frame = full.to_dataframe()
    assert list(frame["state"]) == ["complete", "failed", "complete", "pending"]
    import_table(study, frame)
    assert told(study.trials) == told(full.trials[:3])


def test_the_frame_of_one_optimizer_is_told_to_another(full: ccgbo.Study, tmp_path: Path) -> None:
    frames = full.to_dataframe(), full.result().to_dataframe(), full.optimizer().to_dataframe()
    with ccgbo.Study(tmp_path / "new.db", SPACE) as new:
        for other in (ccgbo.Optimizer(SPACE), new):
            for frame in frames:
                assert list(frame.columns) == list(frames[0].columns)
                done = frame[frame["state"] != "pending"]
                noise = done["noise_variance"].replace(np.nan, None)
                trials = other.tell_many(done, done["value"], noise_variance=noise)
                assert [(t.params, t.state, t.value) for t in trials] == [
                    (t.params, t.state, t.value) for t in full.trials[:3]
                ]


def test_what_is_exported_says_when(full: ccgbo.Study) -> None:
    data = json.loads(to_json(full))
    assert (data["study"], data["direction"]) == ("default", "maximize")
    assert data["space"]["parameters"]["x"]["high"] == 1.0
    assert pd.Timestamp(data["trials"][0]["told_at"]) >= pd.Timestamp(data["trials"][0]["asked_at"])
    assert data["trials"][3]["told_at"] is None
    assert data["trials"][3]["explanation"]["reason"] == full.trials[3].explanation.reason  # type: ignore[union-attr]
    head = to_csv(full).splitlines()[0]
    assert head == (
        "id,state,value,noise_variance,readings,dropped,origin,asked_at,told_at,error,note,tags,"
        "params_x,params_n,params_deep,params_units,params_norm"
    )


# -- exactly the same choice comes back

CHOICES: list[Any] = [
    *(None, "", "None", "null", "nan", "<NA>"),
    *(True, "True", "TRUE", "true", False, "false"),
    *(1, "1", "1.0", 2.5, "2.5", -3, "-3", 2**60, 2**60 + 1, 2**70, 1e22),
    *("=1+1", "'=1+1", "'", "''", "+x", "-x", "@x", "\t=x", "\r=x"),
    *("a\r\nb", "a\nb", "a\rb", "a;b", 'a"b', '"a"', "a,b", " a ", "caf\udce9", "\ud83d", "ü", "\x00", "\x85", "#x"),
]


def same_choice(a: Any, b: Any) -> bool:
    return type(a) is type(b) and a == b


@settings(max_examples=60)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(CHOICES),
            st.text(alphabet=st.characters(), max_size=4),
            st.integers(),
            st.floats(allow_nan=False, allow_infinity=False),
        ),
        min_size=2,
        max_size=8,
        unique_by=lambda c: (isinstance(c, bool), c) if not isinstance(c, str) else ("text", c),
    ),
    st.sampled_from(["csv", "semicolon.csv", "tsv", "xlsx", "parquet", "json"]),
    st.booleans(),
)
def test_every_choice_survives_a_round_trip(choices: list[Any], kind: str, conditional: bool) -> None:
    dialect: Any = "semicolon" if kind.startswith("semi") else None
    space: dict[str, Any] = {"x": (0.0, 1.0), "on": ccgbo.Bool()}
    space["c"] = ccgbo.Categorical(choices, active_if={"on": True} if conditional else None)
    points: list[dict[str, Any]] = [{"x": 0.1, "on": True, "c": c} for c in choices]
    if conditional:
        points.append({"x": 0.2, "on": False})
    with TemporaryDirectory() as folder:
        a, b = (ccgbo.Study(Path(folder) / name, space) for name in ("a.db", "b.db"))
        with a, b:
            a.tell_many(points, [i / 7 for i in range(len(points))])
            a.tell(points[0], failed=True, error="=broken\r'")
            export_study(a, Path(folder) / f"out.{kind}", dialect=dialect)
            import_file(b, Path(folder) / f"out.{kind}")
            assert told(a.trials) == told(b.trials)
            pairs = [(s.params["c"], t.params["c"]) for s, t in zip(a.trials, b.trials, strict=True) if "c" in s.params]
            assert all(same_choice(p, q) for p, q in pairs)
            summary = str(import_file(a, Path(folder) / f"out.{kind}"))
            assert summary == f"told 0 pending trials, skipped {len(points) + 1} unchanged, added 0 new"


@pytest.mark.parametrize("kind", ["csv", "xlsx", "parquet"])
@pytest.mark.parametrize("choices", [[None, "None"], [None, ""], ["", "a"]])
def test_a_row_of_empty_cells_is_a_point_too(tmp_path: Path, kind: str, choices: list[Any]) -> None:
    a, b = (ccgbo.Study(tmp_path / name, {"c": ccgbo.Categorical(choices)}) for name in ("a.db", "b.db"))
    a.tell_many([{"c": c} for c in choices], [1.0, 2.0])
    export_study(a, tmp_path / f"out.{kind}")
    import_file(b, tmp_path / f"out.{kind}")
    assert told(a.trials) == told(b.trials)


def test_a_csv_file_has_no_cell_that_a_spreadsheet_would_run(tmp_path: Path) -> None:
    texts = ["=HYPERLINK(A1)", "+1", "-1", "@x", "\tx", "\rx", "plain"]
    space = {"c": ccgbo.Categorical(texts), "x": (-1.0, 1.0)}
    with ccgbo.Study(tmp_path / "s.db", space) as study:
        for text in texts:
            study.tell({"c": text, "x": -0.5}, failed=True, error=f"{text} failed")
        rows = list(csv.DictReader(io.StringIO(to_csv(study), newline="")))
    assert all(
        not row[name].startswith(("=", "+", "-", "@", "\t", "\r")) for row in rows for name in ("params_c", "error")
    )
    assert {row["params_x"] for row in rows} == {"-0.5"}
    assert rows[0]["params_c"] == "'=HYPERLINK(A1)"
    assert rows[-1]["params_c"] == "plain"


@pytest.mark.parametrize("word", ["True", "TRUE", "true"])
def test_spreadsheets_may_shout_booleans(study: ccgbo.Study, tmp_path: Path, word: str) -> None:
    (tmp_path / "t.csv").write_text(f"x,n,deep,units,norm,value\n0.5,3,{word},7,layer,1\n")
    import_file(study, tmp_path / "t.csv")
    assert study.trials[0].params["deep"] is True


def test_a_table_with_types_is_taken_by_its_types(tmp_path: Path) -> None:
    with ccgbo.Study(tmp_path / "s.db", {"c": [1, "1", True, "True", None, ""]}) as study:
        cells = [1, "1", True, "True", None, ""]
        import_table(study, [{"c": cell, "value": i} for i, cell in enumerate(cells)])
        assert [t.params["c"] for t in study.trials] == cells
        assert [type(t.params["c"]) for t in study.trials] == [type(c) for c in cells]


# -- by id


def filled(study: ccgbo.Study, path: Path, values: dict[str, str]) -> None:
    """What the lab does: export, and write values into the empty cells."""
    rows = list(csv.DictReader(io.StringIO(to_csv(study), newline="")))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(row | ({"value": values[row["id"]]} if row["id"] in values else {}) for row in rows)


@pytest.fixture
def lab(tmp_path: Path) -> ccgbo.Study:
    """Three told trials and two pending ones."""
    study = ccgbo.Study(tmp_path / "lab.db", {"t": (20.0, 90.0), "catalyst": ccgbo.Bool()}, seed=0)
    for trial in study.ask(3):
        study.tell(trial, trial.params["t"] / 7)
    study.ask(2)
    return study


def test_values_written_into_an_exported_file_reach_their_pending_trials(lab: ccgbo.Study, tmp_path: Path) -> None:
    before = lab.trials
    filled(lab, tmp_path / "lab.csv", {"3": "1.5", "4": "2.5"})
    imported = import_file(lab, tmp_path / "lab.csv")
    assert str(imported) == "told 2 pending trials, skipped 3 unchanged, added 0 new"
    assert [t.id for t in imported.trials] == [3, 4]
    assert lab.trials[:3] == before[:3]
    assert [(t.id, t.state, t.value) for t in lab.trials[3:]] == [(3, "complete", 1.5), (4, "complete", 2.5)]
    assert [t.params for t in lab.trials] == [t.params for t in before]
    after = lab.trials
    again = import_file(lab, tmp_path / "lab.csv")
    assert str(again) == "told 0 pending trials, skipped 5 unchanged, added 0 new"
    assert lab.trials == after


def test_an_id_and_a_value_are_enough(lab: ccgbo.Study, tmp_path: Path) -> None:
    (tmp_path / "short.csv").write_text("id,value\n4,0.25\n3,\n")
    assert str(import_file(lab, tmp_path / "short.csv")) == (
        "told 1 pending trial, skipped 0 unchanged, added 0 new, left 1 without a value"
    )
    assert [t.value for t in lab.trials[3:]] == [None, 0.25]
    import_table(lab, [{"id": 3, "t": None, "catalyst": None, "value": 0.5}])
    assert [t.value for t in lab.trials[3:]] == [0.5, 0.25]
    with pytest.raises(ccgbo.TellError, match=r"row 1: there must be the params, or the id of a trial, got id 99"):
        import_table(lab, [{"id": 99, "value": 1.0}])
    with pytest.raises(ccgbo.TellError, match=r"row 1: id must be a whole number, got 'four'"):
        import_table(lab, [{"id": "four", "value": 1.0}])


def test_what_was_told_is_shown_and_changed_only_if_asked_for(lab: ccgbo.Study, tmp_path: Path) -> None:
    before = lab.trials
    filled(lab, tmp_path / "lab.csv", {"1": "99.0", "3": "1.5"})
    plan = import_file(lab, tmp_path / "lab.csv")
    assert str(plan) == (
        "told 1 pending trial, skipped 2 unchanged, added 0 new, left 1 changed, left 1 without a value"
    )
    assert plan.details() == [f"row 2, trial 1: value {before[1].value} -> 99.0"]
    assert (plan.changed[0].before, plan.changed[0].after.value) == (before[1], 99.0)
    assert lab.trials[1] == before[1]
    assert lab.trials[3].value == 1.5
    plan = import_file(lab, tmp_path / "lab.csv", amend=True)
    assert str(plan) == (
        "told 0 pending trials, skipped 3 unchanged, added 0 new, amended 1 changed, left 1 without a value"
    )
    assert lab.trials[1].value == 99.0
    assert plan.trials == (lab.trials[1],)
    with pytest.raises(ccgbo.TellError, match=r"^row 2: row 1 says something else of trial 4\. Nothing"):
        import_table(lab, [{"id": 4, "value": 1.0}, {"id": 4, "value": 2.0}])
    assert lab.trials[4].state == "pending"


def test_a_table_is_one_write(lab: ccgbo.Study, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told, amended and new rows together, or none of them."""
    writes, write = [], lab._store.write
    monkeypatch.setattr(lab._store, "write", lambda *args, **more: (writes.append(1), write(*args, **more))[1])
    rows = [{"id": 0, "value": 9.0}, {"id": 3, "value": 1.0}, {"t": 50.0, "catalyst": True, "value": 2.0}]
    before = lab.trials
    with pytest.raises(ccgbo.TellError, match=r"row 4: value must be a number, got 'x'\. Nothing was imported"):
        import_table(lab, [*rows, {"id": 4, "value": "x"}], amend=True)
    assert lab.trials == before
    writes.clear()
    plan = import_table(lab, rows, amend=True)
    assert writes == [1]
    assert [t.value for t in plan.trials] == [1.0, 9.0, 2.0]
    assert [t.value for t in lab.trials] == [9.0, before[1].value, before[2].value, 1.0, None, 2.0]
    assert [(e.action, e.trial_id) for e in lab.log()] == [("amend", 0)]


def test_what_a_table_does_to_pending_trials_beside_telling_them_is_in_the_log(lab: ccgbo.Study) -> None:
    plan = import_table(lab, [{"id": 3, "state": "abandoned"}, {"id": 4, "note": "oven 3", "value": None}], amend=True)
    assert str(plan) == "told 1 pending trial (1 abandoned), skipped 0 unchanged, added 0 new, amended 1 changed"
    assert [(t.state, dict(t.attributes)) for t in lab.trials[3:]] == [
        ("abandoned", {}),
        ("pending", {"note": "oven 3"}),
    ]
    assert [(e.action, e.trial_id) for e in lab.log()] == [("abandon", 3), ("amend", 4)]


def test_a_dry_run_says_it_before(lab: ccgbo.Study, tmp_path: Path) -> None:
    before = lab.trials
    filled(lab, tmp_path / "lab.csv", {"1": "99.0", "3": "1.5"})
    plan = import_file(lab, tmp_path / "lab.csv", dry_run=True, amend=True)
    assert str(plan) == (
        "would tell 1 pending trial, skip 2 unchanged, add 0 new, amend 1 changed, leave 1 without a value"
    )
    filled(lab, tmp_path / "lab.csv", {"1": "99.0", "3": "warm"})
    plan = import_file(lab, tmp_path / "lab.csv", dry_run=True)
    assert str(plan).endswith("leave 1 changed, leave 1 without a value, refuse 1")
    assert plan.details()[-1] == "row 4: value must be a number, got 'warm'."
    assert lab.trials == before


def test_rows_without_an_id_are_added_once(lab: ccgbo.Study, tmp_path: Path) -> None:
    text = "t,catalyst,value\n50.0,FALSE,1.0\n50.0,FALSE,1.0\n60.0,TRUE,2.0\n"
    (tmp_path / "new.csv").write_text(text)
    assert str(import_file(lab, tmp_path / "new.csv")) == "told 0 pending trials, skipped 0 unchanged, added 3 new"
    assert {t.origin for t in lab.trials[5:]} == {"external"}
    (tmp_path / "new.csv").write_text(text + "60.0,TRUE,2.5\n")  # a second measurement of the last point
    assert str(import_file(lab, tmp_path / "new.csv")) == "told 0 pending trials, skipped 3 unchanged, added 1 new"
    assert [t.value for t in lab.trials[5:]] == [1.0, 1.0, 2.0, 2.5]


def test_other_params_in_the_row_of_a_pending_trial_are_what_was_really_used(lab: ccgbo.Study) -> None:
    asked = lab.trials[3].params
    row = {"id": 3, "t": 91.5, "catalyst": not asked["catalyst"], "value": 1.0}  # beyond the bounds, as it was
    plan = import_table(lab, [row])
    assert str(plan).startswith("told 1 pending trial (1 with other settings than asked), skipped 0 unchanged")
    assert plan.details() == [
        f"row 1, trial 3: t {asked['t']} -> 91.5, catalyst {'yes -> no' if asked['catalyst'] else 'no -> yes'}"
        ", state pending -> complete, value 1.0"
    ]
    assert lab.trials[3].params == {"t": 91.5, "catalyst": not asked["catalyst"]}
    assert str(import_table(lab, [row])) == "told 0 pending trials, skipped 1 unchanged, added 0 new"
    with pytest.raises(ccgbo.TellError, match=r"row 1: t must be a number"):
        import_table(lab, [{"id": 4, "t": "hot", "value": 1.0}])
    import_table(lab, [{"id": 4, "t": 50.5, "value": 1.0}])  # only what differs
    assert lab.trials[4].params == {"t": 50.5, "catalyst": lab.trials[4].params["catalyst"]}


def test_a_table_of_another_study_has_ids_that_mean_nothing_here(lab: ccgbo.Study, tmp_path: Path) -> None:
    before = lab.trials
    with ccgbo.Study(tmp_path / "other.db", lab.space, seed=5) as other:
        other.ask()
        for trial in other.ask(4):
            other.tell(trial, trial.params["t"])
        frame = other.to_dataframe()
        for _ in range(2):
            import_table(lab, frame)
            assert lab.trials[:5] == before
            assert told(lab.trials[5:]) == told(other.trials[1:])


def test_a_spreadsheet_that_rounds_changes_nothing(lab: ccgbo.Study) -> None:
    rows = [
        {"id": t.id, "t": f"{t.params['t']:.6g}", "catalyst": str(t.params["catalyst"]).upper()}
        | {"value": "" if t.value is None else f"{t.value:.6g}"}
        for t in lab.trials
    ]
    before = lab.trials
    assert str(import_table(lab, rows)) == (
        "told 0 pending trials, skipped 3 unchanged, added 0 new, left 2 without a value"
    )
    assert lab.trials == before


def test_the_command_line_says_what_became_of_the_rows(
    lab: ccgbo.Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled(lab, tmp_path / "lab.csv", {"3": "1.5"})
    with pytest.raises(SystemExit):
        main(["import", str(tmp_path / "lab.db"), str(tmp_path / "lab.csv")])
    assert capsys.readouterr().out == (
        "study 'default': told 1 pending trial, skipped 3 unchanged, added 0 new, left 1 without a value\n"
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
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "long.csv").write_text("x,value\n" + "a" * 200_000 + ",1\n")
    for name in ("deep.json", "long.csv"):
        with pytest.raises(ccgbo.SettingError, match=f"{name}' is not valid"):
            import_file(study, tmp_path / name)
    (tmp_path / "wide.csv").write_text("x,value\n0.5,1,2\n")
    with pytest.raises(ccgbo.TellError, match=r"row 1: there are more cells than columns: '2'"):
        import_file(study, tmp_path / "wide.csv")
    with pytest.raises(ccgbo.SettingError, match=r"cannot write '.*nowhere/x.csv': No such file"):
        export_study(study, tmp_path / "nowhere" / "x.csv")
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
    assert capsys.readouterr().out == "study 'default': told 0 pending trials, skipped 0 unchanged, added 7 new\n"
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
        assert study.best_value == old.best_value
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
    with pytest.raises(ccgbo.SettingError, match="must minimize as the study does, but it is to minimize and maximize"):
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


def test_a_trial_of_optuna_that_was_killed_half_way_does_not_hide_the_space() -> None:
    import optuna

    source = optuna.create_study()
    source.optimize(lambda t: t.suggest_float("x", 0.0, 1.0) + t.suggest_int("n", 1, 3), n_trials=2)
    source.ask().suggest_float("x", 0.0, 1.0)  # and never came to ask for n
    assert list(space_of_optuna(source)) == ["x", "n"]


@pytest.mark.parametrize("name", ["x.csv", "x.xlsx", "x.json", "x.parquet", "x.html", "x.toml"])
def test_a_disk_that_is_full_leaves_the_old_file_as_it_was(tmp_path: Path, name: str) -> None:
    code = """
import resource, signal, sys
from pathlib import Path
import ccgbo
from ccgbo.study.transfer import export_study
from ccgbo.viz import write_report
path = Path(sys.argv[1])
study = ccgbo.Study(path.parent / "s.db", {"x": (0.0, 1.0)}, seed=0)
study.tell(study.ask(), 1.0)
write = {".html": write_report, ".toml": lambda s, p: ccgbo.save_space(s.space, p)}.get(path.suffix, export_study)
write(study, path)
before = path.read_bytes()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))  # bytes of any file from here on
try:
    write(study, path)
except ccgbo.CcgboError as error:
    print("cannot write" in str(error), path.read_bytes() == before)
print(sorted(p.name for p in path.parent.iterdir() if not p.name.startswith("s.db")) == [path.name])
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / name)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "True True\nTrue\n"
