"""Several worker processes on one study in PostgreSQL, on a real server."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

import optuna
import pytest
from optuna.trial import TrialState
from storage.postgres_server import PostgresServer

from .pages import ROOT

pytestmark = pytest.mark.heavy


@pytest.fixture
def database_url() -> Iterator[str]:
    server = PostgresServer()
    try:
        yield server.new_database().replace("postgresql://", "postgresql+psycopg://")
    finally:
        server.close()


def test_three_worker_processes_share_one_study_in_postgresql(database_url: str) -> None:
    command = [sys.executable, str(ROOT / "examples" / "optuna_postgres.py"), database_url]
    done = subprocess.run(
        [*command, "--workers", "3", "--trials", "24"],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert "trials by 3 workers, best value" in done.stdout

    storage = optuna.storages.RDBStorage(database_url)
    study = optuna.load_study(study_name="workers", storage=storage)
    trials, best = study.trials, study.best_value
    storage.remove_session()
    storage.engine.dispose()
    assert 24 <= len(trials) <= 26  # every worker may finish the trial it is at
    assert {t.state for t in trials} == {TrialState.COMPLETE}
    # the objective takes no time, so the workers choose at the same moment all the time; that may go wrong, rarely
    assert len({tuple(t.params.values()) for t in trials}) >= len(trials) - 2
    assert len(Counter(t.user_attrs["worker"] for t in trials)) == 3
    assert all(0.1 <= t.user_attrs["ccgbo:credit"] <= 1.0 for t in trials)
    assert any("ccgbo:weight" in t.user_attrs for t in trials)
    assert best < 2.0
