"""``ccgbo bench``: experiments from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ccgbo.errors import CcgboError


class _Friendly(click.Group):
    """Our own errors are messages for the user, not tracebacks."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except CcgboError as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=_Friendly)
def bench() -> None:
    """Run the paper's experiments and those against other libraries; draw their tables and figures."""


@bench.command("list")
def list_() -> None:
    """Experiments, problems and methods by name."""
    from ccgbo.bench.experiment import experiment_names, load_experiment
    from ccgbo.bench.methods import METHODS
    from ccgbo.bench.metric_methods import METRIC_METHODS
    from ccgbo.bench.problems import GROUPS, METRIC_GROUPS

    click.echo("experiments")
    for name in experiment_names():
        e = load_experiment(name)
        runs = len(e.cells())
        click.echo(f"  {name:<20} {e.title}: {len(e.problems)} problems x {len(e.labels)} methods, {runs} runs")
    for group, problems in {**GROUPS, **METRIC_GROUPS}.items():
        click.echo(f"problems, {group}\n  {', '.join(problems)}")
    click.echo(f"methods\n  {', '.join(METHODS)}")
    click.echo(f"methods with several metrics\n  {', '.join(METRIC_METHODS)}")


def _names(_context: click.Context, _option: click.Parameter, text: str | None) -> list[str] | None:
    """Comma-separated names."""
    return None if text is None else [part.strip() for part in text.split(",")]


def _problems(context: click.Context, option: click.Parameter, text: str | None) -> list[str] | None:
    """The same of problems; the name of a group stands for those in it."""
    from ccgbo.bench.problems import GROUPS, METRIC_GROUPS

    names, groups = _names(context, option, text), {**GROUPS, **METRIC_GROUPS}
    return None if names is None else [name for part in names for name in groups.get(part, (part,))]


@bench.command()
@click.argument("experiment")
@click.option("--seeds", type=click.IntRange(min=1), help="How many seeds; the experiment's own number if not given.")
@click.option("--first-seed", type=click.IntRange(min=0), help="The first of them.")
@click.option("--problems", callback=_problems, help="Only these, comma-separated; or a group, as highdim_20_200.")
@click.option("--methods", callback=_names, help="Only these, comma-separated, by the labels of the experiment.")
@click.option("-j", "--jobs", type=int, default=1, show_default=True, help="Runs at a time.")
@click.option("--backend", type=click.Choice(["loky", "dask", "ray"]), default="loky", show_default=True)
@click.option("--address", help="Of a running Dask scheduler or Ray cluster.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Result file  [default: results/<name>.jsonl.gz]")
@click.option("--progress/--no-progress", default=True, help="A progress bar with the time left.")
def run(
    experiment: str,
    seeds: int | None,
    first_seed: int | None,
    problems: list[str] | None,
    methods: list[str] | None,
    jobs: int,
    backend: str,
    address: str | None,
    output: Path | None,
    progress: bool,
) -> None:
    """Run EXPERIMENT, a packaged name or a .toml file, or a slice of it; runs that the result file has are kept."""
    from ccgbo.bench.experiment import load_experiment
    from ccgbo.bench.runner import run_experiment

    chosen = load_experiment(experiment).with_seeds(seeds, first_seed)
    if problems is not None:  # a group may have more
        problems = [name for name in problems if name in chosen.problems] or problems
    path = output or Path("results") / f"{chosen.name}.jsonl.gz"
    results = run_experiment(
        chosen,
        path,
        jobs=jobs,
        backend=backend,
        address=address,
        problems=problems,
        methods=methods,
        progress=progress,
        report=lambda message: click.echo(message, err=True),
    )
    click.echo(f"{path}: {len(results.rows)} runs, {results.cpu_hours():.2f} CPU hours")


@bench.command()
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--tables", type=click.Path(path_type=Path), help="Directory for tables as .md, .csv and .tex.")
@click.option("--figures", type=click.Path(path_type=Path), help="Directory for figures as .png.")
@click.option("--into", type=click.Path(path_type=Path, exists=True), help="Markdown page whose blocks are refreshed.")
@click.option("--problems", callback=_problems, help="Only these, comma-separated; or a group, as numbers or mixed.")
@click.option("--methods", callback=_names, help="Only these, comma-separated.")
@click.option("--reference", help="The method that ratios are taken to.")
@click.option("--iterations", type=click.IntRange(min=1), help="Only the first of each run.")
@click.option(
    "--format", "form", type=click.Choice(["markdown", "csv", "latex"]), default="markdown", show_default=True
)
def report(
    results: tuple[Path, ...], tables: Path | None, figures: Path | None, into: Path | None, form: str, **chosen: Any
) -> None:
    """Tables and figures of RESULTS: files, directories, or experiments whose file is in results/."""
    import os

    from ccgbo.bench.report import make_report, refresh_page, write_report
    from ccgbo.bench.results import result_files

    reports = [make_report(file, **chosen) for path in results for file in result_files(path)]
    for each in reports:
        write_report(each, table_dir=tables, figure_dir=figures)
    if into is not None:
        images = os.path.relpath(figures, into.parent) if figures is not None else "."
        found = refresh_page(into, reports, images)
        click.echo(f"{into}: refreshed {', '.join(found) or 'nothing'}")
        return
    for each in reports:
        for table in each.tables:
            click.echo(f"{table.caption}\n")
            click.echo(getattr(table, form)())


@bench.group(invoke_without_command=True)
@click.pass_context
def peers(context: click.Context) -> None:
    """Environments of the peers that need one of their own: which there are."""
    from ccgbo.bench.peers import environments

    if context.invoked_subcommand is None:
        for name in environments.ENVIRONMENTS:
            state = "there" if environments.is_there(name) else f"ccgbo bench peers setup {name}"
            click.echo(f"{name:<8} {state}")
        click.echo(f"in {environments.folder()}")


@peers.command()
@click.argument("peer")
def setup(peer: str) -> None:
    """Make the environment of PEER with the versions that were tried; takes minutes."""
    from ccgbo.bench.peers import environments

    place = environments.set_up(peer, report=click.echo)
    click.echo(f"{peer} is in {place}")


@peers.command("try")
@click.argument("peer")
def try_(peer: str) -> None:
    """Ten evaluations of a small problem by PEER in its own environment, and what a suggestion costs."""
    from ccgbo.bench.peers.remote import short_run

    regret, milliseconds = short_run(peer)
    click.echo(f"{peer}: regret {regret:.2g} after 5 given and 10 suggested points, {milliseconds:.0f} CPU ms each")
