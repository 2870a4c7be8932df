"""A desk with terminals, a notebook and a browser on it: real processes and files, nothing pretended."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import shlex
import signal
import struct
import subprocess
import sys
import termios
import threading
from pathlib import Path
from typing import Any, NamedTuple

from viz.conftest import wait_for

CTRL_C = "\x03"
BIN = Path(sys.executable).parent  # where the real `ccgbo` and `python` are

# makes the terminal that is its standard input its own, as a shell in a new window does, and becomes the program
IN_A_WINDOW = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""

# runs cells one after the other, as the kernel of a notebook does
KERNEL = """
import contextlib, io, json, os, sys, traceback
cells, answers, names = os.fdopen(int(sys.argv[1])), os.fdopen(int(sys.argv[2]), "w"), {"__name__": "__main__"}
del sys.argv[1:]
for line in cells:
    printed, error = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(json.loads(line), "<cell>", "exec"), names)
        except BaseException:
            error = traceback.format_exc()
    answers.write(json.dumps([printed.getvalue(), error]) + "\\n")
    answers.flush()
"""


class Said(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def screen(self) -> str:
        return self.out + self.err


class Window:
    """A terminal window with a program in it."""

    def __init__(self, line: str, **where: Any) -> None:
        self._here, there = pty.openpty()
        fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))  # rows, columns
        command = [sys.executable, "-c", IN_A_WINDOW, *shlex.split(line)]
        streams = {"stdin": there, "stdout": there, "stderr": there}
        self.process = subprocess.Popen(command, start_new_session=True, **streams, **where)
        os.close(there)
        self.screen = ""
        self._closing = threading.Event()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # nobody is at the other end any more
            while not self._closing.is_set():
                if select.select([self._here], [], [], 0.05)[0]:
                    self.screen += os.read(self._here, 65536).decode("utf-8", "replace")
        os.close(self._here)

    def says(self, words: str) -> None:
        """Wait until the words are on the screen."""
        wait_for(lambda: words in self.screen or self.process.poll() is not None, 90)
        assert words in self.screen, self.screen

    def press(self, key: str) -> None:
        os.write(self._here, key.encode())

    def hang_up(self) -> None:
        """Close the window, as a lost ssh connection does: SIGHUP for what runs in it."""
        self._closing.set()
        self._reader.join()

    def ends(self) -> int:
        """Wait for the program; its exit status."""
        code = self.process.wait(120)
        self._reader.join(5)  # what it said last
        return code

    def close(self) -> None:
        end(self.process)
        self.hang_up()


class Notebook:
    """A kernel that has cells run in it."""

    def __init__(self, **where: Any) -> None:
        cells, self._cells = os.pipe()
        self._answers, answers = os.pipe()
        command = [sys.executable, "-c", KERNEL, str(cells), str(answers)]
        self.process = subprocess.Popen(command, pass_fds=(cells, answers), start_new_session=True, **where)
        os.close(cells)
        os.close(answers)
        self._to = os.fdopen(self._cells, "w", encoding="utf-8")
        self._from = os.fdopen(self._answers, encoding="utf-8")

    def cell(self, code: str) -> str:
        """Run a cell; what it prints."""
        self.start_cell(code)
        printed, error = json.loads(self._from.readline())
        assert error is None, error
        return str(printed)

    def start_cell(self, code: str) -> None:
        self._to.write(json.dumps(code) + "\n")
        self._to.flush()

    def close(self) -> None:
        end(self.process)
        with contextlib.suppress(BrokenPipeError):
            self._to.close()
        self._from.close()


class Dashboard:
    """``ccgbo dashboard`` and the address that it says."""

    def __init__(self, file: str, **where: Any) -> None:
        self._log = Path(where["cwd"]) / f"dashboard-{file}.log"
        command = ["ccgbo", "dashboard", file, "--port", "0", "--no-open"]
        with self._log.open("w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True, **where)
        found = wait_for(lambda: re.search(r"http://\S+", self.said()) or self.process.poll(), 90)
        assert isinstance(found, re.Match), self.said()
        self.address = found[0]

    def said(self) -> str:
        return self._log.read_text(encoding="utf-8")

    def close(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(20)
        end(self.process)


class Desk:
    """A folder with a study in it, and everything that is open on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._open: list[Any] = []
        path = f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"
        env = os.environ | {"PATH": path, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", "COLUMNS": "120"}
        env |= {"CCGBO_USER": "kim"}
        self._where = {"cwd": folder, "env": {k: v for k, v in env.items() if not k.startswith("PYTEST")}}

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")

    def terminal(self, line: str) -> Said:
        """Type a line into a terminal and wait for its end."""
        done = subprocess.run(
            ["sh", "-c", line], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=180, **self._where
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def does(self, line: str) -> str:
        """The same for a line that must work; what it prints."""
        said = self.terminal(line)
        assert said.code == 0, said
        return said.out

    def trials(self, file: str) -> dict[int, dict[str, Any]]:
        """Every trial of a study by its id, as a terminal shows them."""
        shown = json.loads(self.does(f"ccgbo show {file} --json --no-model"))["trials"]
        assert len({trial["id"] for trial in shown}) == len(shown)
        return {trial["id"]: trial for trial in shown}

    def values(self, file: str) -> dict[int, float]:
        return {i: t["value"] for i, t in self.trials(file).items() if t["state"] == "complete"}

    def window(self, line: str) -> Window:
        return self._opened(Window(line, **self._where))

    def notebook(self) -> Notebook:
        return self._opened(Notebook(**self._where))

    def dashboard(self, file: str) -> Dashboard:
        return self._opened(Dashboard(file, **self._where))

    def _opened(self, thing: Any) -> Any:
        self._open.append(thing)
        return thing

    def clear(self) -> None:
        for thing in reversed(self._open):
            thing.close()
        for entry in Path("/proc").iterdir():  # programs that somebody left behind here
            with contextlib.suppress(OSError, ValueError):
                if (entry / "cwd").readlink() == self.folder:
                    os.kill(int(entry.name), signal.SIGKILL)

    def programs(self, word: str) -> list[int]:
        """Processes of this machine with the word among their arguments."""
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                arguments = (entry / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
                if word in arguments:
                    found.append(int(entry.name))
        return found


def kill9(thing: Any) -> None:
    """``kill -9``, and wait until it is gone."""
    os.kill(thing.process.pid, signal.SIGKILL)
    thing.process.wait(30)


def end(process: subprocess.Popen[Any]) -> None:
    """With all that it started in its session, as far as that is still there."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(30)
