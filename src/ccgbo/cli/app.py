"""The group of commands. Each is loaded when it is called, so that help is quick and a missing extra breaks only its
own command.

Exit codes: 0 done, 1 failed, 2 wrong usage.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from ccgbo.errors import CcgboError
from ccgbo.text import printable

# name: (module:object, help shown in the list of commands)
COMMANDS = {
    "init": ("ccgbo.cli.studies:init", "Create a study in a file."),
    "ask": ("ccgbo.cli.loop:ask", "Print the next points to evaluate."),
    "tell": ("ccgbo.cli.trials:tell", "Record what was measured of a trial."),
    "run": ("ccgbo.cli.loop:run", "Evaluate a program until the study has its trials."),
    "enqueue": ("ccgbo.cli.trials:enqueue", "Put a point of your own in line for the next ask."),
    "amend": ("ccgbo.cli.trials:amend", "Correct the value or the settings of a trial."),
    "drop": ("ccgbo.cli.trials:drop", "Take trials out of the model, and keep them on record."),
    "restore": ("ccgbo.cli.trials:restore", "Put dropped trials back into the model."),
    "abandon": ("ccgbo.cli.trials:abandon", "Give up pending trials."),
    "annotate": ("ccgbo.cli.trials:annotate", "Keep a note, tags or anything else with a trial."),
    "log": ("ccgbo.cli.trials:log", "Show what was changed by hand, when and by whom."),
    "change": ("ccgbo.cli.change:change", "Change the space or the metrics of a study."),
    "show": ("ccgbo.cli.show:show", "Show the trials, their credits, the best and the recommended point."),
    "influence": ("ccgbo.cli.influence:influence", "Tell what each observation is worth, and what without it."),
    "list": ("ccgbo.cli.studies:list_", "List the studies of a file."),
    "export": ("ccgbo.cli.tables:export", "Write the trials to CSV, Excel, JSON or Parquet."),
    "import": ("ccgbo.cli.tables:import_", "Take in a table that comes back, or an Optuna study."),
    "release": ("ccgbo.cli.studies:release", "Release pending trials, to be asked again."),
    "move": ("ccgbo.cli.studies:move", "Move a study to another file or database."),
    "delete": ("ccgbo.cli.studies:delete", "Delete a study."),
    "report": ("ccgbo.viz.cli:report", "Write a study's report as one HTML page."),
    "dashboard": ("ccgbo.viz.cli:dashboard", "Watch studies in the browser."),
    "bench": ("ccgbo.bench.cli:bench", "Run and tabulate benchmarks."),
    "demo": ("ccgbo.cli.loop:demo", "See an optimisation and its report."),
    "completion": ("ccgbo.cli.app:completion", "Print the shell's completion script."),
}


class LazyGroup(click.Group):
    """Knows its commands by name and loads the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        try:
            command: click.Command = getattr(importlib.import_module(module), attribute)
        except CcgboError:
            raise
        except ImportError as error:
            raise click.ClickException(f"{cmd_name} cannot be loaded: {error}.") from error
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        names = [CompletionItem(n, help=text) for n, (_, text) in COMMANDS.items() if n.startswith(incomplete)]
        return names + click.Command.shell_complete(self, ctx, incomplete)


def _version(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value:
        from importlib.metadata import version

        click.echo(f"ccgbo {version('ccgbo')}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version.")
def app(debug: bool) -> None:
    """Find the best settings of expensive things in few evaluations.

    A study lives in a file and outlives the process: create it with `ccgbo init`, then `ccgbo ask` and `ccgbo tell` by
    hand, or let `ccgbo run` evaluate a program. `ccgbo COMMAND --help` tells more.
    """
    del debug


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a SHELL.

    For bash, add to ~/.bashrc:  eval "$(ccgbo completion bash)"
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(app, {}, "ccgbo", "_CCGBO_COMPLETE").source())


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    debug = arguments[:1] == ["--debug"]
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # what a terminal cannot show is no reason to stop
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app.main(arguments, prog_name="ccgbo", standalone_mode=False)
        sys.stdout.flush()
    except Exception as error:
        code = _explain(error, debug)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # one line, however often it is pressed
        code = _fail("interrupted", 1)
    sys.exit(code if isinstance(code, int) else 0)


def _explain(error: Exception, debug: bool) -> int:
    if debug and not isinstance(error, click.UsageError | click.Abort):
        traceback.print_exception(error)
        return 1
    if isinstance(error, click.Abort):
        if isinstance(error.__cause__, KeyboardInterrupt):
            return _fail("interrupted", 1)
        click.echo(err=True)  # the cursor stands behind a question
        return _fail("nothing was done", 1)
    if type(error).__name__ == "NoArgsIsHelpError":  # a group without a command, from click 8.2 on
        click.echo(error.format_message(), err=True)  # type: ignore[attr-defined]
        return 2
    if isinstance(error, click.UsageError):
        path = "ccgbo" if error.ctx is None else error.ctx.command_path
        return _fail(f"{error.format_message()} Try '{path} --help'.", error.exit_code)
    if isinstance(error, click.ClickException):
        return _fail(error.format_message(), error.exit_code)
    if isinstance(error, BrokenPipeError):  # the reader of our output went away, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    if isinstance(error, CcgboError):
        return _fail(str(error), 1)
    return _fail(f"{type(error).__name__}: {error} (ccgbo --debug shows where)", 1)


def _fail(message: str, code: int) -> int:
    click.echo(f"error: {printable(' '.join(message.splitlines()))}", err=True)
    return code
