"""A study at a glance."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import click

from ccgbo.cli.studies import study_arguments
from ccgbo.cli.table import cell, table, words
from ccgbo.errors import NoObservationsError
from ccgbo.records import Trial, best_of
from ccgbo.storage import Place
from ccgbo.study import Study
from ccgbo.text import count, printable, shorten

WHY = 60  # characters of a reason or a note


@click.command()
@study_arguments
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--last", type=click.IntRange(min=1), help="Show only so many of the latest trials.")
@click.option("--no-model", is_flag=True, help="Without credits and recommendation, which take time in large studies.")
def show(file: Place, name: str | None, as_json: bool, last: int | None, no_model: bool) -> None:
    """Show the trials of a study with their credits, the best and the recommended point, and what to beware of.

    Credit says how much an observation tells about where the optimum is: 1 the most, 0.1 the least.
    """
    with Study(file, name=name) as study:
        credit: dict[int, float] = {}
        recommendation, diagnosis = None, None
        with suppress(NoObservationsError):
            if not no_model:
                credit = {row.trial_id: row.credit for row in study.credits()}
                recommendation, diagnosis = study.recommend(), study.diagnose()
        trials = study.trials
        best = best_of(trials, study.direction)
        shown = trials if last is None else trials[-last:]
        outside = {t.id: why for t in shown if (why := study.space.outside(t.params)) is not None}
        if as_json:
            rows = [_trial_json(t) | {"credit": credit.get(t.id), "outside": outside.get(t.id)} for t in shown]
            found = {
                "best": None if best is None else _trial_json(best),
                "recommendation": None if recommendation is None else asdict(recommendation),
                "diagnosis": None if diagnosis is None else diagnosis.to_dict(),
            }
            click.echo(
                json.dumps({"study": study.name, "direction": study.direction, "trials": rows} | found, indent=2)
            )
            return
        name = printable(repr(study.name))
        click.echo(f"study {name} in {file}: {study.direction}, {count(len(trials), 'trial')}")
        if shown:
            columns = ["id", "state", "value", "credit", *study.space]
            rest = [
                [t.id, _state(t, outside), t.value, credit.get(t.id), *map(t.params.get, study.space)] for t in shown
            ]
            for column, text_of in (("why", _why), ("note", _note)):
                if any(text_of(t, outside) for t in shown):
                    columns.append(column)
                    rest = [[*row, shorten(text_of(t, outside), WHY)] for row, t in zip(rest, shown)]
            click.echo(table(columns, rest))
        if best is not None:
            click.secho(f"best         trial {best.id}: {cell(best.value)} at {words(best.params)}", bold=True)
        if recommendation is not None:
            r = recommendation
            click.echo(f"recommended  trial {r.trial_id}: {r.mean:.6g} ± {r.std:.2g} by the model at {words(r.params)}")
        if diagnosis is not None:
            for concern in diagnosis.concerns:
                click.echo(f"warning      {concern}")
            for gain in diagnosis.gains[:1]:
                click.echo(f"more         {gain}")


def _trial_json(trial: Trial) -> dict[str, Any]:
    return {
        "id": trial.id,
        "params": dict(trial.params),
        "value": trial.value,
        "state": trial.state,
        "error": trial.error,
        "origin": trial.origin,
        "dropped": trial.dropped,
        "readings": list(trial.readings),
        "attributes": dict(trial.attributes),
    }


def _state(trial: Trial, outside: Mapping[int, str]) -> str:
    """``complete, dropped``."""
    marks = {"dropped": trial.dropped, "outside": trial.id in outside}
    return ", ".join([trial.state, *(mark for mark, is_set in marks.items() if is_set)])


def _why(trial: Trial, outside: Mapping[int, str]) -> str:
    """Why it failed, or why it is no point of the space."""
    return trial.reason or printable(outside.get(trial.id, ""))


def _note(trial: Trial, _outside: Mapping[int, str]) -> str:
    """Its note and its tags."""
    said = [trial.attributes.get("note", ""), *(f"#{tag}" for tag in trial.attributes.get("tags", ()))]
    return printable(" ".join(filter(None, said)))
