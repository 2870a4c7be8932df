"""The commands ``ccgbo report`` and ``ccgbo dashboard``."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import click

from ccgbo.storage import Place, place_at

FILE = click.Path(dir_okay=False, path_type=Path)
STUDIES: dict[str, Any] = {"type": click.Path(dir_okay=False), "callback": lambda _, __, given: place_at(given)}


@click.command()
@click.argument("file", **STUDIES)
@click.option("--name", help="The study, where the file has several.")
@click.option("-o", "--output", type=FILE, default=Path("report.html"), show_default=True, help="Where to write it.")
def report(file: Place, name: str | None, output: Path) -> None:
    """Write the report of a study in FILE as one HTML page that opens offline.

    It has the best and the recommended settings, interactive plots, the credit story, every trial, and how to
    reproduce it.
    """
    from ccgbo.study import Study
    from ccgbo.viz.report import write_report

    with Study(file, name=name) as study:
        written = write_report(study, output)
    click.echo(f"wrote {written} ({written.stat().st_size / 1e6:.1f} MB)")


@click.command()
@click.argument("file", **STUDIES)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="0 takes any free one.")
@click.option("--open/--no-open", "show", default=False, help="Open it in the browser.")
@click.option("--token/--no-token", default=True, help="Whether requests must carry the token of the address.")
def dashboard(file: Place, host: str, port: int, show: bool, token: bool) -> None:
    """Follow the studies of FILE in the browser, and ask and tell by hand.

    The address that it prints ends in a token, which every request must carry: whoever has that address can read and
    change the studies of FILE, and nothing else. It listens on this machine only, unless there is another --host.
    --no-token lets in whoever can connect, which are all users of this machine.
    """
    from ccgbo.viz.dashboard.serve import doorway, serve

    with suppress(KeyboardInterrupt), ExitStack() as stack:  # Ctrl-C is how it ends

        def say(address: str) -> None:
            click.echo(f"dashboard of {file} at {address} (Ctrl-C ends it)")
            if show:
                click.launch(str(stack.enter_context(doorway(address))))

        serve(file, host=host, port=port, token=token, say=say)
