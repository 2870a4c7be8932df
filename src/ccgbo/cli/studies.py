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
from ccgbo.cli.metrics import bounds_of, goal_options, goal_words, objectives_of
from ccgbo.cli.table import table
from ccgbo.cli.values import Noise
from ccgbo.engine.settings import PRESETS
from ccgbo.metrics import Metrics
from ccgbo.space import load_space
from ccgbo.storage import Place, StudyInfo, delete_study, list_studies, place_at
from ccgbo.study import Study
from ccgbo.study.moving import move_study
from ccgbo.text import count, printable

F = TypeVar("F", bound=Callable[..., Any])

FILE = click.Path(dir_okay=False, path_type=Path)
# a file, or the address of a database, which is never printed with its password
STUDIES: dict[str, Any] = {"type": click.Path(dir_okay=False), "callback": lambda _, __, given: place_at(given)}


def study_arguments(command: F) -> F:
    """FILE and --name, which say which study is meant."""
    named = click.option("--name", help="The study, where the file has several.")
    return click.argument("file", **STUDIES)(named(command))


@click.command()
@click.argument("file", **STUDIES)
@click.option("--space", "space_file", type=FILE, required=True, help="The search space, a .toml or .json file.")
@click.option("--name", help="Of the study; a file can hold many.  [default: default]")
@goal_options
@click.option("--minimize", is_flag=True, help="Look for the lowest value instead of the highest.")
@click.option("--preset", type=click.Choice(sorted(PRESETS)), help="Settings to start from.  [default: default]")
@click.option("--acquisition", type=click.Choice(sorted(ACQUISITIONS)), help="Instead of the preset's.")
@click.option("--n-initial", type=click.IntRange(min=1), help="Points of the initial design.")
@click.option("--noise", type=Noise(), help="Of an evaluation, its standard deviation.  [default: unknown]")
@click.option("--seed", type=click.IntRange(min=0), help="For runs that can be repeated.")
def init(
    file: Place,
    space_file: Path,
    name: str | None,
    goals: tuple[str, ...],
    bounds: tuple[str, ...],
    minimize: bool,
    **options: Any,
) -> None:
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

    Several objectives, and bounds of what is measured, have names:

    \b
        ccgbo init lab.db --space lab.toml --objective yield:maximize --objective cost:minimize \\
            --constraint "impurity<=0.02" --constraint "6.5<=ph<=7.5"
    """
    if goals and minimize:
        raise click.UsageError("give either --objective NAME:minimize or --minimize.")
    goal: dict[str, Any] = {"objectives": objectives_of(goals)} if goals else {}
    with Study(
        file,
        load_space(space_file),
        name=name or "default",
        **goal or {"direction": "minimize" if minimize else "maximize"},
        outcome_constraints=bounds_of(bounds) or None,
        if_exists="error",
        **options,
    ) as study:
        names, said = printable(", ".join(study.space)), goal_words(study.metrics)
        click.echo(f"created study {printable(repr(study.name))} in {file}: {said} over {names}")


@click.command("list")
@click.argument("file", **STUDIES)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(file: Place, as_json: bool) -> None:
    """List the studies of a file."""
    infos = list_studies(file)
    if as_json:
        click.echo(json.dumps([asdict(info) for info in infos], indent=2))
        return
    columns = ["name", "direction", "complete", "failed", "pending", "best", "created"]
    rows = [[i.name, _goal(i), i.n_complete, i.n_failed, i.n_pending, _best(i), _local(i.created)] for i in infos]
    click.echo(table(columns, rows))


def _goal(info: StudyInfo) -> str:
    return info.direction if info.metrics is None else ", ".join(Metrics.from_dict(info.metrics).describe())


def _best(info: StudyInfo) -> Any:
    return info.best_value if info.n_front is None else f"front of {info.n_front}"


def _local(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).isoformat(sep=" ", timespec="minutes")


@click.command()
@study_arguments
@click.argument("trials", nargs=-1, type=int)
@click.option("--all", "everything", is_flag=True, help="Every pending trial, also those somebody may be working on.")
def release(file: Place, name: str | None, trials: tuple[int, ...], everything: bool) -> None:
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
@click.argument("file", **STUDIES)
@click.option("--name", required=True, help="The study to delete.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(file: Place, name: str, yes: bool) -> None:
    """Delete a study and its trials from a file."""
    info = {info.name: info for info in list_studies(file)}.get(name)
    if info is not None and not yes:
        question = f"Delete the study {printable(repr(name))} with {count(info.n_trials, 'trial')}?"
        click.confirm(question, abort=True, err=True)
    delete_study(file, name)
    click.echo(f"deleted study {printable(repr(name))} from {file}")


@click.command()
@click.argument("file", **STUDIES)
@click.argument("target", **STUDIES)
@click.option("--name", help="The study, where the file has several.")
@click.option("--as", "new_name", metavar="NAME", help="What it is called from now on.  [default: as before]")
def move(file: Place, target: Place, name: str | None, new_name: str | None) -> None:
    """Move a study from FILE to TARGET, each a file or the address of a database, with everything that is of it.

    \b
        ccgbo move tune.db postgresql://user@host/database

    Its trials keep their ids and times, and the next ask is what it would have been. While a run works on it, it stays.
    """
    moved = move_study(file, target, name=name, new_name=new_name)
    click.echo(f"moved study {printable(repr(moved))} from {file} to {target}")
