"""Tables of an experiment's results, in Markdown, CSV and LaTeX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ccgbo.bench.metrics import Comparison, compare, overall_ratio, simple_regret, tolerance
from ccgbo.bench.published import published, published_ratio
from ccgbo.bench.results import Results
from ccgbo.bench.text_table import DASH, Table, number, text_table

NAMES = {"ucb": "GP-UCB", "ccgbo": "CCGBO", "random": "Random", "wgp": "WGP", "rgp": "RGP", "tvgp": "TVGP",
         "outlier": "Outlier", "pibo": "PiBO", "colabo": "ColaBO", "ts": "TS", "logei": "LogEI", "jes": "JES",
         "mes": "MES", "optuna-gp": "Optuna GP", "optuna-tpe": "Optuna TPE", "botorch-logei": "BoTorch LogEI",
         "botorch-ucb": "BoTorch UCB", "bayes-opt": "bayesian-optimization", "ax": "Ax",
         "botorch-vanilla": "BoTorch vanilla", "turbo1": "TuRBO-1", "cmaes": "CMA-ES", "vizier": "Vizier",
         "hebo": "HEBO", "smac": "SMAC3", "saasbo": "SAASBO", "gp-logei": "LogEI alone",
         "default-nocredit": "default without credit", "no-middle": "default without the middle",
         "no-middle-nocredit": "default without the middle and credit", "paper": "paper preset",
         "optuna-nsga2": "Optuna NSGA-II", "botorch-nehvi": "BoTorch qLogNEHVI",
         "default-credit": "default with credit", "scalarized": "random scalarisation"}  # fmt: skip
METRIC_NAMES = {"ausr": "AUSR", "final": "final simple regret"}
PARETO_NAMES = {"ausr": "area under log hypervolume difference", "final": "final hypervolume difference"}


def name_of(method: str) -> str:
    """A method as tables and figures print it."""
    if method.startswith("ccgbo-"):
        return f"CCGBO-{name_of(method.removeprefix('ccgbo-'))}"
    return NAMES.get(method, method)


def measure_name(results: Results, metric: str, *, first: bool = False) -> str:
    """A metric in words; ``first`` of a sentence or column."""
    words = (PARETO_NAMES if results.kind == "pareto" else METRIC_NAMES)[metric].replace("final simple", "final")
    return words[0].upper() + words[1:] if first else words


def ratio_text(c: Comparison) -> str:
    return _with_interval(c.ratio, c.low, c.high, c.n)


def _with_interval(ratio: float, low: float, high: float, n: int) -> str:
    """A ratio with its interval, of one seed alone: there is nothing to resample."""
    return f"{ratio:.3f} [{low:.3f}, {high:.3f}]" if n > 1 else f"{ratio:.3f}"


def _optional(value: float | None) -> str:
    return DASH if value is None else f"{value:.2f}"


def value_table(results: Results, metric: str = "ausr", scale: float = 1.0, *, sd: bool = True) -> Table:
    """Mean and standard deviation of every method on every problem; the smallest mean of a row in bold."""
    rows = []
    for problem in results.problems:
        found = {m: compare(results, problem, m, m, metric) for m in _present(results, problem)}
        best = min(c.mean for c in found.values())
        cells = [_mean_sd(found.get(m), scale, best, sd) for m in results.methods]
        rows.append((problem, *cells))
    names = PARETO_NAMES if results.kind == "pareto" else METRIC_NAMES
    what = names[metric] + (f" times {scale:g}" if scale != 1.0 else "")
    seeds = seeds_text(results)
    columns = ("Task", *(name_of(m) for m in results.methods))
    return text_table(
        f"{results.name}_{metric}",
        f"{results.header['title']}: {what}, mean{' ± sd' if sd else ''}, {seeds}",
        columns,
        tuple(rows),
    )


def _present(results: Results, problem: str) -> list[str]:
    return [m for m in results.methods if results.seeds(problem, m)]


def _mean_sd(c: Comparison | None, scale: float, best: float, sd: bool) -> str:
    if c is None:
        return DASH
    text = number(scale * c.mean) + (f" ± {number(scale * c.sd)}" if sd else "")
    return f"**{text}**" if c.mean == best else text


def seeds_text(results: Results) -> str:
    """How many seeds stand behind a table."""
    counts = [len(results.seeds(p, m)) for p in results.problems for m in _present(results, p)]
    least, most = min(counts), max(counts)
    if least == most:
        return f"{most} seed" if most == 1 else f"{most} seeds"
    return f"{least} to {most} seeds"


def ratio_table(results: Results, metric: str = "ausr", methods: Sequence[str] | None = None) -> Table:
    """Paired ratio to the reference, one line for each problem and method, the paper's beside it."""
    chosen = [m for m in methods or results.methods if m != results.reference_of(m)]
    rows = []
    for problem in results.problems:
        for method in chosen:
            reference = results.reference_of(method)
            if not results.seeds(problem, method, reference):
                continue
            c = compare(results, problem, method, reference, metric)
            paper = published_ratio(results.name, metric, problem, method, reference)
            ties = c.n - c.wins - c.losses
            tally = f"{c.wins}{DASH}{c.losses}" + (f" ({ties} equal)" if ties else "")
            rows.append((problem, name_of(method), ratio_text(c), _optional(paper), tally))
    to = _to(results)
    caption = (
        f"{results.header['title']}: ratio of mean {METRIC_NAMES[metric]} to {to} over the same seeds with a 95 % "
    )
    caption += f"bootstrap interval, {seeds_text(results)}"
    columns = ("Task", "Method", f"Ratio to {to}", "Paper", "Seeds won–lost")
    return text_table(f"{results.name}_{metric}_ratio", caption, columns, rows)


def _to(results: Results) -> str:
    """What ratios are taken to, in words."""
    return "its own reference" if results.header.get("against") else name_of(str(results.header["reference"]))


def overall_table(results: Results, metric: str = "ausr") -> Table:
    """One line a method: geometric mean of its ratios over the problems, the paper's, and how many it wins."""
    rows = []
    for method in results.methods:
        reference = results.reference_of(method)
        problems = [p for p in results.problems if results.seeds(p, method, reference)]
        if method == reference or not problems:
            continue
        ratio = _interval(results, method, reference, metric)
        each = [compare(results, p, method, reference, metric) for p in problems]
        theirs = [published_ratio(results.name, metric, p, method, reference) for p in problems]
        known = [value for value in theirs if value is not None]
        paper = float(np.exp(np.mean(np.log(known)))) if len(known) == len(problems) else None
        sure = [c for c in each if c.n > 1]
        better, worse = sum(c.high < 1.0 for c in sure), sum(c.low > 1.0 for c in sure)
        tally = f"{sum(c.wins for c in each)}{DASH}{sum(c.losses for c in each)}"
        clear = f"{better} better, {worse} worse of {len(each)}"
        rows.append((name_of(method), ratio, _optional(paper), clear, tally))
    caption = f"{results.header['title']}: geometric mean over the tasks of the ratio to {_to(results)} in "
    caption += f"{METRIC_NAMES[metric]}, {seeds_text(results)}"
    columns = ("Method", "Ratio over all tasks", "Paper", "Tasks with an interval off 1", "Runs won–lost")
    return text_table(f"{results.name}_{metric}_overall", caption, columns, rows)


def quality_table(results: Results) -> Table:
    """One line a method: ratios of AUSR and of final regret over all tasks, and what a suggestion costs."""
    rows = []
    for method in results.methods:
        reference = results.reference_of(method)
        tasks = sum(bool(results.seeds(p, method, reference)) for p in results.problems)
        if tasks:
            both = ["1" if method == reference else _interval(results, method, reference, m) for m in ("ausr", "final")]
            rows.append((name_of(method), *both, str(tasks), _milliseconds(results, method)))
    caption = f"{results.header['title']}: geometric mean over the tasks of the ratio to {_to(results)}, {{}}"
    columns = ("Method", *_both_names(results), "Tasks", "CPU ms per suggestion")
    return text_table(f"{results.name}_overall", caption.format(seeds_text(results)), columns, rows)


def _both_names(results: Results) -> tuple[str, str]:
    return measure_name(results, "ausr", first=True), measure_name(results, "final", first=True)


def _interval(results: Results, method: str, reference: str | Mapping[str, str], metric: str) -> str:
    """The ratio over all tasks; the interval tells something if any of them has several seeds."""
    other = {p: reference if isinstance(reference, str) else reference[p] for p in results.problems}
    most = max(len(results.seeds(p, method, other[p])) for p in results.problems)
    return _with_interval(*overall_ratio(results, method, reference, metric), most)


def _milliseconds(results: Results, method: str) -> str:
    times = [cpu for cell, cpu in results.cpu.items() if cell.method == method]
    return f"{1e3 * np.median(times) / int(results.header['iterations']):.1f}" if times else DASH


def rivals_table(results: Results, method: str, rivals: Sequence[str], also: Sequence[str] = ()) -> Table:
    """A method against each rival over all tasks and on its worst one, and against the best of them on each task.

    ``also`` are other methods to compare with, which are no rivals.
    """
    rows = []
    for rival in (*rivals, *also):
        each = {p: compare(results, p, method, rival) for p in results.problems if results.seeds(p, method, rival)}
        if each:
            worst = max(each, key=lambda p: each[p].ratio)
            both = (_interval(results, method, rival, metric) for metric in ("ausr", "final"))
            rows.append((name_of(rival), *both, f"{worst}: {ratio_text(each[worst])}"))
    best = best_rivals(results, method, rivals)
    if len(best) == len(results.problems) and len(set(best.values())) > 1:
        both = (_interval(results, method, best, metric) for metric in ("ausr", "final"))
        rows.append((f"the best of each task by {measure_name(results, 'ausr')}", *both, DASH))
    caption = f"{results.header['title']}: {name_of(method)} to each peer, {seeds_text(results)}"
    columns = (f"{name_of(method)} to", *_both_names(results), f"Worst task by {measure_name(results, 'ausr')}")
    return text_table(f"{results.name}_rivals", caption, columns, rows)


def best_rivals(results: Results, method: str, rivals: Sequence[str]) -> dict[str, str]:
    """For each task the rival, random search apart, that a method trails most by AUSR."""
    found = {}
    for p in results.problems:
        each = {r: compare(results, p, method, r).ratio for r in rivals if results.seeds(p, method, r)}
        each.pop("random", None)
        if each:
            found[p] = max(each, key=lambda r: each[r])
    return found


def tasks_table(results: Results, method: str, rivals: Sequence[str]) -> Table:
    """Task by task: the peer that a method trails most, and random search."""
    rows = []
    for p, best in best_rivals(results, method, rivals).items():
        known = bool(results.seeds(p, method, "random"))
        to_random = ratio_text(compare(results, p, method, "random")) if known else DASH
        rows.append((p, name_of(best), ratio_text(compare(results, p, method, best)), to_random))
    what = measure_name(results, "ausr")
    caption = f"{results.header['title']}: ratio of {what} to the best peer of the task and to random search"
    columns = ("Task", "Best peer", f"{name_of(method)} to it", f"{name_of(method)} to random search")
    return text_table(f"{results.name}_tasks", caption, columns, rows)


def each_task_table(results: Results, method: str, others: Sequence[str]) -> Table:
    """Task by task: the ratio of AUSR of a method to each of the others."""
    rows = []
    for p in results.problems:
        known = [bool(results.seeds(p, method, other)) for other in others]
        cells = [ratio_text(compare(results, p, method, o)) if k else DASH for o, k in zip(others, known, strict=True)]
        if any(known):
            rows.append((p, *cells))
    what = measure_name(results, "ausr")
    caption = f"{results.header['title']}: ratio of {what} of {name_of(method)} to each, {seeds_text(results)}"
    return text_table(f"{results.name}_each", caption, ("Task", *(f"to {name_of(o)}" for o in others)), rows)


def recommended_table(results: Results) -> Table:
    """The regret of the recommended point to that of the best value that was seen, over all tasks."""
    rows = []
    for method in results.methods:
        logs = []
        for p in results.problems:
            found = [results.row(p, method, s) for s in results.seeds(p, method)]
            found = [row for row in found if "seen" in row]
            if found:
                tiny = tolerance(found)
                ends = [tiny + np.mean([max(row[end], 0.0) for row in found]) for end in ("recommended", "seen")]
                logs.append(np.log(ends[0] / ends[1]))
        if logs:
            rows.append((name_of(method), f"{np.exp(np.mean(logs)):.3f}"))
    caption = f"{results.header['title']}: regret of the recommended point to that of the best value seen"
    return text_table(f"{results.name}_recommended", caption, ("Method", "Ratio"), rows)


def variant_table(results: Results) -> Table:
    """One line a variant: final simple regret, the paper's where it prints it, and the ratio of AUSR."""
    columns = ["Variant"]
    for problem in results.problems:
        columns += [f"{problem}: final regret", "Paper", "AUSR ratio"]
    rows = []
    for method in results.methods:
        cells, reference = [name_of(method)], results.reference_of(method)
        for problem in results.problems:
            if not results.seeds(problem, method, reference):
                cells += [DASH] * 3
                continue
            final = compare(results, problem, method, reference, "final")
            area = compare(results, problem, method, reference, "ausr")
            theirs = published(results.name, "final", problem, method)
            paper = DASH if theirs is None else f"{theirs[0]:g} ± {theirs[1]:g}"
            cells += [
                f"{number(final.mean)} ± {number(final.sd)}",
                paper,
                "1" if method == reference else ratio_text(area),
            ]
        rows.append(tuple(cells))
    caption = f"{results.header['title']}: final simple regret, mean ± sd, and AUSR over that of {_to(results)}, "
    return text_table(f"{results.name}_variants", caption + seeds_text(results), columns, rows)


def cost_table(results: Results) -> Table:
    """CPU seconds of one run, mean over the seeds."""
    rows = []
    for problem in results.problems:
        cells = [problem]
        for method in results.methods:
            times = [cpu for cell, cpu in results.cpu.items() if (cell.problem, cell.method) == (problem, method)]
            cells.append(f"{np.mean(times):.2f}" if times else DASH)
        rows.append(tuple(cells))
    caption = f"{results.header['title']}: CPU seconds of one run ({results.cpu_hours():.2f} CPU hours in all)"
    return text_table(f"{results.name}_cost", caption, ("Task", *(name_of(m) for m in results.methods)), rows)


def steps_table(results: Results) -> Table:
    """Mean simple regret after each iteration of a short run."""
    problem = results.problems[0]
    seeds = results.seeds(problem, *results.methods)
    traces = {m: np.array([simple_regret(results.row(problem, m, s)) for s in seeds]) for m in results.methods}
    steps = range(int(results.header["iterations"]) + 1)
    rows = [(name_of(m), *(number(float(traces[m][:, t].mean())) for t in steps)) for m in results.methods]
    caption = f"{results.header['title']}: mean simple regret after each step, {len(seeds)} seeds"
    return text_table(f"{results.name}_steps", caption, ("Method", *(f"t = {t}" for t in steps)), rows)
