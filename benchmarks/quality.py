"""How few evaluations: ours and the peers from the same initial points, with paired seeds and noise.

    python benchmarks/quality.py run --set reporting --seeds 20 -j 2      # resumable: finished cells are kept
    python benchmarks/quality.py report --set reporting                    # tables with intervals

Each cell is one (problem, contender, seed, budget, noise). The initial design is max(2 d, 10) uniform points, the same
for every contender of a seed; so is the noise of the i-th evaluation. AUSR is the simple regret of the noise-free
value averaged over the evaluations after the design.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))
from contenders import CONTENDERS  # noqa: E402

from ccgbo.bench.problems import get_problem  # noqa: E402
from ccgbo.versions import versions  # noqa: E402

RESULTS = Path(__file__).parent.parent / "results"
CHOOSING = (
    "Langermann2", "Hartmann6", "Griewank6", "Levy8", "Rosenbrock10",
    "Branin2", "Ackley5", "Michalewicz5", "StyblinskiTang4", "GPDraw4",
)  # fmt: skip
REPORTING = (
    "Robot4", "Portfolio5", "MLP4", "SVRDiabetes", "GBTDiabetes", "KNNWine", "SGDCancer", "KernelDigits",
    "Hartmann3", "Shekel4", "Borehole8", "OTLCircuit6",
)  # fmt: skip
SETS = {"choosing": CHOOSING, "reporting": REPORTING}


def run_cell(problem_name: str, contender: str, seed: int, budget: int, noise: float | None) -> dict[str, Any]:
    """One optimisation; ``noise`` None takes the problem's own standard deviation."""
    problem = get_problem(problem_name, seed)
    space = problem.space
    sd = problem.noise_std if noise is None else noise
    design = space.sample(max(2 * space.d, 10), np.random.default_rng([seed, 1]))
    optimizer = CONTENDERS[contender](space, seed)
    best, trace, seconds = -np.inf, [], []

    def evaluate(params: dict[str, Any], i: int) -> None:
        nonlocal best
        value = problem(params)
        best = max(best, value)
        optimizer.tell(params, value + sd * float(np.random.default_rng([seed, 2, i]).standard_normal()))

    for i, u in enumerate(design):
        evaluate(space.decode(u), i)
    start = problem.optimum - best
    for i in range(budget):
        t0 = time.process_time()
        params = optimizer.ask()
        seconds.append(time.process_time() - t0)
        evaluate(params, len(design) + i)
        trace.append(float(f"{problem.optimum - best:.6g}"))
    return {
        "problem": problem_name,
        "contender": contender,
        "seed": seed,
        "budget": budget,
        "noise": noise,
        "start": float(f"{start:.6g}"),
        "trace": trace,
        "ms": round(1e3 * float(np.median(seconds)), 3),
    }


def key(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["problem"], row["contender"], row["seed"], row["budget"], row["noise"]


def load(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def run(args: argparse.Namespace) -> None:
    from joblib import Parallel, delayed

    path = Path(args.output)
    path.parent.mkdir(exist_ok=True)
    done = {key(row) for row in load(path)}
    problems = args.problems.split(",") if args.problems else SETS[args.set]
    contenders = args.contenders.split(",")
    seeds = range(args.first_seed, args.first_seed + args.seeds)
    cells = [(p, c, s, args.budget, args.noise) for s in seeds for c in contenders for p in problems]
    cells = [c for c in cells if c not in done]
    print("versions:", versions(), f"\n{len(cells)} cells to run, {len(done)} kept", flush=True)
    started = time.time()
    rows = Parallel(n_jobs=args.jobs, return_as="generator_unordered")(delayed(run_cell)(*c) for c in cells)
    for i, row in enumerate(rows, 1):
        with path.open("a") as f:
            f.write(json.dumps(row, separators=(",", ":")) + "\n")
        left = (time.time() - started) / i * (len(cells) - i)
        print(
            f"{i}/{len(cells)} {row['problem']} {row['contender']} {row['seed']}  left {left / 60:.1f} min", flush=True
        )


def ausr(row: dict[str, Any]) -> float:
    return float(np.mean(row["trace"]))


def report(args: argparse.Namespace) -> None:
    rows = [r for r in load(Path(args.output)) if r["budget"] == args.budget and r["noise"] == args.noise]
    problems = args.problems.split(",") if args.problems else list(SETS[args.set])
    table: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
    for r in rows:
        table.setdefault((r["problem"], r["contender"]), {})[r["seed"]] = r
    names = args.contenders.split(",") if args.contenders else sorted({c for _, c in table})
    print(f"\n| task | seeds | {' | '.join(names)} |\n|---|---|{'---|' * len(names)}")
    for p in problems:
        seeds = common_seeds(table, p, names)
        if seeds:
            cells = [f"{np.mean([ausr(table[p, c][s]) for s in seeds]):.4g}" for c in names]
            print(f"| {p} | {len(seeds)} | {' | '.join(cells)} |")
    print(f"\nGeometric mean of AUSR ratios to {args.reference} with 95 % paired-bootstrap intervals:\n")
    print("| contender | AUSR ratio | interval | final-regret ratio | CPU ms per suggestion |\n|---|---|---|---|---|")
    for c in names:
        mean, low, high = ratio(table, problems, c, args.reference, ausr)
        final = ratio(table, problems, c, args.reference, lambda r: r["trace"][-1])[0]
        ms = np.median([r["ms"] for (p, k), by in table.items() if k == c and p in problems for r in by.values()])
        print(f"| {c} | {mean:.3f} | {low:.3f} to {high:.3f} | {final:.3f} | {ms:.1f} |")


def common_seeds(table: Any, problem: str, names: list[str]) -> list[int]:
    sets = [set(table.get((problem, c), {})) for c in names]
    return sorted(set.intersection(*sets)) if sets else []


def ratio(table: Any, problems: Any, a: str, b: str, measure: Any, floor: float = 1e-4) -> tuple[float, float, float]:
    """Geometric mean over problems of mean(a) / mean(b); the floor is relative to the start regret."""
    rng = np.random.default_rng(0)
    logs = []
    for p in problems:
        seeds = common_seeds(table, p, [a, b])
        if len(seeds) < 1:
            continue
        tiny = floor * float(np.mean([table[p, b][s]["start"] for s in seeds])) + 1e-12
        A = np.array([measure(table[p, a][s]) for s in seeds]) + tiny
        B = np.array([measure(table[p, b][s]) for s in seeds]) + tiny
        draws = rng.integers(len(seeds), size=(2000, len(seeds)))
        logs.append(np.append(np.log(A[draws].mean(axis=1) / B[draws].mean(axis=1)), np.log(A.mean() / B.mean())))
    if not logs:
        return (float("nan"),) * 3
    total = np.exp(np.mean(logs, axis=0))
    return float(total[-1]), float(np.quantile(total[:-1], 0.025)), float(np.quantile(total[:-1], 0.975))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["run", "report"])
    parser.add_argument("--set", choices=SETS, default="reporting")
    parser.add_argument("--problems", default=None, help="comma-separated, instead of a set")
    parser.add_argument("--contenders", default=None, help="comma-separated; default all")
    parser.add_argument("--reference", default="optuna-gp")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--budget", type=int, default=100)
    parser.add_argument("--noise", type=float, default=None)
    parser.add_argument("--output", default=str(RESULTS / "quality.jsonl"))
    parser.add_argument("-j", "--jobs", type=int, default=2)
    args = parser.parse_args()
    if args.action == "run":
        args.contenders = args.contenders or ",".join(CONTENDERS)
        run(args)
    else:
        report(args)


if __name__ == "__main__":
    main()
