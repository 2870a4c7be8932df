"""Commands that write the trials of a study to a table, and take one in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ccgbo.cli.studies import FILE, study_arguments
from ccgbo.engine.options import goal_options
from ccgbo.errors import StudyNotFoundError
from ccgbo.storage import Place
from ccgbo.study import Study
from ccgbo.text import count, printable

KINDS = click.Choice(["csv", "xlsx", "json", "parquet"])
SHOWN = 50  # changed and refused rows


@click.command()
@study_arguments
@click.argument("output", type=click.Path(dir_okay=False, allow_dash=True, path_type=str))
@click.option("--format", "kind", type=KINDS, help="Instead of the suffix's.")
@click.option("--dialect", type=click.Choice(["comma", "semicolon", "tab"]), help="Of CSV.  [default: comma]")
def export(file: Place, name: str | None, output: str, kind: str | None, dialect: Any) -> None:
    """Write the trials to OUTPUT, a .csv, .xlsx, .json or .parquet file; - prints CSV or JSON.

    Values can be written into the file and come back with `ccgbo import`. --dialect semicolon writes decimal commas,
    too: it is the CSV that Excel expects in much of Europe.
    """
    from ccgbo.study.transfer import export_study, to_csv, to_json

    if output == "-" and kind in ("parquet", "xlsx"):
        raise click.UsageError(f"{kind} is not text: give a file.")
    with Study(file, name=name) as study:
        if output == "-":
            click.echo(to_json(study) if kind == "json" else to_csv(study, dialect or "comma"), nl=False)
        else:
            n = export_study(study, output, format=kind, dialect=dialect)
            click.echo(f"wrote {count(n, 'trial')} to {output}")


@click.command("import")
@study_arguments
@click.argument("table_file", metavar="[TABLE]", type=FILE, required=False)
@click.option("--dry-run", is_flag=True, help="Only say what would become of the rows.")
@click.option("--amend", is_flag=True, help="Correct what was told already where the table says something else.")
@click.option("--no-ids", is_flag=True, help="The ids are those of another study: every row is new.")
@click.option("--allow-duplicates", is_flag=True, help="Take new rows in although the study has the same already.")
@click.option("--allow-outside", is_flag=True, help="Take new rows in although they lie outside the space.")
@click.option("--format", "kind", type=KINDS, help="Instead of the suffix's.")
@click.option("--value", default="value", show_default=True, help="The column with the value.")
@click.option("--optuna", metavar="ADDRESS", help="Of an Optuna storage, such as sqlite:///old.db.")
@click.option("--optuna-study", help="Its study, where it has several.")
def import_(
    file: Place,
    name: str | None,
    table_file: Path | None,
    kind: str | None,
    value: str,
    no_ids: bool,
    amend: bool,
    optuna: str | None,
    optuna_study: str | None,
    **choices: bool,
) -> None:
    """Tell a study the values of TABLE, or of an Optuna study, all or none.

    TABLE is a .csv, .xlsx, .json or .parquet file. Rows with the id of a pending trial tell it, rows that say what the
    study has are skipped, rows that say something else are shown, and amended with --amend; rows without an id are
    new. A file that was imported changes nothing. `id,value` is enough, and so is a column for each parameter and one
    for the value; named metrics have a column each, `yield` or `metrics_yield`. A study that does not exist yet is
    created from the Optuna study's own space, objectives and constraints.
    """
    from ccgbo.study.transfer import import_file, import_optuna, load_optuna, metrics_of_optuna, space_of_optuna

    if (table_file is None) == (optuna is None):
        raise click.UsageError("give either a TABLE or --optuna.")
    if table_file is not None:
        with Study(file, name=name) as study:
            plan = import_file(study, table_file, format=kind, value=value, by_id=not no_ids, amend=amend, **choices)
    else:
        assert optuna is not None
        source = load_optuna(optuna, optuna_study)
        try:
            study = Study(file, name=name)
        except StudyNotFoundError:
            if choices["dry_run"]:
                raise
            goal = goal_options(metrics_of_optuna(source))
            study = Study(file, space_of_optuna(source), name=name, **goal)
        with study:
            plan = import_optuna(study, source, **choices)
    click.echo(f"study {printable(repr(study.name))}: {plan}")
    lines = plan.details()
    for line in lines[:SHOWN]:
        click.echo(f"  {printable(line)}")
    if len(lines) > SHOWN:
        click.echo(f"  and {count(len(lines) - SHOWN, 'more row')}")
    if plan.changed and not plan.amend:
        click.echo("what changed is left as it was told: --amend takes it over")
    if plan.refused:
        click.get_current_context().exit(1)
