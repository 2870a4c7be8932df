"""The model's part of the page, in a process of its own: it needs a processor for seconds, and no request may wait.

    dashboard                      the child: main(FILE)
    name of a study, as JSON  -->
                              <--  the analysis so far, one line of JSON per stage
                              <--  an empty line

The child works at the lowest priority and ends when its input does, so it cannot outlive the dashboard. It imports what
its parent would import and nothing from the current folder: ``python -m`` would look there first, and a folder with a
study may hold anybody's files.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import traceback
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ccgbo.errors import CcgboError
from ccgbo.storage import Place, place_at
from ccgbo.study import Study
from ccgbo.viz.dashboard.words import without_folder
from ccgbo.viz.payload import analysis_stages, to_json

NICENESS = 19
WHERE = "CCGBO_DASHBOARD_OF"  # arguments are read by every user of the machine, and an address may have a password
CHILD = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from {module} import main; main(sys.argv[2])"


class Analyst:
    """The dashboard's end of it; starts the process when it is first needed, and again if it died."""

    def __init__(self, path: Place) -> None:
        self._path = path
        self._turn = threading.Lock()  # one analysis at a time
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    def stages(self, name: str) -> Iterator[bytes]:
        """The analysis of a study as it grows. Ends early if the process does."""
        with self._turn:
            process = self._started()
            if process is None:
                return
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                process.stdin.write(json.dumps(name).encode("ascii") + b"\n")
                process.stdin.flush()
            except BrokenPipeError:
                return
            try:
                for line in iter(process.stdout.readline, b""):
                    if line == b"\n":
                        return
                    yield line
            except GeneratorExit:  # nobody will read the rest, which the next analysis would take for its own
                process.kill()
                raise

    def _started(self) -> subprocess.Popen[bytes] | None:
        if self._closed:
            return None
        if self._process is not None and self._process.poll() is not None:
            self._let_go()
        if self._process is None:
            # its own session: Ctrl-C is for the dashboard, which then closes it
            self._process = subprocess.Popen(
                child_command(self._path),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
                env=os.environ | {WHERE: os.fspath(self._path)},
            )
        return self._process

    def close(self) -> None:
        self._closed = True
        if self._process is not None:
            self._process.kill()  # whoever reads from it sees its end
        with self._turn:
            self._let_go()

    def _let_go(self) -> None:
        if self._process is not None:
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()
        self._process = None


def child_command(path: Place) -> list[str]:
    """The same interpreter with the same modules, whatever lies in the current folder."""
    flags = ["-P"]  # nothing in front of the import path; PYTHONPATH, where it is set, is in what is passed on
    flags += ["-E"] if sys.flags.ignore_environment else []
    flags += ["-s"] if sys.flags.no_user_site else []
    code = CHILD.format(module=Analyst.__module__)
    return [sys.executable, *flags, "-c", code, json.dumps(import_path(sys.path)), str(path)]


def import_path(path: Sequence[str]) -> list[str]:
    """An import path without the current folder; it comes last if this package itself lies in it."""
    here, home = Path().resolve(), Path(__file__).parents[3]
    out = [entry for entry in path if Path(entry).resolve() != here]
    return out if home.resolve() != here else [*out, str(home)]


def analyse(path: Place, name: str, known: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The stages of an analysis; what is not there yet is taken from the one before."""
    try:
        with Study(path, name=name) as study:
            optimizer = study.optimizer()
        space = zlib.crc32(repr((optimizer.space, optimizer.metrics)).encode("utf-8", "surrogatepass"))
        kept = known if known.get("space", space) == space else {}  # of another space nothing can be shown in this one
        for stage in analysis_stages(optimizer):
            yield stage if "message" in stage else kept | stage | {"space": space}
    except CcgboError as error:
        yield {"message": without_folder(str(error), path)}
    except Exception:  # the page must live on; the cause belongs to whoever runs the command
        traceback.print_exc()
        yield {"message": "The analysis failed; the terminal says why."}


def main(file: str) -> None:
    """The child."""
    path = place_at(os.environ.pop(WHERE, file))
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    last: dict[str, dict[str, Any]] = {}
    try:
        for line in sys.stdin:
            name = json.loads(line)
            for stage in analyse(path, name, last.get(name, {})):
                last[name] = stage
                print(to_json(stage), flush=True)
            print(flush=True)
    except BrokenPipeError:  # the dashboard was killed: nobody is there to be told
        os._exit(0)
