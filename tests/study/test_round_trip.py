"""Any study, out and in again: nothing changes, and nothing is lost."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from space_strategies import spaces

import ccgbo
from ccgbo.study.transfer import export_study, import_file, import_table

KINDS = ["comma.csv", "semicolon.csv", "tab.csv", "t.xlsx", "t.json", "t.parquet", "frame"]
TEXT = st.one_of(
    st.sampled_from(["=cmd", "-1", "NA", "1,234", "TRUE", "'x", '"q"', "a\r\nb", "_x000D_", " a ", "[1]"]),
    st.text(min_size=1, max_size=6),
)
NUMBER = st.one_of(
    st.sampled_from([1.234, -0.5, 1e-05, 1234.0, 0.1 + 0.2, 1e300]), st.floats(allow_nan=False, allow_infinity=False)
)
DATA = st.one_of(TEXT, NUMBER, st.booleans(), st.integers(), st.lists(st.integers(), max_size=2))
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["value", "noisy", "readings", "failed", "failed with", "abandon", "leave", "external"]),
        st.tuples(NUMBER, NUMBER),
        TEXT,
        st.sampled_from(["", "drop", "note", "tags", "operator", "move"]),
        DATA,
    ),
    min_size=1,
    max_size=6,
)


def play(study: ccgbo.Study, steps: Any) -> None:
    """A few days in the life of a study."""
    points = study.space.decode_rows(study.space.sample(len(steps), np.random.default_rng(0)))
    study.enqueue(points)
    for what, (a, b), text, then, data in steps:
        trial = study.ask()  # without a model, which has nothing to do with it
        used: dict[str, Any] = {}
        if then == "move" and isinstance(study.space["p0"], ccgbo.Float) and not study.space["p0"].log:
            p = study.space["p0"]
            used = {"params": {"p0": p.high + 0.5 * (p.high - p.low)}} if p.high > p.low else {}
        if what == "value":
            trial = study.tell(trial, a, **used)
        elif what == "noisy":
            trial = study.tell(trial, a, noise_variance=0.1 + 0.2)
        elif what == "readings":
            trial = study.tell(trial, [a / 4, b / 4], **used)
        elif what.startswith("failed"):
            trial = study.tell(trial, failed=True, error=text if what == "failed with" else None)
        elif what == "abandon":
            trial = study.abandon(trial)
        elif what == "external":
            trial = study.tell(dict(trial.params), a)
        if then == "drop" and trial.state in ("complete", "failed"):
            study.drop(trial)
        elif then in ("note", "tags", "operator"):
            study.annotate(trial, **{then: {"note": text, "tags": [text, "again"], "operator": data}[then]})


def observations(study: ccgbo.Study, *, with_data: bool) -> list[Any]:
    kept = ("note", "tags", *(["operator"] if with_data else []))
    return [
        (
            [(n, type(v), v) for n, v in t.params.items()],
            (t.state, t.value, t.noise_variance, t.readings, t.error, t.dropped),
            {name: value for name, value in t.attributes.items() if name in kept},
        )
        for t in study.trials
        if t.state in ("complete", "failed")
    ]


def bring(study: ccgbo.Study, source: ccgbo.Study, folder: Path, kind: str, **choices: Any) -> Any:
    if kind == "frame":
        return import_table(study, source.to_dataframe(), **choices)
    return import_file(study, folder / kind, **choices)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=12)
@given(space=spaces(), steps=STEPS)
def test_a_study_that_goes_out_and_in_again_is_the_same(kind: str, space: ccgbo.Space, steps: Any) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        with ccgbo.Study(folder / "a.db", space, seed=0) as a, ccgbo.Study(folder / "b.db", space, seed=0) as b:
            play(a, steps)
            before = a.records()
            if kind != "frame":
                dialect: Any = kind.removesuffix(".csv") if kind.endswith(".csv") else None
                export_study(a, folder / kind, dialect=dialect)
            plan = bring(a, a, folder, kind, amend=True)
            assert not (plan.told or plan.changed or plan.new or plan.refused), plan.details()
            assert a.records() == before
            for expected in (len(observations(a, with_data=True)), 0):
                assert len(bring(b, a, folder, kind, allow_outside=True).new) == expected
                with_data = kind != "frame"
                assert observations(b, with_data=with_data) == observations(a, with_data=with_data)


def test_a_frame_read_from_a_file_by_pandas_is_the_same_table(tmp_path: Path) -> None:
    with ccgbo.Study(tmp_path / "s.db", {"x": (0.0, 1.0), "n": (1, 9), "on": ccgbo.Bool()}, seed=0) as study:
        for trial in study.ask(3):
            study.tell(trial, trial.params["x"], note="NA")
        study.tell(study.ask(), [0.25, 0.5], tags=["a", "b"])
        study.ask()
        export_study(study, tmp_path / "s.csv")
        export_study(study, tmp_path / "s.xlsx")
        for frame in (pd.read_csv(tmp_path / "s.csv"), pd.read_excel(tmp_path / "s.xlsx")):
            plan = import_table(study, frame, as_text=True, amend=True)
            assert (plan.unchanged, plan.open, plan.refused) == ((1, 2, 3, 4), (5,), ())
