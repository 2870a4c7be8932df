"""Define-by-run branches in Optuna: CCGBOSampler beside GPSampler, TPESampler (plain and grouped) and random search.

    python benchmarks/optuna_conditional.py                 everything: 20 seeds, about an hour of one core
    python benchmarks/optuna_conditional.py --docs          and the table in docs/integrations/optuna.md
    python benchmarks/optuna_conditional.py --problems Branches --seeds 2 --out -

Regret is the distance to the best value that is known: exact for the formulas, for the pipeline the best of all runs
of all samplers. Ratios are geometric means over paired seeds of (regret + 1e-6 of the problem's spread), with 95 %
bootstrap intervals. Time is the processor time of asking and telling, one thread for BLAS and torch.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import optuna
import torch
from threadpoolctl import threadpool_limits

from ccgbo.integrations.optuna import CCGBOSampler

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "integrations" / "optuna.md"
BEGIN, END = "<!-- optuna_conditional: begin -->", "<!-- optuna_conditional: end -->"

SAMPLERS: dict[str, Callable[[int], optuna.samplers.BaseSampler]] = {
    "CCGBOSampler": lambda seed: CCGBOSampler(seed=seed, warn_independent_sampling=False),
    "GPSampler": lambda seed: optuna.samplers.GPSampler(seed=seed, warn_independent_sampling=False),
    "TPESampler, grouped": lambda seed: optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True),
    "TPESampler": lambda seed: optuna.samplers.TPESampler(seed=seed),
    "RandomSampler": lambda seed: optuna.samplers.RandomSampler(seed=seed),
}
OURS = "CCGBOSampler"


@dataclass(frozen=True)
class Problem:
    """An objective to minimise, its best value (None: the best that was found) and the spread of its values."""

    objective: Callable[[optuna.Trial], float]
    best: float | None
    spread: float
    trials: int


def branches(trial: optuna.Trial) -> float:
    """Two branches; the better one has the worse mean."""
    if trial.suggest_categorical("branch", ["flat", "steep"]) == "flat":
        x, y = trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0)
        return 0.2 + (x - 0.3) ** 2 + (y - 0.6) ** 2
    u, v = trial.suggest_float("u", 0.0, 1.0), trial.suggest_float("v", 0.0, 1.0)
    return 4.0 * ((u - 0.7) ** 2 + (v - 0.2) ** 2)


def nested(trial: optuna.Trial) -> float:
    """Three kinds, one of them with a switch of its own, and a parameter that all share."""
    shared = trial.suggest_float("shared", -2.0, 2.0)
    kind = trial.suggest_categorical("kind", ["a", "b", "c"])
    if kind == "a":
        return 1.0 + 0.3 * (shared + 1.0) ** 2 + (trial.suggest_float("a1", 0.0, 4.0) - 1.0) ** 2
    if kind == "b":
        p, q = trial.suggest_float("b1", -1.0, 1.0), trial.suggest_float("b2", -1.0, 1.0)
        return 0.5 + 0.3 * (shared - 1.0) ** 2 + 3.0 * (p + 0.5) ** 2 + 2.0 * (q - p) ** 2
    if trial.suggest_categorical("momentum", [True, False]):
        m, r = trial.suggest_float("m", 0.0, 1.0), trial.suggest_float("rate", 1e-4, 1.0, log=True)
        return 0.3 * shared**2 + 4.0 * (m - 0.8) ** 2 + 0.5 * (math.log10(r) + 2.5) ** 2
    return 0.7 + 0.3 * shared**2 + 0.5 * (math.log10(trial.suggest_float("rate_plain", 1e-4, 1.0, log=True)) + 1) ** 2


def layers(trial: optuna.Trial) -> float:
    """A number of layers, and a width for each: the fourth layer pays only with the right widths."""
    n = trial.suggest_int("layers", 1, 4)
    widths = [trial.suggest_int(f"width_{i}", 4, 256, log=True) for i in range(n)]
    return 0.2 * (4 - n) + 0.25 * sum((math.log2(w) - best) ** 2 for w, best in zip(widths, (5, 6, 4, 3)))


@cache
def _data() -> Any:
    from sklearn.datasets import load_breast_cancer

    return load_breast_cancer(return_X_y=True)


def pipeline(trial: optuna.Trial) -> float:
    """Log loss of a classifier: a support vector machine or boosted trees, each with parameters of its own."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    X, y = _data()
    if trial.suggest_categorical("model", ["svm", "boosting"]) == "svm":
        kernel = trial.suggest_categorical("kernel", ["rbf", "poly"])
        arguments: dict[str, Any] = {"C": trial.suggest_float("C", 1e-3, 1e3, log=True), "kernel": kernel}
        if kernel == "rbf":
            arguments["gamma"] = trial.suggest_float("gamma", 1e-5, 1e1, log=True)
        else:
            arguments["degree"] = trial.suggest_int("degree", 2, 5)
            arguments["coef0"] = trial.suggest_float("coef0", 0.0, 2.0)
        estimator = make_pipeline(StandardScaler(), SVC(**arguments))
    else:
        estimator = HistGradientBoostingClassifier(
            learning_rate=trial.suggest_float("learning_rate", 1e-2, 1.0, log=True),
            max_iter=trial.suggest_int("max_iter", 5, 40, log=True),
            max_leaf_nodes=trial.suggest_int("max_leaf_nodes", 3, 31, log=True),
            l2_regularization=trial.suggest_float("l2", 1e-4, 10.0, log=True),
            random_state=0,
        )
    return 1.0 - float(cross_val_score(estimator, X, y, cv=3, scoring="roc_auc").mean())


PROBLEMS = {
    "Branches": Problem(branches, 0.0, 1.0, 40),
    "Nested": Problem(nested, 0.0, 2.0, 60),
    "Layers": Problem(layers, 0.0, 2.0, 60),
    "Pipeline": Problem(pipeline, None, 0.02, 40),
}


def run(problem: Problem, sampler: optuna.samplers.BaseSampler) -> tuple[float, float]:
    """The best value, and milliseconds per trial apart from the objective."""
    study, spent = optuna.create_study(sampler=sampler), 0.0
    for _ in range(problem.trials):
        start = time.process_time()
        trial = study.ask()
        clock = _Clock(trial)
        value = problem.objective(clock)  # type: ignore[arg-type]
        middle = time.process_time()
        study.tell(trial, value)
        spent += clock.begin - start + clock.spent + time.process_time() - middle
    return float(study.best_value), 1e3 * spent / problem.trials


class _Clock:
    """A trial that adds up the time of its suggestions."""

    def __init__(self, trial: optuna.Trial) -> None:
        self._trial, self.spent, self.begin = trial, 0.0, time.process_time()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._trial, name)

        def timed(*arguments: Any, **more: Any) -> Any:
            start = time.process_time()
            try:
                return method(*arguments, **more)
            finally:
                self.spent += time.process_time() - start

        return timed


def measure(name: str, seeds: int) -> dict[str, Any]:
    problem = PROBLEMS[name]
    values: dict[str, list[float]] = {}
    spent: dict[str, float] = {}
    for label, make in SAMPLERS.items():
        runs = [run(problem, make(seed)) for seed in range(seeds)]
        values[label], spent[label] = [v for v, _ in runs], median(t for _, t in runs)
        print(f"  {name} {label}: median {median(values[label]):.4g}, {spent[label]:.1f} ms", file=sys.stderr)
    best = problem.best if problem.best is not None else min(min(v) for v in values.values())
    regrets = {label: [v - best for v in row] for label, row in values.items()}
    return {"problem": name, "trials": problem.trials, "spread": problem.spread, "regrets": regrets, "ms": spent}


def ratio(row: dict[str, Any], peer: str) -> tuple[float, float, float]:
    """Our regret over the peer's: geometric mean over seeds and its 95 % interval."""
    floor = 1e-6 * row["spread"]
    ours, theirs = (np.log(np.array(row["regrets"][label]) + floor) for label in (OURS, peer))
    gaps = ours - theirs
    drawn = np.random.default_rng(0).choice(gaps, (4000, len(gaps))).mean(axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(np.exp(gaps.mean())), float(np.exp(low)), float(np.exp(high))


def table(report: dict[str, Any]) -> str:
    lines = [
        "| problem | trials | sampler | ms per trial | median regret | our regret to its, 95 % interval |",
        "|---|---|---|---|---|---|",
    ]
    for row in report["rows"]:
        for label, regrets in row["regrets"].items():
            compared = "" if label == OURS else "{:.2g} [{:.2g}, {:.2g}]".format(*ratio(row, label))
            cells = [row["problem"], row["trials"], f"`{label}`", f"{row['ms'][label]:.1f}", f"{median(regrets):.3g}"]
            lines.append("| " + " | ".join(map(str, [*cells, compared])) + " |")
    versions = ", ".join(f"{name} {number}" for name, number in report["versions"].items())
    return "\n".join([*lines, "", f"{report['seeds']} paired seeds, one thread; {versions}."])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=list(PROBLEMS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--out", default=str(ROOT / "results" / "optuna_conditional.json"), help="'-' writes no file")
    parser.add_argument("--docs", action="store_true", help=f"put the table into {PAGE.relative_to(ROOT)}")
    options = parser.parse_args()

    torch.set_num_threads(1)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    names = ("ccgbo", "optuna", "torch", "numpy", "scipy", "scikit-learn")
    versions = {"python": platform.python_version(), **{name: version(name) for name in names}}
    with threadpool_limits(1):
        rows = [measure(name, options.seeds) for name in options.problems]
    report = {"versions": versions, "seeds": options.seeds, "rows": rows}
    print(table(report))
    if options.out != "-":
        Path(options.out).parent.mkdir(exist_ok=True)
        Path(options.out).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if options.docs:
        head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        tail = rest.partition(END)[2]
        PAGE.write_text(f"{head}{BEGIN}\n{table(report)}\n{END}{tail}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
