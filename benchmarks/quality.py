"""How few evaluations: ours and the peers from the same initial points, with paired seeds and noise.

    python benchmarks/quality.py run --set reporting --seeds 20 -j 2      # resumable: finished cells are kept
    python benchmarks/quality.py report --set reporting                    # tables with intervals
    python benchmarks/quality.py report --figure docs/img/quality.png      # and the regret curves

Each cell is one (problem, contender, seed, budget, noise). The initial design is max(2 d, 10) uniform points, the same
for every contender of a seed; so is the noise of the i-th evaluation. AUSR is the simple regret of the noise-free
value averaged over the evaluations after the design; a regret below zero, where only the best known value is beaten,
counts as zero. Noise is the problem's own, or given relative to the standard deviation of its values over the space.
Contenders named ``start ...`` get no design: they make their own, and every evaluation counts. Rows of ours also hold
the regret of what is recommended at the end (``recommended``) and of the best value that was seen (``seen``).
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
from contenders import CONTENDERS, Ours  # noqa: E402

from ccgbo.bench.problems import Problem, get_problem, problem_names  # noqa: E402
from ccgbo.versions import versions  # noqa: E402

RESULTS = Path(__file__).parent.parent / "results"
CHOOSING = (
    "Langermann2", "Hartmann6", "Griewank6", "Levy8", "Rosenbrock10",
    "Branin2", "Ackley5", "Michalewicz5", "StyblinskiTang4", "GPDraw4",
    "Forrester1", "GoldsteinPrice2", "Ishigami3", "Hartmann4", "ARDDraw6", "DettePepelyshev8", "Welch20",
    "Currin2", "Park4", "Friedman5", "Loeppky7",
    "Reaction4", "MixedAckley6", "Func3C", "TreeFriedman5", "SVCCancer", "MLPDigits",
)  # fmt: skip
REPORTING = (
    "Robot4", "Portfolio5", "MLP4", "SVRDiabetes", "GBTDiabetes", "KNNWine", "SGDCancer", "KernelDigits",
    "Hartmann3", "Shekel4", "Colville4", "Borehole8", "WingWeight10", "PistonCycle7", "OTLCircuit6",
)  # fmt: skip
SETS = {"choosing": CHOOSING, "reporting": REPORTING, "dimension": problem_names("dimension")}
PEERS = ("optuna-gp", "optuna-tpe", "botorch-logei", "botorch-ucb", "bayes-opt", "ax")


def run_cell(problem_name: str, contender: str, seed: int, budget: int, noise: float | None) -> dict[str, Any]:
    """One optimisation; ``noise`` None takes the problem's own standard deviation."""
    problem = get_problem(problem_name, seed)
    space = problem.space
    sd = problem.noise_std if noise is None else noise * spread(problem)
    size = 0 if contender.startswith("start ") else max(2 * space.d, 10)
    design = space.sample(size, np.random.default_rng([seed, 1]))
    optimizer = CONTENDERS[contender](space, seed)
    best, trace, seconds = -np.inf, [], []
    seen = (-np.inf, -np.inf)  # the best value as observed, and without the noise

    def evaluate(params: dict[str, Any], i: int) -> None:
        nonlocal best, seen
        value = problem(params)
        observed = value + sd * float(np.random.default_rng([seed, 2, i]).standard_normal())
        best, seen = max(best, value), max(seen, (observed, value))
        optimizer.tell(params, observed)

    for i, u in enumerate(design):
        evaluate(space.decode(u), i)
    start = problem.optimum - (best if size else problem(space.decode(np.full(space.d, 0.5))))
    for i in range(budget):
        t0 = time.process_time()
        params = optimizer.ask()
        seconds.append(time.process_time() - t0)
        evaluate(params, len(design) + i)
        trace.append(float(f"{problem.optimum - best:.6g}"))
    ends = {}
    if isinstance(optimizer, Ours):
        ends = {"recommended": problem.regret(optimizer.recommend()), "seen": problem.optimum - seen[1]}
    return {
        "problem": problem_name,
        "contender": contender,
        "seed": seed,
        "budget": budget,
        "noise": noise,
        "start": float(f"{start:.6g}"),
        "trace": trace,
        "ms": round(1e3 * float(np.median(seconds)), 3),
        **{name: float(f"{regret:.6g}") for name, regret in ends.items()},
    }


def spread(problem: Problem) -> float:
    """Standard deviation of the noise-free value over the space."""
    U = problem.space.sample(256, np.random.default_rng(0))
    return float(np.std([problem(problem.space.decode(u)) for u in U]))


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


Rows = dict[int, dict[str, Any]]  # by seed


class Table:
    """Rows by problem and contender; measures are taken over the first ``upto`` evaluations."""

    def __init__(self, rows: list[dict[str, Any]], problems: list[str], upto: int) -> None:
        self.cells: dict[tuple[str, str], Rows] = {}
        for row in rows:
            if row["problem"] in problems:
                self.cells.setdefault((row["problem"], row["contender"]), {})[row["seed"]] = row
        self.problems = [p for p in problems if any(key[0] == p for key in self.cells)]
        self.upto = upto

    def contenders(self) -> list[str]:
        known = [c for c in CONTENDERS if any(key[1] == c for key in self.cells)]
        return known + sorted({c for _, c in self.cells} - set(known))

    def seeds(self, problem: str, names: list[str]) -> list[int]:
        """Seeds that every one of the contenders has."""
        sets = [set(self.cells.get((problem, c), {})) for c in names]
        return sorted(set.intersection(*sets))

    def trace(self, problem: str, contender: str, seed: int) -> np.ndarray:
        return np.maximum(self.cells[problem, contender][seed]["trace"][: self.upto], 0.0)

    def values(self, problem: str, contender: str, seeds: list[int], *, final: bool = False) -> np.ndarray:
        traces = [self.trace(problem, contender, s) for s in seeds]
        return np.array([t[-1] if final else t.mean() for t in traces])

    def ms(self, contender: str) -> float:
        return float(np.median([r["ms"] for (_, c), by in self.cells.items() if c == contender for r in by.values()]))

    def log_ratios(self, problem: str, a: str, b: str, *, final: bool = False) -> np.ndarray | None:
        """log of mean(a) / mean(b) of one problem: of all seeds first, then of 2000 paired resamples of them.

        A ten-thousandth of the regret at the start is added to both, so that two zeros are equal.
        """
        seeds = self.seeds(problem, [a, b])
        if not seeds:
            return None
        tiny = 1e-4 * float(np.mean([self.cells[problem, b][s]["start"] for s in seeds])) + 1e-12
        A, B = (self.values(problem, c, seeds, final=final) + tiny for c in (a, b))
        draws = np.random.default_rng([len(seeds), self.problems.index(problem)]).integers(
            len(seeds), size=(2000, len(seeds))
        )
        draws = np.vstack([np.arange(len(seeds)), draws])
        return np.log(A[draws].mean(axis=1) / B[draws].mean(axis=1))

    def ratio(self, a: str, b: str | dict[str, str], *, final: bool = False) -> tuple[float, float, float]:
        """Geometric mean over the problems with a 95 % interval; ``b`` is one contender or one for each problem."""
        of = dict.fromkeys(self.problems, b) if isinstance(b, str) else b
        logs = [x for p in self.problems if (x := self.log_ratios(p, a, of[p], final=final)) is not None]
        return interval(np.mean(logs, axis=0)) if logs else (float("nan"),) * 3

    def best(self, problem: str, names: list[str]) -> str:
        """The one that the default trails most, each on the seeds that it shares with the default."""
        logs = {c: x for c in names if (x := self.log_ratios(problem, "default", c)) is not None}
        return max(logs, key=lambda c: float(logs[c][0]))


def interval(logs: np.ndarray) -> tuple[float, float, float]:
    values = np.exp(logs)
    return float(values[0]), float(np.quantile(values[1:], 0.025)), float(np.quantile(values[1:], 0.975))


def shown(ratio: tuple[float, float, float]) -> str:
    return "{:.3f} [{:.3f}, {:.3f}]".format(*ratio)


def report(args: argparse.Namespace) -> None:
    rows = [r for r in load(Path(args.output)) if r["budget"] >= args.budget and r["noise"] == args.noise]
    problems = args.problems.split(",") if args.problems else list(SETS[args.set])
    table = Table(rows, problems, args.budget)
    names = args.contenders.split(",") if args.contenders else table.contenders()
    print_tasks(table, names)
    print_tasks(table, names, final=True)
    print_ratios(table, names, args.reference)
    print_recommended(table, names)
    peers = [c for c in PEERS if c in names]
    if "default" in names and peers:
        print_peers(table, peers, random="random" in names)
    for pair in args.compare.split(",") if args.compare else ():
        a, b = pair.split(":")
        print(f"\n{a} against {b}: {shown(table.ratio(a, b))}")
    if args.figure:
        draw_curves(table, names, Path(args.figure))


def print_tasks(table: Table, names: list[str], *, final: bool = False) -> None:
    print(f"\n{'Final regret after' if final else 'AUSR over'} {table.upto} evaluations\n")
    print(f"| task | seeds | {' | '.join(names)} |\n|---|---|{'---|' * len(names)}")
    for p in table.problems:
        seeds = table.seeds(p, names)
        cells = [f"{table.values(p, c, seeds, final=final).mean():.4g}" if seeds else "" for c in names]
        print(f"| {p} | {len(seeds)} | {' | '.join(cells)} |")


def print_ratios(table: Table, names: list[str], reference: str) -> None:
    print(f"\nGeometric mean over the tasks of the ratio to {reference}, 95 % paired-bootstrap intervals\n")
    print("| contender | AUSR | final regret | CPU ms per suggestion |\n|---|---|---|---|")
    for c in names:
        ausr, final = table.ratio(c, reference), table.ratio(c, reference, final=True)
        print(f"| {c} | {shown(ausr)} | {shown(final)} | {table.ms(c):.1f} |")


def print_recommended(table: Table, names: list[str]) -> None:
    """What is recommended at the end beside the best value that was seen: they differ where there is noise."""
    for c in names:
        logs = []
        for p in table.problems:
            rows = [r for r in table.cells.get((p, c), {}).values() if "seen" in r]
            if rows:
                tiny = 1e-4 * float(np.mean([r["start"] for r in rows])) + 1e-12
                means = [tiny + np.mean([max(r[name], 0.0) for r in rows]) for name in ("recommended", "seen")]
                logs.append(np.log(means[0] / means[1]))
        if logs:
            print(f"\n{c}: regret of the recommended point to that of the best seen: {np.exp(np.mean(logs)):.3f}")


def print_peers(table: Table, peers: list[str], *, random: bool) -> None:
    """The default beside the best peer of each task, and beside random search."""
    best = {p: table.best(p, peers) for p in table.problems}
    print("\n| task | best peer | default to it | default to random search |\n|---|---|---|---|")
    for p in table.problems:
        logs = table.log_ratios(p, "default", best[p])
        to_random = table.log_ratios(p, "default", "random") if random else None
        columns = ["" if x is None else shown(interval(x)) for x in (logs, to_random)]
        print(f"| {p} | {best[p]} | {columns[0]} | {columns[1]} |")
    print(f"\ndefault against the best peer of each task: {shown(table.ratio('default', best))}")


def draw_curves(table: Table, names: list[str], path: Path) -> None:
    """Mean simple regret with its standard error, a panel for each task."""
    from ccgbo.bench.figures import band, legend, panels, save

    figure, axes = panels(len(table.problems))
    for ax, p in zip(axes, table.problems, strict=True):
        seeds = table.seeds(p, names)
        for i, c in enumerate(names):
            curves = np.array([table.trace(p, c, s) for s in seeds])
            band(ax, 1.0 + np.arange(curves.shape[1]), curves, f"C{i}", c, bold=c == "default")
        ax.set_title(p, fontsize=9)
        ax.set_yscale("log")
        ax.set_xlabel("evaluations after the design", fontsize=8)
    axes[0].set_ylabel("simple regret", fontsize=8)
    legend(figure, axes[0])
    path.parent.mkdir(parents=True, exist_ok=True)
    save(figure, str(path))
    print(f"\nfigure: {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["run", "report"])
    parser.add_argument("--set", choices=SETS, default="reporting")
    parser.add_argument("--problems", default=None, help="comma-separated, instead of a set")
    parser.add_argument("--contenders", default=None, help="comma-separated; default all")
    parser.add_argument("--reference", default="optuna-gp")
    parser.add_argument("--compare", default=None, help="report: further pairs a:b, comma-separated")
    parser.add_argument("--figure", default=None, help="report: where to draw the regret curves")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--budget", type=int, default=50, help="evaluations; report takes the head of longer runs")
    parser.add_argument("--noise", type=float, default=None, help="relative to the spread of the values")
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
