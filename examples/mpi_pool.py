"""Evaluate on the ranks of an MPI job: rank 0 suggests and keeps the study, the others evaluate.

    pip install ccgbo mpi4py                  and an MPI library: the cluster's own, or `pip install mpich`
    mpiexec -n 5 python -m mpi4py.futures examples/mpi_pool.py

In a Slurm job `srun python -m mpi4py.futures mpi_pool.py` does the same. The study is a file on the disk of rank 0: the
same line again goes on where it stopped.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

from mpi4py.futures import MPIPoolExecutor

import ccgbo


def branin(x: float, y: float) -> float:
    """Stands for the expensive thing."""
    bowl = (y - 5.1 * x**2 / (4.0 * math.pi**2) + 5.0 * x / math.pi - 6.0) ** 2
    return bowl + 10.0 * (1.0 - 1.0 / (8.0 * math.pi)) * math.cos(x) + 10.0


def main(path: Path, n_trials: int) -> None:
    space = {"x": (-5.0, 10.0), "y": (0.0, 15.0)}
    with (
        MPIPoolExecutor() as pool,
        ccgbo.Study(path, space, name="branin", direction="minimize", seed=0) as study,
    ):
        result = study.run(branin, n_trials, executor=pool, n_workers=pool.num_workers, progress=False)
        print(f"{len(result.trials)} trials on {pool.num_workers} ranks, best value {result.best_value:.4f}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "mpi.db"), int(sys.argv[2]) if len(sys.argv) > 2 else 40)
