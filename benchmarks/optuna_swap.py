"""The same Optuna study with GPSampler, TPESampler and CCGBOSampler: time per trial and best value.

    python benchmarks/optuna_swap.py                  everything, about 10 minutes of one core
    python benchmarks/optuna_swap.py --docs           and the tables in docs/integrations/optuna.md
    python benchmarks/optuna_swap.py --kept --docs    the tables anew from the rows of the last run
    python benchmarks/optuna_swap.py --problems Shekel4=20 --seeds 2 --out -

Time is the processor time of asking, suggesting and telling, with one thread for BLAS and torch, without the objective.
"at the end" is the median over seeds of the mean of the last ten trials. Values are noise-free regrets: smaller is
better. The exit code is 1 if CCGBOSampler takes more than a quarter of GPSampler's time at the end of any study of 100
trials or more.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import optuna
import torch
from optuna_support import support
from threadpoolctl import threadpool_limits

from ccgbo.bench.problems import Problem, get_problem
from ccgbo.integrations.optuna import CCGBOSampler
from ccgbo.space import Categorical, Int

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "integrations" / "optuna.md"
BEGIN, END = "<!-- optuna_swap: begin -->", "<!-- optuna_swap: end -->"
SUPPORT = "<!-- optuna_support: begin -->", "<!-- optuna_support: end -->"
PROBLEMS = ["Hartmann6=100", "Shekel4=60", "PistonCycle7=60", "SGDCancer=60", "SVRDiabetes=60"]
SAMPLERS = {
    "CCGBOSampler": CCGBOSampler,
    "GPSampler": optuna.samplers.GPSampler,
    "TPESampler": optuna.samplers.TPESampler,
}
OURS = "CCGBOSampler"
BAR = 0.25  # of GPSampler's time


def suggest(trial: optuna.Trial, problem: Problem) -> dict[str, Any]:
    params: dict[str, Any] = {}
    for name, p in problem.space.items():
        if isinstance(p, Categorical):
            params[name] = trial.suggest_categorical(name, list(p.choices))
        elif isinstance(p, Int):
            params[name] = trial.suggest_int(name, p.low, p.high, step=p.step, log=p.log)
        else:
            params[name] = trial.suggest_float(name, p.low, p.high, step=p.step, log=p.log)
    return params


def run(problem: Problem, sampler: optuna.samplers.BaseSampler, trials: int) -> tuple[list[float], float]:
    """Seconds per trial, and the best noise-free value."""
    study = optuna.create_study(direction="maximize", sampler=sampler)
    seconds, best = [], -np.inf
    for _ in range(trials):
        start = time.process_time()
        trial = study.ask()
        params = suggest(trial, problem)
        asked = time.process_time() - start
        value = problem(params)
        start = time.process_time()
        study.tell(trial, value)
        seconds.append(asked + time.process_time() - start)
        best = max(best, value)
    return seconds, best


def measure(name: str, trials: int, seeds: int) -> list[dict[str, Any]]:
    """One row per sampler."""
    rows = []
    for label, make in SAMPLERS.items():
        seconds, regrets = [], []
        for seed in range(seeds):
            problem = get_problem(name, seed=seed, noise_std=0.0)
            spent, best = run(problem, make(seed=seed), trials)
            seconds.append(spent)
            regrets.append(problem.optimum - best)
        rows.append(
            {
                "problem": name,
                "trials": trials,
                "sampler": label,
                "ms_per_trial": round(1e3 * median(float(np.mean(s)) for s in seconds), 2),
                "ms_at_the_end": round(1e3 * median(float(np.mean(s[-10:])) for s in seconds), 2),
                "regrets": [float(f"{r:.4g}") for r in regrets],
            }
        )
        print(f"  {name} {label}: {rows[-1]['ms_per_trial']} ms, regrets {rows[-1]['regrets']}", file=sys.stderr)
    return rows


def measured(options: argparse.Namespace) -> dict[str, Any]:
    names = ("ccgbo", "optuna", "torch", "numpy", "scipy", "scikit-learn")
    versions = {"python": platform.python_version(), **{name: version(name) for name in names}}
    studies = [item.partition("=") for item in options.problems]
    rows = [row for name, _, trials in studies for row in measure(name, int(trials), options.seeds)]
    return {"versions": versions, "seeds": options.seeds, "rows": rows}


def ratios(rows: list[dict[str, Any]]) -> dict[str, float]:
    """CCGBOSampler's time at the end over GPSampler's, by problem."""
    ms = {(row["problem"], row["sampler"]): row["ms_at_the_end"] for row in rows}
    return {
        name: ms[name, "CCGBOSampler"] / ms[name, "GPSampler"] for name in dict.fromkeys(r["problem"] for r in rows)
    }


def table(report: dict[str, Any]) -> str:
    shares = ratios(report["rows"])
    lines = [
        "| problem | trials | sampler | ms per trial | at the end | share of GPSampler's | median regret |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in report["rows"]:
        share = f"{shares[row['problem']]:.2f}" if row["sampler"] == "CCGBOSampler" else ""
        cells = [row["problem"], row["trials"], f"`{row['sampler']}`", f"{row['ms_per_trial']:.1f}"]
        cells += [f"{row['ms_at_the_end']:.1f}", share, f"{median(row['regrets']):.3g}"]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    versions = ", ".join(f"{name} {number}" for name, number in report["versions"].items())
    return "\n".join([*lines, "", f"{report['seeds']} seeds, one thread; {versions}."])


def support_table(report: dict[str, Any]) -> str:
    """What each sampler takes into account, and beside it what it costs and reaches."""
    lines = ["| | " + " | ".join(f"`{label}`" for label in SAMPLERS) + " |", "|---|" + "---|" * len(SAMPLERS)]
    for feature, who in report["support"].items():
        lines.append(f"| {feature} | " + " | ".join("yes" if who[label] else "no" for label in SAMPLERS) + " |")
    rows = {(row["problem"], row["sampler"]): row for row in report["rows"]}
    problems = list(dict.fromkeys(row["problem"] for row in report["rows"]))
    ms = (median(rows[name, label]["ms_per_trial"] for name in problems) for label in SAMPLERS)
    lines.append("| ms per trial, median of the studies below | " + " | ".join(f"{value:.1f}" for value in ms) + " |")
    for name in problems:
        regrets = (f"{median(rows[name, label]['regrets']):.2g}" for label in SAMPLERS)
        lines.append(f"| median regret, {name}, {rows[name, OURS]['trials']} trials | " + " | ".join(regrets) + " |")
    return "\n".join(lines)


def put(text: str, table: str, marks: tuple[str, str]) -> str:
    before, _, rest = text.partition(marks[0])
    return f"{before}{marks[0]}\n{table}\n{marks[1]}{rest.partition(marks[1])[2]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", default=PROBLEMS, metavar="NAME=TRIALS")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", default=str(ROOT / "results" / "optuna_swap.json"), help="'-' writes no file")
    parser.add_argument("--kept", action="store_true", help="measure nothing, read the rows from --out")
    parser.add_argument("--docs", action="store_true", help=f"put the tables into {PAGE.relative_to(ROOT)}")
    options = parser.parse_args()

    torch.set_num_threads(1)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    warnings.simplefilter("ignore", FutureWarning)  # Optuna's constraints_func
    with threadpool_limits(1):
        report = json.loads(Path(options.out).read_text(encoding="utf-8")) if options.kept else measured(options)
        report["support"] = support(SAMPLERS)
    print(support_table(report), table(report), sep="\n\n")
    if options.out != "-":
        rows = ",\n  ".join(json.dumps(row) for row in report["rows"])
        head = json.dumps({key: report[key] for key in ("versions", "seeds", "support")})[:-1]
        Path(options.out).parent.mkdir(exist_ok=True)
        Path(options.out).write_text(f'{head}, "rows": [\n  {rows}\n]}}\n', encoding="utf-8")
    if options.docs:
        text = put(PAGE.read_text(encoding="utf-8"), support_table(report), SUPPORT)
        PAGE.write_text(put(text, table(report), (BEGIN, END)), encoding="utf-8")
    long = {row["problem"] for row in report["rows"] if row["trials"] >= 100}
    return int(any(share > BAR for name, share in ratios(report["rows"]).items() if name in long))


if __name__ == "__main__":
    raise SystemExit(main())
