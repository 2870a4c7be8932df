"""What a pruned trial is good for: readings of pruned trials by CCGBOSampler, on real learning curves.

    python benchmarks/optuna_pruning.py                          seeds 100 to 109, about ten minutes of an idle core
    python benchmarks/optuna_pruning.py --first-seed 0 --seeds 6 --out -     the seeds on which the default was chosen
    python benchmarks/optuna_pruning.py --problems linear --seeds 2 --budget 4 --out -

A study may spend as many training steps as ``--budget`` whole trainings have; a pruned trial gives back the steps that
it did not take. Regret is the distance of the best complete value to the best of all runs. Ratios are geometric means
over paired seeds of (regret + 0.02 of the spread of the regrets), to that of leaving pruned trials out
(``pruned="ignore"``), with 95 % bootstrap intervals.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import optuna
from threadpoolctl import threadpool_limits

from ccgbo.integrations.optuna import CCGBOSampler

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = "ignore"
READINGS = ("ignore", "fail", "bound", "extrapolate")
PRUNERS: dict[str, Callable[[], optuna.pruners.BasePruner]] = {
    "median": lambda: optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=1),
    "halving": lambda: optuna.pruners.SuccessiveHalvingPruner(min_resource=2, reduction_factor=3),
}
STEPS = 18  # of a whole training
WORST = 3.0  # a loss is cut here: one that diverges is bad, and finite


@cache
def _data(name: str, n_train: int) -> tuple[Any, ...]:
    from sklearn import datasets
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    parts = train_test_split(X, y, train_size=n_train, test_size=min(len(y) - n_train, 400), random_state=0)
    scaler = StandardScaler().fit(parts[0])
    return scaler.transform(parts[0]), scaler.transform(parts[1]), parts[2], parts[3]


def _classifier_curve(estimator: Any, data: tuple[Any, ...], steps: int) -> Iterator[float]:
    """Log loss on held-out rows after each pass over the training rows; classes are 0, 1, ..."""
    X, X_test, y, y_test = data
    classes, rows = np.unique(y), np.arange(len(y_test))
    for _ in range(steps):
        try:
            estimator.partial_fit(X, y, classes=classes)
            right = estimator.predict_proba(X_test)[rows, y_test]
            yield min(float(-np.log(np.maximum(right, 1e-12)).mean()), WORST)
        except ValueError:  # weights that overflow
            yield WORST


def network(trial: optuna.Trial) -> Iterator[float]:
    """A neural network on digits."""
    from sklearn.neural_network import MLPClassifier

    estimator = MLPClassifier(
        hidden_layer_sizes=(trial.suggest_int("hidden", 4, 32, log=True),),
        activation=trial.suggest_categorical("activation", ["relu", "tanh"]),
        learning_rate_init=trial.suggest_float("rate", 1e-4, 1.0, log=True),
        alpha=trial.suggest_float("alpha", 1e-6, 10.0, log=True),
        batch_size=trial.suggest_int("batch", 16, 100, log=True),
        random_state=0,
    )
    return _classifier_curve(estimator, _data("digits", 200), STEPS)


def linear(trial: optuna.Trial) -> Iterator[float]:
    """A linear classifier by stochastic gradients, on breast cancer."""
    from sklearn.linear_model import SGDClassifier

    estimator = SGDClassifier(
        loss="log_loss",
        penalty="elasticnet",
        alpha=trial.suggest_float("alpha", 1e-6, 1.0, log=True),
        l1_ratio=trial.suggest_float("l1_ratio", 0.0, 1.0),
        learning_rate=trial.suggest_categorical("schedule", ["constant", "invscaling"]),
        eta0=trial.suggest_float("rate", 1e-4, 1.0, log=True),
        power_t=trial.suggest_float("power", 0.1, 0.9),
        random_state=0,
    )
    return _classifier_curve(estimator, _data("breast_cancer", 200), STEPS)


def boosting(trial: optuna.Trial) -> Iterator[float]:
    """Boosted trees on diabetes: root mean squared error, relative to that of the mean, after every four trees."""
    from sklearn.ensemble import GradientBoostingRegressor

    X, X_test, y, y_test = _data("diabetes", 300)
    estimator = GradientBoostingRegressor(
        learning_rate=trial.suggest_float("rate", 1e-2, 1.0, log=True),
        max_depth=trial.suggest_int("depth", 1, 5),
        subsample=trial.suggest_float("subsample", 0.3, 1.0),
        min_samples_leaf=trial.suggest_int("leaf", 1, 50, log=True),
        max_features=trial.suggest_float("features", 0.1, 1.0),
        warm_start=True,
        random_state=0,
    )
    for step in range(1, STEPS + 1):
        estimator.set_params(n_estimators=4 * step).fit(X, y)
        error = float(np.sqrt(np.mean((estimator.predict(X_test) - y_test) ** 2)) / np.std(y_test))
        yield min(error, WORST)


PROBLEMS = {"network": network, "linear": linear, "boosting": boosting}


def run(problem: str, pruner: str, sampler: optuna.samplers.BaseSampler, budget: int) -> dict[str, Any]:
    """The best complete value, and how many trials there were and how many of them pruned."""
    spent = 0

    def objective(trial: optuna.Trial) -> float:
        nonlocal spent
        value = WORST
        for step, value in enumerate(PROBLEMS[problem](trial), 1):
            spent += 1
            trial.report(value, step)
            if step < STEPS and trial.should_prune():
                raise optuna.TrialPruned
        return value

    study = optuna.create_study(sampler=sampler, pruner=PRUNERS[pruner]())
    while spent < budget * STEPS:
        study.optimize(objective, n_trials=1)
    pruned = sum(t.state == optuna.trial.TrialState.PRUNED for t in study.trials)
    return {"best": study.best_value, "trials": len(study.trials), "pruned": pruned}


def samplers(readings: list[str]) -> dict[str, Callable[[int], optuna.samplers.BaseSampler]]:
    made: dict[str, Any] = {
        reading: lambda seed, reading=reading: CCGBOSampler(seed=seed, pruned=reading) for reading in readings
    }
    return {**made, "TPESampler": lambda seed: optuna.samplers.TPESampler(seed=seed)}


def measure(problem: str, pruner: str, options: argparse.Namespace) -> dict[str, Any]:
    runs: dict[str, list[dict[str, Any]]] = {}
    for label, make in samplers(options.readings).items():
        seeds = range(options.first_seed, options.first_seed + options.seeds)
        runs[label] = [run(problem, pruner, make(seed), options.budget) for seed in seeds]
        print(
            f"  {problem} {pruner} {label}: {median(r['best'] for r in runs[label]):.5g}", file=sys.stderr, flush=True
        )
    return {"problem": problem, "pruner": pruner, "runs": runs}


def log_regrets(rows: list[dict[str, Any]], label: str) -> np.ndarray:  # (rows, seeds)
    """Logarithms of (regret + floor), with one best value and one floor for each problem."""
    logs = []
    for row in rows:
        alike = [r for r in rows if r["problem"] == row["problem"]]
        found = [one["best"] for r in alike for runs in r["runs"].values() for one in runs]
        floor = 0.02 * (max(found) - min(found)) + 1e-12
        logs.append([np.log(one["best"] - min(found) + floor) for one in row["runs"][label]])
    return np.array(logs)


def ratio(gaps: np.ndarray) -> str:  # (rows, seeds)
    """Geometric mean and its 95 % interval over resampled seeds."""
    n = gaps.shape[1]
    drawn = gaps[:, np.random.default_rng(0).integers(n, size=(4000, n))].mean(axis=(0, 2))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return f"{np.exp(gaps.mean()):.2f} [{np.exp(low):.2f}, {np.exp(high):.2f}]"


def table(report: dict[str, Any]) -> str:
    rows = report["rows"]
    labels = [label for label in rows[0]["runs"] if label != LEFT_OUT]
    base = log_regrets(rows, LEFT_OUT)
    gaps = {label: log_regrets(rows, label) - base for label in labels}
    lines = [
        f"| problem | pruner | trials, pruned | regret left out | {' | '.join(labels)} |",
        "|---|---|---|---|" + "---|" * len(labels),
    ]
    for i, row in enumerate(rows):
        runs = row["runs"][LEFT_OUT]
        counts = f"{median(r['trials'] for r in runs):g}, {median(r['pruned'] for r in runs):g}"
        cells = [row["problem"], row["pruner"], counts, f"{np.exp(np.median(base[i])):.3g}"]
        lines.append("| " + " | ".join([*cells, *(ratio(gaps[label][i : i + 1]) for label in labels)]) + " |")
    lines.append("| all | | | | " + " | ".join(ratio(gaps[label]) for label in labels) + " |")
    versions = ", ".join(f"{name} {number}" for name, number in report["versions"].items())
    first = report["first_seed"]
    seeds = f"seeds {first} to {first + report['seeds'] - 1}, {report['budget']} whole trainings"
    return "\n".join([*lines, "", f"{seeds}; {versions}."])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=list(PROBLEMS))
    parser.add_argument("--pruners", nargs="+", default=list(PRUNERS), choices=list(PRUNERS))
    parser.add_argument("--readings", nargs="+", default=list(READINGS), choices=list(READINGS))
    parser.add_argument("--first-seed", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budget", type=int, default=15, help="whole trainings")
    parser.add_argument("--out", default=str(ROOT / "results" / "optuna_pruning.json"), help="'-' writes no file")
    options = parser.parse_args()
    if LEFT_OUT not in options.readings:
        parser.error(f"--readings must have {LEFT_OUT!r}, which the others are compared with")

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")  # networks that did not converge, numbers that overflowed
    names = ("ccgbo", "optuna", "numpy", "scipy", "scikit-learn")
    report = {
        "versions": {"python": platform.python_version(), **{name: version(name) for name in names}},
        "first_seed": options.first_seed,
        "seeds": options.seeds,
        "budget": options.budget,
    }
    with threadpool_limits(1):
        cells = [(problem, pruner) for problem in options.problems for pruner in options.pruners]
        report["rows"] = [measure(problem, pruner, options) for problem, pruner in cells]
    print(table(report))
    if options.out != "-":
        rows = ",\n  ".join(json.dumps(row) for row in report.pop("rows"))
        Path(options.out).parent.mkdir(exist_ok=True)
        Path(options.out).write_text(f'{json.dumps(report)[:-1]}, "rows": [\n  {rows}\n]}}\n', encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
