"""Batches of 16, 64 and 256 points: at once, one by one, by Thompson sampling and by BoTorch's joint qLogEI.

    python benchmarks/batch_quality.py                   the reported problems, to results/batch_quality.json
    python benchmarks/batch_quality.py --set choosing --first 1000 --out -
    python benchmarks/batch_quality.py --quick --out -   one small problem, seconds
    python benchmarks/batch_quality.py --time            ask(256) at n = 500, at once and one by one

    one by one   every point is searched with all earlier ones pending: tuning batch_at_once=None
    at once      rounds of about sqrt(q) points, see ccgbo.engine.batch
    q-TS         each point maximises a posterior function of its own, same model, candidates and gradient ascent
    qLogEI       BoTorch's SingleTaskGP, its qLogExpectedImprovement over all q points jointly
    random       uniform

Every method sees the same initial design for a seed; a batch is told before the next is asked. Noise-free simple
regret after each batch; printed is its mean over the batches relative to one by one, as the geometric mean over
problems of paired ratios with a 95 % interval over seeds: below 1 is better than one by one. A ten-thousandth of the
regret of the design is added to both sides. What the file has already is not run again.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402

from ccgbo import Optimizer  # noqa: E402
from ccgbo.bench.metrics import TOLERANCE, geometric_ratio  # noqa: E402
from ccgbo.bench.problems import Problem, get_problem  # noqa: E402
from ccgbo.engine.candidates import global_candidates, local_candidates  # noqa: E402
from ccgbo.engine.search import movable  # noqa: E402
from ccgbo.engine.step import elsewhere  # noqa: E402
from ccgbo.surrogate.optima import maximise_paths  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
SETS = {
    "choosing": ("StyblinskiTang4", "Ackley5", "GPDraw4", "Hartmann6"),
    "reporting": ("Shekel4", "Colville4", "OTLCircuit6", "Borehole8"),
}
BATCHES = {16: 4, 64: 3, 256: 2}  # how many are asked of each size
Points = list[dict[str, Any]]
Ask = Callable[[Optimizer, int, int], Points]  # the optimizer with all that was told, q, a seed


def ours(opt: Optimizer, q: int, seed: int) -> Points:  # noqa: ARG001
    return [dict(trial.params) for trial in opt.ask(q)]


def thompson(opt: Optimizer, q: int, seed: int) -> Points:
    """The maximum of each of q joint posterior functions."""
    state, rng = opt.snapshot(), np.random.default_rng([seed, q, len(opt.trials)])
    space, tuning = state.space, state.settings.tuning
    centres = state.observed[np.argsort(-state.model.mean)[:5]]
    U = np.concatenate([global_candidates(space, tuning, rng), local_candidates(space, centres, tuning.n_local, rng)])
    found = maximise_paths(
        state.model.posterior.paths(q, rng),
        space.features(U),
        movable(space, np.concatenate([U, state.observed])),
        steps=tuning.search_steps,
        surface=space.surface,
        elsewhere=elsewhere(state),
    )
    return [space.decode(u) for u in found.argmax]  # in a space of numbers the features are the coordinates


def uniform(opt: Optimizer, q: int, seed: int) -> Points:
    rng = np.random.default_rng([seed, q, len(opt.trials)])
    return [opt.space.decode(u) for u in opt.space.sample(q, rng)]


def joint_log_ei(opt: Optimizer, q: int, seed: int) -> Points:
    """BoTorch's own model and search, all q points at once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its imports, too
        return [opt.space.decode(u) for u in _joint_log_ei(opt.data.U, opt.data.values, q, seed)]


def _joint_log_ei(U: Any, values: Any, q: int, seed: int) -> Any:  # (n, d), (n,) -> (q, d)
    import torch
    from botorch.acquisition.logei import qLogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim.optimize import optimize_acqf
    from botorch.sampling.normal import SobolQMCNormalSampler
    from gpytorch.mlls import ExactMarginalLogLikelihood

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    X, y = torch.tensor(U), torch.tensor(values)[:, None]
    model = SingleTaskGP(X, (y - y.mean()) / y.std())
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    sampler = SobolQMCNormalSampler(torch.Size([128]), seed=seed)
    acquisition = qLogExpectedImprovement(model, best_f=model.posterior(X).mean.max(), sampler=sampler)
    bounds = torch.tensor([[0.0] * X.shape[1], [1.0] * X.shape[1]], dtype=torch.double)
    x, _ = optimize_acqf(acquisition, bounds, q=q, num_restarts=2, raw_samples=32, options={"maxiter": 50})
    return x.numpy()


METHODS: dict[str, tuple[Ask, dict[str, Any]]] = {
    "one by one": (ours, {"batch_at_once": None}),
    "at once": (ours, {"batch_at_once": 2}),
    "q-TS": (thompson, {}),
    "qLogEI": (joint_log_ei, {}),
    "random": (uniform, {}),
}


def run(problem: Problem, method: str, q: int, seed: int, batches: int) -> dict[str, Any]:
    """Simple regret after the design and after each batch, and processor seconds of each batch."""
    ask, tuning = METHODS[method]
    opt = Optimizer(problem.space, seed=seed, tuning=tuning)
    design = problem.space.sample(max(2 * problem.space.d, 10), np.random.default_rng([seed, 1]))
    told = [problem.space.decode(u) for u in design]
    values = [problem(params) for params in told]
    opt.tell_many(told, values)
    regret, seconds = [problem.optimum - max(values)], []
    for _ in range(batches):
        started = time.process_time()
        points = ask(opt, q, seed)
        seconds.append(time.process_time() - started)
        found = [problem(params) for params in points]
        if opt.pending:
            for trial, value in zip(opt.pending, found, strict=True):
                opt.tell(trial, value)
        else:
            opt.tell_many(points, found)
        regret.append(min(regret[-1], problem.optimum - max(found)))
    return {
        "problem": problem.name,
        "method": method,
        "q": q,
        "seed": seed,
        "regret": [float(f"{max(r, 0.0):.4g}") for r in regret],
        "seconds": [round(s, 3) for s in seconds],
    }


def pairs(rows: list[dict[str, Any]], method: str, q: int) -> list[tuple[Any, Any]]:
    """Mean regret over the batches of the method and of one by one, over the seeds that both have, by problem."""
    table = {(r["problem"], r["method"], r["seed"]): r["regret"] for r in rows if r["q"] == q}
    found = []
    for problem in dict.fromkeys(p for p, m, _ in table if m == method):
        seeds = [s for p, m, s in table if (p, m) == (problem, method) and (problem, "one by one", s) in table]
        start = float(np.mean([table[problem, method, s][0] for s in seeds]))
        sides = [[np.mean(table[problem, m, s][1:]) for s in seeds] for m in (method, "one by one")]
        found.append(tuple(np.array(side) + TOLERANCE * start for side in sides))
    return found


def show(rows: list[dict[str, Any]]) -> None:
    sizes = sorted({r["q"] for r in rows})
    methods = [m for m in METHODS if any(r["method"] == m for r in rows)]
    print("| |" + "".join(f" q = {q} | seconds a batch |" for q in sizes) + "\n|---|" + "---|---|" * len(sizes))
    for method in methods:
        cells = ""
        for q in sizes:
            mine = [r for r in rows if (r["q"], r["method"]) == (q, method)]
            if not mine:
                cells += " – | – |"
                continue
            ratio, low, high = geometric_ratio(pairs(rows, method, q))
            cells += f" {ratio:.2f} [{low:.2f}, {high:.2f}] | {np.mean([r['seconds'] for r in mine]):.2f} |"
        print(f"| {method} |{cells}")
    for q in sizes:
        for method in methods[1:]:
            names = dict.fromkeys(r["problem"] for r in rows if (r["q"], r["method"]) == (q, method))
            single = (f"{n} {geometric_ratio([p])[0]:.2f}" for n, p in zip(names, pairs(rows, method, q), strict=True))
            print(f"q = {q}, {method}: " + ", ".join(single))


def speed(n: int, q: int, repeats: int) -> None:
    """Processor seconds of ask(q) with n observations, at once and one by one in turn."""
    problem = get_problem("Hartmann6")
    points = [problem.space.decode(u) for u in problem.space.sample(n, np.random.default_rng(0))]
    seconds: dict[str, list[float]] = {"one by one": [], "at once": []}
    for seed in range(repeats):
        for method, found in seconds.items():
            opt = Optimizer(problem.space, seed=seed, tuning=METHODS[method][1])
            opt.tell_many(points, [problem(params) for params in points])
            opt.ask()  # the fit is the same for both
            started = time.process_time()
            opt.ask(q)
            found.append(time.process_time() - started)
    one, once = (float(np.median(found)) for found in seconds.values())
    print(f"ask({q}) at n = {n}: one by one {one:.2f} s, at once {once:.2f} s, 1/{one / once:.1f} of it")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--set", choices=SETS, default="reporting")
    parser.add_argument("--problems", nargs="+", help="instead of a set")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--q", nargs="+", type=int, default=list(BATCHES))
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--joint-seeds", type=int, default=4, help="seeds of qLogEI, which takes longest")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--out", default=str(ROOT / "results" / "batch_quality.json"), help="a file, or - for none")
    parser.add_argument("--quick", action="store_true", help="Branin2, q = 16, one batch, two seeds")
    parser.add_argument("--repeats", type=int, default=3, help="of --time")
    parser.add_argument("--time", action="store_true", help="only ask(256) at n = 500")
    options = parser.parse_args()
    if options.time:
        speed(500, 256, options.repeats)
        return
    if options.quick:
        options.problems, options.q, options.seeds, options.joint_seeds = ["Branin2"], [16], 2, 1
    out = None if options.out == "-" else Path(options.out)
    rows = read(out)
    done = {(r["problem"], r["method"], r["q"], r["seed"]) for r in rows}
    for q, problem_name, method, seed in planned(options):
        if (problem_name, method, q, seed) not in done:
            batches = 1 if options.quick else BATCHES.get(q, 2)
            rows.append(run(get_problem(problem_name, seed), method, q, seed, batches))
            write(out, rows)
    print(f"{len(rows)} rows, {versions()}")
    show(rows)


def planned(options: argparse.Namespace) -> Iterator[tuple[int, str, str, int]]:
    """Sizes, problems, methods and seeds, seed by seed, so that what was interrupted is still paired."""
    for q in options.q:
        for seed in range(options.first, options.first + options.seeds):
            for problem_name in options.problems or SETS[options.set]:
                for method in options.methods:
                    if method != "qLogEI" or seed < options.first + options.joint_seeds:
                        yield q, problem_name, method, seed


def read(path: Path | None) -> list[dict[str, Any]]:
    if path is None or not path.exists():
        return []
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["rows"]
    return rows


def write(path: Path | None, rows: list[dict[str, Any]]) -> None:
    if path is not None:
        head = json.dumps({"versions": versions(), "batches": BATCHES})[:-1]
        lines = ",\n".join("  " + json.dumps(row) for row in rows)
        path.write_text(f'{head}, "rows": [\n{lines}\n]}}\n', encoding="utf-8")


def versions() -> dict[str, str]:
    return {"python": platform.python_version()} | {p: version(p) for p in ("numpy", "scipy", "botorch", "torch")}


if __name__ == "__main__":
    main()
