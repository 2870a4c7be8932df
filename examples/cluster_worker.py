"""One worker of many on a study in PostgreSQL: start it as often as there are machines.

    python cluster_worker.py postgresql://user@host/database --trials 200

Whoever is first creates the study. Every worker asks, evaluates and tells until the study has its trials; one that is
killed is found by its silence, and its trial is given to another.
"""

from __future__ import annotations

import argparse
import math
import os
import socket

import ccgbo


def branin(x: float, y: float) -> float:
    """Stands for the expensive thing."""
    bowl = (y - 5.1 * x**2 / (4.0 * math.pi**2) + 5.0 * x / math.pi - 6.0) ** 2
    return bowl + 10.0 * (1.0 - 1.0 / (8.0 * math.pi)) * math.cos(x) + 10.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", help="address of the database, or a file for workers of one machine")
    parser.add_argument("--trials", type=int, default=200, help="that the study shall have, of all workers together")
    options = parser.parse_args()

    space = {"x": (-5.0, 10.0), "y": (0.0, 15.0)}
    with ccgbo.Study(options.study, space, name="branin", direction="minimize", seed=0) as study:
        result = study.run(branin, options.trials, progress=False)
        number = (os.environ.get(name) for name in ("SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"))  # Slurm, Kubernetes
        worker = next((given for given in number if given is not None), str(os.getpid()))
        print(f"worker {worker} on {socket.gethostname()}: {len(result.trials)} trials, best {study.best_trial}")


if __name__ == "__main__":
    main()
