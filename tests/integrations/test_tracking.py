"""The tracking examples, against a real MLflow store and a real W&B run without network."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .pages import ROOT

pytestmark = pytest.mark.heavy


def python(folder: Path, *arguments: str, **environment: str) -> str:
    """In a process of its own: both libraries keep threads and warn of their own deprecations."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true", "WANDB_MODE": "offline", **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(database: Path, query: str) -> list[Any]:
    with sqlite3.connect(database) as connection:
        return connection.execute(query).fetchall()


def test_every_trial_is_a_run_of_mlflow_with_params_value_and_credit(tmp_path: Path) -> None:
    out = python(tmp_path, str(ROOT / "examples" / "mlflow_tracking.py"))
    store = tmp_path / "mlflow.db"
    runs = dict(rows(store, "SELECT name, status FROM runs"))
    assert list(runs) == [f"trial {i}" for i in range(15)]
    assert set(runs.values()) == {"FINISHED", "FAILED"}  # the example has a corner that fails
    n_complete = list(runs.values()).count("FINISHED")
    metrics = rows(store, "SELECT key, value FROM latest_metrics")
    values = [value for key, value in metrics if key == "value"]
    assert len(values) == n_complete
    assert min(value for key, value in metrics if key == "best") == min(values)
    assert f"best value   {min(values):.6g}" in out
    assert all(0.0 < value <= 1.0 for key, value in metrics if key == "credit")
    assert {key for (key,) in rows(store, "SELECT key FROM params")} == {"rate", "layers"}
    errors = rows(store, "SELECT value FROM tags WHERE key = 'ccgbo.error'")
    assert len(errors) == 15 - n_complete and all("diverged" in text for (text,) in errors)


def test_a_run_of_wandb_has_a_row_for_each_trial_and_a_table_of_credits(tmp_path: Path) -> None:
    out = python(tmp_path, str(ROOT / "examples" / "wandb_tracking.py"))
    (run,) = (tmp_path / "wandb").glob("offline-run-*")
    assert list(run.glob("*.wandb"))
    (table,) = run.glob("files/media/table/trials_*.table.json")
    kept = json.loads(table.read_text(encoding="utf-8"))
    assert kept["columns"] == ["trial", "rate", "layers", "value", "credit"]
    assert [row[0] for row in kept["data"]] == list(range(15))
    assert max(row[4] for row in kept["data"]) == 1.0
    assert f"best value   {min(row[3] for row in kept['data']):.6g}" in out


def test_the_page_runs(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "integrations" / "tracking.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    assert len(blocks) == 3
    (tmp_path / "page.py").write_text("\n".join(blocks), encoding="utf-8")
    python(tmp_path, "page.py")
    assert rows(tmp_path / "mlflow.db", "SELECT count(*) FROM runs") == [(12 + 12,)]  # by ccgbo, then by Optuna
    assert list((tmp_path / "wandb").glob("offline-run-*"))
