"""Every trial as a run of MLflow, its parameters, value and credit included.

    pip install ccgbo mlflow
    python examples/mlflow_tracking.py                          a database in this folder, sqlite:///mlflow.db
    MLFLOW_TRACKING_URI=http://tracking.lab:5000 python examples/mlflow_tracking.py

`mlflow ui --backend-store-uri sqlite:///mlflow.db` shows them.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import mlflow

import ccgbo


def mlflow_callback(experiment: str) -> Callable[[Any, ccgbo.Trial], None]:
    """A callback for `maximize`, `minimize` and `Study.run`: one run of MLflow for each trial."""
    mlflow.set_experiment(experiment)

    def log(owner: Any, trial: ccgbo.Trial) -> None:
        status = "FINISHED" if trial.state == "complete" else "FAILED"
        mlflow.start_run(run_name=f"trial {trial.id}", tags={"ccgbo.trial": str(trial.id), "ccgbo.by": trial.origin})
        try:
            mlflow.log_params(dict(trial.params))
            if trial.value is not None:
                mlflow.log_metric("value", trial.value)
                mlflow.log_metric("best", owner.best_trial.value)
                credit = next((row.credit for row in owner.credits() if row.trial_id == trial.id), None)
                if credit is not None:
                    mlflow.log_metric("credit", credit)  # as of now: later trials change it
            elif trial.reason:
                mlflow.set_tag("ccgbo.error", trial.reason)
        finally:
            mlflow.end_run(status=status)

    return log


def train(rate: float, layers: int) -> float:
    """Stands for the expensive thing."""
    if rate > 0.1:
        raise RuntimeError("diverged")  # a failed run in MLflow, a place to avoid for the search
    return (math.log10(rate) + 2.0) ** 2 + 0.1 * (layers - 3) ** 2


def main(n_trials: int = 15) -> ccgbo.Result:
    mlflow.set_tracking_uri(os.environ.get("MLFLOW_TRACKING_URI", "sqlite:///mlflow.db"))
    space = {"rate": ccgbo.Float(1e-5, 1.0, log=True), "layers": (1, 6)}
    return ccgbo.minimize(train, space, n_trials, seed=0, callback=mlflow_callback("ccgbo"), progress=False)


if __name__ == "__main__":
    print(main())
