"""Commands that ask, evaluate and tell."""

from __future__ import annotations

import json
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ccgbo.cli.command import Command, Parser, by_json_key, by_json_keys, by_metric_names, by_regex, last_number
from ccgbo.cli.studies import study_arguments
from ccgbo.cli.table import table
from ccgbo.cli.values import ASSIGNMENT, DURATION, NUMBER, assignments, pairs
from ccgbo.metrics import Metrics
from ccgbo.result import Result
from ccgbo.running import BY_HAND, GO_ON, INTERRUPTED
from ccgbo.storage import Place
from ccgbo.study import Study
from ccgbo.text import printable

KEEP_GOING = "--keep-going"
KEY = "[NAME=]KEY"
STOP_SIGNALS = ("SIGTERM", "SIGHUP", "SIGQUIT")  # asked to end, the terminal is gone, Ctrl-\\


@click.command()
@study_arguments
@click.option("-n", "n", type=click.IntRange(min=1), default=1, help="How many points.  [default: 1]")
@click.option("--fix", metavar=ASSIGNMENT, multiple=True, help="A parameter has this value in every point.")
@click.option("--why", is_flag=True, help="Say of each point why it is suggested.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per point.")
def ask(file: Place, name: str | None, n: int, fix: tuple[str, ...], why: bool, as_json: bool) -> None:
    """Print the next points to evaluate, each with the trial's id to tell its value under.

    Enqueued points come first, then trials that were released, then suggestions.
    """
    with Study(file, name=name) as study:
        trials = study.ask(n, fixed=assignments("--fix", fix, study.space) or None)
        columns = ["trial", *study.space]
        reasons = {trial.id: study.explain(trial) for trial in trials} if why else {}
    if as_json:
        for trial in trials:
            said = {"why": reasons[trial.id].sentences()} if why else {}
            click.echo(json.dumps({"id": trial.id, "params": dict(trial.params), **said}))
        return
    click.echo(table(columns, [[t.id, *map(t.params.get, columns[1:])] for t in trials]))
    for trial_id, reason in reasons.items():
        click.echo(f"trial {trial_id}: {reason}")


@click.command()
@study_arguments
@click.option("-n", "n_trials", type=click.IntRange(min=1), required=True, help="Trials that the study shall have.")
@click.option("-j", "n_workers", type=click.IntRange(min=1), default=1, help="Programs at a time.  [default: 1]")
@click.option("--value-regex", metavar="REGEX", help="The value is its last match in what the program prints.")
@click.option("--json-key", "json_keys", metavar=KEY, multiple=True, help="Where the last JSON object has it: a.b.")
@click.option("--trial-timeout", type=DURATION, help="Time for one evaluation: seconds, 30min, 1h.")
@click.option("--timeout", type=DURATION, help="Time after which no trial is started: seconds, 30min, 1h.")
@click.option("--target", type=NUMBER, help="Stop at a value this good.")
@click.option("--patience", type=click.IntRange(min=1), help="Stop after so many trials without a better value.")
@click.option("--stop-when-gain-below", type=NUMBER, help="Stop when ten more trials are expected to gain less.")
@click.option(KEEP_GOING, "keep_going", is_flag=True, help="Go on although the first trials all fail the same way.")
@click.option("--stop-on-error", is_flag=True, help="Stop when a program fails, instead of recording it.")
@click.option("--quiet", is_flag=True, help="No progress.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run(
    file: Place,
    name: str | None,
    n_trials: int,
    command: tuple[str, ...],
    value_regex: str | None,
    json_keys: tuple[str, ...],
    trial_timeout: float | None,
    keep_going: bool,
    stop_on_error: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Evaluate COMMAND until the study has -n trials of its own, so the same line run again does the rest.

    \b
        ccgbo run tune.db -n 100 -j 4 -- python train.py --lr={lr} --layers={layers}

    {lr} is replaced by the parameter's value; no shell is involved. The value is the last number that the program
    prints; a program that fails is recorded as a failed trial. CCGBO_PARAMS has all parameters as JSON.

    Named metrics are read from the last JSON object printed, {"yield": 71.5, "cost": 3.2}, or from where --json-key
    says, once for each: --json-key yield --json-key cost=total.cost; null was not measured.
    """
    if value_regex is not None and json_keys:
        raise click.UsageError("give either --value-regex or --json-key.")
    if keep_going and stop_on_error:
        raise click.UsageError(f"give either {KEEP_GOING} or --stop-on-error.")
    on_error: Any = "raise" if stop_on_error else "continue" if keep_going else "record"
    with Study(file, name=name) as study:
        parse = _parser(study.metrics, value_regex, json_keys)
        with Command(command, list(study.space), parse=parse, timeout=trial_timeout) as program:
            program.check()
            _end_at_signals(program)
            result = study.run(program, n_trials, progress=not quiet, on_error=on_error, **options)
        _report(result, study)


def _parser(metrics: Metrics, value_regex: str | None, json_keys: tuple[str, ...]) -> Parser:
    """What reads the value, or the metrics, from what a program prints."""
    if value_regex is not None:
        if metrics.several:
            raise click.UsageError("--value-regex gives one value, and there are several objectives: use --json-key.")
        return by_regex(value_regex)
    if metrics.plain:
        if len(json_keys) > 1:
            raise click.UsageError("--json-key must be given once: the study has one value.")
        return by_json_key(json_keys[0]) if json_keys else last_number
    keys = dict(pairs("--json-key", [k if "=" in k else f"{k}={k}" for k in json_keys], metrics.names, KEY))
    for key in keys:
        if key not in metrics.names:
            raise click.UsageError(f"--json-key: {metrics.unknown(key)}")
    if not keys and len(metrics.names) == 1:
        return last_number
    return by_json_keys(keys) if keys else by_metric_names(metrics.names)


def _end_at_signals(program: Command) -> None:
    """No program outlives the run, however that is ended."""

    def end(_number: int, _frame: Any) -> None:
        program.stop()
        signal.raise_signal(signal.SIGINT)  # the run knows what to do about that

    for name in STOP_SIGNALS:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), end)


def _report(result: Result, study: Study) -> None:
    result = replace(result, stopped=result.stopped.replace(GO_ON, KEEP_GOING))
    click.echo(repr(result))
    if result.stopped == INTERRUPTED:
        raise KeyboardInterrupt
    if KEEP_GOING in result.stopped:
        raise click.ClickException(f"stopped: {result.stopped}.")
    if BY_HAND in result.stopped:
        waiting = next(t.id for t in result.trials if t.state == "pending" and t.origin != "external")
        value = "VALUE" if study.metrics.plain else " ".join(f"{name}=VALUE" for name in study.metrics.names)
        click.echo(f"tell their values: ccgbo tell {study.path} {waiting} {printable(value)}")


@click.command()
@click.option("--folder", type=click.Path(file_okay=False, path_type=Path), default=Path("demo"), show_default=True)
@click.option("-n", "n_trials", type=click.IntRange(min=1), default=50, show_default=True, help="Evaluations.")
def demo(folder: Path, n_trials: int) -> None:
    """Tune a support-vector regression on real data, then write the report of how it went.

    The data are scikit-learn's diabetes study, the value is the R² of a 5-fold cross-validation, the parameters are C,
    epsilon and gamma. Without scikit-learn: the yield of a chemical reaction, from its rate equations.
    """
    from ccgbo.demo import run_demo

    run_demo(folder, n_trials, click.echo)
