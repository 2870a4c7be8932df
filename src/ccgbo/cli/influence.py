"""What each observation of a study is worth."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import click

from ccgbo.cli.studies import study_arguments
from ccgbo.cli.table import table
from ccgbo.influence import InfluenceRow
from ccgbo.storage import Place
from ccgbo.study import Study

RANGE = re.compile(r"(\d+)(?:-(\d+))?")


def _groups(_context: click.Context, _option: click.Parameter, texts: tuple[str, ...]) -> dict[str, list[int]]:
    """NAME=1,2,5-9, any number of times."""
    groups: dict[str, list[int]] = {}
    for text in texts:
        name, found, ids = text.rpartition("=")
        parts = [RANGE.fullmatch(part.strip()) for part in ids.split(",")]
        if not found or not all(parts):
            raise click.UsageError(f"--group must be a name and ids of trials, as Monday=3,5-9, got {text!r}.")
        pairs = [(int(part[1]), int(part[2] or part[1])) for part in parts if part]
        groups[name] = [i for first, last in pairs for i in range(first, last + 1)]
    return groups


@click.command()
@study_arguments
@click.option("--group", "groups", multiple=True, callback=_groups, help="Leave these out together: NAME=3,5-9.")
@click.option("--by", help="An attribute of the trials, or a parameter: those that agree in it are a group.")
@click.option("--next", "suggestion", is_flag=True, help="Tell what would be suggested next without an observation.")
@click.option("--refit", is_flag=True, help="Learn the hyperparameters anew without an observation, and compare.")
@click.option("--shapley", type=click.IntRange(min=0), default=0, help="Sampled orders for shares that add up.")
@click.option("--top", type=click.IntRange(min=1), default=5, show_default=True, help="Observations for these.")
@click.option("--last", type=click.IntRange(min=1), help="Show only so many of the most valuable observations.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def influence(file: Place, name: str | None, last: int | None, as_json: bool, **asked: Any) -> None:
    """Tell what each observation is worth, and what would be believed without it.

    The worth is what acting without the observation would cost on average, in the unit of the values; doubt is the
    share of functions that fit the other observations and have their best elsewhere. Credit says which observations
    point to the optimum, worth which of them keep the search from going elsewhere.
    """
    with Study(file, name=name) as study:
        found, names = study.influence(**asked), list(study.space)
    if as_json:
        click.echo(json.dumps(found.to_dict(), indent=2))
        return
    click.echo(_table(found.ranked()[:last], names))
    click.echo(str(found))


def _table(rows: Sequence[InfluenceRow], names: Sequence[str]) -> str:
    columns: dict[str, Callable[[InfluenceRow], Any]] = {
        "id": lambda row: row.trial_id,
        "value": lambda row: row.value,
        "credit": lambda row: row.credit,
        "worth": lambda row: row.worth,
        "±": lambda row: row.worth_error,
        "doubt": lambda row: row.doubt,
    }
    if any(row.share is not None for row in rows):
        columns["share"] = lambda row: row.share
    if any(row.refitted is not None for row in rows):
        columns["best value without it"] = lambda row: None if row.optimum is None else row.optimum.proxy
        columns["and refitted"] = lambda row: None if row.refitted is None else row.refitted.proxy
    cells = [[*(cell(row) for cell in columns.values()), *map(row.params.get, names)] for row in rows]
    return table([*columns, *names], cells)
