"""A study at a glance."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import click

from ccgbo.cli.metrics import goal_words, trial_words, verdict
from ccgbo.cli.studies import study_arguments
from ccgbo.cli.table import cell, table, words
from ccgbo.errors import NoObservationsError
from ccgbo.metrics import Metrics, feasible
from ccgbo.records import Recommendation, Trial, as_tuple, best_of, front_of, hypervolume_of
from ccgbo.result import recommended_words
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
        recommendations: tuple[Recommendation, ...] = ()
        diagnosis, unknown = None, None
        try:
            if not no_model:
                credit = {row.trial_id: row.credit for row in study.credits()}
                recommendations, diagnosis = as_tuple(study.recommend()), study.diagnose()
        except NoObservationsError as error:
            unknown = str(error)
        trials = study.trials
        metrics = study.metrics
        best, front = best_of(trials, metrics), front_of(trials, metrics) if metrics.several else []
        shown = trials if last is None else trials[-last:]
        outside = {t.id: why for t in shown if (why := study.space.outside(t.params)) is not None}
        if as_json:
            rows = [_trial_json(t, metrics) | {"credit": credit.get(t.id), "outside": outside.get(t.id)} for t in shown]
            points = [asdict(point) for point in recommendations]
            found = {
                "best": None if best is None else _trial_json(best, metrics),
                **({"front": [t.id for t in front], "recommendations": points} if metrics.several else {}),
                "recommendation": points[0] if points and not metrics.several else None,
                "diagnosis": None if diagnosis is None else diagnosis.to_dict(),
            }
            head: dict[str, Any] = {"study": study.name, "direction": study.direction}
            head |= {} if metrics.plain else {"metrics": metrics.to_dict()}
            click.echo(json.dumps(head | {"trials": rows} | found, indent=2))
            return
        name = printable(repr(study.name))
        click.echo(f"study {name} in {file}: {goal_words(metrics)}, {count(len(trials), 'trial')}")
        if shown:
            named = [] if metrics.plain else list(metrics.names)
            columns = ["id", "state", *(named or ["value"]), "credit", *study.space]
            columns[2 + len(named) : 2 + len(named)] = ["feasible"] if metrics.constraints else []
            rest = [[*_head(t, outside, metrics), credit.get(t.id), *map(t.params.get, study.space)] for t in shown]
            for column, text_of in (("why", _why), ("note", _note)):
                if any(text_of(t, outside) for t in shown):
                    columns.append(column)
                    rest = [[*row, shorten(text_of(t, outside), WHY)] for row, t in zip(rest, shown)]
            click.echo(table(columns, rest))
        if best is not None:
            said = cell(best.value) if metrics.plain else trial_words(best, metrics)
            click.secho(f"best         trial {best.id}: {said} at {words(best.params)}", bold=True)
        for trial in front:
            click.secho(f"front        trial {trial.id}: {trial_words(trial, metrics)}", bold=True)
        if front:
            volume = hypervolume_of(trials, metrics)
            click.echo(f"hypervolume  {volume.value:.6g} above {words(volume.reference)}")
        elif best is None and metrics.constraints and any(t.in_model for t in trials):
            click.echo("best         no trial was measured to keep every outcome constraint yet")
        for r in recommendations:
            click.echo(f"recommended  {recommended_words(r)} at {words(r.params)}")
        if unknown is not None and any(t.in_model for t in trials):
            click.echo(f"warning      {printable(unknown)}")
        if diagnosis is not None:
            for concern in diagnosis.concerns:
                click.echo(f"warning      {concern}")
            for gain in diagnosis.gains[:1]:
                click.echo(f"more         {gain}")


def _head(trial: Trial, outside: Mapping[int, str], metrics: Metrics) -> list[Any]:
    """The cells of a trial that say how it went."""
    measured = [trial.value] if metrics.plain else [trial.values.get(name) for name in metrics.names]
    return [trial.id, _state(trial, outside), *measured, *([verdict(trial, metrics)] if metrics.constraints else [])]


def _trial_json(trial: Trial, metrics: Metrics) -> dict[str, Any]:
    named = {"metrics": trial.to_dict()["metrics"], "feasible": feasible(trial.values, metrics)}
    return ({} if metrics.plain else named) | {
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
