"""Evaluate on a Dask cluster: any number of machines, one study.

    pip install 'ccgbo[dask]'
    python examples/dask_cluster.py

The cluster here is a local one of several worker processes; with ``Client("tcp://scheduler:8786")`` the same lines run
on your own. Dask moves the evaluations to the workers and repeats those of a worker that dies; the study file keeps
every value that came back, so the script can be stopped and started again at any time.
"""

from __future__ import annotations

import math
import time
from pathlib import Path

from dask.distributed import Client, LocalCluster

import ccgbo

SPACE = {"x": (-5.0, 10.0), "y": (0.0, 15.0)}


def branin(x: float, y: float) -> float:
    """Stands for an evaluation that takes a while; its lowest value is 0.397887."""
    time.sleep(0.1)
    bend = y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6
    return bend**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def tune(client: Client, path: Path, n_trials: int, n_workers: int) -> ccgbo.Result:
    executor = client.get_executor(pure=False)
    with ccgbo.Study(path, SPACE, name="branin", direction="minimize", seed=0) as study:
        return study.run(branin, n_trials, executor=executor, n_workers=n_workers)


def main() -> None:
    with LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        print(tune(client, Path("branin.db"), n_trials=40, n_workers=3))


if __name__ == "__main__":
    main()
