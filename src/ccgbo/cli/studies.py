"""Commands about whole studies."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import click

from ccgbo.acquisition import ACQUISITIONS
from ccgbo.cli.table import table
from ccgbo.engine.settings import PRESETS
from ccgbo.errors import StudyNotFoundError
from ccgbo.space import load_space
from ccgbo.storage import delete_study, list_studies
from ccgbo.study import Study
from ccgbo.text import count, printable

F = TypeVar("F", bound=Callable[..., Any])

FILE = click.Path(dir_okay=False, path_type=Path)


def study_arguments(command: F) -> F:
    """FILE and --name, which say which study is meant."""
    named = click.option("--name", help="The study, where the file has several.")
    return click.argument("file", type=FILE)(named(command))


@click.command()
@click.argument("file", type=FILE)
@click.option("--space", "space_file", type=FILE, required=True, help="The search space, a .toml or .json file.")
@click.option("--name", help="Of the study; a file can hold many.  [default: default]")
@click.option("--minimize", is_flag=True, help="Look for the lowest value instead of the highest.")
@click.option("--preset", type=click.Choice(sorted(PRESETS)), help="Settings to start from.  [default: default]")
@click.option("--acquisition", type=click.Choice(sorted(ACQUISITIONS)), help="Instead of the preset's.")
@click.option("--n-initial", type=click.IntRange(min=1), help="Points of the initial design.")
@click.option("--seed", type=click.IntRange(min=0), help="For runs that can be repeated.")
def init(file: Path, space_file: Path, name: str | None, minimize: bool, **options: Any) -> None:
    """Create a study in FILE.

    The space is a table of parameters:

    \b
        [parameters.lr]
        type = "float"
        low = 1e-5
        high = 0.1
        log = true
        [parameters.layers]
        type = "int"
        low = 1
        high = 8
    """
    direction = "minimize" if minimize else "maximize"
    with Study(
        file,
        load_space(space_file),
        name=name or "default",
        direction=direction,  # type: ignore[arg-type]
        if_exists="error",
        **options,
    ) as study:
        names = printable(", ".join(study.space))
        click.echo(f"created study {printable(repr(study.name))} in {file}: {direction} over {names}")


@click.command("list")
@click.argument("file", type=FILE)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(file: Path, as_json: bool) -> None:
    """List the studies of a file."""
    infos = list_studies(file)
    if as_json:
        click.echo(json.dumps([asdict(info) for info in infos], indent=2))
        return
    columns = ["name", "direction", "complete", "failed", "pending", "best", "created"]
    rows = [
        [i.name, i.direction, i.n_complete, i.n_failed, i.n_pending, i.best_value, _local(i.created)] for i in infos
    ]
    click.echo(table(columns, rows))


def _local(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).isoformat(sep=" ", timespec="minutes")


@click.command()
@study_arguments
@click.argument("output", type=click.Path(dir_okay=False, allow_dash=True, path_type=str))
@click.option("--format", "kind", type=click.Choice(["csv", "json", "parquet"]), help="Instead of the suffix's.")
def export(file: Path, name: str | None, output: str, kind: str | None) -> None:
    """Write the trials to OUTPUT, a .csv, .json or .parquet file; - prints CSV or JSON."""
    from ccgbo.study.transfer import export_study, to_csv, to_json

    if output == "-" and kind == "parquet":
        raise click.UsageError("Parquet is not text: give a file.")
    with Study(file, name=name) as study:
        if output == "-":
            click.echo(to_json(study) if kind == "json" else to_csv(study), nl=False)
        else:
            n = export_study(study, output, format=kind)
            click.echo(f"wrote {count(n, 'trial')} to {output}")


@click.command("import")
@study_arguments
@click.argument("table_file", metavar="[TABLE]", type=FILE, required=False)
@click.option("--format", "kind", type=click.Choice(["csv", "json", "parquet"]), help="Instead of the suffix's.")
@click.option("--value", default="value", show_default=True, help="The column with the value.")
@click.option("--optuna", metavar="ADDRESS", help="Of an Optuna storage, such as sqlite:///old.db.")
@click.option("--optuna-study", help="Its study, where it has several.")
def import_(
    file: Path,
    name: str | None,
    table_file: Path | None,
    kind: str | None,
    value: str,
    optuna: str | None,
    optuna_study: str | None,
) -> None:
    """Tell a study the values of TABLE, or of an Optuna study.

    TABLE is a .csv, .json or .parquet file with a column for each parameter and one for the value. A study that does
    not exist yet is created from the Optuna study's own space.
    """
    from ccgbo.study.transfer import import_file, import_optuna, load_optuna, space_of_optuna

    if (table_file is None) == (optuna is None):
        raise click.UsageError("give either a TABLE or --optuna.")
    if table_file is not None:
        with Study(file, name=name) as study:
            imported = import_file(study, table_file, format=kind, value=value)
    else:
        assert optuna is not None
        source = load_optuna(optuna, optuna_study)
        try:
            study = Study(file, name=name)
        except StudyNotFoundError:
            direction = source.direction.name.lower()
            study = Study(file, space_of_optuna(source), name=name, direction=direction)  # type: ignore[arg-type]
        with study:
            imported = import_optuna(study, source)
    click.echo(f"study {printable(repr(study.name))}: {imported}")


@click.command()
@study_arguments
@click.argument("trials", nargs=-1, type=int)
@click.option("--all", "everything", is_flag=True, help="Every pending trial, also those somebody may be working on.")
def release(file: Path, name: str | None, trials: tuple[int, ...], everything: bool) -> None:
    """Release pending TRIALS, so that the next ask returns them; by default those of workers that died."""
    if trials and everything:
        raise click.UsageError("give either trials or --all.")
    with Study(file, name=name) as study:
        if trials:
            ids = [i for trial in trials for i in study.release(trial)]
        else:
            ids = study.release(everything=everything)
    click.echo(f"released {count(len(ids), 'trial')}" + (f": {', '.join(map(str, ids))}" if ids else ""))


@click.command()
@click.argument("file", type=FILE)
@click.option("--name", required=True, help="The study to delete.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(file: Path, name: str, yes: bool) -> None:
    """Delete a study and its trials from a file."""
    info = {info.name: info for info in list_studies(file)}.get(name)
    if info is not None and not yes:
        question = f"Delete the study {printable(repr(name))} with {count(info.n_trials, 'trial')}?"
        click.confirm(question, abort=True, err=True)
    delete_study(file, name)
    click.echo(f"deleted study {printable(repr(name))} from {file}")
