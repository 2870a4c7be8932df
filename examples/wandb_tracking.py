"""A tuning run as one run of Weights & Biases: a line for each trial, and a table of all with their credits.

pip install ccgbo wandb
wandb login && python examples/wandb_tracking.py
WANDB_MODE=offline python examples/wandb_tracking.py    without an account; `wandb sync` sends it later
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import wandb

import ccgbo


def wandb_callback(run: Any) -> Callable[[Any, ccgbo.Trial], None]:
    """A callback for `maximize`, `minimize` and `Study.run`: one step of the run for each trial."""
    run.define_metric("*", step_metric="trial")

    def log(owner: Any, trial: ccgbo.Trial) -> None:
        row = {"trial": trial.id, "failed": int(trial.state == "failed")}
        row |= {f"params/{name}": value for name, value in trial.params.items()}
        if trial.value is not None:
            row |= {"value": trial.value, "best": owner.best_trial.value}
        run.log(row)

    return log


def log_credits(run: Any, result: ccgbo.Result) -> None:
    """The table of all trials, with what each says of the optimum in the end."""
    credits = {row.trial_id: row.credit for row in result.credits()}
    names = list(result.trials[0].params)
    rows = [[t.id, *(t.params.get(n) for n in names), t.value, credits.get(t.id)] for t in result.trials]
    run.log({"trials": wandb.Table(columns=["trial", *names, "value", "credit"], data=rows)})
    run.summary["best"] = result.best_value


def train(rate: float, layers: int) -> float:
    """Stands for the expensive thing."""
    return (math.log10(rate) + 2.0) ** 2 + 0.1 * (layers - 3) ** 2


def main(n_trials: int = 15) -> ccgbo.Result:
    space = {"rate": ccgbo.Float(1e-5, 1.0, log=True), "layers": (1, 6)}
    with wandb.init(project="ccgbo", config={"n_trials": n_trials}) as run:
        result = ccgbo.minimize(train, space, n_trials, seed=0, callback=wandb_callback(run), progress=False)
        log_credits(run, result)
    return result


if __name__ == "__main__":
    print(main())
