"""Commands about single trials: tell, amend, drop, restore, abandon, annotate, enqueue, and the log of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

import click

from ccgbo.cli.metrics import by_name, measured, so_far, trial_words
from ccgbo.cli.studies import study_arguments
from ccgbo.cli.table import words
from ccgbo.cli.values import ASSIGNMENT, assignments, pairs
from ccgbo.errors import UnknownTrialError
from ccgbo.records import Trial
from ccgbo.storage import Place
from ccgbo.study import Study
from ccgbo.text import printable

F = TypeVar("F", bound=Callable[..., Any])

ATTRIBUTE = "NAME=TEXT"


def _known(file: Place, trial: int, change: Callable[[int], Trial]) -> Trial:
    """What is done to a trial; of one that is not there the error says where the trials are listed."""
    try:
        return change(trial)
    except UnknownTrialError:
        raise click.ClickException(
            f"there is no trial {trial} in {str(file)!r}; `ccgbo show {file}` lists them."
        ) from None


def outcome_arguments(command: F) -> F:
    """TRIAL, its values and everything that can be said with them."""
    for add in reversed(
        [
            click.argument("trial", type=int),
            click.argument("value", metavar="[VALUE]...", nargs=-1),
            click.option("--error", metavar="[NAME=]NUMBER", multiple=True, help="The standard error of the value."),
            click.option("--noise-variance", metavar="[NAME=]NUMBER", multiple=True, help="Its square, if known."),
            click.option("--failed", is_flag=True, help="The evaluation gave no value."),
            click.option("--reason", help="Why it failed."),
            click.option("--set", "used", metavar=ASSIGNMENT, multiple=True, help="A setting that was really used."),
            click.option("--note", help="Anything to remember about the trial."),
            click.option("--tag", "tags", multiple=True, help="A word to find it by; can be repeated."),
        ]
    ):
        command = add(command)
    return command


@click.command(context_settings={"ignore_unknown_options": True})  # so that -0.3 is a value
@study_arguments
@outcome_arguments
def tell(file: Place, name: str | None, trial: int, **given: Any) -> None:
    """Record the VALUE of a TRIAL, or that it --failed; several values are readings of one trial.

    Where metrics have names a VALUE is NAME=NUMBER, and NAME= was not measured; a name given twice has readings.

    \b
        ccgbo tell lab.db 17 yield=71.5 cost=3.2 impurity=0.013
    """
    with Study(file, name=name) as study:
        outcome = _outcome(study, needs_value=True, **given)
        _say(study, _known(file, trial, lambda i: study.tell(i, **outcome)))


@click.command(context_settings={"ignore_unknown_options": True})
@study_arguments
@outcome_arguments
def amend(file: Place, name: str | None, trial: int, **given: Any) -> None:
    """Correct the VALUE of a TRIAL that has one, make it --failed, or correct the settings that were used.

    A trial that was abandoned comes back with a value. Of named metrics those that are given change, the others stay;
    NAME= takes one back.
    """
    with Study(file, name=name) as study:
        outcome = _outcome(study, needs_value=not given["used"], **given)
        _say(study, _known(file, trial, lambda i: study.amend(i, **outcome)))


def _outcome(
    study: Study,
    *,
    needs_value: bool,
    value: tuple[str, ...],
    error: tuple[str, ...],
    failed: bool,
    reason: str | None,
    used: tuple[str, ...],
    note: str | None,
    tags: tuple[str, ...],
    noise_variance: tuple[str, ...],
) -> dict[str, Any]:
    """The arguments of ``tell`` and ``amend``."""
    if (failed and value) or not (failed or value or not needs_value):
        raise click.UsageError("give either a VALUE or --failed.")
    if reason is not None and not failed:
        raise click.UsageError("--reason says why a trial --failed.")
    if error and noise_variance:
        raise click.UsageError("give either --error or --noise-variance.")
    told = measured(value, study.metrics)
    for option, given in (("--error", error), ("--noise-variance", noise_variance)):
        if given and (isinstance(told, list) or told is None):
            raise click.UsageError(f"{option} belongs to one VALUE, got {len(value)}.")
    return {
        "value": _with_errors(told, by_name("--error", error, told)),
        "failed": failed,
        "error": reason,
        "params": assignments("--set", used, study.space) or None,
        "note": note,
        "tags": list(tags) or None,
        "noise_variance": by_name("--noise-variance", noise_variance, told),
    }


def _with_errors(told: Any, errors: Any) -> Any:
    """Values with their standard errors."""
    if not isinstance(errors, dict):
        return told if errors is None else (told, errors)
    return {name: (value, errors[name]) if name in errors else value for name, value in told.items()}


def _say(study: Study, told: Trial) -> None:
    trials, metrics = study.trials, study.metrics
    so = so_far(trials, metrics)
    what = trial_words(told, metrics, readings=True)
    said = f"trial {told.id} failed" if told.state == "failed" else f"trial {told.id}: {what}"
    said += f", the mean of {len(told.readings)} readings" if told.readings else ""
    why = study.space.outside(told.params)
    click.echo(said + (f"  ({so})" if so else ""))
    if why is not None:
        click.echo(f"it lies outside the space: {printable(why)}")


# -- in and out of the model


def _each(word: str, change: Callable[[Study], Callable[..., Trial]], text: str) -> click.Command:
    """A command that does one thing to each of its trials."""

    def command(file: Place, name: str | None, trials: tuple[int, ...], note: str | None) -> None:
        with Study(file, name=name) as study:
            for trial in trials:
                _known(file, trial, lambda i: change(study)(i, note=note))
                click.echo(f"{word} trial {trial}")

    command.__doc__ = text
    return click.command()(
        study_arguments(
            click.argument("trials", metavar="TRIAL...", nargs=-1, type=int, required=True)(
                click.option("--note", help="Why, for the log.")(command)
            )
        )
    )


drop = _each(
    "dropped",
    lambda study: study.drop,
    "Take trials out of the model and keep them on record; a dropped failure is no place to avoid any more.",
)
restore = _each("restored", lambda study: study.restore, "Put dropped trials back into the model.")
abandon = _each(
    "abandoned",
    lambda study: study.abandon,
    "Give up pending trials: no value, no place to avoid, no count; `ccgbo amend` brings one back with a value.",
)


# -- beside the model


@click.command()
@study_arguments
@click.argument("trial", type=int)
@click.option("--note", help="Anything to remember about the trial.")
@click.option("--tag", "tags", multiple=True, help="A word to find it by, instead of those it has; can be repeated.")
@click.option("--attribute", "more", metavar=ATTRIBUTE, multiple=True, help="More to keep, such as operator=kim.")
@click.option("--remove", metavar="NAME", multiple=True, help="An attribute to take away: note, tags or another.")
def annotate(
    file: Place,
    name: str | None,
    trial: int,
    note: str | None,
    tags: tuple[str, ...],
    more: tuple[str, ...],
    remove: tuple[str, ...],
) -> None:
    """Keep a note, tags or anything else with a TRIAL; its value and the model stay as they are."""
    attributes: dict[str, Any] = dict(pairs("--attribute", more, form=ATTRIBUTE)) | dict.fromkeys(remove)
    attributes |= ({} if note is None else {"note": note}) | ({"tags": list(tags)} if tags else {})
    if not attributes:
        raise click.UsageError("give a --note, a --tag, an --attribute or what to --remove.")
    with Study(file, name=name) as study:
        kept = _known(file, trial, lambda i: study.annotate(i, **attributes)).attributes
        click.echo(f"trial {trial}: " + (words(kept) if kept else "nothing is kept with it"))


@click.command()
@study_arguments
@click.argument("params", metavar=f"{ASSIGNMENT}...", nargs=-1, required=True)
@click.option("--note", help="Anything to remember about the trial.")
def enqueue(file: Place, name: str | None, params: tuple[str, ...], note: str | None) -> None:
    """Put a point of your own in line: the next `ccgbo ask` or `ccgbo run` gives it out first.

    \b
        ccgbo enqueue tune.db lr=0.01 layers=3
    """
    with Study(file, name=name) as study:
        trial = study.enqueue(assignments("params", params, study.space), note=note)
        click.echo(f"enqueued trial {trial.id}: {words(trial.params)}")


@click.command()
@study_arguments
@click.argument("trial", type=int, required=False)
@click.option("--last", type=click.IntRange(min=1), help="Show only so many of the latest.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def log(file: Place, name: str | None, trial: int | None, last: int | None, as_json: bool) -> None:
    """Show what was changed by hand, of one TRIAL or of all: when (UTC), by whom, before and after."""
    with Study(file, name=name) as study:
        events = [event for event in study.log() if trial is None or event.trial_id == trial]
    events = events if last is None else events[-last:]
    if as_json:
        click.echo(json.dumps([event.to_dict() for event in events], indent=2))
    else:
        click.echo("\n".join(map(str, events)) or "nothing was changed by hand")
