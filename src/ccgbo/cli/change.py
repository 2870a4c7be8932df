"""Another space for a study, or other metrics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ccgbo.cli.metrics import bounds_of, goal_options, objectives_of
from ccgbo.cli.studies import FILE, study_arguments
from ccgbo.cli.values import ASSIGNMENT, assignments, pairs
from ccgbo.engine.editor import settings_after
from ccgbo.metric_change import change_metrics
from ccgbo.revisions import consequences
from ccgbo.space import change_space, load_space
from ccgbo.storage import Place
from ccgbo.study import Study
from ccgbo.text import printable

RENAMED = "OLD=NEW"


@click.command()
@study_arguments
@click.option("--space", "space_file", type=FILE, help="The new space, a .toml or .json file.")
@click.option("--default", "defaults", metavar=ASSIGNMENT, multiple=True, help="What trials had of a new parameter.")
@click.option("--rename", metavar=RENAMED, multiple=True, help="A parameter that has another name now.")
@click.option("--fix", metavar=ASSIGNMENT, multiple=True, help="A parameter that has one value from now on.")
@click.option("--marginal", metavar="NAME", multiple=True, help="A removed parameter: what it did counts as noise.")
@goal_options
@click.option("--no-constraint", "free", metavar="NAME", multiple=True, help="A metric that is not bounded any more.")
@click.option("--rename-metric", metavar=RENAMED, multiple=True, help="A metric that has another name now.")
@click.option("--dry-run", is_flag=True, help="Only say what would change.")
def change(
    file: Place,
    name: str | None,
    space_file: Path | None,
    goals: tuple[str, ...],
    bounds: tuple[str, ...],
    free: tuple[str, ...],
    rename_metric: tuple[str, ...],
    dry_run: bool,
    **of_space: tuple[str, ...],
) -> None:
    """Search another space, or measure something else, from now on and keep every trial.

    \b
        ccgbo change tune.db --space wider.toml --dry-run
        ccgbo change tune.db --space new.toml --default stirring=300 --rename temp=temperature

    Trials beyond new bounds stay in the model, shown as outside; those without a place in the new space stay on record.

    \b
        ccgbo change tune.db --constraint "impurity<=0.02"
        ccgbo change tune.db --objective yield:maximize --objective cost:minimize --rename-metric value=yield

    --objective gives all objectives from now on; --constraint adds a bound or changes it, the others stay. What is new
    is told of earlier trials by `ccgbo amend`.
    """
    measures = bool(goals or bounds or free or rename_metric)
    if measures == (space_file is not None) or (measures and any(of_space.values())):
        raise click.UsageError("give either --space and what belongs to it, or --objective, --constraint and the like.")
    if space_file is not None:
        _change_space(file, name, space_file, dry_run=dry_run, **of_space)
    else:
        _change_metrics(file, name, goals, bounds, free, rename_metric, dry_run)


def _change_metrics(
    file: Place,
    name: str | None,
    goals: tuple[str, ...],
    bounds: tuple[str, ...],
    free: tuple[str, ...],
    rename: tuple[str, ...],
    dry_run: bool,
) -> None:
    with Study(file, name=name) as study:
        trials, old = study.trials, study.metrics
        renamed = dict(pairs("--rename-metric", rename, old.names, RENAMED))
        kept = {renamed.get(metric, metric): bound for metric, bound in old.constraints.items()}
        for metric in free:
            if metric not in kept:
                raise click.UsageError(f"--no-constraint: {metric!r} is not bounded; there are {list(kept)!r}.")
            del kept[metric]
        said: dict[str, Any] = {
            "objectives": objectives_of(goals) or None,
            "outcome_constraints": {**kept, **bounds_of(bounds)} if bounds or free else None,
            "rename": renamed or None,
        }
        if dry_run:
            made = settings_after(study.settings, change_metrics(old, trials, **said))[1]
        else:
            made = study.change_metrics(**said)
    _say(made.describe() or ["the metrics are those of the study already."], dry_run and not made.nothing)


def _change_space(
    file: Place,
    name: str | None,
    space_file: Path,
    *,
    defaults: tuple[str, ...],
    rename: tuple[str, ...],
    fix: tuple[str, ...],
    marginal: tuple[str, ...],
    dry_run: bool,
) -> None:
    new = load_space(space_file)
    with Study(file, name=name) as study:
        trials, old = study.trials, study.space
        said: dict[str, Any] = {
            "defaults": assignments("--default", defaults, new),
            "rename": dict(pairs("--rename", rename, old, RENAMED)),
            "fixed": assignments("--fix", fix, old),
            "marginal": marginal,
        }
        made = change_space(old, new, **said) if dry_run else study.change_space(new, **said)
    sentences = [*made.describe(), *consequences(made, trials)] or ["the space is that of the study already."]
    _say(sentences, dry_run and not made.nothing)


def _say(sentences: list[str], was_dry: bool) -> None:
    for sentence in sentences:
        click.echo(printable(sentence))
    if was_dry:
        click.echo("nothing was changed: this was a dry run.")
