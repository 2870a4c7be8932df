"""The Dask example on a real cluster of worker processes."""

from __future__ import annotations

import importlib.util
import os
import signal
import threading
import time
from pathlib import Path
from types import ModuleType

import pytest

import ccgbo

pytestmark = pytest.mark.heavy

EXAMPLE = Path(__file__).parent.parent / "examples" / "dask_cluster.py"


def load_example() -> ModuleType:
    """The example as a module that is not importable by name, so that workers get its functions by value."""
    spec = importlib.util.spec_from_file_location("dask_cluster", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_worker_killed_during_the_run_loses_nothing(tmp_path: Path) -> None:
    from dask.distributed import Client, LocalCluster

    example, path = load_example(), tmp_path / "branin.db"
    killed: list[int] = []

    def kill_one(workers: list[int]) -> None:
        while not path.exists() or sum(info.n_complete for info in ccgbo.list_studies(path)) < 5:
            time.sleep(0.02)
        os.kill(workers[0], signal.SIGKILL)
        killed.append(workers[0])

    with LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        killer = threading.Thread(target=kill_one, args=(list(client.run(os.getpid).values()),), daemon=True)
        killer.start()
        result = example.tune(client, path, n_trials=24, n_workers=3)
        killer.join(60)
    assert killed
    assert [t.id for t in result.trials] == list(range(24))
    assert all(t.value == example.branin(**t.params) for t in result.trials), "a trial was lost or failed"
    assert result.best_value < 5.0
