"""Another space for a study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ccgbo.cli.studies import FILE, study_arguments
from ccgbo.cli.values import ASSIGNMENT, assignments, pairs
from ccgbo.revisions import consequences
from ccgbo.space import change_space, load_space
from ccgbo.storage import Place
from ccgbo.study import Study
from ccgbo.text import printable

RENAMED = "OLD=NEW"


@click.command()
@study_arguments
@click.option("--space", "space_file", type=FILE, required=True, help="The new space, a .toml or .json file.")
@click.option("--default", "defaults", metavar=ASSIGNMENT, multiple=True, help="What trials had of a new parameter.")
@click.option("--rename", metavar=RENAMED, multiple=True, help="A parameter that has another name now.")
@click.option("--fix", metavar=ASSIGNMENT, multiple=True, help="A parameter that has one value from now on.")
@click.option("--marginal", metavar="NAME", multiple=True, help="A removed parameter: what it did counts as noise.")
@click.option("--dry-run", is_flag=True, help="Only say what would change.")
def change(
    file: Place,
    name: str | None,
    space_file: Path,
    defaults: tuple[str, ...],
    rename: tuple[str, ...],
    fix: tuple[str, ...],
    marginal: tuple[str, ...],
    dry_run: bool,
) -> None:
    """Search another space from now on and keep every trial.

    \b
        ccgbo change tune.db --space wider.toml --dry-run
        ccgbo change tune.db --space new.toml --default stirring=300 --rename temp=temperature

    Trials beyond new bounds stay in the model, shown as outside; those without a place in the new space stay on record.
    """
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
    for sentence in [*made.describe(), *consequences(made, trials)] or ["the space is that of the study already."]:
        click.echo(printable(sentence))
    if dry_run and not made.nothing:
        click.echo("nothing was changed: this was a dry run.")
