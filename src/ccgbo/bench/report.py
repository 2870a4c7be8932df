"""From result files to tables, figures and the page that shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from ccgbo.bench import figures, tables
from ccgbo.bench.experiment import PEER_KINDS
from ccgbo.bench.metric_methods import METRIC_PEERS
from ccgbo.bench.metrics import cumulative_regret
from ccgbo.bench.peers import PEERS
from ccgbo.bench.results import Results, read_results
from ccgbo.bench.tables import name_of, seeds_text
from ccgbo.bench.text_table import Table, number
from ccgbo.bench.theory import growth_exponent, weight_bounds
from ccgbo.credit.field import CreditSettings
from ccgbo.errors import StorageError

VARIANTS = ("ablation_", "beta", "tau", "explanations")  # experiments that compare settings of one method


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that is drawn when it is saved."""

    name: str  # of its file, without suffix
    caption: str
    draw: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Report:
    """What is shown of one result file."""

    name: str
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...]

    def markdown(self, images: str | None = None) -> str:
        """Tables, and links to the figures where they are."""
        parts = [f"**{table.caption}.**\n\n{table.markdown()}" for table in self.tables]
        if images is not None:
            parts += [f"![{f.caption}]({images}/{f.name}.png)\n\n*{f.caption}.*\n" for f in self.figures]
        return "\n".join(parts)


def make_report(path: str | Path, **chosen: Any) -> Report:
    """The report of a result file; ``chosen`` goes to ``Results.chosen``."""
    results = read_results(path).chosen(**chosen)
    if not results.rows:
        raise StorageError(f"{str(path)!r} has no finished run yet.")
    if results.kind in PEER_KINDS:
        return _quality(results)
    if results.kind == "theory":
        return _theory(results)
    if results.kind == "illustration":
        return _illustration(results)
    if results.name.startswith(VARIANTS):
        return _variants(results)
    return _comparison(results)


def _curves(results: Results, quantity: str) -> Figure:
    caption = f"{results.header['title']}: {quantity} regret, mean and standard error, {seeds_text(results)}"
    return Figure(f"{results.name}_{quantity}", caption, lambda: figures.regret_curves(results, quantity))


def _comparison(results: Results) -> Report:
    factor = int(results.header["iterations"]) - 1  # the paper prints the sum
    shown = (
        tables.overall_table(results),
        tables.ratio_table(results),
        tables.value_table(results, scale=float(factor)),
        tables.value_table(results, "final"),
        tables.cost_table(results),
    )
    return Report(results.name, shown, (_curves(results, "simple"), _curves(results, "cumulative")))


def _quality(results: Results) -> Report:
    shown = [tables.quality_table(results)]
    rivals = [m for m in results.methods if m in (*PEERS, *METRIC_PEERS, "random")]
    if "default" in results.methods and rivals:
        plain = [m for m in results.methods if m == "default-nocredit"]
        shown += [tables.rivals_table(results, "default", rivals, plain)]
        shown += [tables.tasks_table(results, "default", rivals)]
        shown += [tables.each_task_table(results, "default", [*plain, *rivals])]
    shown += [tables.value_table(results, sd=False), tables.value_table(results, "final", sd=False)]
    shown += [tables.recommended_table(results)]
    what = figures.axis_name(results, "simple")
    caption = f"{results.header['title']}: {what}, mean and standard error, {seeds_text(results)}"
    curves = Figure(f"{results.name}_simple", caption, lambda: figures.regret_curves(results, "simple", log=True))
    return Report(results.name, tuple(table for table in shown if table.rows), (curves,))


def _variants(results: Results) -> Report:
    shown = (tables.variant_table(results), tables.overall_table(results))
    return Report(results.name, shown, (_curves(results, "simple"),))


def _illustration(results: Results) -> Report:
    caption = f"{results.header['title']}: GP-UCB and CCGBO from the same five points, seed 0"
    drawn = Figure("illustration", caption, lambda: figures.illustration(results))
    return Report(results.name, (tables.steps_table(results),), (drawn,))


def _theory(results: Results) -> Report:
    credit = credit_of(results, "ccgbo")
    shown = (_proxy_table(results), _growth_table(results), _weights_table(results, credit))
    drawn = (
        Figure("theory_proxy", "Theorem 5.1: error of the proxy for several K", lambda: figures.proxy_figure(results)),
        Figure("theory_growth", "Theorem 5.2: growth of cumulative regret", lambda: figures.growth_figure(results)),
        Figure("theory_weights", "Theorem 5.2: A, B and B / A", lambda: figures.weight_figure(credit)),
    )
    return Report(results.name, shown, drawn)


def credit_of(results: Results, method: str) -> CreditSettings:
    """The credit settings that a result file says were run."""
    found = results.header["methods"][method]["settings"]["credit"]
    known = {f.name for f in fields(CreditSettings)}  # an older file has more
    return CreditSettings(**{name: value for name, value in found.items() if name in known})


def _proxy_table(results: Results) -> Table:
    """|Z_t - f(x*)| by K at the first and the last checkpoint, and the bias that K does not change."""
    rows = []
    for problem in results.problems:
        found = [results.row(problem, "ccgbo", seed)["proxy"] for seed in results.seeds(problem, "ccgbo")]
        for i, point in enumerate(found[0]):
            if point["t"] not in (0, 20, 100):
                continue
            errors = [np.mean([run[i]["error"][k] for run in found]) for k in point["error"]]
            bias, sd, widest = (float(np.mean([run[i][key] for run in found])) for key in ("mean", "sd", "S"))
            numbers = [*errors, bias, sd / 5.0, widest]
            rows.append((problem, str(point["t"]), *(number(float(v)) for v in numbers)))
    keys = list(
        results.row(results.problems[0], "ccgbo", results.seeds(results.problems[0], "ccgbo")[0])["proxy"][0]["error"]
    )
    columns = ("Task", "t", *(f"K = {k}" for k in keys), "Bias E[Z] - f(x*)", "MC error sd / 5", "S_t")
    return Table(
        "theory_proxy", f"Theorem 5.1: mean |Z_t - f(x*)| of CCGBO, {seeds_text(results)}", columns, tuple(rows)
    )


def _growth_table(results: Results) -> Table:
    rows = []
    for problem in results.problems:
        for method in results.methods:
            found = [results.row(problem, method, seed) for seed in results.seeds(problem, method)]
            total = [cumulative_regret(row) for row in found]
            n = len(total[0])
            slope = np.mean([growth_exponent(curve) for curve in total])
            late = np.mean([curve[-1] / np.sqrt(n * row["gain"][-1]) for curve, row in zip(total, found, strict=True)])
            early = np.mean(
                [curve[19] / np.sqrt(20 * row["gain"][19]) for curve, row in zip(total, found, strict=True)]
            )
            last = number(float(np.mean([curve[-1] for curve in total])))
            cells = (last, f"{slope:.2f}", number(float(early)), number(float(late)))
            rows.append((problem, name_of(method), *cells))
    columns = ("Task", "Method", "R_100", "Slope of log R on log N", "R / sqrt(N gain), N = 20", "N = 100")
    caption = f"Theorem 5.2: growth of cumulative regret, {seeds_text(results)}"
    return Table("theory_growth", caption, columns, tuple(rows))


def _weights_table(results: Results, credit: CreditSettings) -> Table:
    lower, upper = weight_bounds(int(results.header["iterations"]), credit)
    steps = [t for t in (1, 5, 20, 50, 100) if t <= len(lower)]
    rows = [("B_t / A_t", *(f"{upper[t - 1] / lower[t - 1]:.3f}" for t in steps))]
    rows.append(("A_t", *(f"{lower[t - 1]:.3f}" for t in steps)))
    caption = f"Theorem 5.2: the factor on the regret bound, lambda = {credit.strength:g}, tau = {credit.tau:g}, "
    return Table(
        "theory_weights", f"{caption}M = {credit.half_life:g}", ("", *(f"t = {t}" for t in steps)), tuple(rows)
    )


def write_report(report: Report, *, table_dir: Path | None, figure_dir: Path | None) -> None:
    """The tables as .md, .csv and .tex, the figures as .png."""
    if table_dir is not None:
        table_dir.mkdir(parents=True, exist_ok=True)
        for table in report.tables:
            table.write(lambda name: str(table_dir / name))
    if figure_dir is not None:
        figure_dir.mkdir(parents=True, exist_ok=True)
        for figure in report.figures:
            figures.save(figure.draw(), str(figure_dir / f"{figure.name}.png"))


def refresh_page(page: Path, reports: Iterable[Report], images: str) -> list[str]:
    """Put each report between ``<!-- begin NAME -->`` and ``<!-- end NAME -->``; returns the names that were found."""
    text, found = page.read_text(encoding="utf-8"), []
    for report in reports:
        first, last = f"<!-- begin {report.name} -->\n", f"<!-- end {report.name} -->"
        if first in text and last in text:
            before, _, rest = text.partition(first)
            text = f"{before}{first}\n{report.markdown(images)}\n{last}{rest.partition(last)[2]}"
            found.append(report.name)
    page.write_text(text, encoding="utf-8")
    return found
