"""Several worker processes on one study in a PostgreSQL database.

python examples/optuna_postgres.py "postgresql+psycopg://user:password@host/database" --workers 3 --trials 30
"""

import argparse
import multiprocessing
import os

import optuna
from optuna.study import MaxTrialsCallback
from optuna.trial import TrialState

from ccgbo.integrations.optuna import CCGBOSampler

STUDY = "workers"


def objective(trial: optuna.Trial) -> float:
    trial.set_user_attr("worker", os.getpid())
    x = trial.suggest_float("x", -5.0, 10.0)
    y = trial.suggest_float("y", 0.0, 15.0)
    return (y - 0.129 * x**2 + 1.6 * x - 6.0) ** 2 + (x - 3.0) ** 2


def work(url: str, trials: int) -> None:
    """What each worker runs, here or on another machine. One seed serves all of them: trials have their own streams."""
    sampler = CCGBOSampler(seed=0, storage=url)
    study = optuna.load_study(study_name=STUDY, storage=url, sampler=sampler)
    study.optimize(objective, callbacks=[MaxTrialsCallback(trials, states=(TrialState.COMPLETE,))])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--trials", type=int, default=30)
    options = parser.parse_args()

    study = optuna.create_study(study_name=STUDY, storage=options.url, load_if_exists=True)
    spawn = multiprocessing.get_context("spawn")  # a forked worker would share the parent's connections
    workers = [spawn.Process(target=work, args=(options.url, options.trials)) for _ in range(options.workers)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        if worker.exitcode != 0:
            raise SystemExit(f"worker {worker.pid} ended with exit code {worker.exitcode}")

    shares = {}
    for trial in study.trials:
        shares[trial.user_attrs["worker"]] = shares.get(trial.user_attrs["worker"], 0) + 1
    print(f"{len(study.trials)} trials by {len(shares)} workers, best value {study.best_value:.4g}")


if __name__ == "__main__":
    main()
